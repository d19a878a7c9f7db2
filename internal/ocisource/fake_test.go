package ocisource

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
