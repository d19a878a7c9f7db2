package rollout

import (
	"testing"
	"time"
)

func blocked(l *Live) {
	l.Operation.Blocked, l.Operation.Message = true, "Sync operation blocked by sync window"
}

func open(l *Live) { l.Operation.Blocked, l.Operation.Message = false, "one or more tasks are running" }

func TestWaitingForASyncWindow(t *testing.T) {
	start := func(t *testing.T) *desk {
		opt := deskOptions()
		opt.WaitForWindow = true
		d := newDesk(t, planOf("a"), opt)
		d.see("a", old)
		d.listed()
		return d
	}
	for name, run := range map[string]func(t *testing.T, d *desk){
		"app_timeout stands still while it is closed, and goes on where it was": func(t *testing.T, d *desk) {
			d.sync("a")
			d.pass(4 * time.Minute)
			d.see("a", blocked)
			d.pass(72 * time.Hour)
			d.quiet()
			d.see("a", open)
			d.pass(6*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindTimeout, "")
			d.asked("a", Terminate)
		},
		"what is synced when it opens is done": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", blocked)
			d.pass(72 * time.Hour)
			d.see("a", open)
			d.see("a", succeeded)
			d.see("a", compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"the deadline of the run ends it, names the window and terminates the operation": func(t *testing.T, d *desk) {
			d.e.opt.Deadline = d.now.Add(time.Hour)
			d.sync("a")
			d.see("a", blocked)
			d.pass(time.Hour)
			d.failed("a", KindSyncWindow, "blocked by sync window")
			d.accept(d.asked("a", Terminate))
			d.see("a", failedWith("Operation terminated"))
			if o := d.over(false); o.Stop != StopDeadline {
				t.Fatalf("outcome %+v", o)
			}
		},
		"a failed attempt of another kind is a failure as ever": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", blocked)
			d.pass(time.Hour)
			d.see("a", open, attemptFailed("boom"))
			d.pass(10 * time.Second)
			d.failed("a", KindSyncFailed, "boom")
		},
		"an operation that is waited for may be blocked as well": func(t *testing.T, d *desk) {
			d.answer(Result{Action: d.asked("a", Write), Conflict: true})
			d.see("a", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} }, blocked)
			d.pass(72 * time.Hour)
			d.unfailed()
			d.quiet()
			d.see("a", open)
			d.pass(10*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindOccupied, "")
		},
	} {
		t.Run(name, func(t *testing.T) { run(t, start(t)) })
	}
}

