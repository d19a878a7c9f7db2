package rollout

import (
	"fmt"
	"regexp"
	"time"
)

// lead makes the Application the one that finds out what its sources mean now, so that all others
// of the same source get exactly that; or lets it wait for the one that does.
func (e *engine) lead(a *app, now time.Time) {
	for _, s := range a.want.Sources {
		if leader := e.leaders[s]; leader != nil && leader != a {
			if a.waits != leader {
				a.waits, leader.waiters = leader, append(leader.waiters, a)
			}
			a.reason = fmt.Sprintf("waiting until %s has found out what revision %q means", leader.name, s.TagPrefix+s.TargetRevision)
			return
		}
	}
	for _, s := range a.want.Sources {
		if !Immutable(s) && e.pins[s] == "" && e.leaders[s] == nil {
			e.leaders[s] = a
			a.leads = append(a.leads, s)
		}
	}
	if a.live == nil || a.live.Hash != a.want.Hash {
		a.ended = time.Time{}
		if a.live != nil {
			a.ended = now // an existing Application needs a refresh: its last comparison is old
		}
		e.write(a, nil, now)
		return
	}
	a.uid, a.ended = a.live.UID, now
	e.becomes(a, resolving, now, "asking Argo CD what its revision means")
	e.resolve(a, now)
}

// resolve waits for the comparison that tells the revisions, and pins them.
func (e *engine) resolve(a *app, now time.Time) {
	if e.halted() {
		e.rest(a, idle)
		return
	}
	if e.astray(a, now) {
		return
	}
	l := a.live
	if !a.ended.IsZero() && a.fresh.IsZero() {
		e.ask(a, now)
		return
	}
	if l.Sync.OfSpec && len(l.Sync.Revisions) == len(a.want.Sources) && e.pin(a, now) {
		waiters := e.stopLeading(a)
		e.becomes(a, entering, now, "its revision is resolved")
		e.look(a, now)
		for _, other := range waiters {
			if other.state == entering {
				e.look(other, now)
			}
		}
		return
	}
	if kind, said := l.errorKind(); kind != "" {
		if e.troubled(a, kind, said, e.opt.ErrorGrace, now) {
			e.confirm(a, Failure{Kind: kind, Said: said}, now)
		}
		return
	}
	a.trouble = ""
	a.reason = "waiting for Argo CD's comparison"
	if a.ended.IsZero() {
		a.ended = now.Add(-freshDelay) // a new Application: Argo CD compares by itself; ask if it does not
		a.fresh = now
		e.wakeAt(a, now.Add(quietDelay))
	} else if now.Sub(a.fresh) >= quietDelay {
		e.ask(a, now)
	} else {
		e.wakeAt(a, a.fresh.Add(quietDelay))
	}
}

// pin records what the sources of the Application mean; false when one is not resolved.
func (e *engine) pin(a *app, now time.Time) bool {
	for i, s := range a.want.Sources {
		if !Immutable(s) && e.pins[s] == "" && !resolved(s, a.live.Sync.Revisions[i]) {
			return false
		}
	}
	for i, s := range a.want.Sources {
		if !Immutable(s) && e.pins[s] == "" {
			e.pins[s] = a.live.Sync.Revisions[i]
			e.say(now, a, "", fmt.Sprintf("%s of %s is pinned to %s for this rollout", s.TagPrefix+s.TargetRevision, WithoutCredentials(s.RepoURL), e.pins[s]))
		}
	}
	return true
}

// userInfo is what stands before the host in a URL.
var userInfo = regexp.MustCompile(`://[^/\s"]*@`)

// WithoutCredentials is a text without the users and passwords in its URLs.
func WithoutCredentials(text string) string { return userInfo.ReplaceAllString(text, "://") }

// stopLeading returns those that have waited for this Application.
func (e *engine) stopLeading(a *app) []*app {
	for _, s := range a.leads {
		delete(e.leaders, s)
	}
	waiters := a.waiters
	a.leads, a.waiters = nil, nil
	for _, w := range waiters {
		w.waits = nil
	}
	return waiters
}
