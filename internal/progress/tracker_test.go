package progress

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

var began = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func label(step int) string { return fmt.Sprintf("step %02d: x", step) }

// planOf has a step for each group of names, of which limit may be in flight at once.
func planOf(limit int, groups ...string) rollout.Plan {
	var p rollout.Plan
	for i, g := range groups {
		p.Steps = append(p.Steps, rollout.Step{Label: label(i + 1), Limit: limit})
		for _, name := range strings.Fields(g) {
			p.Apps = append(p.Apps, rollout.Desired{Name: name, Step: i, Mode: rollout.ModeSync})
		}
	}
	return p
}

// story plays a run to a tracker: the clock is that of the notes.
type story struct {
	t    *testing.T
	r    *tracker
	now  time.Time
	done int
	last Event
}

func (s *story) at(seconds int) *story {
	s.now = began.Add(time.Duration(seconds) * time.Second)
	return s
}

func (s *story) say(n rollout.Note) *story {
	n.At, n.Done = s.now, s.done
	s.last = s.r.event(n)
	return s
}

func (s *story) moment(step int, m rollout.Moment) *story {
	return s.say(rollout.Note{Step: label(step), Moment: m})
}

func (s *story) phase(step int, phase rollout.Phase, names ...string) *story {
	for _, name := range names {
		if phase == rollout.PhaseHealthy || phase == rollout.PhaseDeleted {
			s.done++
		}
		s.say(rollout.Note{App: name, Step: label(step), Phase: phase})
	}
	return s
}

func (s *story) left(seconds int) *story {
	s.t.Helper()
	want := time.Duration(seconds) * time.Second
	switch {
	case seconds < 0 && s.last.LeftKnown:
		s.t.Errorf("after %s there are %s left, which nobody can know", s.now.Sub(began), s.last.Left)
	case seconds >= 0 && (!s.last.LeftKnown || s.last.Left != want):
		s.t.Errorf("after %s there are %s left (known: %v), not %s", s.now.Sub(began), s.last.Left, s.last.LeftKnown, want)
	}
	return s
}

const pending, healthy, failed = rollout.PhasePending, rollout.PhaseHealthy, rollout.PhaseFailed

func TestWhatIsLeftIsEstimatedFromWhatWasMeasured(t *testing.T) {
	s := &story{t: t, r: newTracker("argocd/x", planOf(2, "a b c d", "e f g"), 30*time.Second)}
	s.at(0).moment(1, rollout.MomentBegins).left(-1)
	s.phase(1, pending, "a", "b").left(-1)
	// 10 s each: one more turn here, 30 s of soaking, two turns and 30 s of the second step.
	s.at(10).phase(1, healthy, "a").left(10 + 10 + 30 + 20 + 30 - 10)
	s.phase(1, healthy, "b").left(10 + 30 + 20 + 30)
	s.phase(1, pending, "c", "d")
	s.at(14).say(rollout.Note{Moment: rollout.MomentWaiting, Step: label(1)}).left(6 + 30 + 20 + 30)
	// A slow one: it cannot take less than nothing.
	s.at(40).say(rollout.Note{Moment: rollout.MomentWaiting, Step: label(1)}).left(30 + 20 + 30)
	s.at(50).phase(1, healthy, "c", "d") // 40 s each: 25 s on average
	s.moment(1, rollout.MomentSoaks).left(30 + 50 + 30)
	s.at(60).say(rollout.Note{Moment: rollout.MomentWaiting, Step: label(1)}).left(20 + 50 + 30)
	s.at(80).moment(1, rollout.MomentEnds).left(50 + 30)
	s.moment(2, rollout.MomentBegins).phase(2, pending, "e", "f")
	s.at(105).phase(2, failed, "e").phase(2, healthy, "f").phase(2, pending, "g").left(25 + 30)
	s.at(130).phase(2, healthy, "g").moment(2, rollout.MomentEnds).left(0)
	if e := s.last; e.Done != 6 || e.Total != 7 || e.StepNumber != 2 || e.Steps != 2 {
		t.Errorf("it ends with %+v", e)
	}
}

