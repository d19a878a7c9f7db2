package argocd

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// acquire takes the lease as soon as it is free.
func (l *Lease) acquire(ctx context.Context, options LeaseOptions) error {
	w := waiting{Lease: l, options: options, began: l.client.clock.Now()}
	for {
		found, err := l.read(ctx)
		if err != nil {
			return w.orInterrupted(ctx, err)
		}
		pause := firstDelay
		if w.free(found) {
			err = l.take(ctx, found)
			if err == nil || !overtaken(err) || w.passed() > options.Timeout+requestPatience {
				return w.orInterrupted(ctx, err)
			}
		} else if pause, err = w.pause(found); err != nil {
			return err
		}
		select {
		case <-l.client.clock.After(pause):
		case <-ctx.Done():
			return w.orInterrupted(ctx, ctx.Err())
		}
	}
}

// overtaken tells that a write was refused because somebody else was faster.
func overtaken(err error) bool { return isConflict(err) || apierrors.IsNotFound(err) }

// take writes us as the holder, unless the Lease has changed since it was found.
func (l *Lease) take(ctx context.Context, found *unstructured.Unstructured) error {
	var saved *unstructured.Unstructured
	var sent time.Time
	verb := "update"
	if found == nil {
		verb = "create"
	}
	l.tried = true
	err := l.request(ctx, verb, func() (err error) {
		sent = l.client.clock.Now()
		saved, err = l.write(ctx, l.taken(found, sent))
		return err
	})
	if err == nil {
		l.confirm(saved, sent)
	}
	return err
}

// waiting is the wait for a lease that somebody else holds.
type waiting struct {
	*Lease
	options LeaseOptions
	began   time.Time
	// renewal is the last one seen, and since when.
	renewal string
	since   time.Time
	// alive: a renewal was seen while waiting.
	alive bool
	// told is the holder that the wait was told for.
	told string
	held *LeaseHeldError
}

func (w *waiting) passed() time.Duration { return w.client.clock.Now().Sub(w.began) }

// free tells whether the lease may be taken: there is none yet, nobody holds it, we do, or its
// holder is dead.
func (w *waiting) free(found *unstructured.Unstructured) bool {
	if found == nil {
		return true
	}
	identity := text(found.Object, "spec", "holderIdentity")
	if identity == "" || identity == w.identity {
		return true
	}
	now := w.client.clock.Now()
	renewal := sentence(" ", string(found.GetUID()), identity, text(found.Object, "spec", "renewTime"))
	if renewal != w.renewal {
		w.alive = w.renewal != ""
		w.renewal, w.since = renewal, now
	}
	duration := leaseDuration
	if seconds, _, _ := unstructured.NestedInt64(found.Object, "spec", "leaseDurationSeconds"); seconds > 0 {
		duration = time.Duration(seconds) * time.Second
	}
	return now.Sub(w.since) >= duration
}

// pause is how long to wait until the next look at the lease; an error when time is up. That is
// never before the holder was seen alive: else a dead one could keep the impatient out for ever.
func (w *waiting) pause(found *unstructured.Unstructured) (time.Duration, error) {
	holder, passed := holderOf(found), w.passed()
	w.held = &LeaseHeldError{Namespace: w.owner.Namespace, Name: recordName(w.owner), Holder: holder, Waited: passed}
	limit := w.options.Timeout
	if !w.alive {
		limit = max(limit, leaseDuration)
	}
	if passed >= limit {
		return 0, w.held
	}
	if w.told != holder.Identity && w.options.Waiting != nil {
		w.told = holder.Identity
		w.options.Waiting(holder)
	}
	return min(leasePoll, limit-passed), nil
}

// orInterrupted is err, or the wait where that was cancelled.
func (w *waiting) orInterrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || w.held == nil {
		return err
	}
	w.held.Waited, w.held.Interrupted = w.passed(), true
	return w.held
}
