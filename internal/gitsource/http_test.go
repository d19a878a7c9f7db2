package gitsource

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestCredentialsOfHTTP(t *testing.T) {
	r, _, _ := sample(t)
	basic := func(user, password string) string {
		request := &http.Request{Header: http.Header{}}
		request.SetBasicAuth(user, password)
		return request.Header.Get("Authorization")
	}
	for name, c := range map[string]struct {
		want       string
		repository Repository
	}{
		"a name and a password":                   {basic("me", "secret"), Repository{Username: "me", Password: "secret"}},
		"a password alone":                        {basic("x-access-token", "secret"), Repository{Password: "secret"}},
		"a token":                                 {"Bearer secret", Repository{BearerToken: "secret"}},
		"a token goes before a password":          {"Bearer secret", Repository{BearerToken: "secret", Username: "me", Password: "other"}},
		"credentials in the URL":                  {basic("me", "s@cret"), Repository{URL: "me:s%40cret@"}},
		"those of the Secret go before the URL's": {basic("me", "secret"), Repository{Username: "me", Password: "secret", URL: "you:other@"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, withHeader(httpBackend(r), c.want))
			c.repository.URL = strings.Replace(server.URL, "://", "://"+c.repository.URL, 1) + "/repo.git/"
			newTestStore(t).must(t, c.repository, "main")
		})
	}
}

func TestRefusalsOfHTTP(t *testing.T) {
	answer := func(code int, kind, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		handler http.Handler
		kind    Kind
		said    string
	}{
		"401":                {answer(401, "text/plain", "go away"), Authentication, "wants credentials (401): go away"},
		"403":                {answer(403, "text/plain; charset=utf-8", "no"), Authentication, "may not read it (403): no"},
		"404":                {answer(404, "text/html", "<html>"), Missing, "no such repository, or the credentials may not see it (404)"},
		"429":                {answer(429, "text/plain", ""), Unreachable, "429 Too Many Requests"},
		"500":                {answer(500, "text/plain", ""), Unreachable, "500 Internal Server Error"},
		"418":                {answer(418, "text/plain", "tea"), Other, "I'm a teapot: tea"},
		"a login page":       {answer(200, "text/html", "<html>"), Invalid, "login page"},
		"an empty answer":    {answer(200, refsType, ""), Unreachable, "without an answer"},
		"no lines":           {answer(200, refsType, "what is this"), Invalid, ""},
		"half a line":        {answer(200, refsType, "001e# service="), Unreachable, "in the middle"},
		"an error of git":    {answer(200, refsType, "0019ERR access denied\x1b[0m"), Missing, "the server says: access denied"},
		"the newer protocol": {answer(200, refsType, "001e# service=git-upload-pack\n0000000eversion 2\n0000"), Invalid, "does not speak"},
		"another hash":       {answer(200, refsType, "001e# service=git-upload-pack\n0000"+line("%s HEAD\x00object-format=sha256\n", strings.Repeat("a", 40))+"0000"), Invalid, "sha256"},
		"a list without end": {endless(), TooLarge, "list of branches and tags has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t)
			s.limits.advertisement = 1 << 20
			_, err := s.Fetch(t.Context(), Repository{URL: serve(t, c.handler).URL + "/repo"}, "main")
			fails(t, err, c.kind, c.said, "/repo")
			if strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("the error has control characters: %q", err)
			}
		})
	}
	s := newTestStore(t)
	_, err := s.Fetch(t.Context(), Repository{URL: closed.URL + "/repo"}, "")
	fails(t, err, Unreachable, "fetching the default branch", "cannot be reached")
	_, err = s.Fetch(t.Context(), Repository{URL: "https://host.invalid/repo"}, "")
	fails(t, err, NoHost, "the host host.invalid is not found")
}

// line is a line of git's protocol.
func line(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	return fmt.Sprintf("%04x%s", len(text)+4, text)
}

func endless() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", refsType)
		_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000"+line("%s HEAD\x00\n", strings.Repeat("a", 40)))
		for n := 0; ; n++ {
			if _, err := io.WriteString(w, line("%040x refs/heads/%d\n", n+1, n)); err != nil {
				return
			}
		}
	})
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	r, _, _ := sample(t)
	backend, failures := httpBackend(r), 0
	flaky := &requests{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failures++; failures <= 2 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		backend.ServeHTTP(w, r)
	})}
	newTestStore(t).must(t, Repository{URL: serve(t, flaky).URL + "/repo.git"}, "main")

	down := &requests{next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })}
	_, err := newTestStore(t).Fetch(t.Context(), Repository{URL: serve(t, down).URL + "/repo.git"}, "main")
	fails(t, err, Unreachable, "502 Bad Gateway")
	if n := len(down.paths()); n != 3 {
		t.Errorf("there were %d attempts, want 3", n)
	}
}

