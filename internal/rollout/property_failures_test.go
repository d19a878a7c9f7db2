package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// failing is one way in which an Application fails, and the kinds that may be reported.
type failing struct {
	name  string
	apply func(n *nature)
	kinds []Kind
	// unless is true of options under which it is no failure, or not before the deadline.
	unless func(o Options) bool
}

func never(Options) bool            { return false }
func waitsForPerson(o Options) bool { return o.Suspended == "" || o.Suspended == SuspendedWait }

// failings end every rollout that has to bring such an Application to its target.
var failings = []failing{
	{"every attempt fails", func(n *nature) { n.fails, n.retryAfter = 1000, 10*time.Second }, []Kind{KindSyncFailed}, func(o Options) bool { return o.AllRetries }},
	{"every attempt fails, of few", func(n *nature) { n.fails, n.limit, n.retryAfter = 1000, 3, 15*time.Second }, []Kind{KindSyncFailed}, never},
	{"the only attempt fails", func(n *nature) { n.fails, n.limit = 1000, 0 }, []Kind{KindSyncFailed}, never},
	{"it becomes Degraded", func(n *nature) { n.ends = Degraded }, []Kind{KindDegraded}, never},
	{"it stays Suspended", func(n *nature) { n.ends = Suspended }, []Kind{KindSuspended}, func(o Options) bool { return o.Suspended != SuspendedFail }},
	{"it stays Progressing", func(n *nature) { n.ends = Progressing }, []Kind{KindProgressing}, never},
	{"it stays OutOfSync", func(n *nature) { n.outOfSync = true }, []Kind{KindOutOfSync}, func(o Options) bool { return o.AcceptOutOfSync }},
	{"its spec is not valid", func(n *nature) { n.invalid = true }, []Kind{KindSyncFailed, KindInvalid}, never},
	{"its operation never ends", func(n *nature) { n.stuck = true }, []Kind{KindTimeout}, never},
	{"a sync window is closed", func(n *nature) { n.window = simStart.Add(1000 * time.Hour) }, []Kind{KindSyncWindow}, func(o Options) bool { return o.WaitForWindow }},
	{"the controller is down", func(n *nature) { n.silent = simStart.Add(1000 * time.Hour) }, []Kind{KindSilent}, never},
	{"its operations vanish", func(n *nature) { n.lose = 1000 }, []Kind{KindLost}, never},
}

// waitings are what is waited for until the deadline of the run, where the options say so.
var waitings = []failing{
	{"it stays Suspended", func(n *nature) { n.ends = Suspended }, []Kind{KindSuspended}, func(o Options) bool { return !waitsForPerson(o) }},
	{"a sync window is closed", func(n *nature) { n.window = simStart.Add(1000 * time.Hour) }, []Kind{KindSyncWindow}, func(o Options) bool { return !o.WaitForWindow }},
}

// victims makes up to so many Applications that we sync, and that are not at their target yet,
// fail in one of these ways.
func (sc *scenario) victims(t *rapid.T, upTo int, ways []failing) map[string]failing {
	found := map[string]failing{}
	ways = slices.DeleteFunc(slices.Clone(ways), func(f failing) bool { return f.unless(sc.opt) })
	if len(ways) == 0 {
		return found
	}
	var names []string
	for i := range sc.plan.Apps {
		if d := &sc.plan.Apps[i]; d.Mode == ModeSync && sc.w.apps[d.Name].hash != "target" {
			names = append(names, d.Name)
		}
	}
	for range upTo {
		if len(names) == len(found) {
			return found
		}
		a := sc.w.apps[rapid.SampledFrom(names).Filter(func(n string) bool { _, is := found[n]; return !is }).Draw(t, "victim")]
		f := rapid.SampledFrom(ways).Draw(t, "failing")
		a.nature.hooksOnly, sc.w.check.srcs[a.name] = false, "changed"
		f.apply(&a.nature)
		a.nature.shrugs = rapid.IntRange(0, 2).Draw(t, "shrugs")
		a.nature.errs = rapid.Bool().Draw(t, "errs")
		if f.name == "the controller is down" {
			sc.w.check.disturbed[a.name] = true // nobody ends its operation
		}
		found[a.name] = f
	}
	return found
}

func (sc *scenario) want(name string) *Desired {
	return &sc.plan.Apps[slices.IndexFunc(sc.plan.Apps, func(d Desired) bool { return d.Name == name })]
}

// named demands that every failure is of a victim, of its kind, and in its step.
func (sc *scenario) named(t *rapid.T, failures []Failure, victims map[string]failing, more ...Kind) {
	for _, f := range failures {
		v, is := victims[f.App]
		if !is || f.Step != sc.plan.Steps[sc.want(f.App).Step].Label {
			t.Fatalf("a failure of %s in %s, who is no victim there\n%s", f.App, f.Step, sc.story())
		}
		if !slices.Contains(append(more, v.kinds...), f.Kind) {
			t.Fatalf("%s, but the failure is %+v\n%s", v.name, f, sc.story())
		}
	}
}

