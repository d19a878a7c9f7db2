package gitsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// Store fetches each revision of each repository once, and keeps it. It may be used by several
// goroutines.
type Store struct {
	limits limits
	sleep  func(context.Context, time.Duration) error

	mu     sync.Mutex
	closed bool
	known  map[question]*fetched
	open   []objects
}

// question is what was asked for. Other credentials make another question.
type question struct {
	repository Repository
	revision   string
}

// fetched is the answer to a question, or what becomes it.
type fetched struct {
	done chan struct{}
	tree *Tree
	err  error
}

// NewStore returns a Store with nothing in it.
func NewStore() *Store {
	return &Store{limits: defaultLimits(), sleep: sleep, known: map[question]*fetched{}}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Close frees everything that was fetched. Trees cannot be read any more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, o := range s.open {
		errs = append(errs, o.close())
	}
	s.open, s.known = nil, map[question]*fetched{}
	return errors.Join(errs...)
}

// Fetch is the tree of a revision: "" and HEAD are the default branch; otherwise it is a branch, a tag, a
// full name of a reference, a constraint on the versions that tags are, a commit, or at least 7 digits
// of one. What Fetch has answered before it answers again, errors as well, unless its context was
// cancelled. All errors are of the type *Error.
func (s *Store) Fetch(ctx context.Context, r Repository, revision string) (*Tree, error) {
	q := question{r, revision}
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, r.wrap(ctx, "the fetch", fail(Other, "everything is closed already"))
		}
		known, ok := s.known[q]
		if !ok {
			known = &fetched{done: make(chan struct{})}
			s.known[q] = known
		}
		s.mu.Unlock()
		if !ok {
			s.answer(ctx, q, known)
			return known.tree, known.err
		}
		select {
		case <-ctx.Done():
			return nil, r.wrap(ctx, "the fetch", ctx.Err())
		case <-known.done:
		}
		// Who asked first may have given up; who asks now has not.
		if known.err == nil || !errors.Is(known.err, context.Canceled) && !errors.Is(known.err, context.DeadlineExceeded) {
			return known.tree, known.err
		}
	}
}

func (s *Store) answer(ctx context.Context, q question, a *fetched) {
	defer close(a.done)
	a.tree, a.err = s.persist(ctx, q)
	if a.err != nil && ctx.Err() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.known[q] == a {
			delete(s.known, q)
		}
	}
}

// persist repeats what may pass.
func (s *Store) persist(ctx context.Context, q question) (*Tree, error) {
	for attempt, delay := 1, s.limits.delay; ; attempt, delay = attempt+1, 2*delay {
		tree, err := s.attempt(ctx, q.repository, q.revision)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.transient || attempt == s.limits.attempts {
			return tree, err
		}
		if s.sleep(ctx, delay) != nil {
			return nil, q.repository.wrap(ctx, "the fetch", ctx.Err())
		}
	}
}

