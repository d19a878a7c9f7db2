package acceptance

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Where people find this repository, its pictures and its documentation.
const (
	repositoryURL    = "https://github.com/argocdprogressive/terraform-provider-argocdprogressive"
	picturesURL      = "https://raw.githubusercontent.com/argocdprogressive/terraform-provider-argocdprogressive/main/"
	documentationURL = "https://registry.terraform.io/providers/argocdprogressive/argocdprogressive/latest/docs"
)

var (
	link       = regexp.MustCompile(`\]\(([^()\s]+(?:\([^()\s]*\))?)\)`)
	heading    = regexp.MustCompile(`^#{1,6} +(.*)$`)
	explicitID = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	notInID    = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
)

// TestDocsLinksLeadSomewhere follows all links between files of the repository, to their headings as
// well. Other sites are not asked. The index is the one page whose relative links break in the
// Terraform registry, which serves it without the slash at the end.
func TestDocsLinksLeadSomewhere(t *testing.T) {
	files := append([]string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}, under(t, "docs", ".md")...)
	links := 0
	for _, file := range files {
		p := readPage(t, file)
		for i, line := range p.prose(t) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, anchored := strings.Cut(m[1], "#")
				if strings.Contains(target, "://") && !ours(target) || strings.HasPrefix(target, "mailto:") {
					continue
				}
				links++
				to := resolve(file, target)
				if file == "docs/index.md" && target != "" && !strings.Contains(target, "://") {
					t.Errorf("%s:%d: %s is relative", file, i+1, m[1])
				}
				if _, err := os.Stat(filepath.Join(root, to)); err != nil {
					t.Errorf("%s:%d: %s: there is no %s", file, i+1, m[1], to)
					continue
				}
				if anchored && !headings(t, to)[anchor] {
					t.Errorf("%s:%d: %s: %s has no such heading", file, i+1, m[1], to)
				}
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// under lists files with that ending, relative to the root.
func under(t *testing.T, dir, ext string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(file, ext) {
			relative, err := filepath.Rel(root, file)
			found = append(found, filepath.ToSlash(relative))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ours tells whether a URL means a file of this repository.
func ours(url string) bool {
	for _, kind := range []string{"/blob/main/", "/tree/main/"} {
		if strings.HasPrefix(url, repositoryURL+kind) {
			return true
		}
	}
	return strings.HasPrefix(url, documentationURL) || strings.HasPrefix(url, picturesURL)
}

// resolve is the file that a link in a file means.
func resolve(from, target string) string {
	switch {
	case target == "":
		return from
	case target == documentationURL:
		return "docs/index.md"
	case strings.HasPrefix(target, documentationURL):
		return "docs" + strings.TrimPrefix(target, documentationURL) + ".md"
	case strings.HasPrefix(target, picturesURL):
		return strings.TrimPrefix(target, picturesURL)
	case strings.HasPrefix(target, repositoryURL):
		_, file, _ := strings.Cut(target, "/main/")
		return file
	}
	return path.Join(path.Dir(from), target)
}

// headings are the anchors of a page, as GitHub and the Terraform registry make them.
func headings(t *testing.T, file string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	if !strings.HasSuffix(file, ".md") {
		return found
	}
	for _, line := range readPage(t, file).prose(t) {
		if m := heading.FindStringSubmatch(line); m != nil {
			id := notInID.ReplaceAllString(strings.ToLower(m[1]), "")
			found[strings.ReplaceAll(strings.TrimSpace(id), " ", "-")] = true
		}
		for _, m := range explicitID.FindAllStringSubmatch(line, -1) {
			found[m[1]] = true
		}
	}
	return found
}
