package gitsource

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"golang.org/x/net/http/httpproxy"
)

// basicUser is the name that goes with a password alone, as in Argo CD (util/git/creds.go, 3.6.1).
const basicUser = "x-access-token"

// httpServer is one that speaks git over http. Every repository has a client of its own: nothing that
// was set up for one of them is ever used for another.
type httpServer struct {
	base   *url.URL
	client *http.Client
	// authorize adds the credentials to a request; nil if there are none.
	authorize func(*http.Request)
	limits    limits
}

func newHTTPServer(ctx context.Context, r Repository, p place, l limits) (*httpServer, error) {
	transport, err := newTransport(r, r.CertificateAuthorities)
	if err != nil {
		return nil, err
	}
	s := &httpServer{base: p.url, limits: l}
	if s.authorize, err = authorization(ctx, r, p); err != nil {
		return nil, err
	}
	known := s.authorize != nil || r.ClientCertificate != ""
	s.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(next *http.Request, via []*http.Request) error { return mayRedirect(next, via, known) },
	}
	return s, nil
}

// authorization follows GetGitCreds (pkg/apis/application/v1alpha1/repository_types.go, Argo CD 3.6.1);
// what is in the URL comes last.
func authorization(ctx context.Context, r Repository, p place) (func(*http.Request), error) {
	basic := func(user, password string) func(*http.Request) {
		if user == "" {
			user = basicUser
		}
		return func(request *http.Request) { request.SetBasicAuth(user, password) }
	}
	switch {
	case r.BearerToken != "":
		return func(request *http.Request) { request.Header.Set("Authorization", "Bearer "+r.BearerToken) }, nil
	case r.Password != "":
		return basic(r.Username, r.Password), nil
	case r.SSHPrivateKey != "":
		// Argo CD takes the key for the only credentials, and http has no use for it.
		return nil, nil
	case r.App.PrivateKey != "" && r.App.ID != 0:
		token, err := r.appToken(ctx, p)
		if err != nil {
			return nil, err
		}
		return basic(basicUser, token), nil
	case p.user != "" || p.password != "":
		return func(request *http.Request) { request.SetBasicAuth(p.user, p.password) }, nil
	}
	return nil, nil
}

