package acceptance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// proxy stands between the provider and the API server. It keeps what was asked, and can make the
// cluster look like another one.
type proxy struct {
	f      *fixture
	server *httptest.Server

	mu     sync.Mutex
	writes []string
	// from and to are the namespace's UID and the one that is shown for it.
	from, to []byte
}

// proxy starts one, which adds the credentials of the provider's account.
func (f *fixture) proxy() *proxy {
	f.Helper()
	config := f.account().config(f.cluster)
	transport, err := rest.TransportFor(config)
	if err != nil {
		f.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		f.Fatal(err)
	}
	p := &proxy{f: f}
	reverse := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		ModifyResponse: p.disguise,
		FlushInterval:  -1, // watches
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				f.Logf("proxy: %s %s: %v", r.Method, r.URL, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question := strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") || strings.Contains(r.URL.RawQuery, "dryRun=All")
		if r.Method != http.MethodGet && !question {
			p.mu.Lock()
			p.writes = append(p.writes, r.Method+" "+r.URL.Path)
			p.mu.Unlock()
		}
		reverse.ServeHTTP(w, r)
	}))
	f.Cleanup(p.server.Close)
	return p
}

// anotherCluster makes the namespace of the Applications have another UID from now on, and returns
// the real one and the other one.
func (p *proxy) anotherCluster() (before, after string) {
	p.f.Helper()
	ns, err := p.f.client.Resource(namespaces).Get(p.f.ctx(), argoNamespace, metav1.GetOptions{})
	if err != nil {
		p.f.Fatal(err)
	}
	before = string(ns.GetUID())
	after = "00000000" + before[8:]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.to = []byte(before), []byte(after)
	return before, after
}

// disguise replaces the UID in answers about the namespace; both encodings of the API hold it as text.
func (p *proxy) disguise(r *http.Response) error {
	p.mu.Lock()
	from, to := p.from, p.to
	p.mu.Unlock()
	if from == nil || r.Request.URL.Path != "/api/v1/namespaces/"+argoNamespace {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, from, to)))
	return nil
}

// wrote are the requests since the last call that were no reads, dry runs or questions about permissions, sorted.
func (p *proxy) wrote() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.writes
	p.writes = nil
	slices.Sort(writes)
	return writes
}

// wroteNothing fails if the provider has changed anything since the last call.
func (p *proxy) wroteNothing() {
	p.f.Helper()
	if writes := p.wrote(); len(writes) > 0 {
		p.f.Errorf("the provider has changed something: %v", writes)
	}
}

// through are the provider's attributes for a connection through the proxy.
func (p *proxy) through() obj { return obj{"kubernetes": obj{"host": p.server.URL}} }
