package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// troubled tells whether a trouble has stood for the whole grace; it begins to count when it is
// first seen and starts again when another one takes its place.
func (e *engine) troubled(a *app, kind Kind, said string, grace time.Duration, now time.Time) bool {
	if a.trouble != kind {
		a.trouble, a.troubled = kind, now
	}
	a.said = said
	a.reason = joinNonEmpty(string(kind), said)
	if now.Sub(a.troubled) >= grace {
		return true
	}
	e.wakeAt(a, a.troubled.Add(grace))
	return false
}

// fly follows our operation by its token; times and old statuses prove nothing.
func (e *engine) fly(a *app, now time.Time) {
	if e.astray(a, now) {
		return
	}
	l, o := a.live, a.live.Operation
	switch {
	case o.Token == a.token && o.Phase == Succeeded:
		e.landed(a, now)
	case o.Token == a.token && (o.Phase == Failed || o.Phase == Error):
		e.failWith(a, Failure{Kind: o.cause(), Said: o.Message}, now)
	case o.Token == a.token:
		e.underway(a, now)
	case o.Pending == a.token:
		a.reason = "waiting for Argo CD to start the operation"
		if !e.listed {
			return // that it has would not be seen
		}
		if now.Sub(a.asked) >= refreshTimeout {
			e.failWith(a, Failure{Kind: KindSilent, Said: fmt.Sprintf("the operation has not been started for %s", refreshTimeout)}, now)
			return
		}
		e.wakeAt(a, a.asked.Add(refreshTimeout))
	case l.Deployed.ID > a.history && l.Deployed.Target == a.want.Hash && slices.Equal(l.Deployed.Revisions, e.revisions(a)):
		e.landed(a, now) // another operation has taken the place of ours in the status
	case o.Active():
		a.reason = joinNonEmpty("another operation is running", o.Message)
	case a.submits >= maxSubmits:
		e.failWith(a, Failure{Kind: KindLost, Said: fmt.Sprintf("it was asked for %d times and vanished without a trace", a.submits)}, now)
	default:
		e.becomes(a, entering, now, "Argo CD has lost the operation; asking again")
		e.look(a, now)
	}
}

// underway looks at a running operation: a failed attempt and a closed sync window are told by the message.
func (e *engine) underway(a *app, now time.Time) {
	o := a.live.Operation
	kind, said := Kind(""), o.Message
	switch {
	case o.Phase == Terminating:
	case o.Blocked && e.opt.WaitForWindow:
	case o.Blocked:
		kind = KindSyncWindow
	case o.Retries > 0 && !e.opt.AllRetries && o.Failure == "":
		// It may fail as the one before did: then that has stood all the time.
		a.reason = joinNonEmpty("the next attempt is running", o.Message)
		return
	case o.Retries > 0 && !e.opt.AllRetries:
		kind, said = o.cause(), o.Failure
	}
	if kind == "" {
		a.trouble = ""
		a.reason = joinNonEmpty("the operation is running", o.Message)
		return
	}
	if a.said != said {
		a.trouble = "" // another attempt has failed, in its own way
	}
	if e.troubled(a, kind, said, e.opt.ErrorGrace, now) {
		e.failWith(a, Failure{Kind: kind, Said: o.Message}, now)
	}
}

// landed: our operation succeeded. If it deployed what it was asked to, health is what is left.
func (e *engine) landed(a *app, now time.Time) {
	o := a.live.Operation
	if o.Token == a.token && len(o.Revisions) > 0 && !slices.Equal(o.Revisions, e.revisions(a)) {
		e.failWith(a, Failure{Kind: KindSuperseded, Said: "synced " + strings.Join(o.Revisions, ", ")}, now)
		return
	}
	a.unsynced = false
	a.ended, a.fresh, a.refresh = now, time.Time{}, ""
	e.becomes(a, verifying, now, "synced; waiting until it is healthy")
	e.verify(a, now)
}

// awaitPerson waits for somebody to sync; that may take as long as the whole apply may.
func (e *engine) awaitPerson(a *app, now time.Time) {
	if e.halted() {
		e.rest(a, idle)
		return
	}
	if a.live != nil {
		a.uid = a.live.UID
	}
	a.deadline = time.Time{}
	e.becomes(a, awaiting, now, "manual step: waiting until somebody runs: argocd app sync "+e.opt.Namespace+"/"+a.name+revisionFlags(e.revisions(a)))
}

