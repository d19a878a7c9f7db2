package rollout

import (
	"fmt"
	"testing"
	"time"
)

func removal(groups ...[]string) Plan { return Plan{NoStepLabel: NoStepLabel, Removals: groups} }

// deleted carries a deletion through once everything has settled.
func (d *desk) deleted(name string) {
	d.t.Helper()
	d.accept(d.asked(name, PrepareDelete))
	d.answered(name)
	del := d.asked(name, Delete)
	if del.UID != d.lives[name].UID || del.Version != d.lives[name].Version {
		d.t.Fatalf("deleted by %+v", del)
	}
	d.answer(Result{Action: del})
	d.see(name, func(l *Live) { l.Terminating = true })
	d.vanish(name)
}

func TestDeleting(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, d *desk){
		"settle, refresh, delete by UID, wait until it is gone": func(t *testing.T, d *desk) {
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.accept(d.asked("a", PrepareDelete))
			d.pass(10 * time.Second)
			d.quiet()
			d.answered("a")
			d.answer(Result{Action: d.asked("a", Delete)})
			d.see("a", func(l *Live) { l.Terminating = true })
			d.pass(time.Minute)
			d.quiet()
			if d.e.over {
				t.Fatal("over before it is gone")
			}
			d.vanish("a")
			if o := d.over(true); len(o.Deleted) != 1 {
				t.Fatalf("deleted %v", o.Deleted)
			}
		},
		"an operation that was not seen to run, but has left an entry in the history, has to settle": func(t *testing.T, d *desk) {
			d.pass(deleteSettle - 1)
			d.see("a", func(l *Live) { l.Deployed.ID++ })
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.deleted("a")
		},
		"one that has left nothing but the time of its end has to settle, too": func(t *testing.T, d *desk) {
			d.pass(deleteSettle - 1)
			d.see("a", func(l *Live) { l.Ended = d.now })
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.deleted("a")
		},
		"a running operation is terminated first, and its end has to settle": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) {
				l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t5"}
			})
			end := d.asked("a", Terminate)
			if end.Token != "" {
				t.Fatalf("terminated as %q", end.Token)
			}
			d.accept(end)
			d.pass(time.Second)
			d.see("a", func(l *Live) { l.Operation.Pending, l.Operation.Phase = "", Failed })
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.deleted("a")
			d.over(true)
		},
		"an operation of an earlier run is terminated by its token": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) {
				l.Operation = Operation{Pending: "mine", Token: "mine", Phase: Running, Started: "t5"}
			})
			if end := d.asked("a", Terminate); end.Token != "mine" {
				t.Fatalf("terminated as %q", end.Token)
			}
		},
		"an operation that has not begun is meant by its own token": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Operation.Pending = "mine" })
			if end := d.asked("a", Terminate); end.Token != "mine" {
				t.Fatalf("terminated as %q", end.Token)
			}
		},
		"a request to terminate that had no effect is repeated": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })
			d.answer(Result{Action: d.asked("a", Terminate)})
			d.quiet()
			d.pass(terminateAgain)
			d.asked("a", Terminate)
		},
		"an operation that began and ended unseen has to settle as well": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.see("a", func(l *Live) { l.Operation.Token, l.Operation.Started = "?", "t9" })
			d.answered("a")
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.deleted("a")
		},
		"one whose operation ended long ago needs no time, if Argo CD's own clock agrees": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Ended = d.now.Add(-restedAfter) })
			d.accept(d.asked("a", PrepareDelete))
			d.see("a", func(l *Live) { l.Compared = l.Ended.Add(2 * time.Second) })
			d.answered("a")
			d.answer(Result{Action: d.asked("a", Delete)})
			d.vanish("a")
			d.over(true)
		},
		"one that Argo CD has compared too soon after its operation is compared again": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Ended = d.now.Add(-restedAfter) })
			d.accept(d.asked("a", PrepareDelete))
			d.see("a", func(l *Live) { l.Compared = l.Ended.Add(time.Second) })
			d.answered("a")
			d.quiet()
			d.pass(deleteSettle)
			d.deleted("a")
			d.over(true)
		},
		"an operation after the early refresh has to settle": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Ended = d.now.Add(-restedAfter) })
			d.accept(d.asked("a", PrepareDelete))
			d.see("a", func(l *Live) {
				l.Operation.Token, l.Operation.Started, l.Ended, l.Compared = "?", "t9", d.now, d.now
			})
			d.answered("a")
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.deleted("a")
		},
		"one whose operation ended a moment ago has to settle": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.Ended = d.now.Add(1 - restedAfter) })
			d.quiet()
			d.pass(deleteSettle)
			d.deleted("a")
		},
		"one that Argo CD has compared since needs no refresh": func(t *testing.T, d *desk) {
			d.see("a", rested)
			del := d.asked("a", Delete)
			if del.UID != "uid-a" || del.Version != d.lives["a"].Version {
				t.Fatalf("deleted by %+v", del)
			}
			d.answer(Result{Action: del})
			d.vanish("a")
			d.over(true)
		},
		"an operation that begins before the deletion has to settle": func(t *testing.T, d *desk) {
			d.see("a", rested)
			d.see("a", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t7"} })
			d.answer(Result{Action: d.asked("a", Delete), Conflict: true})
			d.accept(d.asked("a", Terminate))
			d.see("a", func(l *Live) { l.Operation.Pending, l.Operation.Phase, l.Ended = "", Failed, d.now })
			d.pass(deleteSettle - 1)
			d.quiet()
			d.pass(1)
			d.deleted("a")
		},
		"an accepted deletion is not repeated at once": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.answered("a")
			d.answer(Result{Action: d.asked("a", Delete)})
			d.pass(deleteAgain - 1)
			d.quiet()
			d.pass(1)
			d.asked("a", Delete)
		},
		"a deletion that meets a conflict is decided anew": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.answered("a")
			d.answer(Result{Action: d.asked("a", Delete), Conflict: true})
			d.quiet()
			d.see("a", func(l *Live) { l.Operation.Pending = "?" })
			d.asked("a", Terminate)
		},
		"what somebody else has deleted is gone": func(t *testing.T, d *desk) {
			d.vanish("a")
			d.over(true)
		},
		"what is recreated with our marks is left alone, but not taken for gone": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.UID = "another" })
			d.quiet()
			d.failed("a", KindRecreated, "")
			d.over(false)
		},
		"what is gone when the deletion is answered is gone": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.answered("a")
			d.answer(Result{Action: d.asked("a", Delete), NotFound: true})
			d.over(true)
		},
		"a deletion that hangs fails with the finalizers and conditions that remain": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.answered("a")
			d.answer(Result{Action: d.asked("a", Delete)})
			d.see("a", failsWith("DeletionError", "cluster unreachable"), func(l *Live) {
				l.Terminating, l.Finalizers, l.Unfinished = true, []string{"resources-finalizer.argocd.argoproj.io"}, []string{"ConfigMap x: Missing"}
			})
			d.pass(5 * time.Minute)
			d.failed("a", KindDeletion, "finalizers: resources-finalizer.argocd.argoproj.io; DeletionError: cluster unreachable; resources: ConfigMap x: Missing")
			d.over(false)
		},
		"reconciliation switched off fails: Argo CD would never delete it": func(t *testing.T, d *desk) {
			d.see("a", func(l *Live) { l.SkipReconcile = true })
			d.failed("a", KindSkipReconcile, "")
		},
		"a controller that does not answer the refresh is named": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.pass(refreshTimeout)
			d.failed("a", KindSilent, "")
		},
		"a refused deletion is a failure": func(t *testing.T, d *desk) {
			d.pass(deleteSettle)
			d.answer(Result{Action: d.asked("a", PrepareDelete), Err: errForbidden})
			d.failed("a", KindRequest, "forbidden")
		},
		"the deadline ends a deletion": func(t *testing.T, d *desk) {
			d.e.opt.Deadline = d.now.Add(time.Minute)
			d.pass(deleteSettle)
			d.accept(d.asked("a", PrepareDelete))
			d.pass(30 * time.Second)
			d.answered("a")
			d.asked("a", Delete)
			d.pass(time.Minute)
			if d.e.over {
				t.Fatal("over while a request is under way")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}), deskOptions())
			d.see("a", old)
			d.listed()
			run(t, d)
		})
	}
}

