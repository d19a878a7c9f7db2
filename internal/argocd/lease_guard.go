package argocd

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Under returns the client as the holder of a lease; nil is that of none. Each try of a write waits until the
// lease is known to be held, ends before anybody else may hold it, and is refused with *LeaseLostError when it
// is lost. Reading needs no lease.
func (c *Client) Under(l *Lease) *Client {
	under := *c
	if held, ok := c.dynamic.(heldResources); ok {
		under.dynamic = held.Interface
	}
	if l != nil {
		under.dynamic = heldResources{under.dynamic, l}
	}
	return &under
}

// heldResources are those of the API server, each try of a write to which needs the lease.
type heldResources struct {
	dynamic.Interface
	lease *Lease
}

func (h heldResources) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := h.Interface.Resource(resource)
	return heldResource{heldObjects{all, h.lease}, all}
}

// heldResource is one of them, in all namespaces.
type heldResource struct {
	heldObjects
	all dynamic.NamespaceableResourceInterface
}

func (h heldResource) Namespace(namespace string) dynamic.ResourceInterface {
	return heldObjects{h.all.Namespace(namespace), h.lease}
}

// heldObjects are those of a namespace. All ways to write that this package uses are here.
type heldObjects struct {
	dynamic.ResourceInterface
	lease *Lease
}

func (h heldObjects) Create(ctx context.Context, obj *unstructured.Unstructured, options metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := h.lease.hold(ctx); err != nil {
		return nil, err
	}
	return h.ResourceInterface.Create(h.lease.with(ctx), obj, options, subresources...)
}

func (h heldObjects) Update(ctx context.Context, obj *unstructured.Unstructured, options metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := h.lease.hold(ctx); err != nil {
		return nil, err
	}
	return h.ResourceInterface.Update(h.lease.with(ctx), obj, options, subresources...)
}

func (h heldObjects) Patch(ctx context.Context, name string, kind types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := h.lease.hold(ctx); err != nil {
		return nil, err
	}
	return h.ResourceInterface.Patch(h.lease.with(ctx), name, kind, body, options, subresources...)
}

func (h heldObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if err := h.lease.hold(ctx); err != nil {
		return err
	}
	return h.ResourceInterface.Delete(h.lease.with(ctx), name, options, subresources...)
}

// leaseKey is that of the lease which a request needs, in its context.
type leaseKey struct{}

// with is a context of requests that need the lease until they are answered: see answerLimit. They are sent
// later than it was looked at, as the rate limit lets them.
func (l *Lease) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaseKey{}, l)
}

// leaseOf is the lease that a request needs; nil for none.
func leaseOf(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
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

// Attend is that of the cluster, where it has one.
func (g *guarded) Attend(names []string) {
	if attendant, ok := g.Cluster.(rollout.Attendant); ok {
		attendant.Attend(names)
	}
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
