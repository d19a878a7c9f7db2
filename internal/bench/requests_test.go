package main

import (
	"net/http"
	"testing"
	"time"
)

func TestRequestsAreCountedByWhatTheyDo(t *testing.T) {
	const apps = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
	tests := map[string]struct {
		method, path, query, body string
		want                      string
		name                      string
		persists                  bool
	}{
		"a list":                         {"GET", apps, "limit=500&labelSelector=a%3Db", "", "LIST applications", "", false},
		"a watch":                        {"GET", apps, "allowWatchBookmarks=true&watch=true", "", "WATCH applications", "", false},
		"a read":                         {"GET", apps + "/a", "", "", "GET applications", "a", false},
		"a creation, named in its body":  {"POST", apps, "", `{"metadata":{"name":"a"}}`, "POST applications", "a", true},
		"a dry run of a creation":        {"POST", apps, "dryRun=All&fieldValidation=Strict", `{"metadata":{"name":"a"}}`, "POST applications (dry run)", "a", false},
		"a replacement":                  {"PUT", apps + "/a", "", "{}", "PUT applications", "a", true},
		"a dry run of a replacement":     {"PUT", apps + "/a", "dryRun=All", "{}", "PUT applications (dry run)", "a", false},
		"a patch":                        {"PATCH", apps + "/a", "", `{"metadata":{"annotations":{"x":"y"}}}`, "PATCH applications", "a", true},
		"a refresh by a merge patch":     {"PATCH", apps + "/a", "", `{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`, "PATCH applications (refresh)", "a", true},
		"a refresh by a JSON patch":      {"PATCH", apps + "/a", "", `[{"op":"add","path":"/metadata/annotations/argocd.argoproj.io~1refresh"}]`, "PATCH applications (refresh)", "a", true},
		"a deletion":                     {"DELETE", apps + "/a", "", "", "DELETE applications", "a", true},
		"a write of something else":      {"PUT", "/api/v1/namespaces/argocd/configmaps/a", "", "", "PUT configmaps", "a", false},
		"a read outside of namespaces":   {"GET", "/api/v1/namespaces/argocd", "", "", "GET namespaces", "argocd", false},
		"a path that is not a resource":  {"GET", "/version", "", "", "LIST /version", "", false},
		"a list of all groups' versions": {"GET", "/apis/argoproj.io/v1alpha1", "", "", "LIST /apis/argoproj.io/v1alpha1", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := classify(test.method, test.path, test.query, "application/json", []byte(test.body))
			if r.kind() != test.want || r.Name != test.name || r.persists() != test.persists {
				t.Errorf("it is %q of %q, persists %v; want %q of %q, %v", r.kind(), r.Name, r.persists(), test.want, test.name, test.persists)
			}
		})
	}
}

func TestListsOfMetadataAreCountedApart(t *testing.T) {
	const accept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	r := classify(http.MethodGet, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", "limit=500", accept, nil)
	if want := "LIST applications (metadata)"; r.kind() != want {
		t.Errorf("it is %q, want %q", r.kind(), want)
	}
}

func TestTallyTellsWhatPersistsFromWhatDoesNot(t *testing.T) {
	first := time.Unix(100, 0)
	requests := []struct {
		r      request
		status int
	}{
		{request{Verb: "LIST", Resource: "applications"}, http.StatusOK},
		{request{Verb: "POST", Resource: "applications", Name: "a", Dry: true}, http.StatusCreated},
		{request{Verb: "PUT", Resource: "applications", Name: "a"}, http.StatusConflict},
		{request{Verb: "PUT", Resource: "applications", Name: "a"}, http.StatusOK},
		{request{Verb: "PATCH", Resource: "applications", Name: "a", Refresh: true}, http.StatusOK},
		{request{Verb: "PUT", Resource: "applications", Name: "b"}, http.StatusOK},
		{request{Verb: "PUT", Resource: "configmaps", Name: "c"}, http.StatusOK},
		{request{Verb: "PUT", Resource: "applications", Name: "d", Dry: true}, http.StatusOK},
	}
	tally := newTally()
	for i, r := range requests {
		r.r.At = first.Add(time.Duration(i) * time.Second)
		tally.add(r.r, r.status)
	}
	if tally.total() != 3 || tally.most() != 2 || tally.Refreshes != 1 || len(tally.Writes) != 2 {
		t.Errorf("total %d, most %d, refreshes %d, Applications %d; want 3, 2, 1, 2", tally.total(), tally.most(), tally.Refreshes, len(tally.Writes))
	}
	if written, others := tally.dryRuns(); written != 1 || others != 1 {
		t.Errorf("%d dry runs of written Applications and %d of others, want 1 of a and 1 of d", written, others)
	}
	if want := first.Add(3 * time.Second); len(tally.Persisted) != 3 || !tally.Persisted[0].At.Equal(want) {
		t.Errorf("writes are %+v, want the first at %s: a refused one is none", tally.Persisted, want)
	}
	want := "1 LIST applications, 1 PATCH applications (refresh), 1 POST applications (dry run), 3 PUT applications (1 refused), 1 PUT applications (dry run), 1 PUT configmaps"
	if got := kinds(tally); got != want {
		t.Errorf("in words %q, want %q", got, want)
	}
	if empty := newTally(); empty.most() != 0 || empty.total() != 0 {
		t.Error("nothing is counted as something")
	}
}