// revisionFlags are the flags of `argocd app sync` for these revisions.
func revisionFlags(revisions []string) string {
	if len(revisions) == 1 {
		return " --revision " + revisions[0]
	}
	var b strings.Builder
	for i, r := range revisions {
		fmt.Fprintf(&b, " --revisions %s --source-positions %d", r, i+1)
	}
	return b.String()
}

// await waits for a sync that is not ours.
func (e *engine) await(a *app, now time.Time) {
	if a.want.Mode == ModeAutomated {
		e.awaitAutomated(a, now)
		return
	}
	if e.astray(a, now) {
		return
	}
	if !e.atTarget(a) {
		return
	}
	a.ended, a.deadline, a.stopped = now, now.Add(e.opt.AppTimeout), time.Time{}
	e.becomes(a, verifying, now, "somebody has synced the target; waiting until it is healthy")
	e.verify(a, now)
}

// awaitAutomated: a refresh after the write must find everything in sync and healthy.
func (e *engine) awaitAutomated(a *app, now time.Time) {
	if e.astray(a, now) {
		return
	}
	l, o := a.live, a.live.Operation
	if a.fresh.IsZero() {
		e.ask(a, now)
		return
	}
	if (o.Phase == Failed || o.Phase == Error) && !o.Active() && o.Started != a.before {
		e.failWith(a, Failure{Kind: KindSyncFailed, Said: o.Message}, now)
		return
	}
	accepted := e.opt.AcceptOutOfSync && l.Sync.Status == OutOfSync && o.Phase == Succeeded && o.Started != a.before
	if (l.Sync.Status == Synced || accepted) && l.Sync.OfSpec && !o.Active() && e.healthy(l) {
		e.stay(a, now)
		return
	}
	a.healthy = time.Time{}
	if kind, said := l.errorKind(); kind != "" {
		if e.troubled(a, kind, said, e.opt.ErrorGrace, now) {
			e.confirm(a, Failure{Kind: kind, Said: said}, now)
		}
		return
	}
	if l.Sync.Status != Synced || o.Active() {
		a.trouble, a.reason = "", joinNonEmpty("waiting for automated sync", o.Message)
		return
	}
	e.unhealthy(a, now)
}

// verify proves health. A status at the target, made with our spec, Synced and Healthy certifies
// itself, if the status right after the write was another one; everything else needs a refresh
// that was asked for after the operation had ended.
func (e *engine) verify(a *app, now time.Time) {
	if e.astray(a, now) {
		return
	}
	l, revisions := a.live, e.revisions(a)
	if a.moved.After(a.ended) { // somebody else's operation: nothing that was known still counts
		a.ended, a.fresh, a.refresh, a.wrote, a.telling = a.moved, time.Time{}, "", true, false
		a.healthy = time.Time{}
	}
	if !e.healthy(l) {
		a.healthy = time.Time{}
	}
	if l.Operation.Active() {
		a.reason = joinNonEmpty("another operation is running", l.Operation.Message)
		return
	}
	if deployed := l.deployedRevisions(); len(deployed) > 0 && !slices.Equal(deployed, revisions) {
		e.failWith(a, Failure{Kind: KindSuperseded, Said: "deployed is " + strings.Join(deployed, ", ")}, now)
		return
	}
	here := l.Sync.at(revisions) && l.Sync.OfSpec
	fresh := a.freshSince(a.ended.Add(freshDelay))
	switch {
	case here && l.Sync.Status == Synced:
		if !fresh && a.wrote && (!a.telling || e.opt.MinHealthy == 0) {
			e.askLater(a, freshDelay, now)
			return
		}
	case !fresh:
		e.askLater(a, quietDelay, now)
		return
	case e.opt.AcceptOutOfSync && l.Sync.Status == OutOfSync:
	case here || !e.opt.AcceptOutOfSync && !l.Sync.at(revisions) && len(l.Operation.Incomplete) > 0 && l.Operation.deployed(a.want.Hash, revisions):
		e.unsynced(a, now)
		return
	}
	if e.healthy(l) {
		e.stay(a, now)
		return
	}
	if kind, said := l.errorKind(); kind != "" && kind != KindComparison {
		if e.troubled(a, kind, said, e.opt.ErrorGrace, now) {
			e.confirm(a, Failure{Kind: kind, Said: said}, now)
		}
		return
	}
	e.unhealthy(a, now)
}

