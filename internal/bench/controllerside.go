package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

// poll is how often an ApplicationSet is looked at. Nothing that is measured depends on it.
const poll = 250 * time.Millisecond

// controllerCreate measures Argo CD's controller creating the set.
func (b *bench) controllerCreate(ctx context.Context, what string, commit commit, set map[string]any) error {
	return b.measure(ctx, what, controller, commit, func(ctx context.Context, _ *result) error {
		object := &unstructured.Unstructured{Object: set}
		if _, err := b.client.Resource(applicationSets).Namespace(b.namespace()).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the ApplicationSet: %w", err)
		}
		return b.recorder.until(ctx, b.scale.rowTimeout(), b.scale.apps, "done", isDone)
	})
}

// controllerChange measures how a commit reaches all Applications. Argo CD is
// told of it as by a webhook: by a refresh of each (util/webhook, Argo CD 3.6.1).
func (b *bench) controllerChange(ctx context.Context, what string, commit commit) error {
	return b.measure(ctx, what, controller, commit, func(ctx context.Context, _ *result) error {
		if err := b.refreshAll(ctx); err != nil {
			return err
		}
		return b.recorder.until(ctx, b.scale.rowTimeout(), b.scale.apps, "done", isDone)
	})
}

func (b *bench) refreshAll(ctx context.Context) error {
	patch := []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range b.scale.apps {
		group.Go(func() error {
			_, err := b.client.Resource(applications).Namespace(b.namespace()).Patch(ctx, appName(i), types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("refreshing all Applications: %w", err)
	}
	return nil
}

// controllerDelete measures the deletion of the set, until all its Applications are gone.
func (b *bench) controllerDelete(ctx context.Context, what string) error {
	sets := b.client.Resource(applicationSets).Namespace(b.namespace())
	err := b.measure(ctx, what, controller, b.noCommit, func(ctx context.Context, _ *result) error {
		if err := sets.Delete(ctx, setName, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting the ApplicationSet: %w", err)
		}
		return b.recorder.until(ctx, b.scale.rowTimeout(), 0, "gone", isGone)
	})
	if err != nil {
		return err
	}
	return b.await(ctx, "gone", func(ctx context.Context) (bool, error) {
		_, err := sets.Get(ctx, setName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// controllerAtRest waits until the controller says that its rollout has ended, and until what it
// syncs over again is done: otherwise that would be part of the next row.
func (b *bench) controllerAtRest(ctx context.Context) error {
	err := b.await(ctx, "at rest", func(ctx context.Context) (bool, error) {
		set, err := b.client.Resource(applicationSets).Namespace(b.namespace()).Get(ctx, setName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return atRest(set, b.scale.apps), nil
	})
	if err != nil {
		return err
	}
	return b.recorder.until(ctx, b.scale.restTimeout(), b.scale.apps, "at rest", isAtRest)
}

// atRest tells that the set's status has n Applications, all Healthy.
func atRest(set *unstructured.Unstructured, n int) bool {
	entries, _, _ := unstructured.NestedSlice(set.Object, "status", "applicationStatus")
	for _, entry := range entries {
		if m, ok := entry.(map[string]any); !ok || m["status"] != "Healthy" {
			return false
		}
	}
	return len(entries) == n
}

func (b *bench) await(ctx context.Context, what string, is func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, poll, b.scale.restTimeout(), true, is); err != nil {
		return fmt.Errorf("waiting until the ApplicationSet is %s: %w\n%s", what, err, b.cluster.LogTail(controlplane.ApplicationSetController))
	}
	return nil
}
