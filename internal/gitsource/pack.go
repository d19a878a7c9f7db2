package gitsource

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// objects are where the commits, trees and files of a repository are.
type objects interface {
	// object is the content of an object of at most limit bytes. errAbsent if there is none.
	object(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error)
	// commits are the commits whose SHA begins with prefix, sorted.
	commits(prefix string) ([]plumbing.Hash, error)
	close() error
}

var (
	errAbsent   = errors.New("the object is not there")
	errTooLarge = errors.New("the object is too large")
)

// pack is a pack of objects in a temporary file, with an index in memory. go-git's own index writer
// is not used: it holds each object in memory as it is.
type pack struct {
	limits limits
	file   *os.File

	// entries are in the order of the pack; byHash are their numbers, sorted by hash, of all whose hash
	// could be found.
	entries []entry
	byHash  []int32

	mu      sync.Mutex // for what follows, and the position in the file
	scanner *packfile.Scanner
	cache   map[int32][]byte
	cached  int64
}

// entry is one object of a pack.
type entry struct {
	offset int64
	// length is that of what is stored: the object, or the delta.
	length int64
	hash   plumbing.Hash
	// base is the entry that this one is a delta of, none if it is none, elsewhere if it is named by its hash.
	base int32
	// next is the next entry with the same base, child the first one of which this is the base.
	next, child int32
	kind        plumbing.ObjectType
}

const (
	none      = -1
	elsewhere = -2
)

// receive stores the objects from r in a temporary file and finds their hashes.
func receive(ctx context.Context, r io.Reader, l limits) (_ *pack, err error) {
	file, err := os.CreateTemp("", "argocdprogressive-*.pack")
	if err != nil {
		return nil, fail(Other, "no temporary file can be made for its objects: %s", err)
	}
	p := &pack{limits: l, file: file, cache: map[int32][]byte{}}
	// An open file needs no name on most systems, and then nothing remains if this process is killed.
	_ = os.Remove(file.Name())
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	n, err := io.Copy(file, io.LimitReader(contextReader{ctx, r}, l.pack+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && ended(err):
		return nil, passing(Unreachable, "the connection ended in the middle of the objects, after %d bytes", n)
	case err != nil:
		return nil, passing(Unreachable, "the objects did not come to the end: %s", OneLine(err.Error(), 300))
	case n > l.pack:
		return nil, fail(TooLarge, "its objects have more than %d MiB; name a branch or a tag, so that only the newest commit is fetched", l.pack>>20)
	case n == 0:
		return nil, passing(Unreachable, "the server sent no objects")
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fail(Other, "the temporary file cannot be read: %s", err)
	}
	p.scanner = packfile.NewScanner(file)
	if err := p.index(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *pack) close() error {
	err := p.file.Close()
	// Where an open file could not be removed.
	if e := os.Remove(p.file.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// stored is what an entry holds: the object, or the delta.
func (p *pack) stored(number int32, limit int64) ([]byte, error) {
	e := p.entries[number]
	if e.length > limit {
		return nil, errTooLarge
	}
	if _, err := p.scanner.SeekObjectHeader(e.offset); err != nil {
		return nil, damaged(err)
	}
	var b bytes.Buffer
	b.Grow(int(e.length))
	if _, _, err := p.scanner.NextObject(&b); err != nil {
		return nil, damaged(err)
	}
	return b.Bytes(), nil
}

// apply is the object that an entry makes of its base.
func (p *pack) apply(number int32, base []byte, limit int64) ([]byte, error) {
	delta, err := p.stored(number, limit)
	if err != nil {
		return nil, err
	}
	_, rest, ok := varint(delta)
	size, _, ok2 := varint(rest)
	if !ok || !ok2 {
		return nil, damaged(packfile.ErrInvalidDelta)
	}
	if size > uint64(limit) {
		return nil, errTooLarge
	}
	if size == 0 {
		return []byte{}, nil
	}
	target, err := packfile.PatchDelta(base, delta)
	if err != nil {
		return nil, damaged(err)
	}
	return target, nil
}

// varint is a number as it stands at the beginning of a delta.
func varint(b []byte) (n uint64, rest []byte, ok bool) {
	for shift := 0; shift < 63 && len(b) > 0; shift += 7 {
		c := b[0]
		b = b[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n, b, true
		}
	}
	return 0, nil, false
}

func damaged(err error) error {
	return fail(Invalid, "the server sent damaged objects: %s", OneLine(err.Error(), 200))
}

func (p *pack) object(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	i := sort.Search(len(p.byHash), func(i int) bool {
		return bytes.Compare(p.entries[p.byHash[i]].hash[:], hash[:]) >= 0
	})
	if i == len(p.byHash) || p.entries[p.byHash[i]].hash != hash {
		return plumbing.InvalidObject, nil, errAbsent
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	number := p.byHash[i]
	content, err := p.content(number, limit)
	return p.entries[number].kind, content, err
}

// content is the object of an entry, made of its bases.
func (p *pack) content(number int32, limit int64) ([]byte, error) {
	var chain []int32
	content, known := p.cache[number]
	for !known && p.entries[number].base != none {
		chain = append(chain, number)
		number = p.entries[number].base
		content, known = p.cache[number]
	}
	if !known {
		bound := p.limits.object
		if len(chain) == 0 {
			bound = limit
		}
		var err error
		if content, err = p.stored(number, bound); err != nil {
			return nil, err
		}
		p.keep(number, content)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		bound := p.limits.object
		if i == 0 {
			bound = limit
		}
		var err error
		if content, err = p.apply(chain[i], content, bound); err != nil {
			return nil, err
		}
		p.keep(chain[i], content)
	}
	if int64(len(content)) > limit {
		return nil, errTooLarge
	}
	return content, nil
}

// keep remembers an object for what is made of it.
func (p *pack) keep(number int32, content []byte) {
	if p.entries[number].child == none || int64(len(content)) > p.limits.object/4 {
		return
	}
	if p.cached += int64(len(content)); p.cached > p.limits.object {
		clear(p.cache)
		p.cached = int64(len(content))
	}
	p.cache[number] = content
}

func (p *pack) commits(prefix string) ([]plumbing.Hash, error) {
	var found []plumbing.Hash
	for _, i := range p.byHash {
		if e := p.entries[i]; e.kind == plumbing.CommitObject && strings.HasPrefix(e.hash.String(), prefix) {
			found = append(found, e.hash)
		}
	}
	return slices.Compact(found), nil
}

// contextReader fails when its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(b)
}

// contextWriter fails when its context has ended.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c contextWriter) Write(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.w.Write(b)
}