func TestCertificatesAreThoseOfOneRepository(t *testing.T) {
	r, _, _ := sample(t)
	clientCert, clientKey := certificate(t, x509.ExtKeyUsageClientAuth)
	plain, plainCA := serveTLS(t, httpBackend(r), "")
	mutual, mutualCA := serveTLS(t, httpBackend(r), clientCert)
	s := newTestStore(t)
	fetch := func(r Repository, server *httptest.Server) error {
		r.URL = server.URL + "/repo.git"
		_, err := s.Fetch(t.Context(), r, "main")
		return err
	}
	good := Repository{CertificateAuthorities: mutualCA, ClientCertificate: clientCert, ClientKey: clientKey}
	for name, err := range map[string]error{
		"the right authority":            fetch(Repository{CertificateAuthorities: plainCA}, plain),
		"insecure":                       fetch(Repository{Insecure: true}, plain),
		"a client certificate":           fetch(good, mutual),
		"a client certificate, insecure": fetch(Repository{Insecure: true, ClientCertificate: clientCert, ClientKey: clientKey}, mutual),
	} {
		if err != nil {
			t.Errorf("with %s: %v", name, err)
		}
	}
	// After all that was accepted, nothing of it is left for others.
	fails(t, fetch(Repository{}, plain), Certificate, "not trusted")
	fails(t, fetch(Repository{CertificateAuthorities: mutualCA}, plain), Certificate, "not trusted")
	fails(t, fetch(Repository{CertificateAuthorities: "nonsense"}, plain), Certificate, "must be PEM")
	if err := fetch(Repository{CertificateAuthorities: mutualCA}, mutual); err == nil {
		t.Error("a server that wants a client certificate lets in who has none")
	}
	fails(t, fetch(Repository{CertificateAuthorities: mutualCA, ClientCertificate: clientCert}, mutual), Invalid, "client certificate and key")
	fails(t, fetch(Repository{CertificateAuthorities: mutualCA, ClientCertificate: clientCert, ClientKey: "x"}, mutual), Invalid, "client certificate and key")
	_, err := s.Fetch(t.Context(), Repository{URL: strings.Replace(serve(t, httpBackend(r)).URL, "http:", "https:", 1) + "/repo.git"}, "main")
	fails(t, err, Certificate, "does not answer with TLS")
}

func TestRedirects(t *testing.T) {
	r, _, second := sample(t)
	target := &requests{next: httpBackend(r)}
	there := serve(t, target)
	to := func(address string, code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, address+r.URL.Path+"?"+r.URL.RawQuery, code)
		})
	}
	elsewhere := serve(t, to(there.URL, http.StatusMovedPermanently))

	tree := newTestStore(t).must(t, Repository{URL: elsewhere.URL + "/repo.git"}, "main")
	if tree.Commit() != second {
		t.Errorf("the commit is %s, want %s", tree.Commit(), second)
	}

	// The same host, another path: what is asked for next goes there, with the credentials.
	renamed := &requests{}
	server := serve(t, renamed)
	renamed.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/old"); ok {
			http.Redirect(w, r, "/repo.git"+rest+"?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		withHeader(target.next, "Bearer canary-token").ServeHTTP(w, r)
	})
	newTestStore(t).must(t, Repository{URL: server.URL + "/old", BearerToken: "canary-token"}, "main")

	target.mu.Lock()
	target.seen = nil
	target.mu.Unlock()
	clientCert, clientKey := certificate(t, x509.ExtKeyUsageClientAuth)
	for name, repository := range map[string]Repository{
		"a password":           {URL: elsewhere.URL + "/repo.git", Password: "canary-password"},
		"a token":              {URL: elsewhere.URL + "/repo.git", BearerToken: "canary-token"},
		"the URL":              {URL: strings.Replace(elsewhere.URL, "://", "://me:canary@", 1) + "/repo.git"},
		"a client certificate": {URL: elsewhere.URL + "/repo.git", ClientCertificate: clientCert, ClientKey: clientKey},
	} {
		_, err := newTestStore(t).Fetch(t.Context(), repository, "main")
		fails(t, err, Invalid, "credentials are not sent to another host", there.URL)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("with %s, the error has the credentials: %v", name, err)
		}
	}
	if got := target.paths(); len(got) != 0 {
		t.Errorf("with credentials, another host was asked: %v", got)
	}

	onlyObjects := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			to(there.URL, http.StatusTemporaryRedirect).ServeHTTP(w, r)
			return
		}
		target.next.ServeHTTP(w, r)
	}))
	_, err := newTestStore(t).Fetch(t.Context(), Repository{URL: onlyObjects.URL + "/repo.git"}, "main")
	fails(t, err, Invalid, "when it is asked for the objects")

	secure, ca := serveTLS(t, to(there.URL, http.StatusFound), "")
	_, err = newTestStore(t).Fetch(t.Context(), Repository{URL: secure.URL + "/repo.git", CertificateAuthorities: ca}, "main")
	fails(t, err, Invalid, "from https to http://")

	var circle *httptest.Server
	circle = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { to(circle.URL, http.StatusFound).ServeHTTP(w, r) }))
	_, err = newTestStore(t).Fetch(t.Context(), Repository{URL: circle.URL + "/repo.git"}, "main")
	fails(t, err, Invalid, "more than 5 times")
	lost := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			w.Header().Set("Content-Type", refsType)
			return
		}
		http.Redirect(w, r, "/login", http.StatusFound)
	}))
	_, err = newTestStore(t).Fetch(t.Context(), Repository{URL: lost.URL + "/repo.git"}, "main")
	fails(t, err, Invalid, "/login, which is no repository")
}

