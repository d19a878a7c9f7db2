package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk drives one engine by hand: a test says what is seen and how requests are answered, and
// looks at what the engine asks for.
type desk struct {
	t       *testing.T
	e       *engine
	now     time.Time
	lives   map[string]*Live
	rank    uint64
	pending []Action
}

const pinned = "1111111111111111111111111111111111111111"

var mainBranch = Source{RepoURL: "repo", TargetRevision: "main"}

func deskOptions() Options {
	n := 0
	return Options{
		Namespace: "argocd", AppTimeout: 10 * time.Minute, MinHealthy: 5 * time.Second, DegradedGrace: 30 * time.Second, ErrorGrace: 10 * time.Second,
		DeleteTimeout: 5 * time.Minute, NewID: func() string { n++; return fmt.Sprintf("id-%d", n) },
	}
}

// planOf is a plan of one step for each group of names, all synced at the pinned revision.
func planOf(groups ...string) Plan {
	p := Plan{NoStepLabel: NoStepLabel, DisableAutomated: true}
	for i, g := range groups {
		p.Steps = append(p.Steps, Step{Label: fmt.Sprintf("step %02d: x", i+1), Limit: -1})
		for _, name := range strings.Fields(g) {
			p.Apps = append(p.Apps, Desired{
				Name: name, Step: i, Mode: ModeSync, Hash: "new", Sources: []Source{mainBranch}, Revisions: []string{pinned},
			})
		}
	}
	slices.SortFunc(p.Apps, func(a, b Desired) int { return strings.Compare(a.Name, b.Name) })
	return p
}

func newDesk(t *testing.T, p Plan, opt Options) *desk {
	t.Helper()
	d := &desk{t: t, now: simStart, lives: map[string]*Live{}}
	d.e = newEngine(p, opt, d.now)
	return d
}

// old is an Application that was rolled out at another revision long ago.
func old(l *Live) {
	l.Hash, l.StepLabel, l.Sources = "old", "step 01: x", []Source{mainBranch}
	l.Sync = Comparison{Status: Synced, Revisions: []string{sha(2)}, OfSpec: true}
	l.Health = Condition{Type: Healthy}
	l.Deployed = Deployed{ID: 3, Revisions: []string{sha(2)}, OfSpec: true}
	l.Operation = Operation{Phase: Succeeded, Token: "earlier", Started: "t0", Revisions: []string{sha(2)}}
}

// there is an Application at its target: synced, healthy, and with our marks.
func there(l *Live) {
	old(l)
	l.Hash, l.Sync.Revisions, l.Deployed.Revisions, l.Operation.Revisions = "new", []string{pinned}, []string{pinned}, []string{pinned}
}

// see lets the engine see a change of an Application.
func (d *desk) see(name string, edits ...func(*Live)) {
	d.e.observe(d.now, Event{Name: name, Live: d.change(name, edits...)})
	d.collect()
}

func (d *desk) change(name string, edits ...func(*Live)) *Live {
	l := Live{Name: name, UID: "uid-" + name}
	if d.lives[name] != nil {
		l = *d.lives[name]
	}
	for _, edit := range edits {
		edit(&l)
	}
	d.rank++
	l.Rank, l.Version = d.rank, fmt.Sprint(d.rank)
	d.lives[name] = &l
	return &l
}

func (d *desk) vanish(name string) {
	uid := d.lives[name].UID
	delete(d.lives, name)
	d.e.observe(d.now, Event{Name: name, UID: uid})
	d.collect()
}

func (d *desk) listed() {
	d.e.observe(d.now, Event{Listed: true})
	d.collect()
}

func (d *desk) collect() { d.pending = append(d.pending, d.e.takeActions()...) }

// pass lets time go by; whatever the engine wants to be woken for happens.
func (d *desk) pass(by time.Duration) {
	until := d.now.Add(by)
	for {
		at, ok := d.e.nextWake()
		if !ok || at.After(until) {
			d.now = until
			return
		}
		if at.After(d.now) {
			d.now = at
		}
		d.e.tick(d.now)
		d.collect()
	}
}

// asked takes the only request of this Application, which must be of this kind.
func (d *desk) asked(name string, verb Verb) Action {
	d.t.Helper()
	for i, a := range d.pending {
		if a.App == name && a.Verb == verb {
			d.pending = slices.Delete(d.pending, i, i+1)
			return a
		}
	}
	d.t.Fatalf("no request to %s %s; pending are %v, the failures %v, the story:\n%s", verb, name, d.pending, d.e.failures, d.story())
	return Action{}
}

// quiet demands that nothing is asked for.
func (d *desk) quiet() {
	d.t.Helper()
	if len(d.pending) > 0 {
		d.t.Fatalf("unexpected requests %+v, the story:\n%s", d.pending, d.story())
	}
}

// accept answers a request as the API server would; edits are what it changes beyond that.
func (d *desk) accept(a Action, edits ...func(*Live)) {
	l := d.change(a.App, append([]func(*Live){func(l *Live) { d.apply(a, l) }}, edits...)...)
	d.answer(Result{Action: a, Live: l})
}

