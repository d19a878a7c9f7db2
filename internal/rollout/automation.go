package rollout

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// maxSwitchedOn is how often automated sync of one Application is switched off again during a run.
	maxSwitchedOn = 3
	// aftermath is how long after that an operation still counts as one of automated sync: Argo CD may
	// have decided before it saw the change.
	aftermath = 10 * time.Second
)

// syncsItself tells that Argo CD deploys what the branch means now, whenever it changes.
func (a *app) syncsItself() bool { return a.live != nil && a.live.AutomatedOn && !a.live.Terminating }

// beginDisabling switches automated sync off wherever it is on, before anything else: without it
// later steps would sync themselves while the first one rolls.
func (e *engine) beginDisabling(now time.Time) {
	if !e.plan.DisableAutomated {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.apps)) {
		if a := e.apps[name]; a.syncsItself() {
			e.switchOff(a, now)
		}
	}
	if n := len(e.automated); n > 0 {
		e.say(now, nil, "", fmt.Sprintf("switching automated sync off on %d Applications", n))
	}
	for _, name := range slices.Sorted(maps.Keys(e.automated)) {
		e.disable(e.apps[name], now)
	}
}

// switchOff has the automated sync of an Application switched off; until it is, nothing starts.
func (e *engine) switchOff(a *app, now time.Time) {
	e.automated[a.name] = a
	a.offBy = now.Add(e.opt.AppTimeout)
}

// keepOff switches automated sync off again where somebody has switched it on since: an Application
// of a later step would overtake the step that rolls.
func (e *engine) keepOff(a *app, now time.Time) {
	switch {
	case !e.plan.DisableAutomated || e.stage == listing || e.stage > writing || e.halted(): // later there is nothing to overtake
		return
	case a.syncsItself() && a.guarded() && a.busy:
		e.switchOff(a, now) // it fails for that as soon as it has its answer; nothing starts before
		return
	case !a.syncsItself() || a.guarded():
		if e.automated[a.name] != nil {
			delete(e.automated, a.name)
			a.offSince = now
		}
	case a.aside && a.switchedOn == maxSwitchedOn:
		return // nothing waits for it, and nothing is to become of it
	case e.automated[a.name] == nil:
		if e.stage > disabling {
			a.switchedOn++
			e.say(now, a, "", "automated sync has been switched on meanwhile; switching it off again")
		}
		e.switchOff(a, now)
	}
	if e.overtakes(a, now) {
		e.failAside(a, Failure{Kind: KindOvertaken, Said: "automated sync was switched on during the rollout, and an operation has begun: " + orUnknown(a.live.Operation.Message)}, now)
		return
	}
	e.disable(a, now)
}

// guarded tells that a change of the spec is noticed, and is a failure, or that a deletion is prepared
// for, which includes automated sync.
func (a *app) guarded() bool {
	switch a.state {
	case resolving, flying, awaiting, verifying, removing:
		return true
	}
	return false
}

// overtakes tells that automated sync, which is off again, has begun to deploy before the Application's turn.
func (e *engine) overtakes(a *app, now time.Time) bool {
	off := a.switchedOn > 0 && e.automated[a.name] == nil && now.Sub(a.offSince) < aftermath
	return off && a.state == idle && a.want != nil && a.live != nil && a.live.Operation.Active()
}

// disable asks for automated sync to be switched off where that is to be done.
func (e *engine) disable(a *app, now time.Time) {
	switch {
	case e.automated[a.name] == nil || a.busy:
	case !a.syncsItself():
		delete(e.automated, a.name)
		a.offSince = now
	case a.held(now):
		e.wakeAt(a, a.retry)
	case a.switchedOn > maxSwitchedOn:
		e.failAside(a, Failure{Kind: KindOvertaken, Said: fmt.Sprintf("automated sync was switched on again %d times", a.switchedOn)}, now)
	case !now.Before(a.offBy):
		e.failAside(a, Failure{Kind: KindTimeout, Doing: string(DisableAutomated), Said: "the Application changed again and again"}, now)
	case !e.halted():
		e.do(a, Action{Verb: DisableAutomated, Version: a.live.Version}, now)
	}
}

// failAside fails an Application that is not in flight, and with it the run: nothing new may start.
func (e *engine) failAside(a *app, f Failure, now time.Time) {
	delete(e.automated, a.name)
	e.begin(a, entering)
	e.hopeless = true
	e.failWith(a, f, now)
}
