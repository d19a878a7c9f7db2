package argocd

import (
	"context"
	"time"
)

// seenAlive is in how much time a holder that is alive renews its lease for certain.
const seenAlive = leaseRenewal + 2*time.Second

// Running tells who rolls the set out at this moment; ok is false when nobody does. A holder whose
// last renewal is not of just now, by our clock, may be dead, or its clock another one: then it is
// looked at twice, which takes some seconds. Nothing is written.
func (c *Client) Running(ctx context.Context, owner Owner) (holder LeaseHolder, ok bool, err error) {
	l := &Lease{client: c, owner: owner}
	found, err := l.read(ctx)
	if err != nil || found == nil {
		return LeaseHolder{}, false, err
	}
	first := holderOf(found)
	if first.Identity == "" {
		return LeaseHolder{}, false, nil
	}
	if age := c.clock.Now().Sub(first.Renewed).Abs(); age < leaseDuration {
		return first, true, nil
	}
	select {
	case <-c.clock.After(seenAlive):
	case <-ctx.Done():
		return LeaseHolder{}, false, ctx.Err()
	}
	if found, err = l.read(ctx); err != nil || found == nil {
		return LeaseHolder{}, false, err
	}
	second := holderOf(found)
	alive := second.Identity != "" && (second.Identity != first.Identity || !second.Renewed.Equal(first.Renewed))
	return second, alive, nil
}
