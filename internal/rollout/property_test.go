package rollout

import (
	"testing"

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

const endless = 1 << 30

func TestEveryRunWithoutARealFailureSucceedsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := traits{
			trouble: rapid.Bool().Draw(t, "with trouble"), removals: rapid.Bool().Draw(t, "with removals"),
			manual: rapid.Bool().Draw(t, "with manual steps"),
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
