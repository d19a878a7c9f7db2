package gitsource

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is a repository with two commits, branches and tags.
func sample(t testing.TB) (r *repo, first, second string) {
	t.Helper()
	r = newRepo(t)
	r.write("apps/one/config.yaml", "a: 1\n")
	first = r.commit("first")
	r.git("tag", "v1.0.0")
	r.git("tag", "--annotate", "--message=tag", "v1.2.0")
	r.write("apps/two/config.yaml", "a: 2\n")
	second = r.commit("second")
	r.git("branch", "feature/x")
	r.git("tag", "v2.0.0-rc1")
	r.git("tag", "not-a-version")
	r.git("update-ref", "refs/pull/7/head", first)
	return r, first, second
}

// transports are the ways to a repository, each with a server of its own.
func transports(t *testing.T, r *repo) map[string]Repository {
	t.Helper()
	signer, key := newKey(t)
	sshd := newSSH(r, signer.PublicKey())
	known := sshd.knownAs(sshd.host.PublicKey())
	return map[string]Repository{
		"file": {URL: r.fileURL()},
		"http": {URL: serve(t, httpBackend(r)).URL + "/repo.git"},
		"ssh":  {URL: sshd.url(r), SSHPrivateKey: key, KnownHosts: known},
	}
}

func TestFetchFindsTheCommitThatARevisionMeans(t *testing.T) {
	r, first, second := sample(t)
	both, one := []string{"apps", "apps/one", "apps/two"}, []string{"apps", "apps/one"}
	for name, repository := range transports(t, r) {
		for _, c := range []struct {
			revision, commit string
			directories      []string
		}{
			{"", second, both},
			{"HEAD", second, both},
			{"main", second, both},
			{"feature/x", second, both},
			{"refs/heads/main", second, both},
			{"heads/main", second, both},
			{"v1.0.0", first, one},
			{"v1.2.0", first, one},
			{"refs/tags/v1.2.0", first, one},
			{"pull/7/head", first, one},
			{"refs/pull/7/head", first, one},
			{"v1.*", first, one},
			{">=1.0.0 <2.0.0", first, one},
			{"^1", first, one},
			{">=2.0.0-0", second, both},
			{"not-a-version", second, both},
			{second, second, both},
			{first, first, one},
			{strings.ToUpper(first), first, one},
			{first[:9], first, one},
			{second[:7], second, both},
		} {
			t.Run(name+"/"+c.revision, func(t *testing.T) {
				tree := newTestStore(t).must(t, repository, c.revision)
				if tree.Commit() != c.commit || !slices.Equal(tree.Directories(), c.directories) {
					t.Errorf("the tree is that of %s with %v, want %s with %v", tree.Commit(), tree.Directories(), c.commit, c.directories)
				}
				content, err := tree.Read("apps/one/config.yaml")
				if err != nil || string(content) != "a: 1\n" {
					t.Errorf("Read() = %q, %v", content, err)
				}
			})
		}
	}
}

func TestFetchSaysWhyThereIsNoCommit(t *testing.T) {
	r, first, _ := sample(t)
	r.git("branch", "same", first)
	r.git("tag", "same", "main")
	blob := r.git("rev-parse", "main:apps/one/config.yaml")
	empty := newRepo(t)
	for name, repository := range transports(t, r) {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t)
			for revision, said := range map[string]string{
				"missing":                `no branch, no tag and no commit "missing"`,
				"refs/heads/missing":     "no branch, no tag and no commit",
				"^3":                     "none of its 5 tags is a version",
				"0123456":                `no commit "0123456"`,
				strings.Repeat("01", 20): "commit",
				"same":                   "refs/heads/same and refs/tags/same, which are different commits",
				"--upload-pack=x":        "no branch, no tag and no commit",
				blob:                     "",
			} {
				_, err := s.Fetch(t.Context(), repository, revision)
				fails(t, err, Revision, said)
			}
		})
	}
	for name, repository := range transports(t, empty) {
		t.Run(name+"/empty", func(t *testing.T) {
			_, err := newTestStore(t).Fetch(t.Context(), repository, "main")
			fails(t, err, Revision, "no commits yet")
		})
	}
}

