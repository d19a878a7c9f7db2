package gitsource

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestATreeHasEveryNameAsItIs(t *testing.T) {
	r := newRepo(t)
	names := []string{
		"a file with blanks", "new\nline", "tab\tname", `back\slash`, `quo"te`, "-dash", "--help", "ümläut/ß.yaml", "日本/語", "*", "[x]",
		".hidden/file", "...", "..a/b", "a..", "deep/er/and/deep/er/file", "ends.git/x",
	}
	for _, name := range names {
		r.write(name, "content of "+name)
	}
	latin := "l\xe4tin" // no UTF-8
	r.write(latin, "latin")
	r.link("dangling", "nowhere")
	r.link("to-file", "deep/er/and/deep/er/file")
	r.link("to-dir", "deep")
	r.commit("names")
	for name, repository := range transports(t, r) {
		t.Run(name, func(t *testing.T) {
			tree := newTestStore(t).must(t, repository, "main")
			want := append(slices.Clone(names), latin, "dangling", "to-file", "to-dir")
			slices.Sort(want)
			if got := tree.Files(); !slices.Equal(got, want) {
				t.Errorf("the files are\n%q, want\n%q", got, want)
			}
			directories := []string{"..a", ".hidden", "deep", "deep/er", "deep/er/and", "deep/er/and/deep", "deep/er/and/deep/er", "ends.git", "ümläut", "日本"}
			slices.Sort(directories)
			if got := tree.Directories(); !slices.Equal(got, directories) {
				t.Errorf("the directories are\n%q, want\n%q", got, directories)
			}
			for _, name := range names {
				if content, err := tree.Read(name); err != nil || string(content) != "content of "+name {
					t.Errorf("Read(%q) = %q, %v", name, content, err)
				}
			}
		})
	}
}

func TestLinksAreFollowedWithinTheRepository(t *testing.T) {
	r := newRepo(t)
	outside := filepath.Join(filepath.Dir(r.dir), "secret")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write("real/dir/file", "inside")
	r.write("top", "top")
	for link, target := range map[string]string{
		"near": "real/dir/file", "real/up": "../top", "real/dir/twice": "../../near", "dirlink": "real/dir", "through": "dirlink/file",
		"dots": "./real/./dir/../dir/file", "throughup": "dirlink/../dir/file", "absolute": outside, "etc": "/etc/passwd", "escape": "../secret",
		"real/escape": "../../secret", "dir": "real", "missing": "real/nothing", "self": "self", "ping": "pong", "pong": "ping",
		"notdir": "top/x", "slashes": "real//dir///file", "gitdir": ".git/config", "root": "real/..",
	} {
		r.link(link, target)
	}
	r.commit("links")
	tree := newTestStore(t).must(t, Repository{URL: serve(t, httpBackend(r)).URL + "/repo.git"}, "main")
	for _, name := range []string{"near", "real/dir/twice", "through", "dots", "throughup", "slashes", "real/dir/file", "dirlink/file"} {
		if content, err := tree.Read(name); err != nil || string(content) != "inside" {
			t.Errorf("Read(%q) = %q, %v", name, content, err)
		}
	}
	if content, err := tree.Read("real/up"); err != nil || string(content) != "top" {
		t.Errorf("Read(real/up) = %q, %v", content, err)
	}
	for name, said := range map[string]string{
		"absolute": "leads out of the repository", "etc": "leads out of the repository", "escape": "leads out of the repository",
		"real/escape": "leads out of the repository", "dir": `"real" is a directory`, "missing": "does not exist", "self": "more than 40 symbolic links",
		"ping": "more than 40 symbolic links", "notdir": "does not exist", "gitdir": "does not exist", "root": "is a directory",
		"nothing": "no such file", "../secret": "leads out", "real": "is a directory", "": "is a directory", "/etc/passwd": "",
	} {
		content, err := tree.Read(name)
		if err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), fmt.Sprintf("reading %q", name)) {
			t.Errorf("Read(%q) = %q, %v; want %q", name, content, err, said)
		}
	}
}

func TestSubmodulesAreDirectoriesThatAreNotFetched(t *testing.T) {
	r := newRepo(t)
	r.write(".gitmodules", "[submodule \"x\"]\n\tpath = lib/x\n\turl = http://127.0.0.1:1/never\n")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",lib/x")
	r.git("add", ".gitmodules")
	r.git("commit", "--quiet", "--message=submodule")
	tree := newTestStore(t).must(t, Repository{URL: serve(t, httpBackend(r)).URL + "/repo.git"}, "main")
	if got, want := tree.Directories(), []string{"lib", "lib/x"}; !slices.Equal(got, want) {
		t.Errorf("the directories are %v, want %v", got, want)
	}
	if _, err := tree.Read("lib/x"); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("Read of a submodule says %v", err)
	}
}

