package ocisource

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// Tree is the content of an artifact. It does not change, and may be used by several goroutines.
type Tree struct {
	digest string
	root   *node
	size   int64
	limits limits
}

// Digest is that of the artifact's manifest.
func (t *Tree) Digest() string { return t.digest }

// Size is about how many bytes of memory it takes.
func (t *Tree) Size() int64 { return t.size }

// Directories are the paths of all directories, sorted, without the root. A symbolic link is none of them.
func (t *Tree) Directories() []string {
	var found []string
	var walk func(at *node, below string)
	walk = func(at *node, below string) {
		for _, child := range at.sorted {
			if child.kind == fs.ModeDir {
				name := path.Join(below, child.name)
				found = append(found, name)
				walk(child, name)
			}
		}
	}
	walk(t.root, "")
	slices.Sort(found)
	return found
}

// Glob are the paths of the files that match a pattern, sorted, as Argo CD finds them (GetOciFiles in
// reposerver/repository, 3.6.1): "*" stays within one part of a path, "**" stands for any number of them, and "" and "."
// for everything. Symbolic links are followed; those that lead nowhere, or out of the artifact, are left out.
func (t *Tree) Glob(pattern string) ([]string, error) {
	if pattern == "" || pattern == "." {
		pattern = "**"
	}
	if choices(pattern) > t.limits.choices || len(pattern) > t.limits.path {
		return nil, fmt.Errorf("the pattern %q stands for too many others: write several", gitsource.OneLine(pattern, 100))
	}
	files := &files{tree: t, left: t.limits.looked}
	matches, err := doublestar.Glob(files, pattern)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a pattern of files", gitsource.OneLine(pattern, 100))
	case files.left < 0:
		return nil, fmt.Errorf("the pattern %q makes it look at too many files, perhaps for symbolic links that lead in a circle", gitsource.OneLine(pattern, 100))
	}
	var found []string
	for _, name := range matches {
		if at, _, err := t.root.follow(name, t.limits.links); err == nil && at.kind == 0 {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// choices is at most how many patterns the {a,b} of a pattern make: as many as if all were of the same size.
func choices(pattern string) float64 {
	groups := float64(strings.Count(pattern, "{"))
	if groups == 0 {
		return 1
	}
	return math.Pow(1+float64(strings.Count(pattern, ","))/groups, groups)
}

// Read is the content of a file of at most 10 MiB. Symbolic links are followed. The error does not say which artifact
// it is.
func (t *Tree) Read(name string) ([]byte, error) {
	at, _, err := t.root.follow(name, t.limits.links)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %q: %w", name, err)
	case at.kind != 0:
		return nil, fmt.Errorf("reading %q: it is a directory", name)
	case at.size > t.limits.file:
		return nil, fmt.Errorf("reading %q: it has more than %d MiB, which is as much as a file may have that parameters are read from", name, t.limits.file>>20)
	}
	return at.content, nil
}

var (
	errOutside     = errors.New("it is a symbolic link that leads out of the artifact")
	errCircle      = errors.New("it leads over too many symbolic links, perhaps in a circle")
	errNoDirectory = errors.New("a part of the path is no directory")
)

// follow is what a path below the root means, symbolic links followed, also those of its directories: at most so many.
// steps is how many parts that took.
func (n *node) follow(name string, links int) (_ *node, steps int, _ error) {
	todo, at := strings.Split(name, "/"), n
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		steps++
		if at.kind != fs.ModeDir {
			return nil, steps, errNoDirectory
		}
		switch part {
		case "", ".":
			continue
		case "..":
			if at = at.parent; at == nil {
				return nil, steps, errOutside
			}
			continue
		}
		next := at.children[part]
		switch {
		case next == nil:
			return nil, steps, fs.ErrNotExist
		case next.kind != fs.ModeSymlink:
			at = next
			continue
		}
		if links--; links < 0 {
			return nil, steps, errCircle
		}
		todo = append(strings.Split(next.target, "/"), todo...)
	}
	return at, steps, nil
}

// node is a file, a directory or a symbolic link. It describes itself as fs.DirEntry and fs.FileInfo.
type node struct {
	name string
	// kind is 0 for a file, fs.ModeDir or fs.ModeSymlink.
	kind fs.FileMode
	// parent is nil for the root.
	parent *node
	// children and sorted are those of a directory.
	children map[string]*node
	sorted   []*node
	// target is that of a link, relative to where it is.
	target string
	// content is nil if the file is too large to be read.
	content []byte
	size    int64
}

func (n *node) Name() string               { return n.name }
func (n *node) IsDir() bool                { return n.kind == fs.ModeDir }
func (n *node) Type() fs.FileMode          { return n.kind }
func (n *node) Mode() fs.FileMode          { return n.kind }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }
func (n *node) Size() int64                { return n.size }
func (n *node) ModTime() time.Time         { return time.Time{} }
func (n *node) Sys() any                   { return nil }

// files are those of a tree for one question about it.
type files struct {
	tree *Tree
	// left is how much may still be looked at; less than nothing ends the question.
	left int
}

var (
	_ fs.StatFS    = (*files)(nil)
	_ fs.ReadDirFS = (*files)(nil)
)

// errEnough ends a question that looks at too much.
var errEnough = errors.New("that is too much to look at")

// Open is not for patterns, which look at names only.
func (f *files) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

// spend takes what it costs to look at so many entries, longer paths being longer to keep.
func (f *files) spend(count int, name string) bool {
	const share = 64
	f.left -= count * (1 + len(name)/share)
	return f.left >= 0
}

func (f *files) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if !f.spend(1, name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: errEnough}
	}
	at, steps, err := f.tree.root.follow(name, f.tree.limits.links)
	if f.left -= steps; err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return at, nil
}

// Stat follows symbolic links.
func (f *files) Stat(name string) (fs.FileInfo, error) {
	at, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return at, nil
}

// ReadDir lists a directory.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := f.find("readdir", name)
	switch {
	case err != nil:
		return nil, err
	case !at.IsDir():
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNoDirectory}
	case !f.spend(len(at.sorted), name):
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errEnough}
	}
	entries := make([]fs.DirEntry, len(at.sorted))
	for i, child := range at.sorted {
		entries[i] = child
	}
	return entries, nil
}
