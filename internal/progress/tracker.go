package progress

import (
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Event is a note of a run, with where the run as a whole stands.
type Event struct {
	rollout.Note
	// Set is "namespace/name" of the set.
	Set string
	// StepNumber of Steps is the step that rolls, from 1; zero outside of steps.
	StepNumber, Steps int
	// Total is how many Applications there are to roll out and to delete; Note.Done of them are done.
	Total int
	// Left is how long the rest may take; it counts where LeftKnown.
	Left      time.Duration
	LeftKnown bool
}

// tracker follows one run: what is still to be done, and how long it has taken so far. A note takes
// it the same time however many Applications there are.
type tracker struct {
	set   string
	steps []stepState
	// at is the index of the step that rolls, number that of each label, from 1.
	at     int
	number map[string]int
	total  int
	// open are the Applications that are not known to be done.
	open map[string]openApp
	// groups are how many are left of each group to delete, and groupOf which one each of them is in.
	groups  []int
	groupOf map[string]int
	syncs   durations
	removed durations
	soak    time.Duration
	soaking time.Time
	// begun are the Applications in flight and since when; sum is that of the times since start.
	begun map[string]time.Time
	start time.Time
	sum   time.Duration
}

// stepState is how many Applications of a step are open, and how many of these people have to sync.
type stepState struct{ limit, open, manual int }

type openApp struct {
	step   int
	manual bool
}

// durations are those that were measured.
type durations struct {
	sum time.Duration
	n   int
}

func (d durations) mean() time.Duration {
	if d.n == 0 {
		return 0
	}
	return d.sum / time.Duration(d.n)
}

func newTracker(set string, plan rollout.Plan, soak time.Duration) *tracker {
	t := &tracker{
		set: set, soak: soak, number: map[string]int{}, total: len(plan.Apps),
		open: map[string]openApp{}, groupOf: map[string]int{}, begun: map[string]time.Time{},
	}
	for i, s := range plan.Steps {
		t.number[s.Label] = i + 1
		t.steps = append(t.steps, stepState{limit: s.Limit})
	}
	for i := range plan.Apps {
		// One that is proven is most likely at its target already, and takes no time.
		if d := &plan.Apps[i]; d.Step != rollout.NoStep && !d.Proven {
			t.count(d.Name, openApp{step: d.Step, manual: d.Mode == rollout.ModeManual}, 1)
		}
	}
	for i, names := range plan.Removals {
		t.groups = append(t.groups, len(names))
		t.total += len(names)
		for _, name := range names {
			t.groupOf[name] = i
		}
	}
	return t
}

// count adds an open Application to its step (by 1), or takes it away (by -1).
func (t *tracker) count(name string, a openApp, by int) {
	s := &t.steps[a.step]
	s.open += by
	if a.manual {
		s.manual += by
	}
	if by > 0 {
		t.open[name] = a
	} else {
		delete(t.open, name)
	}
}

// event takes a note in, and says where the run stands after it.
func (t *tracker) event(n rollout.Note) Event {
	t.take(n)
	e := Event{Note: n, Set: t.set, Total: t.total, Steps: len(t.steps), StepNumber: t.number[n.Step]}
	e.Left, e.LeftKnown = t.left(n.At)
	return e
}

func (t *tracker) take(n rollout.Note) {
	number, inStep := t.number[n.Step]
	// A note about an Application of an earlier step tells why this one waits.
	if inStep && number-1 > t.at {
		t.at, t.soaking = number-1, time.Time{}
	}
	switch n.Moment {
	case rollout.MomentSoaks:
		t.soaking = n.At
	case rollout.MomentEnds:
		t.at, t.soaking = t.at+1, time.Time{}
	}
	if n.App == "" {
		return
	}
	switch n.Phase {
	case rollout.PhasePending, rollout.PhaseProgressing, rollout.PhaseDeleting:
		t.begin(n)
	case rollout.PhaseHealthy:
		t.end(n, &t.syncs)
	case rollout.PhaseDeleted:
		t.end(n, &t.removed)
	case rollout.PhaseFailed:
		t.end(n, nil)
	}
}

func (t *tracker) begin(n rollout.Note) {
	if _, known := t.begun[n.App]; known {
		return
	}
	if t.start.IsZero() {
		t.start = n.At
	}
	t.begun[n.App] = n.At
	t.sum += n.At.Sub(t.start)
}

// end takes an Application out of what is left; into measures how long it took, unless nil.
func (t *tracker) end(n rollout.Note, into *durations) {
	if since, known := t.begun[n.App]; known {
		delete(t.begun, n.App)
		t.sum -= since.Sub(t.start)
		if into != nil {
			into.sum += n.At.Sub(since)
			into.n++
		}
	}
	if a, open := t.open[n.App]; open {
		t.count(n.App, a, -1)
	} else if group, removed := t.groupOf[n.App]; removed {
		t.groups[group]--
		delete(t.groupOf, n.App)
	}
}

// left estimates how long the rest takes, from what Applications have taken so far: the Applications of
// a step take turns, as many at once as its limit says; what is in flight has used up some of its
// time already. Nothing is said before one Application is done, and while people have to sync some.
func (t *tracker) left(now time.Time) (time.Duration, bool) {
	each, deletion := t.syncs.mean(), t.removed.mean()
	if t.removed.n == 0 {
		deletion = each
	}
	var left time.Duration
	open, removing := 0, 0
	for i := t.at; i < len(t.steps); i++ {
		s := t.steps[i]
		if s.manual > 0 {
			return 0, false
		}
		open += s.open
		left += time.Duration(s.turns())*each + t.soakOf(i, now)
	}
	for _, n := range t.groups {
		if n > 0 {
			left += deletion
			removing++
		}
	}
	if t.total == 0 || open > 0 && t.syncs.n == 0 || removing > 0 && t.removed.n+t.syncs.n == 0 {
		return 0, false
	}
	if open == 0 {
		each = deletion
	}
	return max(0, left-min(each, t.elapsed(now))), true
}

// turns is how often the slots of the step are filled.
func (s stepState) turns() int {
	switch {
	case s.open == 0:
		return 0
	case s.limit <= 0:
		return 1
	}
	return (s.open + s.limit - 1) / s.limit
}

// elapsed is how long those in flight have been, on average.
func (t *tracker) elapsed(now time.Time) time.Duration {
	if len(t.begun) == 0 {
		return 0
	}
	return now.Sub(t.start) - t.sum/time.Duration(len(t.begun))
}

// soakOf is how long a step is still to soak.
func (t *tracker) soakOf(step int, now time.Time) time.Duration {
	switch {
	case step == t.at && !t.soaking.IsZero():
		return max(0, t.soak-now.Sub(t.soaking))
	case t.steps[step].open == 0:
		return 0
	}
	return t.soak
}
