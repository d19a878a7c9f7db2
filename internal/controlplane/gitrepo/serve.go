package gitrepo

import (
	"net"
	"net/http"
	"net/http/cgi"
	"path/filepath"
	"time"
)

// Serve lets anybody read the repository over HTTP at an address of this machine, until stop. URL is
// that of the server from then on.
func (r *Repo) Serve(address string) (stop func(), err error) {
	programs, err := r.git("--exec-path")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	root := "/" + filepath.Base(r.dir) + ".git"
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &cgi.Handler{
		Path: filepath.Join(programs, "git-http-backend"),
		Root: root,
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Join(r.dir, ".git"), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
		InheritEnv: []string{"GIT_PROTOCOL"},
	}}
	r.served = "http://" + listener.Addr().String() + root
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed at stop
	return func() { _ = server.Close() }, nil
}