func TestFilesOfLFSAreTheirPointers(t *testing.T) {
	r := newRepo(t)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12345\n"
	r.write("big.yaml", pointer)
	r.commit("lfs")
	tree := newTestStore(t).must(t, Repository{URL: r.fileURL()}, "main")
	if content, err := tree.Read("big.yaml"); err != nil || string(content) != pointer {
		t.Errorf("Read() = %q, %v", content, err)
	}
}

func TestTreesThatGitWouldNotCheckOut(t *testing.T) {
	r := newRepo(t)
	r.write("file", "content")
	r.commit("sane")
	blob, tree := r.git("rev-parse", "main:file"), r.git("rev-parse", "main^{tree}")
	// A tree whose entries are each the next one, ten times: 10^9 paths in ten objects.
	bomb := tree
	for range 9 {
		var entries strings.Builder
		for n := range 10 {
			entries.WriteString(rawEntry("40000", fmt.Sprint(n), bomb))
		}
		bomb = r.object("tree", entries.String())
	}
	chain := tree
	for range 40 {
		chain = r.object("tree", rawEntry("40000", "d", chain))
	}
	for name, c := range map[string]struct {
		entries []string
		kind    Kind
		said    string
	}{
		"dot-dot":      {[]string{rawEntry("40000", "..", tree)}, Invalid, `an entry of the name ".."`},
		"dot":          {[]string{rawEntry("100644", ".", blob)}, Invalid, `an entry of the name "."`},
		"git":          {[]string{rawEntry("40000", ".git", tree)}, Invalid, `an entry of the name ".git"`},
		"Git":          {[]string{rawEntry("40000", ".GiT", tree)}, Invalid, `an entry of the name ".GiT"`},
		"slash":        {[]string{rawEntry("100644", "a/b", blob)}, Invalid, `an entry of the name "a/b"`},
		"absolute":     {[]string{rawEntry("100644", "/etc/passwd", blob)}, Invalid, `an entry of the name "/etc/passwd"`},
		"empty":        {[]string{rawEntry("100644", "", blob)}, Invalid, `an entry of the name ""`},
		"twice":        {[]string{rawEntry("100644", "a", blob), rawEntry("40000", "a", tree)}, Invalid, "two entries"},
		"mode":         {[]string{rawEntry("70000", "a", blob)}, Invalid, "unknown mode"},
		"no mode":      {[]string{rawEntry("x", "a", blob)}, Invalid, "damaged"},
		"cut":          {[]string{rawEntry("100644", "a", blob)[:12]}, Invalid, "damaged"},
		"blob as tree": {[]string{rawEntry("40000", "a", blob)}, Invalid, "stored as a blob"},
		"bomb":         {[]string{rawEntry("40000", "a", bomb)}, TooLarge, "more than 10000 files and directories"},
		"depth":        {[]string{rawEntry("40000", "a", chain)}, TooLarge, "30 directories"},
		"long name":    {[]string{rawEntry("100644", strings.Repeat("x", 5000), blob)}, TooLarge, "4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r.rawCommit("bad", c.entries...)
			s := newTestStore(t)
			s.limits.depth, s.limits.entries = 30, 10_000
			_, err := s.Fetch(t.Context(), Repository{URL: r.fileURL()}, "bad")
			fails(t, err, c.kind, c.said)
		})
	}
	r.rawCommit("tree-as-file", rawEntry("100644", "a", tree))
	got := newTestStore(t).must(t, Repository{URL: r.fileURL()}, "tree-as-file")
	if _, err := got.Read("a"); err == nil || !strings.Contains(err.Error(), "stored as a tree") {
		t.Errorf("a tree is read as a file: %v", err)
	}
}

func TestFiveThousandDirectoriesTakeLessThanFiveSeconds(t *testing.T) {
	r := newRepo(t)
	var script strings.Builder
	script.WriteString("commit refs/heads/main\ncommitter T <t@example.com> 0 +0000\ndata 1\nx\n")
	for n := range 5000 {
		text := fmt.Sprintf("name: app-%d\n", n)
		fmt.Fprintf(&script, "M 100644 inline clusters/c%02d/apps/app-%04d/config.yaml\ndata %d\n%s\n", n%100, n, len(text), text)
	}
	r.gitWith(script.String(), "fast-import", "--quiet")
	for name, repository := range transports(t, r) {
		tree := newTestStore(t).must(t, repository, "main")
		start := time.Now()
		again, err := readTree(t.Context(), tree.objects, peeled(t, tree), rootOf(t, tree), defaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(again.Directories()); n != 5000+1+100+100 {
			t.Errorf("%s: there are %d directories", name, n)
		}
		for _, file := range again.Files() {
			if _, err := again.Read(file); err != nil {
				t.Fatal(err)
			}
		}
		took := time.Since(start)
		t.Logf("%s: %s for 5,000 directories and as many files", name, took)
		if took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}
