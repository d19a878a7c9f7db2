package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestProxyCountsAnsweredRequestsAndPassesThemOn(t *testing.T) {
	const path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = r.Header.Get("Authorization") + " " + r.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	p, err := newProxy(&rest.Config{Host: server.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close() // nothing depends on it

	body := `{"metadata":{"name":"a"}}`
	response, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if want := "Bearer secret " + path + " " + body; response.StatusCode != http.StatusCreated || got != want {
		t.Errorf("the server has got %q and %d was answered, want %q and 201", got, response.StatusCode, want)
	}
	if tally := p.take(); tally.Writes["a"] != 1 || tally.Persisted[0].At.IsZero() {
		t.Errorf("counted was %+v", tally)
	}
	if tally := p.take(); len(tally.Kinds) != 0 {
		t.Errorf("counted twice: %+v", tally)
	}
}

func TestProxyCountsARequestThatTheServerDoesNotAnswer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	p, err := newProxy(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close() // nothing depends on it
	response, err := http.Get(p.url + "/api/v1/namespaces")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if tally := p.take(); tally.Refused["LIST namespaces"] != 1 {
		t.Errorf("counted was %+v", tally)
	}
}
