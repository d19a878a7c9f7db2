package conformance

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checkout is a git repository with its working tree. What Argo CD's repo server does with it, this
// does too (reposerver/repository and util/git, Argo CD 3.6.1): files are those of "git ls-files",
// directories those of the working tree.
type checkout struct {
	root   string
	commit string

	lock   sync.Mutex
	listed map[string]listing
}

type listing struct {
	files []string
	err   error
}

// checkoutOf commits a copy of a directory.
func checkoutOf(t testing.TB, dir string) *checkout {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	c := &checkout{root: root, listed: map[string]listing{}}
	c.mustGit(t, "init", "-q", "-b", "main")
	c.mustGit(t, "add", "-f", "-A")
	c.mustGit(t, "commit", "-q", "--allow-empty", "-m", "content")
	c.commit = strings.TrimSpace(string(c.mustGit(t, "rev-parse", "HEAD")))
	return c
}

func (c *checkout) git(args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR="+filepath.Join(c.root, ".git"),
		"GIT_AUTHOR_NAME=conformance", "GIT_AUTHOR_EMAIL=c@example.com", "GIT_COMMITTER_NAME=conformance", "GIT_COMMITTER_EMAIL=c@example.com")
	return cmd.Output()
}

func (c *checkout) mustGit(t testing.TB, args ...string) []byte {
	t.Helper()
	out, err := c.git(args...)
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// lsFiles are the files that match a pathspec, as Argo CD asks git.
func (c *checkout) lsFiles(pattern string) ([]string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known, ok := c.listed[pattern]
	if !ok {
		out, err := c.git("ls-files", "--full-name", "-z", "--", pattern)
		names := strings.Split(string(out), "\x00")
		known = listing{files: names[:len(names)-1], err: err}
		c.listed[pattern] = known
	}
	return slices.Clone(known.files), known.err
}

// walkDirectories are the directories below one, hidden ones left out.
func walkDirectories(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir() || path == root:
			return err
		case strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		out = append(out, filepath.ToSlash(relative))
		return err
	})
	return out, err
}

func (c *checkout) readFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(c.root, filepath.FromSlash(name)))
}

// tree is the commit as package appset wants to see it.
type tree struct {
	c           *checkout
	directories []string
	files       []string
}

func (c *checkout) tree() (*tree, error) {
	out, err := c.git("ls-tree", "-r", "-z", "--full-tree", "HEAD")
	if err != nil {
		return nil, err
	}
	t := &tree{c: c}
	directories := map[string]bool{}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		mode, rest, _ := strings.Cut(string(entry), " ")
		_, name, found := strings.Cut(rest, "\t")
		if !found {
			continue
		}
		if mode == "160000" { // a submodule
			directories[name] = true
		} else {
			t.files = append(t.files, name)
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			directories[dir] = true
		}
	}
	for name := range directories {
		t.directories = append(t.directories, name)
	}
	slices.Sort(t.directories)
	slices.Sort(t.files)
	return t, nil
}

func (t *tree) Commit() string        { return t.c.commit }
func (t *tree) Directories() []string { return t.directories }
func (t *tree) Files() []string       { return t.files }

// Read follows symbolic links within the repository only.
func (t *tree) Read(name string) ([]byte, error) {
	root, err := os.OpenRoot(t.c.root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.ReadFile(name)
}
