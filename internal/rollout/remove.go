package rollout

import (
	"fmt"
	"strings"
	"time"
)

// advanceDeletion deletes group after group; the next one starts when the last is gone.
func (e *engine) advanceDeletion(now time.Time) bool {
	if e.step >= len(e.groups) {
		e.stage = finished
		return true
	}
	group := e.groups[e.step]
	if !e.opened {
		e.opened, e.left = true, len(group)
		for _, a := range group {
			if a.live == nil {
				a.state = done
				e.left--
				e.done++
				continue
			}
			if a.live.StepLabel != "" {
				a.label = a.live.StepLabel
			}
			e.begin(a, removing)
			a.deadline = now.Add(e.opt.DeleteTimeout)
			e.say(now, a, PhaseDeleting, "begins")
			e.look(a, now)
		}
		e.prepareGroup(e.step+1, now)
	}
	if e.left > 0 || e.halted() {
		return false
	}
	e.step, e.opened = e.step+1, false
	return true
}

// remove is the safe sequence: no operation may run (Argo CD ignores the deletion while one does),
// things must have settled since the last one (a deletion right after it leaks resources), a
// refresh must have shown it unless the last comparison has, and the deletion is of exactly this
// Application as it was seen.
func (e *engine) remove(a *app, now time.Time) {
	l := a.live
	if l == nil {
		e.finish(a, now, "gone")
		return
	}
	if a.uid != "" && l.UID != a.uid {
		e.failWith(a, Failure{Kind: KindRecreated, Said: "it is there again, with our marks"}, now)
		return
	}
	a.uid = l.UID
	if !now.Before(a.deadline) || e.stop == StopDeadline {
		e.timedOut(a, now)
		return
	}
	e.wakeAt(a, a.deadline)
	switch {
	case l.SkipReconcile:
		e.failWith(a, Failure{Kind: KindSkipReconcile, Said: "Argo CD does not delete it while reconciliation is switched off"}, now)
	case l.Operation.Active():
		a.reason = joinNonEmpty("ending the operation that runs, or Argo CD would ignore the deletion", l.Operation.Message)
		e.terminate(a, l.Operation.activeToken(), now)
	case l.Terminating:
		a.reason = "Argo CD is deleting its resources"
	case e.silent(a, now) || a.refresh != "":
	case !a.deletable(now) && !a.freshSince(a.settled()):
		a.reason = "letting the last operation settle"
		e.prepare(a, now)
	case now.Before(a.deleteAsked.Add(deleteAgain)):
		e.wakeAt(a, a.deleteAsked.Add(deleteAgain))
	default:
		a.reason = "asked for its deletion"
		e.do(a, Action{Verb: Delete, UID: l.UID, Version: l.Version}, now)
	}
}

// prepareGroup prepares a group while the one before it goes: nothing is synced in between, so what
// a refresh shows now still holds when its turn comes. If something is, remove asks again. Argo CD
// compares no faster than it deletes, so asking for all groups at once would keep the first back.
func (e *engine) prepareGroup(i int, now time.Time) {
	if i >= len(e.groups) {
		return
	}
	for _, a := range e.groups[i] {
		a.next = true
		e.prepare(a, now)
	}
}

// prepare asks for the refresh that must come before a deletion, once the last operation has
// settled.
func (e *engine) prepare(a *app, now time.Time) {
	l := a.live
	settled := a.settled()
	switch {
	case l == nil || a.busy || a.refresh != "" || l.Terminating || l.SkipReconcile || l.Operation.Active() || a.deletable(now) || a.freshSince(settled):
	case a.early.IsZero() && !l.Ended.IsZero() && now.Sub(l.Ended) >= restedAfter && (len(e.groups[e.step]) <= fewToAsk || !l.wholeSince()):
		a.early = now
		e.do(a, Action{Verb: PrepareDelete, Version: l.Version, RefreshID: e.opt.NewID()}, now)
	case now.Before(settled):
		e.wakeAt(a, settled)
	default:
		e.do(a, Action{Verb: PrepareDelete, Version: l.Version, RefreshID: e.opt.NewID()}, now)
	}
}

// deletable tells that what is seen proves already what a refresh before a deletion is to prove: all of
// the Application was found by a comparison a second or more after the end of its last operation, or by one
// that came sooner, and Argo CD has had the time since to take what that has changed into its cache of the
// cluster, from which it deletes. A refresh of each, after an update of hundreds, would take Argo CD half as
// long as their deletion.
func (a *app) deletable(now time.Time) bool {
	l := a.live
	return l.whole() && l.rested() || l.wholeSince() && now.Sub(a.moved) >= deleteSettle
}

// settled is from when on a refresh shows all that the last operation has made: some time after we
// have last seen one. When the run begins, that is a guess on the safe side, so a refresh is asked
// for at once where the operation seems to be old, and its answer tells when it was by Argo CD's clock.
func (a *app) settled() time.Time {
	if !a.early.IsZero() && a.live != nil && a.live.rested() {
		return a.early
	}
	return a.moved.Add(deleteSettle)
}

// activeToken is the token by which Terminate means the operation that is active; empty for one
// that is not ours.
func (o Operation) activeToken() string {
	token := o.Pending
	if o.Phase == Running || o.Phase == Terminating {
		token = o.Token
	}
	if token == "?" {
		return ""
	}
	return token
}

// remains tells what an Application waits for, for errors.
func (a *app) remains() string {
	l := a.live
	var parts []string
	if a.want == nil && len(l.Finalizers) > 0 {
		parts = append(parts, "finalizers: "+strings.Join(l.Finalizers, ", "))
	}
	if a.want != nil {
		parts = append(parts, fmt.Sprintf("sync status %s, %s", orUnknown(l.Sync.Status), a.healthText()))
	}
	for _, c := range l.Errors {
		parts = append(parts, c.Type+": "+c.Message)
	}
	if len(l.Unfinished) > 0 {
		parts = append(parts, "resources: "+strings.Join(l.Unfinished, "; "))
	}
	return strings.Join(parts, "; ")
}
