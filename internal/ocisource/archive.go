package ocisource

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// readArchive reads a layer as Argo CD unpacks it (Untar in util/io/files/tar.go and Push in util/oci/client.go,
// 3.6.1): files, directories and symbolic links count, whatever else there is does not. Two things that Argo CD does
// are errors here: to write through a symbolic link, and a directory and a file in the same place.
func readArchive(ctx context.Context, r io.Reader, mediaType string, l limits) (*Tree, error) {
	if isZipped(mediaType) {
		unzipped, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, damaged(err)
		}
		r = unzipped
	}
	b := builder{limits: l, root: &node{kind: fs.ModeDir}}
	archive := tar.NewReader(&bounded{r: r, left: l.archive, limit: l.archive})
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, damaged(err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if b.sizes += header.Size; b.sizes > l.archive { // a sparse file has more than it takes
			return nil, unpacked(l.archive)
		}
		if err := b.add(header, archive); err != nil {
			return nil, err
		}
	}
	root := b.root
	if mediaType == chartLayer {
		if root = onlyDirectory(root); root == nil {
			return nil, gitsource.Fail(gitsource.Invalid, "the archive of a chart must hold one directory and nothing beside it")
		}
	}
	root.sort()
	return &Tree{root: root, size: b.held + int64(b.names) + int64(1+b.entries)*entryBytes, limits: l}, nil
}

// entryBytes is about how much an entry takes beside its name and its content: the node, and its place in the directory.
const entryBytes = 256

// damaged explains an error that comes of the content, and no other one.
func damaged(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return gitsource.Fail(gitsource.Invalid, "its content is no archive of the kind that its media type says: %s", err)
	}
	return err
}

// bounded reads at most so many bytes; one more is an error.
type bounded struct {
	r           io.Reader
	left, limit int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, unpacked(b.limit)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func unpacked(limit int64) error {
	return gitsource.Fail(gitsource.TooLarge, "its content has more than %d MB when it is unpacked", limit/1_000_000)
}

// onlyDirectory is the directory that a chart lies in.
func onlyDirectory(root *node) *node {
	for _, child := range root.children {
		if len(root.children) == 1 && child.kind == fs.ModeDir {
			child.parent = nil
			return child
		}
	}
	return nil
}

// builder makes a tree of the entries of an archive.
type builder struct {
	limits limits
	root   *node
	// entries, names and held are how many there are so far, and how many bytes they have; sizes is how many
	// bytes those have that were not kept as well.
	entries, names int
	held, sizes    int64
}

func (b *builder) add(header *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(path.Clean(header.Name), "/")
	switch {
	case name == "" || name == ".":
		return nil
	case len(name) > b.limits.path || strings.Count(name, "/") >= b.limits.depth:
		return gitsource.Fail(gitsource.TooLarge, "it has a path of more than %d bytes or %d directories: %q", b.limits.path, b.limits.depth, gitsource.OneLine(name, 100))
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return gitsource.Fail(gitsource.Invalid, "it has a path that is not UTF-8: %q", gitsource.OneLine(name, 100))
	case name == ".." || strings.HasPrefix(name, "../"):
		return gitsource.Fail(gitsource.Invalid, "it has a path that leads out of it: %q", gitsource.OneLine(name, 100))
	}
	switch header.Typeflag {
	case tar.TypeDir:
		_, err := b.directory(name)
		return err
	case tar.TypeSymlink:
		return b.link(name, header.Linkname)
	case tar.TypeReg:
		return b.file(name, header.Size, content)
	}
	return nil
}

// directory is the one of a path; what is missing of it is made.
func (b *builder) directory(name string) (*node, error) {
	at := b.root
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		child := at.children[part]
		switch {
		case child == nil:
			var err error
			if child, err = b.put(at, part, fs.ModeDir); err != nil {
				return nil, err
			}
		case child.kind == fs.ModeSymlink:
			return nil, gitsource.Fail(gitsource.Invalid, "%q lies behind a symbolic link of its archive: that is not followed", gitsource.OneLine(name, 100))
		case child.kind != fs.ModeDir:
			return nil, twice(name)
		}
		at = child
	}
	return at, nil
}

