package inputs

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/ocisource"
)

func TestCredentialsOfArtifactsAreFoundAsInArgoCD(t *testing.T) {
	const url = "oci://ghcr.io/org/app"
	of := func(r gitsource.Repository, plain bool) ocisource.Repository {
		r.URL = url
		return ocisource.Repository{Repository: r, PlainHTTP: plain}
	}
	for name, c := range map[string]struct {
		secrets []credentialSecret
		project string
		want    ocisource.Repository
		from    string
	}{
		"none": {nil, "", of(gitsource.Repository{}, false), ""},
		"the repository's own": {
			[]credentialSecret{repositorySecretOf("a", url, "username", "me", "password", "p", "insecure", "true", "proxy", "http://p", "noProxy", "x")}, "",
			of(gitsource.Repository{Username: "me", Password: "p", Insecure: true, Proxy: "http://p", NoProxy: "x"}, false), "a"},
		"a client certificate": {[]credentialSecret{repositorySecretOf("a", url, "tlsClientCertData", "c", "tlsClientCertKey", "k")}, "",
			of(gitsource.Repository{ClientCertificate: "c", ClientKey: "k"}, false), "a"},
		"without TLS":                   {[]credentialSecret{repositorySecretOf("a", url, "insecureOCIForceHttp", "true")}, "", of(gitsource.Repository{}, true), "a"},
		"those of another project":      {[]credentialSecret{repositorySecretOf("a", url, "username", "me", "password", "p", "project", "team")}, "other", of(gitsource.Repository{}, false), ""},
		"those of the project":          {[]credentialSecret{repositorySecretOf("a", url, "username", "me", "password", "p", "project", "team")}, "team", of(gitsource.Repository{Username: "me", Password: "p"}, false), "a"},
		"tokens and keys mean nothing":  {[]credentialSecret{repositorySecretOf("a", url, "bearerToken", "t", "sshPrivateKey", "k", "insecureIgnoreHostKey", "true")}, "", of(gitsource.Repository{}, false), "a"},
		"those of a cloud mean nothing": {[]credentialSecret{repositorySecretOf("a", url, "useAzureWorkloadIdentity", "true")}, "", of(gitsource.Repository{}, false), "a"},
		"a template says whether there is TLS": {
			[]credentialSecret{repositorySecretOf("a", url, "insecure", "true", "insecureOCIForceHttp", "true"), templateOf("b", "oci://ghcr.io/org", "username", "me", "password", "p")}, "",
			of(gitsource.Repository{Username: "me", Password: "p", Insecure: true}, false), "a, b"},
		"a template without TLS": {[]credentialSecret{templateOf("b", "oci://ghcr.io", "username", "me", "password", "p", "insecureOCIForceHttp", "true", "insecure", "true")}, "",
			of(gitsource.Repository{Username: "me", Password: "p"}, true), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			got, from, err := findArtifactAccess(c.secrets, url, c.project)
			if err != nil || got != c.want || strings.Join(from, ", ") != c.from {
				t.Errorf("findArtifactAccess() = %+v from %v, %v; want %+v from %v", got, from, err, c.want, c.from)
			}
		})
	}
	for said, s := range map[string]credentialSecret{
		"insecure must be true or false":             repositorySecretOf("mine", url, "insecure", "canary"),
		"insecureOCIForceHttp must be true or false": repositorySecretOf("mine", url, "insecureOCIForceHttp", "canary"),
	} {
		_, _, err := findArtifactAccess([]credentialSecret{s}, url, "")
		says(t, err, said, "Secret mine", url)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the value: %v", err)
		}
	}
}

// closedRegistry lets nobody in.
func closedRegistry(t *testing.T, secure bool) (url string, server *httptest.Server) {
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "not with "+password, http.StatusUnauthorized)
	}))
	server.Config.ErrorLog = discard()
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	_, host, _ := strings.Cut(server.URL, "://")
	return "oci://" + host + "/org/app", server
}

func TestErrorsOfRegistriesSayWhereArgoCDKeepsWhatIsMissing(t *testing.T) {
	plain, _ := closedRegistry(t, false)
	secure, server := closedRegistry(t, true)
	noTLS := func(more map[string]string) map[string]string {
		data := map[string]string{"url": plain, "type": "oci", "insecureOCIForceHttp": "true"}
		for key, value := range more {
			data[key] = value
		}
		return data
	}
	for name, c := range map[string]struct {
		url    string
		change func(*fakeCluster)
		said   []string
	}{
		"no credentials": {secure, func(c *fakeCluster) {
			c.configMap(certificatesConfigMap, map[string]string{"127.0.0.1": pemOf(server)})
		}, []string{"the registry wants credentials", "Argo CD has no credentials for it", "namespace argocd", secretType}},
		"wrong ones": {plain, func(c *fakeCluster) {
			c.secret("mine", "repository", noTLS(map[string]string{"username": "me", "password": "canary"}))
		}, []string{"wants credentials, or other ones (401)", "those of Secret mine in namespace argocd"}},
		"of a template": {plain, func(c *fakeCluster) {
			c.secret("all", "repo-creds", noTLS(map[string]string{"url": plain[:len(plain)-4], "username": "me", "password": "canary"}))
		}, []string{"those of Secret all"}},
		"credentials hidden": {secure, func(c *fakeCluster) {
			c.forbid("list", "secrets")
			c.configMap(certificatesConfigMap, map[string]string{"127.0.0.1": pemOf(server)})
		}, []string{"the registry wants credentials", "no credentials were used", `resources: ["secrets"]`, `verbs: ["list"]`}},
		"no certificate":      {secure, nil, []string{"not trusted", "ConfigMap argocd/argocd-tls-certs-cm", "add-tls 127.0.0.1 --from"}},
		"certificates hidden": {secure, func(c *fakeCluster) { c.forbid("get", "configmaps") }, []string{"not trusted", "could not be read", `resources: ["configmaps"]`, `verbs: ["get"]`}},
		"inside the cluster":  {"oci://zot.registry.svc.cluster.local:5000/app", nil, []string{"is not found", "zot.registry.svc.cluster.local:5000 looks like a name that is known inside of the cluster only"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			if c.change != nil {
				c.change(cluster)
			}
			_, err := inputsOf(t, cluster).Artifact(t.Context(), c.url, "1", "default")
			says(t, err, c.said...)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error has the credentials: %v", err)
			}
		})
	}
}

