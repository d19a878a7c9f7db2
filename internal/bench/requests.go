package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// request is one request of the provider to the API server.
type request struct {
	// Verb is LIST, WATCH, GET, POST, PUT, PATCH or DELETE.
	Verb, Resource, Name string
	Dry                  bool
	// Metadata tells that only the metadata of objects is asked for.
	Metadata bool
	// Refresh tells that it asks Argo CD for a comparison.
	Refresh bool
	// At is when it came.
	At time.Time
}

// classify reads a request: accept is its header of this name, body that of a POST or PATCH.
func classify(method, path, query, accept string, body []byte) request {
	r := request{Verb: method, Metadata: strings.Contains(accept, "as=PartialObjectMetadata")}
	r.Resource, r.Name = resourceOf(path)
	switch {
	case method == http.MethodGet && strings.Contains(query, "watch="):
		r.Verb = "WATCH"
	case method == http.MethodGet && r.Name == "":
		r.Verb = "LIST"
	}
	r.Dry = strings.Contains(query, "dryRun=All")
	if method == http.MethodPost {
		var object struct{ Metadata struct{ Name string } }
		if json.Unmarshal(body, &object) == nil {
			r.Name = object.Metadata.Name
		}
	}
	if method == http.MethodPatch {
		// In a JSON patch the slash is written as ~1.
		r.Refresh = bytes.Contains(body, []byte("argocd.argoproj.io/refresh")) || bytes.Contains(body, []byte("argocd.argoproj.io~1refresh"))
	}
	return r
}

// resourceOf reads the path of a request: /api/v1/... or /apis/GROUP/VERSION/..., then perhaps
// namespaces/NAMESPACE, then RESOURCE, then perhaps a name.
func resourceOf(path string) (resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return path, ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 1 {
		name = parts[1]
	}
	return parts[0], name
}

// kind is under what a request is counted.
func (r request) kind() string {
	kind := r.Verb + " " + r.Resource
	switch {
	case r.Dry:
		kind += " (dry run)"
	case r.Refresh:
		kind += " (refresh)"
	case r.Metadata:
		kind += " (metadata)"
	}
	return kind
}

// persists tells that the request changes an Application.
func (r request) persists() bool {
	return r.Resource == "applications" && !r.Dry && slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, r.Verb)
}

// tally counts requests.
type tally struct {
	Kinds map[string]int
	// Writes are the requests that persist, DryRuns those that do not, for each Application.
	Writes, DryRuns map[string]int
	// Refused are the answers of 400 and above, by kind.
	Refused map[string]int
	// Refreshes are the comparisons asked for.
	Refreshes int
	// Persisted are the requests that persist, as they were answered.
	Persisted []request
}

func newTally() *tally {
	return &tally{Kinds: map[string]int{}, Writes: map[string]int{}, DryRuns: map[string]int{}, Refused: map[string]int{}}
}

// add counts a request that was answered with this status.
func (t *tally) add(r request, status int) {
	t.Kinds[r.kind()]++
	if status >= http.StatusBadRequest {
		t.Refused[r.kind()]++
		return
	}
	if r.persists() {
		t.Writes[r.Name]++
		t.Persisted = append(t.Persisted, r)
	}
	if r.Dry && r.Resource == "applications" {
		t.DryRuns[r.Name]++
	}
	if r.Refresh && !r.Dry {
		t.Refreshes++
	}
}

// total is the number of requests that persist.
func (t *tally) total() int { return sum(t.Writes) }

func sum(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}

// dryRuns are those of Applications that were written, and of all others.
func (t *tally) dryRuns() (written, others int) {
	for name, count := range t.DryRuns {
		if t.Writes[name] > 0 {
			written += count
		} else {
			others += count
		}
	}
	return written, others
}

// most is the largest number of writes that one Application has got.
func (t *tally) most() int {
	if len(t.Writes) == 0 {
		return 0
	}
	return slices.Max(slices.Collect(maps.Values(t.Writes)))
}
