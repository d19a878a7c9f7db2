package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// sweepTimeout is how long the removal of what a failed row has left may take.
const sweepTimeout = 3 * time.Minute

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// sweep removes what a row that failed has left, without any care for order, so that the next row
// begins with nothing.
func (b *bench) sweep(ctx context.Context) error {
	ctx, cancel := within(ctx, sweepTimeout, "removing what a failed row has left")
	defer cancel()
	ours := metav1.ListOptions{LabelSelector: argocd.SetLabel}
	for _, kind := range []struct {
		of        schema.GroupVersionResource
		namespace string
		options   metav1.ListOptions
	}{
		{applicationSets, b.namespace(), metav1.ListOptions{}},
		{applications, b.namespace(), metav1.ListOptions{}},
		{configMaps, b.namespace(), ours}, {leases, b.namespace(), ours},
		{configMaps, destination, metav1.ListOptions{}},
	} {
		if err := b.deleteAll(ctx, kind.of, kind.namespace, kind.options); err != nil {
			return fmt.Errorf("removing %s: %w", kind.of.Resource, err)
		}
	}
	return b.recorder.until(ctx, sweepTimeout, 0, "gone", isGone)
}

// deleteAll deletes objects at once: without their finalizers.
func (b *bench) deleteAll(ctx context.Context, of schema.GroupVersionResource, namespace string, options metav1.ListOptions) error {
	objects := b.client.Resource(of).Namespace(namespace)
	list, err := objects.List(ctx, options)
	if err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		errs = append(errs, remains(objects.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{})))
		if len(list.Items[i].GetFinalizers()) > 0 {
			_, err := objects.Patch(ctx, list.Items[i].GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			errs = append(errs, remains(err))
		}
	}
	return errors.Join(errs...)
}

// remains is the error unless it says that the object is gone.
func remains(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// recover goes on after a row that failed: it is told at the end, and what it has left is removed.
func (b *bench) recover(ctx context.Context, row string, failure error) error {
	failure = fmt.Errorf("%s: %w", row, failure)
	b.failures = append(b.failures, failure)
	b.say("FAILED %v", failure)
	return b.sweep(ctx)
}
