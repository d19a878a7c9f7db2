package acceptance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// registry is an OCI registry on this machine with one repository, which can be read.
type registry struct {
	*fixture
	server *httptest.Server
	// password is that of "reader"; without it, everybody may read.
	password string
	mu       sync.Mutex
	// down: it answers with an error.
	down bool
	// content is what lies under a digest, and kinds what it is; tags are names of digests.
	content map[string][]byte
	kinds   map[string]string
	tags    map[string]string
}

const (
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.empty.v1+json"
	ociLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// registry starts one and tells Argo CD how to reach it.
func (f *fixture) registry(password string) *registry {
	f.Helper()
	r := &registry{fixture: f, password: password, content: map[string][]byte{}, kinds: map[string]string{}, tags: map[string]string{}}
	r.server = cptest.Serve(f, http.HandlerFunc(r.serve))
	secret := &unstructured.Unstructured{Object: obj{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   obj{"name": f.app("oci"), "labels": obj{"argocd.argoproj.io/secret-type": "repository"}},
		"stringData": obj{"type": "oci", "url": r.URL(), "insecureOCIForceHttp": "true"},
	}}
	if password != "" {
		data := secret.Object["stringData"].(obj)
		data["username"], data["password"] = "reader", password
	}
	at := f.client.Resource(secrets).Namespace(argoNamespace)
	if _, err := at.Create(f.ctx(), secret, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := at.Delete(f.ctx(), secret.GetName(), metav1.DeleteOptions{}); err != nil {
			f.Error(err)
		}
	})
	return r
}

// URL is that of the repository.
func (r *registry) URL() string {
	return "oci://" + strings.TrimPrefix(r.server.URL, "http://") + "/manifests"
}

// push makes an artifact of files, lets the tag mean it, and returns its digest.
func (r *registry) push(tag string, files map[string]string) string {
	r.Helper()
	var layer bytes.Buffer
	zipped := gzip.NewWriter(&layer)
	archive := tar.NewWriter(zipped)
	for name, content := range files {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			r.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			r.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		r.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		r.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := json.Marshal(obj{
		"schemaVersion": 2, "mediaType": ociManifest,
		"config": r.put(ociConfig, []byte("{}")), "layers": list{r.put(ociLayer, layer.Bytes())},
	})
	if err != nil {
		r.Fatal(err)
	}
	digest, _ := r.put(ociManifest, text)["digest"].(string)
	r.tags[tag] = digest
	return digest
}

// answers says whether the registry does.
func (r *registry) answers(yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = !yes
}

// put keeps content and returns its descriptor.
func (r *registry) put(kind string, content []byte) obj {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.content[digest], r.kinds[digest] = content, kind
	return obj{"mediaType": kind, "digest": digest, "size": len(content)}
}

func (r *registry) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		http.Error(w, "not today", http.StatusServiceUnavailable)
		return
	}
	if user, given, _ := req.BasicAuth(); r.password != "" && (user != "reader" || given != r.password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	rest, known := strings.CutPrefix(req.URL.Path, "/v2/manifests/")
	if !known {
		return // the registry itself: it is there
	}
	_, reference, _ := strings.Cut(rest, "/")
	if digest, isTag := r.tags[reference]; isTag {
		reference = digest
	}
	content, found := r.content[reference]
	if !found {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", r.kinds[reference])
	w.Header().Set("Docker-Content-Digest", reference)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(content))
}
