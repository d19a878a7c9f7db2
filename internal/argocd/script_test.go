package argocd

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// script is an API server that answers one request after the other as told, and fails the test
// on any other request. Answers to a watch are streamed.
type script struct {
	*testing.T
	mu    sync.Mutex
	steps []step
	seen  []string
	// bodies are those of the patches.
	bodies []string
	clock  time.Time
}

type step struct {
	// request is "LIST", "WATCH 10", "GET name", or a method and a name.
	request string
	status  int
	// body is the answer, or the events of a watch.
	body []any
	// hold keeps a watch open until the client leaves.
	hold bool
}

func newScript(t *testing.T, steps ...step) (*script, *Client) {
	t.Helper()
	s := &script{T: t, steps: steps, clock: time.Unix(0, 0)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	// client-go itself sleeps, for real, when an answer has the header Retry-After; so the tests
	// put the delay into the body of a Status, which only we look at.
	client, err := New(&rest.Config{Host: server.URL}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	client.retry = retrier{
		now: func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.clock },
		sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.clock = s.clock.Add(d)
			s.seen = append(s.seen, "sleep "+d.String())
			return ctx.Err()
		},
		jitter: func(d time.Duration) time.Duration { return d },
	}
	return s, client
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"), "/")
	request := sentence(" ", r.Method, name)
	if r.Method == http.MethodGet && name == "" {
		request = "LIST"
		if r.URL.Query().Get("watch") != "" {
			request = "WATCH " + r.URL.Query().Get("resourceVersion")
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Errorf("%s: %v", request, err)
	}
	s.mu.Lock()
	s.seen = append(s.seen, request)
	if r.Method == http.MethodPatch {
		s.bodies = append(s.bodies, string(body))
	}
	if len(s.steps) == 0 || s.steps[0].request != request {
		s.mu.Unlock()
		s.Errorf("unexpected request %q after %q", request, s.seen)
		http.Error(w, "unexpected", http.StatusTeapot)
		return
	}
	now := s.steps[0]
	s.steps = s.steps[1:]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if now.status != 0 {
		w.WriteHeader(now.status)
	}
	for _, b := range now.body {
		_ = json.NewEncoder(w).Encode(b)
		w.(http.Flusher).Flush()
	}
	if now.hold {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// history is what was requested, and how long was slept.
func (s *script) history() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, ", ")
}

func liveApp(name, uid, version string) map[string]any {
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{
			"name": name, "namespace": "argocd", "uid": uid, "resourceVersion": version,
			"labels": map[string]any{SetLabel: shop.Hash()}, "annotations": map[string]any{OwnerAnnotation: shop.String()},
		},
		"spec": testSpec(),
	}
}

func deleting(app map[string]any) map[string]any {
	dict(app, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return app
}

func listed(version string, apps ...any) []any {
	if apps == nil {
		apps = []any{}
	}
	return []any{map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationList", "metadata": map[string]any{"resourceVersion": version}, "items": apps}}
}

func event(kind string, object map[string]any) any {
	return map[string]any{"type": kind, "object": object}
}

func bookmark(version string) any {
	return event("BOOKMARK", map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"resourceVersion": version}})
}

func status(code int, reason metav1.StatusReason, seconds int) map[string]any {
	s := map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": string(reason), "message": "said the server"}
	if seconds > 0 {
		s["details"] = map[string]any{"retryAfterSeconds": seconds}
	}
	return s
}

// told collects events until the watch ends, or want of them have come.
func told(t *testing.T, events <-chan rollout.Event, want int) string {
	t.Helper()
	var out []string
	timeout := time.After(20 * time.Second)
	for len(out) < want {
		select {
		case e, open := <-events:
			switch {
			case !open:
				return strings.Join(append(out, "closed"), ", ")
			case e.Away:
				out = append(out, "away")
			case e.Listed:
				out = append(out, "listed")
			case e.Live == nil:
				out = append(out, "gone "+e.Name+" "+e.UID)
			default:
				out = append(out, e.Name+" "+e.Live.UID+"@"+e.Live.Version)
			}
		case <-timeout:
			t.Fatalf("only %d of %d events came: %v", len(out), want, out)
		}
	}
	return strings.Join(out, ", ")
}

func without(app map[string]any, field string) map[string]any {
	delete(dict(app, "metadata"), field)
	return app
}

func annotated(app map[string]any, key, value string) map[string]any {
	dict(app, "metadata", "annotations")[key] = value
	return app
}
