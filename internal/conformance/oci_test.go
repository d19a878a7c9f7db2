package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
	"github.com/argoproj/argo-cd/v3/util/oci"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/ocisource"
)

// artifactURL is what sets have for the artifact of a world.
const artifactURL = "oci://registry.example.com/apps"

const (
	tarLayer   = "application/vnd.oci.image.layer.v1.tar"
	gzipLayer  = tarLayer + "+gzip"
	chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// artifact is a registry with one repository. Argo CD's own client (util/oci) and package ocisource read from it.
type artifact struct {
	url    string
	client oci.Client

	content map[string][]byte
	kinds   map[string]string
	tags    map[string]string

	lock     sync.Mutex
	unpacked map[string]func() (string, error)
	fetched  map[string]func() (*ocisource.Tree, error)
	done     []func() error
}

// artifactOf serves what is in a directory, by the tags 1.0.0 and main.
func artifactOf(t testing.TB, dir string) *artifact {
	t.Helper()
	var layer bytes.Buffer
	zipped := gzip.NewWriter(&layer)
	w := tar.NewWriter(zipped)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	a := newArtifact(t)
	a.push(t, gzipLayer, layer.Bytes(), "1.0.0", "main")
	return a
}

func newArtifact(t testing.TB) *artifact {
	t.Helper()
	a := &artifact{
		content: map[string][]byte{}, kinds: map[string]string{}, tags: map[string]string{},
		unpacked: map[string]func() (string, error){}, fetched: map[string]func() (*ocisource.Tree, error){},
	}
	server := httptest.NewServer(a)
	a.url = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/apps"
	none := func(string) func() { return func() {} }
	noneOf := func(string) func(string) { return func(string) {} }
	var err error
	a.client, err = oci.NewClient(a.url, oci.Creds{InsecureHTTPOnly: true}, "", "", []string{tarLayer, gzipLayer, chartLayer},
		oci.WithImagePaths(utilio.NewRandomizedTempPaths(t.TempDir())), oci.WithManifestMaxExtractedSize(1_000_000_000),
		oci.WithEventHandlers(oci.EventHandlers{
			OnExtract: none, OnResolveRevision: none, OnDigestMetadata: none, OnTestRepo: none, OnGetTags: none,
			OnExtractFail: noneOf, OnResolveRevisionFail: noneOf, OnDigestMetadataFail: noneOf, OnTestRepoFail: none, OnGetTagsFail: none,
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		for _, done := range a.done {
			if err := done(); err != nil {
				t.Error(err)
			}
		}
	})
	return a
}

func (a *artifact) put(kind string, content []byte) map[string]any {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	a.content[digest], a.kinds[digest] = content, kind
	return map[string]any{"mediaType": kind, "digest": digest, "size": len(content)}
}

// push makes an artifact of one layer.
func (a *artifact) push(t testing.TB, layerType string, layer []byte, tags ...string) {
	t.Helper()
	const kind = "application/vnd.oci.image.manifest.v1+json"
	text, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": kind, "config": a.put("application/vnd.oci.empty.v1+json", []byte("{}")), "layers": []any{a.put(layerType, layer)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range tags {
		a.tags[tag], _ = a.put(kind, text)["digest"].(string)
	}
}

func (a *artifact) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	rest, _ := strings.CutPrefix(request.URL.Path, "/v2/apps/")
	if rest == "tags/list" {
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "apps", "tags": slices.Sorted(maps.Keys(a.tags))})
		return
	}
	_, digest, _ := strings.Cut(rest, "/")
	if known, isTag := a.tags[digest]; isTag {
		digest = known
	}
	content, found := a.content[digest]
	if !found {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Type", a.kinds[digest])
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}

// unpack is the directory into which Argo CD's client unpacks a revision.
func (a *artifact) unpack(revision string) (string, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.unpacked[revision] == nil {
		a.unpacked[revision] = sync.OnceValues(func() (string, error) {
			ctx := context.Background()
			digest, err := a.client.ResolveRevision(ctx, revision, true)
			if err != nil {
				return "", err
			}
			root, closer, err := a.client.Extract(ctx, digest)
			if err != nil {
				return "", err
			}
			a.done = append(a.done, closer.Close)
			return root, nil
		})
	}
	return a.unpacked[revision]()
}

// fetch is what package ocisource makes of a revision.
func (a *artifact) fetch(ctx context.Context, revision string) (*ocisource.Tree, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.fetched[revision] == nil {
		a.fetched[revision] = sync.OnceValues(func() (*ocisource.Tree, error) {
			return ocisource.Fetch(ctx, ocisource.Repository{Repository: gitsource.Repository{URL: a.url}, PlainHTTP: true}, revision)
		})
	}
	return a.fetched[revision]()
}

