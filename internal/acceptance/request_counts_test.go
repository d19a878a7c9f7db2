package acceptance

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// counter stands in front of the proxy and counts the requests for Applications.
type counter struct {
	*proxy
	server *httptest.Server

	mu     sync.Mutex
	counts map[string]int
}

func (f *fixture) counter() *counter {
	f.Helper()
	c := &counter{proxy: f.proxy(), counts: map[string]int{}}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind := kindOf(r); kind != "" {
			c.mu.Lock()
			c.counts[kind]++
			c.mu.Unlock()
		}
		c.proxy.ServeHTTP(w, r)
	}))
	f.Cleanup(c.server.Close)
	return c
}

// kindOf is what a request does to Applications; empty where it is about something else.
func kindOf(r *http.Request) string {
	_, name, ok := strings.Cut(r.URL.Path, "/namespaces/"+argoNamespace+"/applications")
	switch {
	case !ok, name != "" && name[0] != '/': // ApplicationSets begin with the same letters
		return ""
	case strings.Contains(r.URL.RawQuery, "dryRun=All"):
		return "dry run"
	case r.Method != http.MethodGet:
		return "write"
	case strings.Contains(r.URL.RawQuery, "watch="):
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}

// takes runs something and fails unless it took at most so many lists, watches and dry runs. How
// many writes there are depends on what Argo CD overlooks.
func (c *counter) takes(what string, most map[string]int, do func()) {
	c.f.Helper()
	c.mu.Lock()
	clear(c.counts)
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts["watch"] == 0 && most["watch"] > 0 {
		c.f.Errorf("%s did not go through the proxy", what)
	}
	for _, kind := range []string{"list", "watch", "dry run"} {
		if c.counts[kind] > most[kind] {
			c.f.Errorf("%s took %d requests of kind %q, want at most %d", what, c.counts[kind], kind, most[kind])
		}
	}
}

func TestAccAnApplyListsAndWatchesOnce(t *testing.T) {
	f := newFixture(t)
	w, s, c := f.workspace(), f.threeSteps(), f.counter()
	s.Provider = obj{"kubernetes": obj{"host": c.server.URL}}
	f.release("1", "dev", "staging", "prod")
	w.configure(s)
	apply := func() { w.apply("plan.bin") }

	w.planOf()
	c.takes("the create", map[string]int{"list": 1, "watch": 1, "dry run": 3}, apply)
	f.release("2", "staging")
	w.planOf()
	c.takes("the update for one new commit", map[string]int{"list": 1, "watch": 1}, apply)
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.planOf()
	c.takes("the update of all specs", map[string]int{"list": 1, "watch": 1, "dry run": 3}, apply)
	w.atRest()
	c.takes("the destroy", map[string]int{"list": 1, "watch": 1}, func() { w.destroy("-refresh=false") })
	w.lives()
}
