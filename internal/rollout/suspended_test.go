package rollout

import (
	"testing"
	"time"
)

// suspendedDesk has a synced at its target, in sync and Suspended, and b in the next step.
func suspendedDesk(t *testing.T, p SuspendedPolicy) *desk {
	opt := deskOptions()
	opt.Suspended = p
	d := newDesk(t, planOf("a", "b"), opt)
	d.listed()
	d.sync("a")
	d.see("a", succeeded)
	d.see("a", compared(Synced, pinned), func(l *Live) { l.Health = Condition{Type: Suspended, Message: "CanaryPauseStep"} })
	return d
}

func TestSuspended(t *testing.T) {
	gate := func(t *testing.T, p SuspendedPolicy) *desk {
		opt := deskOptions()
		opt.Suspended, opt.Deadline = p, simStart.Add(100*time.Hour)
		plan := planOf("a", "b")
		plan.Apps[0].Proven = true
		d := newDesk(t, plan, opt)
		d.see("a", there, health(Suspended))
		d.listed()
		return d
	}
	automated := func(t *testing.T, p SuspendedPolicy) *desk {
		plan := planOf("a")
		plan.DisableAutomated = false
		plan.Apps[0].Mode, plan.Apps[0].Revisions = ModeAutomated, nil
		opt := deskOptions()
		opt.Suspended = p
		d := newDesk(t, plan, opt)
		d.see("a", old, func(l *Live) { l.AutomatedOn = true })
		d.listed()
		d.accept(d.asked("a", Write))
		d.accept(d.asked("a", Refresh))
		d.answered("a", compared(Synced, sha(3)), health(Suspended))
		return d
	}
	for name, run := range map[string]func(t *testing.T){
		"wait: as long as it takes, and min_healthy begins when it is resumed": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedWait)
			d.pass(24 * time.Hour)
			d.quiet()
			d.unfailed()
			d.see("a", health(Healthy))
			d.pass(5*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"wait is what an empty option means": func(t *testing.T) {
			d := suspendedDesk(t, "")
			d.pass(24 * time.Hour)
			d.unfailed()
			d.state("a", verifying)
		},
		"wait: twice Suspended, app_timeout counts only what lies between": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedWait) // 0 s
			d.pass(time.Hour)
			d.see("a", health(Progressing))
			d.pass(4 * time.Minute)
			d.see("a", health(Suspended))
			d.pass(time.Hour)
			d.see("a", health(Progressing))
			d.pass(6*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindProgressing, "")
		},
		"wait: what is found Suspended at its target has all of app_timeout left when it is resumed": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", there, health(Suspended))
			d.listed()
			d.pass(time.Hour)
			d.see("a", health(Progressing))
			d.pass(10*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindProgressing, "")
		},
		"wait: the deadline of the run ends it, and the failure says so": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedWait)
			d.e.opt.Deadline = d.now.Add(time.Hour)
			d.pass(time.Hour)
			d.failed("a", KindSuspended, "CanaryPauseStep")
			if o := d.over(false); o.Stop != StopDeadline {
				t.Fatalf("outcome %+v", o)
			}
		},
		"wait: turning Degraded has the grace as ever": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedWait)
			d.pass(time.Hour)
			d.see("a", health(Degraded))
			d.pass(30 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindDegraded, "")
		},
		"wait: an operation of somebody else while Suspended is not waited for without end": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedWait)
			d.pass(time.Hour)
			d.see("a", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t7"} })
			d.pass(10 * time.Minute)
			d.failed("a", KindOccupied, "")
		},
		"accept: it counts as healthy": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedAccept)
			d.pass(5*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"accept: what is found Suspended at its target is done without a request": func(t *testing.T) {
			opt := deskOptions()
			opt.Suspended = SuspendedAccept
			d := newDesk(t, planOf("a"), opt)
			d.see("a", there, health(Suspended))
			d.listed()
			d.pass(5 * time.Second)
			d.quiet()
			d.over(true)
		},
		"fail: it has the grace of Degraded, then a refresh decides": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedFail)
			d.pass(30*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.accept(d.asked("a", Refresh))
			d.unfailed()
			d.answered("a")
			d.failed("a", KindSuspended, "CanaryPauseStep")
			d.over(false)
		},
		"fail: what is resumed within the grace is done": func(t *testing.T) {
			d := suspendedDesk(t, SuspendedFail)
			d.pass(29 * time.Second)
			d.see("a", health(Healthy))
			d.pass(5 * time.Second)
			d.asked("b", Write)
		},
		"gate, wait: later steps are held back as long as it takes": func(t *testing.T) {
			d := gate(t, SuspendedWait)
			d.pass(99 * time.Hour)
			d.quiet()
			d.unfailed()
			d.see("a", health(Healthy))
			d.asked("b", Write)
		},
		"gate, wait: the deadline ends it": func(t *testing.T) {
			d := gate(t, SuspendedWait)
			d.pass(100 * time.Hour)
			d.quiet()
			if o := d.over(false); o.Stop != StopDeadline {
				t.Fatalf("outcome %+v", o)
			}
		},
		"gate, wait: Degraded after that has its own grace": func(t *testing.T) {
			d := gate(t, SuspendedWait)
			d.pass(time.Hour)
			d.see("a", health(Degraded))
			d.pass(30*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindUnhealthyEarlier, "")
		},
		"gate, wait: Progressing after that has app_timeout": func(t *testing.T) {
			d := gate(t, SuspendedWait)
			d.pass(time.Hour)
			d.see("a", health(Progressing))
			d.pass(10*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindUnhealthyEarlier, "")
		},
		"gate, accept: it holds nobody back": func(t *testing.T) {
			gate(t, SuspendedAccept).asked("b", Write)
		},
		"gate, fail: after the grace it ends the rollout": func(t *testing.T) {
			d := gate(t, SuspendedFail)
			d.pass(30*time.Second - 1)
			d.unfailed()
			d.quiet()
			d.pass(1)
			d.failed("a", KindUnhealthyEarlier, Suspended)
		},
		"automated, wait: as long as it takes": func(t *testing.T) {
			d := automated(t, SuspendedWait)
			d.pass(24 * time.Hour)
			d.unfailed()
			d.see("a", health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"automated, accept: it counts as healthy": func(t *testing.T) {
			d := automated(t, SuspendedAccept)
			d.pass(5 * time.Second)
			d.over(true)
		},
		"automated, fail: it has the grace of Degraded": func(t *testing.T) {
			d := automated(t, SuspendedFail)
			d.pass(30 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindSuspended, "")
		},
		"a manual step: what was Suspended before somebody synced it does not lengthen app_timeout": func(t *testing.T) {
			d := manualDesk(t)
			d.see("a", old, health(Suspended))
			d.listed()
			d.accept(d.asked("a", Write))
			d.pass(24 * time.Hour)
			d.see("a", compared(Synced, pinned), func(l *Live) {
				l.Operation = Operation{Token: "?", Phase: Succeeded, Revisions: []string{pinned}, Started: "t5"}
				l.Deployed = Deployed{ID: 4, Revisions: []string{pinned}, OfSpec: true}
			})
			d.pass(time.Minute)
			d.see("a", health(Progressing))
			d.pass(10 * time.Minute)
			d.failed("a", KindProgressing, "")
		},
	} {
		t.Run(name, run)
	}
}