func TestFetchAsksForTheCommitAlone(t *testing.T) {
	r, first, second := sample(t)
	for range 20 {
		r.write("file", strings.Repeat("x", 1000)+time.Now().String())
		second = r.commit("more")
	}
	r.write("huge", noise(1<<20))
	last := r.commit("huge")
	for allowed, config := range map[string][]string{
		"all":     {"uploadpack.allowFilter", "uploadpack.allowReachableSHA1InWant"},
		"nothing": {},
	} {
		for _, key := range []string{"uploadpack.allowFilter", "uploadpack.allowReachableSHA1InWant"} {
			r.git("config", key, fmt.Sprint(slices.Contains(config, key)))
		}
		for name, repository := range transports(t, r) {
			t.Run(name+"/"+allowed, func(t *testing.T) {
				s := newTestStore(t)
				s.limits.file = 1 << 16
				tree := s.must(t, repository, "main")
				if _, err := tree.Read("huge"); err == nil {
					t.Error("a file beyond the limit is read")
				} else {
					fails(t, err, TooLarge, `"huge"`, "more than 0 MiB")
				}
				if tree.Commit() != last {
					t.Errorf("the commit is %s, want %s", tree.Commit(), last)
				}
				for _, revision := range []string{first, first[:8], second} {
					if got := s.must(t, repository, revision).Commit(); !strings.HasPrefix(got, revision) {
						t.Errorf("revision %s gives %s", revision, got)
					}
				}
				if name == "file" {
					return
				}
				p := s.open[0].(*pack)
				if n := len(p.entries); n > 12 {
					t.Errorf("%d objects were fetched for one commit", n)
				}
				info, err := p.file.Stat()
				if err != nil {
					t.Fatal(err)
				}
				if allowed == "all" && info.Size() > 4000 {
					t.Errorf("%d bytes were fetched, though the server could leave out the file that is too large", info.Size())
				}
			})
		}
	}
}

// noise is a text that cannot be compressed much, the same each time.
func noise(size int) string {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(random.IntN(256))
	}
	return string(b)
}

func TestAStoreFetchesOnceForAll(t *testing.T) {
	r, _, _ := sample(t)
	q := &requests{next: httpBackend(r)}
	s, repository := newTestStore(t), Repository{URL: serve(t, q).URL + "/repo.git"}
	done := make(chan *Tree)
	for range 8 {
		go func() {
			tree, err := s.Fetch(t.Context(), repository, "main")
			if err != nil {
				t.Error(err)
			}
			done <- tree
		}()
	}
	trees := map[*Tree]bool{}
	for range 8 {
		trees[<-done] = true
	}
	want := []string{"GET /repo.git/info/refs", "POST /repo.git/git-upload-pack"}
	if got := q.paths(); len(trees) != 1 || !slices.Equal(got, want) {
		t.Errorf("8 calls made %d trees by %v, want one by %v", len(trees), got, want)
	}

	// Other credentials may not see the same.
	other := repository
	other.Password = "other"
	s.must(t, other, "main")
	if got := len(q.paths()); got != 4 {
		t.Errorf("there were %d requests, want 2 more for other credentials", got)
	}

	// Failures are remembered as well, but not that somebody has given up.
	for range 2 {
		_, err := s.Fetch(t.Context(), repository, "missing")
		fails(t, err, Revision)
	}
	if got := len(q.paths()); got != 5 {
		t.Errorf("there were %d requests, want 1 more for a revision that does not exist", got)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Fetch(cancelled, repository, "v1.0.0")
	fails(t, err, Unreachable, "everything was cancelled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
	s.must(t, repository, "v1.0.0")
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	r, _, _ := sample(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s, repository := newTestStore(t), Repository{URL: serve(t, httpBackend(r)).URL + "/repo.git"}
	tree := s.must(t, repository, "main")
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("while it is open there are %v, %v: they would remain if the process were killed", left, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Read("apps/one/config.yaml"); err == nil {
		t.Error("a tree is read after its store is closed")
	}
	_, err = s.Fetch(t.Context(), repository, "main")
	fails(t, err, Other, "closed")
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("there remains %v", left)
	}
}

func TestAFetchEndsInTime(t *testing.T) {
	address := hung(t)
	half := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", refsType)
		fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	r, _, _ := sample(t)
	backend := httpBackend(r)
	noPack := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", packType)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		backend.ServeHTTP(w, r)
	})
	_, key := newKey(t)
	for name, c := range map[string]struct {
		repository Repository
		said       string
	}{
		"http that never answers":   {Repository{URL: "http://" + address + "/x"}, "did not tell its branches and tags within 200ms"},
		"https that never answers":  {Repository{URL: "https://" + address + "/x"}, "did not tell its branches and tags within 200ms"},
		"ssh that never answers":    {Repository{URL: "ssh://git@" + address + "/x", SSHPrivateKey: key}, "did not tell its branches and tags within 200ms"},
		"references without an end": {Repository{URL: serve(t, half).URL + "/x"}, "did not tell its branches and tags within 200ms"},
		"objects that never come":   {Repository{URL: serve(t, noPack).URL + "/repo.git"}, "it took more than 400ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestStore(t)
			s.limits.refs, s.limits.fetch, s.limits.attempts = 200*time.Millisecond, 400*time.Millisecond, 1
			_, err := s.Fetch(t.Context(), c.repository, "main")
			fails(t, err, Unreachable, c.said)

			s.limits.refs, s.limits.fetch = time.Hour, time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			_, err = s.Fetch(ctx, c.repository, "HEAD")
			fails(t, err, Unreachable, "everything was cancelled")
		})
	}
}

