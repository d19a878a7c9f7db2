package rollout

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fixed is a small scenario without chance in its shape: two steps of two, and two groups of
// deletions, all of it there and at rest.
func fixed(seed uint64) *scenario {
	sc := &scenario{w: newWorld(seed)}
	w := sc.w
	sc.opt = deskOptions()
	sc.opt.Deadline = simStart.Add(time.Hour)
	sc.limit = sc.opt.Deadline.Add(slack)
	sc.plan = planOf("a b", "c d")
	sc.plan.Removals = [][]string{{"x"}, {"y"}}
	w.branches[mainBranch] = []commit{{sha: sha(2), touches: map[string]bool{}}, {sha: pinned, touches: map[string]bool{"a": true, "b": true, "c": true, "d": true}}}
	for i, name := range []string{"a", "b", "c", "d", "x", "y"} {
		a := &simApp{name: name, sources: []Source{mainBranch}, nature: nature{opTime: time.Second, progress: 3 * time.Second, limit: 5}}
		w.check.srcs[name] = "new"
		w.add(a)
		w.undeploy(a)
		w.rest(a, "old", "old", []string{sha(2)})
		if i == 0 {
			a.auto, a.hash = true, "old+auto"
		}
	}
	return sc
}

// fixedWithHeld is the fixed scenario with an Application that is held back.
func fixedWithHeld() *scenario {
	sc := fixed(1)
	h := &simApp{name: "h", sources: []Source{mainBranch}, nature: nature{opTime: time.Second, limit: 5}}
	sc.w.add(h)
	sc.w.undeploy(h)
	sc.w.rest(h, "old+auto", "old", []string{pinned})
	h.auto, sc.plan.Held = true, []string{"h"}
	return sc
}

// run lets the scenario happen and returns what the checker has found.
func (sc *scenario) run(t rapid.TB) string {
	sc.w.start(sc.plan, sc.opt, sc.config)
	if sc.planted != nil {
		sc.planted()
	}
	sc.drive(t, endless)
	o := sc.w.session.engine.outcome()
	sc.w.check.over(o)
	for _, f := range o.Failures {
		sc.w.check.fail("%s has failed: %s", f.App, f.Kind)
	}
	for target, n := range sc.w.check.ops {
		if n > 1 {
			sc.w.check.fail("%s was synced %d times", target, n)
		}
	}
	return strings.Join(sc.w.check.problems, "\n")
}

func (sc *scenario) app(name string) *app { return sc.w.session.engine.apps[name] }

// always does f to the engine, again and again.
func (sc *scenario) always(f func(e *engine)) {
	sc.w.every(10*time.Millisecond, func() bool {
		if s := sc.w.session; s != nil {
			f(s.engine)
		}
		return true
	})
}

// lie tells the engine something else of an Application than what is true.
func (sc *scenario) lie(name string, what func(l *Live)) {
	sc.config = func(s *session) {
		s.sees = func(l *Live) *Live {
			if l.Name != name {
				return l
			}
			other := *l
			what(&other)
			return &other
		}
	}
}

// again runs the plan once more, and plants the mistake only then.
func (sc *scenario) again(t *testing.T, plant func(*scenario)) string {
	if found := sc.run(t); found != "" {
		t.Fatalf("the first run: %s", found)
	}
	sc.w.session = nil
	sc.w.idle(time.Minute)
	sc.until(time.Hour)
	plant(sc)
	return sc.run(t)
}

func TestTheCheckerFindsNothingWhereNothingIsWrong(t *testing.T) {
	for seed := range uint64(20) {
		sc := fixed(seed)
		if found := sc.run(t); found != "" || !sc.w.session.engine.outcome().OK() {
			t.Fatalf("%s\n%s", found, sc.story())
		}
	}
}

