package argocd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// leaseAPI is an API server that knows Leases, as far as this package asks it: resourceVersions,
// UIDs, conflicts. Any other object that is written is taken and counted.
type leaseAPI struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]any
	// writes are the requests that wrote a Lease: method and holder.
	writes []string
	// others counts writes of anything else.
	others int
	// fault, when set, may answer a request itself, or carry it out (next) and lose the answer.
	fault func(r *http.Request, next func() *http.Response) (*http.Response, error)
}

// machine is a client of the API server, whose wall clock is wrong by skew.
func (a *leaseAPI) machine(t *testing.T, skew time.Duration) *Client {
	t.Helper()
	client, err := New(&rest.Config{Host: "http://api", Transport: leaseTransport{a}}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	client.clock = skewedClock{skew}
	return client
}

type skewedClock struct{ skew time.Duration }

func (c skewedClock) Now() time.Time                         { return time.Now().Add(c.skew) }
func (c skewedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

var _ rollout.Clock = skewedClock{}

// leaseTransport is the way of one machine to the API server, without a network.
type leaseTransport struct{ api *leaseAPI }

func (l leaseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	l.api.mu.Lock()
	fault := l.api.fault
	l.api.mu.Unlock()
	next := func() *http.Response { return l.api.serve(r) }
	if fault != nil {
		return fault(r, next)
	}
	return next(), nil
}

func (a *leaseAPI) serve(r *http.Request) *http.Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := path.Base(r.URL.Path)
	if path.Base(path.Dir(r.URL.Path)) != "leases" && name != "leases" {
		a.others++
		return reply(http.StatusCreated, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "resourceVersion": "1"}})
	}
	var sent map[string]any
	if r.Body != nil {
		if content, _ := io.ReadAll(r.Body); len(content) > 0 {
			if err := json.Unmarshal(content, &sent); err != nil {
				return reply(http.StatusBadRequest, status(http.StatusBadRequest, metav1.StatusReasonBadRequest, 0))
			}
		}
	}
	if r.Method == http.MethodPost {
		name = text(sent, "metadata", "name")
	}
	old := a.objects[name]
	switch {
	case r.Method == http.MethodPost && old != nil:
		return reply(http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonAlreadyExists, 0))
	case r.Method != http.MethodPost && old == nil:
		return reply(http.StatusNotFound, status(http.StatusNotFound, metav1.StatusReasonNotFound, 0))
	case r.Method == http.MethodGet:
		return reply(http.StatusOK, old)
	case r.Method == http.MethodDelete:
		if version := text(sent, "preconditions", "resourceVersion"); version != text(old, "metadata", "resourceVersion") {
			return reply(http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonConflict, 0))
		}
		delete(a.objects, name)
		a.writes = append(a.writes, "delete")
		return reply(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": metav1.StatusSuccess})
	case r.Method == http.MethodPut && text(sent, "metadata", "resourceVersion") != text(old, "metadata", "resourceVersion"):
		return reply(http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonConflict, 0))
	}
	a.store(sent)
	a.writes = append(a.writes, r.Method+" "+text(sent, "spec", "holderIdentity"))
	return reply(http.StatusOK, sent)
}

func (a *leaseAPI) store(obj map[string]any) {
	if a.objects == nil {
		a.objects = map[string]map[string]any{}
	}
	a.version++
	meta := dict(obj, "metadata")
	meta["resourceVersion"] = strconv.Itoa(a.version)
	name := text(meta, "name")
	if a.objects[name] == nil {
		meta["uid"] = fmt.Sprintf("uid-%d", a.version)
	}
	a.objects[name] = obj
}

// lease is the stored Lease of a set, nil when there is none.
func (a *leaseAPI) lease(owner Owner) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[recordName(owner)]
}

// edit changes the Lease of a set by hand.
func (a *leaseAPI) edit(owner Owner, change func(lease map[string]any)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	content, _ := json.Marshal(a.objects[recordName(owner)])
	var obj map[string]any
	_ = json.Unmarshal(content, &obj)
	change(obj)
	a.store(obj)
}

func (a *leaseAPI) drop(owner Owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, recordName(owner))
}

func (a *leaseAPI) failing(fault func(r *http.Request, next func() *http.Response) (*http.Response, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

// down is an API server that cannot be reached.
func down(*http.Request, func() *http.Response) (*http.Response, error) {
	return nil, syscall.ECONNREFUSED
}

func reply(code int, obj map[string]any) *http.Response {
	content, _ := json.Marshal(obj)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(content)),
	}
}
