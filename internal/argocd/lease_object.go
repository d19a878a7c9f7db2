package argocd

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

var leaseKind = leases.GroupVersion().WithKind("Lease")

// taken is a Lease that we hold from now on: a new one when found is nil.
func (l *Lease) taken(found *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	next := &unstructured.Unstructured{Object: map[string]any{}}
	transitions := int64(0)
	if found != nil {
		next = found.DeepCopy()
		transitions, _, _ = unstructured.NestedInt64(found.Object, "spec", "leaseTransitions")
		transitions++
	} else {
		next.SetGroupVersionKind(leaseKind)
		next.SetNamespace(l.owner.Namespace)
		next.SetName(recordName(l.owner))
		next.SetLabels(map[string]string{SetLabel: l.owner.Hash()})
		next.SetAnnotations(map[string]string{OwnerAnnotation: l.owner.String()})
	}
	next.Object["spec"] = map[string]any{
		"holderIdentity":       l.identity,
		"leaseDurationSeconds": int64(leaseDuration / time.Second),
		"leaseTransitions":     transitions,
		"acquireTime":          microTime(now),
		"renewTime":            microTime(now),
	}
	return next
}

// renewal is a Lease of ours, renewed now.
func (l *Lease) renewal(held *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	next := held.DeepCopy()
	dict(next.Object, "spec")["renewTime"] = microTime(now)
	return next
}

// released is a Lease of ours without a holder.
func released(held *unstructured.Unstructured) *unstructured.Unstructured {
	next := held.DeepCopy()
	dict(next.Object, "spec")["holderIdentity"] = ""
	return next
}

// microTime is the format of the times in a Lease.
func microTime(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

// holderOf reads who holds a Lease. Times that cannot be read are left out.
func holderOf(found *unstructured.Unstructured) LeaseHolder {
	at := func(field string) time.Time {
		t, err := time.Parse(time.RFC3339Nano, text(found.Object, "spec", field))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	return LeaseHolder{Identity: text(found.Object, "spec", "holderIdentity"), Since: at("acquireTime"), Renewed: at("renewTime")}
}

func (l *Lease) api() dynamic.ResourceInterface {
	return l.client.leases.Resource(leases).Namespace(l.owner.Namespace)
}

// read is get, and tries again for a while.
func (l *Lease) read(ctx context.Context) (found *unstructured.Unstructured, err error) {
	err = l.request(ctx, "get", func() (err error) {
		found, err = l.get(ctx)
		return err
	})
	return found, err
}

// get is the Lease as it is, nil when there is none. One of another set is an error.
func (l *Lease) get(ctx context.Context) (*unstructured.Unstructured, error) {
	found, err := l.api().Get(ctx, recordName(l.owner), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !l.owner.owns(found) {
		return nil, &LeaseOwnerError{Namespace: l.owner.Namespace, Name: recordName(l.owner), Owner: found.GetAnnotations()[OwnerAnnotation]}
	}
	return found, nil
}

// write creates or replaces the Lease; replacing fails when it has changed.
func (l *Lease) write(ctx context.Context, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if next.GetResourceVersion() == "" {
		return l.api().Create(ctx, next, metav1.CreateOptions{})
	}
	return l.api().Update(ctx, next, metav1.UpdateOptions{})
}

// remove deletes the Lease unless it has changed.
func (l *Lease) remove(ctx context.Context, held *unstructured.Unstructured) error {
	version := held.GetResourceVersion()
	return l.api().Delete(ctx, held.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
}

// request runs one request, retries transient failures, and says in the error what it was.
func (l *Lease) request(ctx context.Context, verb string, do func() error) error {
	return l.failed(verb, l.client.retry.do(ctx, requestPatience, do))
}

// failed says in the error what was asked.
func (l *Lease) failed(verb string, err error) error {
	var foreign *LeaseOwnerError
	if err == nil || errors.As(err, &foreign) {
		return err
	}
	return &RequestError{Verb: verb, Resource: leases.GroupResource().String(), Namespace: l.owner.Namespace, Name: recordName(l.owner), Err: err}
}

// LeaseOwnerError says that a Lease of the name that the set needs is not that of the set.
type LeaseOwnerError struct {
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Owner is the set that it is of; empty when it does not say.
	Owner string
}

func (e *LeaseOwnerError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("the Lease %s/%s does not say which set it is of (annotation %s)", e.Namespace, e.Name, OwnerAnnotation)
	}
	return fmt.Sprintf("the Lease %s/%s is that of the set %s", e.Namespace, e.Name, e.Owner)
}
