package rollout

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// pump moves the run on as far as it goes: stage by stage, step by step.
func (e *engine) pump(now time.Time) {
	for !e.over && e.advance(now) {
	}
	if e.halted() && e.flight == 0 && e.outstanding == e.abandoned {
		e.over = true
	}
}

// advance does what can be done in the current stage; true means that the stage has changed.
func (e *engine) advance(now time.Time) bool {
	if e.stop == StopNone && !e.opt.Deadline.IsZero() && !now.Before(e.opt.Deadline) {
		e.outOfTime(now)
	}
	if e.halted() || !e.listed {
		return false
	}
	switch e.stage {
	case listing:
		e.stage = disabling
		e.beginDisabling(now)
		return true
	case disabling:
		return len(e.automated) == 0 && e.enter(stepping, now)
	case stepping:
		return e.advanceStep(now)
	case writing:
		e.open(e.noStep, now)
		e.start(-1, now)
		if e.left > 0 || e.flight > 0 || e.halted() || len(e.automated) > 0 {
			return false
		}
		if len(e.failures) > 0 { // nothing is deleted unless everything else is done
			return e.enter(finished, now)
		}
		return e.enter(deleting, now)
	case deleting:
		return e.advanceDeletion(now)
	}
	e.over = e.outstanding == e.abandoned
	return false
}

// halted tells that nothing new may start.
func (e *engine) halted() bool {
	return len(e.failures) > e.opt.MaxFailures || e.stop != StopNone || e.hopeless
}

func (e *engine) enter(s stage, _ time.Time) bool {
	e.stage, e.step, e.opened = s, 0, false
	return true
}

func (e *engine) advanceStep(now time.Time) bool {
	if e.step >= len(e.steps) {
		return e.enter(writing, now)
	}
	e.open(e.steps[e.step], now)
	e.start(e.plan.Steps[e.step].Limit, now)
	if e.left > 0 || e.flight > 0 || e.halted() || !e.soaked(now) {
		return false
	}
	if e.rolls {
		e.sayStep(now, MomentEnds, e.stepEnd())
	}
	e.step, e.opened = e.step+1, false
	return true
}

// stepEnd tells how the step has ended.
func (e *engine) stepEnd() string {
	all, lost := len(e.steps[e.step]), 0
	for _, a := range e.steps[e.step] {
		if a.state == failed {
			lost++
		}
	}
	if lost == 0 {
		return fmt.Sprintf("done: all %d Applications are at their target", all)
	}
	return fmt.Sprintf("done: %d of %d Applications are at their target, %d failed, which max_failures allows", all-lost, all, lost)
}

// open looks at all Applications of a step once: those at their target already are done without
// a write, the others queue up by name.
func (e *engine) open(apps []*app, now time.Time) {
	if e.opened {
		return
	}
	e.opened, e.queue, e.left = true, nil, len(apps)
	e.soaks, e.soaking = false, time.Time{}
	later := sync.OnceValue(e.laterEnd)
	for _, a := range apps {
		e.soaks = e.soaks || !a.want.Proven
		switch {
		case !e.settled(a):
			e.queue = append(e.queue, a)
		case e.opt.MinHealthy > 0 && a.want.Mode == ModeSync && !a.want.Proven && !e.provenBefore(a, later):
			e.stayOn(a, now)
		case a.live.StepLabel != a.label:
			e.begin(a, marking)
			e.look(a, now)
		default:
			a.state = done
			e.left--
			e.done++
			e.checkup(a, now)
		}
	}
	e.rolls = len(e.queue) > 0
	e.soaks = (e.soaks || e.rolls) && e.opt.SoakTime > 0
	if e.rolls {
		e.sayStep(now, MomentBegins, fmt.Sprintf("begins: %d of %d Applications to roll out", len(e.queue), len(apps)))
	}
}

// stayOn has an Application that is at its target and healthy stay so for as long as any other: the run
// that synced it may have been killed the moment after.
func (e *engine) stayOn(a *app, now time.Time) {
	a.uid, a.ended, a.deadline = a.live.UID, now, now.Add(e.opt.AppTimeout)
	e.begin(a, verifying)
	e.look(a, now)
}

// laterEnd is when the last operation of a rollout of ours ended in a step after this one, by Argo CD's
// clock, among the Applications whose rollout has not been recorded; zero for none.
func (e *engine) laterEnd() time.Time {
	var last time.Time
	for _, apps := range e.steps[min(e.step+1, len(e.steps)):] {
		for _, a := range apps {
			if l := a.live; !a.want.Proven && e.settled(a) && l.Operation.Target == a.want.Hash && l.StepLabel == a.label && l.Ended.After(last) {
				last = l.Ended
			}
		}
	}
	return last
}

// provenBefore tells that an interrupted run has seen the Application healthy for long enough: it had
// begun a later step after that. In another order of steps it has proven nothing. Times of Argo CD's
// have no fraction.
func (e *engine) provenBefore(a *app, laterEnd func() time.Time) bool {
	ended := a.live.Ended
	return !ended.IsZero() && a.live.StepLabel == a.label && laterEnd().Sub(ended)+time.Second > e.opt.MinHealthy
}

