package rollout

import (
	"testing"
	"time"
)

func TestProvingHealth(t *testing.T) {
	synced := compared(Synced, pinned)
	for name, run := range map[string]func(t *testing.T, d *desk){
		"synced and healthy at the pin certifies itself, after min_healthy": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Healthy))
			d.pass(5*time.Second - 1)
			d.state("a", verifying)
			d.pass(1)
			d.quiet()
			d.over(true)
		},
		"the status of the previous revision proves nothing": func(t *testing.T, d *desk) {
			d.see("a", compared(Synced, sha(2)), health(Healthy))
			d.pass(quietDelay - 1)
			d.quiet()
			d.pass(1)
			d.asked("a", Refresh)
			d.pass(5 * time.Second)
			d.state("a", verifying)
		},
		"HEAD has moved: a refresh and health decide": func(t *testing.T, d *desk) {
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(OutOfSync, sha(5)), health(Healthy))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"HEAD is broken by now: that is not our failure": func(t *testing.T, d *desk) {
			d.see("a", compared(SyncUnknown, "main"), health(Healthy), failsWith("ComparisonError", "app path does not exist"))
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.pass(30 * time.Second)
			d.over(true)
		},
		"HEAD has moved, but our sync left something out": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Operation.Incomplete = []string{"ConfigMap x: PruneSkipped"} })
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(SyncUnknown, sha(5)), health(Healthy), failsWith("ComparisonError", "broken"))
			d.pass(10 * time.Second)
			d.accept(d.asked("a", Refresh)) // once more before it is called a failure
			d.pass(time.Second)
			d.answered("a")
			d.failed("a", KindOutOfSync, "PruneSkipped")
		},
		"out of sync at the pin fails after error_grace and a refresh, with what differs": func(t *testing.T, d *desk) {
			d.see("a", compared(OutOfSync, pinned), health(Healthy), func(l *Live) {
				l.Operation.Incomplete, l.Unfinished = []string{"ConfigMap x: PruneSkipped"}, []string{"ConfigMap x: OutOfSync, needs pruning"}
			})
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.pass(10 * time.Second)
			d.unfailed()
			d.accept(d.asked("a", Refresh))
			d.pass(time.Second)
			d.answered("a")
			d.failed("a", KindOutOfSync, "ConfigMap x: PruneSkipped; ConfigMap x: OutOfSync, needs pruning")
		},
		"an old status that is out of sync does not fail when the refresh finds it in sync": func(t *testing.T, d *desk) {
			d.see("a", compared(OutOfSync, pinned), health(Healthy))
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a", synced)
			d.pass(5 * time.Second)
			d.over(true)
		},
		"a comparison error at the pin is the failure": func(t *testing.T, d *desk) {
			d.see("a", compared(SyncUnknown, pinned), health(Healthy), failsWith("ComparisonError", "cannot render"))
			d.unchangedTwice("a")
			d.failed("a", KindComparison, "cannot render")
		},
		"an invalid spec fails with its condition": func(t *testing.T, d *desk) {
			d.see("a", compared(SyncUnknown, pinned), health(HealthUnknown), failsWith("InvalidSpecError", "project p does not exist"))
			d.unchangedTwice("a")
			d.failed("a", KindInvalid, "project p does not exist")
		},
		"an error that Argo CD has no name for is an invalid Application, unless its text tells more": func(t *testing.T, _ *desk) {
			for cause, want := range map[Kind]Kind{"": KindInvalid, KindDestination: KindDestination} {
				d := landedDesk(t)
				d.see("a", compared(SyncUnknown, pinned), health(HealthUnknown), func(l *Live) {
					l.Errors = []Condition{{Type: "UnknownError", Message: "error getting cluster by name", Kind: cause}}
				})
				d.unchangedTwice("a")
				d.failed("a", want, "UnknownError: error getting cluster by name")
			}
		},
		"health that cannot be computed fails with what Argo CD says of that": func(t *testing.T, d *desk) {
			d.see("a", synced, health(HealthUnknown), failsWith("ComparisonError", "error setting app health: cannot perform concat operation"))
			d.pass(30 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindHealthUnknown, "cannot perform concat operation")
		},
		"Degraded for a moment is forgiven, and min_healthy begins anew": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Healthy))
			d.pass(4 * time.Second)
			d.see("a", health(Degraded))
			d.pass(29 * time.Second)
			d.unfailed()
			d.see("a", health(Healthy))
			d.pass(4 * time.Second)
			d.state("a", verifying)
			d.pass(time.Second)
			d.over(true)
		},
		"Degraded for its grace fails, after a refresh that says so": func(t *testing.T, d *desk) {
			d.see("a", synced, func(l *Live) {
				l.Health = Condition{Type: Degraded, Message: "Deployment x: progress deadline exceeded"}
			})
			d.pass(30 * time.Second)
			d.unfailed()
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindDegraded, "progress deadline exceeded")
			d.over(false)
		},
		"Missing for its grace fails, after a refresh that says so": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Missing), func(l *Live) { l.Unfinished = []string{"Deployment x: Missing"} })
			d.pass(30*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.unfailed()
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindMissing, "Deployment x: Missing")
			d.over(false)
		},
		"Missing and unknown health have the same grace": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Missing))
			d.pass(20 * time.Second)
			d.see("a", synced, health(HealthUnknown))
			d.pass(20 * time.Second)
			d.unfailed()
			d.pass(10 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindHealthUnknown, "")
		},
		"Progressing has until the Application's deadline, and the time stands still while it is Suspended": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Progressing))
			d.pass(5 * time.Minute)
			d.see("a", func(l *Live) { l.Health = Condition{Type: Suspended, Message: "Rollout is paused"} })
			d.pass(40 * time.Minute)
			d.see("a", func(l *Live) {
				l.Health = Condition{Type: Progressing, Message: "Caused by apps/Deployment x"}
				l.Unfinished = []string{"Deployment x: Progressing: 1 of 2 updated replicas are available"}
			})
			d.pass(4 * time.Minute)
			d.unfailed()
			d.pass(time.Minute)
			d.failed("a", KindProgressing, "health Progressing: Caused by apps/Deployment x")
			d.failed("a", KindProgressing, "resources: Deployment x: Progressing: 1 of 2 updated replicas are available")
			d.quiet() // nothing of ours runs
		},
		"a controller that does not answer a refresh is named": func(t *testing.T, d *desk) {
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.pass(refreshTimeout)
			d.failed("a", KindSilent, "refresh")
		},
		"somebody syncs another revision": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Healthy))
			d.see("a", func(l *Live) {
				l.Operation = Operation{Token: "?", Phase: Succeeded, Revisions: []string{sha(9)}}
				l.Deployed = Deployed{ID: 9, Revisions: []string{sha(9)}, OfSpec: true}
			})
			d.failed("a", KindSuperseded, sha(9))
		},
		"somebody else's operation makes what was known worthless": func(t *testing.T, d *desk) {
			d.see("a", synced, health(Healthy))
			d.pass(time.Second)
			d.see("a", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t7"} })
			d.pass(time.Minute)
			d.state("a", verifying)
			d.see("a", func(l *Live) { l.Operation.Pending, l.Operation.Phase = "", Succeeded })
			d.pass(time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.pass(5 * time.Second)
			d.over(true)
		},
		"an answer to a refresh asked for right after the operation is too early": func(t *testing.T, d *desk) {
			d.e.apps["a"].telling = false // the status right after the write looked done already
			d.see("a", synced, health(Healthy))
			d.pass(freshDelay - 1)
			d.quiet()
			d.pass(1)
			d.accept(d.asked("a", Refresh))
			d.pass(5 * time.Second)
			d.state("a", verifying)
			d.answered("a")
			d.pass(5 * time.Second)
			d.over(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, landedDesk(t))
		})
	}
}

