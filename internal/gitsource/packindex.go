package gitsource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// index reads the whole pack once, and then what deltas are made of.
func (p *pack) index(ctx context.Context) error {
	named, err := p.scan(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var f *failure
		if errors.As(err, &f) {
			return err
		}
		if ended(err) {
			return passing(Unreachable, "the connection ended in the middle of the objects")
		}
		return fail(Invalid, "the server sent damaged objects: %s", OneLine(err.Error(), 200))
	}
	if err := p.resolve(ctx, named); err != nil {
		return err
	}
	for i := range p.entries {
		if !p.entries[i].hash.IsZero() {
			p.byHash = append(p.byHash, int32(i))
		}
	}
	slices.SortFunc(p.byHash, func(a, b int32) int {
		return cmp.Or(bytes.Compare(p.entries[a].hash[:], p.entries[b].hash[:]), cmp.Compare(a, b))
	})
	return nil
}

// scan lists the entries. named are those whose base is named by its hash.
func (p *pack) scan(ctx context.Context) (named map[plumbing.Hash][]int32, err error) {
	_, count, err := p.scanner.Header()
	if err != nil {
		return nil, err
	}
	if int64(count) > int64(p.limits.objects) {
		return nil, fail(TooLarge, "it has %d objects, more than %d; name a branch or a tag, so that only the newest commit is fetched", count, p.limits.objects)
	}
	named = map[plumbing.Hash][]int32{}
	for range count {
		header, err := p.scanner.NextObjectHeader()
		if err != nil {
			return nil, err
		}
		e := entry{offset: header.Offset, length: header.Length, base: none, next: none, child: none, kind: header.Type}
		number := int32(len(p.entries))
		sink := io.Discard
		hasher := plumbing.NewHasher(header.Type, header.Length)
		switch header.Type {
		case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
			sink = hasher
		case plumbing.REFDeltaObject:
			e.base = elsewhere
			named[header.Reference] = append(named[header.Reference], number)
		case plumbing.OFSDeltaObject:
			if e.base = p.at(header.OffsetReference); e.base == none {
				return nil, errors.New("a delta of nothing")
			}
			e.next, p.entries[e.base].child = p.entries[e.base].child, number
		default:
			return nil, fmt.Errorf("an object of type %d", header.Type)
		}
		n, _, err := p.scanner.NextObject(contextWriter{ctx, sink})
		if err != nil {
			return nil, err
		}
		if n != header.Length {
			return nil, fmt.Errorf("an object of %d bytes instead of %d", n, header.Length)
		}
		if e.base == none {
			e.hash = hasher.Sum()
		}
		p.entries = append(p.entries, e)
	}
	_, err = p.scanner.Checksum()
	return named, err
}

// at is the entry that begins at an offset.
func (p *pack) at(offset int64) int32 {
	i := sort.Search(len(p.entries), func(i int) bool { return p.entries[i].offset >= offset })
	if i < len(p.entries) && p.entries[i].offset == offset {
		return int32(i)
	}
	return none
}

// resolve finds the hashes of deltas. Those of what is too large stay unknown: it cannot be read then.
func (p *pack) resolve(ctx context.Context, named map[plumbing.Hash][]int32) error {
	adopt := func(i int32) {
		for _, c := range named[p.entries[i].hash] {
			p.entries[c].base = i
			p.entries[c].next, p.entries[i].child = p.entries[i].child, c
		}
		delete(named, p.entries[i].hash)
	}
	for i := range p.entries {
		root := int32(i)
		if p.entries[i].base != none {
			continue
		}
		adopt(root)
		if p.entries[i].child == none || p.entries[i].length > p.limits.object {
			continue
		}
		content, err := p.stored(root, p.limits.object)
		if err != nil {
			return err
		}
		if err := p.descend(ctx, root, content, adopt); err != nil {
			return err
		}
	}
	return nil
}

// descend finds the hashes of everything that is, over any number of steps, a delta of root.
func (p *pack) descend(ctx context.Context, root int32, content []byte, adopt func(int32)) error {
	type level struct {
		content []byte
		child   int32
	}
	stack, held := []level{{content, p.entries[root].child}}, int64(len(content))
	kind := p.entries[root].kind
	for len(stack) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		top := &stack[len(stack)-1]
		current, base := top.child, top.content
		if top.child = p.entries[current].next; top.child == none {
			// What has no more children is not needed any more: chains hold two objects, not all.
			stack = stack[:len(stack)-1]
			held -= int64(len(base))
		}
		target, err := p.apply(current, base, p.limits.object)
		if errors.Is(err, errTooLarge) {
			continue
		}
		if err != nil {
			return err
		}
		e := &p.entries[current]
		e.kind, e.hash = kind, plumbing.ComputeHash(kind, target)
		adopt(current)
		if e.child == none {
			continue
		}
		if held += int64(len(target)); held > p.limits.held {
			return fail(TooLarge, "its objects are deltas of each other that take more than %d MiB", p.limits.held>>20)
		}
		stack = append(stack, level{target, e.child})
	}
	return nil
}
