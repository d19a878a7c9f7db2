package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// session is one run: an engine, and what the client between it and the API server knows.
type session struct {
	engine *engine
	store  map[string]*Live
	listed bool
	// failRequests refuses actions.
	failRequests func(Action) (hopeless bool, err error)
	// twist plants mistakes: it changes an action on its way, or swallows it.
	twist func(*Action) bool
	// sees plants mistakes: it changes what the engine is told.
	sees func(*Live) *Live
	// ambiguous lets some accepted writes look like conflicts, as after a repeated request.
	ambiguous int
	deaf      int // percentage of requests that Argo CD overlooks at first
	chaos     int // percentage of repeated and outdated events
}

// emit sends an event to the session of the moment: in order for each Application, in any order
// across them.
func (w *world) emit(a *simApp, ev Event) {
	s := w.session
	if s == nil {
		return
	}
	at := w.now.Add(w.between(time.Millisecond, 100*time.Millisecond))
	if at.Before(w.interrupted) {
		at = w.interrupted
	}
	if at.Before(a.deliver) {
		at = a.deliver
	}
	a.deliver = at
	w.after(at.Sub(w.now), func() { w.arrive(s, a, ev) })
}

// interrupt is a watch that is lost for a while: then it tells what has happened meanwhile.
func (w *world) interrupt(d time.Duration) {
	s := w.session
	if s == nil || !s.listed {
		return
	}
	if until := w.now.Add(d); until.After(w.interrupted) {
		w.interrupted = until
	}
	w.after(w.between(time.Millisecond, 50*time.Millisecond), func() { w.watching(s, Event{Away: true}) })
	w.after(w.interrupted.Sub(w.now)+w.between(50*time.Millisecond, 100*time.Millisecond), func() {
		if w.now.After(w.interrupted) {
			w.watching(s, Event{Listed: true})
		}
	})
}

// watching tells the session of the moment something about its watch.
func (w *world) watching(s *session, ev Event) {
	if w.session == s && !s.engine.over {
		w.observe(s, ev)
	}
}

func (w *world) arrive(s *session, a *simApp, ev Event) {
	if w.session != s {
		return
	}
	if !s.listed { // the list comes first
		w.after(time.Millisecond, func() { w.arrive(s, a, ev) })
		return
	}
	if ev.Live == nil {
		if l := s.store[a.name]; l != nil && l.UID == ev.UID {
			delete(s.store, a.name)
		}
		w.observe(s, ev)
		return
	}
	if ev.Live.Rank != a.version && w.now.Equal(w.interrupted) {
		return // a watch that was interrupted tells the latest state only
	}
	old := s.store[a.name]
	if old == nil || old.UID != ev.Live.UID || ev.Live.Rank >= old.Rank {
		s.store[a.name] = ev.Live
		w.observe(s, ev)
		if old != nil && w.chance(s.chaos) {
			w.observe(s, Event{Name: a.name, Live: old})
		}
	}
	if w.chance(s.chaos) {
		w.observe(s, ev)
	}
}

func (w *world) observe(s *session, ev Event) {
	w.check.told(ev.Name, ev.Live, ev.UID)
	if s.sees != nil && ev.Live != nil {
		ev.Live = s.sees(ev.Live)
	}
	s.engine.observe(w.now, ev)
	w.acted(s)
}

// start begins a run with a fresh list.
func (w *world) start(plan Plan, opt Options, configure func(*session)) *session {
	s := &session{store: map[string]*Live{}}
	if configure != nil {
		configure(s)
	}
	opt.NewID = func() string {
		w.seq++
		return fmt.Sprintf("id-%d", w.seq)
	}
	if !w.counted {
		w.counted = true
		histories.Add(1)
	}
	w.session, w.interrupted = s, w.now
	s.engine = newEngine(plan, opt, w.now)
	w.check.newRun(s, plan, opt)
	var events []Event
	for _, name := range w.names {
		if a := w.apps[name]; a.exists {
			events = append(events, Event{Name: name, Live: a.live()})
		}
	}
	w.after(w.between(time.Millisecond, 50*time.Millisecond), func() {
		if w.session != s {
			return
		}
		for _, ev := range events {
			s.store[ev.Name] = ev.Live
			w.observe(s, ev)
		}
		s.listed = true
		w.observe(s, Event{Listed: true})
	})
	w.acted(s)
	return s
}