func TestAProxyIsThatOfTheRepository(t *testing.T) {
	r, _, _ := sample(t)
	backend := serve(t, httpBackend(r))
	proxy := &requests{next: httpBackend(r)}
	through := serve(t, proxy)
	repository := Repository{URL: "http://git.example.com/repo.git", Proxy: through.URL}
	newTestStore(t).must(t, repository, "main")
	if len(proxy.paths()) != 2 {
		t.Errorf("the proxy saw %v, want both requests", proxy.paths())
	}
	repository = Repository{URL: backend.URL + "/repo.git", Proxy: "http://127.0.0.1:1", NoProxy: "127.0.0.1"}
	newTestStore(t).must(t, repository, "main")
	_, err := newTestStore(t).Fetch(t.Context(), Repository{URL: backend.URL, Proxy: "http://me:canary@%zz"}, "main")
	fails(t, err, Invalid, "the URL of its proxy cannot be read")
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the error has the credentials of the proxy: %v", err)
	}
	_, err = newTestStore(t).Fetch(t.Context(), Repository{URL: "http://git.example.com/r", Proxy: "http://me:canary@127.0.0.1:1"}, "main")
	fails(t, err, Unreachable)
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the error has the credentials of the proxy: %v", err)
	}
}

func TestNoErrorHasCredentials(t *testing.T) {
	const canary = "canary/s3cr3t+pass word%"
	_, sshKey := newKey(t)
	clientCert, clientKey := certificate(t, x509.ExtKeyUsageClientAuth)
	// A server that says everything it was told, in every way.
	echo := func(code int, kind string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			user, password, _ := r.BasicAuth()
			said := fmt.Sprintf("%s %q %s:%s %s", r.Header.Get("Authorization"), password, user, password, url.QueryEscape(password))
			if kind == refsType {
				said = line("ERR %s", said)
			}
			_, _ = io.WriteString(w, said)
		})
	}
	var servers []string
	for _, code := range []int{400, 401, 403, 404, 407, 500} {
		servers = append(servers, serve(t, echo(code, "text/plain")).URL)
	}
	servers = append(servers, serve(t, echo(200, refsType)).URL, serve(t, echo(200, "text/html")).URL)
	servers = append(servers, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		http.Redirect(w, r, "http://elsewhere.invalid/"+url.PathEscape(password)+r.Header.Get("Authorization"), http.StatusFound)
	})).URL, "http://host.invalid", "http://127.0.0.1:1", "https://127.0.0.1:1", "ssh://127.0.0.1:1", "ssh://host.invalid", "git://host.invalid", "http://[::1")
	for _, server := range servers {
		for _, r := range []Repository{
			{Username: "me", Password: canary},
			{Password: canary},
			{BearerToken: canary},
			{URL: "me:" + url.PathEscape(canary) + "@"},
			{URL: "me:" + canary + "@"},
			{URL: url.PathEscape(canary) + "@"},
			{SSHPrivateKey: canary},
			{SSHPrivateKey: sshKey},
			{ClientCertificate: clientCert, ClientKey: canary},
			{ClientCertificate: clientCert, ClientKey: clientKey},
			{Proxy: "http://me:" + url.PathEscape(canary) + "@127.0.0.1:1"},
			{App: App{ID: 1, PrivateKey: canary, BaseURL: "http://me:" + url.PathEscape(canary) + "@127.0.0.1:1"}},
		} {
			if strings.HasPrefix(server, "ssh:") && !strings.Contains(r.URL, ":") {
				r.URL = "" // the name of an account of SSH is no secret
			}
			r.URL = strings.Replace(server, "://", "://"+r.URL, 1) + "/repo"
			s := newTestStore(t)
			s.limits.attempts = 1
			_, err := s.Fetch(t.Context(), r, "main")
			if err == nil {
				t.Fatalf("%s gives a tree", server)
			}
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
				for _, secret := range append(r.secrets(), "s3cr3t") {
					if strings.Contains(text, secret) {
						t.Errorf("from %s, the error has a credential (%q): %s", server, secret, text)
					}
				}
			}
		}
	}
}
