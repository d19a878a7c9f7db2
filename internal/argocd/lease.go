package argocd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// leaseDuration is after how long without a renewal others may take a lease over.
	leaseDuration = 15 * time.Second
	leaseRenewal  = 5 * time.Second
	// leaseTrust is how long a renewal permits that a write begins. It is shorter than leaseDuration: one that
	// is under way then has to end leaseMargin before anybody else may hold the lease.
	leaseTrust  = 10 * time.Second
	leaseMargin = time.Second
	// leasePoll is how often those who wait look, and how soon a failed renewal is tried again.
	leasePoll = time.Second
	// leaseFarewell bounds the release: the process is about to end.
	leaseFarewell = 5 * time.Second
)

// Lease is the right to write the Applications and the record of one set, a Lease of
// coordination.k8s.io beside them. It is renewed in the background until it is released, deleted or
// lost to somebody else. See Client.Under for the writes that it permits.
//
// Whether a holder is still alive is judged only by how long its Lease has not changed, by the own
// clock: the times that stand in a Lease are those of another machine, and are for people to read.
type Lease struct {
	client   *Client
	owner    Owner
	identity string
	// tried: it was attempted to take the lease.
	tried bool
	// stop ends the renewals, and stopped tells that they have ended; nil before they begin.
	stop    context.CancelFunc
	stopped chan struct{}
	// gone is closed when the lease is lost.
	gone chan struct{}

	mu sync.Mutex
	// object is the Lease as we know it last; nil where that is not known.
	object *unstructured.Unstructured
	// renewed is when the last successful renewal was sent.
	renewed time.Time
	// trouble is why the renewals since have failed, and failing since when; zero while none has.
	trouble error
	failing time.Time
	lost    *LeaseLostError
	// news is closed, and replaced, by every renewal, whether it succeeds or not, and closed by the loss.
	news chan struct{}
}

// LeaseOptions are who asks for a lease, and how patiently.
type LeaseOptions struct {
	// Holder tells people whom to look for: user@host and process.
	Holder string
	// Run identifies the run; no two have the same.
	Run string
	// Timeout is how long to wait for a holder that is alive. It takes up to leaseRenewal to see
	// that it is, and leaseDuration to see that it is not.
	Timeout time.Duration
	// Waiting is told whom the wait is for, once for each of them.
	Waiting func(LeaseHolder)
}

// LeaseHolder is who holds a lease, by its own words and clock.
type LeaseHolder struct {
	// Identity is spec.holderIdentity; empty when nobody holds it.
	Identity string
	// Since is when it took the lease.
	Since time.Time
	// Renewed is when it has said last that it is alive.
	Renewed time.Time
}

func (h LeaseHolder) String() string {
	text := h.Identity
	if !h.Since.IsZero() {
		text += ", since " + h.Since.UTC().Format(time.RFC3339)
	}
	if !h.Renewed.IsZero() {
		text += ", last renewed " + h.Renewed.UTC().Format(time.RFC3339)
	}
	return text
}

// LeaseHeldError says that somebody else holds the lease, and has not let go in time.
type LeaseHeldError struct {
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	Holder          LeaseHolder
	// Waited is how long.
	Waited time.Duration
	// Interrupted: the wait was cancelled.
	Interrupted bool
}

func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("the Lease %s/%s is held by %s", e.Namespace, e.Name, e.Holder)
}

// LeaseLostError says that somebody has taken the lease from the run, which may write nothing any more.
type LeaseLostError struct {
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Holder is who holds it now; its Identity is empty when nobody does.
	Holder LeaseHolder
	// Deleted: the Lease is gone.
	Deleted bool
	// Foreign: the Lease does not name the set any more.
	Foreign *LeaseOwnerError
}

func (e *LeaseLostError) Error() string {
	switch {
	case e.Deleted:
		return fmt.Sprintf("somebody has deleted the Lease %s/%s", e.Namespace, e.Name)
	case e.Foreign != nil:
		return "somebody has changed whose it is: " + e.Foreign.Error()
	case e.Holder.Identity == "":
		return fmt.Sprintf("somebody has taken the holder out of the Lease %s/%s", e.Namespace, e.Name)
	}
	return fmt.Sprintf("the Lease %s/%s is held by %s now", e.Namespace, e.Name, e.Holder)
}

// staleError: whether the lease is still ours could not be told in time, or can never be. It was waited
// for: nothing is gained by another try.
type staleError struct {
	lease string
	// age is that of the last renewal, and trouble why there was none since.
	age     time.Duration
	trouble error
}

func (e *staleError) Error() string {
	text := fmt.Sprintf("nothing may be written, as the Lease %s was renewed %s ago", e.lease, e.age.Round(time.Second))
	if e.trouble != nil {
		text += ", and not since: " + e.trouble.Error()
	}
	return text
}

func isStale(err error) bool {
	var stale *staleError
	return errors.As(err, &stale)
}

// Unwrap gives the kind of the trouble; a conflict would be taken for one of what was to be written.
func (e *staleError) Unwrap() error {
	if overtaken(e.trouble) {
		return nil
	}
	return e.trouble
}

// AcquireLease takes the lease of a set, or waits for it. The errors are *LeaseHeldError,
// *LeaseOwnerError and *RequestError. The lease must be ended with Release or Delete.
func (c *Client) AcquireLease(ctx context.Context, owner Owner, options LeaseOptions) (*Lease, error) {
	l := &Lease{
		client: c, owner: owner, identity: options.Holder + ", run " + options.Run,
		gone: make(chan struct{}), news: make(chan struct{}),
	}
	if err := l.acquire(ctx, options); err != nil {
		if l.tried {
			// Perhaps it was taken, and only the answer was lost.
			_ = l.Release(ctx)
		}
		return nil, err
	}
	renewals, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop, l.stopped = stop, make(chan struct{})
	go l.keep(renewals)
	return l, nil
}
