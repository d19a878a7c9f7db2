package rollout

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// move lets HEAD move while the run goes on. A broken HEAD must not matter once the revisions
// are known; when they will be asked for again, it is never broken.
func (sc *scenario) move(t *rapid.T, again bool) {
	known := len(sc.plan.Pins) > 0 && sc.plan.DisableAutomated && !again
	for range rapid.IntRange(1, 3).Draw(t, "commits") {
		s := Source{RepoURL: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "repository"), TargetRevision: "main"}
		broken := known && rapid.Bool().Draw(t, "broken")
		sc.w.after(sc.w.between(0, 20*time.Second), func() { sc.w.commit(s, broken) })
	}
}

// disturb is what others do without harm: changes of metadata, operations to what is deployed
// anyway, interruptions of the watch.
func (sc *scenario) disturb(t *rapid.T) {
	w := sc.w
	for range rapid.IntRange(1, 5).Draw(t, "disturbances") {
		a := w.apps[rapid.SampledFrom(w.names).Draw(t, "disturbed")]
		what := rapid.IntRange(0, 3).Draw(t, "disturbance")
		w.after(w.between(0, 20*time.Second), func() {
			switch {
			case what == 3:
				w.interrupt(w.between(time.Second, 3*time.Second))
			case !a.exists:
			case what == 0 || a.running() || a.terminating:
				w.touch(a)
			case what == 1:
				w.sync(a, a.live().deployedRevisions(), false)
			case what == 2 && a.refresh == "":
				a.refresh = "?"
				w.touch(a)
			}
		})
	}
}

// sync is an operation of somebody else.
func (w *world) sync(a *simApp, revisions []string, partial bool) {
	if len(revisions) != len(a.sources) || a.running() {
		return
	}
	src := a.src
	if n := len(a.history); n > 0 && !partial {
		src = a.history[n-1].src
	}
	a.pending = &simOp{token: "?", revisions: revisions, src: src, partial: partial}
	w.touch(a)
}

// person works on the manual steps: sometimes wrongly at first.
func (sc *scenario) person() {
	w := sc.w
	w.after(w.between(2*time.Second, 4*time.Second), sc.person)
	if w.session == nil {
		return
	}
	for _, d := range sc.plan.Apps {
		a := w.apps[d.Name]
		x := w.session.engine.apps[d.Name]
		if d.Mode != ModeManual || x.state != awaiting || a.running() || !a.exists {
			continue
		}
		revisions := w.session.engine.revisions(x)
		if h := a.live().Deployed; h.ID > a.manualAfter && h.OfSpec && join(h.Revisions) == join(revisions) {
			continue // has done it already
		}
		op := &simOp{token: "?", revisions: revisions, src: a.src}
		switch {
		case w.chance(20):
			op.partial = true
		case w.chance(20):
			op.revisions = nil
			for _, s := range a.sources {
				r := s.TargetRevision
				if b := w.branches[s]; len(b) > 0 {
					r = b[0].sha
				}
				op.revisions = append(op.revisions, r)
			}
		}
		a.pending = op
		w.touch(a)
	}
}

// automatic is somebody who switches automated sync on.
func (w *world) automatic(a *simApp) {
	if !a.auto {
		a.auto, a.hash, a.attempted = true, a.hash+"+auto", ""
		w.touch(a)
		w.compare(a, true)
	}
}

// story is everything known about a failed scenario.
func (sc *scenario) story() string {
	var b strings.Builder
	for _, p := range sc.w.check.problems {
		fmt.Fprintln(&b, "!", p)
	}
	e := sc.w.check.session.engine
	for _, n := range e.log {
		fmt.Fprintln(&b, n.At.Format("15:04:05.000"), n.String()[9:])
	}
	for _, f := range e.failures {
		fmt.Fprintf(&b, "failure %+v\n", f)
	}
	fmt.Fprintf(&b, "stage %d step %d flight %d left %d outstanding %d queue %d now %s\n", e.stage, e.step, e.flight, e.left, e.outstanding, len(e.queue), sc.w.now.Format("15:04:05.000"))
	for _, name := range sc.w.names {
		a, x := sc.w.apps[name], e.apps[name]
		if x == nil {
			continue
		}
		fmt.Fprintf(&b, "%s state %d %q busy %v want %+v\n  live %+v\n  truth %+v\n  nature %+v\n", name, x.state, x.reason, x.busy, x.want, brief(a.live()), a.truth, a.nature)
		for _, s := range a.spans {
			fmt.Fprintf(&b, "  %s since %s\n", s.health, s.from.Format("15:04:05.000"))
		}
	}
	for s, c := range sc.w.branches {
		fmt.Fprintln(&b, s, c)
	}
	return b.String()
}

// brief leaves out what is the same everywhere.
func brief(l *Live) string {
	text := fmt.Sprintf("%+v", *l)
	for _, s := range []string{"0000000000", ", Unfinished:[]", "Finalizers:[resources-finalizer.argocd.argoproj.io]", " Chart:"} {
		text = strings.ReplaceAll(text, s, "")
	}
	return text
}

// sabotage is what somebody else does to an Application at any time.
func (sc *scenario) sabotage(a *simApp, what int) {
	w := sc.w
	w.check.disturbed[a.name] = true
	if !a.exists {
		return
	}
	switch what {
	case 0:
		w.remove(a)
	case 1:
		w.remove(a)
		w.undeploy(a)
		w.create(a)
		a.hash, a.src = "foreign", "foreign"
		w.touch(a)
	case 2:
		a.terminating = true
		w.touch(a)
	case 3:
		if a.state != nil && a.state.phase == Running {
			a.state.phase = Terminating
			w.touch(a)
		}
	case 4:
		a.skip = true
		w.touch(a)
	case 5:
		a.hash = "foreign"
		w.touch(a)
	case 6:
		revisions := make([]string, len(a.sources))
		for i := range revisions {
			revisions[i] = sha(999)
		}
		w.sync(a, revisions, false)
	case 7:
		w.sync(a, w.head(a.sources), true)
	case 8:
		w.automatic(a)
	}
}
