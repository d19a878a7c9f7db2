package argocd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// eventAPI takes Events, with this status code, and keeps them.
func eventAPI(t *testing.T, code int) (*Client, func() []map[string]any) {
	t.Helper()
	var mu sync.Mutex
	var got []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var obj map[string]any
		if err := json.NewDecoder(r.Body).Decode(&obj); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/argocd/events" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		mu.Lock()
		got = append(got, obj)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if code != http.StatusCreated {
			obj = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": code}
		}
		if err := json.NewEncoder(w).Encode(obj); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL, QPS: -1}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	return client, func() []map[string]any {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestEventsSayWhatHappenedToWhichApplication(t *testing.T) {
	client, got := eventAPI(t, http.StatusCreated)
	w := client.Events(t.Context(), shop)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	w.Write(AppEvent{App: "dev", UID: "u-1", At: at, Reason: "RolloutHealthy", Message: "synced"})
	w.Write(AppEvent{App: "qa", At: at.Add(time.Second), Reason: "RolloutFailed", Message: strings.Repeat("ä", 2000), Warning: true})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	written := got()
	if len(written) != 2 {
		t.Fatalf("%d Events", len(written))
	}
	for path, want := range map[string]string{
		"involvedObject/kind": "Application", "involvedObject/name": "dev", "involvedObject/uid": "u-1", "reason": "RolloutHealthy",
		"message": "synced", "type": "Normal", "lastTimestamp": "2026-01-02T03:04:05Z", "metadata/namespace": "argocd",
	} {
		if got := text(written[0], strings.Split(path, "/")...); got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	long := text(written[1], "message")
	if text(written[1], "type") != "Warning" || len(long) > 1024 || !strings.HasSuffix(long, "ä...") {
		t.Errorf("the second is %v", written[1])
	}
}

func TestWithoutTheRightToWriteEventsItIsAskedOnce(t *testing.T) {
	client, got := eventAPI(t, http.StatusForbidden)
	w := client.Events(t.Context(), shop)
	for range 5 {
		w.Write(AppEvent{App: "dev", At: time.Now(), Reason: "RolloutHealthy"})
	}
	err := w.Close()
	if err == nil || !strings.Contains(err.Error(), "5 Events are missing") {
		t.Errorf("it says %v", err)
	}
	if grant := ExplainForbidden(err); !strings.Contains(grant, `resources: ["events"]`) {
		t.Errorf("what to grant: %s", grant)
	}
	if n := len(got()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestTheExampleForEventsGrantsExactlyThat(t *testing.T) {
	content, err := os.ReadFile("../../examples/rbac/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules []any
	for _, part := range strings.Split(string(content), "\n---\n") {
		var d map[string]any
		if err := yaml.Unmarshal([]byte(part), &d); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, list(d, "rules")...)
	}
	got, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"apiGroups":[""],"resources":["events"],"verbs":["create"]}]`; string(got) != want {
		t.Errorf("it grants %s, not %s", got, want)
	}
}
