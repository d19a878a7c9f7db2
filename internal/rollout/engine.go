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
	// refreshTimeout is when a refresh counts as unanswered.
	refreshTimeout = time.Minute
	// deleteSettle is the least time between the end of an operation and a deletion; a shorter
	// one leaks resources.
	deleteSettle = 1200 * time.Millisecond
	// terminateTimeout is how long the end of a terminated operation is waited for.
	terminateTimeout = 15 * time.Second
	// conflictDelay is when a refused write is tried again though no newer state was seen.
	conflictDelay = time.Second
	// maxSubmits is how often an operation that vanished without a trace is asked for.
	maxSubmits = 3
)

// state is what is being done with an Application.
type state int

const (
	idle      state = iota // not its turn yet
	entering               // its turn: waiting until it can be written
	resolving              // written without an operation, to learn what its revision means
	flying                 // our operation runs
	awaiting               // a person, or automated sync, is to sync it
	verifying              // synced: waiting until it is proven healthy
	marking                // at its target: only our marks are written
	givingUp               // failed: waiting until our operation has ended
	removing               // being deleted
	done
	failed
)

// app is one Application of a run: what it shall be (want) or that it shall go (want nil).
type app struct {
	name  string
	label string
	want  *Desired
	live  *Live
	uid   string // of the Application that is being driven or deleted

	state  state
	reason string    // what is waited for, in words
	busy   bool      // an action has not been answered yet
	stuck  string    // the version on which a request met a conflict,
	retry  time.Time // and until when a newer one is waited for
	wake   time.Time

	deadline   time.Time
	token      string
	submits    int
	terminated string // the operation whose end was asked for
	history    int64  // newest history id before our operation
	before     string
	wrote      bool // written by this run
	sources    bool // that write changed what Argo CD compares

	ended    time.Time // when our operation was seen to have ended
	fresh    time.Time // when the last refresh was answered
	refresh  string    // the refresh that is not answered yet
	asked    time.Time
	askedAt  uint64 // rank after asking
	healthy  time.Time
	troubled time.Time // since when the trouble below stands
	trouble  Kind
	said     string
	seen     time.Time
}

// engine is the state machine of one run. All its methods are called from one goroutine.
type engine struct {
	plan   Plan
	opt    Options
	apps   map[string]*app
	steps  [][]*app
	noStep []*app
	groups [][]*app

	listed  bool
	stage   stage
	step    int // index into steps, or groups when removing
	queue   []*app
	opened  bool
	flight  int  // Applications of the stage that are neither idle, done nor failed
	left    int  // Applications of the stage that are not done
	rolls   bool // the step has something to roll out
	pins    Pins
	leaders map[Source]*app
	unwell  map[string]*app // done Applications whose health is bad or in doubt
	gate    time.Time       // since when unwell ones hold the step back

	automated   map[string]*app // those whose automated sync is still on
	outstanding int             // actions that are not answered yet

	actions  []Action
	timers   timers
	failures []Failure
	stop     Stop
	stopErr  error
	over     bool
	log      []Note
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
		pins: Pins{}, leaders: map[Source]*app{}, unwell: map[string]*app{},
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
	if !opt.Deadline.IsZero() {
		e.wakeAt(nil, opt.Deadline)
	}
	return e
}

// observe takes in one event.
func (e *engine) observe(now time.Time, ev Event) {
	switch {
	case ev.Listed:
		e.listed = true
		for _, a := range e.apps {
			a.seen = now
		}
		e.pump(now)
		return
	case e.apps[ev.Name] == nil:
		return
	}
	a := e.apps[ev.Name]
	if !a.take(ev) {
		return
	}
	e.note(a, now)
	e.pump(now)
}

// take stores what the event says, if it is news.
func (a *app) take(ev Event) bool {
	if ev.Live == nil {
		if a.live == nil || (ev.UID != "" && ev.UID != a.live.UID) {
			return false
		}
		a.live = nil
		return true
	}
	if !ev.Live.newer(a.live) {
		return false
	}
	a.live = ev.Live
	return true
}

