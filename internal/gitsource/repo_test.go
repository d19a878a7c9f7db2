package gitsource

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repo is a git repository to be served, made by git itself.
type repo struct {
	testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(t.TempDir(), "repo.git")}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main", "--template=", ".")
	return r
}

// environment is that of every git here: the user's settings do not reach it.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
	}
}

func (r *repo) git(args ...string) string {
	r.Helper()
	return r.gitWith("", args...)
}

func (r *repo) gitWith(stdin string, args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, environment(r.dir), strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(path, content string) {
	r.Helper()
	full := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) link(path, target string) {
	r.Helper()
	full := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.Symlink(target, full); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) commit(message string) string {
	r.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message="+message)
	return r.git("rev-parse", "HEAD")
}

// object stores one as it is, also what git would not make.
func (r *repo) object(kind, content string) string {
	r.Helper()
	return r.gitWith(content, "hash-object", "-t", kind, "-w", "--stdin", "--literally")
}

// rawCommit commits a tree object with these entries.
func (r *repo) rawCommit(branch string, entries ...string) string {
	r.Helper()
	tree := r.object("tree", strings.Join(entries, ""))
	commit := r.git("commit-tree", tree, "-m", "raw")
	r.git("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// rawEntry is one of a tree object.
func rawEntry(mode, name, sha string) string {
	var binary []byte
	if _, err := fmt.Sscanf(sha, "%x", &binary); err != nil {
		panic(err)
	}
	return mode + " " + name + "\x00" + string(binary)
}

func (r *repo) fileURL() string { return "file://" + r.dir }

// gitCommand is one of git's own programs.
func gitCommand(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), name)
}

// newTestStore repeats without waiting and leaves nothing behind.
func newTestStore(t testing.TB) *Store {
	t.Helper()
	s := NewStore()
	s.limits.delay = time.Millisecond
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Store) must(t testing.TB, r Repository, revision string) *Tree {
	t.Helper()
	tree, err := s.Fetch(t.Context(), r, revision)
	if err != nil {
		t.Fatalf("Fetch(%s, %q): %v", r.URL, revision, err)
	}
	return tree
}

// fails checks the kind and the text of an error.
func fails(t testing.TB, err error, kind Kind, parts ...string) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("the error is %T %v, want one of kind %d with %q", err, err, kind, parts)
	}
	if e.Kind != kind {
		t.Errorf("the error is of kind %d, want %d: %v", e.Kind, kind, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}