func (w *world) noArtifact(repoURL string) error {
	if strings.Contains(repoURL, "missing") || repoURL == "" || w.artifact == nil {
		return fmt.Errorf("repository %q not found", repoURL)
	}
	return nil
}

// unpack is the artifact, as the oracle asks for it.
func (w *world) unpack(repoURL, revision string) (string, error) {
	if err := w.noArtifact(repoURL); err != nil {
		return "", err
	}
	return w.artifact.unpack(revision)
}

// fetchArtifact is the artifact, as we ask for it.
func (w *world) fetchArtifact(ctx context.Context, repoURL, revision string) (*ocisource.Tree, error) {
	if err := w.noArtifact(repoURL); err != nil {
		return nil, err
	}
	return w.artifact.fetch(ctx, revision)
}

// directoryPatterns are those of a git or oci generator.
func directoryPatterns(g *v1alpha1.ApplicationSetGenerator) []string {
	var out []string
	if g.Git != nil {
		for _, d := range g.Git.Directories {
			out = append(out, d.Path)
		}
	}
	if g.Oci != nil {
		for _, d := range g.Oci.Directories {
			out = append(out, d.Path)
		}
	}
	return out
}

// globFiles are the files below a directory that match a pattern (GetOciFiles in reposerver/repository, Argo CD 3.6.1).
func globFiles(dir, pattern string) (map[string][]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if pattern == "" || pattern == "." {
		pattern = "**"
	}
	names, err := doublestar.Glob(root.FS(), pattern)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range names {
		if info, err := root.Stat(name); err != nil || info.IsDir() {
			if failed := (*fs.PathError)(nil); err != nil && !errors.As(err, &failed) {
				return nil, err
			}
			continue
		}
		if out[name], err = root.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// entry is one of an archive; with a target it is a symbolic link, with a slash at its end a directory.
type entry struct{ name, target, content string }

func archiveOf(t testing.TB, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(e.content)), Linkname: e.target}
		switch {
		case e.target != "":
			header.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(e.name, "/"):
			header.Typeflag, header.Mode = tar.TypeDir, 0o755
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// refused is the only thing that we may make of an archive that Argo CD unpacks.
const refused = "refused"

func TestArchivesAreReadAsArgoCDUnpacksThem(t *testing.T) {
	for name, c := range map[string]struct {
		entries []entry
		kind    string
		want    string
	}{
		"files and directories":            {[]entry{{name: "a/b/c.yaml", content: "c"}, {name: "d/"}, {name: "e.yaml", content: "e"}, {name: ".f/.g", content: "g"}}, "", ""},
		"paths written in another way":     {[]entry{{name: "./"}, {name: "./a//b/../x", content: "x"}, {name: "/y", content: "y"}, {name: "//z", content: "z"}}, "", ""},
		"two files of one name":            {[]entry{{name: "a", content: "1"}, {name: "a", content: "two"}}, "", ""},
		"links":                            {[]entry{{name: "d/a", content: "a"}, {name: "d/b", target: "a"}, {name: "e", target: "d"}, {name: "f", target: "d/b"}}, "", ""},
		"links that come first":            {[]entry{{name: "b", target: "d/a"}, {name: "e", target: "d"}, {name: "d/a", content: "a"}}, "", ""},
		"links to nothing, and in circles": {[]entry{{name: "a", target: "b"}, {name: "b", target: "a"}, {name: "c", target: "gone"}, {name: "d", content: "d"}}, "", ""},
		"a link that begins with a slash":  {[]entry{{name: "d/e/a", content: "a"}, {name: "d/b", target: "/e/a"}}, "", ""},
		"directories that hold themselves": {[]entry{{name: "d/a", content: "a"}, {name: "d/up", target: ".."}}, "", ""},
		"a chart":                          {[]entry{{name: "web/a.yaml", content: "a"}, {name: "web/out", target: "../web/a.yaml"}}, chartLayer, ""},
		"a chart that is two":              {[]entry{{name: "a/a", content: "a"}, {name: "b/b", content: "b"}}, chartLayer, ""},
		"another kind of layer":            {[]entry{{name: "a", content: "a"}}, "application/vnd.cncf.flux.content.v1.tar", ""},
		"a path that leads out":            {[]entry{{name: "../a", content: "a"}}, "", ""},
		"a link that leads out":            {[]entry{{name: "d/a", target: "../../b"}}, "", ""},
		"a link through a file":            {[]entry{{name: "f", content: "f"}, {name: "a", target: "f/x"}}, "", ""},
		"a link below a link":              {[]entry{{name: "d/"}, {name: "e", target: "d"}, {name: "e/a", target: "b"}}, "", ""},
		"a link twice":                     {[]entry{{name: "a", content: "a"}, {name: "b", target: "a"}, {name: "b", target: "a"}}, "", ""},
		"a file that is a directory":       {[]entry{{name: "d/"}, {name: "d", content: "d"}}, "", ""},
		"a directory that is a file":       {[]entry{{name: "d", content: "d"}, {name: "d/e", content: "e"}}, "", ""},
		"a file below a link":              {[]entry{{name: "d/"}, {name: "e", target: "d"}, {name: "e/a", content: "a"}}, "", refused},
		"a file over a link":               {[]entry{{name: "a", content: "a"}, {name: "b", target: "a"}, {name: "b", content: "b"}}, "", refused},
	} {
		t.Run(name, func(t *testing.T) {
			if c.kind == "" {
				c.kind = tarLayer
			}
			layer := archiveOf(t, c.entries)
			if strings.HasSuffix(c.kind, "+gzip") {
				var zipped bytes.Buffer
				w := gzip.NewWriter(&zipped)
				if _, err := w.Write(layer); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				layer = zipped.Bytes()
			}
			a := newArtifact(t)
			a.push(t, c.kind, layer, "1")
			root, argoErr := a.unpack("1")
			tree, ourErr := a.fetch(t.Context(), "1")
			if argoErr != nil || ourErr != nil {
				if (argoErr == nil) != (c.want == refused) || ourErr == nil {
					t.Errorf("Argo CD: %v\nwe: %v", argoErr, ourErr)
				}
				return
			}
			if c.want == refused {
				t.Fatal("it is not refused any more")
			}
			sameTree(t, root, tree)
		})
	}
}

// sameTree compares what is found in a directory, and in a tree.
func sameTree(t *testing.T, root string, tree *ocisource.Tree) {
	t.Helper()
	directories, err := walkDirectories(root)
	if err != nil {
		t.Fatal(err)
	}
	visible := slices.DeleteFunc(tree.Directories(), func(d string) bool { return strings.HasPrefix(d, ".") || strings.Contains(d, "/.") })
	slices.Sort(directories)
	if !slices.Equal(directories, visible) {
		t.Errorf("directories: Argo CD has %q, we %q", directories, visible)
	}
	for _, pattern := range []string{"", ".", "**", "*", "*/*", "**/a", "d/**", "e/*", "{a,d/a}", "d/a/", "a/**", "./a", "/a", "**/*.yaml", "[a-c]*", `\a`, "a[", "e/**/a"} {
		files, argoErr := globFiles(root, pattern)
		names, ourErr := tree.Glob(pattern)
		if (argoErr == nil) != (ourErr == nil) || !slices.Equal(slices.Sorted(maps.Keys(files)), names) {
			t.Errorf("%q: Argo CD finds %q, %v; we %q, %v", pattern, slices.Sorted(maps.Keys(files)), argoErr, names, ourErr)
			continue
		}
		for _, name := range names {
			if content, err := tree.Read(name); err != nil || !bytes.Equal(content, files[name]) {
				t.Errorf("%s: Argo CD reads %q, we %q, %v", name, files[name], content, err)
			}
		}
	}
}

func TestRevisionsOfArtifactsAreThoseOfArgoCD(t *testing.T) {
	a := newArtifact(t)
	for _, tag := range []string{"1.0.0", "v1.10.0", "1.9.3", "2.0.0-rc.1", "stable", "3.0.0_build", "1.x.odd"} {
		a.push(t, tarLayer, archiveOf(t, []entry{{name: tag, content: tag}}), tag)
	}
	for _, revision := range []string{
		"1.0.0", "v1.10.0", "stable", a.tags["stable"], "1.x", "1.*", "~1.9.0", "^1", ">=1.0.0 <1.5.0", ">=1", "*", ">=2.0.0-0", ">=3.0.0", ">=4",
		"1.9", "1", "nothing", "", " ", "no/tag", "sha256:00", "stable@" + a.tags["1.0.0"], "3.0.0+build", "latest",
	} {
		root, argoErr := a.unpack(revision)
		tree, ourErr := a.fetch(t.Context(), revision)
		if (argoErr == nil) != (ourErr == nil) {
			t.Errorf("%q: Argo CD: %v\nwe: %v", revision, argoErr, ourErr)
		}
		if argoErr == nil && ourErr == nil {
			sameTree(t, root, tree)
		}
	}
}
