package appset

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// gitIndex is a real git repository whose index holds empty files.
type gitIndex struct{ directory string }

func newGitIndex(t *testing.T, files []string) gitIndex {
	t.Helper()
	g := gitIndex{t.TempDir()}
	g.run(t, nil, "init", "-q")
	blob := strings.TrimSpace(g.run(t, []byte{}, "hash-object", "-w", "--stdin"))
	var index bytes.Buffer
	for _, file := range files {
		index.WriteString("100644 " + blob + "\t" + file + "\x00")
	}
	g.run(t, index.Bytes(), "update-index", "-z", "--index-info")
	return g
}

func (g gitIndex) command(args ...string) *exec.Cmd {
	c := exec.Command("git", args...)
	c.Dir = g.directory
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
	return c
}

func (g gitIndex) run(t *testing.T, input []byte, args ...string) string {
	t.Helper()
	c := g.command(args...)
	c.Stdin = bytes.NewReader(input)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return string(out)
}

// lsFiles is what Argo CD runs; ok is false when git refuses the pattern.
func (g gitIndex) lsFiles(pattern string) (files []string, ok bool) {
	if pattern == "" {
		pattern = "."
	}
	out, err := g.command("ls-files", "--full-name", "-z", "--", pattern).Output()
	if err != nil {
		return nil, false
	}
	files = strings.Split(string(out), "\x00")
	return files[:len(files)-1], true
}

var trackedFiles = []string{
	"a", "a.yaml", "ab/c.yaml", "apps/a/values.yaml", "apps/a/x/values.yaml", "apps/b.yaml", "apps/b/config.json", "apps2/z.yaml",
	"dir with blank/f", "weird/[x]", "weird/a*b", `weird/back\slash`, "weird/-", "weird/]", "weird/^", "weird/!", "z/y/x/w/v.yaml", ".hidden/f", "ä/ö.yaml",
}

func ours(pattern string) (files []string, ok bool) {
	spec, err := parsePathspec(pattern)
	if err != nil {
		return nil, false
	}
	for _, file := range trackedFiles {
		if spec.matches(file) {
			files = append(files, file)
		}
	}
	return files, true
}

// differs says in what ours differs from git on a pattern; "" when it does not.
func (g gitIndex) differs(pattern string) string {
	want, wantOK := g.lsFiles(pattern)
	got, ok := ours(pattern)
	slices.Sort(got)
	slices.Sort(want)
	if ok == wantOK && slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("%q: %q (%v), git has %q (%v)", pattern, got, ok, want, wantOK)
}

func TestFilePatternsMatchAsGitMatchesThem(t *testing.T) {
	g := newGitIndex(t, trackedFiles)
	for _, pattern := range []string{
		"", ".", "./", "a", "a/", "apps", "apps/", "apps/.", "./apps", "apps//a", "apps/a/..", "apps/x/../b", "app", "*", "**", "*.yaml", "**/*.yaml", "apps/*", "apps/*/values.yaml",
		"apps/**/values.yaml", "*/values.yaml", "apps/?/values.yaml", "apps?a/values.yaml", "apps/[ab]/*", "apps/[!a]/*", "apps/[^a]*", "apps/[a-b].yaml", "[z-a]*", "[[:alpha:]]", "[[:upper:]]*",
		"[[:nonsense:]]", "[[:alpha:", "[a", "a[", "*[", `weird/\[x]`, "weird/[x]", `weird/a\*b`, "weird/a*b", `weird/back\slash`, `weird/back\\slash`, "weird/[]]", "weird/[!]]", "weird/[]-]", "weird/[a-]",
		`weird/[\]]`, `weird/[\^]`, "weird/[^^]", "weird/[[]x]", "weird/?", "dir with*", "*v.yaml", "z*v.yaml", "z*y*w*", "a*a*a*a*b", ".hidden", "*hidden*", "ä*", "??/*", "../x", "apps/../..", "*/../a", "a*/", "apps/*/",
	} {
		if difference := g.differs(pattern); difference != "" {
			t.Error(difference)
		}
	}
}

func TestRandomFilePatternsMatchAsGitMatchesThem(t *testing.T) {
	g := newGitIndex(t, trackedFiles)
	piece := rapid.SampledFrom([]string{"a", "b", "apps", "/", "*", "?", "[", "]", "!", "^", "-", `\`, ".", "..", "yaml", "weird/", "[a-z]", "[:alpha:]", "x"})
	rapid.Check(t, func(rt *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(rt, "pieces"), "")
		if strings.HasPrefix(pattern, "/") {
			return
		}
		if difference := g.differs(pattern); difference != "" {
			rt.Fatal(difference)
		}
	})
}

func TestAPatternOfManyStarsIsMatchedInGoodTime(t *testing.T) {
	if wildmatch(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 10_000)) {
		t.Error("it matches")
	}
}
