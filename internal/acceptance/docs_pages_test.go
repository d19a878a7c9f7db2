package acceptance

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// updateDocs writes what terraform prints now into the pages, instead of comparing.
var updateDocs = flag.Bool("update-docs", false, "write the outputs that the documentation shows anew")

// root is that of the repository, seen from here.
const root = "../.."

// page is a text that people read, before docs/ is generated from it.
type page struct {
	// path is relative to the root of the repository.
	path  string
	lines []string
}

// fence is a block of code in a page.
type fence struct {
	page *page
	// first is the index of its first line, after the opening one.
	first int
	// lang is the word behind the opening backquotes.
	lang string
	text string
	// output is the name in the comment "output: NAME" right before it.
	output string
}

var (
	opening = regexp.MustCompile("^( *)```([a-z]*)$")
	marker  = regexp.MustCompile(`^<!-- output: ([a-z ]+) -->$`)
)

// pages are the README, the other texts beside it, and all templates of docs/.
func pages(t *testing.T) []*page {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(root, "templates"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*page, len(paths))
	for i, path := range paths {
		all[i] = readPage(t, path)
	}
	return all
}

func readPage(t *testing.T, path string) *page {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return &page{path: path, lines: strings.Split(string(content), "\n")}
}

// fences are the blocks of code of a page, in their order.
func (p *page) fences(t *testing.T) []fence {
	t.Helper()
	var found []fence
	for i := 0; i < len(p.lines); i++ {
		open := opening.FindStringSubmatch(p.lines[i])
		if open == nil {
			continue
		}
		block := fence{page: p, first: i + 1, lang: open[2]}
		if i > 0 {
			if m := marker.FindStringSubmatch(p.lines[i-1]); m != nil {
				block.output = m[1]
			}
		}
		for i++; i < len(p.lines) && strings.TrimSpace(p.lines[i]) != "```"; i++ {
		}
		if i == len(p.lines) {
			t.Fatalf("%s:%d: the block of code does not end", p.path, block.first)
		}
		for _, line := range p.lines[block.first:i] {
			block.text += strings.TrimPrefix(line, open[1]) + "\n"
		}
		block.text = strings.TrimSuffix(block.text, "\n")
		found = append(found, block)
	}
	return found
}

// prose are the lines of a page with those of its blocks of code empty.
func (p *page) prose(t *testing.T) []string {
	t.Helper()
	lines := append([]string(nil), p.lines...)
	for _, f := range p.fences(t) {
		for i := range strings.Count(f.text, "\n") + 1 {
			lines[f.first+i] = ""
		}
	}
	return lines
}
