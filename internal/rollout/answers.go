package rollout

import "time"

// result takes in the answer to an action.
func (e *engine) result(now time.Time, r Result) {
	a := e.apps[r.Action.App]
	a.busy, e.heard = false, now
	e.outstanding--
	if a.abandoned {
		a.abandoned = false
		e.abandoned--
	}
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
	syncsItself := r.Action.Verb == DisableAutomated // and goes on: nothing may start any more
	if syncsItself {
		delete(e.automated, a.name)
		e.hopeless = true
	}
	switch {
	case a.state == failed || a.state == done && !syncsItself:
		e.dropHalted(now)
		return
	case a.state == givingUp:
		e.dropHalted(now)
		e.giveUpEnded(a, now)
		return
	case !a.inFlight():
		e.begin(a, entering)
	}
	e.hopeless = e.hopeless || r.Hopeless
	e.failWith(a, Failure{Kind: KindRequest, Said: r.Err.Error(), Err: r.Err, Doing: string(r.Action.Verb)}, now)
	if r.Unsure && a.state == failed {
		// Its operation would deploy after the apply has failed: the next state that is seen tells.
		a.stuck, a.unsure = a.sentOn, now.Add(unsureDelay)
		e.begin(a, givingUp)
		a.deadline = time.Time{}
		e.giveUp(a, now)
	}
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

func (e *engine) accepted(a *app, r Result, now time.Time) {
	if a.state == failed {
		return // it was not waited for any more; an operation that it has started is ended
	}
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
		// What it shows is at least as new as the request. Argo CD's time to answer begins now: before, it may have waited
		// for other requests of ours.
		a.refresh, a.refreshSent, a.asked = r.Action.RefreshID, a.sent, now
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