func TestWhatIsProvenTakesNoTime(t *testing.T) {
	p := planOf(1, "a b c d")
	for i := range 3 {
		p.Apps[i].Proven = true
	}
	s := &story{t: t, r: newTracker("argocd/x", p, 0)}
	s.at(0).phase(1, pending, "d").left(-1).at(5).phase(1, healthy, "d").left(0)
}

func TestNobodyKnowsHowLongPeopleTake(t *testing.T) {
	p := planOf(-1, "a", "b", "c")
	p.Apps[1].Mode = rollout.ModeManual
	s := &story{t: t, r: newTracker("argocd/x", p, 0)}
	s.at(0).phase(1, pending, "a").at(10).phase(1, healthy, "a").left(-1)
	s.phase(2, pending, "b").at(500).phase(2, healthy, "b")
	if !s.last.LeftKnown {
		t.Error("when the person has synced, it can be told again")
	}
}

func TestDeletionsAreAPartOfWhatIsLeft(t *testing.T) {
	p := planOf(-1, "a")
	p.Removals = [][]string{{"y", "z"}, {"x"}}
	s := &story{t: t, r: newTracker("argocd/x", p, 0)}
	s.at(0).phase(1, pending, "a").at(10).phase(1, healthy, "a").left(10 + 10)
	s.phase(0, rollout.PhaseDeleting, "y", "z").left(20)
	s.at(14).phase(0, rollout.PhaseDeleted, "y").left(4 + 4 - 4)
	s.phase(0, rollout.PhaseDeleted, "z").left(4)
	s.phase(0, rollout.PhaseDeleting, "x").at(18).phase(0, rollout.PhaseDeleted, "x").left(0)
	if s.last.Total != 4 || s.last.Done != 4 {
		t.Errorf("it ends with %+v", s.last)
	}
}

func TestANoteTakesTheSameTimeHoweverManyThereAre(t *testing.T) {
	names := make([]string, 50_000)
	for i := range names {
		names[i] = fmt.Sprintf("app-%05d", i)
	}
	s := &story{t: t, r: newTracker("argocd/x", planOf(-1, strings.Join(names, " ")), 0)}
	start := time.Now()
	s.at(0).phase(1, pending, names...)
	s.at(10).phase(1, healthy, names[1:]...).left(0)
	if took := time.Since(start); took > 5*time.Second { // a scan for each of them would take minutes
		t.Errorf("100,000 notes took %s", took)
	}
}

func TestLines(t *testing.T) {
	e := Event{
		Note: rollout.Note{At: began, App: "qa-1", Step: label(2), Phase: rollout.PhaseProgressing, Done: 12, Text: "the operation\nis \x1b[31mrunning: https://user:pass@git/x"},
		Set:  "argocd/shop", StepNumber: 2, Steps: 6, Total: 60, Left: 204 * time.Second, LeftKnown: true,
	}
	want := "03:00:00 argocd/shop [step 2/6, 12/60 done, about 3m20s left] qa-1 (step 02: x) Progressing: the operation is [31mrunning: https://git/x"
	if got := e.Line(Text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = `{"time":"2026-01-02T03:00:00Z","set":"argocd/shop","event":"application","application":"qa-1","step":"step 02: x","step_number":2,"steps":6,` +
		`"status":"Progressing","text":"the operation is [31mrunning: https://git/x","done":12,"total":60,"eta_seconds":204}`
	if got := e.Line(JSON); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (Event{Note: rollout.Note{At: began, Text: "reading the set"}, Set: "argocd/shop"}).Line(Text); got != "03:00:00 argocd/shop: reading the set" {
		t.Errorf("outside of a run: %s", got)
	}
	if long := Clean(strings.Repeat("ä", 2*longestText)); len([]rune(long)) != longestText || !strings.HasSuffix(long, "...") {
		t.Errorf("a long text has %d characters", len([]rune(long)))
	}
	var kinds []string
	for _, n := range []rollout.Note{{}, {App: "a"}, {Moment: rollout.MomentBegins}, {Moment: rollout.MomentEnds}, {Moment: rollout.MomentSoaks}, {Moment: rollout.MomentWaiting}} {
		kinds = append(kinds, Event{Note: n}.Kind())
	}
	if want := []string{"run", "application", "step_begins", "step_ends", "step_soaks", "waiting"}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds are %v, not %v", kinds, want)
	}
}