// TestTheCheckerFindsPlantedMistakes plants each mistake between engine and checker: the engine is
// made to act on other facts, or an action is changed on its way.
func TestTheCheckerFindsPlantedMistakes(t *testing.T) {
	engine := func(sc *scenario) *engine { return sc.w.session.engine }
	twist := func(f func(sc *scenario, a *Action) bool) func(*scenario) {
		return func(sc *scenario) {
			sc.config = func(s *session) { s.twist = func(a *Action) bool { return f(sc, a) } }
		}
	}
	for name, c := range map[string]struct {
		plant func(*scenario)
		want  string
	}{
		"all steps begin at once": {func(sc *scenario) {
			sc.planted = func() {
				e := engine(sc)
				e.steps[0], e.steps[1] = append(e.steps[0], e.steps[1]...), nil
			}
		}, "not at its target before"},
		"the limit is ignored": {func(sc *scenario) {
			sc.plan.Steps[0].Limit = 1
			sc.planted = func() { engine(sc).plan.Steps = planOf("a b", "c d").Steps }
		}, "in flight, the limit is 1"},
		"min_healthy is ignored": {func(sc *scenario) {
			sc.w.apps["a"].nature.blip, sc.w.apps["a"].nature.blipAfter = 4*time.Second, 100*time.Millisecond
			sc.planted = func() { engine(sc).opt.MinHealthy = time.Nanosecond }
		}, "was not healthy for 5s"},
		"the old status counts as proof": {func(sc *scenario) {
			sc.planted = func() {
				for _, d := range sc.plan.Apps {
					engine(sc).apps[d.Name].state = done
				}
				engine(sc).left = 0
				engine(sc).opened = true
				engine(sc).stage = stepping
			}
		}, "counts as done"},
		"one Application gets another revision": {twist(func(_ *scenario, a *Action) bool {
			if a.App == "b" && a.Sync != nil {
				a.Sync.Revisions = []string{sha(2)}
			}
			return true
		}), "another got"},
		"a write on an outdated version": {twist(func(_ *scenario, a *Action) bool {
			if a.Verb == Write && a.App == "c" {
				a.Version = "1"
			}
			return true
		}), "not on the newest known"},
		"automated sync is switched off though the plan leaves it on": {func(sc *scenario) {
			sc.plan.DisableAutomated = false
			sc.planted = func() { engine(sc).plan.DisableAutomated = true }
		}, "a: automated sync switched off at a wrong time"},
		"a write over a running operation": {func(sc *scenario) {
			sc.w.apps["b"].occupied()
			sc.lie("b", func(l *Live) {
				if l.Operation.Token == "?" {
					l.Operation = Operation{Token: "?", Phase: Succeeded, Started: "t"}
				}
			})
		}, "b: written over a running operation"},
		"an operation is left running": {func(sc *scenario) {
			sc.w.apps["a"].nature.stuck = true
			sc.opt.AppTimeout = 10 * time.Second
			twist(func(_ *scenario, a *Action) bool { return a.Verb != Terminate })(sc)
		}, "is left running"},
		"a write after a failure": {func(sc *scenario) {
			sc.w.apps["a"].nature.stuck, sc.w.apps["b"].nature.stuck = true, true
			sc.opt.AppTimeout = 10 * time.Second
			sc.planted = func() { engine(sc).opt.MaxFailures = 2 }
		}, "c written after the run was halted"},
		"a deletion without a refresh": {twist(func(_ *scenario, a *Action) bool {
			if a.Verb == PrepareDelete {
				a.Verb, a.UID = Delete, "uid-5"
			}
			return true
		}), "deleted without an answered refresh"},
		"a deletion of another UID": {twist(func(_ *scenario, a *Action) bool {
			if a.Verb == Delete {
				a.UID = "another"
			}
			return true
		}), "deleted by a UID that was not seen"},
		"groups of deletions at once": {func(sc *scenario) {
			sc.planted = func() { engine(sc).groups = [][]*app{append(engine(sc).groups[0], engine(sc).groups[1]...)} }
		}, "of an earlier group is there"},
		"deletions before the rollout": {func(sc *scenario) {
			sc.planted = func() { engine(sc).steps = nil }
		}, "not at its target before x was deleted"},
		"a deletion right after an operation": {func(sc *scenario) {
			sc.plan.Steps, sc.plan.Apps = nil, nil
			x := sc.w.apps["x"]
			x.occupied()
			sc.w.every(10*time.Millisecond, func() bool { // it ends as soon as its comparison has been answered
				answered := sc.w.check.asked["x"] != "" && x.refresh == ""
				if answered {
					sc.w.end(x, x.state, Succeeded, "")
				}
				return !answered
			})
			sc.lie("x", func(l *Live) { // it has ended long ago, and nothing is answered before it has
				if l.Operation.Active() {
					l.RefreshID = "?"
				}
				l.Operation, l.Ended, l.Deployed = Operation{Token: "?", Phase: Succeeded, Started: "t"}, time.Time{}, Deployed{}
			})
		}, "after an operation"},
		"a success that is none": {func(sc *scenario) {
			sc.w.after(20*time.Second, func() { sc.w.setTruth(sc.w.apps["a"], deployed{"other", Healthy}) })
			sc.w.apps["d"].nature.progress = 30 * time.Second
		}, "the run has succeeded, but a is not at its target"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := fixed(1)
			c.plant(sc)
			if found := sc.run(t); !strings.Contains(found, c.want) {
				t.Fatalf("not found; found is only:\n%s\n%s", found, sc.story())
			}
		})
	}
}

// occupied: an operation of somebody else runs, and does not end.
func (a *simApp) occupied() {
	a.state = &simOp{token: "?", phase: Running, started: "t", revisions: []string{pinned}}
	a.pending = a.state
}

// every does f again and again while it returns true.
func (w *world) every(d time.Duration, f func() bool) {
	w.after(d, func() {
		if f() {
			w.every(d, f)
		}
	})
}
