package faultproxy

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Match selects requests.
type Match func(*http.Request) bool

// On matches requests for a resource (its plural, without group: "applications") with one of the
// RBAC verbs: get, list, watch, create, update, patch, delete. An empty resource stands for all, and
// so do no verbs.
func On(resource string, verbs ...string) Match {
	return func(r *http.Request) bool {
		verb, asked, _ := parse(r)
		return (resource == "" || resource == asked) && (len(verbs) == 0 || slices.Contains(verbs, verb))
	}
}

// Named narrows a match to objects with this name.
func (m Match) Named(name string) Match {
	return func(r *http.Request) bool {
		_, _, asked := parse(r)
		return asked == name && m(r)
	}
}

// Real narrows a match to requests that are no dry runs.
func (m Match) Real() Match {
	return func(r *http.Request) bool { return !isDryRun(r) && m(r) }
}

func isDryRun(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "dryRun=All") }

// Writes matches all requests that change something.
func Writes(resource string) Match { return On(resource, "create", "update", "patch", "delete") }

// Requests matches all but watches.
func Requests(resource string) Match {
	return On(resource, "get", "list", "create", "update", "patch", "delete")
}

// parse tells verb, resource and name of a request, as the API server does for RBAC. They are empty
// where the path names no resource.
func parse(r *http.Request) (verb, resource, name string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return "", "", ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	switch r.Method {
	case http.MethodGet:
		verb = "list"
		if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			verb = "watch"
		} else if name != "" {
			verb = "get"
		}
	case http.MethodPost:
		verb = "create"
	case http.MethodPut:
		verb = "update"
	case http.MethodPatch:
		verb = "patch"
	case http.MethodDelete:
		verb = "delete"
	}
	return verb, resource, name
}

// Rule is a fault and the requests that it hits.
type Rule struct {
	// On selects the requests; nil selects all.
	On Match
	// Skip is how many of them pass before the first is hit.
	Skip int
	// Times is how many are hit at most; zero means all.
	Times int
	// PerObject makes Skip and Times count for each method and path on its own.
	PerObject bool
	// For is how long requests are hit, from the first one on; zero means for ever.
	For time.Duration
	// Chance is the probability with which a selected request is hit; zero means always.
	Chance float64
	// Do is the fault.
	Do Fault
}

// Active is a rule at work.
type Active struct {
	rule   Rule
	chance func() float64

	mu      sync.Mutex
	off     bool
	began   time.Time
	counted map[string]int
	hits    int
}

// Hits is how many requests were hit.
func (a *Active) Hits() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hits
}

// Stop lets all later requests pass.
func (a *Active) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.off = true
}

// takes tells whether the request is to be hit, and counts it.
func (a *Active) takes(r *http.Request, now time.Time) bool {
	if a.rule.On != nil && !a.rule.On(r) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.off || a.rule.For > 0 && !a.began.IsZero() && now.Sub(a.began) > a.rule.For {
		return false
	}
	if a.rule.Chance > 0 && a.chance() >= a.rule.Chance {
		return false
	}
	key := ""
	if a.rule.PerObject {
		key = r.Method + " " + r.URL.Path
	}
	n := a.counted[key]
	if a.rule.Times > 0 && n >= a.rule.Skip+a.rule.Times {
		return false
	}
	a.counted[key] = n + 1
	if n < a.rule.Skip {
		return false
	}
	if a.began.IsZero() {
		a.began = now
	}
	a.hits++
	return true
}