// rested is an Application that Argo CD has compared since its last operation, and found whole.
func rested(l *Live) {
	l.Prepared, l.Sync = true, Comparison{Status: Synced, OfSpec: true}
	l.Ended, l.Compared = simStart.Add(-time.Hour), simStart.Add(2*time.Second-time.Hour)
}

// refreshedFirst fails unless an Application of this kind is refreshed before its deletion.
func refreshedFirst(t *testing.T, edits ...func(*Live)) {
	t.Helper()
	d := newDesk(t, removal([]string{"a"}), deskOptions())
	d.see("a", append([]func(*Live){old}, edits...)...)
	d.listed()
	d.pass(deleteSettle)
	d.asked("a", PrepareDelete)
	d.quiet()
}

func TestOnlyAWholeProofReplacesTheRefreshBeforeADeletion(t *testing.T) {
	for name, edit := range map[string]func(*Live){
		"a finalizer is missing, or automated sync is on":     func(l *Live) { l.Prepared = false },
		"compared within two seconds, with what is not known": func(l *Live) { l.Compared = l.Compared.Add(-time.Second) },
		"compared before the operation ended":                 func(l *Live) { l.Compared = l.Ended.Add(-time.Minute) },
		"no operation is known":                               func(l *Live) { l.Ended = time.Time{} },
		"not all is in the cluster":                           func(l *Live) { l.Sync.Status = OutOfSync },
		"the comparison failed":                               func(l *Live) { l.Sync.Status = SyncUnknown },
		"the destination is another by now":                   func(l *Live) { l.Sync.OfSpec = false },
	} {
		t.Run(name, func(t *testing.T) {
			refreshedFirst(t, rested, edit)
		})
	}
}