// newTransport is for one repository, with the certificates and the proxy of r.
func newTransport(r Repository, authorities string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: r.Insecure} // what its owner has asked for
	if authorities != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(authorities)) {
			return nil, fail(Certificate, "the certificates that are to be trusted for its host cannot be read: they must be PEM")
		}
	}
	if r.ClientCertificate != "" || r.ClientKey != "" {
		pair, err := tls.X509KeyPair([]byte(r.ClientCertificate), []byte(r.ClientKey))
		if err != nil {
			return nil, fail(Invalid, "its TLS client certificate and key cannot be used: %s", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	proxy := http.ProxyFromEnvironment
	if r.Proxy != "" {
		if u, err := url.Parse(r.Proxy); err != nil || u.Host == "" {
			return nil, fail(Invalid, "the URL of its proxy cannot be read")
		}
		choose := (&httpproxy.Config{HTTPProxy: r.Proxy, HTTPSProxy: r.Proxy, NoProxy: r.NoProxy}).ProxyFunc()
		proxy = func(request *http.Request) (*url.URL, error) { return choose(request.URL) }
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
	}, nil
}

// redirect is a redirect that is not followed.
type redirect struct{ text string }

func (r *redirect) Error() string { return r.text }

// mayRedirect follows redirects of the first request only, as git does, never to plain http, and with
// credentials never to another host.
func mayRedirect(next *http.Request, via []*http.Request, credentials bool) error {
	first, last := via[0], via[len(via)-1]
	to := next.URL.Scheme + "://" + next.URL.Host
	const most = 5
	switch {
	case first.Method != http.MethodGet:
		return &redirect{fmt.Sprintf("the server redirects to %s when it is asked for the objects: that is not followed", to)}
	case len(via) > most:
		return &redirect{fmt.Sprintf("the server redirects more than %d times", most)}
	case next.URL.Scheme != "https" && (next.URL.Scheme != "http" || last.URL.Scheme == "https"):
		return &redirect{fmt.Sprintf("the server redirects from %s to %s: that is not followed", last.URL.Scheme, to)}
	case credentials && !sameHost(first.URL, next.URL):
		return &redirect{fmt.Sprintf("the server redirects to %s: credentials are not sent to another host. Use the new URL", to)}
	}
	return nil
}

// sameHost tells that to is where from is, perhaps with TLS now.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	upgraded := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	return upgraded || from.Scheme == to.Scheme && portOf(from) == portOf(to)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

const (
	refsPath  = "/info/refs"
	refsType  = "application/x-git-upload-pack-advertisement"
	packPath  = "/git-upload-pack"
	packType  = "application/x-git-upload-pack-result"
	packQuery = "application/x-git-upload-pack-request"
)

func (s *httpServer) refs(ctx context.Context) (*packp.AdvRefs, error) {
	answer, err := s.send(ctx, http.MethodGet, refsPath+"?service=git-upload-pack", nil, refsType)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	moved := *answer.Request.URL
	moved.RawQuery, moved.User = "", nil
	if !strings.HasSuffix(moved.Path, refsPath) {
		return nil, fail(Invalid, "the server redirects to %s, which is no repository", SafeURL(moved.String()))
	}
	moved.Path, moved.RawPath = strings.TrimSuffix(moved.Path, refsPath), strings.TrimSuffix(moved.RawPath, refsPath)
	s.base = &moved
	return decodeRefs(answer.Body, s.limits.advertisement)
}

func (s *httpServer) pack(ctx context.Context, request []byte) (io.ReadCloser, error) {
	answer, err := s.send(ctx, http.MethodPost, packPath, request, packType)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func (s *httpServer) close() { s.client.CloseIdleConnections() }

// send makes one request. The answer is one of the type wanted; its body is to be closed.
func (s *httpServer) send(ctx context.Context, method, path string, body []byte, wanted string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, fail(Invalid, "the URL cannot be used")
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", "*/*")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", packQuery)
		request.Header.Set("Accept", wanted)
	}
	if s.authorize != nil {
		s.authorize(request)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unreached(err)
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if answer.StatusCode == http.StatusOK && strings.TrimSpace(kind) == wanted {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, s.rejected(answer, kind)
}

// rejected is why an answer is not what was asked for.
func (s *httpServer) rejected(answer *http.Response, kind string) error {
	said := ""
	if strings.HasPrefix(kind, "text/plain") {
		const enough = 1000
		if text, err := io.ReadAll(io.LimitReader(answer.Body, enough)); err == nil && len(text) > 0 {
			said = ": " + OneLine(string(text), 300)
		}
	}
	switch code := answer.StatusCode; {
	case code == http.StatusOK:
		return fail(Invalid, "the server answered with %q instead of a list of branches and tags: this is no git repository, or something else answers in its place, like a login page", OneLine(kind, 60))
	case code == http.StatusUnauthorized && s.authorize == nil:
		return fail(Authentication, "the server wants credentials (401)%s", said)
	case code == http.StatusUnauthorized:
		return fail(Authentication, "the server does not accept the credentials (401)%s", said)
	case code == http.StatusForbidden:
		return fail(Authentication, "the credentials may not read it (403)%s", said)
	case code == http.StatusProxyAuthRequired:
		return fail(Authentication, "the proxy wants other credentials (407)")
	case code == http.StatusNotFound, code == http.StatusGone:
		return fail(Missing, "there is no such repository, or the credentials may not see it (%d)%s", code, said)
	case code == http.StatusTooManyRequests || code >= 500:
		return passing(Unreachable, "the server answered %s%s", OneLine(answer.Status, 60), said)
	default:
		return fail(Other, "the server answered %s%s", OneLine(answer.Status, 60), said)
	}
}

// unreached is why there was no answer at all.
func unreached(err error) error {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err // it begins with the whole URL
	}
	var followed *redirect
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var dns *net.DNSError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	text := OneLine(err.Error(), 300)
	switch {
	case errors.As(err, &followed):
		return fail(Invalid, "%s", followed.text)
	case errors.As(err, &dns):
		return &failure{kind: NoHost, text: fmt.Sprintf("the host %s is not found: %s", dns.Name, dns.Err), transient: dns.IsTemporary}
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid), errors.As(err, &verification):
		return fail(Certificate, "the server's certificate is not trusted: %s", text)
	case errors.As(err, &alert):
		return fail(Certificate, "the server refused the TLS connection, perhaps for the lack of a client certificate: %s", text)
	case errors.As(err, &record), strings.Contains(text, "HTTP response to HTTPS client"):
		return fail(Certificate, "the server does not answer with TLS: %s", text)
	}
	return passing(Unreachable, "the server cannot be reached: %s", text)
}