// note reacts to news about an Application: it watches over the done ones and drives the others.
func (e *engine) note(a *app, now time.Time) {
	a.answered(now)
	if a.state == done {
		e.checkup(a)
		return
	}
	e.look(a, now)
}

// result takes in the answer to an action.
func (e *engine) result(now time.Time, r Result) {
	a := e.apps[r.Action.App]
	a.busy = false
	e.outstanding--
	if r.Live != nil && r.Live.newer(a.live) {
		a.live = r.Live
	}
	switch {
	case r.Err != nil:
		e.refused(a, r, now)
	case r.Conflict || r.NotFound:
		e.conflicted(a, r, now)
	default:
		a.retry = time.Time{}
		e.accepted(a, r, now)
	}
	e.note(a, now)
	e.pump(now)
}

func (e *engine) refused(a *app, r Result, now time.Time) {
	if a.state == done || a.state == failed {
		return
	}
	if a.state == givingUp {
		e.giveUpEnded(a, now)
		return
	}
	if a.state == idle {
		e.begin(a, entering)
	}
	e.failWith(a, Failure{Kind: KindRequest, Said: r.Err.Error(), Err: r.Err, Doing: string(r.Action.Verb)}, now)
}

// conflicted waits for a newer state, or looks again soon should none be seen.
func (e *engine) conflicted(a *app, r Result, now time.Time) {
	if r.NotFound && a.live != nil && (r.Action.Verb == Delete || a.live.Version == r.Action.Version) {
		a.live = nil
		return
	}
	a.stuck, a.retry = r.Action.Version, now.Add(conflictDelay)
	if a.state != removing {
		a.reason = "the Application was changed meanwhile; deciding again"
	}
}

// held tells that a request met a conflict and nothing newer has been seen yet.
func (a *app) held(now time.Time) bool {
	version := ""
	if a.live != nil {
		version = a.live.Version
	}
	return now.Before(a.retry) && version == a.stuck
}

func (e *engine) accepted(a *app, r Result, now time.Time) {
	switch r.Action.Verb {
	case Write:
		a.wrote = true
		if r.Live != nil {
			a.uid = r.Live.UID
		}
		e.written(a, r.Action, now)
	case Mark:
		if a.state == marking {
			e.finish(a, now, "at its target already")
		}
	case Refresh, PrepareDelete:
		a.refresh, a.asked = r.Action.RefreshID, now
		if r.Live != nil {
			a.askedAt = r.Live.Rank
		}
		e.wakeAt(a, now.Add(refreshTimeout))
	case Terminate:
		a.terminated = a.operationKey()
	case Delete:
		a.reason = "Argo CD is deleting its resources"
	}
}

// answered notices that a refresh has been answered.
func (a *app) answered(now time.Time) {
	if a.refresh != "" && !a.busy && a.live != nil && a.live.RefreshID == "" && a.live.Rank > a.askedAt {
		a.refresh, a.fresh = "", now
	}
}

// do sends an action; until it is answered nothing else is decided about the Application.
func (e *engine) do(a *app, action Action) {
	action.App = a.name
	a.busy = true
	e.outstanding++
	e.actions = append(e.actions, action)
}

// ask asks for a refresh, unless one is on its way.
func (e *engine) ask(a *app) {
	if a.refresh == "" && !a.busy {
		e.do(a, Action{Verb: Refresh, RefreshID: e.opt.NewID()})
	}
}

// takeActions hands the new actions out.
func (e *engine) takeActions() []Action {
	actions := e.actions
	e.actions = nil
	return actions
}

// operationKey tells one operation of the Application from another.
func (a *app) operationKey() string {
	if a.live == nil {
		return ""
	}
	o := a.live.Operation
	return o.Pending + "/" + o.Token + "/" + o.Started
}
