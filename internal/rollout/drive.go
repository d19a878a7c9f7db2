package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// look decides what to do next with one Application. It is called at every news about it and
// whenever its time has come, and may be called at any other time: it only looks at facts.
func (e *engine) look(a *app, now time.Time) {
	if e.over {
		return
	}
	if a.busy {
		e.unanswered(a, now)
		return
	}
	if a.held(now) {
		e.wakeAt(a, a.retry)
		return
	}
	if e.halted() && a.inDoubt(now) {
		e.wakeAt(a, a.unsure)
		return
	}
	switch a.state {
	case idle:
		e.disable(a, now)
		if a.next && !a.aside && !e.halted() {
			e.prepare(a, now)
		}
		return
	case done, failed:
		e.disable(a, now)
		return
	case givingUp:
		e.giveUp(a, now)
		return
	case removing:
		e.remove(a, now)
		return
	}
	e.clock(a, now)
	if e.stop == StopDeadline || a.late(now) {
		e.timedOut(a, now)
		return
	}
	if !a.deadline.IsZero() && a.stopped.IsZero() {
		e.wakeAt(a, a.deadline)
	}
	if e.silent(a, now) {
		return
	}
	switch a.state {
	case entering:
		e.decide(a, now)
	case resolving:
		e.resolve(a, now)
	case flying:
		e.fly(a, now)
	case awaiting:
		e.await(a, now)
	case verifying:
		e.verify(a, now)
	case marking:
		e.mark(a, now)
	}
}

// clock stops the time of an Application while it waits for a person or a calendar, where the
// options say so.
func (e *engine) clock(a *app, now time.Time) {
	switch stands := e.stands(a); {
	case stands && a.stopped.IsZero():
		a.stopped = now
	case !stands && !a.stopped.IsZero():
		if !a.deadline.IsZero() {
			a.deadline = a.deadline.Add(now.Sub(a.stopped))
		}
		a.stopped = time.Time{}
	}
}

// stands tells that the Application is Suspended, or that a sync window holds back its operation,
// ours or one that we wait for, and that this may take as long as the whole run.
func (e *engine) stands(a *app) bool {
	if a.live == nil {
		return false
	}
	if o := a.live.Operation; o.Active() {
		return e.opt.WaitForWindow && o.Blocked
	}
	return (a.state == verifying || a.state == awaiting) && e.waitsSuspended(a.live)
}

// late tells that the time of an Application is over.
func (a *app) late(now time.Time) bool {
	return !a.deadline.IsZero() && a.stopped.IsZero() && !now.Before(a.deadline)
}

// silent fails an Application whose refresh Argo CD does not answer. Without a watch an answer is not seen.
func (e *engine) silent(a *app, now time.Time) bool {
	if a.refresh == "" || !e.listed {
		return false
	}
	if now.Sub(a.asked) < refreshTimeout {
		e.wakeAt(a, a.asked.Add(refreshTimeout))
		return false
	}
	e.failWith(a, Failure{Kind: KindSilent, Said: fmt.Sprintf("a refresh asked for %s ago has not been answered", refreshTimeout)}, now)
	return true
}