func (d *desk) apply(a Action, l *Live) {
	switch a.Verb {
	case DisableAutomated:
		l.AutomatedOn = false
	case Mark:
		l.StepLabel = a.StepLabel
	case Refresh, PrepareDelete:
		l.RefreshID = a.RefreshID
	case Terminate:
		if l.Operation.Phase == Running {
			l.Operation.Phase = Terminating
		} else {
			l.Operation.Pending = ""
		}
	case Write:
		want := d.e.apps[a.App].want
		l.Hash, l.Sources, l.StepLabel, l.ManualAfter = want.Hash, want.Sources, a.StepLabel, a.ManualAfter
		l.Sync.OfSpec, l.Deployed.OfSpec = false, false
		if a.Sync != nil {
			l.Operation = Operation{Pending: a.Sync.Token, PendingTarget: a.Sync.Target, PendingRevisions: a.Sync.Revisions}
		}
	}
}

func (d *desk) answer(r Result) {
	d.e.result(d.now, r)
	d.collect()
}

// unchangedTwice has what is wrong confirmed: for more than a grace it is as it is, and two refreshes say so.
func (d *desk) unchangedTwice(name string) {
	d.t.Helper()
	for range 2 {
		d.pass(11 * time.Second)
		d.accept(d.asked(name, Refresh))
		d.pass(time.Millisecond)
		d.answered(name)
	}
}

// answered lets Argo CD answer the refresh that is outstanding.
func (d *desk) answered(name string, edits ...func(*Live)) {
	d.see(name, append(edits, func(l *Live) { l.RefreshID = "" })...)
}

func running(l *Live) {
	l.Operation.Token, l.Operation.Phase, l.Operation.Started = l.Operation.Pending, Running, "t1"
	l.Operation.Target, l.Operation.Revisions = l.Operation.PendingTarget, l.Operation.PendingRevisions
}

func succeeded(l *Live) {
	running(l)
	l.Operation.Pending, l.Operation.Phase = "", Succeeded
	l.Deployed = Deployed{ID: l.Deployed.ID + 1, Revisions: l.Operation.Revisions, OfSpec: true, Target: l.Operation.Target}
}

func compared(status string, revisions ...string) func(*Live) {
	return func(l *Live) { l.Sync = Comparison{Status: status, Revisions: revisions, OfSpec: true} }
}

func health(h string) func(*Live) { return func(l *Live) { l.Health = Condition{Type: h} } }

func said(text string) func(*Live) { return func(l *Live) { l.Operation.Message = text } }

func failsWith(kind, text string) func(*Live) {
	return func(l *Live) { l.Errors = []Condition{{Type: kind, Message: text}} }
}

// sync carries one Application from its turn to an operation that runs.
func (d *desk) sync(name string) Action {
	d.t.Helper()
	w := d.asked(name, Write)
	d.accept(w)
	d.see(name, running)
	return w
}

// land carries it to its target, healthy.
func (d *desk) land(name string) {
	d.t.Helper()
	d.sync(name)
	d.see(name, succeeded)
	d.see(name, compared(Synced, pinned), health(Healthy))
}

// firstLanded is a rollout of two steps of one Application each, of which the first has just landed.
func firstLanded(t *testing.T, opt Options) *desk {
	t.Helper()
	d := newDesk(t, planOf("a", "b"), opt)
	d.see("a", old)
	d.see("b", old)
	d.listed()
	d.land("a")
	return d
}

func (d *desk) state(name string, want state) {
	d.t.Helper()
	if got := d.e.apps[name].state; got != want {
		d.t.Fatalf("%s is in state %d, not %d; failures %v; the story:\n%s", name, got, want, d.e.failures, d.story())
	}
}

// failed demands the one failure of the run.
func (d *desk) failed(name string, kind Kind, said string) {
	d.t.Helper()
	fs := d.e.failures
	if len(fs) != 1 || fs[0].App != name || fs[0].Kind != kind || !strings.Contains(fs[0].Said, said) {
		d.t.Fatalf("the failures are %+v, not %s of %s with %q; the story:\n%s", fs, kind, name, said, d.story())
	}
}

// unfailed demands that nothing has failed.
func (d *desk) unfailed() {
	d.t.Helper()
	if len(d.e.failures) > 0 {
		d.t.Fatalf("failures: %+v; the story:\n%s", d.e.failures, d.story())
	}
}

func (d *desk) over(ok bool) Outcome {
	d.t.Helper()
	o := d.e.outcome()
	if !d.e.over || o.OK() != ok {
		d.t.Fatalf("over %v, OK %v: %+v; the story:\n%s", d.e.over, o.OK(), o, d.story())
	}
	return o
}

func (d *desk) story() string {
	var b strings.Builder
	for _, n := range d.e.log {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

// attemptFailed: an attempt of the operation has failed, and another one will follow.
func attemptFailed(text string) func(*Live) {
	return func(l *Live) {
		l.Operation.Retries++
		l.Operation.Failure, l.Operation.Message = text, fmt.Sprintf("%s. Retrying attempt #%d", text, l.Operation.Retries)
	}
}

// retrying: the next attempt runs.
func retrying(l *Live) {
	l.Operation.Failure, l.Operation.Message = "", fmt.Sprintf("Retrying operation. Attempt #%d", l.Operation.Retries)
}