func TestFailuresAreNamedAndOneTooManyEndsTheRunInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t, traits{
			removals: rapid.Bool().Draw(t, "with removals"), moving: rapid.Bool().Draw(t, "moving"),
			held: rapid.IntRange(0, 3).Draw(t, "with held ones") == 0,
		})
		victims := sc.victims(t, rapid.IntRange(1, 4).Draw(t, "victims"), failings)
		if len(victims) == 0 {
			return
		}
		interruptions := rapid.IntRange(0, 2).Draw(t, "interruptions")
		for name := range victims {
			if n := &sc.w.apps[name].nature; interruptions > 0 {
				n.naive = false // found at its target and healthy it is done, though it may turn bad in a moment
			}
		}
		var more []Kind
		sc.w.start(sc.plan, sc.opt, sc.config)
		for range interruptions {
			if sc.drive(t, rapid.IntRange(1, 150).Draw(t, "events")) {
				break
			}
			more = []Kind{KindOccupied, KindTimeout} // an operation of before the interruption is waited for
			sc.interrupt(t)
			sc.w.idle(200 * time.Millisecond) // a request to terminate that is under way arrives
			sc.until(100 * time.Hour)
			sc.w.start(sc.plan, sc.opt, sc.config)
		}
		sc.drive(t, endless)
		o := sc.w.session.engine.outcome()
		sc.w.check.over(o)
		sc.judge(t)
		sc.named(t, o.Failures, victims, more...)
		if o.OK() || o.Stop != StopNone {
			t.Fatalf("the run has succeeded, or stopped by %q\n%s", o.Stop, sc.story())
		}
		if allowed := sc.opt.MaxFailures; len(victims) > allowed {
			sc.stopped(t, o, allowed)
		} else {
			sc.wentOn(t, o, victims)
		}
		if n := sc.w.check.verbs[Delete] + sc.w.check.verbs[PrepareDelete]; n > 0 {
			t.Fatalf("something was deleted\n%s", sc.story())
		}
		sc.repaired(t, victims)
	})
}

// stopped: nothing after the step of the first failure too many was written.
func (sc *scenario) stopped(t *rapid.T, o Outcome, allowed int) {
	if len(o.Failures) <= allowed {
		t.Fatalf("the run has ended after %d failures, %d are allowed\n%s", len(o.Failures), allowed, sc.story())
	}
	last := sc.want(o.Failures[allowed].App).Step
	for _, other := range sc.plan.Apps {
		if (other.Step > last || other.Step == NoStep) && !sc.w.check.writes[other.Name].IsZero() {
			t.Fatalf("%s of a later step was written\n%s", other.Name, sc.story())
		}
	}
}

// wentOn: everything but the victims is done.
func (sc *scenario) wentOn(t *rapid.T, o Outcome, victims map[string]failing) {
	if len(o.Failures) != len(victims) || len(o.Done) != len(sc.plan.Apps)-len(victims) {
		t.Fatalf("%d of %d failures, %d of %d are done\n%s", len(o.Failures), len(victims), len(o.Done), len(sc.plan.Apps), sc.story())
	}
}

// repaired lets somebody repair what has failed; the next run must end well, and sync nothing again
// that was synced.
func (sc *scenario) repaired(t *rapid.T, victims map[string]failing) {
	w := sc.w
	w.session = nil
	for name := range victims {
		w.repair(w.apps[name])
	}
	w.idle(time.Minute)
	for name := range victims { // what an interrupted run has deployed turns bad in its own time
		if a := w.apps[name]; a.exists && a.truth.content != "" {
			w.setTruth(a, deployed{a.truth.content, Healthy})
		}
	}
	w.idle(time.Minute)
	sc.until(100 * time.Hour)
	w.start(sc.plan, sc.opt, sc.config)
	sc.drive(t, endless)
	sc.succeed(t)
	for _, d := range sc.plan.Apps {
		if _, is := victims[d.Name]; is || d.Mode != ModeSync {
			continue
		}
		sc.once(t, d.Name)
	}
}

// once demands that no target of this Application was synced twice.
func (sc *scenario) once(t *rapid.T, name string) {
	for target, n := range sc.w.check.ops {
		who, _, _ := strings.Cut(target, " ")
		if n > 1 && (name == "" || who == name) {
			t.Fatalf("%s was synced %d times\n%s", target, n, sc.story())
		}
	}
}

// repair takes everything away that makes an Application fail.
func (w *world) repair(a *simApp) {
	delete(w.check.disturbed, a.name)
	a.nature = nature{opTime: time.Second, limit: 5}
	if !a.exists {
		return
	}
	if a.truth.content != "" {
		w.setTruth(a, deployed{a.truth.content, Healthy})
	}
	if a.state != nil {
		a.state.incomplete = nil // pruned by hand, with a sync
	}
	if op := a.state; op != nil && !op.ended && op.phase == Running {
		w.attempt(a, op)
	}
	a.comparer = comparer{}
	w.touch(a)
	w.compare(a, true)
}

func TestWhatIsWaitedForFailsAtTheDeadlineAndNotBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t, traits{removals: rapid.Bool().Draw(t, "with removals"), moving: rapid.Bool().Draw(t, "moving")})
		victims := sc.victims(t, 1, waitings)
		if len(victims) == 0 {
			return
		}
		sc.until(time.Duration(rapid.IntRange(1, 48).Draw(t, "hours")) * time.Hour)
		sc.w.start(sc.plan, sc.opt, sc.config)
		sc.drive(t, endless)
		o := sc.w.session.engine.outcome()
		sc.w.check.over(o)
		sc.judge(t)
		sc.named(t, o.Failures, victims)
		if o.Stop != StopDeadline || len(o.Failures) != 1 || sc.w.now.Before(sc.opt.Deadline) {
			t.Fatalf("stopped by %q with %d failures\n%s", o.Stop, len(o.Failures), sc.story())
		}
	})
}