func TestAnArtifactIsFetchedOnceWithTheSameCredentials(t *testing.T) {
	plain, _ := closedRegistry(t, false)
	c := newCluster()
	c.secret("mine", "repository", map[string]string{"url": plain, "insecureOCIForceHttp": "true"})
	c.secret("team", "repository", map[string]string{"url": plain, "insecureOCIForceHttp": "true", "project": "team", "username": "me", "password": "canary"})
	in := inputsOf(t, c)
	for range 2 {
		_, err := in.Artifact(t.Context(), plain, "1", "default")
		says(t, err, "wants credentials", "those of Secret mine")
		_, err = in.Artifact(t.Context(), plain, "1", "team")
		says(t, err, "wants credentials, or other ones (401)", "those of Secret team")
	}
	if want := []string{"list secrets"}; !slices.Equal(c.asked, want) {
		t.Errorf("the cluster was asked to %v, want %v", c.asked, want)
	}
	if len(in.artifacts.trees.cells) != 2 {
		t.Errorf("%d answers are remembered", len(in.artifacts.trees.cells))
	}
}

// openRegistry has one repository. A tag means the artifact with its name as the content of one file.
type openRegistry struct {
	url     string
	mu      sync.Mutex
	content map[string][]byte
	kinds   map[string]string
	tags    map[string]string
	// fetched counts the layers.
	fetched int
}

func newOpenRegistry(t *testing.T) *openRegistry {
	r := &openRegistry{content: map[string][]byte{}, kinds: map[string]string{}, tags: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := path.Base(request.URL.Path)
		name = cmp.Or(r.tags[name], name)
		content, found := r.content[name]
		if !found {
			http.NotFound(w, request)
			return
		}
		if strings.Contains(request.URL.Path, "/blobs/") {
			r.fetched++
		}
		w.Header().Set("Content-Type", r.kinds[name])
		w.Header().Set("Docker-Content-Digest", name)
		http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	r.url = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/org/app"
	return r
}

func (r *openRegistry) put(kind string, content []byte) map[string]any {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.content[digest], r.kinds[digest] = content, kind
	return map[string]any{"mediaType": kind, "digest": digest, "size": len(content)}
}

// push makes an artifact of one file and lets the tag mean it.
func (r *openRegistry) push(t *testing.T, tag, content string) {
	t.Helper()
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	err := archive.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(content))})
	if err == nil {
		_, err = archive.Write([]byte(content))
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	const kind = "application/vnd.oci.image.manifest.v1+json"
	r.mu.Lock()
	defer r.mu.Unlock()
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": kind, "config": r.put("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers": []any{r.put("application/vnd.oci.image.layer.v1.tar", layer.Bytes())},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.tags[tag], _ = r.put(kind, manifest)["digest"].(string)
}

func TestArtifactsThatAreForgottenAreFetchedAgainAndAreTheSame(t *testing.T) {
	r, c := newOpenRegistry(t), newCluster()
	c.secret("mine", "repository", map[string]string{"url": r.url, "insecureOCIForceHttp": "true"})
	in := inputsOf(t, c)
	if in.artifacts.trees.limit != artifactsHeld {
		t.Errorf("%d bytes may be held", in.artifacts.trees.limit)
	}
	in.artifacts.trees.limit = 10_000
	read := func(tag string) string {
		t.Helper()
		artifact, err := in.Artifact(t.Context(), r.url, tag, "default")
		if err != nil {
			t.Fatal(err)
		}
		content, err := artifact.Read("file")
		if err != nil {
			t.Fatal(err)
		}
		return string(content[:1])
	}
	for _, tag := range []string{"a", "b", "c"} {
		r.push(t, tag, strings.Repeat(tag, 4000))
	}
	got := read("a") + read("b") + read("a") + read("c")
	r.push(t, "b", strings.Repeat("B", 4000))
	got += read("a") + read("b")
	if got != "abacab" {
		t.Errorf("read %q: a tag that has moved means another artifact in the middle of a run", got)
	}
	if r.fetched != 4 {
		t.Errorf("%d artifacts were fetched", r.fetched)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if trees := &in.artifacts.trees; trees.held > 0 || len(trees.cells) > 0 {
		t.Errorf("after all, %d bytes are held", trees.held)
	}
	_, err := in.Artifact(t.Context(), r.url, "a", "default")
	says(t, err, "closed")
}
