package rollout

import (
	"slices"
	"testing"
	"time"
)

func TestEnteringAnApplication(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"what is at its target, synced and healthy is done without a request, once it has stayed so": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), deskOptions())
			d.see("a", there)
			d.see("b", old)
			d.listed()
			d.pass(4 * time.Second)
			d.quiet()
			d.pass(time.Second)
			d.asked("b", Write)
			d.quiet()
		},
		"what is at its target and falls ill before it has stayed healthy holds the next step back": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), deskOptions())
			d.see("a", there)
			d.see("b", old)
			d.listed()
			d.see("a", health(Degraded))
			d.pass(10 * time.Second)
			d.quiet()
			d.pass(30 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindDegraded, "")
			d.quiet()
		},
		"what was proven by an earlier run is done at once": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps[0].Proven = true
			d := newDesk(t, p, deskOptions())
			d.see("a", there)
			d.see("b", old)
			d.listed()
			d.asked("b", Write)
			d.quiet()
		},
		"a step is proven where an interrupted run has begun the next one": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b", "c"), deskOptions())
			d.see("a", there, endedAt(0))
			d.see("b", there, endedAt(5*time.Second), func(l *Live) { l.StepLabel, l.Operation.Target = "step 02: x", "new" })
			d.see("c", old)
			d.listed()
			if d.e.step != 1 {
				t.Fatalf("in step %d, not 1", d.e.step)
			}
			d.quiet()
			d.pass(5 * time.Second)
			d.asked("c", Write)
			d.quiet()
		},
		"a step is not proven by what was rolled out later in another rollout": func(t *testing.T) {
			for name, earlier := range map[string]func(*Live){
				"before the step was":                  endedAt(-time.Minute),
				"too soon after the step":              endedAt(4 * time.Second),
				"by an operation that is not ours":     func(l *Live) { endedAt(time.Minute)(l); l.Operation.Target = "" },
				"in another order of steps":            func(l *Live) { endedAt(time.Minute)(l); l.StepLabel = "step 01: x" },
				"at a time that Argo CD does not tell": func(l *Live) { l.Ended = time.Time{} },
			} {
				d := newDesk(t, planOf("a", "b", "c"), deskOptions())
				d.see("a", there, endedAt(0))
				d.see("b", there, func(l *Live) { l.StepLabel, l.Operation.Target = "step 02: x", "new" }, earlier)
				d.see("c", old)
				d.listed()
				if d.e.step != 0 {
					t.Errorf("%s: in step %d, not 0", name, d.e.step)
				}
			}
		},
		"what is at its target gets only its mark where the step is another one": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, func(l *Live) { l.StepLabel = "step 07: y" })
			d.listed()
			d.pass(5 * time.Second)
			m := d.asked("a", Mark)
			if m.StepLabel != "step 01: x" || m.Version == "" {
				t.Fatalf("marked by %+v", m)
			}
			d.accept(m)
			d.over(true)
		},
		"a missing Application is created with its operation in one request": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.listed()
			w := d.asked("a", Write)
			if w.Version != "" || w.Sync == nil || w.Sync.Target != "new" || !slices.Equal(w.Sync.Revisions, []string{pinned}) || w.StepLabel != "step 01: x" {
				t.Fatalf("created by %+v", w)
			}
			d.quiet()
		},
		"nothing is written before the list is complete": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.pass(time.Minute)
			d.quiet()
		},
		"automated sync is switched off everywhere before the first write": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), deskOptions())
			on := func(l *Live) { l.AutomatedOn = true }
			d.see("a", old)
			d.see("b", old, on)
			d.listed()
			off := d.asked("b", DisableAutomated)
			d.quiet()
			d.accept(off)
			d.asked("a", Write)
			d.quiet()
		},
		"automated sync that cannot be switched off stops the run before the first write": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), deskOptions())
			d.see("b", old, func(l *Live) { l.AutomatedOn = true })
			d.listed()
			d.answer(Result{Action: d.asked("b", DisableAutomated), Err: errForbidden})
			d.failed("b", KindRequest, "forbidden")
			d.quiet()
			d.over(false)
		},
		"a spec that Argo CD has refused is looked at anew before it is synced": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, func(l *Live) { l.Hash = "new" }, failsWith("InvalidSpecError", "project p does not exist"))
			d.listed()
			d.accept(d.asked("a", Refresh))
			d.quiet()
			d.answered("a", func(l *Live) { l.Errors = nil })
			if d.asked("a", Write).Sync == nil {
				t.Fatal("written without an operation")
			}
		},
		"a spec that replaces a refused one is written and looked at before it is synced": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, failsWith("InvalidSpecError", "project p does not exist"))
			d.listed()
			w := d.asked("a", Write)
			if w.Sync != nil {
				t.Fatal("synced while what Argo CD has refused still stands")
			}
			d.accept(w)
			d.accept(d.asked("a", Refresh))
			d.quiet()
			d.answered("a") // it is refused still: the operation says why
			if d.asked("a", Write).Sync == nil {
				t.Fatal("written without an operation")
			}
		},
		"a running operation of somebody else is waited for, not overwritten": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })
			d.listed()
			d.pass(time.Minute)
			d.quiet()
			d.see("a", func(l *Live) { l.Operation.Pending, l.Operation.Phase = "", Failed })
			d.asked("a", Write)
		},
		"an operation that never ends is given up at the Application's deadline, but not terminated: it is not ours": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} }, said("waiting for hook"))
			d.listed()
			d.pass(11 * time.Minute)
			d.failed("a", KindOccupied, "waiting for hook")
			d.quiet()
			d.over(false)
		},
		"an operation of an interrupted run to the same target is followed, also before it has begun": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, func(l *Live) {
				l.Operation = Operation{Pending: "earlier", PendingTarget: "new", PendingRevisions: []string{pinned}}
			})
			d.listed()
			d.pass(30 * time.Second)
			d.quiet()
			d.unfailed()
			d.see("a", succeeded)
			d.pass(time.Second)
			d.accept(d.asked("a", Refresh)) // its status may be of before the interruption
			d.answered("a")
			d.pass(6 * time.Second)
			d.over(true)
		},
		"one that is being terminated is waited for, and the target synced anew": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, func(l *Live) {
				l.Operation = Operation{Pending: "earlier", PendingTarget: "new", PendingRevisions: []string{pinned}, Token: "earlier", Phase: Terminating}
			})
			d.listed()
			d.quiet()
			d.see("a", failedWith("Operation terminated"))
			d.unfailed()
			d.asked("a", Write)
		},
		"an operation of an interrupted run to another target is waited for": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, func(l *Live) {
				l.Operation = Operation{Pending: "earlier", PendingTarget: "other", PendingRevisions: []string{pinned}}
			})
			d.listed()
			d.quiet()
		},
		"an Application that is being deleted is recreated when it is gone": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, func(l *Live) { l.Terminating = true })
			d.listed()
			d.quiet()
			d.vanish("a")
			if w := d.asked("a", Write); w.Version != "" {
				t.Fatalf("not a creation: %+v", w)
			}
		},
		"skip-reconcile fails before anything is written": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old, func(l *Live) { l.SkipReconcile = true })
			d.listed()
			d.failed("a", KindSkipReconcile, "")
			d.quiet()
			d.over(false)
		},
		"a conflict is decided again on the newer state": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			d.answer(Result{Action: d.asked("a", Write), Conflict: true})
			d.quiet() // the newer state has not been seen yet
			d.see("a")
			if w := d.asked("a", Write); w.Version != d.lives["a"].Version {
				t.Fatalf("written on version %s", w.Version)
			}
		},
		"a conflict without any newer state is tried again after a second": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			d.answer(Result{Action: d.asked("a", Write), Conflict: true})
			d.pass(conflictDelay - 1)
			d.quiet()
			d.pass(1)
			d.asked("a", Write)
		},
		"a write whose answer was lost is recognised by its operation": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			w := d.asked("a", Write)
			d.answer(Result{Action: w, Conflict: true})
			d.see("a", func(l *Live) { d.apply(w, l) })
			d.quiet()
			d.state("a", flying)
		},
		"a refused write is a failure with the answer's words": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.listed()
			d.answer(Result{Action: d.asked("a", Write), Err: errForbidden})
			d.failed("a", KindRequest, "forbidden")
			d.over(false)
		},
		"what was deployed before, but is unproven and unhealthy, is waited for without a write": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, health(Progressing))
			d.listed()
			d.pass(time.Minute)
			d.quiet()
			d.see("a", health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"what was deployed before, but differs now, is compared anew and only then synced again": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, compared(OutOfSync, pinned))
			d.listed()
			d.quiet()
			d.pass(time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(OutOfSync, pinned))
			d.asked("a", Write)
		},
		"what was deployed before and is found in sync by that comparison is not synced again": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, compared(OutOfSync, pinned))
			d.listed()
			d.pass(time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(Synced, pinned))
			d.pass(6 * time.Second)
			d.quiet()
			d.over(true)
		},
		"a target whose last operation failed is synced again": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, func(l *Live) { l.Operation.Phase = Failed })
			d.listed()
			d.asked("a", Write)
		},
		"hooks alone look synced before anything has run, and are synced all the same": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, func(l *Live) { l.Operation, l.Deployed = Operation{}, Deployed{} })
			d.listed()
			d.asked("a", Write)
		},
		"a slot that becomes free is given to the next by name": func(t *testing.T) {
			p := planOf("a b c")
			p.Steps[0].Limit = 2
			d := newDesk(t, p, deskOptions())
			d.listed()
			w := d.asked("a", Write)
			d.asked("b", Write)
			d.quiet()
			d.accept(w)
			d.see("a", running)
			d.see("a", succeeded)
			d.see("a", compared(Synced, pinned), health(Healthy))
			d.quiet()
			d.pass(5 * time.Second)
			d.asked("c", Write)
		},
		"the deadline ends a run whose list never comes": func(t *testing.T) {
			opt := deskOptions()
			opt.Deadline = simStart.Add(time.Minute)
			d := newDesk(t, planOf("a"), opt)
			d.pass(time.Minute)
			if o := d.over(false); o.Stop != StopDeadline {
				t.Fatalf("stopped by %q", o.Stop)
			}
		},
		"Applications of no step are written after the last step and not synced": func(t *testing.T) {
			p := planOf("a")
			p.Apps = append(p.Apps, Desired{Name: "b", Step: NoStep, Mode: ModeWrite, Hash: "new", Sources: []Source{mainBranch}})
			d := newDesk(t, p, deskOptions())
			d.listed()
			d.land("a")
			d.quiet()
			d.pass(5 * time.Second)
			w := d.asked("b", Write)
			if w.Sync != nil || w.StepLabel != NoStepLabel {
				t.Fatalf("written by %+v", w)
			}
			d.accept(w)
			d.over(true)
		},
	} {
		t.Run(name, run)
	}
}
