package argocd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// create makes an Application, with its operation where one is asked for: one request.
func (s *Session) create(ctx context.Context, action rollout.Action) (*rollout.Live, error) {
	obj := s.build(action, nil)
	var created *unstructured.Unstructured
	err := s.client.request(ctx, appRequest("create", s.owner.Namespace, action.App), func() (err error) {
		created, err = s.client.apps(s.owner.Namespace).Create(ctx, obj, metav1.CreateOptions{})
		return err
	})
	if isConflict(err) {
		err = s.explainExisting(ctx, action.App, err)
	}
	return s.store(created, err)
}

// explainExisting tells a conflict that passes, since the watch will show the Application or see
// it go, from one that stays: the Application is not ours and appeared after the caller has looked.
func (s *Session) explainExisting(ctx context.Context, name string, conflict error) error {
	found, err := s.client.Get(ctx, s.owner, name)
	if err != nil {
		return err
	}
	e, exists := found[name]
	switch {
	case !exists, e.Terminating, e.Holder == HeldByUs && e.Labelled:
		return conflict
	case e.HolderName != "":
		return fmt.Errorf("it appeared in namespace %s a moment ago, and belongs to %s (%s)", s.owner.Namespace, e.HolderName, e.Holder)
	}
	return fmt.Errorf("it appeared in namespace %s a moment ago, made by somebody else", s.owner.Namespace)
}

// write replaces spec and managed metadata of an Application and starts the operation in the same
// PUT, so that there is no moment in which the spec is new and not synced. Argo CD loses an
// operation that is written over a running one, so that is refused.
func (s *Session) write(ctx context.Context, action rollout.Action, old *unstructured.Unstructured) (*rollout.Live, error) {
	if old.Object["operation"] != nil {
		return s.live(old), errMovedOn
	}
	return s.put(ctx, s.build(action, old))
}

// put replaces an Application; its resourceVersion is the guard.
func (s *Session) put(ctx context.Context, obj *unstructured.Unstructured) (*rollout.Live, error) {
	var updated *unstructured.Unstructured
	err := s.client.request(ctx, appRequest("update", s.owner.Namespace, obj.GetName()), func() (err error) {
		updated, err = s.client.apps(s.owner.Namespace).Update(ctx, obj, metav1.UpdateOptions{})
		return err
	})
	return s.store(updated, err)
}

func (s *Session) build(action rollout.Action, old *unstructured.Unstructured) *unstructured.Unstructured {
	obj := s.client.buildApplication(s.owner, action.App, s.desired[action.App], old, action.StepLabel, action.ManualAfter)
	if action.Sync != nil {
		obj.Object["operation"] = buildOperation(dict(obj.Object, "spec"), *action.Sync, s.options.Prune, s.options.ManualSyncs)
		unstructured.RemoveNestedField(obj.Object, "status", "operationState")
		giveStatus(obj)
	}
	return obj
}

// giveStatus gives an Application that Argo CD has never seen the empty status that its own clients
// write. Argo CD adds the state of an operation to the status by a JSON patch, which fails while there
// is none, and tries again a second later (setOperationState in controller/appcontroller.go, 3.6.1).
func giveStatus(obj *unstructured.Unstructured) {
	if dict(obj.Object, "status") == nil {
		obj.Object["status"] = map[string]any{}
	}
}

