package gitsource

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// httpBackend serves the repositories beside r by git's own program.
func httpBackend(r *repo) http.Handler {
	return &cgi.Handler{
		Path: gitCommand(r, "git-http-backend"), Dir: r.dir, Stderr: io.Discard,
		Env: append(environment(r.dir), "GIT_PROJECT_ROOT="+filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"),
	}
}

func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// requests notes what was asked for.
type requests struct {
	next http.Handler

	mu   sync.Mutex
	seen []*http.Request
}

func (q *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	q.seen = append(q.seen, r.Clone(r.Context()))
	q.mu.Unlock()
	q.next.ServeHTTP(w, r)
}

func (q *requests) paths() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var paths []string
	for _, r := range q.seen {
		paths = append(paths, r.Method+" "+r.URL.Path)
	}
	return paths
}

// withPassword lets in who sends the header.
func withHeader(next http.Handler, want string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "you sent "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sshBackend serves repositories over SSH.
type sshBackend struct {
	testing.TB
	address string
	host    ssh.Signer
	// accept is the only key that is let in.
	accept ssh.PublicKey
}

func newSSH(r *repo, accept ssh.PublicKey) *sshBackend {
	r.Helper()
	host, _ := newKey(r)
	b := &sshBackend{TB: r, host: host, accept: accept}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if b.accept == nil || !same(key, b.accept) {
				return nil, fmt.Errorf("not this key")
			}
			return &ssh.Permissions{}, nil
		},
	}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	b.address = listener.Addr().String()
	var all sync.WaitGroup
	r.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { b.talk(conn, config) })
		}
	})
	return b
}

func (b *sshBackend) talk(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, others, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(others)
	for offered := range channels {
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		for request := range asked {
			var command struct{ Text string }
			if request.Type != "exec" || ssh.Unmarshal(request.Payload, &command) != nil {
				_ = request.Reply(false, nil)
				continue
			}
			_ = request.Reply(true, nil)
			cmd := exec.Command("sh", "-c", command.Text)
			cmd.Env = environment(os.TempDir())
			cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
			// The command ends by itself, even if the client has more to say.
			stdin, err := cmd.StdinPipe()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(stdin, channel)
				_ = stdin.Close()
			}()
			code := 0
			if err := cmd.Run(); err != nil {
				code = 1
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)}))
			_ = channel.Close()
		}
	}
}

// knownAs is the line of known_hosts for the server.
func (b *sshBackend) knownAs(key ssh.PublicKey) string {
	return hostName(b.address) + " " + string(ssh.MarshalAuthorizedKey(key))
}

func (b *sshBackend) url(r *repo) string { return "ssh://git@" + b.address + r.dir }

// newKey is a key, and its text.
func newKey(t testing.TB) (ssh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signerOf(t, private)
}

func signerOf(t testing.TB, private any) (ssh.Signer, string) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
}

// hung accepts connections and never says anything.
func hung(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	}()
	return listener.Addr().String()
}
