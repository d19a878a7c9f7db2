package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Tree is a commit that was fetched. It may be used by several goroutines, until its Store is closed.
type Tree struct {
	commit      string
	objects     objects
	limits      limits
	directories []string
	names       []string
	files       map[string]file
	isDirectory map[string]bool
}

type file struct {
	hash plumbing.Hash
	link bool
}

// Commit is the full SHA.
func (t *Tree) Commit() string { return t.commit }

// Directories are the paths of all directories, sorted, without the root. A submodule is one of them;
// what is in it is not known.
func (t *Tree) Directories() []string { return slices.Clone(t.directories) }

// Files are the paths of all files and symbolic links, sorted.
func (t *Tree) Files() []string { return slices.Clone(t.names) }

// Read is the content of a file of at most 10 MiB. Symbolic links are followed within the repository
// only. A file that is stored by git LFS is read as its pointer. The error does not say which commit or
// repository it is.
func (t *Tree) Read(name string) ([]byte, error) {
	content, err := t.read(name)
	if err != nil {
		kind := Invalid
		if errors.Is(err, errTooLarge) {
			kind = TooLarge
		}
		return nil, &Error{Kind: kind, text: fmt.Sprintf("reading %q: %s", name, err)}
	}
	return content, nil
}

func (t *Tree) read(name string) ([]byte, error) {
	target, err := t.follow(name)
	if err != nil {
		return nil, err
	}
	found, ok := t.files[target]
	switch {
	case ok:
	case t.isDirectory[target], target == "":
		return nil, fmt.Errorf("%q is a directory", target)
	case target != name:
		return nil, fmt.Errorf("it is a symbolic link to %q, which does not exist", target)
	default:
		return nil, errors.New("there is no such file")
	}
	kind, content, err := t.objects.object(found.hash, t.limits.file)
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errAbsent):
		// Servers that can are asked to leave out what is too large.
		return nil, fmt.Errorf("it has more than %d MiB, which is as much as a file may have that parameters are read from: %w", t.limits.file>>20, errTooLarge)
	case err != nil:
		return nil, err
	case kind != plumbing.BlobObject:
		return nil, fmt.Errorf("it is stored as a %s", kind)
	}
	return content, nil
}

// follow is the path of what a path means, symbolic links followed, of its directories as well.
func (t *Tree) follow(name string) (string, error) {
	todo, at, hops := strings.Split(name, "/"), "", 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return "", errors.New("it is a symbolic link that leads out of the repository")
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := path.Join(at, part)
		if found, ok := t.files[next]; !ok || !found.link {
			at = next
			continue
		}
		if hops++; hops > t.limits.links {
			return "", fmt.Errorf("it leads over more than %d symbolic links, perhaps in a circle", t.limits.links)
		}
		_, target, err := t.objects.object(t.files[next].hash, int64(t.limits.path))
		if err != nil {
			return "", errors.New("it is a symbolic link whose target cannot be read")
		}
		if bytes.HasPrefix(target, []byte("/")) || bytes.IndexByte(target, 0) >= 0 {
			return "", errors.New("it is a symbolic link that leads out of the repository")
		}
		if len(todo)+len(target) > t.limits.path {
			return "", errors.New("it leads over symbolic links whose targets are too long")
		}
		todo = append(strings.Split(string(target), "/"), todo...)
	}
	return at, nil
}

// peel is the tree of what a revision names: a commit, or a tag of one.
func peel(o objects, hash plumbing.Hash, l limits) (commit, tree plumbing.Hash, err error) {
	const tagsOfTags = 10
	for range tagsOfTags {
		kind, content, err := o.object(hash, l.object)
		if err != nil {
			return commit, tree, fail(Invalid, "%s, of which everything is to be read: %s", hash, err)
		}
		field := map[plumbing.ObjectType]string{plumbing.CommitObject: "tree ", plumbing.TagObject: "object "}[kind]
		if field == "" {
			return commit, tree, fail(Revision, "%s is a %s, not a commit", hash, kind)
		}
		line, _, _ := bytes.Cut(content, []byte("\n"))
		value, ok := bytes.CutPrefix(line, []byte(field))
		if !ok || !fullPattern.Match(value) {
			return commit, tree, fail(Invalid, "the %s %s is damaged", kind, hash)
		}
		next := plumbing.NewHash(string(value))
		if kind == plumbing.CommitObject {
			return hash, next, nil
		}
		hash = next
	}
	return commit, tree, fail(Invalid, "it is a tag of a tag of a tag, more than %d times", tagsOfTags)
}

