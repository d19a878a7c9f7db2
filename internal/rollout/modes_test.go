package rollout

import (
	"strings"
	"testing"
	"time"
)

func manualDesk(t *testing.T) *desk {
	p := planOf("a", "b")
	p.Apps[0].Mode = ModeManual
	return newDesk(t, p, deskOptions())
}

func TestManualSteps(t *testing.T) {
	full := func(id int64, revision string) func(*Live) {
		return func(l *Live) {
			l.Operation = Operation{Token: "?", Phase: Succeeded, Revisions: []string{revision}, Started: "t" + revision}
			l.Deployed = Deployed{ID: id, Revisions: []string{revision}, OfSpec: true}
		}
	}
	for name, run := range map[string]func(t *testing.T, d *desk){
		"the spec is written without an operation, and a full sync to the pin lets the rollout go on": func(t *testing.T, d *desk) {
			w := d.asked("a", Write)
			if w.Sync != nil || w.ManualAfter != 3 {
				t.Fatalf("written by %+v", w)
			}
			d.accept(w)
			d.pass(24 * time.Hour) // people have until the end of the whole apply
			d.quiet()
			if r := d.e.apps["a"].reason; !strings.Contains(r, "argocd app sync argocd/a --revision "+pinned) {
				t.Fatalf("waits for %q", r)
			}
			d.see("a", full(4, pinned), compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.asked("b", Write)
		},
		"a sync to another revision does not count": func(t *testing.T, d *desk) {
			d.accept(d.asked("a", Write))
			d.see("a", full(4, sha(9)), compared(OutOfSync, pinned), health(Healthy))
			d.pass(time.Hour)
			d.quiet()
			d.unfailed()
			d.see("a", full(5, pinned), compared(Synced, pinned))
			d.pass(5 * time.Second)
			d.asked("b", Write)
		},
		"a sync of before the write does not count": func(t *testing.T, d *desk) {
			w := d.asked("a", Write)
			d.accept(w, func(l *Live) { l.Deployed.Revisions, l.Deployed.OfSpec = []string{pinned}, true })
			d.see("a", compared(Synced, pinned))
			d.pass(time.Hour)
			d.quiet()
		},
		"a partial sync does not count, though everything is in sync": func(t *testing.T, d *desk) {
			d.accept(d.asked("a", Write))
			d.see("a", compared(Synced, pinned), func(l *Live) {
				l.Operation = Operation{Token: "?", Phase: Succeeded, Revisions: []string{pinned}}
			})
			d.pass(time.Hour)
			d.quiet()
		},
		"somebody's operation is waited for": func(t *testing.T, d *desk) {
			d.accept(d.asked("a", Write))
			d.see("a", full(4, pinned), func(l *Live) { l.Operation.Phase, l.Operation.Pending = Running, "?" })
			d.pass(time.Minute)
			d.state("a", awaiting)
		},
		"the deadline names the step that nobody has synced": func(t *testing.T, d *desk) {
			d.e.opt.Deadline = d.now.Add(time.Hour)
			d.accept(d.asked("a", Write))
			d.pass(time.Hour)
			d.failed("a", KindTimeout, "argocd app sync argocd/a --revision")
			d.over(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := manualDesk(t)
			d.see("a", old)
			d.listed()
			run(t, d)
		})
	}
	t.Run("a new Application without any history: a partial sync or a dry run does not count", func(t *testing.T) {
		d := manualDesk(t)
		d.listed()
		d.accept(d.asked("a", Write))
		d.see("a", compared(Synced, pinned), health(Healthy), func(l *Live) {
			l.Operation = Operation{Token: "?", Phase: Succeeded, Revisions: []string{pinned}}
		})
		d.pass(time.Hour)
		d.quiet()
		d.see("a", full(1, pinned))
		d.pass(6 * time.Second)
		d.asked("b", Write)
	})
	t.Run("resumed: the spec is there already, and only the sync is missing", func(t *testing.T) {
		d := manualDesk(t)
		d.see("a", old, func(l *Live) { l.Hash, l.ManualAfter = "new", 3 })
		d.listed()
		d.quiet()
		d.see("a", full(4, pinned), compared(Synced, pinned))
		d.pass(5 * time.Second)
		d.asked("b", Write)
	})
	t.Run("what somebody has synced stays when the branch moves elsewhere", func(t *testing.T) {
		d := manualDesk(t)
		d.see("a", there, func(l *Live) { l.Deployed.Revisions, l.Sync.Revisions = []string{sha(2)}, []string{sha(9)} })
		d.listed()
		d.asked("b", Write)
	})
}

func TestAutomatedSync(t *testing.T) {
	start := func(t *testing.T, edits ...func(*Live)) *desk {
		p := planOf("a")
		p.DisableAutomated = false
		p.Apps[0].Mode, p.Apps[0].Revisions = ModeAutomated, nil
		d := newDesk(t, p, deskOptions())
		d.see("a", append([]func(*Live){old, func(l *Live) { l.AutomatedOn = true }}, edits...)...)
		d.listed()
		return d
	}
	for name, run := range map[string]func(t *testing.T){
		"the spec is written without an operation; synced and healthy after a refresh is done": func(t *testing.T) {
			d := start(t)
			w := d.asked("a", Write)
			if w.Sync != nil {
				t.Fatalf("written by %+v", w)
			}
			d.accept(w, health(Healthy), compared(Synced, sha(2)))
			d.accept(d.asked("a", Refresh))
			d.pass(10 * time.Second)
			d.state("a", awaiting)
			d.answered("a", compared(OutOfSync, sha(3)))
			d.see("a", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t1"} })
			d.see("a", compared(Synced, sha(3)))
			d.pass(10 * time.Second)
			d.state("a", awaiting)
			d.see("a", func(l *Live) { l.Operation.Pending, l.Operation.Phase = "", Succeeded })
			d.pass(5 * time.Second)
			d.quiet()
			d.over(true)
		},
		"an operation newer than the write that fails is the failure": func(t *testing.T) {
			d := start(t, func(l *Live) { l.Operation.Phase = Failed })
			d.accept(d.asked("a", Write))
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(OutOfSync, sha(3)))
			d.unfailed() // that one is old
			d.see("a", said("boom"), func(l *Live) { l.Operation.Started = "t8" })
			d.failed("a", KindSyncFailed, "boom")
		},
		"a comparison error that stands is the failure": func(t *testing.T) {
			d := start(t)
			d.accept(d.asked("a", Write))
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(SyncUnknown, "main"), failsWith("ComparisonError", "no such path"))
			d.pass(10 * time.Second)
			d.unfailed()
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindComparison, "no such path")
		},
		"Degraded has its grace": func(t *testing.T) {
			d := start(t)
			d.accept(d.asked("a", Write))
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(Synced, sha(3)), health(Degraded))
			d.pass(29 * time.Second)
			d.unfailed()
			d.pass(time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindDegraded, "")
		},
		"what stays out of sync after automated sync has synced is accepted when asked to": func(t *testing.T) {
			d := start(t)
			d.e.opt.AcceptOutOfSync = true
			d.accept(d.asked("a", Write))
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(OutOfSync, sha(3)), health(Healthy))
			d.pass(10 * time.Second)
			d.state("a", awaiting) // automated sync has not synced yet
			d.see("a", func(l *Live) { l.Operation = Operation{Token: "?", Phase: Succeeded, Started: "t8"} })
			d.pass(5 * time.Second)
			d.over(true)
		},
		"in sync and healthy already, with the same spec: nothing to do": func(t *testing.T) {
			d := start(t, func(l *Live) { l.Hash = "new" })
			d.quiet()
			d.over(true)
		},
		"the same spec, out of sync: it is waited for without a write": func(t *testing.T) {
			d := start(t, func(l *Live) { l.Hash = "new" }, compared(OutOfSync, sha(2)))
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(Synced, sha(2)))
			d.pass(5 * time.Second)
			d.quiet()
			d.over(true)
		},
	} {
		t.Run(name, run)
	}
}
