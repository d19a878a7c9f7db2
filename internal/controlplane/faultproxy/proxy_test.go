package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

const thing = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","namespace":"ns","resourceVersion":"7"}}`

// upstream is an API server with one thing in it. A watch sends three events and stays open.
func upstream(t *testing.T) (config *rest.Config, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		switch verb, _, _ := parse(r); verb {
		case "watch":
			for range 3 {
				fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", thing)
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		case "list":
			fmt.Fprintf(w, `{"apiVersion":"example.com/v1","kind":"ThingList","metadata":{"resourceVersion":"7"},"items":[%s]}`, thing)
		default:
			fmt.Fprint(w, thing)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, asked
}

// through is a client behind a proxy with these rules.
func through(t *testing.T, plain bool, rules ...Rule) (*Proxy, dynamic.ResourceInterface, *atomic.Int32) {
	t.Helper()
	config, asked := upstream(t)
	p, err := Start(config, Options{Plain: plain, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for _, rule := range rules {
		p.Add(rule)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfig(file); err != nil {
		t.Fatal(err)
	}
	config, err = clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return p, client.Resource(things).Namespace("ns"), asked
}

// protocols runs a test over HTTP/2 with TLS and over plain HTTP/1.1.
func protocols(t *testing.T, test func(t *testing.T, plain bool)) {
	t.Run("HTTP2", func(t *testing.T) { test(t, false) })
	t.Run("HTTP1", func(t *testing.T) { test(t, true) })
}

func TestARequestThatNoRuleMatchesIsForwarded(t *testing.T) {
	protocols(t, func(t *testing.T, plain bool) {
		p, client, _ := through(t, plain, Rule{On: On("others"), Do: Page(500)}, Rule{On: On("things", "create"), Do: Page(500)},
			Rule{On: On("things").Named("b"), Do: Page(500)})
		obj, err := client.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || obj.GetResourceVersion() != "7" {
			t.Fatalf("Get returned %v, %v", obj, err)
		}
		if _, err := client.Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if writes := p.Writes(); len(writes) != 1 || writes[0] != "PUT /apis/example.com/v1/namespaces/ns/things/a" {
			t.Errorf("Writes() = %v", writes)
		}
		if writes := p.Writes(); len(writes) > 0 {
			t.Errorf("Writes() = %v the second time", writes)
		}
	})
}

func TestFaultsOfRequests(t *testing.T) {
	tests := map[string]struct {
		fault Fault
		// forwarded tells whether the API server sees the request.
		forwarded bool
		is        func(error) bool
	}{
		"a Status":   {Answer(503, metav1.StatusReasonServiceUnavailable, "down"), false, apierrors.IsServiceUnavailable},
		"a conflict": {Conflict(), false, apierrors.IsConflict},
		"a page": {Page(502), false, func(err error) bool {
			return strings.Contains(err.Error(), "502") || strings.Contains(err.Error(), "error on the server")
		}},
		"a reset":           {Reset(), false, noStatus},
		"a lost answer":     {LoseAnswer(), true, noStatus},
		"half an answer":    {Truncate(), true, noStatus},
		"an answer cut off": {Cut(), true, noStatus},
		"no answer":         {Hang(), false, isTimeout},
		"none after all":    {HangAfter(), true, isTimeout},
		"a long delay":      {Delay(time.Hour), false, isTimeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			protocols(t, func(t *testing.T, plain bool) {
				p, client, asked := through(t, plain)
				rule := p.Add(Rule{On: On("things", "patch"), Times: 1, Do: test.fault})
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				// A patch is never repeated by the client itself.
				_, err := client.Patch(ctx, "a", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{})
				if err == nil || !test.is(err) {
					t.Errorf("the error is %v", err)
				}
				if forwarded := asked.Load() > 0; forwarded != test.forwarded {
					t.Errorf("forwarded: %v", forwarded)
				}
				if rule.Hits() != 1 {
					t.Errorf("%d hits", rule.Hits())
				}
				if _, err := client.Patch(t.Context(), "a", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{}); err != nil {
					t.Errorf("the rule is used up, but the next request fails: %v", err)
				}
			})
		})
	}
}

// noStatus tells that no whole answer came.
func noStatus(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status)
}

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func TestTooManyRequestsTellsWhenToComeBack(t *testing.T) {
	p, _, _ := through(t, true, Rule{Do: TooManyRequests(17)})
	r, err := http.Get(p.URL() + "/apis/example.com/v1/namespaces/ns/things/a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if r.StatusCode != 429 || r.Header.Get("Retry-After") != "17" || err != nil || !strings.Contains(string(body), `"retryAfterSeconds":17`) {
		t.Errorf("the answer is %s %v %s", r.Status, r.Header, body)
	}
}

func TestADelayedRequestIsAnsweredLater(t *testing.T) {
	_, client, _ := through(t, false, Rule{Do: Delay(100 * time.Millisecond)})
	began := time.Now()
	if _, err := client.Get(t.Context(), "a", metav1.GetOptions{}); err != nil || time.Since(began) < 100*time.Millisecond {
		t.Errorf("Get returned %v after %s", err, time.Since(began))
	}
}

func TestWatches(t *testing.T) {
	tests := map[string]struct {
		fault  Fault
		events int
		last   string // type of an event after these
	}{
		"closed at once":              {CloseAfter(0), 0, ""},
		"closed after two events":     {CloseAfter(2), 2, ""},
		"expired after one event":     {ExpireAfter(1), 1, "ERROR"},
		"expired at once":             {ExpireAfter(0), 0, "ERROR"},
		"garbled after two events":    {GarbleAfter(2), 2, ""},
		"closed through CloseWatches": {nil, 3, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			protocols(t, func(t *testing.T, plain bool) {
				p, client, _ := through(t, plain)
				if test.fault != nil {
					p.Add(Rule{On: On("things", "watch"), Do: test.fault})
				}
				w, err := client.Watch(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
				events, last := 0, ""
				for event := range w.ResultChan() {
					if event.Type != watch.Modified {
						last = string(event.Type)
						if !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
							t.Errorf("the last event is %v", event.Object)
						}
						continue
					}
					events++
					if test.fault == nil && events == 3 && p.CloseWatches() != 1 {
						t.Error("there is not one watch")
					}
				}
				if events != test.events || last != test.last {
					t.Errorf("%d events, and then %q", events, last)
				}
			})
		})
	}
}

func TestAWatchFromTooOldAVersionIsRefused(t *testing.T) {
	_, client, _ := through(t, false, Rule{On: On("things", "watch"), Do: Gone()})
	if _, err := client.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestWhichRequestsARuleHits(t *testing.T) {
	const a, b = "/apis/example.com/v1/namespaces/ns/things/a", "/apis/example.com/v1/namespaces/ns/things/b"
	now := time.Unix(100, 0)
	tests := map[string]struct {
		rule Rule
		// hit is one digit for each request: they are to a, b, a, b, a, b.
		hit string
	}{
		"all":                     {Rule{}, "111111"},
		"some that pass first":    {Rule{Skip: 2}, "001111"},
		"so many":                 {Rule{Times: 3}, "111000"},
		"so many after some":      {Rule{Skip: 1, Times: 2}, "011000"},
		"the first of each":       {Rule{PerObject: true, Times: 1}, "110000"},
		"the second of each":      {Rule{PerObject: true, Skip: 1, Times: 1}, "001100"},
		"those of two seconds":    {Rule{For: 2 * time.Second}, "111000"},
		"those of one name":       {Rule{On: On("things").Named("a")}, "101010"},
		"those of another verb":   {Rule{On: On("things", "patch")}, "000000"},
		"reads of no watch":       {Rule{On: Requests("")}, "111111"},
		"writes":                  {Rule{On: Writes("things")}, "000000"},
		"half of them, by chance": {Rule{Chance: 0.5}, "101010"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			low := false
			active := &Active{rule: test.rule, counted: map[string]int{}, chance: func() float64 {
				low = !low
				if low {
					return 0.1
				}
				return 0.9
			}}
			got := ""
			for i, path := range []string{a, b, a, b, a, b} {
				hit := active.takes(httptest.NewRequest("GET", path, nil), now.Add(time.Duration(i)*time.Second))
				got += map[bool]string{true: "1", false: "0"}[hit]
			}
			if got != test.hit {
				t.Errorf("hit were %s, not %s", got, test.hit)
			}
			active.Stop()
			if active.takes(httptest.NewRequest("GET", a, nil), now) {
				t.Error("a stopped rule still hits")
			}
		})
	}
}

func TestDryRunsAreNotReal(t *testing.T) {
	const path = "/apis/example.com/v1/namespaces/ns/things/a"
	for query, want := range map[string]bool{"": true, "?dryRun=All": false} {
		if got := On("things", "update").Real()(httptest.NewRequest("PUT", path+query, nil)); got != want {
			t.Errorf("%q: %v", query, got)
		}
	}
}

func TestRequestsAreRead(t *testing.T) {
	for request, want := range map[string]string{
		"GET /api/v1/namespaces/argocd":                                      "get namespaces argocd",
		"GET /api/v1/namespaces":                                             "list namespaces ",
		"GET /api/v1/namespaces/argocd/configmaps":                           "list configmaps ",
		"GET /api/v1/namespaces/argocd/configmaps?watch=true":                "watch configmaps ",
		"PATCH /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a":  "patch applications a",
		"POST /apis/argoproj.io/v1alpha1/namespaces/argocd/applications":     "create applications ",
		"DELETE /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a": "delete applications a",
		"PUT /apis/coordination.k8s.io/v1/namespaces/argocd/leases/a":        "update leases a",
		"GET /apis/argoproj.io/v1alpha1/applications?watch=1":                "watch applications ",
		"GET /apis":   "  ",
		"GET /readyz": "  ",
	} {
		method, path, _ := strings.Cut(request, " ")
		verb, resource, name := parse(httptest.NewRequest(method, path, nil))
		if got := verb + " " + resource + " " + name; got != want {
			t.Errorf("%s is %q, not %q", request, got, want)
		}
	}
}
