package acceptance

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// actorPatience is how long an actor may take, the run of Terraform beside it included.
const actorPatience = 4 * patience

// nudgeAfter is how long Argo CD may be silent before the harness touches an Application that was asked for something.
const nudgeAfter = 3 * time.Second

// actor does something while Terraform applies: a person who syncs or commits.
type actor struct {
	f     *fixture
	act   func(ctx context.Context) error
	ended chan error
}

// actor makes an actor. Start, as the PreConfig of a step, lets it loose; Check, among the checks of
// that step (or must, in the next one's PreConfig), waits for its end and fails with its error.
func (f *fixture) actor(act func(ctx context.Context) error) *actor {
	return &actor{f: f, act: act, ended: make(chan error, 1)}
}

// Start begins to act.
func (a *actor) Start() {
	ctx, cancel := context.WithTimeout(context.Background(), actorPatience)
	a.f.Cleanup(cancel)
	go func() { a.ended <- a.act(ctx) }()
}

// Check waits until the actor has ended.
func (a *actor) Check() error {
	select {
	case err := <-a.ended:
		if err != nil {
			return fmt.Errorf("the second actor: %w", err)
		}
		return nil
	case <-time.After(actorPatience):
		return fmt.Errorf("the second actor has not ended")
	}
}

// edit changes an Application with the protocol of all well-behaved clients: read, change, write
// back, and again on a conflict.
func (f *fixture) edit(ctx context.Context, name string, change func(*unstructured.Unstructured) error) error {
	apps := f.client.Resource(applications).Namespace(argoNamespace)
	for {
		o, err := apps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := change(o); err != nil {
			return err
		}
		_, err = apps.Update(ctx, o, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// sync starts an operation as `argocd app sync NAME --revision REVISION` does (SetAppOperation in
// util/argo, Argo CD 3.6.1): refused while another one runs.
func (f *fixture) sync(ctx context.Context, name, revision string) error {
	return f.edit(ctx, name, func(o *unstructured.Unstructured) error {
		if _, running, _ := unstructured.NestedMap(o.Object, "operation"); running {
			return fmt.Errorf("another operation is already in progress on %s", name)
		}
		sync := map[string]any{"revision": revision}
		if options, ok, _ := unstructured.NestedSlice(o.Object, "spec", "syncPolicy", "syncOptions"); ok {
			sync["syncOptions"] = options
		}
		unstructured.RemoveNestedField(o.Object, "status", "operationState")
		return unstructured.SetNestedMap(o.Object, map[string]any{
			"initiatedBy": map[string]any{"username": "somebody"}, "sync": sync,
		}, "operation")
	})
}

// nudge touches an Application that waits for Argo CD: what it is asked for by hand, it can overlook as well as what the provider asks
// for (see nudge.go in internal/argocd). Whether that helps is seen by what happens then.
func (f *fixture) nudge(ctx context.Context, name string) {
	apps := f.client.Resource(applications).Namespace(argoNamespace)
	o, err := apps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	s := newAppState(o)
	if waits := s.Deleting || s.Pending && s.Phase != "Running" || s.Annotations["argocd.argoproj.io/refresh"] != ""; !waits {
		return
	}
	for _, value := range []string{`"it is waited for"`, "null"} {
		body := `{"metadata":{"uid":"` + s.UID + `","annotations":{"example.com/nudge":` + value + `}}}`
		_, _ = apps.Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	}
}

// setAutomated switches automated sync of an Application on or off by hand.
func (f *fixture) setAutomated(ctx context.Context, name string, on bool) error {
	return f.edit(ctx, name, func(o *unstructured.Unstructured) error {
		if !on {
			unstructured.RemoveNestedField(o.Object, "spec", "syncPolicy", "automated")
			return nil
		}
		return unstructured.SetNestedMap(o.Object, map[string]any{}, "spec", "syncPolicy", "automated")
	})
}

// refresh lets Argo CD look at git again for an Application, as a webhook does after a push.
func (f *fixture) refresh(ctx context.Context, name string) error {
	return f.edit(ctx, name, func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, "normal", "metadata", "annotations", "argocd.argoproj.io/refresh")
	})
}
