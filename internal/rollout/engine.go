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
	// be worth asking for without waiting for deleteSettle. Argo CD's clock decides what it proves.
	restedAfter = 5 * time.Second
	// unsureDelay is how long such a write may have been accepted though its answer was a conflict.
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
	aside bool      // held back: nothing but its automated sync concerns this run
	gone  string    // UID of the last one that is gone: late news of it is none
	uid   string    // of the Application that is being driven or deleted
	moved time.Time // when its operation was last seen active or changed
	next  bool      // its group is the next to be deleted, and is prepared
	early time.Time // when a refresh before a deletion was asked for without letting it settle

	state  state
	reason string    // what is waited for, in words
	busy   bool      // an action has not been answered yet
	sent   time.Time // when it was sent,
	sentOn string    // and the version known then
	stuck  string    // the version on which a request met a conflict,
	retry  time.Time // until when a newer one is waited for,
	unsure time.Time // and until when the operation may have been accepted all the same
	wake   time.Time

	deadline    time.Time
	stopped     time.Time // since when the deadline stands still
	token       string
	submits     int
	renewed     bool   // Argo CD has looked anew at a spec that it had refused
	terminated  string // the operation whose end was asked for,
	endAsked    time.Time
	givenUp     bool // its end was waited for long enough
	deleteAsked time.Time
	history     int64 // newest history id before our operation
	before      string
	wrote       bool // something was deployed since the status was last known to be fresh
	unsynced    bool // this run has written its spec, but not synced it yet
	telling     bool // the status right after that was another one than the target's: a matching one is new

	ended    time.Time // when our operation was seen to have ended
	fresh    time.Time // when the last refresh was answered,
	freshOf  time.Time // and asked for
	refresh  string    // the refresh that is not answered yet
	asked    time.Time // when it, or our operation, was asked for
	askedAt  uint64    // rank after asking
	healthy  time.Time
	troubled time.Time // since when the trouble below stands
	trouble  Kind
	said     string

	target  []string // resolved revisions
	leads   []Source // it finds out what these mean now
	waiters []*app   // those that wait for that
	waits   *app

	sick  sickness // of a done one
	since time.Time
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
	flight  int       // Applications of the stage that are neither idle, done nor failed
	left    int       // Applications of the stage that are not done
	rolls   bool      // the step has something to roll out
	soaks   bool      // the step must stay healthy for a while before it is done,
	soaking time.Time // and does so since then
	held    []*app
	pins    Pins
	leaders map[Source]*app

	unwell    map[*app]bool // done Applications whose health is bad or in doubt
	unwellIn  []int         // their number in each step
	gate      time.Time     // since when unwell ones hold the step back
	gateCheck time.Time     // when the first of them may have used up its grace

	automated   map[string]*app // those whose automated sync is still on
	outstanding int             // actions that are not answered yet

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
		story: story{told: now}, pins: Pins{}, leaders: map[Source]*app{}, unwell: map[*app]bool{}, unwellIn: make([]int, len(plan.Steps)),
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
		e.apps[name], e.held = a, append(e.held, a)
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
	case ev.Listed:
		e.listed = true
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

// take stores what the event says, if it is news.
func (a *app) take(ev Event, now time.Time) bool {
	if ev.Live != nil {
		return a.store(ev.Live, now)
	}
	if ev.UID != "" {
		a.gone = ev.UID
	} else if a.live != nil {
		a.gone = a.live.UID
	}
	if a.live == nil || a.live.UID != a.gone {
		return false
	}
	a.live = nil
	return true
}

// store replaces the state known, unless it is later or of another Application.
func (a *app) store(l *Live, now time.Time) bool {
	old := a.live
	if l.UID == a.gone || !l.newer(old) {
		return false
	}
	if old != nil && old.UID != l.UID {
		a.gone = old.UID
	}
	key := a.operationKey()
	a.live = l
	if old == nil || old.UID != l.UID || old.Operation.Active() || l.Operation.Active() || key != a.operationKey() || l.anotherEnd(old) {
		a.moved, a.early = now, time.Time{}
	}
	return true
}

