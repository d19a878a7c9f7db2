package rollout

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// world is a simulated cluster with Argo CD in it, on a clock of its own. It is as asynchronous
// as the real one: every request, answer, event and comparison takes a random time.
type world struct {
	now   time.Time
	rng   *rand.Rand
	skew  time.Duration // of Argo CD's clock
	queue simQueue
	seq   int
	rank  uint64
	apps  map[string]*simApp
	names []string
	// branches are the commits that each mutable Source can mean, the last one is HEAD.
	branches map[Source][]commit
	session  *session
	check    *checker
	// interrupted holds the watch back until then; what happens meanwhile is seen as one change.
	interrupted time.Time
	deaf        bool
	counted     bool // as a history
	requests    map[string]int
}

type commit struct {
	sha string
	// touches are the Applications whose manifests the commit changes.
	touches map[string]bool
	broken  bool
}

// simOp is an operation asked for, running or ended.
type simOp struct {
	token, target string
	revisions     []string
	src           string
	partial       bool
	phase, said   string
	failure       string
	retries       int
	blocked       bool
	started       string
	incomplete    []string
	ended         bool
}

type simEntry struct {
	id        int64
	revisions []string
	src       string
	target    string
	at        time.Time
}

// deployed is what really is in the destination cluster.
type deployed struct {
	content string
	health  string
}

type healthSpan struct {
	from   time.Time
	health string
}

// simApp is one Application, its status, and the truth behind it.
type simApp struct {
	name, uid   string
	exists      bool
	terminating bool
	version     uint64

	hash, src   string
	sources     []Source
	auto, skip  bool
	step        string
	manualAfter int64
	refresh     string

	pending, state *simOp
	history        []simEntry
	lastID         int64

	status    string
	compared  []string
	ofSrc     string
	health    string
	errors    []Condition
	attempted string // by automated sync

	truth    deployed
	spans    []healthSpan
	cache    deployed // as Argo CD's cluster cache knows it
	opEnded  time.Time
	looked   time.Time     // when it was compared last
	skew     time.Duration // of Argo CD's clock
	comparer comparer
	nature   nature
	starting bool
	ending   bool
	killing  bool
	deliver  time.Time // of the latest event
}

type simEvent struct {
	at  time.Time
	seq int
	f   func()
}

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].seq < q[j].seq
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// after does f when d has passed.
func (w *world) after(d time.Duration, f func()) {
	w.seq++
	heap.Push(&w.queue, simEvent{w.now.Add(d), w.seq, f})
}

// between is a random time.
func (w *world) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)+1))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// step lets the next thing happen; false when nothing is to happen until then.
func (w *world) step(until time.Time) bool {
	if len(w.queue) == 0 || w.queue[0].at.After(until) {
		return false
	}
	ev := heap.Pop(&w.queue).(simEvent)
	w.now = ev.at
	ev.f()
	return true
}

func (w *world) add(a *simApp) {
	a.skew = w.skew
	w.apps[a.name] = a
	w.names = append(w.names, a.name)
	slices.Sort(w.names)
}

func sha(i int) string { return fmt.Sprintf("%040x", i) }

// head is what the sources mean now.
func (w *world) head(sources []Source) []string {
	out := make([]string, len(sources))
	for i, s := range sources {
		out[i] = s.TargetRevision
		if b := w.branches[s]; len(b) > 0 {
			out[i] = b[len(b)-1].sha
		}
	}
	return out
}

