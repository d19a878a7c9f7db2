package conformance

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// defaultWorld is what a case that brings nothing of its own is rendered in.
var defaultWorld = filepath.Join("testdata", "world")

// wantOf reads the line "# want: VERDICT" of the comment that begins a case.
func wantOf(t *testing.T, text []byte) string {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		if want, ok := strings.CutPrefix(lines.Text(), "# want: "); ok {
			return strings.TrimSpace(want)
		}
	}
	t.Fatal("the file does not begin with a comment that says what is wanted: # want: same")
	return ""
}

func TestEveryCaseRendersAsItSays(t *testing.T) {
	shared := loadWorld(t, defaultWorld)
	for _, dir := range caseDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "appset.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			w := shared
			if ownWorld(t, dir) {
				w = loadWorld(t, dir, defaultWorld)
			}
			checkCase(t, w, text)
			if argo := argoVersion(t, dir); argo != nil {
				if _, got := compare(w, text, argo); got.verdict != verdictSame {
					t.Errorf("Argo CD renders argocd.yaml as something else: %q %s", got.verdict, got.problem)
				}
			}
		})
	}
}

func checkCase(t *testing.T, w *world, text []byte) {
	t.Helper()
	want := wantOf(t, text)
	c, got := compare(w, text, nil)
	switch {
	case got.problem != "":
		t.Errorf("want %q: %s", want, got.problem)
	case got.verdict == want || slices.Contains(got.differences, want):
	default:
		t.Errorf("want %q, got %q %q\nArgo CD: %v %q\nwe: %s %q", want, got.verdict, got.differences,
			c.oracle.err, namesOf(c.oracle.apps), c.ours.errors, namesOf(c.ours.apps))
	}
}

func caseDirs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*", "appset.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}

func ownWorld(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return slices.Contains([]string{"clusters.yaml", "objects.yaml", "repo", "plugin.json"}, e.Name())
	})
}

// argoVersion is the ApplicationSet in argocd.yaml, which Argo CD renders instead: it shows that
// what only we accept means what one would write for Argo CD.
func argoVersion(t *testing.T, dir string) map[string]any {
	t.Helper()
	text := readFirst(t, "argocd.yaml", []string{dir})
	if text == nil {
		return nil
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReferenceSetsRenderAlikeWithEveryOption(t *testing.T) {
	w := loadWorld(t, defaultWorld)
	files, err := filepath.Glob(filepath.Join("testdata", "reference", "*-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference sets: %v", err)
	}
	want := map[string]string{
		"clusters-fasttemplate.yaml":     "Text that is left in place",
		"guestbook-progressive.yaml":     verdictSame,
		"multi-env-git-directories.yaml": verdictBothFail,
		"multi-env-matrix.yaml":          verdictSame,
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, option := range []string{"missingkey=error", "missingkey=default"} {
			name := filepath.Base(file)
			t.Run(name+" "+option, func(t *testing.T) {
				manifest := map[string]any{}
				if err := yaml.Unmarshal(text, &manifest); err != nil {
					t.Fatal(err)
				}
				spec := manifest["spec"].(map[string]any)
				verdict := want[name]
				if spec["goTemplate"] == true {
					spec["goTemplateOptions"] = []any{option}
					if verdict == verdictBothFail && option == "missingkey=default" {
						verdict = "No value"
					}
				}
				body, err := yaml.Marshal(manifest)
				if err != nil {
					t.Fatal(err)
				}
				checkCase(t, w, append([]byte("# want: "+verdict+"\n"), body...))
			})
		}
	}
}

func TestEveryDifferenceHasACaseAndIsInTheGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, dir := range caseDirs(t) {
		text, err := os.ReadFile(filepath.Join(dir, "appset.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		wanted[wantOf(t, text)] = true
	}
	for _, d := range differences {
		if !wanted[d.name] {
			t.Errorf("no case shows it: %s", d)
		}
		if !bytes.Contains(guide, []byte("\n### "+d.name+"\n")) {
			t.Errorf("the guide has no heading for it: %s", d)
		}
		delete(wanted, d.name)
	}
	delete(wanted, verdictSame)
	delete(wanted, verdictBothFail)
	for name := range wanted {
		t.Errorf("a case wants %q, which is no difference", name)
	}
}