// comparedAtOnce is an Application that Argo CD has compared right after its last operation, and found whole,
// as it does after every sync.
func comparedAtOnce(l *Live) {
	l.Operation.Phase, l.Ended = Succeeded, simStart
	l.Prepared, l.Sync, l.Compared = true, Comparison{Status: Synced, Revisions: l.Operation.Revisions, OfSpec: true}, l.Ended
}

func TestAComparisonRightAfterTheOperationReplacesTheRefreshOnceThatHasSettled(t *testing.T) {
	d := newDesk(t, removal([]string{"a"}, []string{"b"}), deskOptions())
	d.see("a", old, comparedAtOnce)
	d.see("b", old, comparedAtOnce)
	d.listed()
	d.pass(deleteSettle - 1)
	d.quiet()
	d.pass(1)
	d.answer(Result{Action: d.asked("a", Delete)})
	d.vanish("a")
	d.answer(Result{Action: d.asked("b", Delete)})
	d.vanish("b")
	d.over(true)
}

func TestOnlyAWholeComparisonRightAfterTheOperationReplacesTheRefresh(t *testing.T) {
	for name, edit := range map[string]func(*Live){
		"made before the operation ended": func(l *Live) { l.Compared = l.Ended.Add(-time.Second) },
		"of an operation that failed":     func(l *Live) { l.Operation.Phase = Failed },
		"of another revision":             func(l *Live) { l.Operation.Revisions = []string{pinned} },
		"where no end of one is known":    func(l *Live) { l.Ended, l.Compared = time.Time{}, time.Time{} },
		"where something is out of sync":  func(l *Live) { l.Sync.Status = OutOfSync },
		"of another destination":          func(l *Live) { l.Sync.OfSpec = false },
		"where a finalizer is missing":    func(l *Live) { l.Prepared = false },
	} {
		t.Run(name, func(t *testing.T) {
			refreshedFirst(t, comparedAtOnce, edit)
		})
	}
}

func TestAnotherOperationHasToSettleBeforeAComparisonRightAfterItCounts(t *testing.T) {
	d := newDesk(t, removal([]string{"a"}), deskOptions())
	d.see("a", old, comparedAtOnce)
	d.listed()
	d.pass(deleteSettle - 1)
	d.see("a", func(l *Live) { l.Deployed.ID++ })
	d.pass(deleteSettle - 1)
	d.quiet()
	d.pass(1)
	d.asked("a", Delete)
}