func TestURLsThatAreNone(t *testing.T) {
	s := newTestStore(t)
	for raw, said := range map[string]string{
		"":                         "the URL is empty",
		"/srv/git/repo":            "this is no URL",
		"./repo":                   "this is no URL",
		`C:\repo`:                  "this is no URL",
		"git://host/repo":          "git:// is not supported",
		"ext::sh -c touch% marker": "this is no URL",
		"ext://sh":                 "ext:// is not supported",
		"https://":                 "no host",
		"https://host/repo?x=y":    "no query",
		"https://host/%zz":         "cannot be read",
		"https://host/a\nb":        "control characters",
		"file://host/repo":         "three slashes",
		"ssh://host":               "no path",
		"file:///nowhere/at/all":   "there is no git repository at",
	} {
		_, err := s.Fetch(t.Context(), Repository{URL: raw}, "main")
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("Fetch(%q) says %v, want %q", raw, err, said)
		}
	}
}

func TestPlacesOfSSH(t *testing.T) {
	for raw, want := range map[string]place{
		"git@github.com:org/repo.git":        {scheme: "ssh", user: "git", address: "github.com:22", path: "org/repo.git"},
		"github.com:org/repo":                {scheme: "ssh", user: "git", address: "github.com:22", path: "org/repo"},
		"me@[::1]:repo":                      {scheme: "ssh", user: "me", address: "[::1]:22", path: "repo"},
		"ssh://me@host/abs/repo":             {scheme: "ssh", user: "me", address: "host:22", path: "/abs/repo"},
		"ssh://host:2222/~me/repo":           {scheme: "ssh", user: "git", address: "host:2222", path: "~me/repo"},
		"ssh://git@[::1]:7999/project/r.git": {scheme: "ssh", user: "git", address: "[::1]:7999", path: "/project/r.git"},
	} {
		if got, err := parse(raw); err != nil || got != want {
			t.Errorf("parse(%q) = %+v, %v; want %+v", raw, got, err, want)
		}
	}
}

func TestSafeURLHasNoCredentials(t *testing.T) {
	for raw, want := range map[string]string{
		"https://host/repo":                        "https://host/repo",
		"https://user:pass@host/repo":              "https://host/repo",
		"https://ghp_token@host/repo":              "https://host/repo",
		"https://user:p%40ss@host/repo@v1":         "https://host/repo@v1",
		"https://user:pa ss@host:x/repo":           "https://host:x/repo",
		"ssh://git@host/repo":                      "ssh://git@host/repo",
		"ssh://git:pass@host/repo":                 "ssh://git@host/repo",
		"git@host:repo":                            "git@host:repo",
		"git:pass@host:repo":                       "git@host:repo",
		"https://host/repo?private_token=glpat-x":  "https://host/repo?(hidden)",
		"https://host/repo#access_token=x":         "https://host/repo#(hidden)",
		"https://user:p?ss@host/repo":              "https://host/repo",
		"https://token#rest@host/repo":             "https://token#(hidden)",
		"https://host/" + strings.Repeat("x", 999): "https://host/" + strings.Repeat("x", 287) + "...",
	} {
		if got := SafeURL(raw); got != want {
			t.Errorf("SafeURL(%q) = %q, want %q", raw, got, want)
		}
	}
}
