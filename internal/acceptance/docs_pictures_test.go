package acceptance

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// picture matches one in a text: what it shows in words, and its URL.
var picture = regexp.MustCompile(`!\[([^\]]*)\]\(([^()\s]+)\)`)

// TestDocsPicturesAreForEverybody looks at the pictures of all texts. One is an SVG file of this repository, by the URL
// that the registry takes, with words for those who do not see it; the same stands as text right below. No file is left over.
func TestDocsPicturesAreForEverybody(t *testing.T) {
	var shown []string
	for _, p := range pages(t) {
		fences := p.fences(t)
		for i, line := range p.prose(t) {
			for _, m := range picture.FindAllStringSubmatch(line, -1) {
				file, ours := strings.CutPrefix(m[2], picturesURL)
				if !ours || !strings.HasPrefix(file, "docs-assets/") {
					t.Errorf("%s:%d: %s is not below %sdocs-assets/", p.path, i+1, m[2], picturesURL)
					continue
				}
				shown = append(shown, file)
				if len(strings.Fields(m[1])) < 5 {
					t.Errorf("%s:%d: the picture has the words %q", p.path, i+1, m[1])
				}
				if !slices.ContainsFunc(fences, func(b fence) bool { return b.lang == "text" && b.first > i && b.first <= i+5 }) {
					t.Errorf("%s:%d: no text shows the same right below the picture", p.path, i+1)
				}
			}
		}
	}
	files := under(t, "docs-assets", "")
	for _, file := range files {
		if !slices.Contains(shown, file) {
			t.Errorf("no text shows %s", file)
		}
		checkPicture(t, file)
	}
	if len(files) < 2 {
		t.Errorf("only %v were found", files)
	}
}

// checkPicture fails unless the file is an SVG picture that says what it is, and that needs nothing else.
func checkPicture(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		XMLName  xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		Role     string   `xml:"role,attr"`
		Labelled string   `xml:"aria-labelledby,attr"`
		Title    struct {
			ID   string `xml:"id,attr"`
			Text string `xml:",chardata"`
		} `xml:"title"`
		Desc struct {
			ID   string `xml:"id,attr"`
			Text string `xml:",chardata"`
		} `xml:"desc"`
	}
	if err := xml.Unmarshal(content, &svg); err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	if svg.Role != "img" || svg.Labelled != svg.Title.ID+" "+svg.Desc.ID || len(strings.Fields(svg.Title.Text)) < 3 || len(strings.Fields(svg.Desc.Text)) < 10 {
		t.Errorf("%s: title, description and role are %+v", file, svg)
	}
	if other := regexp.MustCompile(`(?:href|src)="[^#][^"]*"|<(?:script|foreignObject|image)\b`).Find(content); other != nil {
		t.Errorf("%s needs %s", file, other)
	}
}

// TestDocsPictureOfTheStatesHasThoseOfTheText compares the picture of a state machine with the text below it.
func TestDocsPictureOfTheStatesHasThoseOfTheText(t *testing.T) {
	p := readPage(t, "templates/guides/how-a-rollout-runs.md")
	picture, err := os.ReadFile(filepath.Join(root, "docs-assets/application-states.svg"))
	if err != nil {
		t.Fatal(err)
	}
	var drawn, written []string
	for _, m := range regexp.MustCompile(`font-weight="bold"[^>]*>([A-Za-z]+)</text>`).FindAllStringSubmatch(string(picture), -1) {
		drawn = append(drawn, m[1])
	}
	for _, b := range p.fences(t) {
		if strings.Contains(b.text, "┌") {
			for _, m := range regexp.MustCompile(`│ +([A-Z][a-z]+) +│`).FindAllStringSubmatch(b.text, -1) {
				written = append(written, m[1])
			}
		}
	}
	slices.Sort(drawn)
	slices.Sort(written)
	if len(drawn) != 5 || !slices.Equal(drawn, written) {
		t.Errorf("the picture has %v, and the text %v", drawn, written)
	}
}
