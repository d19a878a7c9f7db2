package acceptance

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// proxy stands between the provider and the API server. It keeps what was asked, and can make the
// cluster look like another one.
type proxy struct {
	*faultproxy.Proxy
	f *fixture

	mu sync.Mutex
	// from and to are the namespace's UID and the one that is shown for it.
	from, to []byte
}

// proxy starts one, which adds the credentials of the provider's account.
func (f *fixture) proxy() *proxy {
	f.Helper()
	p := &proxy{f: f}
	var err error
	p.Proxy, err = faultproxy.Start(f.account().config(f.cluster), faultproxy.Options{Plain: true, ModifyResponse: p.disguise})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(p.Close)
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

// wroteNothing fails if the provider has changed anything since the last call.
func (p *proxy) wroteNothing() {
	p.f.Helper()
	if writes := p.Writes(); len(writes) > 0 {
		p.f.Errorf("the provider has changed something: %v", writes)
	}
}

// wroteNoApplication is an error if the provider has changed an Application since the last call.
func (p *proxy) wroteNoApplication() error {
	writes := slices.DeleteFunc(p.Writes(), func(write string) bool { return !strings.Contains(write, "/applications/") })
	if len(writes) > 0 {
		return fmt.Errorf("the provider has changed Applications: %v", writes)
	}
	return nil
}

// through are the provider's attributes for a connection through the proxy.
func (p *proxy) through() obj { return obj{"kubernetes": obj{"host": p.URL()}} }
