package ocisource

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// guarded lets in who has the name and the password, as basic authentication, or with a token.
func guarded(r *registry, withToken bool) {
	r.before = func(w http.ResponseWriter, request *http.Request) bool {
		user, password, _ := request.BasicAuth()
		known := user == "me" && password == "canary"
		switch {
		case request.URL.Path == "/token" && known:
			if got := request.URL.Query(); got.Get("service") != "registry" || got.Get("scope") != "repository:org/app:pull" {
				r.t.Errorf("a token is asked for with %v", got)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"token": "a-token"})
			return true
		case !withToken && known, withToken && request.Header.Get("Authorization") == "Bearer a-token":
			return false
		}
		if withToken {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+r.server.URL+`/token",service="registry",scope="repository:org/app:pull"`)
		} else {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"errors": [{"code": "UNAUTHORIZED", "message": "not with ` + password + "\\u001b" + `"}]}`))
		return true
	}
}

func TestCredentialsLetIn(t *testing.T) {
	for name, withToken := range map[string]bool{"by a password": false, "by a token for a password": true} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.pushFile("1", "a.txt", "a")
			guarded(r, withToken)
			repository := r.repository()
			_, err := fetch(t.Context(), repository, "1", quick())
			fails(t, err, gitsource.Authentication, "wants credentials")
			repository.Username, repository.Password = "me", "canary"
			must(t, repository, "1")
			repository.Password = "canary-2"
			_, err = fetch(t.Context(), repository, "1", quick())
			fails(t, err, gitsource.Authentication, "wants credentials, or other ones (401)")
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

func TestARedirectElsewhereGetsNoCredentials(t *testing.T) {
	r, elsewhere := newRegistry(t), newRegistry(t)
	r.pushFile("1", "a.txt", "a")
	elsewhere.content, elsewhere.kinds = r.content, r.kinds
	guarded(r, false)
	inner := r.before
	r.before = func(w http.ResponseWriter, request *http.Request) bool {
		if inner(w, request) {
			return true
		}
		if strings.Contains(request.URL.Path, "/blobs/") {
			http.Redirect(w, request, elsewhere.server.URL+"/first/"+request.URL.Path+"?signature=sesame", http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	elsewhere.before = func(w http.ResponseWriter, request *http.Request) bool {
		rest, first := strings.CutPrefix(request.URL.Path, "/first/")
		if first {
			http.Redirect(w, request, rest+"?signature=sesame", http.StatusFound)
		}
		return first
	}
	repository := r.repository()
	repository.Username, repository.Password = "me", "canary"
	must(t, repository, "1")
	if len(elsewhere.asked) != 2 {
		t.Errorf("the other host was asked %q", elsewhere.asked)
	}
	for _, asked := range elsewhere.asked {
		if strings.Contains(asked, "Basic") {
			t.Errorf("the other host was told the credentials: %s", asked)
		}
	}
	elsewhere.before = func(w http.ResponseWriter, request *http.Request) bool {
		w.Header().Set("Content-Length", "1")
		_, _ = w.Write([]byte("x"))
		return true
	}
	_, err := fetch(t.Context(), repository, "1", quick())
	fails(t, err, gitsource.Other, "mismatch Content-Length")
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("the error has the signature: %v", err)
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	plain := newRegistry(t)
	for name, c := range map[string]struct {
		to   func(r *registry) string
		said string
	}{
		"from TLS to plain http": {func(*registry) string { return plain.server.URL + "/v2/" }, "redirects from https to http://127.0.0.1"},
		"to a file":              {func(*registry) string { return "file:///etc/passwd" }, "that is not followed"},
		"in a circle":            {func(r *registry) string { return r.server.URL + "/v2/" }, "more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTLSRegistry(t)
			r.before = func(w http.ResponseWriter, request *http.Request) bool {
				http.Redirect(w, request, c.to(r), http.StatusFound)
				return true
			}
			_, err := fetch(t.Context(), r.repository(), "1", quick())
			fails(t, err, gitsource.Invalid, c.said)
		})
	}
	if len(plain.asked) > 0 {
		t.Errorf("the plain server was asked %q", plain.asked)
	}
}

func TestATokenIsNotAskedForWithoutTLSWhereTheRegistryHasIt(t *testing.T) {
	plain, r := newRegistry(t), newTLSRegistry(t)
	r.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+plain.server.URL+`/token",service="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	repository := r.repository()
	repository.Username, repository.Password = "me", "canary"
	_, err := fetch(t.Context(), repository, "1", quick())
	fails(t, err, gitsource.Other, "uses http but registry was contacted over https")
	if len(plain.asked) > 0 {
		t.Errorf("the plain server was asked %q", plain.asked)
	}
}

func TestCertificatesOfRegistriesAreChecked(t *testing.T) {
	r := newTLSRegistry(t)
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.pushFile("1", "a.txt", "a")
	repository := r.repository()
	repository.Insecure = false
	_, err := fetch(t.Context(), repository, "1", quick())
	fails(t, err, gitsource.Certificate, "not trusted")
	repository.PlainHTTP = true
	if _, err = fetch(t.Context(), repository, "1", quick()); err == nil {
		t.Error("TLS is spoken though it must not be")
	}
}
