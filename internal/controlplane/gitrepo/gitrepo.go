// Package gitrepo makes small git repositories for Argo CD to read by file:// URL, or over HTTP where
// it runs elsewhere, in tests and in the demo. It knows nothing of Argo CD.
package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// DefaultBranch is the branch of a new repository.
const DefaultBranch = "main"

// Repo is a git repository with a working tree. It is not safe for concurrent use.
type Repo struct {
	dir string
	// served is the URL of Serve; empty while the repository is not served.
	served string
	// dates are the dates of commits, as git's environment; empty for the clock's.
	dates []string
}

// New makes an empty repository in dir, which is created if need be. The settings of the
// user's own git do not reach it: no signing, no hooks, one fixed author.
func New(dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	r := &Repo{dir: dir}
	_, err = r.git("init", "--quiet", "--initial-branch="+DefaultBranch, "--template=", ".")
	return r, err
}

// Open is the repository that New made in dir.
func Open(dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return nil, fmt.Errorf("opening the git repository %s: %w", dir, err)
	}
	return &Repo{dir: dir}, nil
}

// URL is what goes into an Application's repoURL.
func (r *Repo) URL() string {
	if r.served != "" {
		return r.served
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(r.dir)}).String()
}

// Dir is the working tree.
func (r *Repo) Dir() string { return r.dir }

// Write puts content into a file of the working tree, making directories as needed. path is
// relative, with slashes.
func (r *Repo) Write(path, content string) error {
	target, err := r.path(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(content), 0o644)
}

// Remove deletes a file or a directory from the working tree. That it exists is required.
func (r *Repo) Remove(path string) error {
	target, err := r.path(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(target); err != nil {
		return err
	}
	return os.RemoveAll(target)
}

// Commit commits the whole working tree and returns the full SHA. Nothing to commit is an
// error.
func (r *Repo) Commit(message string) (sha string, err error) {
	if _, err := r.git("add", "--all"); err != nil {
		return "", err
	}
	if _, err := r.git("commit", "--quiet", "--message="+message); err != nil {
		return "", err
	}
	return r.Head()
}

// Head is the full SHA of the newest commit.
func (r *Repo) Head() (string, error) { return r.git("rev-parse", "HEAD") }

// Branch makes a branch at the newest commit, if it does not exist, and switches to it.
func (r *Repo) Branch(name string) error {
	if _, err := r.git("rev-parse", "--quiet", "--verify", "refs/heads/"+name); err == nil {
		_, err := r.git("switch", "--quiet", name)
		return err
	}
	_, err := r.git("switch", "--quiet", "--create", name)
	return err
}

// Tag makes a lightweight tag at the newest commit, or moves it there.
func (r *Repo) Tag(name string) error {
	_, err := r.git("tag", "--force", name)
	return err
}

// Dated gives all commits from now on that date: the same content, committed in the same order, has the same
// SHAs then, whenever and wherever it is committed.
func (r *Repo) Dated(date time.Time) {
	stamp := fmt.Sprintf("@%d +0000", date.Unix())
	r.dates = []string{"GIT_AUTHOR_DATE=" + stamp, "GIT_COMMITTER_DATE=" + stamp}
}

func (r *Repo) path(path string) (string, error) {
	local, err := filepath.Localize(path)
	if err != nil {
		return "", fmt.Errorf("%q is no path inside a repository: %w", path, err)
	}
	return filepath.Join(r.dir, local), nil
}

func (r *Repo) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LANG=C",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@example.com",
		"GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@example.com",
	}
	cmd.Env = append(cmd.Env, r.dates...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String() + stdout.String())
		return "", fmt.Errorf("git %s in %s: %w", args[0], r.dir, errors.Join(err, errors.New(said)))
	}
	return strings.TrimSpace(stdout.String()), nil
}