func TestWaitingForAllRetries(t *testing.T) {
	start := func(t *testing.T) *desk {
		opt := deskOptions()
		opt.AllRetries = true
		d := newDesk(t, planOf("a"), opt)
		d.listed()
		d.sync("a")
		d.see("a", attemptFailed("boom"))
		return d
	}
	for name, run := range map[string]func(t *testing.T, d *desk){
		"a failed attempt that stands is no failure": func(t *testing.T, d *desk) {
			d.pass(5 * time.Minute)
			d.quiet()
			d.unfailed()
			d.see("a", succeeded)
			d.see("a", compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"the end of the operation is": func(t *testing.T, d *desk) {
			d.pass(5 * time.Minute)
			d.see("a", failedWith("boom (retried 5 times)"))
			d.failed("a", KindSyncFailed, "retried 5 times")
			d.over(false)
		},
		"app_timeout ends it all the same": func(t *testing.T, d *desk) {
			d.pass(10 * time.Minute)
			d.failed("a", KindTimeout, "boom")
			d.asked("a", Terminate)
		},
		"a closed sync window is another matter": func(t *testing.T, d *desk) {
			d.see("a", blocked)
			d.pass(10 * time.Second)
			d.failed("a", KindSyncWindow, "")
		},
	} {
		t.Run(name, func(t *testing.T) { run(t, start(t)) })
	}
}

func TestAcceptingOutOfSync(t *testing.T) {
	start := func(t *testing.T, p Plan, edits ...func(*Live)) *desk {
		opt := deskOptions()
		opt.AcceptOutOfSync = true
		d := newDesk(t, p, opt)
		d.see("a", edits...)
		d.listed()
		return d
	}
	outOfSync := compared(OutOfSync, pinned)
	pruneSkipped := func(l *Live) { l.Operation.Incomplete = []string{"ConfigMap x: PruneSkipped"} }
	proven := planOf("a")
	proven.Apps[0].Proven = true
	for name, run := range map[string]func(t *testing.T){
		"synced, out of sync all the same, and healthy: done after a refresh that says so": func(t *testing.T) {
			d := start(t, planOf("a"), old)
			d.sync("a")
			d.see("a", succeeded, pruneSkipped)
			d.see("a", outOfSync, health(Healthy))
			d.pass(quietDelay - 1)
			d.quiet()
			d.pass(1)
			d.accept(d.asked("a", Refresh))
			d.pass(10 * time.Second)
			d.state("a", verifying)
			d.answered("a")
			d.pass(5*time.Second - 1)
			d.state("a", verifying)
			d.pass(1)
			d.quiet()
			d.over(true)
		},
		"also when HEAD has moved, and our sync left something out": func(t *testing.T) {
			d := start(t, planOf("a"), old)
			d.sync("a")
			d.see("a", succeeded, pruneSkipped)
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(OutOfSync, sha(5)), health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"also when HEAD is broken by now, and our sync left something out": func(t *testing.T) {
			d := start(t, planOf("a"), old)
			d.sync("a")
			d.see("a", succeeded, pruneSkipped)
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(SyncUnknown, sha(5)), health(Healthy), failsWith("ComparisonError", "broken"))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"bad health is as bad as ever": func(t *testing.T) {
			d := start(t, planOf("a"), old)
			d.sync("a")
			d.see("a", succeeded)
			d.see("a", outOfSync, health(Degraded))
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.pass(30 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.pass(time.Second)
			d.answered("a")
			d.failed("a", KindDegraded, "")
		},
		"what cannot be compared is not out of sync": func(t *testing.T) {
			d := start(t, planOf("a"), old)
			d.sync("a")
			d.see("a", succeeded)
			d.see("a", compared(SyncUnknown, pinned), health(Healthy), failsWith("ComparisonError", "cannot render"))
			d.unchangedTwice("a")
			d.failed("a", KindComparison, "cannot render")
		},
		"resumed: what was synced to its target is not synced again": func(t *testing.T) {
			d := start(t, planOf("a"), there, outOfSync)
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.pass(5 * time.Second)
			d.quiet()
			d.over(true)
		},
		"proven: it needs no request": func(t *testing.T) {
			d := start(t, proven, there, outOfSync)
			d.quiet()
			d.over(true)
		},
		"resources that are gone are synced again": func(t *testing.T) {
			d := start(t, planOf("a"), there, outOfSync, health(Missing))
			d.pass(time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.asked("a", Write)
		},
		"another target is synced as ever": func(t *testing.T) {
			d := start(t, planOf("a"), old, compared(OutOfSync, sha(2)))
			d.asked("a", Write)
		},
		"a target whose operation failed is synced again": func(t *testing.T) {
			d := start(t, planOf("a"), there, outOfSync, failedWith("boom"))
			d.asked("a", Write)
		},
	} {
		t.Run(name, run)
	}
	t.Run("without the option a proven one that is out of sync is synced again", func(t *testing.T) {
		d := newDesk(t, proven, deskOptions())
		d.see("a", there, outOfSync)
		d.listed()
		d.pass(time.Second)
		d.accept(d.asked("a", Refresh))
		d.answered("a")
		d.asked("a", Write)
	})
}

// TestWhatATimeoutIsCalled: the kind names what was waited for when the time was over.
func TestWhatATimeoutIsCalled(t *testing.T) {
	foreign := func(l *Live) {
		l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Message: "their hook runs"}
	}
	for name, c := range map[string]struct {
		found []func(*Live) // nil: it is not there
		then  func(d *desk)
		kind  Kind
		said  string
	}{
		"an operation of somebody else":           {[]func(*Live){old, foreign}, nil, KindOccupied, "their hook runs"},
		"one of somebody else that cannot begin":  {[]func(*Live){old, foreign, blocked}, nil, KindSyncWindow, "blocked"},
		"its deletion":                            {[]func(*Live){old, func(l *Live) { l.Terminating = true }}, nil, KindDeleting, "being deleted"},
		"health that stays Progressing":           {[]func(*Live){there, health(Progressing)}, nil, KindProgressing, "Progressing"},
		"our own operation":                       {[]func(*Live){old}, func(d *desk) { d.sync("a"); d.see("a", said("waiting for hook")) }, KindTimeout, "waiting for hook"},
		"somebody else's after ours":              {[]func(*Live){old}, func(d *desk) { d.land("a"); d.see("a", foreign) }, KindOccupied, "their hook runs"},
		"Progressing while our operation runs":    {[]func(*Live){old}, func(d *desk) { d.sync("a"); d.see("a", health(Progressing)) }, KindTimeout, ""},
		"a conflict of a creation, again and yet": {nil, func(d *desk) { d.conflicts(10 * time.Minute) }, KindTimeout, "changed meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			if c.found != nil {
				d.see("a", c.found...)
			}
			d.listed()
			if c.then != nil {
				c.then(d)
			}
			d.pass(10 * time.Minute)
			d.failed("a", c.kind, c.said)
		})
	}
}

// conflicts answers every write of a with a conflict for so long.
func (d *desk) conflicts(long time.Duration) {
	for until := d.now.Add(long); d.now.Before(until); d.pass(conflictDelay) {
		d.answer(Result{Action: d.asked("a", Write), Conflict: true})
	}
}

// TestWhatAFailedOperationIsCalled: an operation that fails because of an error condition says so
// in its message, and is called what the condition means.
func TestWhatAFailedOperationIsCalled(t *testing.T) {
	for _, c := range []struct{ cause, want Kind }{{"", KindSyncFailed}, {KindProject, KindProject}, {KindComparison, KindComparison}} {
		because := func(l *Live) { l.Operation.Cause = c.cause }
		start := func(t *testing.T) *desk {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			d.sync("a")
			return d
		}
		t.Run(string(c.want), func(t *testing.T) {
			d := start(t)
			d.see("a", because, failedWith("boom"))
			d.failed("a", c.want, "boom")
		})
		t.Run(string(c.want)+", at the first attempt", func(t *testing.T) {
			d := start(t)
			d.see("a", because, attemptFailed("boom"))
			d.pass(10 * time.Second)
			d.failed("a", c.want, "boom")
		})
	}
}
