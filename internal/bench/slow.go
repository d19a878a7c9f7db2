package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// slowFinalizer keeps a ConfigMap for slowTime after it was deleted.
	slowFinalizer = "bench.argocdprogressive.io/slow"
	slowTime      = 5 * time.Second
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// letGoSlowly takes the finalizer off ConfigMaps that were deleted slowTime ago, until stop is called.
func (b *bench) letGoSlowly(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	begun := map[types.UID]bool{}
	workers.Go(func() {
		for ctx.Err() == nil {
			b.eachConfigMap(ctx, func(o *unstructured.Unstructured) {
				if o.GetDeletionTimestamp() == nil || begun[o.GetUID()] || !slices.Contains(o.GetFinalizers(), slowFinalizer) {
					return
				}
				begun[o.GetUID()] = true
				workers.Go(func() {
					select {
					case <-ctx.Done():
					case <-time.After(slowTime):
						if err := b.letGo(ctx, o.GetName()); err != nil && ctx.Err() == nil {
							b.say("letting ConfigMap %s go: %v", o.GetName(), err)
						}
					}
				})
			})
			select { // the watch has ended
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	})
	return func() { cancel(); workers.Wait() }
}

// eachConfigMap watches the destination, and returns when the watch ends.
func (b *bench) eachConfigMap(ctx context.Context, each func(*unstructured.Unstructured)) {
	w, err := b.client.Resource(configMaps).Namespace(destination).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		if ctx.Err() == nil {
			b.say("watching ConfigMaps: %v", err)
		}
		return
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-w.ResultChan():
			if !open {
				return
			}
			if o, ok := event.Object.(*unstructured.Unstructured); ok {
				each(o)
			}
		}
	}
}

// letGo takes the finalizer off, and leaves those of others.
func (b *bench) letGo(ctx context.Context, name string) error {
	maps := b.client.Resource(configMaps).Namespace(destination)
	for {
		o, err := maps.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			o.SetFinalizers(withoutSlow(o.GetFinalizers()))
			_, err = maps.Update(ctx, o, metav1.UpdateOptions{})
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

func withoutSlow(finalizers []string) []string {
	return slices.DeleteFunc(finalizers, func(f string) bool { return f == slowFinalizer })
}

// rowsSlow measures the deletion of what takes its time: every ConfigMap stays for slowTime. The
// rollouts before it are not measured again.
//
// Argo CD's controller deletes one Application after the other only as long as it looks at them in
// the same order: within a step that is a matter of chance, each time anew (PerformReverseDeletion
// in applicationset/progressivesync, 3.6.1), so some go together.
func rowsSlow(ctx context.Context, b *bench) error {
	defer b.at(b.options.slow)()
	b.slow = true
	defer func() { b.slow = false }()
	defer b.letGoSlowly(ctx)()
	return errors.Join(b.slowController(ctx), b.slowProvider(ctx))
}

func (b *bench) slowController(ctx context.Context) (err error) {
	if err := b.cluster.StartApplicationSetController(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.StopApplicationSetController()) }()
	if err := b.unmeasured(func() error { return b.controllerCreate(ctx, create, b.commitAll(), b.set(rolling)) }); err != nil {
		return err
	}
	if err := b.controllerAtRest(ctx); err != nil {
		return err
	}
	return b.controllerDelete(ctx, removeSlow)
}

func (b *bench) slowProvider(ctx context.Context) error {
	p, err := b.provider(ctx, providerZero, "0s")
	if err != nil {
		return err
	}
	if err := p.writeSet(b.set(rolling)); err != nil {
		return err
	}
	if err := b.unmeasured(func() error { return p.apply(ctx, create, b.commitAll()) }); err != nil {
		return err
	}
	return p.destroy(ctx, removeSlow)
}

// unmeasured does what is measured otherwise.
func (b *bench) unmeasured(do func() error) error {
	n := len(b.results)
	err := do()
	b.results = b.results[:n]
	return err
}

// at sets the scale until what it returns is called.
func (b *bench) at(s scale) (back func()) {
	before := b.scale
	b.scale = s
	return func() { b.scale = before }
}

// countLeft counts what the destroy that was measured last has left behind.
func (b *bench) countLeft(ctx context.Context) error {
	apps, err := b.client.Resource(applications).Namespace(b.namespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("counting the Applications that are left: %w", err)
	}
	maps, err := b.client.Resource(configMaps).Namespace(destination).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("counting the ConfigMaps that are left: %w", err)
	}
	b.results[len(b.results)-1].left = len(apps.Items) + deployed(maps.Items)
	return nil
}

// deployed is how many of the ConfigMaps came from git: every namespace has one that did not.
func deployed(maps []unstructured.Unstructured) int {
	n := 0
	for i := range maps {
		if maps[i].GetName() != "kube-root-ca.crt" {
			n++
		}
	}
	return n
}