// note reacts to news about an Application: it watches over the done ones and drives the others.
func (e *engine) note(a *app, now time.Time) {
	a.answered(now)
	switch a.state {
	case done:
		e.checkup(a, now)
	case failed:
		e.stillRunning(a, now)
	default:
		e.look(a, now)
	}
}

// result takes in the answer to an action.
func (e *engine) result(now time.Time, r Result) {
	a := e.apps[r.Action.App]
	a.busy = false
	e.outstanding--
	if r.Live != nil {
		a.store(r.Live, now)
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
	e.hopeless = e.hopeless || r.Hopeless || r.Action.Verb == DisableAutomated
	e.failWith(a, Failure{Kind: KindRequest, Said: r.Err.Error(), Err: r.Err, Doing: string(r.Action.Verb)}, now)
}

// conflicted waits for a newer state, or looks again soon should none be seen.
func (e *engine) conflicted(a *app, r Result, now time.Time) {
	if r.NotFound && a.live != nil && (a.live.Version == a.sentOn || r.Action.Verb == Delete && a.live.UID == r.Action.UID) {
		a.gone, a.live = a.live.UID, nil
		return
	}
	a.stuck, a.retry, a.unsure = a.sentOn, now.Add(conflictDelay), time.Time{}
	if r.Action.Sync != nil {
		a.unsure = now.Add(unsureDelay)
	}
	if a.state != removing {
		a.reason = "the Application was changed meanwhile; deciding again"
	}
}

// held tells that a request met a conflict and nothing newer has been seen yet.
func (a *app) held(now time.Time) bool {
	return now.Before(a.retry) && a.version() == a.stuck
}

// inDoubt tells that a write met a conflict that may be one with itself: when an answer was lost
// and the request repeated. The next state that is seen tells.
func (a *app) inDoubt(now time.Time) bool {
	return now.Before(a.unsure) && a.version() == a.stuck
}

// version is that of the state known, empty for none.
func (a *app) version() string {
	if a.live == nil {
		return ""
	}
	return a.live.Version
}

func (e *engine) accepted(a *app, r Result, now time.Time) {
	switch r.Action.Verb {
	case Write:
		a.wrote, a.unsynced = true, true
		if r.Live != nil {
			a.uid = r.Live.UID
		}
		e.written(a, r.Action, now)
	case Mark:
		if a.state == marking {
			e.finish(a, now, "at its target already")
		}
	case Refresh, PrepareDelete:
		a.refresh, a.asked = r.Action.RefreshID, a.sent
		if r.Live != nil {
			a.askedAt = r.Live.Rank
		}
		e.wakeAt(a, now.Add(refreshTimeout))
	case Terminate:
		a.terminated, a.endAsked = a.operationKey(), now
	case Delete:
		a.deleteAsked = now
		e.wakeAt(a, now.Add(deleteAgain))
	}
}

// answered notices that a refresh has been answered.
func (a *app) answered(now time.Time) {
	if a.refresh != "" && !a.busy && a.live != nil && a.live.RefreshID == "" && a.live.Rank > a.askedAt {
		a.refresh, a.fresh, a.freshOf = "", now, a.asked
	}
}

// freshSince tells that a refresh asked for after t has been answered.
func (a *app) freshSince(t time.Time) bool { return !a.fresh.IsZero() && !a.freshOf.Before(t) }

// do sends an action; until it is answered nothing else is decided about the Application.
func (e *engine) do(a *app, action Action, now time.Time) {
	action.App = a.name
	a.busy, a.sent, a.sentOn = true, now, a.version()
	e.outstanding++
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

// operationKey tells one operation of the Application from another.
func (a *app) operationKey() string {
	if a.live == nil {
		return ""
	}
	o := a.live.Operation
	return o.Pending + "/" + o.Token + "/" + o.Started
}
