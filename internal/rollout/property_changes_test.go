package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestARolloutThatIsInterruptedEndsAtTheNewPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t, traits{
			trouble: rapid.Bool().Draw(t, "with trouble"), removals: rapid.Bool().Draw(t, "with removals"),
			manual: rapid.Bool().Draw(t, "with manual steps"), moving: rapid.Bool().Draw(t, "moving"),
			held: rapid.IntRange(0, 3).Draw(t, "with held ones") == 0, changing: true,
		})
		sc.w.start(sc.plan, sc.opt, sc.config)
		for range rapid.IntRange(1, 3).Draw(t, "changes of the plan") {
			sc.drive(t, rapid.IntRange(1, 200).Draw(t, "events"))
			sc.interrupt(t)
			sc.judge(t)
			sc.w.idle(sc.w.between(200*time.Millisecond, 5*time.Second)) // requests under way arrive
			sc.change(t)
			sc.until(100 * time.Hour)
			sc.w.start(sc.plan, sc.opt, sc.config)
		}
		sc.drive(t, endless)
		sc.succeed(t)
		for _, d := range sc.plan.Apps {
			a, label := sc.w.apps[d.Name], NoStepLabel
			if d.Step != NoStep {
				label = sc.plan.Steps[d.Step].Label
			}
			if a.hash != d.Hash || a.step != label {
				t.Fatalf("%s ended as %s in %q\n%s", a.name, a.hash, a.step, sc.story())
			}
		}
		sc.once(t, "")
	})
}

// change makes another plan: targets change, Applications come, go, and move to other steps, and
// the policy changes.
func (sc *scenario) change(t *rapid.T) {
	p := &sc.plan
	p.Apps, p.Steps = slices.Clone(p.Apps), slices.Clone(p.Steps)
	p.Removals = slices.Clone(p.Removals)
	var removed []string
	for i := range p.Apps {
		d := &p.Apps[i]
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			sc.retarget(d)
		case 1:
			sc.moveTo(t, d)
		case 2:
			removed = append(removed, d.Name)
		}
	}
	if len(removed) > 0 {
		p.Removals = append(p.Removals, removed)
		p.Apps = slices.DeleteFunc(p.Apps, func(d Desired) bool { return slices.Contains(removed, d.Name) })
	}
	for range rapid.IntRange(0, 2).Draw(t, "new apps") {
		a := sc.drawApp(t, traits{}, fmt.Sprintf("app-%02d", len(sc.w.names)))
		sc.place(t, a)
	}
	for i := range p.Steps {
		if p.Steps[i].Limit != -1 {
			p.Steps[i].Limit = rapid.IntRange(1, 3).Draw(t, "new limit")
		}
	}
	slices.SortFunc(p.Apps, func(a, b Desired) int { return strings.Compare(a.Name, b.Name) })
	sc.pin(t)
	sc.opt.SoakTime = time.Duration(rapid.SampledFrom([]int{0, 5, 60}).Draw(t, "new soak")) * time.Second
	sc.opt.MaxFailures = rapid.IntRange(0, 3).Draw(t, "new max failures")
}

// retarget gives an Application a spec that it never had.
func (sc *scenario) retarget(d *Desired) {
	sc.w.seq++
	d.Hash = fmt.Sprintf("target-%d", sc.w.seq)
	sc.w.check.srcs[d.Name] = "new-" + d.Hash
}

// moveTo lets another step select an Application.
func (sc *scenario) moveTo(t *rapid.T, d *Desired) {
	if d.Mode == ModeWrite {
		return
	}
	if rapid.IntRange(0, 3).Draw(t, "new step") == 0 {
		sc.plan.Steps = append(sc.plan.Steps, Step{Label: fmt.Sprintf("step %02d: x", len(sc.plan.Steps)+1), Limit: 1})
	}
	d.Step = rapid.IntRange(0, len(sc.plan.Steps)-1).Draw(t, "moved to")
}
