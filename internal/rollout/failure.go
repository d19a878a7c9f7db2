package rollout

import (
	"slices"
	"strings"
	"time"
)

// failWith stops the rollout because of this Application. An operation of ours that still runs is
// terminated, or it would deploy minutes after the apply has failed.
func (e *engine) failWith(a *app, f Failure, now time.Time) {
	f.App, f.Step = a.name, a.label
	if a.want != nil {
		f.Revisions = e.revisions(a)
	}
	if f.Doing == "" {
		f.Doing = e.doing(a)
	}
	e.failures = append(e.failures, f)
	e.hopeless = e.hopeless || a.want == nil
	a.reason = string(f.Kind)
	e.say(now, a, PhaseFailed, joinNonEmpty(string(f.Kind), f.Said))
	waiters := e.stopLeading(a)
	e.rest(a, failed)
	e.left--
	e.stillRunning(a, now)
	e.keepOff(a, now)
	if e.halted() {
		e.withdraw()
		e.dropHalted(now)
		return
	}
	for _, other := range waiters { // one of them leads now
		e.look(other, now)
	}
}

// withdraw takes writes back that were decided on in the moment of a failure, and are not sent yet.
func (e *engine) withdraw() {
	e.actions = slices.DeleteFunc(e.actions, func(action Action) bool {
		a := e.apps[action.App]
		if action.Verb != Write || !a.waitsOnly() {
			return false
		}
		a.busy = false
		e.outstanding--
		e.rest(a, idle)
		return true
	})
}

// stillRunning ends an operation of ours that runs although its Application has failed.
func (e *engine) stillRunning(a *app, now time.Time) {
	if a.ours() && !a.busy && !e.over && !a.givenUp {
		e.begin(a, givingUp)
		a.deadline = now.Add(terminateTimeout)
		e.giveUp(a, now)
	}
}

// ours tells whether an operation that this run started (or took over) is still active.
func (a *app) ours() bool {
	if a.live == nil || a.token == "" || a.want == nil {
		return false
	}
	o := a.live.Operation
	return o.Pending == a.token || (o.Token == a.token && (o.Phase == Running || o.Phase == Terminating))
}

// dropHalted drops what waits where nothing new may start any more.
func (e *engine) dropHalted(now time.Time) {
	if e.halted() && e.stop == StopNone {
		e.dropWaiting(now)
	}
}

// dropWaiting sends back to idle what has its turn but waits for something that nobody must wait
// for any more. What is busy follows when it is answered.
func (e *engine) dropWaiting(now time.Time) {
	switch {
	case e.stage == writing:
		e.drop(e.noStep, now)
	case e.stage == stepping && e.step < len(e.steps):
		e.drop(e.steps[e.step], now)
	}
}

func (e *engine) drop(apps []*app, now time.Time) {
	for _, a := range apps {
		if !a.busy && a.inFlight() && a.waitsOnly() && !a.inDoubt(now) {
			e.rest(a, idle)
		}
	}
}

// waitsOnly tells that nothing of this Application is under way that has to end.
func (a *app) waitsOnly() bool {
	return a.state == entering || a.state == resolving || a.state == awaiting && a.want.Mode == ModeManual
}

// giveUp waits for the end of an operation that was terminated.
func (e *engine) giveUp(a *app, now time.Time) {
	if a.inDoubt(now) {
		e.wakeAt(a, a.unsure)
		return
	}
	if !e.listed && !a.unsure.IsZero() && a.version() == a.stuck {
		return // what has become of it is not seen before the watch is back, or lost
	}
	if a.deadline.IsZero() {
		a.deadline = now.Add(terminateTimeout) // it had to be seen first
	}
	if !a.ours() || !now.Before(a.deadline) {
		e.giveUpEnded(a, now)
		return
	}
	e.wakeAt(a, a.deadline)
	e.terminate(a, a.token, now)
}

// terminate asks for the end of the operation that is active. Argo CD may write an older state over
// the request; so it is repeated while the operation goes on.
func (e *engine) terminate(a *app, token string, now time.Time) {
	if a.live.Operation.Phase == Terminating {
		return
	}
	if again := a.endAsked.Add(terminateAgain); a.terminated == a.operationKey() && now.Before(again) {
		e.wakeAt(a, again)
		return
	}
	e.do(a, Action{Verb: Terminate, Token: token, Version: a.live.Version}, now)
}

func (e *engine) giveUpEnded(a *app, now time.Time) {
	if a.ours() {
		e.say(now, a, PhaseFailed, "its operation could not be terminated and may still run")
	} else {
		e.say(now, a, PhaseFailed, "its operation has ended")
	}
	a.givenUp = true
	e.rest(a, failed)
}

// outOfTime ends the run at its deadline: what is in flight fails with what it was waiting for.
func (e *engine) outOfTime(now time.Time) {
	e.stop = StopDeadline
	for i := range e.plan.Apps {
		e.expire(e.apps[e.plan.Apps[i].Name], now)
	}
	for _, group := range e.groups {
		for _, a := range group {
			e.expire(a, now)
		}
	}
}

func (e *engine) expire(a *app, now time.Time) {
	if a.inFlight() && a.state != givingUp && !a.busy && !a.inDoubt(now) {
		e.timedOut(a, now)
	}
}

// timedOut fails an Application with what it was waiting for.
func (e *engine) timedOut(a *app, now time.Time) {
	said := a.reason
	if a.live != nil {
		remains := a.remains()
		if strings.Contains(remains, said) {
			said = "" // the health, most often
		}
		said = joinNonEmpty(said, remains)
	}
	e.failWith(a, Failure{Kind: e.lateness(a, now), Said: said}, now)
}

// lateness is the kind of failure of an Application whose time is over: what it waited for.
func (e *engine) lateness(a *app, now time.Time) Kind {
	l := a.live
	switch {
	case a.want == nil:
		return KindDeletion
	case l == nil:
		return KindTimeout
	case l.Terminating:
		return KindDeleting
	case l.Operation.Active() && l.Operation.Blocked:
		return KindSyncWindow
	case l.Operation.Active() && !a.ours():
		return KindOccupied
	case a.state == verifying && l.Health.Type == Progressing:
		return KindProgressing
	case l.Health.Type == Suspended && (a.state == verifying || a.state == awaiting):
		return KindSuspended
	case a.waitsForArgoCD() && now.Sub(a.asked) >= refreshTimeout/2:
		return KindSilent
	}
	return KindTimeout
}

// waitsForArgoCD tells that Argo CD has neither taken up our operation nor answered our refresh yet.
func (a *app) waitsForArgoCD() bool {
	return a.refresh != "" || a.state == flying && a.live.Operation.Pending == a.token && a.live.Operation.Token != a.token
}

// cancel ends the run at once; running operations go on in Argo CD and are found again by the next run.
func (e *engine) cancel(stop Stop, err error) {
	e.stop, e.stopErr, e.over = stop, err, true
}