func TestWhatWasComparedRightAfterAnOperationLongAgoIsRefreshedOnlyWhereThatIsQuicker(t *testing.T) {
	for n, asks := range map[int]bool{1: true, fewToAsk: true, fewToAsk + 1: false, 300: false} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var names []string
			for i := range n {
				names = append(names, fmt.Sprintf("app-%03d", i))
			}
			d := newDesk(t, removal(names), deskOptions())
			for _, name := range names {
				d.see(name, old, comparedAtOnce, func(l *Live) {
					l.Ended, l.Compared = l.Ended.Add(-restedAfter), l.Compared.Add(-restedAfter)
				})
			}
			d.listed()
			if asks {
				d.accept(d.asked("app-000", PrepareDelete))
				d.answered("app-000")
				d.pass(deleteSettle - 1)
				if len(d.pending) != n-1 {
					t.Fatalf("pending are %+v", d.pending)
				}
			} else {
				d.pass(deleteSettle - 1)
				d.quiet()
			}
			d.pass(1)
			d.asked("app-000", Delete)
		})
	}
}

func TestGroupsOfDeletions(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"a whole group at once, and the next when all of it is gone": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a", "b"}, nil, []string{"c"}), deskOptions())
			for _, name := range []string{"a", "b", "c"} {
				d.see(name, old)
			}
			d.listed()
			d.pass(deleteSettle)
			d.deleted("b")
			d.pass(time.Minute / 2)
			d.deleted("a")
			d.deleted("c")
			d.over(true)
		},
		"all groups are prepared while the first goes, and what changes until its turn is prepared anew": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}, []string{"b", "c"}), deskOptions())
			for _, name := range []string{"a", "b", "c"} {
				d.see(name, old)
			}
			d.listed()
			d.pass(deleteSettle)
			for _, name := range []string{"b", "c"} {
				d.accept(d.asked(name, PrepareDelete))
				d.answered(name)
			}
			d.see("c", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t7"} })
			d.see("c", failedWith("theirs"))
			d.pass(time.Second)
			d.deleted("a")
			d.answer(Result{Action: d.asked("b", Delete)})
			d.vanish("b")
			d.quiet()
			d.pass(deleteSettle)
			d.deleted("c")
			d.over(true)
		},
		"what cannot be prepared while the first group goes stops everything": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}, []string{"b"}), allowing(5))
			d.see("a", old)
			d.see("b", old)
			d.listed()
			d.pass(deleteSettle)
			d.answer(Result{Action: d.asked("b", PrepareDelete), Err: errForbidden})
			d.deleted("a")
			d.quiet()
			d.failed("b", KindRequest, "forbidden")
			d.over(false)
		},
		"nothing more is prepared once a deletion has failed": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a", "c"}, []string{"b"}), deskOptions())
			for _, name := range []string{"a", "b", "c"} {
				d.see(name, old)
			}
			d.see("b", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running, Started: "t7"} })
			d.listed()
			d.pass(deleteSettle)
			d.answer(Result{Action: d.asked("a", PrepareDelete), Err: errForbidden})
			d.asked("c", PrepareDelete) // is never answered
			d.see("b", failedWith("theirs"))
			d.pass(10 * time.Second)
			d.quiet()
		},
		"what is proven already waits for its turn alone": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}, []string{"b"}), deskOptions())
			d.see("a", old, rested)
			d.see("b", old, rested)
			d.listed()
			d.answer(Result{Action: d.asked("a", Delete)})
			d.quiet()
			d.vanish("a")
			d.answer(Result{Action: d.asked("b", Delete)})
			d.vanish("b")
			d.over(true)
		},
		"what is gone already needs nothing": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}, []string{"c"}), deskOptions())
			d.listed()
			d.quiet()
			d.over(true)
		},
		"deletions come after everything else is done": func(t *testing.T) {
			p := planOf("a")
			p.Removals = [][]string{{"z"}}
			d := newDesk(t, p, deskOptions())
			d.see("z", old)
			d.listed()
			d.land("a")
			d.quiet()
			d.pass(5 * time.Second)
			d.deleted("z")
			d.over(true)
		},
		"a failed deletion stops the groups after it": func(t *testing.T) {
			d := newDesk(t, removal([]string{"a"}, []string{"b"}), deskOptions())
			d.see("a", old, func(l *Live) { l.SkipReconcile = true })
			d.see("b", old)
			d.listed()
			d.quiet()
			if o := d.over(false); len(o.Open) != 2 {
				t.Fatalf("open are %v", o.Open)
			}
		},
	} {
		t.Run(name, run)
	}
}
