package gitsource

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

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

// certificate is one for this machine, with its key, in PEM, signed by itself.
func certificate(t testing.TB, usage x509.ExtKeyUsage) (certPEM, keyPEM string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// serveTLS serves h with a certificate of its own, which it returns; clients is what it accepts of clients.
func serveTLS(t testing.TB, h http.Handler, clients string) (*httptest.Server, string) {
	t.Helper()
	certPEM, keyPEM := certificate(t, x509.ExtKeyUsageServerAuth)
	pair, err := tls.X509KeyPair([]byte(certPEM), []byte(keyPEM))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != "" {
		s.TLS.ClientCAs, s.TLS.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		s.TLS.ClientCAs.AppendCertsFromPEM([]byte(clients))
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, certPEM
}
