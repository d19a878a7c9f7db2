package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// rules are mistakes of which each breaks one promise: what the world must be like for it to matter, how
// it is planted, and what the checker says.
var rules = map[string]struct {
	arrange, plant func(sc *scenario)
	resumed        bool // it is planted into a second run of the same plan
	want           string
}{
	"old health counts": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.progress = 2 * time.Minute },
		plant:   func(sc *scenario) { sc.lie("a", func(l *Live) { l.Health.Type = Healthy }) },
		want:    "a counts as done, but was not healthy for 5s",
	},
	"an operation that ended in the same second counts as ours": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.opTime = time.Minute },
		plant: func(sc *scenario) {
			sc.lie("a", func(l *Live) {
				if x := sc.app("a"); x.state == flying || x.state == verifying {
					succeeded(l)
					l.Operation.Token, l.Operation.Revisions = x.token, []string{pinned}
					compared(Synced, pinned)(l)
					l.Deployed = Deployed{ID: 9, Revisions: []string{pinned}, OfSpec: true}
					l.Health.Type = Healthy
				}
			})
		},
		want: "a counts as done: deployed is",
	},
	"what is at its target is synced again": {
		resumed: true,
		plant: func(sc *scenario) {
			sc.lie("a", func(l *Live) { l.Operation.Phase = Failed })
		},
		want: "was synced 2 times",
	},
	"the spec is compared without Argo CD's defaults": {
		resumed: true,
		plant: func(sc *scenario) {
			sc.lie("a", func(l *Live) {
				if x := sc.app("a"); x.state == idle || x.state == entering {
					l.Hash = "new, and a default"
				}
			})
		},
		want: "was synced 2 times",
	},
	"automated sync that is switched on in the middle is overlooked": {
		arrange: func(sc *scenario) { sc.w.after(2*time.Second, func() { sc.w.automatic(sc.w.apps["c"]) }) },
		plant: func(sc *scenario) {
			sc.lie("c", func(l *Live) { l.AutomatedOn, l.Hash = false, strings.TrimSuffix(l.Hash, "+auto") })
		},
		want: "written while automated sync of c is on",
	},
	"silence counts as health": {
		arrange: func(sc *scenario) {
			a := sc.w.apps["a"]
			sc.w.after(6*time.Second, func() { sc.w.interrupt(20 * time.Second) })
			for at, health := range map[time.Duration]string{7 * time.Second: Degraded, 40 * time.Second: Healthy} {
				sc.w.after(at, func() { sc.w.setTruth(a, deployed{a.truth.content, health}) })
			}
		},
		plant: func(sc *scenario) { sc.always(func(e *engine) { e.listed = true }) },
		want:  "a counts as done, but",
	},
	"what a killed run has synced a moment ago counts as done": {
		resumed: true,
		plant: func(sc *scenario) {
			sc.opt.MinHealthy = 2 * time.Minute
			sc.planted = func() { sc.w.session.engine.opt.MinHealthy = 0 }
		},
		want: "counts as done already, but was not healthy for 2m0s",
	},
	"a failed operation is waited for": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.fails, sc.w.apps["a"].nature.limit = 9, 0 },
		plant: func(sc *scenario) {
			sc.lie("a", func(l *Live) {
				if l.Operation.Phase == Failed {
					l.Operation.Phase = Running
				}
			})
		},
		want: "and it is still waited for",
	},
	"an operation that ended with Error is waited for": {
		arrange: func(sc *scenario) {
			sc.w.apps["a"].nature.fails, sc.w.apps["a"].nature.limit, sc.w.apps["a"].nature.errs = 9, 0, true
		},
		plant: func(sc *scenario) {
			sc.lie("a", func(l *Live) {
				if l.Operation.Phase == Error {
					l.Operation.Phase = Running
				}
			})
		},
		want: "and it is still waited for",
	},
	"Degraded for a moment is a failure": {
		arrange: func(sc *scenario) {
			sc.w.apps["a"].nature.blip, sc.w.apps["a"].nature.blipAfter = 4*time.Second, 100*time.Millisecond
		},
		plant: func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.DegradedGrace = 1 } },
		want:  "a has failed: degraded",
	},
	"the error of a newer commit counts as ours": {
		arrange: func(sc *scenario) { sc.w.after(500*time.Millisecond, func() { sc.w.commit(mainBranch, true) }) },
		plant: func(sc *scenario) {
			sc.lie("a", func(l *Live) {
				if len(l.Errors) > 0 {
					l.Sync.Revisions = []string{pinned}
				}
			})
		},
		want: "a has failed: comparison failed",
	},
	"out of sync is accepted by itself": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.outOfSync = true },
		plant:   func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.AcceptOutOfSync = true } },
		want:    "a counts as done, but is out of sync",
	},
	"Suspended is accepted by itself": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.pause = time.Minute },
		plant:   func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.Suspended = SuspendedAccept } },
		want:    "a counts as done, but was not healthy for 5s",
	},
	"Suspended is a failure though somebody is waited for": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.pause = 12 * time.Minute },
		plant:   func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.Suspended = SuspendedFail } },
		want:    "a has failed: suspended",
	},
	"app_timeout goes on while Suspended": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.pause = 12 * time.Minute },
		plant: func(sc *scenario) {
			sc.always(func(e *engine) {
				if x := e.apps["a"]; !x.stopped.IsZero() && !x.busy && !sc.w.now.Before(x.deadline) {
					e.timedOut(x, sc.w.now)
				}
			})
		},
		want: "a has failed: suspended",
	},
	"the message of a sync window that flashes up is a failure": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.windowBlip = true },
		plant:   func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.ErrorGrace = 0 } },
		want:    "a has failed: sync window closed",
	},
	"a closed sync window is a failure though it is waited for": {
		arrange: func(sc *scenario) {
			sc.w.apps["a"].nature.window, sc.opt.WaitForWindow = simStart.Add(12*time.Minute), true
		},
		plant: func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.WaitForWindow = false } },
		want:  "a has failed: sync window closed",
	},
	"retries are not waited for": {
		arrange: func(sc *scenario) {
			sc.w.apps["a"].nature.fails, sc.w.apps["a"].nature.retryAfter, sc.opt.AllRetries = 2, 15*time.Second, true
		},
		plant: func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.AllRetries = false } },
		want:  "a has failed: sync failed",
	},
	"a controller that is silent is waited for": {
		arrange: func(sc *scenario) { sc.w.apps["b"].nature.silent = simStart.Add(1000 * time.Hour) },
		plant:   func(sc *scenario) { sc.always(func(e *engine) { e.apps["b"].asked = sc.w.now }) },
		want:    "b has failed: timed out",
	},
	"an operation is started on what is being deleted": {
		arrange: func(sc *scenario) {
			sc.w.apps["c"].terminating, sc.w.apps["c"].nature.silent = true, simStart.Add(time.Minute)
		},
		plant: func(sc *scenario) { sc.lie("c", func(l *Live) { l.Terminating = false }) },
		want:  "c: written while it is being deleted",
	},
	"one too many is in flight": {
		arrange: func(sc *scenario) { sc.plan.Steps[0].Limit = 1 },
		plant: func(sc *scenario) {
			sc.planted = func() {
				e := sc.w.session.engine
				e.plan.Steps = slices.Clone(e.plan.Steps)
				e.plan.Steps[0].Limit++
			}
		},
		want: "2 Applications of step 0 in flight, the limit is 1",
	},
	"a percentage is taken of the whole set instead of the step": {
		arrange: func(sc *scenario) { sc.w.check.percent[0], sc.plan.Steps[0].Limit = 50, percentLimit(50, 2) },
		plant:   func(sc *scenario) { sc.plan.Steps[0].Limit = percentLimit(50, len(sc.plan.Apps)) },
		want:    "2 Applications of step 0 in flight, the limit is 1",
	},
	"one failure too many is allowed": {
		arrange: func(sc *scenario) { sc.w.apps["a"].nature.fails, sc.w.apps["a"].nature.limit = 9, 0 },
		plant:   func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.MaxFailures = 1 } },
		want:    "1 Applications had failed before c was written, the limit is 0",
	},
	"what is hopeless is taken for one failure": {
		arrange: func(sc *scenario) {
			sc.opt.MaxFailures = 5
			sc.config = func(s *session) {
				s.failRequests = func(a Action) (bool, error) {
					if a.App == "a" && a.Verb == Write {
						return true, errForbidden
					}
					return false, nil
				}
			}
		},
		plant: func(sc *scenario) { sc.always(func(e *engine) { e.hopeless = false }) },
		want:  "c written after the run was halted",
	},
	"the next step begins while the operation of a failed one runs": {
		arrange: func(sc *scenario) {
			sc.w.apps["a"].nature.stuck, sc.opt.MaxFailures, sc.opt.AppTimeout = true, 1, 20*time.Second
		},
		plant: func(sc *scenario) {
			sc.config = func(s *session) { s.twist = func(a *Action) bool { return a.Verb != Terminate } }
			sc.always(func(e *engine) {
				if x := e.apps["a"]; x.state == givingUp && !x.busy {
					e.giveUpEnded(x, sc.w.now)
					e.pump(sc.w.now)
					sc.w.acted(sc.w.session)
				}
			})
		},
		want: "the operation of a, which has failed, was running before c was written",
	},
	"deletions begin although something has failed": {
		arrange: func(sc *scenario) {
			sc.w.apps["a"].nature.fails, sc.w.apps["a"].nature.limit, sc.opt.MaxFailures = 9, 0, 1
		},
		plant: func(sc *scenario) {
			sc.always(func(e *engine) {
				if e.step == 1 {
					e.failures = nil
				}
			})
		},
		want: "deletion of x begun although a has failed",
	},
	"a step does not soak": {
		arrange: func(sc *scenario) { sc.opt.SoakTime = time.Minute },
		plant:   func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.SoakTime = 1 } },
		want:    "step 0 was well for",
	},
	"a dip does not start the soak anew": {
		arrange: func(sc *scenario) {
			sc.opt.SoakTime = time.Minute
			sc.w.apps["b"].nature.blip, sc.w.apps["b"].nature.blipAfter = 20*time.Second, 25*time.Second
		},
		plant: func(sc *scenario) {
			var since time.Time
			sc.always(func(e *engine) {
				if e.step > 0 {
					return
				}
				if !e.soaking.IsZero() && since.IsZero() {
					since = e.soaking
				}
				if !e.soaking.IsZero() {
					e.soaking = since
					e.wakeAllAt(since.Add(e.opt.SoakTime))
				}
			})
		},
		want: "step 0 was well for",
	},
	"what is not proven does not soak when it is found at its target": {
		arrange: func(sc *scenario) { sc.opt.SoakTime = time.Minute },
		resumed: true,
		plant: func(sc *scenario) {
			sc.planted = func() {
				for _, d := range sc.plan.Apps {
					d.Proven = true
					sc.app(d.Name).want = &d
				}
			}
		},
		want: "step 0 was well for",
	},
	"an unhealthy earlier step holds nobody back": {
		arrange: func(sc *scenario) {
			n := &sc.w.apps["a"].nature
			n.blip, n.blipAfter, n.blipAs = time.Minute, 12*time.Second, Suspended
			sc.plan.Steps[1].Limit, sc.w.apps["c"].nature.progress = 1, 8*time.Second
		},
		plant: func(sc *scenario) { sc.planted = func() { sc.w.session.engine.opt.IgnoreUnhealthyEarlier = true } },
		want:  "a has been unhealthy for long before d was written",
	},
	"what is held back is deleted": {
		plant: func(sc *scenario) {
			sc.always(func(e *engine) {
				if x := e.apps["h"]; e.stage == deleting && x.aside {
					x.aside, x.next = false, true
					sc.w.apps["h"].looked = time.Time{} // or nothing would have to be prepared
					sc.w.touch(sc.w.apps["h"])
				}
			})
		},
		want: "h is held back, but asked to prepare deletion",
	},
	"automated sync of what is held back stays on": {
		plant: func(sc *scenario) { sc.planted = func() { delete(sc.w.session.engine.apps, "h") } },
		want:  "written while automated sync of h is on",
	},
	"deletions go in the wrong order": {
		plant: func(sc *scenario) { sc.planted = func() { slices.Reverse(sc.w.session.engine.groups) } },
		want:  "deletion of y begun while x of an earlier group is there",
	},
	"one deletion is forgotten": {
		plant: func(sc *scenario) {
			sc.planted = func() { e := sc.w.session.engine; e.groups[1] = nil; delete(e.apps, "y") }
		},
		want: "the run has succeeded, but y is there",
	},
	"a deletion while an operation runs": {
		arrange: func(sc *scenario) {
			sc.plan.Apps, sc.plan.Steps = nil, nil
			sc.w.apps["x"].occupied()
			sc.w.apps["x"].nature.shrugs = 5
		},
		plant: func(sc *scenario) {
			sc.lie("x", func(l *Live) { l.Operation.Pending, l.Operation.Phase = "", Succeeded })
		},
		want: "x deleted while an operation is active",
	},
	"a comparison of before the end of an operation is taken for a later one": {
		arrange: func(sc *scenario) {
			sc.plan.Apps, sc.plan.Steps = nil, nil
			sc.w.apps["x"].occupied()
		},
		plant: func(sc *scenario) {
			sc.lie("x", func(l *Live) {
				if !l.Operation.Active() {
					l.Compared, l.Sync.Status, l.Sync.OfSpec = l.Ended.Add(2*time.Second), Synced, true
				}
			})
		},
		want: "x deleted without an answered refresh",
	},
	"a leader that fails hands nothing on": {
		arrange: func(sc *scenario) {
			sc.plan = unresolved(sc.plan)
			sc.w.apps["a"].auto, sc.w.apps["a"].hash = false, "old" // it leads
			sc.opt.MaxFailures = 1
			sc.config = func(s *session) {
				s.failRequests = func(a Action) (bool, error) {
					if a.App == "a" && a.Verb == Write {
						return false, errForbidden
					}
					return false, nil
				}
			}
		},
		plant: func(sc *scenario) { sc.always(func(e *engine) { e.apps["a"].waiters = nil }) },
		want:  "b has failed: timed out",
	},
}

// TestEachPromiseIsGuarded: the mistake is found, and without it nothing of the kind is.
func TestEachPromiseIsGuarded(t *testing.T) {
	for name, c := range rules {
		for _, planted := range []bool{false, true} {
			t.Run(map[bool]string{false: "without: ", true: ""}[planted]+name, func(t *testing.T) {
				sc := fixedWithHeld()
				if c.arrange != nil {
					c.arrange(sc)
				}
				plant := func(sc *scenario) {
					if planted {
						c.plant(sc)
					}
				}
				var found string
				if c.resumed {
					found = sc.again(t, plant)
				} else {
					plant(sc)
					found = sc.run(t)
				}
				if strings.Contains(found, c.want) != planted {
					t.Fatalf("found is:\n%s\n%s", found, sc.story())
				}
			})
		}
	}
}