// content is what an Application's manifests are at these revisions.
func (w *world) content(a *simApp, src string, revisions []string) string {
	if a.nature.hooksOnly {
		return ""
	}
	parts := []string{src}
	for i, s := range a.sources {
		part := revisions[i]
		for _, c := range w.branches[s] {
			if c.touches[a.name] {
				part = c.sha
			}
			if c.sha == revisions[i] {
				break
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "|")
}

func (w *world) broken(a *simApp, revisions []string) bool {
	for i, s := range a.sources {
		for _, c := range w.branches[s] {
			if c.sha == revisions[i] && c.broken {
				return true
			}
		}
	}
	return false
}

// live is what Facts would say.
func (a *simApp) live() *Live {
	l := &Live{
		Name: a.name, UID: a.uid, Version: fmt.Sprint(a.version), Rank: a.version, Hash: a.hash, StepLabel: a.step,
		Sources: a.sources, AutomatedOn: a.auto, Terminating: a.terminating, SkipReconcile: a.skip,
		Sync:   Comparison{Status: a.status, Revisions: a.compared, OfSpec: a.ofSrc == a.src && a.status != ""},
		Health: Condition{Type: a.health}, Errors: a.errors, RefreshID: a.refresh, ManualAfter: a.manualAfter,
		Finalizers: []string{"resources-finalizer.argocd.argoproj.io"}, Compared: a.looked.Add(a.skew).Truncate(time.Second), Prepared: !a.auto,
	}
	if p := a.pending; p != nil {
		l.Operation.Pending, l.Operation.PendingTarget, l.Operation.PendingRevisions = p.token, p.target, p.revisions
	}
	if s := a.state; s != nil {
		if s.ended {
			l.Ended = a.opEnded.Add(a.skew).Truncate(time.Second)
		}
		o := &l.Operation
		o.Token, o.Target, o.Phase, o.Message, o.Revisions = s.token, s.target, s.phase, s.said, s.revisions
		o.Retries, o.Blocked, o.Started, o.Incomplete, o.Failure = s.retries, s.blocked, s.started, s.incomplete, s.failure
	}
	if n := len(a.history); n > 0 {
		h := a.history[n-1]
		l.Deployed = Deployed{ID: h.id, Revisions: h.revisions, OfSpec: h.src == a.src, Target: h.target}
	}
	return l
}

// running tells whether an operation is asked for or has not ended.
func (a *simApp) running() bool {
	return a.pending != nil || a.state != nil && !a.state.ended
}

// touch stores a change: a new version, an event for everybody, and work for the controller.
func (w *world) touch(a *simApp) {
	w.rank++
	a.version = w.rank
	w.emit(a, Event{Name: a.name, Live: a.live()})
	if w.deaf {
		// Argo CD overlooks what arrives while it writes itself; the client touches what is silent.
		w.after(w.between(2*time.Second, 2500*time.Millisecond), func() { w.kick(a) })
		return
	}
	w.kick(a)
}

// remove takes the object away.
func (w *world) remove(a *simApp) {
	w.rank++
	a.exists, a.terminating, a.pending, a.state = false, false, nil, nil
	w.emit(a, Event{Name: a.name, UID: a.uid})
}

// create makes the object anew.
func (w *world) create(a *simApp) {
	w.rank++
	*a = simApp{
		name: a.name, uid: fmt.Sprintf("uid-%d", w.rank), exists: true, sources: a.sources, truth: a.truth, spans: a.spans,
		cache: a.cache, nature: a.nature, deliver: a.deliver, opEnded: a.opEnded, skew: a.skew,
	}
}

// setTruth changes what is deployed, or its health; Argo CD's cache follows in batches of 100 ms.
func (w *world) setTruth(a *simApp, d deployed) {
	if d.health != a.truth.health || len(a.spans) == 0 {
		a.spans = append(a.spans, healthSpan{w.now, d.health})
	}
	a.truth = d
	next := w.now.Truncate(100 * time.Millisecond).Add(100 * time.Millisecond)
	w.after(next.Sub(w.now), func() {
		if a.cache != a.truth {
			a.cache = a.truth
			w.compare(a, false)
		}
	})
}

// healthyFor tells whether the truth was well from then until then, blips shorter than ignore aside.
func (a *simApp) healthyFor(well func(string) bool, from, to time.Time, ignore time.Duration) bool {
	return len(a.ill(well, from, to, ignore)) == 0
}

// period is a time in which an Application was not well.
type period struct{ from, to time.Time }

// ill are the times from then until then at which the truth was not well, those shorter than
// ignore aside.
func (a *simApp) ill(well func(string) bool, from, to time.Time, ignore time.Duration) []period {
	var out []period
	for i, s := range a.spans {
		end := to
		if i+1 < len(a.spans) {
			end = a.spans[i+1].from
		}
		start := s.from
		if start.Before(from) {
			start = from
		}
		if end.After(to) {
			end = to
		}
		if !well(s.health) && end.Sub(start) > ignore {
			out = append(out, period{start, end})
		}
	}
	return out
}

// lately tells whether the truth was well at any time from then until then.
func (a *simApp) lately(well func(string) bool, from, to time.Time) bool {
	for i, s := range a.spans {
		over := i+1 < len(a.spans) && a.spans[i+1].from.Before(from)
		if well(s.health) && !over && !s.from.After(to) {
			return true
		}
	}
	return false
}
