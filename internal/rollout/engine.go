package rollout

import "time"

// Times that are properties of Argo CD rather than of a rollout (ARGOCD 3.6.1, measured).
const (
	// freshDelay is how long after the end of an operation a comparison is asked for: Argo CD
	// takes changes of live objects in every 100 ms, an earlier comparison may see the old ones.
	freshDelay = 200 * time.Millisecond
	// quietDelay is how long after the end of an operation a new status is waited for before a
	// refresh asks for one.
	quietDelay = 2 * time.Second
	// refreshTimeout is when a refresh, or an operation, counts as unanswered: an application controller
	// that is replaced, or has lost its API server, was seen to be away for 98 seconds.
	refreshTimeout = 2 * time.Minute
	// deleteSettle is the least time between the end of an operation and a deletion; a shorter
	// one leaks resources.
	deleteSettle = 1200 * time.Millisecond
	// restedAfter is how long ago, by our own clock, an operation must have ended for a refresh to
	// be worth asking for without waiting for deleteSettle; Argo CD's clock decides what it proves.
	restedAfter = 5 * time.Second
	// fewToAsk is how many Applications of a group Argo CD compares sooner than they settle: its own client
	// sends 50 requests in a second, and needs two or more for each.
	fewToAsk = 10
	// unsureDelay is how long a write of an operation may have been accepted though its answer was a conflict.
	unsureDelay = 5 * time.Second
	// terminateTimeout is how long the end of a terminated operation is waited for.
	terminateTimeout = 15 * time.Second
	// terminateAgain is when its end is asked for again, should it go on.
	terminateAgain = time.Second
	// deleteAgain is when an accepted deletion is asked for again, should nothing be seen of it.
	deleteAgain = 5 * time.Second
	// conflictDelay is when a refused write is tried again though no newer state was seen.
	conflictDelay = time.Second
	// maxSubmits is how often an operation that vanished without a trace is asked for.
	maxSubmits = 3
)

// engine is the state machine of one run. All its methods are called from one goroutine.
type engine struct {
	plan   Plan
	opt    Options
	apps   map[string]*app
	steps  [][]*app
	noStep []*app
	groups [][]*app

	listed  bool      // everything that has happened is known
	since   time.Time // when the watch was interrupted, zero when it is not
	stage   stage
	step    int // index into steps, or groups when removing
	queue   []*app
	opened  bool
	flight  int       // Applications of the stage that are neither idle, done nor failed
	left    int       // Applications of the stage that are not done
	rolls   bool      // the step has something to roll out
	soaks   bool      // the step must stay healthy for a while before it is done,
	soaking time.Time // and does so since then
	pins    Pins
	leaders map[Source]*app

	unwell    map[*app]bool // done Applications whose health is bad or in doubt
	unwellIn  []int         // their number in each step
	gate      time.Time     // since when unwell ones hold the step back
	gateCheck time.Time     // when the first of them may have used up its grace

	automated   map[string]*app // those whose automated sync is still on
	outstanding int             // actions that are not answered yet,
	abandoned   int             // and those of them that nobody waits for any more
	heard       time.Time       // when the last answer came

	actions  []Action
	timers   timers
	wake     time.Time // of the whole run, zero for none
	failures []Failure
	hopeless bool // nothing new may start, however many failures are allowed
	stop     Stop
	stopErr  error
	over     bool
	story
}

type stage int

const (
	listing stage = iota
	disabling
	stepping
	writing
	deleting
	finished
)

func newEngine(plan Plan, opt Options, now time.Time) *engine {
	e := &engine{
		plan: plan, opt: opt, apps: map[string]*app{}, steps: make([][]*app, len(plan.Steps)),
		automated: map[string]*app{}, story: story{told: now}, pins: Pins{}, leaders: map[Source]*app{}, unwell: map[*app]bool{}, unwellIn: make([]int, len(plan.Steps)),
	}
	for s, r := range plan.Pins {
		e.pins[s] = r
	}
	for i := range plan.Apps {
		want := &plan.Apps[i]
		a := &app{name: want.Name, want: want, label: plan.NoStepLabel}
		e.apps[a.name] = a
		if want.Step == NoStep {
			e.noStep = append(e.noStep, a)
			continue
		}
		a.label = plan.Steps[want.Step].Label
		e.steps[want.Step] = append(e.steps[want.Step], a)
	}
	for _, name := range plan.Held {
		a := &app{name: name, label: heldLabel, aside: true}
		e.apps[name] = a
	}
	for _, names := range plan.Removals {
		var group []*app
		for _, name := range names {
			if e.apps[name] == nil {
				a := &app{name: name, label: "deletion"}
				e.apps[name] = a
				group = append(group, a)
			}
		}
		e.groups = append(e.groups, group)
	}
	return e
}

// observe takes in one event.
func (e *engine) observe(now time.Time, ev Event) {
	switch {
	case ev.Away:
		e.away(now)
		return
	case ev.Listed:
		e.back(now)
		e.pump(now)
		return
	case e.apps[ev.Name] == nil:
		return
	}
	a := e.apps[ev.Name]
	if !a.take(ev, now) {
		return
	}
	e.note(a, now)
	e.pump(now)
}

// note reacts to news about an Application: it watches over the done ones and drives the others.
func (e *engine) note(a *app, now time.Time) {
	a.answered(now)
	e.keepOff(a, now)
	switch a.state {
	case done:
		e.checkup(a, now)
	case failed:
		e.stillRunning(a, now)
	default:
		e.look(a, now)
	}
}

// do sends an action; until it is answered nothing else is decided about the Application.
func (e *engine) do(a *app, action Action, now time.Time) {
	action.App = a.name
	a.busy, a.sent, a.sentOn, a.verb = true, now, a.version(), action.Verb
	e.outstanding++
	e.wakeAt(a, now.Add(answerPatience))
	e.actions = append(e.actions, action)
}

// ask asks for a refresh, unless one is on its way.
func (e *engine) ask(a *app, now time.Time) {
	if a.refresh == "" && !a.busy {
		e.do(a, Action{Verb: Refresh, RefreshID: e.opt.NewID()}, now)
	}
}

// takeActions hands the new actions out.
func (e *engine) takeActions() []Action {
	actions := e.actions
	e.actions = nil
	return actions
}