func twice(name string) error {
	return gitsource.Fail(gitsource.Invalid, "it has %q twice, as different things", gitsource.OneLine(name, 100))
}

// put adds an entry to a directory.
func (b *builder) put(in *node, name string, kind fs.FileMode) (*node, error) {
	b.entries++
	if err := b.named(name); err != nil {
		return nil, err
	}
	name = strings.Clone(name) // the header, of which it is a part, is larger
	child := &node{name: name, kind: kind, parent: in}
	if in.children == nil {
		in.children = map[string]*node{}
	}
	in.children[name] = child
	return child, nil
}

// named counts a name, or the target of a link.
func (b *builder) named(name string) error {
	b.names += len(name)
	if b.entries > b.limits.entries || b.names > b.limits.names {
		return gitsource.Fail(gitsource.TooLarge, "it has more than %d files and directories, or more than %d MiB of names", b.limits.entries, b.limits.names>>20)
	}
	return nil
}

// link adds a symbolic link. Its target is relative to where it is, even if it begins with "/".
func (b *builder) link(name, target string) error {
	in, err := b.directory(path.Dir(name))
	if err != nil {
		return err
	}
	if in.children[path.Base(name)] != nil {
		return twice(name)
	}
	to := path.Join(path.Dir(name), target)
	if to == ".." || strings.HasPrefix(to, "../") {
		return gitsource.Fail(gitsource.Invalid, "it has a symbolic link that leads out of it: %q", gitsource.OneLine(name, 100))
	}
	// Written in the shortest way, it leads nowhere else when the directory of a chart is taken away.
	relative, err := filepath.Rel(filepath.FromSlash(path.Dir(name)), filepath.FromSlash(to))
	if err != nil {
		return gitsource.Fail(gitsource.Invalid, "it has a symbolic link that cannot be read: %q", gitsource.OneLine(name, 100))
	}
	// Its target may come later, but must be possible.
	if _, _, err := b.root.follow(to, b.limits.links); err != nil && !errors.Is(err, fs.ErrNotExist) || len(relative) > b.limits.path {
		return gitsource.Fail(gitsource.Invalid, "it has a symbolic link that cannot be followed: %q", gitsource.OneLine(name, 100))
	}
	child, err := b.put(in, path.Base(name), fs.ModeSymlink)
	if err != nil {
		return err
	}
	child.target = strings.Clone(filepath.ToSlash(relative))
	return b.named(child.target)
}

// file adds a file; of two in the same place the last one counts. What is too large to be read is not kept.
func (b *builder) file(name string, size int64, content io.Reader) error {
	in, err := b.directory(path.Dir(name))
	if err != nil {
		return err
	}
	child := in.children[path.Base(name)]
	switch {
	case child == nil:
		if child, err = b.put(in, path.Base(name), 0); err != nil {
			return err
		}
	case child.kind != 0:
		return twice(name)
	}
	b.held -= int64(len(child.content))
	child.size, child.content = size, nil
	if size > b.limits.file {
		return nil
	}
	if b.held += size; b.held > b.limits.held {
		return gitsource.Fail(gitsource.TooLarge, "its files have more than %d MiB together", b.limits.held>>20)
	}
	if child.content, err = io.ReadAll(content); err != nil {
		return damaged(err)
	}
	return nil
}

// sort lists the children of every directory by name.
func (n *node) sort() {
	for _, child := range n.children {
		n.sorted = append(n.sorted, child)
		if child.kind == fs.ModeDir {
			child.sort()
		}
	}
	slices.SortFunc(n.sorted, func(a, b *node) int { return strings.Compare(a.name, b.name) })
}