// readTree lists everything that is in a commit.
func readTree(ctx context.Context, o objects, commit, root plumbing.Hash, l limits) (*Tree, error) {
	t := &Tree{commit: commit.String(), objects: o, limits: l, files: map[string]file{}, isDirectory: map[string]bool{}}
	type level struct {
		path  string
		hash  plumbing.Hash
		depth int
	}
	// The same tree is often at several places, in hostile repositories at very many.
	known := map[plumbing.Hash][]treeEntry{}
	names := 0
	for todo := []level{{hash: root}}; len(todo) > 0; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		current := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		entries, ok := known[current.hash]
		if !ok {
			var err error
			if entries, err = t.entries(current.hash); err != nil {
				return nil, fail(Invalid, "the directory %q of commit %s cannot be read: %s", current.path, t.commit, err)
			}
			known[current.hash] = entries
		}
		for _, e := range entries {
			full := e.name
			if current.path != "" {
				full = current.path + "/" + e.name
			}
			if len(full) > l.path || current.depth >= l.depth {
				return nil, fail(TooLarge, "commit %s has a path of more than %d bytes or %d directories: %q", t.commit, l.path, l.depth, OneLine(full, 100))
			}
			if _, twice := t.files[full]; twice || t.isDirectory[full] {
				return nil, fail(Invalid, "commit %s has two entries of the name %q", t.commit, full)
			}
			if names += len(full); names > l.names || len(t.files)+len(t.isDirectory) >= l.entries {
				return nil, fail(TooLarge, "commit %s has more than %d files and directories, or more than %d MiB of paths", t.commit, l.entries, l.names>>20)
			}
			switch e.mode {
			case modeDirectory:
				todo = append(todo, level{full, e.hash, current.depth + 1})
				t.isDirectory[full] = true
			case modeSubmodule:
				t.isDirectory[full] = true
			case modeLink, modeFile:
				t.files[full] = file{hash: e.hash, link: e.mode == modeLink}
			}
		}
	}
	for name := range t.isDirectory {
		t.directories = append(t.directories, name)
	}
	for name := range t.files {
		t.names = append(t.names, name)
	}
	slices.Sort(t.directories)
	slices.Sort(t.names)
	return t, nil
}

type treeEntry struct {
	name string
	mode mode
	hash plumbing.Hash
}

type mode int

const (
	modeFile mode = iota
	modeDirectory
	modeLink
	modeSubmodule
)

// entries are those of one tree object.
func (t *Tree) entries(hash plumbing.Hash) ([]treeEntry, error) {
	kind, content, err := t.objects.object(hash, t.limits.object)
	switch {
	case errors.Is(err, errAbsent) && hash.String() == emptyTree:
		return nil, nil
	case err != nil:
		return nil, err
	case kind != plumbing.TreeObject:
		return nil, fmt.Errorf("it is stored as a %s", kind)
	}
	return parseTree(content)
}

// emptyTree is the tree without entries, which is not stored anywhere.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// parseTree reads a tree object. A name that git itself would not check out is an error.
func parseTree(content []byte) ([]treeEntry, error) {
	var found []treeEntry
	for len(content) > 0 {
		digits, rest, ok := bytes.Cut(content, []byte(" "))
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok || !ok2 || len(rest) < len(plumbing.ZeroHash) || len(digits) == 0 || len(digits) > 7 {
			return nil, errors.New("it is damaged")
		}
		bits := 0
		for _, d := range digits {
			if d < '0' || d > '7' {
				return nil, errors.New("it is damaged")
			}
			bits = bits<<3 | int(d-'0')
		}
		e := treeEntry{name: string(name)}
		copy(e.hash[:], rest)
		content = rest[len(e.hash):]
		switch e.name {
		case "", ".", "..":
			return nil, fmt.Errorf("it has an entry of the name %q", e.name)
		}
		if strings.EqualFold(e.name, ".git") || strings.Contains(e.name, "/") {
			return nil, fmt.Errorf("it has an entry of the name %q", e.name)
		}
		switch bits & 0o170000 {
		case 0o040000:
			e.mode = modeDirectory
		case 0o100000:
			e.mode = modeFile
		case 0o120000:
			e.mode = modeLink
		case 0o160000:
			e.mode = modeSubmodule
		default:
			return nil, fmt.Errorf("%q has the unknown mode %s", e.name, digits)
		}
		found = append(found, e)
	}
	return found, nil
}
