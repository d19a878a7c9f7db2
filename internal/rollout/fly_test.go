package rollout

import (
	"testing"
	"time"
)

func TestFollowingOurOperation(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, d *desk){
		"a failed operation fails at once with its message, also where all retries are waited for": func(t *testing.T, _ *desk) {
			for _, phase := range []string{Failed, Error} {
				for _, all := range []bool{false, true} {
					opt := deskOptions()
					opt.AllRetries = all
					d := newDesk(t, planOf("a"), opt)
					d.see("a", old)
					d.listed()
					d.sync("a")
					d.see("a", said("namespaces \"x\" not found"), func(l *Live) { l.Operation.Phase, l.Operation.Pending = phase, "" })
					d.failed("a", KindSyncFailed, "not found")
					d.over(false)
				}
			}
		},
		"a failed attempt that stands for error_grace fails, and the operation is terminated": func(t *testing.T, d *desk) {
			w := d.sync("a")
			d.see("a", attemptFailed("boom"))
			d.pass(10*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindSyncFailed, "boom")
			end := d.asked("a", Terminate)
			if end.Token != w.Sync.Token {
				t.Fatalf("terminated %q", end.Token)
			}
			d.accept(end)
			if d.e.over {
				t.Fatal("the run is over before the operation has ended")
			}
			d.see("a", func(l *Live) { l.Operation.Phase, l.Operation.Pending = Failed, "" })
			d.over(false)
		},
		"a second attempt that runs is waited for": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", attemptFailed("boom"))
			d.pass(9 * time.Second)
			d.see("a", retrying)
			d.pass(9 * time.Second)
			d.unfailed()
			d.see("a", succeeded)
			d.see("a", compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"a second attempt that fails in the same way has used the grace of the first": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", attemptFailed("boom"))
			d.pass(9 * time.Second)
			d.see("a", retrying)
			d.pass(9 * time.Second)
			d.see("a", attemptFailed("boom"))
			d.failed("a", KindSyncFailed, "boom")
		},
		"a second attempt that fails in another way has its own": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", attemptFailed("boom"))
			d.pass(9 * time.Second)
			d.see("a", retrying)
			d.see("a", attemptFailed("crash"))
			d.pass(10*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindSyncFailed, "crash")
		},
		"the message of a sync window may flash up": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", said("Sync operation blocked by sync window"), func(l *Live) { l.Operation.Blocked = true })
			d.pass(time.Second)
			d.see("a", said("running"), func(l *Live) { l.Operation.Blocked = false })
			d.pass(time.Minute)
			d.unfailed()
		},
		"a closed sync window fails after error_grace, and the operation is terminated": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", said("Sync operation blocked by sync window"), func(l *Live) { l.Operation.Blocked = true })
			d.pass(10 * time.Second)
			d.failed("a", KindSyncWindow, "blocked by sync window")
			d.asked("a", Terminate)
		},
		"a controller that does not start the operation is named, and the operation withdrawn": func(t *testing.T, d *desk) {
			d.accept(d.asked("a", Write))
			d.pass(refreshTimeout)
			d.failed("a", KindSilent, "has not been started")
			d.accept(d.asked("a", Terminate))
			d.over(false)
		},
		"a controller that has not started the operation when its time is over is named as well": func(t *testing.T, _ *desk) {
			for timeout, want := range map[time.Duration]Kind{refreshTimeout / 2: KindSilent, refreshTimeout/2 - 1: KindTimeout} {
				opt := deskOptions()
				opt.AppTimeout = timeout
				d := newDesk(t, planOf("a"), opt)
				d.see("a", old)
				d.listed()
				d.accept(d.asked("a", Write))
				d.pass(timeout)
				d.failed("a", want, "waiting for Argo CD to start the operation")
			}
		},
		"an operation that vanished is asked for three times, then given up": func(t *testing.T, d *desk) {
			for range maxSubmits {
				d.unfailed()
				d.accept(d.asked("a", Write))
				d.see("a", func(l *Live) { l.Operation.Pending = "" })
			}
			d.failed("a", KindLost, "3 times")
			d.quiet()
		},
		"an operation that vanished is asked for again though the same revision is deployed": func(t *testing.T, d *desk) {
			w := d.asked("a", Write)
			label := func(l *Live) { // only a label changes: nothing that Argo CD compares
				there(l)
				l.Operation = Operation{}
			}
			d.accept(w, label)
			d.asked("a", Write)
		},
		"an operation that history proves is not asked for again": func(t *testing.T, d *desk) {
			w := d.asked("a", Write)
			d.accept(w)
			d.see("a", func(l *Live) {
				l.Operation = Operation{Token: "?", Phase: Succeeded, Revisions: []string{pinned}, Started: "t9"}
				l.Deployed = Deployed{ID: 4, Revisions: []string{pinned}, OfSpec: true, Target: "new"}
			})
			d.quiet()
			d.state("a", verifying)
		},
		"an operation that synced another revision than it was asked to is no success": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", succeeded, func(l *Live) { l.Operation.Revisions = []string{sha(9)} })
			d.failed("a", KindSuperseded, sha(9))
		},
		"an operation that is terminated by somebody fails": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", func(l *Live) { l.Operation.Phase = Terminating })
			d.unfailed()
			d.see("a", said("Operation terminated"), func(l *Live) { l.Operation.Phase, l.Operation.Pending = Failed, "" })
			d.failed("a", KindSyncFailed, "terminated")
		},
		"an Application that vanishes is a failure of its own": func(t *testing.T, d *desk) {
			d.sync("a")
			d.vanish("a")
			d.failed("a", KindVanished, "")
		},
		"late news of an Application that is gone do not bring it back": func(t *testing.T, d *desk) {
			w := d.asked("a", Write)
			l := d.change("a", func(l *Live) { d.apply(w, l) })
			d.see("a", running)
			d.vanish("a")
			d.answer(Result{Action: w, Live: l})
			d.failed("a", KindVanished, "")
			d.over(false)
		},
		"an Application that is recreated is not ours any more": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", func(l *Live) { l.UID, l.Operation = "another", Operation{} })
			d.failed("a", KindRecreated, "")
			d.over(false)
		},
		"an Application whose deletion begins fails, and its operation is ended": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", func(l *Live) { l.Terminating = true })
			d.failed("a", KindDeleting, "")
			d.asked("a", Terminate)
		},
		"a spec changed by somebody else fails, and the operation is ended": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", func(l *Live) { l.Hash = "other" })
			d.failed("a", KindChanged, "")
			d.asked("a", Terminate)
		},
		"reconciliation switched off in flight fails": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", func(l *Live) { l.SkipReconcile = true })
			d.failed("a", KindSkipReconcile, "")
		},
		"an operation that runs into the Application's deadline is terminated": func(t *testing.T, d *desk) {
			d.sync("a")
			d.see("a", said("waiting for completion of hook batch/Job/migrate"))
			d.pass(10 * time.Minute)
			d.failed("a", KindTimeout, "hook batch/Job/migrate")
			d.asked("a", Terminate)
		},
		"a request to terminate that Argo CD wrote over is repeated": func(t *testing.T, d *desk) {
			d.sync("a")
			d.pass(10 * time.Minute)
			d.accept(d.asked("a", Terminate))
			d.see("a", func(l *Live) { l.Operation.Phase = Running })
			d.quiet()
			d.pass(terminateAgain)
			d.asked("a", Terminate)
		},
		"an operation that does not end is told and not waited for for ever": func(t *testing.T, d *desk) {
			d.sync("a")
			d.pass(10 * time.Minute)
			d.accept(d.asked("a", Terminate))
			d.pass(terminateTimeout)
			o := d.over(false)
			if last := o.Log[len(o.Log)-1].Text; last != "its operation could not be terminated and may still run" {
				t.Fatalf("the last line is %q", last)
			}
		},
		"a refused request to terminate ends the run": func(t *testing.T, d *desk) {
			d.sync("a")
			d.pass(10 * time.Minute)
			d.answer(Result{Action: d.asked("a", Terminate), Err: errForbidden})
			d.quiet()
			d.over(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			run(t, d)
		})
	}
}

