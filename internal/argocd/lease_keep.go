package argocd

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// renewalTries is how often one renewal is repeated after a conflict.
const renewalTries = 3

// keep renews the lease until ctx ends or the lease is lost. It never gives up by itself: an API
// server that is away for minutes ends no rollout that has nothing to write meanwhile.
func (l *Lease) keep(ctx context.Context) {
	defer close(l.stopped)
	pause := leaseRenewal
	for {
		select {
		case <-l.client.clock.After(pause):
		case <-ctx.Done():
			return
		}
		err := l.renew(ctx)
		if l.Lost() != nil {
			return
		}
		pause = leaseRenewal
		if err != nil {
			pause = leasePoll
			l.troubled(err)
		}
	}
}

// renew renews the lease, or finds that it is lost.
func (l *Lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTrust)
	defer cancel()
	for try := 1; ; try++ {
		sent := l.client.clock.Now()
		saved, err := l.write(ctx, l.renewal(l.known(), sent))
		if err == nil {
			l.confirm(saved, sent)
			return nil
		}
		if ctx.Err() == context.DeadlineExceeded {
			err = &noAnswerError{leaseTrust}
		}
		if err = l.failed("update", err); !overtaken(err) || try == renewalTries {
			return err
		}
		// It has changed: by somebody who has taken it, or only added a label; or the answer to an
		// earlier renewal of ours was lost.
		found, err := l.get(ctx)
		var foreign *LeaseOwnerError
		switch {
		case errors.As(err, &foreign):
			l.lose(&LeaseLostError{Foreign: foreign})
			return nil
		case err != nil:
			return l.failed("get", err)
		case found == nil:
			l.lose(&LeaseLostError{Deleted: true})
			return nil
		case !l.keepKnown(found):
			l.lose(&LeaseLostError{Holder: holderOf(found)})
			return nil
		}
	}
}

// confirm stores what a renewal that was sent then has written.
func (l *Lease) confirm(saved *unstructured.Unstructured, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.object, l.renewed, l.trouble, l.failing = saved, sent, nil, time.Time{}
	l.tell()
}

// troubled stores why a renewal has failed.
func (l *Lease) troubled(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trouble = err; l.failing.IsZero() {
		l.failing = l.client.clock.Now()
	}
	l.tell()
}

// tell wakes those who wait for a renewal; mu is held.
func (l *Lease) tell() {
	close(l.news)
	l.news = make(chan struct{})
}

func (l *Lease) known() *unstructured.Unstructured {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.object
}

// keepKnown stores what was found of the lease, if it is still ours.
func (l *Lease) keepKnown(found *unstructured.Unstructured) bool {
	if found == nil || text(found.Object, "spec", "holderIdentity") != l.identity {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.object = found
	return true
}

// lose ends the lease. A Lease without a holder is lost as well: somebody may have had it in
// between, or wants us to stop.
func (l *Lease) lose(lost *LeaseLostError) {
	lost.Namespace, lost.Name = l.owner.Namespace, recordName(l.owner)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = lost
	close(l.gone)
	close(l.news)
}

// Lost is a *LeaseLostError as soon as somebody else has been seen to hold the lease; nil before.
func (l *Lease) Lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		return nil
	}
	return l.lost
}

// Release ends the renewals and lets others have the lease, if it is still ours. It is sent also
// when ctx has ended, and takes leaseFarewell at most; if it fails, the lease expires by itself.
func (l *Lease) Release(ctx context.Context) error {
	return l.end(ctx, "update", func(ctx context.Context, held *unstructured.Unstructured) error {
		_, err := l.write(ctx, released(held))
		return err
	})
}

// Delete is Release that leaves no Lease behind.
func (l *Lease) Delete(ctx context.Context) error { return l.end(ctx, "delete", l.remove) }

// end stops the renewals and carries out what becomes of a Lease that is ours.
func (l *Lease) end(ctx context.Context, verb string, do func(context.Context, *unstructured.Unstructured) error) error {
	if l.stop != nil {
		l.stop()
		<-l.stopped
	}
	if l.Lost() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseFarewell)
	defer cancel()
	for delay := firstDelay; ; delay *= 2 {
		if l.known() == nil {
			found, err := l.read(ctx)
			if err != nil {
				return err
			}
			if !l.keepKnown(found) {
				return nil
			}
		}
		err := l.request(ctx, verb, func() error { return do(ctx, l.known()) })
		if apierrors.IsNotFound(err) {
			err = nil
		}
		if err == nil || !isConflict(err) || l.client.retry.sleep(ctx, l.client.retry.jitter(delay)) != nil {
			return err
		}
		l.forget()
	}
}

func (l *Lease) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.object = nil
}