// settled tells that nothing is to be done for an Application of the plan.
func (e *engine) settled(a *app) bool {
	l := a.live
	if l == nil || l.Terminating || l.Hash != a.want.Hash {
		return false
	}
	switch a.want.Mode {
	case ModeWrite:
		return true
	case ModeAutomated:
		well := l.Sync.Status == Synced && l.Sync.OfSpec && e.healthy(l)
		return !l.Operation.Active() && (well || a.want.Proven)
	case ModeManual:
		if e.keepsDeployed(a) {
			return true
		}
	}
	if !e.atTarget(a) {
		return false
	}
	// Without a comparison at the target the health may be that of what was deployed before.
	certain := l.Sync.Status == Synced && l.Sync.OfSpec && l.Sync.at(e.revisions(a)) && e.healthy(l)
	return certain || a.want.Proven
}

// keepsDeployed tells that an Application of a manual step is in sync with what somebody has
// synced after the last write: it stays there, like any other, when the branch moves elsewhere.
func (e *engine) keepsDeployed(a *app) bool {
	l := a.live
	return l.Sync.Status == Synced && l.Sync.OfSpec && !l.drifted() && !l.Operation.Active() &&
		l.Deployed.ID > l.ManualAfter && (e.healthy(l) || a.want.Proven)
}

// healthy tells whether the health is good enough for a done Application.
func (e *engine) healthy(l *Live) bool {
	return l.Health.Type == Healthy || l.Health.Type == Suspended && e.opt.Suspended == SuspendedAccept
}

// atTarget tells, from live facts alone, that the target is deployed already and nothing has been
// seen to differ from it.
func (e *engine) atTarget(a *app) bool { return e.deployed(a) && !e.differs(a) }

// differs tells that the last comparison, at the target, found something to sync. Resources that are gone
// are more than the difference that AcceptOutOfSync is about: a sync brings them back.
func (e *engine) differs(a *app) bool {
	accepted := e.opt.AcceptOutOfSync && a.live.Health.Type != Missing
	return !accepted && a.live.Sync.Status == OutOfSync && a.live.Sync.at(e.revisions(a))
}

// deployed tells that the newest full sync deployed the target: the spec is ours, and it was
// synced at the target revisions.
func (e *engine) deployed(a *app) bool {
	l, revisions := a.live, e.revisions(a)
	switch {
	case l == nil || revisions == nil || l.Hash != a.want.Hash || l.Operation.Active():
		return false
	case a.unsynced && a.want.Mode == ModeSync && l.Deployed.ID <= a.history:
		return false
	case !a.want.Proven && (l.Operation.Phase == Failed || l.Operation.Phase == Error):
		return false
	case l.Deployed.ID != 0 && (!l.Deployed.OfSpec || l.Deployed.ID <= l.ManualAfter):
		return false
	case l.Deployed.ID == 0 && !a.want.Proven && (a.want.Mode == ModeManual || l.Operation.Phase != Succeeded):
		// Synced without any sync: only hooks, or nothing at all. In a manual step a partial sync
		// or a dry run would look the same.
		return false
	}
	return slices.Equal(l.deployedRevisions(), revisions)
}

// revisions are the target of the Application, nil while they are not resolved.
func (e *engine) revisions(a *app) []string {
	if a.target == nil {
		a.target = a.want.Revisions
	}
	if a.target == nil {
		a.target = e.pins.revisions(a.want.Sources)
	}
	return a.target
}

// start takes Applications from the queue while there are free slots, and while their requests would
// not have to wait for others: one that waits goes out later, whatever has become known by then.
func (e *engine) start(limit int, now time.Time) {
	for len(e.queue) > 0 && (limit < 0 || e.flight < limit) && e.outstanding-e.abandoned < maxRequests && !e.halted() && e.gateOpen(now) {
		a := e.queue[0]
		e.queue = e.queue[1:]
		e.begin(a, entering)
		a.deadline = now.Add(e.opt.AppTimeout)
		e.look(a, now)
	}
}

// begin takes an Application into flight.
func (e *engine) begin(a *app, s state) {
	if !a.inFlight() {
		e.flight++
	}
	a.state = s
	if s == entering {
		a.reason = "it is its turn"
	}
}

// rest takes an Application out of flight.
func (e *engine) rest(a *app, s state) {
	if a.inFlight() {
		e.flight--
	}
	a.state = s
	e.stopLeading(a)
}

func (a *app) inFlight() bool { return a.state != idle && a.state != done && a.state != failed }

// finish proves an Application done.
func (e *engine) finish(a *app, now time.Time, how string) {
	e.rest(a, done)
	e.left--
	e.done++
	a.reason = ""
	e.say(now, a, a.phaseOf(), how)
	e.checkup(a, now)
}