func TestAfterAFailure(t *testing.T) {
	fail := func(l *Live) { l.Operation.Phase, l.Operation.Pending = Failed, "" }
	for name, run := range map[string]func(t *testing.T){
		"what is in flight ends, and nothing new starts": func(t *testing.T) {
			p := planOf("a b c", "d")
			p.Steps[0].Limit = 2
			d := newDesk(t, p, deskOptions())
			d.listed()
			d.sync("a")
			d.sync("b")
			d.see("a", fail)
			d.see("b", succeeded)
			d.see("b", compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.quiet()
			o := d.over(false)
			if len(o.Done) != 1 || o.Done[0] != "b" || len(o.Open) != 3 || o.Step != "step 01: x" {
				t.Fatalf("outcome %+v", o)
			}
		},
		"a write that is answered later starts an operation that is followed to its end": func(t *testing.T) {
			d := newDesk(t, planOf("a b"), deskOptions())
			d.listed()
			w := d.asked("b", Write)
			d.sync("a")
			d.see("a", fail)
			if d.e.over {
				t.Fatal("over while a write is under way")
			}
			d.accept(w)
			d.see("b", running)
			d.see("b", succeeded)
			d.see("b", compared(Synced, pinned), health(Healthy))
			d.pass(5 * time.Second)
			d.over(false)
		},
		"nobody waits for people any more, not even after a late answer": func(t *testing.T) {
			p := planOf("a b")
			p.Apps[1].Mode = ModeManual
			d := newDesk(t, p, deskOptions())
			d.listed()
			w := d.asked("b", Write)
			d.sync("a")
			d.see("a", fail)
			d.accept(w)
			d.over(false)
		},
		"nobody waits for somebody else's operation any more": func(t *testing.T) {
			d := newDesk(t, planOf("a b"), deskOptions())
			d.see("b", old, func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })
			d.listed()
			d.sync("a")
			d.see("a", fail)
			d.over(false)
		},
		"a write that may have been accepted is found out about first": func(t *testing.T) {
			d := newDesk(t, planOf("a b"), deskOptions())
			d.see("b", old)
			d.listed()
			w := d.asked("b", Write)
			d.answer(Result{Action: w, Conflict: true})
			d.sync("a")
			d.see("a", fail)
			if d.e.over {
				t.Fatal("over although an operation of ours may run")
			}
			d.pass(2 * time.Second) // the watch is slow
			if d.e.over {
				t.Fatal("over although an operation of ours may run")
			}
			d.see("b", func(l *Live) { d.apply(w, l) })
			d.state("b", flying)
		},
		"the deadline finds out first, too, and then ends the operation": func(t *testing.T) {
			opt := deskOptions()
			opt.Deadline = simStart.Add(time.Minute)
			d := newDesk(t, planOf("b"), opt)
			d.see("b", old)
			d.listed()
			w := d.asked("b", Write)
			d.pass(time.Minute - time.Second/2)
			d.answer(Result{Action: w, Conflict: true})
			d.pass(time.Second)
			d.quiet()
			d.see("b", func(l *Live) { d.apply(w, l) })
			d.failed("b", KindTimeout, "")
			d.asked("b", Terminate)
		},
		"the deadline ends what waited for an answer then, when it comes": func(t *testing.T) {
			opt := deskOptions()
			opt.Deadline = simStart.Add(time.Minute)
			d := newDesk(t, planOf("b"), opt)
			d.see("b", there, health(Progressing), compared(Synced, sha(9)))
			d.listed()
			d.pass(quietDelay)
			r := d.asked("b", Refresh)
			d.pass(time.Minute)
			if d.e.over {
				t.Fatal("over while a request is under way")
			}
			d.accept(r)
			d.failed("b", KindProgressing, Progressing)
			d.over(false)
		},
	} {
		t.Run(name, run)
	}
}
