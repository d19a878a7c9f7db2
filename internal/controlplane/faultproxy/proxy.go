package faultproxy

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Options are what a proxy does besides its rules.
type Options struct {
	// Plain serves HTTP/1.1 without TLS. The default is what API servers speak: HTTP/2 over TLS.
	Plain bool
	// Seed is that of Rule.Chance.
	Seed uint64
	// ModifyResponse may change the API server's answers before they are passed on.
	ModifyResponse func(*http.Response) error
}

// Proxy is a running proxy. Clients need no credentials: it has those of its configuration.
type Proxy struct {
	server  *httptest.Server
	reverse *httputil.ReverseProxy

	mu     sync.Mutex
	random *rand.Rand
	rules  []*Active
	writes []string
	live   map[*http.Request]context.CancelFunc // watches
}

// Start starts a proxy in front of the API server of config.
func Start(config *rest.Config, options Options) (*Proxy, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	p := &Proxy{random: rand.New(rand.NewPCG(options.Seed, 0)), live: map[*http.Request]context.CancelFunc{}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		ModifyResponse: options.ModifyResponse,
		FlushInterval:  -1, // watches
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if options.Plain {
		p.server.Start()
	} else {
		p.server.EnableHTTP2 = true
		p.server.StartTLS()
	}
	return p, nil
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	p.CloseWatches()
	p.server.CloseClientConnections()
	p.server.Close()
}

// URL is where the proxy serves.
func (p *Proxy) URL() string { return p.server.URL }

// WriteKubeconfig writes a kubeconfig whose only context reaches the API server through the proxy.
func (p *Proxy) WriteKubeconfig(path string) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["proxy"] = &clientcmdapi.Cluster{Server: p.server.URL}
	if certificate := p.server.Certificate(); certificate != nil {
		k.Clusters["proxy"].CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	}
	k.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	k.CurrentContext = "proxy"
	return clientcmd.WriteToFile(*k, path)
}

// Add puts a rule behind those that are there.
func (p *Proxy) Add(rule Rule) *Active {
	a := &Active{rule: rule, counted: map[string]int{}, chance: func() float64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.random.Float64()
	}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, a)
	return a
}

// Clear removes all rules.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// CloseWatches ends all watches that go through the proxy now, in good order, and returns their number.
func (p *Proxy) CloseWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.live {
		end()
	}
	return len(p.live)
}

// Writes are the requests since the last call that were no reads, dry runs or questions about
// permissions ("PUT /path"), sorted.
func (p *Proxy) Writes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.writes
	p.writes = nil
	slices.Sort(writes)
	return writes
}

// ServeHTTP is for the proxy's own server.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.note(r)
	// Over HTTP/1.1 a server notices that its client has left only when the body is read.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rule := p.rule(r)
	forward := p.reverse.ServeHTTP
	if verb, _, _ := parse(r); verb == "watch" {
		forward = p.watch
	}
	if rule == nil {
		forward(w, r)
		return
	}
	rule.Do(w, r, forward)
}

func (p *Proxy) note(r *http.Request) {
	_, resource, _ := parse(r)
	question := resource == "selfsubjectaccessreviews" || isDryRun(r)
	if r.Method != http.MethodGet && !question {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writes = append(p.writes, r.Method+" "+r.URL.Path)
	}
}

// rule is the one that the request is hit by, nil for none.
func (p *Proxy) rule(r *http.Request) *Rule {
	p.mu.Lock()
	rules := slices.Clone(p.rules)
	p.mu.Unlock()
	for _, a := range rules {
		if a.takes(r, time.Now()) {
			return &a.rule
		}
	}
	return nil
}

// watch forwards a watch until the API server, the client or CloseWatches ends it.
func (p *Proxy) watch(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	p.mu.Lock()
	p.live[r] = end
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.live, r)
	}()
	untilEnd(func() { p.reverse.ServeHTTP(w, r.WithContext(ctx)) })
}
