package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

var simStart = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// scenario is a world with a plan for it.
type scenario struct {
	w      *world
	plan   Plan
	opt    Options
	config func(*session)
	// planted changes the engine of a run that has just begun, to plant a mistake.
	planted func()
	// limit is the latest time at which a run must have ended.
	limit time.Time
}

// traits are what a scenario may contain.
type traits struct {
	trouble  bool // what passes by itself: lost operations, blips, retries, silence
	moving   bool // HEAD moves
	foreign  bool // somebody else's harmless doing
	removals bool
	manual   bool
	atOnce   bool // AllAtOnce, with and without automated sync
	held     bool // Applications that are held back
	changing bool // the plan changes
}

func newWorld(seed uint64) *world {
	w := &world{
		now: simStart, rng: rand.New(rand.NewPCG(seed, 7)), apps: map[string]*simApp{},
		branches: map[Source][]commit{}, requests: map[string]int{},
	}
	w.skew = w.between(0, 20*time.Second) - 10*time.Second
	w.check = &checker{w: w, srcs: map[string]string{}, disturbed: map[string]bool{}, ops: map[string]int{}, percent: map[int]int{}, lag: 700 * time.Millisecond}
	return w
}

func drawScenario(t *rapid.T, tr traits) *scenario {
	seed := rapid.Uint64().Draw(t, "seed")
	w := newWorld(seed)
	sc := &scenario{w: w}
	sc.drawOptions(t)
	large := rapid.IntRange(0, 24).Draw(t, "large") == 24
	sc.drawSteps(t, tr, large)
	count := rapid.IntRange(1, 7).Draw(t, "apps")
	if large {
		count = rapid.IntRange(20, 40).Draw(t, "many apps")
	}
	for i := range count {
		sc.drawApp(t, tr, fmt.Sprintf("app-%02d", i))
	}
	if tr.held {
		sc.drawHeld(t)
	}
	for i, s := range simSources[:2] {
		w.branches[s] = []commit{{sha: sha(100 + i), touches: w.some(100)}}
		if w.chance(50) {
			w.branches[s] = append(w.branches[s], commit{sha: sha(200 + i), touches: w.some(60)})
		}
	}
	if tr.removals {
		sc.drawRemovals(t)
	}
	for _, name := range w.names {
		sc.place(t, w.apps[name])
	}
	sc.pin(t)
	sc.config = func(s *session) {
		s.chaos = 10
		s.ambiguous = 3
		s.deaf = 3
	}
	if tr.moving {
		sc.move(t, tr.changing)
	}
	if tr.foreign {
		sc.disturb(t)
	}
	if tr.manual {
		w.after(time.Second, sc.person)
	}
	return sc
}

// simSources are a branch of each of two repositories, and a commit of a third.
var simSources = []Source{{RepoURL: "a", TargetRevision: "main"}, {RepoURL: "b", TargetRevision: "main"}, {RepoURL: "c", TargetRevision: sha(7)}}

// longest is how long anything in a scenario may keep a run waiting that waits for it.
const longest = 20 * time.Minute

// drawOptions draws the policy of the rollout.
func (sc *scenario) drawOptions(t *rapid.T) {
	seconds := func(what string, s ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(s).Draw(t, what)) * time.Second
	}
	sc.opt = Options{
		AppTimeout: 5 * time.Minute, DegradedGrace: 30 * time.Second, ErrorGrace: 10 * time.Second, DeleteTimeout: 2 * time.Minute,
		MinHealthy:  seconds("min healthy", 0, 2, 5),
		SoakTime:    seconds("soak", 0, 0, 0, 5, 15, 60),
		MaxFailures: rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "max failures"),
		Suspended:   rapid.SampledFrom([]SuspendedPolicy{"", SuspendedWait, SuspendedAccept, SuspendedFail}).Draw(t, "suspended"),
		AllRetries:  rapid.Bool().Draw(t, "all retries"), WaitForWindow: rapid.Bool().Draw(t, "wait for window"),
		AcceptOutOfSync:        rapid.IntRange(0, 2).Draw(t, "accept out of sync") == 0,
		IgnoreUnhealthyEarlier: rapid.IntRange(0, 7).Draw(t, "ignore unhealthy") == 0,
	}
	sc.until(100 * time.Hour)
}

// until sets the deadline of the next run.
func (sc *scenario) until(d time.Duration) {
	sc.opt.Deadline = sc.w.now.Add(d)
	sc.limit = sc.opt.Deadline.Add(slack)
}

// drawHeld adds Applications that are held back; all sorts of things happen to them.
func (sc *scenario) drawHeld(t *rapid.T) {
	w := sc.w
	for i := range rapid.IntRange(1, 3).Draw(t, "held") {
		a := &simApp{name: fmt.Sprintf("held-%d", i), sources: simSources[2:], nature: nature{opTime: time.Second, limit: 5}}
		sc.plan.Held = append(sc.plan.Held, a.name)
		w.add(a)
		what := rapid.IntRange(0, 10).Draw(t, "to the held")
		w.after(w.between(0, 20*time.Second), func() {
			switch {
			case what < 9:
				sc.sabotage(a, what)
			case a.exists:
				w.setTruth(a, deployed{a.truth.content, Degraded})
			}
		})
	}
}

