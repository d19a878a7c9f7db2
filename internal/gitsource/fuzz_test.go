package gitsource

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// FuzzPack gives a pack of anything to the reader of packs, and reads what it found as trees.
func FuzzPack(f *testing.F) {
	base := []byte(strings.Repeat("base ", 10))
	file := plumbing.ComputeHash(plumbing.BlobObject, base)
	tree := []byte(rawEntry("100644", "file", file.String()) + rawEntry("120000", "link", file.String()) + rawEntry("160000", "module", file.String()))
	root := plumbing.ComputeHash(plumbing.TreeObject, tree)
	nested := []byte(rawEntry("40000", "dir", root.String()))
	f.Add(writePack(
		packed{kind: plumbing.BlobObject, length: -1, content: base},
		packed{kind: plumbing.OFSDeltaObject, length: -1, back: 1, content: delta(base, 2)},
		packed{kind: plumbing.REFDeltaObject, length: -1, ref: file, content: delta(base, 3)},
		packed{kind: plumbing.TreeObject, length: -1, content: tree},
		packed{kind: plumbing.TreeObject, length: -1, content: nested},
		packed{kind: plumbing.CommitObject, length: -1, content: fmt.Appendf(nil, "tree %s\n", root)},
	))
	f.Add(writePack())
	f.Add([]byte("PACK"))
	f.Fuzz(func(t *testing.T, content []byte) {
		l := defaultLimits()
		l.object, l.held, l.pack, l.objects, l.entries, l.names = 1<<16, 1<<18, 1<<20, 1000, 1000, 1<<16
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		// What is damaged is found by the checksum first: it is made right.
		if len(content) > 20 {
			content = bytes.Clone(content)
			sum := sha1.Sum(content[:len(content)-20])
			copy(content[len(content)-20:], sum[:])
		}
		p, err := receive(ctx, bytes.NewReader(content), l)
		if err != nil {
			return
		}
		defer p.close()
		for _, number := range p.byHash {
			readEverything(ctx, t, p, p.entries[number].hash, l)
		}
	})
}

// readEverything reads a tree in all ways, and fails if a file of this machine is read.
func readEverything(ctx context.Context, t *testing.T, o objects, root plumbing.Hash, l limits) {
	tree, err := readTree(ctx, o, plumbing.ZeroHash, root, l)
	if err != nil {
		if ctx.Err() != nil {
			t.Fatalf("reading did not end: %v", err)
		}
		return
	}
	for _, name := range append(tree.Files(), tree.Directories()...) {
		for _, part := range strings.Split(name, "/") {
			if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
				t.Errorf("the path %q is none in a repository", name)
			}
		}
		if content, err := tree.Read(name); err == nil && bytes.Contains(content, []byte(outside)) {
			t.Errorf("%q is read from this machine", name)
		}
	}
}

// outside is what a file of this machine contains.
const outside = "this is not in any repository"

// FuzzTree reads trees of entries with any names, modes and links.
func FuzzTree(f *testing.F) {
	f.Add("file", "100644", "link", "../file", "dir", "40000")
	f.Add("..", "40000", "a", "/etc/passwd", ".git", "160000")
	f.Add("a\nb", "120000", "-x", strings.Repeat("../", 100)+"etc/passwd", "ü", "100755")
	secret, err := os.CreateTemp(f.TempDir(), "secret")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := io.WriteString(secret, outside); err != nil {
		f.Fatal(err)
	}
	f.Add("x", "40000", "x", secret.Name(), "x", "120000")
	f.Fuzz(func(t *testing.T, name, mode, link, target, other, otherMode string) {
		store := memory{}
		file := store.add(plumbing.BlobObject, "content")
		to := store.add(plumbing.BlobObject, target)
		zero := func(text string) string { return strings.ReplaceAll(text, "\x00", "") }
		inner := store.add(plumbing.TreeObject, rawEntry(zero(mode), zero(name), file.String())+rawEntry("120000", zero(link), to.String()))
		root := store.add(plumbing.TreeObject, rawEntry("40000", "inner", inner.String())+rawEntry("120000", zero(link), to.String())+
			rawEntry(zero(otherMode), zero(other), inner.String()))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		l := defaultLimits()
		l.entries, l.names = 1000, 1<<16
		readEverything(ctx, t, store, root, l)
	})
}