// acted sends what the engine wants done, and looks at what it has concluded.
func (w *world) acted(s *session) {
	for _, action := range s.engine.takeActions() {
		w.requests[string(action.Verb)]++
		if s.twist != nil && !s.twist(&action) {
			w.after(time.Millisecond, func() { w.answer(s, Result{Action: action}) })
			continue
		}
		w.check.sent(action)
		known, spec := s.store[action.App], w.check.spec(action.App)
		w.after(w.between(time.Millisecond, 60*time.Millisecond), func() {
			result := w.do(s, action, known, spec)
			w.after(w.between(time.Millisecond, 80*time.Millisecond), func() { w.answer(s, result) })
		})
	}
	w.check.look()
}

func (w *world) answer(s *session, r Result) {
	if w.session != s || s.engine.over {
		return
	}
	w.check.answered(r)
	if r.Live != nil {
		if old := s.store[r.Action.App]; old == nil || old.Rank < r.Live.Rank {
			s.store[r.Action.App] = r.Live
		}
		w.check.told(r.Action.App, r.Live, "")
	}
	if l := w.check.seen[r.Action.App]; r.NotFound && l != nil && (l.Version == r.Action.Version || l.UID == r.Action.UID) {
		w.check.told(r.Action.App, nil, l.UID)
	}
	if s.sees != nil && r.Live != nil {
		r.Live = s.sees(r.Live)
	}
	s.engine.result(w.now, r)
	w.acted(s)
}

var errForbidden = errors.New("applications.argoproj.io is forbidden")

// spec is what a request writes, as its run knew it.
type spec struct {
	hash, src string
	sources   []Source
}

func (c *checker) spec(name string) spec {
	if want := c.wants[name]; want != nil {
		return spec{want.Hash, c.srcs[name], want.Sources}
	}
	return spec{}
}

// do is the client and the API server: every request is guarded by the version known.
func (w *world) do(s *session, action Action, known *Live, to spec) Result {
	r := Result{Action: action}
	a := w.apps[action.App]
	w.deaf = w.chance(s.deaf)
	defer func() { w.deaf = false }()
	if s.failRequests != nil {
		if r.Hopeless, r.Err = s.failRequests(action); r.Err != nil {
			return r
		}
	}
	if action.Verb == Write && action.Version == "" {
		if a.exists {
			r.Conflict = true
			return r
		}
		w.create(a)
		w.write(a, action, to)
		return w.accepted(s, r, a)
	}
	switch {
	case known == nil || !a.exists || action.Verb == Delete && action.UID != a.uid:
		r.NotFound = true
		return r
	case action.Version != "" && action.Version != known.Version:
		r.Conflict, r.Live = true, known
		return r
	case known.Rank != a.version:
		r.Conflict = true
		return r
	}
	switch action.Verb {
	case DisableAutomated:
		if a.auto {
			a.auto, a.hash = false, strings.TrimSuffix(a.hash, "+auto")
		}
	case Write:
		if a.pending != nil {
			r.Conflict = true
			return r
		}
		w.write(a, action, to)
	case Mark:
		a.step = action.StepLabel
	case Refresh:
		a.refresh = action.RefreshID
	case PrepareDelete:
		a.refresh = action.RefreshID
		if a.auto {
			a.auto, a.hash = false, strings.TrimSuffix(a.hash, "+auto")
		}
	case Terminate:
		w.terminate(a, action.Token)
	case Delete:
		if a.terminating {
			return r
		}
		a.terminating = true
		w.touch(a)
		return r
	}
	w.touch(a)
	r.Live = a.live()
	return w.accepted(s, r, a)
}

// accepted lets an answer get lost now and then: the client asks again and meets a conflict.
func (w *world) accepted(s *session, r Result, a *simApp) Result {
	if r.Action.Verb == Write {
		w.check.wrote(a, r.Action)
	}
	if w.chance(s.ambiguous) {
		return Result{Action: r.Action, Conflict: true}
	}
	r.Live = a.live()
	return r
}

// write replaces the spec, and starts the operation in the same request.
func (w *world) write(a *simApp, action Action, to spec) {
	a.hash, a.src = to.hash, to.src
	a.sources, a.auto = to.sources, strings.HasSuffix(to.hash, "+auto")
	a.step, a.manualAfter = action.StepLabel, action.ManualAfter
	if action.Sync != nil {
		a.state = nil
		a.pending = &simOp{
			token: action.Sync.Token, target: action.Sync.Target, revisions: slices.Clone(action.Sync.Revisions), src: a.src,
		}
	}
	if action.Version == "" {
		w.touch(a)
	}
}

// terminate is what the client does: a running operation is told to end, one that has not begun
// is withdrawn, any other than the one meant is left alone.
func (w *world) terminate(a *simApp, token string) {
	if token == "" {
		token = "?"
	}
	switch {
	case a.state != nil && !a.state.ended:
		if a.state.token == token && a.state.phase == Running {
			a.state.phase = Terminating
		}
	case a.pending != nil && a.pending.token == token:
		a.pending = nil
	}
}