func (sc *scenario) drawSteps(t *rapid.T, tr traits, large bool) {
	sc.plan.NoStepLabel = NoStepLabel
	if tr.atOnce {
		sc.plan.Steps = []Step{{Label: AllAtOnceLabel, Limit: -1}}
		return
	}
	sc.plan.DisableAutomated = true
	n := rapid.IntRange(1, 4).Draw(t, "steps")
	if large {
		n = 6
	}
	for i := range n {
		limit := rapid.SampledFrom([]int{-1, 1, 2, 3}).Draw(t, "limit")
		percent := rapid.SampledFrom([]int{0, 0, 0, 20, 50, 100}).Draw(t, "percent")
		if tr.manual && rapid.IntRange(0, 2).Draw(t, "manual") == 0 {
			limit = -2
		} else if percent > 0 {
			sc.w.check.percent[i] = percent
		}
		sc.plan.Steps = append(sc.plan.Steps, Step{Label: fmt.Sprintf("step %02d: x", i+1), Limit: limit})
	}
}

// pin tells the plan more or less of the revisions.
func (sc *scenario) pin(t *rapid.T) {
	known := rapid.SampledFrom([]string{"revisions", "pins", "nothing"}).Draw(t, "known")
	sc.plan.Pins = Pins{}
	for i := range sc.plan.Apps {
		d := &sc.plan.Apps[i]
		head := sc.w.head(d.Sources)
		d.Revisions = nil
		switch {
		case known == "revisions" && d.Mode == ModeSync:
			d.Revisions = head
		case known != "nothing":
			for j, s := range d.Sources {
				if !Immutable(s) {
					sc.plan.Pins[s] = head[j]
				}
			}
		}
	}
	for i := range sc.plan.Steps {
		if sc.plan.Steps[i].Limit == -2 {
			sc.plan.Steps[i].Limit = -1
		}
		if percent := sc.w.check.percent[i]; percent > 0 {
			of := len(slices.DeleteFunc(slices.Clone(sc.plan.Apps), func(d Desired) bool { return d.Step != i }))
			sc.plan.Steps[i].Limit = percentLimit(percent, of)
		}
	}
}

// percentLimit is what a max_update of so many percent means in a plan.
func percentLimit(percent, total int) int {
	return appset.MaxUpdate{Set: true, Percent: true, Value: percent}.Limit(total)
}

func (sc *scenario) drawRemovals(t *rapid.T) {
	for g := range rapid.IntRange(1, 3).Draw(t, "groups") {
		var names []string
		for i := range rapid.IntRange(0, 3).Draw(t, "of group") {
			a := &simApp{name: fmt.Sprintf("gone-%d-%d", g, i), sources: []Source{{RepoURL: "c", TargetRevision: sha(7)}}}
			a.nature = nature{opTime: time.Second, limit: 5, stuck: rapid.Bool().Draw(t, "stuck")}
			a.nature.shrugs = rapid.IntRange(0, 1).Draw(t, "shrugs")
			names = append(names, a.name)
			sc.w.add(a)
			if op := rapid.SampledFrom([]string{"", "?", "earlier"}).Draw(t, "operation"); op != "" {
				sc.w.after(sc.w.between(0, 15*time.Second), func() {
					if a.exists && !a.terminating && !a.running() {
						a.pending = &simOp{token: op, revisions: sc.w.head(a.sources), src: "new"}
						sc.w.touch(a)
					}
				})
			}
		}
		sc.plan.Removals = append(sc.plan.Removals, names)
	}
}

// some is a random part of the Applications.
func (w *world) some(percent int) map[string]bool {
	out := map[string]bool{}
	for _, name := range w.names {
		out[name] = w.chance(percent)
	}
	return out
}

// commit moves HEAD of a mutable Source.
func (w *world) commit(s Source, broken bool) {
	b := w.branches[s]
	w.branches[s] = append(b, commit{sha: sha(1000 + w.seq), touches: w.some(60), broken: broken})
	for _, name := range w.names { // Argo CD looks now and then, or is told by a webhook
		a := w.apps[name]
		w.after(w.between(0, 5*time.Second), func() { w.compare(a, true) })
	}
}

// drive runs the session of the moment until it is over, or until so many events have happened.
func (sc *scenario) drive(t rapid.TB, events int) bool {
	w := sc.w
	for n := 0; n < events; n++ {
		e := w.session.engine
		if e.over {
			return true
		}
		wake, ok := e.nextWake()
		if !ok && len(w.queue) == 0 {
			t.Fatalf("the run waits for nothing at all\n%s", sc.story())
		}
		if !ok {
			wake = w.queue[0].at
		}
		if ok && (len(w.queue) == 0 || wake.Before(w.queue[0].at)) {
			w.now = wake
			e.tick(w.now)
			w.acted(w.session)
		} else {
			w.step(w.queue[0].at)
		}
		if w.now.After(sc.limit) {
			t.Fatalf("the run has not ended in time\n%s", sc.story())
		}
	}
	return w.session.engine.over
}

// idle lets the world go on by itself.
func (w *world) idle(d time.Duration) {
	w.session = nil
	until := w.now.Add(d)
	for w.step(until) {
		continue
	}
	w.now = until
}
