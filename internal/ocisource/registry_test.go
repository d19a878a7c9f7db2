package ocisource

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	emptyType    = "application/vnd.oci.empty.v1+json"
	tarType      = "application/vnd.oci.image.layer.v1.tar"
	zippedType   = tarType + "+gzip"
)

// registry is an OCI registry on this machine with one repository, org/app.
type registry struct {
	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	// content is what lies under a digest, and kinds what it is; tags are names of digests.
	content map[string][]byte
	kinds   map[string]string
	tags    map[string]string
	order   []string
	// before may answer in the registry's place.
	before func(http.ResponseWriter, *http.Request) bool
	// asked are the requests so far, with what was sent as Authorization.
	asked []string
}

func newRegistry(t testing.TB) *registry {
	r := &registry{t: t, content: map[string][]byte{}, kinds: map[string]string{}, tags: map[string]string{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func newTLSRegistry(t testing.TB) *registry {
	r := &registry{t: t, content: map[string][]byte{}, kinds: map[string]string{}, tags: map[string]string{}}
	r.server = httptest.NewTLSServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// repository is where it is.
func (r *registry) repository() Repository {
	_, host, _ := strings.Cut(r.server.URL, "://")
	return Repository{
		Repository: gitsource.Repository{URL: "oci://" + host + "/org/app", Insecure: true},
		PlainHTTP:  strings.HasPrefix(r.server.URL, "http://"),
	}
}

func (r *registry) put(kind string, content []byte) map[string]any {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.content[digest], r.kinds[digest] = content, kind
	return map[string]any{"mediaType": kind, "digest": digest, "size": len(content)}
}

// layer is one of an artifact.
type layer struct {
	kind    string
	content []byte
}

// push makes an artifact and lets the tag mean it.
func (r *registry) push(tag, config string, layers ...layer) (digest string) {
	r.t.Helper()
	manifest := map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": r.put(config, []byte("{}"))}
	listed := []any{}
	for _, l := range layers {
		listed = append(listed, r.put(l.kind, l.content))
	}
	manifest["layers"] = listed
	return r.pushManifest(tag, manifestType, manifest)
}

func (r *registry) pushManifest(tag, kind string, manifest any) (digest string) {
	r.t.Helper()
	text, err := json.Marshal(manifest)
	if err != nil {
		r.t.Fatal(err)
	}
	digest, _ = r.put(kind, text)["digest"].(string)
	r.tags[tag] = digest
	r.order = append(r.order, tag)
	return digest
}

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, strings.TrimSpace(request.Method+" "+request.URL.Path+" "+request.Header.Get("Authorization")))
	if r.before != nil && r.before(w, request) {
		return
	}
	rest, known := strings.CutPrefix(request.URL.Path, "/v2/org/app/")
	if rest == "tags/list" {
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "org/app", "tags": r.order})
		return
	}
	_, reference, _ := strings.Cut(rest, "/")
	if digest, isTag := r.tags[reference]; isTag {
		reference = digest
	}
	content, found := r.content[reference]
	if !known || !found {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Type", r.kinds[reference])
	w.Header().Set("Docker-Content-Digest", reference)
	http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(content))
}

// file is an entry of an archive that is one.
func file(name, content string) tar.Header {
	return tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(content)), PAXRecords: map[string]string{"TEST.content": content}}
}

func directory(name string) tar.Header {
	return tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
}