// attempt fetches once.
func (s *Store) attempt(parent context.Context, r Repository, revision string) (*Tree, error) {
	ctx, cancel := context.WithTimeoutCause(parent, s.limits.fetch,
		fail(Unreachable, "it took more than %s", s.limits.fetch))
	defer cancel()
	doing := fmt.Sprintf("fetching revision %q", revision)
	if revision == "" {
		doing = "fetching the default branch"
	}
	o, commit, err := s.fetch(ctx, r, strings.TrimSpace(revision))
	if err != nil {
		return nil, r.wrap(parent, doing, err)
	}
	tree, err := s.read(ctx, o, commit)
	if err != nil {
		return nil, r.wrap(parent, doing, errors.Join(err, o.close()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, r.wrap(parent, doing, errors.Join(fail(Other, "everything is closed already"), o.close()))
	}
	s.open = append(s.open, o)
	return tree, nil
}

func (s *Store) read(ctx context.Context, o objects, hash plumbing.Hash) (*Tree, error) {
	commit, root, err := peel(o, hash, s.limits)
	if err != nil {
		return nil, err
	}
	return readTree(ctx, o, commit, root, s.limits)
}

// fetch finds the commit of a revision, and its objects.
func (s *Store) fetch(ctx context.Context, r Repository, revision string) (objects, plumbing.Hash, error) {
	p, err := parse(r.URL)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	if p.scheme == "file" {
		return s.fetchLocal(p.path, revision)
	}
	server, adv, err := s.greet(ctx, r, p)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	defer server.close()
	found := advertised(adv)
	meant, err := found.resolve(revision)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	hash := meant.hash
	if meant.prefix != "" {
		var all objects
		if hash, all, err = s.complete(ctx, server, adv, meant.prefix); err != nil || all != nil {
			return all, hash, err
		}
	}
	if gives(adv, found, hash) {
		o, err := s.order(ctx, server, adv, order{wants: []plumbing.Hash{hash}, shallow: true, filter: s.filter()})
		return o, hash, err
	}
	// The server gives only what has a name: the commit is somewhere below one.
	o, err := s.order(ctx, server, adv, order{wants: found.tips()})
	if err != nil {
		return nil, hash, err
	}
	if _, _, err := o.object(hash, s.limits.object); errors.Is(err, errAbsent) {
		return nil, hash, errors.Join(fail(Revision, "it has no commit %s", hash), o.close())
	}
	return o, hash, nil
}

// filter leaves out the files that would not be read anyway.
func (s *Store) filter() packp.Filter {
	return packp.FilterBlobLimit(uint64(s.limits.file)+1, packp.BlobLimitPrefixNone)
}

// gives tells that the server gives an object by its hash.
func gives(adv *packp.AdvRefs, r references, hash plumbing.Hash) bool {
	// A server that gives reachable commits gives all that we could find below its names.
	return r.isTip(hash) || adv.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		adv.Capabilities.Supports("allow-any-sha1-in-want")
}

// greet connects and asks for the references, for a part of the time only.
func (s *Store) greet(parent context.Context, r Repository, p place) (server, *packp.AdvRefs, error) {
	ctx, cancel := context.WithTimeoutCause(parent, s.limits.refs,
		fail(Unreachable, "the server did not tell its branches and tags within %s", s.limits.refs))
	defer cancel()
	var found server
	if p.scheme == "ssh" {
		found = &sshServer{repository: r, place: p, limits: s.limits}
	} else {
		h, err := newHTTPServer(ctx, r, p, s.limits)
		if err != nil {
			return nil, nil, err
		}
		found = h
	}
	adv, err := found.refs(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		found.close()
		return nil, nil, err
	}
	return found, adv, nil
}

// order fetches objects.
func (s *Store) order(ctx context.Context, from server, adv *packp.AdvRefs, o order) (objects, error) {
	request, err := o.encode(adv)
	if err != nil {
		return nil, fail(Invalid, "the server's own description cannot be understood: %s", OneLine(err.Error(), 200))
	}
	answer, err := from.pack(ctx, request)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	content, err := o.packOf(adv, answer)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	p, err := receive(ctx, content, s.limits)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// complete is the commit whose SHA begins with prefix. all are the objects of the whole repository, if
// they had to be fetched for that.
func (s *Store) complete(ctx context.Context, from server, adv *packp.AdvRefs, prefix string) (_ plumbing.Hash, all objects, err error) {
	found := advertised(adv)
	if tips := found.withPrefix(prefix); len(tips) == 1 {
		return tips[0], nil, nil
	}
	everything := order{wants: found.tips()}
	// Only commits, if the server can leave out the rest and gives the one that is found.
	onlyCommits := adv.Capabilities.Supports(capability.Filter) && adv.Capabilities.Supports(capability.AllowReachableSHA1InWant)
	if onlyCommits {
		everything.filter = packp.FilterTreeDepth(0)
	}
	o, err := s.order(ctx, from, adv, everything)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	hash, err := one(o, prefix)
	if err != nil {
		return hash, nil, errors.Join(err, o.close())
	}
	if onlyCommits {
		return hash, nil, o.close()
	}
	return hash, o, nil
}

// one is the only commit whose SHA begins with prefix.
func one(o objects, prefix string) (plumbing.Hash, error) {
	commits, err := o.commits(prefix)
	switch {
	case err != nil:
		return plumbing.ZeroHash, err
	case len(commits) == 0:
		return plumbing.ZeroHash, fail(Revision, "it has no branch, no tag and no commit %q", prefix)
	case len(commits) > 1:
		return plumbing.ZeroHash, fail(Revision, "%d of its commits begin with %q: write more digits", len(commits), prefix)
	}
	return commits[0], nil
}

func (s *Store) fetchLocal(path, revision string) (objects, plumbing.Hash, error) {
	l, err := openLocal(path)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	hash, err := l.find(revision)
	if err != nil {
		return nil, hash, errors.Join(err, l.close())
	}
	return l, hash, nil
}

// find is what a revision means.
func (l *local) find(revision string) (plumbing.Hash, error) {
	found, err := l.references()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	meant, err := found.resolve(revision)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if meant.prefix != "" {
		return one(l, meant.prefix)
	}
	if _, _, err := l.object(meant.hash, defaultLimits().object); errors.Is(err, errAbsent) {
		return meant.hash, fail(Revision, "it has no commit %s", meant.hash)
	}
	return meant.hash, nil
}
