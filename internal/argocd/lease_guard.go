package argocd

import (
	"context"
	"errors"
	"slices"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Under returns the client as the holder of a lease. Each write of it, and each try of a write,
// waits until the lease is known to be held, and is refused with *LeaseLostError when it is lost.
// Reading needs no lease.
func (c *Client) Under(l *Lease) *Client {
	under := *c
	under.lease = l
	return &under
}

// permitted is do, with a look at the lease before each try of a write.
func (c *Client) permitted(ctx context.Context, verb string, do func() error) func() error {
	if c.lease == nil || slices.Contains([]string{"get", "list", "watch"}, verb) {
		return do
	}
	return func() error {
		if err := c.lease.hold(ctx); err != nil {
			return err
		}
		return do()
	}
}

// Guard is the cluster for a run under the lease: when the lease is lost, the watch ends, and
// with it the run; no action answers any more.
func (l *Lease) Guard(cluster rollout.Cluster) rollout.Cluster { return &guarded{cluster, l} }

type guarded struct {
	rollout.Cluster
	lease *Lease
}

// Err is the loss of the lease, or why the watch has ended otherwise.
func (g *guarded) Err() error {
	if err := g.lease.Lost(); err != nil {
		return err
	}
	return g.Cluster.Err()
}

// Watch ends also when the lease is lost.
func (g *guarded) Watch(ctx context.Context) (<-chan rollout.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := g.Cluster.Watch(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	out := make(chan rollout.Event)
	go func() {
		defer close(out)
		defer cancel()
		for {
			var event rollout.Event
			open := false
			select {
			case event, open = <-events:
			case <-g.lease.gone:
			}
			if !open {
				return
			}
			select {
			case out <- event:
			case <-g.lease.gone:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// Do is that of the cluster. An action that is refused because the lease is lost says nothing
// about its Application: the run ends for the lease, so there is no answer before it does.
func (g *guarded) Do(ctx context.Context, action rollout.Action) rollout.Result {
	result := g.Cluster.Do(ctx, action)
	var lost *LeaseLostError
	if errors.As(result.Err, &lost) {
		<-ctx.Done()
	}
	return result
}