// tarOf is an archive of entries.
func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, header := range entries {
		content := header.PAXRecords["TEST.content"]
		header.PAXRecords = nil
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pushFile makes an artifact of one file.
func (r *registry) pushFile(tag, name, content string) (digest string) {
	r.t.Helper()
	return r.push(tag, emptyType, layer{zippedType, zipped(r.t, tarOf(r.t, file(name, content)))})
}

// quick are limits of tests that need not wait.
func quick() limits {
	l := defaultLimits()
	l.pause = time.Millisecond
	return l
}

func must(t testing.TB, r Repository, revision string) *Tree {
	t.Helper()
	tree, err := fetch(t.Context(), r, revision, quick())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// fails checks that an error is of a kind and says all parts, in one line.
func fails(t testing.TB, err error, kind gitsource.Kind, parts ...string) {
	t.Helper()
	var e *gitsource.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error of a repository", err)
	}
	if e.Kind != kind {
		t.Errorf("the kind is %d, want %d: %v", e.Kind, kind, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("the error has control characters: %q", err)
	}
}

func TestARevisionIsATagADigestOrTheHighestVersion(t *testing.T) {
	r := newRegistry(t)
	digests := map[string]string{}
	for _, tag := range []string{"1.0.0", "v1.10.0", "1.9.3", "2.0.0-rc.1", "stable", "3.0.0_build", "1.x.odd"} {
		digests[tag] = r.pushFile(tag, "version.txt", tag)
	}
	for revision, tag := range map[string]string{
		"1.0.0": "1.0.0", "stable": "stable", digests["1.9.3"]: "1.9.3", "1.x": "v1.10.0", "~1.9.0": "1.9.3", ">=1.0.0 <1.5.0": "1.0.0",
		"tag@" + digests["1.9.3"]: "1.9.3",
	} {
		tree := must(t, r.repository(), revision)
		content, err := tree.Read("version.txt")
		if err != nil || string(content) != tag || tree.Digest() != digests[tag] {
			t.Errorf("%q is %q at %s, %v; want %q at %s", revision, content, tree.Digest(), err, tag, digests[tag])
		}
	}
	for revision, c := range map[string]struct {
		kind gitsource.Kind
		said string
	}{
		"nothing":   {gitsource.Missing, `it has no tag and no digest "nothing"`},
		"1.0.1":     {gitsource.Missing, `"1.0.1"`},
		">=4.0.0":   {gitsource.Revision, "none of its 7 tags is a version that satisfies"},
		">=3.0.0":   {gitsource.Revision, `"3.0.0+build" satisfies ">=3.0.0", but there is no such tag`},
		"no/tag":    {gitsource.Revision, "neither a tag nor a digest"},
		"sha256:00": {gitsource.Revision, "neither a tag nor a digest"},
	} {
		_, err := fetch(t.Context(), r.repository(), revision, quick())
		fails(t, err, c.kind, "fetching revision", r.repository().URL, c.said)
	}
}

func TestURLsThatAreNoneOfAnArtifact(t *testing.T) {
	for url, said := range map[string]string{
		"https://ghcr.io/org/app":     "begins with oci://",
		"ghcr.io/org/app":             "begins with oci://",
		"oci://ghcr.io":               "oci://HOST/NAME",
		"oci://ghcr.io/Org/App":       "small letters",
		"oci://me:canary@ghcr.io/org": "oci://HOST/NAME",
	} {
		_, err := Fetch(t.Context(), Repository{Repository: gitsource.Repository{URL: url}}, "1")
		fails(t, err, gitsource.Invalid, said)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

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

func TestWhatARegistrySendsIsChecked(t *testing.T) {
	blob := func(answer func(w http.ResponseWriter, content []byte)) func(*registry) {
		return func(r *registry) {
			r.before = func(w http.ResponseWriter, request *http.Request) bool {
				_, digest, isBlob := strings.Cut(request.URL.Path, "/blobs/")
				if isBlob {
					answer(w, r.content[digest])
				}
				return isBlob
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*registry)
		kind   gitsource.Kind
		said   string
	}{
		"another content": {blob(func(w http.ResponseWriter, content []byte) {
			other := bytes.Clone(content)
			other[4]++ // the time in the header of gzip
			_, _ = w.Write(other)
		}), gitsource.Invalid, "not what its digest says"},
		"more content": {blob(func(w http.ResponseWriter, content []byte) {
			w.(http.Flusher).Flush() // without a length
			_, _ = w.Write(append(bytes.Clone(content), 1))
		}), gitsource.Invalid, "not what its digest says"},
		"less content": {blob(func(w http.ResponseWriter, content []byte) {
			w.(http.Flusher).Flush()
			_, _ = w.Write(content[:len(content)/2])
		}), gitsource.Unreachable, "ends in the middle"},
		"no blob":   {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusNotFound) }), gitsource.Missing, "its layer sha256:"},
		"forbidden": {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusForbidden) }), gitsource.Authentication, "may not read it (403)"},
		"too busy":  {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusServiceUnavailable) }), gitsource.Unreachable, "503 Service Unavailable"},
		"a teapot":  {blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusTeapot) }), gitsource.Other, "418 I'm a teapot"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.pushFile("1", "a.txt", strings.Repeat("a", 5000))
			c.change(r)
			_, err := fetch(t.Context(), r.repository(), "1", quick())
			fails(t, err, c.kind, c.said)
		})
	}
}

func TestARegistryThatIsTooBusyIsAskedAgain(t *testing.T) {
	r := newRegistry(t)
	r.pushFile("1", "a.txt", "a")
	left := 2
	r.before = func(w http.ResponseWriter, _ *http.Request) bool {
		if left--; left >= 0 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return left >= 0
	}
	must(t, r.repository(), "1")
}

func TestARegistryThatDoesNotAnswerIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		limits func(*limits)
		cancel bool
		said   string
	}{
		"after the time for all of it": {func(l *limits) { l.fetch = 20 * time.Millisecond }, false, "it took more than 20ms"},
		"when everything is cancelled": {func(*limits) {}, true, "everything was cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
				if c.cancel {
					cancel()
				}
				select {
				case <-release:
				case <-request.Context().Done():
				}
			}))
			defer server.Close()
			defer close(release)
			l := quick()
			c.limits(&l)
			_, host, _ := strings.Cut(server.URL, "://")
			_, err := fetch(ctx, Repository{Repository: gitsource.Repository{URL: "oci://" + host + "/a"}, PlainHTTP: true}, "1", l)
			fails(t, err, gitsource.Unreachable, c.said)
		})
	}
}
