package gitsource

import (
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// local is a repository on this machine. Its objects are read where they are.
type local struct {
	mu    sync.Mutex // go-git's storage is for one goroutine
	store *filesystem.Storage
}

func openLocal(path string) (*local, error) {
	path = filepath.FromSlash(path)
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, `\`)
	}
	repository, err := git.PlainOpenWithOptions(path, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fail(Missing, "there is no git repository at %s on this machine", path)
	}
	if err != nil {
		return nil, fail(Missing, "the git repository at %s on this machine cannot be opened: %s", path, OneLine(err.Error(), 200))
	}
	opened, ok := repository.Storer.(*filesystem.Storage)
	if !ok {
		return nil, fail(Other, "the git repository at %s on this machine cannot be read", path)
	}
	// Packs stay open, or each object would open one anew; what is large is not held in memory.
	const large = 1 << 20
	return &local{store: filesystem.NewStorageWithOptions(opened.Filesystem(), cache.NewObjectLRU(32*cache.MiByte),
		filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: large})}, nil
}

// references are those of the repository, as it would tell them to others.
func (l *local) references() (references, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := references{byName: map[string]plumbing.Hash{}, commits: map[string]plumbing.Hash{}}
	damaged := func(err error) error {
		return fail(Invalid, "its branches and tags cannot be read: %s", OneLine(err.Error(), 200))
	}
	all, err := l.store.IterReferences()
	if err != nil {
		return r, damaged(err)
	}
	err = all.ForEach(func(ref *plumbing.Reference) error {
		hash := ref.Hash()
		if ref.Type() == plumbing.SymbolicReference {
			target, err := storer.ResolveReference(l.store, ref.Name())
			if err != nil {
				return nil // it points nowhere, like the HEAD of a repository without commits
			}
			hash = target.Hash()
		}
		if ref.Name() == plumbing.HEAD {
			r.head = hash
			return nil
		}
		r.byName[ref.Name().String()] = hash
		return nil
	})
	if err != nil {
		return r, damaged(err)
	}
	if r.head.IsZero() && len(r.byName) == 0 {
		return r, fail(Revision, "it has no commits yet")
	}
	return r, nil
}

func (l *local) object(hash plumbing.Hash, limit int64) (_ plumbing.ObjectType, content []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	damaged := func(err error) error {
		return fail(Invalid, "its objects cannot be read: %s", OneLine(err.Error(), 200))
	}
	found, err := l.store.EncodedObject(plumbing.AnyObject, hash)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return plumbing.InvalidObject, nil, errAbsent
	case err != nil:
		return plumbing.InvalidObject, nil, damaged(err)
	case found.Size() > limit:
		return plumbing.InvalidObject, nil, errTooLarge
	}
	r, err := found.Reader()
	if err != nil {
		return plumbing.InvalidObject, nil, damaged(err)
	}
	content, err = io.ReadAll(io.LimitReader(r, limit+1))
	if e := r.Close(); err == nil {
		err = e
	}
	switch {
	case err != nil:
		return plumbing.InvalidObject, nil, damaged(err)
	case int64(len(content)) > limit:
		return plumbing.InvalidObject, nil, errTooLarge
	}
	return found.Type(), content, nil
}

func (l *local) commits(prefix string) ([]plumbing.Hash, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begin, err := hex.DecodeString(prefix[:len(prefix)/2*2])
	if err != nil {
		return nil, fail(Revision, "%q is no SHA", prefix)
	}
	candidates, err := l.store.HashesWithPrefix(begin)
	if err != nil {
		return nil, fail(Invalid, "its objects cannot be read: %s", OneLine(err.Error(), 200))
	}
	var found []plumbing.Hash
	for _, hash := range candidates {
		if _, err := l.store.EncodedObject(plumbing.CommitObject, hash); err == nil && strings.HasPrefix(hash.String(), prefix) {
			found = append(found, hash)
		}
	}
	plumbing.HashesSort(found)
	return slices.Compact(found), nil
}

func (l *local) close() error { return l.store.Close() }
