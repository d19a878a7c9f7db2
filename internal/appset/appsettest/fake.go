// Package appsettest answers what generators ask, from maps. It is for tests only.
package appsettest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"sort"
	"sync"
	"testing/fstest"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// Fake is an [appset.Inputs] with fixed answers. Fill it before it is used; it may be used by several
// goroutines then.
type Fake struct {
	// Known are the clusters that have a Secret.
	Known []appset.Cluster
	// Trees are the contents of files by repository, revision and path.
	Trees map[string]map[string]map[string]string
	// Artifacts are the same of OCI artifacts.
	Artifacts map[string]map[string]map[string]string
	// Plugins are output.parameters by the name of the ConfigMap.
	Plugins map[string][]map[string]any
	// Decided are the entries of resources by the name of the ConfigMap.
	Decided map[string]appset.Decisions
	// Err, when set, is the answer to everything.
	Err error

	mutex sync.Mutex
	asked []string
}

// Asked are all questions so far, as short texts, sorted.
func (f *Fake) Asked() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	out := slices.Clone(f.asked)
	sort.Strings(out)
	return out
}

func (f *Fake) note(format string, args ...any) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	return f.Err
}

// Clusters returns Known.
func (f *Fake) Clusters(context.Context) ([]appset.Cluster, error) {
	if err := f.note("clusters"); err != nil {
		return nil, err
	}
	return slices.Clone(f.Known), nil
}

// Tree returns one of Trees, or an error.
func (f *Fake) Tree(_ context.Context, repoURL, revision, project string) (appset.Tree, error) {
	if err := f.note("git %s %s %s", repoURL, revision, project); err != nil {
		return nil, err
	}
	files, ok := f.Trees[repoURL][revision]
	if !ok {
		return nil, fmt.Errorf("the repository %s has no revision %q", repoURL, revision)
	}
	return NewTree(files), nil
}

// Artifact returns one of Artifacts, or an error.
func (f *Fake) Artifact(_ context.Context, repoURL, revision, project string) (appset.Artifact, error) {
	if err := f.note("oci %s %s %s", repoURL, revision, project); err != nil {
		return nil, err
	}
	files, ok := f.Artifacts[repoURL][revision]
	if !ok {
		return nil, fmt.Errorf("the repository %s has no revision %q", repoURL, revision)
	}
	return artifact{NewTree(files)}, nil
}

// Plugin returns one of Plugins, or an error.
func (f *Fake) Plugin(_ context.Context, call appset.PluginCall) ([]map[string]any, error) {
	if err := f.note("plugin %s %v", call.ConfigMap, call.Parameters); err != nil {
		return nil, err
	}
	parameters, ok := f.Plugins[call.ConfigMap]
	if !ok {
		return nil, fmt.Errorf("there is no ConfigMap %q", call.ConfigMap)
	}
	return parameters, nil
}

// Decisions returns one of Decided, or an error.
func (f *Fake) Decisions(_ context.Context, query appset.DecisionQuery) (appset.Decisions, error) {
	if err := f.note("decisions %s %s %v", query.ConfigMap, query.Name, query.Labels); err != nil {
		return appset.Decisions{}, err
	}
	decisions, ok := f.Decided[query.ConfigMap]
	if !ok {
		return appset.Decisions{}, fmt.Errorf("there is no ConfigMap %q", query.ConfigMap)
	}
	return decisions, nil
}

// Tree is an [appset.Tree] of files in memory.
type Tree struct {
	files              map[string]string
	names, directories []string
	commit             string
}

// NewTree makes a tree of the contents of files by path. Its commit depends on nothing else.
func NewTree(files map[string]string) *Tree {
	t := &Tree{files: files}
	seen := map[string]bool{}
	sum := sha1.New()
	for name := range files {
		t.names = append(t.names, name)
		for dir := path.Dir(name); dir != "." && dir != "/" && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			t.directories = append(t.directories, dir)
		}
	}
	sort.Strings(t.names)
	sort.Strings(t.directories)
	for _, name := range t.names {
		fmt.Fprintf(sum, "%q %q\n", name, files[name])
	}
	t.commit = hex.EncodeToString(sum.Sum(nil))
	return t
}

// Commit looks like a full SHA.
func (t *Tree) Commit() string { return t.commit }

// Directories are those of the files.
func (t *Tree) Directories() []string { return t.directories }

// Files are the paths, sorted.
func (t *Tree) Files() []string { return t.names }

// Read is the content of a file.
func (t *Tree) Read(name string) ([]byte, error) {
	text, ok := t.files[name]
	if !ok {
		return nil, fmt.Errorf("there is no file %q", name)
	}
	return []byte(text), nil
}

// artifact is an [appset.Artifact] of files in memory.
type artifact struct{ *Tree }

// Digest looks like one.
func (a artifact) Digest() string { return "sha256:" + a.commit }

// Glob are the files that match.
func (a artifact) Glob(pattern string) ([]string, error) {
	if pattern == "" || pattern == "." {
		pattern = "**"
	}
	fsys := fstest.MapFS{}
	for name := range a.files {
		fsys[name] = &fstest.MapFile{}
	}
	names, err := doublestar.Glob(fsys, pattern, doublestar.WithFilesOnly())
	sort.Strings(names)
	return names, err
}