// decide is where an Application whose turn it is gets written. Nothing has been written yet, so
// it may still step back.
func (e *engine) decide(a *app, now time.Time) {
	l, w := a.live, a.want
	if l != nil && a.token != "" && (l.Operation.Pending == a.token || l.Operation.Token == a.token) {
		e.adopt(a, a.token, "the write was accepted, though its answer was lost", now)
		return
	}
	if e.halted() {
		e.rest(a, idle)
		return
	}
	if l != nil {
		switch {
		case l.Terminating:
			a.reason = "it is being deleted; waiting until it is gone"
			return
		case l.SkipReconcile && w.Mode != ModeWrite:
			e.failWith(a, Failure{Kind: KindSkipReconcile}, now)
			return
		case l.Operation.Active():
			if token := e.adoptable(a); token != "" {
				e.adopt(a, token, "an operation to the same target runs already", now)
				return
			}
			a.reason = joinNonEmpty("another operation is running; waiting for its end", l.Operation.Message)
			return
		}
	}
	switch {
	case w.Mode == ModeWrite && l != nil && l.Hash == w.Hash:
		e.complete(a, now, "its spec is as planned")
	case w.Mode == ModeAutomated && l != nil && l.Hash == w.Hash:
		a.uid, a.ended, a.before = l.UID, now, l.Operation.Started
		e.becomes(a, awaiting, now, "waiting for automated sync")
		e.await(a, now)
	case w.Mode == ModeWrite || w.Mode == ModeAutomated:
		e.write(a, nil, now)
	case e.revisions(a) == nil:
		e.lead(a, now)
	case e.atTarget(a):
		a.uid, a.ended = l.UID, now
		e.becomes(a, verifying, now, "the target is deployed already; waiting until it is healthy")
		e.verify(a, now)
	case w.Mode == ModeManual && l != nil && l.Hash == w.Hash:
		e.awaitPerson(a, now)
	case w.Mode == ModeSync && e.deployed(a) && !e.certain(a, now):
		a.reason = "deployed already, but out of sync when it was last compared; comparing anew"
	case w.Mode == ModeManual:
		e.write(a, nil, now)
	case l != nil && l.refused() && !a.renewed:
		e.renew(a, now)
	default:
		e.submit(a, now)
	}
}

// renew has Argo CD look anew at an Application whose spec it has refused: until it does, it ends
// every operation with what it found then (SyncAppState in controller/sync.go, Argo CD 3.6.1), though the
// reason may be gone, or not be in the spec any more that is to be written.
func (e *engine) renew(a *app, now time.Time) {
	switch {
	case a.live.Hash != a.want.Hash:
		e.write(a, nil, now)
	case a.fresh.IsZero():
		a.reason = "Argo CD has refused its spec; comparing anew"
		e.ask(a, now)
	default:
		a.renewed = true
		e.submit(a, now)
	}
}

// certain tells that the last comparison is later than the last operation, and asks for one that
// is: right after a sync the one before still stands, and would have everything synced twice.
func (e *engine) certain(a *app, now time.Time) bool {
	if a.freshSince(a.moved.Add(freshDelay)) {
		return true
	}
	a.ended = a.moved
	e.askLater(a, freshDelay, now)
	return false
}

// adoptable is the token of an active operation that deploys exactly our target, from a run
// that was interrupted. One that is being terminated will not deploy it.
func (e *engine) adoptable(a *app) string {
	l, o, revisions := a.live, a.live.Operation, e.revisions(a)
	if a.want.Mode != ModeSync || o.Phase == Terminating || l.Hash != a.want.Hash || revisions == nil {
		return ""
	}
	if o.Pending != "" && o.PendingTarget == a.want.Hash && slices.Equal(o.PendingRevisions, revisions) && o.Pending != "?" {
		return o.Pending
	}
	return ""
}

// adopt follows an operation that is under way already. What the status said before it is not
// known, so only a refresh can tell a new status from an old one.
func (e *engine) adopt(a *app, token, why string, now time.Time) {
	a.token, a.uid, a.history, a.submits = token, a.live.UID, a.live.Deployed.ID, max(a.submits, 1)
	a.wrote, a.telling, a.asked = true, false, now
	e.becomes(a, flying, now, why)
	e.fly(a, now)
}

// becomes moves an Application on and tells so.
func (e *engine) becomes(a *app, s state, now time.Time, why string) {
	a.state, a.reason = s, why
	a.trouble, a.healthy = "", time.Time{}
	e.clock(a, now)
	e.say(now, a, a.phaseOf(), why)
}