// deployed tells that it is one of ours, of this run or an earlier one, to exactly this target.
func (o Operation) deployed(hash string, revisions []string) bool {
	return o.Target == hash && slices.Equal(o.Revisions, revisions)
}

// askLater asks for a refresh once this much time has passed since the operation ended.
func (e *engine) askLater(a *app, after time.Duration, now time.Time) {
	if at := a.ended.Add(after); now.Before(at) {
		e.wakeAt(a, at)
		return
	}
	e.ask(a, now)
}

// stay lets an Application that is healthy be done once it has been so long enough.
func (e *engine) stay(a *app, now time.Time) {
	a.trouble = ""
	if a.healthy.IsZero() {
		a.healthy = now
	}
	if !e.listed {
		a.reason = e.closedFor()
		return
	}
	until := a.healthy.Add(e.opt.MinHealthy)
	if now.Before(until) {
		a.reason = "healthy; must stay so for " + e.opt.MinHealthy.String()
		e.wakeAt(a, until)
		return
	}
	e.complete(a, now, "synced and healthy")
}

// unsynced handles an Application that is out of sync, or cannot be compared, at its own target.
// An error about a newer commit is not its error.
func (e *engine) unsynced(a *app, now time.Time) {
	a.healthy = time.Time{}
	l := a.live
	kind, said := l.errorKind()
	if kind == "" || !l.Sync.at(e.revisions(a)) {
		kind, said = KindOutOfSync, strings.Join(append(slices.Clone(l.Operation.Incomplete), l.Unfinished...), "; ")
	}
	if e.troubled(a, kind, said, e.opt.ErrorGrace, now) {
		e.confirm(a, Failure{Kind: kind, Said: said}, now)
	}
}

// unhealthy handles bad health: it has a grace to recover; only Progressing and Suspended have
// until the Application's deadline.
func (e *engine) unhealthy(a *app, now time.Time) {
	l := a.live
	kind := map[string]Kind{Degraded: KindDegraded, Missing: KindMissing}[l.Health.Type]
	switch {
	case l.Health.Type == Progressing || e.waitsSuspended(l):
		a.trouble, a.reason = "", a.healthText()
		return
	case l.Health.Type == Suspended:
		kind = KindSuspended
	case kind == "":
		kind = KindHealthUnknown
	}
	said := joinNonEmpty(l.Health.Message, strings.Join(l.Unfinished, "; "))
	if _, why := l.errorKind(); kind == KindHealthUnknown {
		said = joinNonEmpty(said, why) // of a health check that fails only this tells
	}
	if e.troubled(a, kind, said, e.opt.DegradedGrace, now) {
		e.confirm(a, Failure{Kind: kind, Said: said}, now)
	}
}

// confirm fails an Application only after a refresh made since the trouble began.
func (e *engine) confirm(a *app, f Failure, now time.Time) {
	if a.fresh.After(a.troubled) {
		e.failWith(a, f, now)
		return
	}
	e.ask(a, now)
}

// cause is the kind of a failed operation.
func (o Operation) cause() Kind {
	if o.Cause != "" {
		return o.Cause
	}
	return KindSyncFailed
}

// refused tells that Argo CD has found the spec invalid when it last looked.
func (l *Live) refused() bool {
	kind, _ := l.errorKind()
	return kind != "" && kind != KindComparison
}

// errorKind is the worst error condition.
func (l *Live) errorKind() (Kind, string) {
	for _, c := range l.Errors {
		switch c.Type {
		case "InvalidSpecError", "UnknownError":
			if c.Kind != "" {
				return c.Kind, c.Type + ": " + c.Message
			}
			return KindInvalid, c.Type + ": " + c.Message
		}
	}
	for _, c := range l.Errors {
		if c.Type == "ComparisonError" {
			return KindComparison, c.Type + ": " + c.Message
		}
	}
	return "", ""
}
