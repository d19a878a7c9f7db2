package rollout

import "time"

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
	reason string // what is waited for, in words
	busy   bool   // an action has not been answered yet,
	// abandoned: and is not waited for any more
	abandoned bool
	sent      time.Time // when it was sent,
	sentOn    string    // and the version known then,
	verb      Verb      // and what it asks for
	stuck     string    // the version on which a request met a conflict,
	retry     time.Time // until when a newer one is waited for,
	unsure    time.Time // and until when the operation may have been accepted all the same
	wake      time.Time

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

	ended   time.Time // when our operation was seen to have ended
	fresh   time.Time // when the last refresh was answered,
	freshOf time.Time // and asked for
	refresh string    // the refresh that is not answered yet,
	askedAt uint64    // rank after asking,
	// refreshSent is when it was decided on,
	refreshSent time.Time
	asked       time.Time // and when the API server had taken it, or our operation
	healthy     time.Time
	troubled    time.Time // since when the trouble below stands
	trouble     Kind
	said        string

	target  []string // resolved revisions
	leads   []Source // it finds out what these mean now
	waiters []*app   // those that wait for that
	waits   *app

	offBy      time.Time // until when its automated sync must be off
	offSince   time.Time // when it was seen to be off again
	switchedOn int       // how often somebody has switched it on in this run

	sick  sickness // of a done one
	since time.Time
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

// answered notices that a refresh has been answered.
func (a *app) answered(now time.Time) {
	if a.refresh != "" && !a.busy && a.live != nil && a.live.RefreshID == "" && a.live.Rank > a.askedAt {
		a.refresh, a.fresh, a.freshOf = "", now, a.refreshSent
	}
}

// freshSince tells that a refresh asked for after t has been answered.
func (a *app) freshSince(t time.Time) bool { return !a.fresh.IsZero() && !a.freshOf.Before(t) }

// operationKey tells one operation of the Application from another.
func (a *app) operationKey() string {
	if a.live == nil {
		return ""
	}
	o := a.live.Operation
	return o.Pending + "/" + o.Token + "/" + o.Started
}
