package rollout

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// judge fails the test with the whole story if anything was wrong.
func (sc *scenario) judge(t *rapid.T) {
	if len(sc.w.check.problems) > 0 {
		t.Fatalf("%s", sc.story())
	}
}

// succeed demands success: nothing in the scenario is a reason to fail.
func (sc *scenario) succeed(t *rapid.T) Outcome {
	o := sc.w.session.engine.outcome()
	sc.w.check.over(o)
	sc.judge(t)
	if !o.OK() {
		t.Fatalf("the run has not succeeded\n%s", sc.story())
	}
	return o
}

// endless is more events than any run has; slack is how long after its deadline a run may still
// take to end what is in flight.
const (
	endless = 1 << 30
	slack   = terminateTimeout + unsureDelay + 5*time.Second
)

func TestEveryRunWithoutARealFailureSucceedsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := traits{
			trouble: rapid.Bool().Draw(t, "with trouble"), removals: rapid.Bool().Draw(t, "with removals"),
			manual: rapid.Bool().Draw(t, "with manual steps"), atOnce: rapid.IntRange(0, 4).Draw(t, "at once") == 0,
			held: rapid.IntRange(0, 3).Draw(t, "with held ones") == 0,
		}
		switch rapid.IntRange(0, 2).Draw(t, "outside") {
		case 1:
			tr.moving = true
		case 2:
			tr.foreign = true
		}
		sc := drawScenario(t, tr)
		sc.w.start(sc.plan, sc.opt, sc.config)
		sc.drive(t, endless)
		sc.succeed(t)
	})
}

func TestAnInterruptedRolloutReachesTheSameEndWhenRunAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := traits{
			trouble: rapid.Bool().Draw(t, "with trouble"), removals: rapid.Bool().Draw(t, "with removals"),
			manual: rapid.Bool().Draw(t, "with manual steps"), moving: rapid.Bool().Draw(t, "moving"),
			atOnce: rapid.IntRange(0, 4).Draw(t, "at once") == 0, held: rapid.IntRange(0, 3).Draw(t, "with held ones") == 0,
		}
		sc := drawScenario(t, tr)
		sc.w.start(sc.plan, sc.opt, sc.config)
		for range rapid.IntRange(1, 4).Draw(t, "interruptions") {
			if sc.drive(t, rapid.IntRange(1, 150).Draw(t, "events")) {
				break
			}
			sc.interrupt(t)
			sc.judge(t)
			sc.until(100 * time.Hour)
			sc.w.start(sc.plan, sc.opt, sc.config)
		}
		sc.drive(t, endless)
		sc.succeed(t)
		for _, d := range sc.plan.Apps {
			if a := sc.w.apps[d.Name]; a.hash != d.Hash || a.step == "" {
				t.Fatalf("%s ended as %s %q\n%s", a.name, a.hash, a.step, sc.story())
			}
		}
		sc.once(t, "")
	})
}

// interrupt stops the run of the moment: it is killed, or cancelled and given time.
func (sc *scenario) interrupt(t *rapid.T) {
	s := sc.w.session
	if rapid.Bool().Draw(t, "cancelled") {
		s.engine.cancel(StopCancelled, nil)
		if !s.engine.over || s.engine.outcome().OK() {
			t.Fatalf("a cancelled run goes on, or counts as a success")
		}
	}
	if rapid.Bool().Draw(t, "pause") {
		sc.w.idle(sc.w.between(0, 20*time.Second))
	}
}

func TestAPlanThatIsDoneNeedsNoRequestAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moving := rapid.Bool().Draw(t, "moving")
		sc := drawScenario(t, traits{removals: true, manual: !moving, moving: moving, atOnce: rapid.IntRange(0, 4).Draw(t, "at once") == 0})
		sc.w.start(sc.plan, sc.opt, sc.config)
		sc.drive(t, endless)
		o := sc.succeed(t)
		sc.w.idle(time.Minute)
		sc.plan.Pins = o.Pins
		for i := range sc.plan.Apps {
			d := &sc.plan.Apps[i]
			if d.Mode == ModeSync {
				d.Revisions = o.Revisions[d.Name]
			}
			d.Proven = true
		}
		sc.until(time.Hour)
		clear(sc.w.requests)
		began := sc.w.now
		sc.w.start(sc.plan, sc.opt, sc.config)
		sc.drive(t, endless)
		sc.succeed(t)
		if len(sc.w.requests) > 0 {
			t.Fatalf("requests: %v\n%s", sc.w.requests, sc.story())
		}
		if took := sc.w.now.Sub(began); took > time.Second {
			t.Fatalf("it took %s\n%s", took, sc.story())
		}
	})
}

func TestWhateverOthersDoTheRunEndsAndKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t, traits{
			trouble: true, removals: rapid.Bool().Draw(t, "with removals"), moving: rapid.Bool().Draw(t, "moving"),
			foreign: rapid.Bool().Draw(t, "foreign"), manual: rapid.Bool().Draw(t, "with manual steps"),
			held: rapid.IntRange(0, 3).Draw(t, "with held ones") == 0,
		})
		for range rapid.IntRange(1, 3).Draw(t, "sabotages") {
			a := sc.w.apps[rapid.SampledFrom(sc.w.names).Draw(t, "whom")]
			what := rapid.IntRange(0, 8).Draw(t, "what")
			sc.w.after(sc.w.between(0, 20*time.Second), func() { sc.sabotage(a, what) })
		}
		config, refusals := sc.config, rapid.IntRange(0, 40).Draw(t, "refusals per thousand")
		sc.config = func(s *session) {
			config(s)
			s.failRequests = func(action Action) (bool, error) {
				if action.Verb != Terminate && sc.w.rng.IntN(1000) < refusals {
					return sc.w.chance(30), errForbidden
				}
				return false, nil
			}
		}
		sc.opt.AppTimeout = 2 * time.Minute
		sc.opt.Deadline = simStart.Add(time.Duration(rapid.SampledFrom([]int{3, 30, 600}).Draw(t, "deadline")) * time.Second)
		sc.limit = sc.opt.Deadline.Add(slack)
		sc.w.start(sc.plan, sc.opt, sc.config)
		sc.drive(t, endless)
		sc.w.check.over(sc.w.session.engine.outcome())
		sc.judge(t)
	})
}
