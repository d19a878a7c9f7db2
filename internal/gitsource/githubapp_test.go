package gitsource

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// github answers like the API of GitHub for an app that is installed for "Org", with id 42.
func github(t *testing.T, token string) *requests {
	return &requests{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ey") {
			t.Errorf("%s %s has no signed token", r.Method, r.URL)
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v3/app/installations":
			_, _ = io.WriteString(w, `[{"id": 41, "account": {"login": "other"}}, {"id": 42, "account": {"login": "Org"}}]`)
		case "POST /api/v3/app/installations/42/access_tokens":
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"token": %q, "expires_at": "2099-01-01T00:00:00Z"}`, token)
		case "POST /api/v3/app/installations/43/access_tokens":
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		default:
			http.Error(w, "canary of the API", http.StatusNotFound)
		}
	})}
}

func TestAGitHubAppGetsATokenOfItsInstallation(t *testing.T) {
	r, _, _ := sample(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	api := github(t, "canary-app-token")
	address := serve(t, api).URL + "/api/v3/"
	wanted := &http.Request{Header: http.Header{}}
	wanted.SetBasicAuth("x-access-token", "canary-app-token")
	backend := withHeader(httpBackend(r), wanted.Header.Get("Authorization"))
	git := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix("/org", backend).ServeHTTP(w, r)
	}))
	at := func(path string, app App) Repository { return Repository{URL: git.URL + path, App: app} }

	newTestStore(t).must(t, at("/org/repo.git", App{ID: 1, InstallationID: 42, PrivateKey: keyPEM, BaseURL: address}), "main")
	newTestStore(t).must(t, at("/org/repo.git", App{ID: 1, PrivateKey: keyPEM, BaseURL: address}), "main")

	for said, repository := range map[string]Repository{
		`GitHub App 1 is not installed for "stranger"`:          at("/stranger/repo.git", App{ID: 1, PrivateKey: keyPEM, BaseURL: address}),
		"refused GitHub App 1 a token for installation 9 (404)": at("/org/repo.git", App{ID: 1, InstallationID: 9, PrivateKey: keyPEM, BaseURL: address}),
		"the API of GitHub redirects":                           at("/org/repo.git", App{ID: 1, InstallationID: 43, PrivateKey: keyPEM, BaseURL: address}),
		"private key of GitHub App 1 cannot be read":            at("/org/repo.git", App{ID: 1, InstallationID: 42, PrivateKey: "canary", BaseURL: address}),
	} {
		_, err := newTestStore(t).Fetch(t.Context(), repository, "main")
		if err == nil || !strings.Contains(err.Error(), said) || strings.Contains(err.Error(), "canary") {
			t.Errorf("the error is %v, want %q and no canary", err, said)
		}
	}
}