// write sends the one guarded write of an Application, unless an earlier step has become unhealthy
// since its turn came.
func (e *engine) write(a *app, sync *SyncRequest, now time.Time) {
	if !e.gateOpen(now) {
		if a.inDoubt(now) {
			e.wakeAt(a, a.unsure)
		} else {
			e.stepBack(a, now)
		}
		return
	}
	action := Action{Verb: Write, StepLabel: a.label, Sync: sync}
	if a.live != nil {
		action.Version = a.live.Version
		a.history, a.before = a.live.Deployed.ID, a.live.Operation.Started
		if a.want.Mode == ModeManual {
			action.ManualAfter = a.live.Deployed.ID
		}
	}
	a.fresh, a.refresh = time.Time{}, ""
	e.say(now, a, PhasePending, "writing "+e.doing(a))
	e.do(a, action, now)
}

// submit writes spec and operation together.
func (e *engine) submit(a *app, now time.Time) {
	a.token = e.opt.NewID()
	e.write(a, &SyncRequest{Token: a.token, Target: a.want.Hash, Revisions: e.revisions(a)}, now)
}

// written goes on after a write was accepted. A status that looks done already, right after the
// write, proves nothing about it: then a refresh has to.
func (e *engine) written(a *app, action Action, now time.Time) {
	if l := a.live; l != nil {
		if revisions := e.revisions(a); revisions != nil {
			a.telling = l.Sync.Status != Synced || !l.Sync.at(revisions) || !l.Sync.OfSpec
		}
	}
	switch {
	case action.Sync != nil:
		a.asked = now
		a.submits++
		e.becomes(a, flying, now, "syncing")
	case a.want.Mode == ModeWrite:
		e.complete(a, now, "written; no step selects it, so it is not synced")
	case a.want.Mode == ModeAutomated:
		a.ended = now
		e.becomes(a, awaiting, now, "waiting for automated sync")
	case e.revisions(a) == nil:
		e.becomes(a, resolving, now, "asking Argo CD what its revision means")
	case a.want.Mode == ModeSync:
		e.becomes(a, entering, now, "its spec is written; Argo CD has refused the one before, and looks anew first")
	default:
		e.awaitPerson(a, now)
	}
}

// astray fails an Application in flight that somebody else has deleted, recreated or changed.
func (e *engine) astray(a *app, now time.Time) bool {
	l := a.live
	var kind Kind
	switch {
	case l == nil:
		kind = KindVanished
	case a.uid != "" && l.UID != a.uid:
		kind = KindRecreated
	case l.Terminating:
		kind = KindDeleting
	case l.Hash != a.want.Hash:
		kind = KindChanged
	case l.SkipReconcile:
		kind = KindSkipReconcile
	default:
		return false
	}
	e.failWith(a, Failure{Kind: kind}, now)
	return true
}

// mark writes our own marks only; the Application is at its target already.
func (e *engine) mark(a *app, now time.Time) {
	switch l := a.live; {
	case l == nil:
		e.failWith(a, Failure{Kind: KindVanished}, now)
	case l.StepLabel == a.label:
		e.finish(a, now, "at its target already")
	default:
		if a.deadline.IsZero() {
			a.deadline = now.Add(e.opt.AppTimeout)
		}
		e.do(a, Action{Verb: Mark, Version: l.Version, StepLabel: a.label}, now)
	}
}

// complete finishes an Application; the marks of one that was not written are brought up to date first.
func (e *engine) complete(a *app, now time.Time, how string) {
	if a.live != nil && a.live.StepLabel != a.label {
		a.state = marking
		e.mark(a, now)
		return
	}
	e.finish(a, now, how)
}

// doing says what is being done with the Application.
func (e *engine) doing(a *app) string {
	if a.want == nil {
		return "deleting it"
	}
	target := Leaf(a.want.Sources, e.revisions(a), a.want.Hash)
	switch a.want.Mode {
	case ModeWrite:
		return "its spec " + target
	case ModeManual:
		return "target " + target + ", to be synced by a person"
	case ModeAutomated:
		return "target " + target + ", to be synced by automated sync"
	}
	return "target " + target
}

func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
