package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// proxy stands between the provider and the API server and counts. It knows the administrator's
// credentials, so that the Terraform configuration needs none.
type proxy struct {
	server *http.Server
	url    string

	mu    sync.Mutex
	tally *tally
}

type requestKey struct{}

func newProxy(config *rest.Config) (*proxy, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{url: "http://" + listener.Addr().String(), tally: newTally()}
	reverse := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // watches
		ModifyResponse: func(r *http.Response) error { p.count(r.Request.Context(), r.StatusCode); return nil },
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) {
			p.count(r.Context(), http.StatusBadGateway)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reverse.ServeHTTP(w, withClass(r))
	})}
	go func() { _ = p.server.Serve(listener) }() // ends with close
	return p, nil
}

func (p *proxy) close() error { return p.server.Close() }

// withClass reads what the request is, before the API server reads its body.
func withClass(r *http.Request) *http.Request {
	var body []byte
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		body, _ = io.ReadAll(r.Body) // what is cut short is refused by the API server
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	class := classify(r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Accept"), body)
	class.At = time.Now()
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, class))
}

func (p *proxy) count(ctx context.Context, status int) {
	class, ok := ctx.Value(requestKey{}).(request)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.add(class, status)
}

// take returns what was counted since the last call.
func (p *proxy) take() *tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tally
	p.tally = newTally()
	return t
}
