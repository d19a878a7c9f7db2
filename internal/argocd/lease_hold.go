package argocd

import (
	"context"
	"errors"
	"time"
)

// hold returns once the lease permits a write: at once while the last renewal is fresh, else
// after the next one. It is an error when the lease is lost; when ctx ends first, or requestPatience
// does; and at once when a renewal was refused for want of credentials or permissions.
//
// The longer renewals have failed, the less is waited, but never less than one may take: where they fail for
// good, a run with many writes must not wait for each of them in full.
func (l *Lease) hold(ctx context.Context) error {
	var end <-chan time.Time
	for over := false; ; {
		l.mu.Lock()
		lost, news, trouble := l.lost, l.news, l.trouble
		now, failing := l.client.clock.Now(), time.Duration(0)
		age := elapsed(l.renewed, now)
		if !l.failing.IsZero() {
			failing = now.Sub(l.failing)
		}
		l.mu.Unlock()
		switch {
		case lost != nil:
			return lost
		case age < leaseTrust:
			return nil
		case over, failing >= leasePoll && l.hopeless(trouble): // an exec command renews a token at the first refusal
			return &staleError{lease: recordName(l.owner), age: age, trouble: trouble}
		case end == nil:
			end = l.client.clock.After(max(requestPatience-failing, leaseTrust))
		}
		select {
		case <-news:
		case <-end:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
}

// hopeless tells that no later renewal fares better: one that the API server refuses, and not because it
// has just come back.
func (l *Lease) hopeless(trouble error) bool {
	refused := errors.Is(trouble, ErrUnauthorized) || errors.Is(trouble, ErrForbidden)
	unsettled := l.client.retry.unsettled
	return refused && (unsettled == nil || !unsettled())
}

// left is how long a write that is sent now may take.
func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return leaseDuration - leaseMargin - elapsed(l.renewed, l.client.clock.Now())
}

// elapsed is the time between two readings of the clock. Where the monotonic clock has stood still
// (a machine that slept), it is that of the wall clock.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
