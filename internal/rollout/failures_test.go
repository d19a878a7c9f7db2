package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func allowing(n int) Options {
	opt := deskOptions()
	opt.MaxFailures = n
	return opt
}

func failedWith(text string) func(*Live) {
	return func(l *Live) { l.Operation.Phase, l.Operation.Pending, l.Operation.Message = Failed, "", text }
}

// fail carries one Application from its turn to an operation that has failed.
func (d *desk) fail(name string) {
	d.t.Helper()
	d.sync(name)
	d.see(name, failedWith("boom"))
	d.state(name, failed)
}

// lost demands exactly these failures, in this order.
func (d *desk) lost(names string) {
	d.t.Helper()
	var got []string
	for _, f := range d.e.failures {
		got = append(got, f.App)
	}
	if strings.Join(got, " ") != names {
		d.t.Fatalf("failed are %v, not %s: %+v; the story:\n%s", got, names, d.e.failures, d.story())
	}
}

// unresolved takes the target revisions away: the run has to find them out.
func unresolved(p Plan) Plan {
	for i := range p.Apps {
		p.Apps[i].Revisions = nil
	}
	return p
}

func TestAllowedFailures(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"as many as allowed: the step is finished, the next one begins, and the run is no success": func(t *testing.T) {
			d := newDesk(t, planOf("a b bb", "c"), allowing(1))
			d.listed()
			d.fail("a")
			d.land("b")
			d.land("bb")
			d.quiet()
			d.pass(5 * time.Second)
			d.land("c")
			d.pass(5 * time.Second)
			d.lost("a")
			if o := d.over(false); !slices.Equal(o.Done, []string{"b", "bb", "c"}) || len(o.Open) != 1 || o.Open[0].Phase != PhaseFailed {
				t.Fatalf("outcome %+v", o)
			}
			if !strings.Contains(d.story(), "2 of 3 Applications are at their target, 1 failed, which max_failures allows") {
				t.Fatal(d.story())
			}
		},
		"one more than allowed: what is in flight ends, nothing new begins": func(t *testing.T) {
			d := newDesk(t, planOf("a b c d", "e"), allowing(1))
			d.e.plan.Steps[0].Limit = 3
			d.listed()
			d.sync("a")
			d.sync("b")
			d.sync("c")
			d.see("a", failedWith("boom"))
			d.sync("d")
			d.see("b", failedWith("boom"))
			d.lost("a b")
			d.see("c", succeeded)
			d.see("c", compared(Synced, pinned), health(Healthy))
			d.see("d", succeeded)
			d.see("d", compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.quiet()
			if o := d.over(false); !slices.Equal(o.Done, []string{"c", "d"}) {
				t.Fatalf("outcome %+v", o)
			}
		},
		"a failed one gives its slot to the next": func(t *testing.T) {
			p := planOf("a b c")
			p.Steps[0].Limit = 1
			d := newDesk(t, p, allowing(1))
			d.listed()
			d.fail("a")
			d.fail("b")
			d.quiet()
			d.lost("a b")
			d.over(false)
		},
		"failures of all steps count together": func(t *testing.T) {
			d := newDesk(t, planOf("a b", "c d", "e"), allowing(2))
			d.listed()
			d.fail("a")
			d.land("b")
			d.pass(5 * time.Second)
			d.fail("c")
			d.fail("d")
			d.lost("a c d")
			d.quiet()
			d.over(false)
		},
		"the operation of a failed one ends before the next step begins": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), allowing(1))
			d.listed()
			d.sync("a")
			d.see("a", attemptFailed("boom"))
			d.pass(10 * time.Second)
			d.accept(d.asked("a", Terminate))
			d.pass(5 * time.Second)
			d.quiet()
			d.see("a", failedWith("Operation terminated"))
			d.asked("b", Write)
			d.quiet()
		},
		"an operation that cannot be ended holds the next step back for 15 s, not for ever": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), allowing(1))
			d.listed()
			d.sync("a")
			d.see("a", attemptFailed("boom"))
			d.pass(10 * time.Second)
			d.accept(d.asked("a", Terminate))
			d.pass(terminateTimeout - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"a failed one does not count as unhealthy for the steps after it": func(t *testing.T) {
			d := newDesk(t, planOf("a b", "c"), allowing(1))
			d.listed()
			d.sync("a")
			d.see("a", succeeded)
			d.see("a", compared(Synced, pinned), health(Degraded))
			d.pass(30 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.land("b")
			d.answered("a")
			d.lost("a")
			d.pass(5 * time.Second)
			d.asked("c", Write)
		},
		"a leader that fails hands the question on, and those that wait go on": func(t *testing.T) {
			d := newDesk(t, unresolved(planOf("a b c")), allowing(1))
			d.listed()
			d.quietBut("a")
			d.answer(Result{Action: d.asked("a", Write), Err: errForbidden})
			d.lost("a")
			w := d.asked("b", Write)
			if w.Sync != nil {
				t.Fatalf("b is synced before its revision is known: %+v", w)
			}
			d.quiet()
			d.accept(w, compared(OutOfSync, pinned))
			d.see("b")
			for _, name := range []string{"b", "c"} {
				if w := d.asked(name, Write); w.Sync == nil || !slices.Equal(w.Sync.Revisions, []string{pinned}) {
					t.Fatalf("%s is written by %+v", name, w)
				}
			}
		},
		"leaders that fail one after the other, one too many": func(t *testing.T) {
			d := newDesk(t, unresolved(planOf("a b c")), allowing(1))
			d.listed()
			d.answer(Result{Action: d.asked("a", Write), Err: errForbidden})
			d.answer(Result{Action: d.asked("b", Write), Err: errForbidden})
			d.quiet()
			d.lost("a b")
			if o := d.over(false); len(o.Open) != 3 {
				t.Fatalf("outcome %+v", o)
			}
		},
		"a leader that fails where nothing may: those that wait stay as they are": func(t *testing.T) {
			d := newDesk(t, unresolved(planOf("a b c")), deskOptions())
			d.listed()
			d.answer(Result{Action: d.asked("a", Write), Err: errForbidden})
			d.quiet()
			d.over(false)
		},
		"failures among those of no step": func(t *testing.T) {
			p := planOf("a")
			for _, name := range []string{"b", "c"} {
				p.Apps = append(p.Apps, Desired{Name: name, Step: NoStep, Mode: ModeWrite, Hash: "new", Sources: []Source{mainBranch}})
			}
			p.Removals = [][]string{{"z"}}
			d := newDesk(t, p, allowing(1))
			d.see("z", old)
			d.listed()
			d.land("a")
			d.pass(5 * time.Second)
			d.answer(Result{Action: d.asked("b", Write), Err: errForbidden})
			d.accept(d.asked("c", Write))
			d.pass(time.Minute)
			d.quiet()
			d.lost("b")
			d.over(false)
		},
		"nothing is deleted, nor prepared for it, when anything has failed": func(t *testing.T) {
			p := planOf("a b")
			p.Removals = [][]string{{"z"}}
			d := newDesk(t, p, allowing(5))
			d.see("z", old)
			d.listed()
			d.fail("a")
			d.land("b")
			d.pass(time.Minute)
			d.quiet()
			if o := d.over(false); len(o.Open) != 2 {
				t.Fatalf("outcome %+v", o)
			}
		},
		"a deletion that fails stops the groups after it, whatever is allowed": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}, []string{"b"}), allowing(5))
			d.see("a", old, func(l *Live) { l.SkipReconcile = true })
			d.see("b", old)
			d.listed()
			d.pass(time.Minute)
			d.quiet()
			d.lost("a")
			d.over(false)
		},
		"what begins in the moment of the failure is not written": func(t *testing.T) {
			d := newDesk(t, planOf("a b c"), deskOptions())
			d.see("a", old)
			d.see("b", old, func(l *Live) { l.SkipReconcile = true })
			d.see("c", old)
			d.listed()
			d.quiet()
			d.failed("b", KindSkipReconcile, "")
			d.state("a", idle)
			d.over(false)
		},
		"a person is waited for until one more than allowed has failed": func(t *testing.T) {
			p := planOf("a b c")
			p.Apps[0].Mode = ModeManual
			d := newDesk(t, p, allowing(1))
			d.listed()
			d.accept(d.asked("a", Write))
			d.fail("b")
			d.pass(time.Minute)
			d.state("a", awaiting)
			d.see("c", func(l *Live) { *l = Live{Name: "c", UID: "uid-c"} })
			if d.e.over {
				t.Fatal("over although a person is waited for")
			}
		},
		"a write that is refused counts as one failure, a hopeless one ends everything": func(t *testing.T) {
			for _, hopeless := range []bool{false, true} {
				d := newDesk(t, planOf("a b c", "d"), allowing(2))
				d.e.plan.Steps[0].Limit = 2
				d.listed()
				d.answer(Result{Action: d.asked("a", Write), Err: errForbidden, Hopeless: hopeless})
				d.lost("a")
				if !hopeless {
					d.asked("c", Write)
					continue
				}
				d.land("b")
				d.pass(time.Minute)
				d.quiet()
				if o := d.over(false); !slices.Equal(o.Done, []string{"b"}) {
					t.Fatalf("outcome %+v", o)
				}
			}
		},
		"what cannot be switched off ends everything, whatever is allowed": func(t *testing.T) {
			d := newDesk(t, planOf("a b"), allowing(5))
			d.see("b", old, func(l *Live) { l.AutomatedOn = true })
			d.listed()
			d.answer(Result{Action: d.asked("b", DisableAutomated), Err: errForbidden})
			d.quiet()
			d.lost("b")
			d.over(false)
		},
		"what cannot be switched off within app_timeout ends everything as well": func(t *testing.T) {
			d := newDesk(t, planOf("a b"), allowing(5))
			d.see("b", old, automatedOn)
			d.listed()
			for range 600 {
				d.answer(Result{Action: d.asked("b", DisableAutomated), Conflict: true})
				d.pass(time.Second)
			}
			d.quiet()
			d.failed("b", KindTimeout, "again and again")
			d.over(false)
		},
		"an earlier step that turned bad ends everything, whatever is allowed": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps[0].Proven = true
			d := newDesk(t, p, allowing(5))
			d.see("a", there, health(Degraded))
			d.listed()
			d.pass(30 * time.Second)
			d.failed("a", KindUnhealthyEarlier, "")
			d.quiet()
			d.over(false)
		},
	} {
		t.Run(name, run)
	}
}

// quietBut demands that only this Application is asked for.
func (d *desk) quietBut(name string) {
	d.t.Helper()
	for _, a := range d.pending {
		if a.App != name {
			d.t.Fatalf("unexpected request %+v, the story:\n%s", a, d.story())
		}
	}
}