// buildApplication is desired with our marks on it, on top of what others have put on old (nil
// for a new Application): foreign labels, annotations and finalizers survive, and so does what the
// set retains.
func (c *Client) buildApplication(owner Owner, name string, desired map[string]any, old *unstructured.Unstructured, step string, after int64) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if old != nil {
		obj = old.DeepCopy()
		desired = c.retained.Effective(old.Object, desired)
	}
	obj.SetGroupVersionKind(applicationKind)
	obj.SetNamespace(owner.Namespace)
	obj.SetName(name)
	obj.Object["spec"] = appset.Kept(cloneDict(dict(desired, "spec")))

	had, has := c.given(readManaged(obj.GetAnnotations())), managedOf(desired)
	labels := replaceManaged(obj.GetLabels(), had.Labels, dict(desired, "metadata", "labels"))
	labels[SetLabel] = owner.Hash()
	obj.SetLabels(labels)

	annotations := replaceManaged(obj.GetAnnotations(), had.Annotations, dict(desired, "metadata", "annotations"))
	annotations[OwnerAnnotation] = owner.String()
	annotations[StepAnnotation] = step
	annotations[ManagedAnnotation] = has.String()
	delete(annotations, ManualAfterAnnotation)
	if after > 0 {
		annotations[ManualAfterAnnotation] = strconv.FormatInt(after, 10)
	}
	if annotations[refreshAnnotation] == "" {
		// Before 3.6, Argo CD leaves it behind.
		delete(annotations, refreshTimestampAnnotation)
	}
	obj.SetAnnotations(annotations)

	if finalizers := mergeFinalizers(obj.GetFinalizers(), texts(desired, "metadata", "finalizers")); len(finalizers) > 0 {
		obj.SetFinalizers(finalizers)
	}
	return obj
}

// replaceManaged removes the keys that we managed, and sets those that we manage now. Marks of
// ours in a template are ignored.
func replaceManaged(live map[string]string, had []string, desired map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range live {
		out[k] = v
	}
	for _, k := range had {
		delete(out, k)
	}
	for _, k := range foreignKeys(desired) {
		if v, ok := desired[k].(string); ok {
			out[k] = v
		}
	}
	return out
}

// mergeFinalizers keeps what stands (Argo CD adds its own for hooks) and adds what is desired. Of
// Argo CD's deletion finalizer there is one form at a time: the desired one.
func mergeFinalizers(live, desired []string) []string {
	out := slices.Clone(live)
	if slices.ContainsFunc(desired, isResourcesFinalizer) {
		out = slices.DeleteFunc(out, isResourcesFinalizer)
	}
	for _, f := range desired {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// isResourcesFinalizer recognises the finalizer that makes Argo CD delete the resources, in its
// three forms (application_annotations.go and types.go, Argo CD 3.6.1).
func isResourcesFinalizer(f string) bool {
	form, ok := strings.CutPrefix(f, resourcesFinalizer)
	return ok && (form == "" || form == "/foreground" || form == "/background")
}

// buildOperation is the operation that brings an Application to its spec at the given revisions.
// The application controller reads sync options and retry from the operation alone, never from
// the spec (controller/sync.go, Argo CD 3.6.1), so they are copied. Without a retry in the spec
// the limit is 5, as in Argo CD's own rollouts (applicationset/progressivesync). retry.refresh
// is left out: it would give up the pinned revision at the first retry. manual marks it as started
// by a person.
func buildOperation(spec map[string]any, request rollout.SyncRequest, prune *bool, manual bool) map[string]any {
	sync := map[string]any{}
	if hasSeveralSources(spec) {
		several := list(spec, "sources")
		// Argo CD silently ignores revisions that are not exactly one for each source.
		revisions := make([]any, len(several))
		for i := range several {
			revisions[i] = ""
			if i < len(request.Revisions) {
				revisions[i] = request.Revisions[i]
			}
		}
		sync["sources"], sync["revisions"] = clone(several), revisions
	} else {
		sync["source"] = clone(singleSource(spec))
		if len(request.Revisions) > 0 {
			sync["revision"] = request.Revisions[0]
		}
	}
	if options := list(spec, "syncPolicy", "syncOptions"); len(options) > 0 {
		sync["syncOptions"] = clone(options)
	}
	wanted := truth(spec, "syncPolicy", "automated", "prune")
	if prune != nil {
		wanted = *prune
	}
	if wanted {
		sync["prune"] = true
	}
	retry := map[string]any{"limit": int64(5)}
	if own := dict(spec, "syncPolicy", "retry"); own != nil {
		retry = cloneDict(own)
		delete(retry, "refresh")
	}
	return map[string]any{
		"sync":        sync,
		"retry":       retry,
		"initiatedBy": map[string]any{"username": initiatorPrefix + request.Target, "automated": !manual},
		"info": []any{
			map[string]any{"name": "Reason", "value": "Terraform rolls this Application out in steps"},
			map[string]any{"name": tokenInfo, "value": request.Token},
		},
	}
}
