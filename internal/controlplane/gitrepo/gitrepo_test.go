package gitrepo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRepo(t *testing.T) {
	// A user's git that signs commits and has no name must not matter.
	hostile := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(hostile, []byte("[commit]\n\tgpgsign = true\n[user]\n\tuseConfigOnly = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", hostile)

	dir := filepath.Join(t.TempDir(), "a repo")
	repo, err := New(dir)
	check(t, err)
	if want := "file://" + strings.ReplaceAll(dir, " ", "%20"); repo.URL() != want {
		t.Errorf("URL() = %s, want %s", repo.URL(), want)
	}
	check(t, repo.Write("dev/config.yaml", "a: 1\n"))
	first, err := repo.Commit("first")
	check(t, err)
	if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(first) {
		t.Errorf("Commit() = %q, want a full SHA", first)
	}
	if _, err := repo.Commit("nothing"); err == nil || !strings.Contains(err.Error(), "nothing to commit") {
		t.Errorf("a commit of nothing gives %v, want git's own words", err)
	}

	check(t, repo.Branch("other"))
	check(t, repo.Remove("dev"))
	check(t, repo.Write("prod/config.yaml", "a: 2\n"))
	second, err := repo.Commit("second")
	check(t, err)
	if _, err := os.Stat(filepath.Join(repo.Dir(), "dev")); !os.IsNotExist(err) {
		t.Errorf("dev is still there after Remove: %v", err)
	}
	check(t, repo.Branch(DefaultBranch))
	if head, err := repo.Head(); err != nil || head != first {
		t.Errorf("Head() of %s = %s, %v; want %s", DefaultBranch, head, err, first)
	}
	check(t, repo.Branch("other"))
	if head, err := repo.Head(); err != nil || head != second {
		t.Errorf("Head() of other = %s, %v; want %s", head, err, second)
	}
	check(t, repo.Tag("v1"))

	again, err := Open(dir)
	check(t, err)
	if head, err := again.Head(); err != nil || head != second {
		t.Errorf("Head() after Open = %s, %v; want %s", head, err, second)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("Open takes a directory without a repository")
	}
	for _, path := range []string{"../outside", "/etc/passwd", ""} {
		if err := repo.Write(path, ""); err == nil {
			t.Errorf("Write takes the path %q", path)
		}
	}
}

func TestServedRepositoriesAreReadOverHTTP(t *testing.T) {
	repo, err := New(filepath.Join(t.TempDir(), "deployments"))
	check(t, err)
	check(t, repo.Write("a", "1"))
	first, err := repo.Commit("first")
	check(t, err)
	stop, err := repo.Serve("127.0.0.1")
	check(t, err)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/deployments\.git$`).MatchString(repo.URL()) {
		t.Errorf("URL() = %s", repo.URL())
	}
	clone := filepath.Join(t.TempDir(), "clone")
	_, err = repo.git("clone", "--quiet", repo.URL(), clone)
	check(t, err)
	cloned, err := Open(clone)
	check(t, err)
	if head, err := cloned.Head(); err != nil || head != first {
		t.Errorf("Head() of the clone = %s, %v; want %s", head, err, first)
	}
	stop()
	if _, err := repo.git("ls-remote", repo.URL()); err == nil {
		t.Error("it is still served after stop")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDatedCommitsOfTheSameContentAreTheSame(t *testing.T) {
	var shas [2]string
	for i := range shas {
		repo, err := New(filepath.Join(t.TempDir(), "deployments"))
		check(t, err)
		repo.Dated(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
		for _, content := range []string{"1", "2"} {
			check(t, repo.Write("a", content))
			shas[i], err = repo.Commit("change")
			check(t, err)
		}
		date, err := repo.git("log", "-1", "--format=%at %ct")
		check(t, err)
		if want := "1796029200 1796029200"; date != want {
			t.Errorf("the commit is of %s, not of %s", date, want)
		}
	}
	if shas[0] != shas[1] {
		t.Errorf("two repositories have the commits %v", shas)
	}
}