// landedDesk has one Application whose operation has just succeeded.
func landedDesk(t *testing.T) *desk {
	d := newDesk(t, planOf("a"), deskOptions())
	d.see("a", old)
	d.listed()
	d.sync("a")
	d.see("a", succeeded)
	d.state("a", verifying)
	return d
}

func TestWhatAnInterruptedRunHasLeftOutIsFoundWhenItIsRunAgain(t *testing.T) {
	for target, done := range map[string]bool{"new": false, "": true, "other": true} { // another operation's gaps are not ours
		d := newDesk(t, planOf("a"), deskOptions())
		d.see("a", there, compared(SyncUnknown, sha(5)), failsWith("ComparisonError", "broken"), func(l *Live) {
			l.Operation.Target, l.Operation.Incomplete = target, []string{"ConfigMap x: PruneSkipped"}
		})
		d.listed()
		d.pass(quietDelay)
		d.accept(d.asked("a", Refresh))
		d.answered("a")
		d.pass(10 * time.Second)
		if done {
			d.over(true)
			continue
		}
		d.accept(d.asked("a", Refresh))
		d.pass(time.Second)
		d.answered("a")
		d.failed("a", KindOutOfSync, "PruneSkipped")
	}
}

func TestAStatusThatLookedDoneAtTheWriteNeedsARefresh(t *testing.T) {
	d := newDesk(t, planOf("a"), deskOptions())
	d.see("a", there, func(l *Live) { l.Hash = "old" }) // a label changes, nothing that Argo CD compares
	d.listed()
	d.accept(d.asked("a", Write), func(l *Live) { l.Sync.OfSpec, l.Deployed.OfSpec = true, true })
	d.see("a", running)
	d.see("a", succeeded)
	d.pass(freshDelay)
	d.accept(d.asked("a", Refresh))
	d.pass(5 * time.Second)
	d.state("a", verifying)
	d.answered("a")
	d.pass(5 * time.Second)
	d.over(true)
}

func TestWithoutMinHealthyEveryProofNeedsARefresh(t *testing.T) {
	opt := deskOptions()
	opt.MinHealthy = 0
	d := newDesk(t, planOf("a"), opt)
	d.see("a", old)
	d.listed()
	d.land("a")
	d.state("a", verifying)
	d.pass(freshDelay)
	d.accept(d.asked("a", Refresh))
	d.answered("a")
	d.over(true)
}
