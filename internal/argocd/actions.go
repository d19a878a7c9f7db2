package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// disableAutomated switches automated sync off and changes nothing else.
func (s *Session) disableAutomated(ctx context.Context, obj *unstructured.Unstructured) (*rollout.Live, error) {
	if !automatedOn(dict(obj.Object, "spec")) {
		return s.live(obj), nil
	}
	return s.mergePatch(ctx, obj, map[string]any{}, map[string]any{"spec": automatedOff()})
}

func automatedOff() map[string]any {
	return map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{"enabled": false}}}
}

// mark writes our marks alone. What we manage is stated only where nothing says so yet: the
// engine marks instead of writing when the spec hash is the right one already.
func (s *Session) mark(ctx context.Context, action rollout.Action, obj *unstructured.Unstructured) (*rollout.Live, error) {
	annotations := map[string]any{OwnerAnnotation: s.owner.String(), StepAnnotation: action.StepLabel}
	if obj.GetAnnotations()[ManagedAnnotation] == "" {
		annotations[ManagedAnnotation] = managedOf(s.desired[action.App]).String()
	}
	metadata := map[string]any{"annotations": annotations, "labels": map[string]any{SetLabel: s.owner.Hash()}}
	return s.mergePatch(ctx, obj, metadata, nil)
}

const (
	// refreshPatience is how long the refresh of somebody else is waited for.
	refreshPatience = 5 * time.Second
	refreshInterval = 250 * time.Millisecond
)

// refresh asks Argo CD for a comparison that starts after this request. A refresh that stands
// already may have begun before and would be taken for the answer, so it is waited for. One that
// stays is overwritten: nobody works on it. It is for exactly this Application: another one of the same
// name may be somebody else's.
func (s *Session) refresh(ctx context.Context, action rollout.Action, obj *unstructured.Unstructured) (*rollout.Live, error) {
	if len(obj.GetAnnotations()) == 0 {
		return s.overwriteRefresh(ctx, action, obj)
	}
	guarded := []map[string]any{
		onlyOf(obj),
		{"op": "test", "path": annotationPath(refreshAnnotation), "value": nil},
		{"op": "add", "path": annotationPath(refreshAnnotation), "value": "normal"},
		{"op": "add", "path": annotationPath(refreshTimestampAnnotation), "value": action.RefreshID},
	}
	for range int(refreshPatience / refreshInterval) {
		live, err := s.patch(ctx, action.App, types.JSONPatchType, guarded)
		if !unprocessable(err) {
			return live, err
		}
		if err := s.client.retry.sleep(ctx, refreshInterval); err != nil {
			return nil, err
		}
	}
	return s.overwriteRefresh(ctx, action, obj)
}

// overwriteRefresh asks for a comparison whether one is asked for or not.
func (s *Session) overwriteRefresh(ctx context.Context, action rollout.Action, obj *unstructured.Unstructured) (*rollout.Live, error) {
	live, err := s.patch(ctx, action.App, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"uid": obj.GetUID(), "annotations": refreshRequest(action.RefreshID)},
	})
	if !unprocessable(err) {
		return live, err
	}
	return s.stillThere(ctx, action.App, obj.GetUID(), err)
}

// stillThere tells what a request means that was refused with err: that the Application is gone, when
// another one has its name by now. The answer itself does not say so in a reliable form.
func (s *Session) stillThere(ctx context.Context, name string, uid types.UID, err error) (*rollout.Live, error) {
	current, getErr := s.fetch(ctx, name)
	if getErr != nil {
		return nil, getErr
	}
	if current.GetUID() != uid {
		return nil, apierrors.NewNotFound(applications.GroupResource(), name)
	}
	return s.live(current), err
}

// onlyOf is the test of a JSON patch that the Application is the one in obj, and not another of its name.
func onlyOf(obj *unstructured.Unstructured) map[string]any {
	return map[string]any{"op": "test", "path": "/metadata/uid", "value": obj.GetUID()}
}

// annotationPath is the JSON pointer of an annotation.
func annotationPath(key string) string {
	return "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1")
}

func refreshRequest(id string) map[string]any {
	return map[string]any{refreshAnnotation: "normal", refreshTimestampAnnotation: id}
}

// mergePatch patches an Application as it was read in obj, and not a later one.
func (s *Session) mergePatch(ctx context.Context, obj *unstructured.Unstructured, metadata, rest map[string]any) (*rollout.Live, error) {
	metadata["resourceVersion"] = obj.GetResourceVersion()
	patch := map[string]any{"metadata": metadata}
	for k, v := range rest {
		patch[k] = v
	}
	return s.patch(ctx, obj.GetName(), types.MergePatchType, patch)
}

func (s *Session) patch(ctx context.Context, name string, kind types.PatchType, patch any) (*rollout.Live, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch of Application %s cannot be encoded: %w", name, err)
	}
	var patched *unstructured.Unstructured
	err = s.client.request(ctx, appRequest("patch", s.owner.Namespace, name), func() (err error) {
		patched, err = s.client.apps(s.owner.Namespace).Patch(ctx, name, kind, body, metav1.PatchOptions{})
		return err
	})
	return s.store(patched, err)
}

// terminate ends the operation that action means. One that Argo CD has begun is told to
// terminate; one that it has not picked up is withdrawn. Deleting a running one would leave
// its state Running for ever.
func (s *Session) terminate(ctx context.Context, action rollout.Action, obj *unstructured.Unstructured) (*rollout.Live, error) {
	wanted := action.Token
	if wanted == "" {
		wanted = foreign
	}
	state := dict(obj.Object, "status", "operationState")
	phase := text(state, "phase")
	began := state != nil && tokenOf(dict(state, "operation")) == wanted
	switch {
	case began && phase == rollout.Running:
		return s.terminateRunning(ctx, obj, state, action.Token)
	case phase == rollout.Running || phase == rollout.Terminating:
		// Another one runs, or ours is ending already: nothing of ours to end.
		return s.live(obj), nil
	case obj.Object["operation"] == nil || tokenOf(dict(obj.Object, "operation")) != wanted:
		return s.live(obj), nil
	}
	withdrawn := obj.DeepCopy()
	delete(withdrawn.Object, "operation")
	return s.put(ctx, withdrawn)
}

// terminateRunning sets the phase as Argo CD's API server does (TerminateOperation in
// server/application/application.go, 3.6.1), guarded by tests on what runs.
func (s *Session) terminateRunning(ctx context.Context, obj *unstructured.Unstructured, state map[string]any, token string) (*rollout.Live, error) {
	const path = "/status/operationState"
	patch := []map[string]any{onlyOf(obj), {"op": "test", "path": path + "/phase", "value": rollout.Running}}
	if token == "" {
		patch = append(patch, map[string]any{"op": "test", "path": path + "/startedAt", "value": text(state, "startedAt")})
	}
	for i, v := range list(state, "operation", "info") {
		if info, ok := v.(map[string]any); ok && token != "" && text(info, "name") == tokenInfo {
			patch = append(patch, map[string]any{"op": "test", "path": fmt.Sprintf("%s/operation/info/%d/value", path, i), "value": token})
		}
	}
	patch = append(patch, map[string]any{"op": "replace", "path": path + "/phase", "value": rollout.Terminating})
	live, err := s.patch(ctx, obj.GetName(), types.JSONPatchType, patch)
	if unprocessable(err) {
		return nil, errMovedOn
	}
	return live, err
}

// prepareDelete does in one request all that must stand before the deletion: after it, Argo CD
// forbids new finalizers, and automated sync would bring resources back.
func (s *Session) prepareDelete(ctx context.Context, action rollout.Action, obj *unstructured.Unstructured) (*rollout.Live, error) {
	if obj.GetDeletionTimestamp() != nil {
		return s.live(obj), nil
	}
	if refreshID(obj.GetAnnotations()) == foreign {
		// It may have begun before this request, and its end would be taken for our answer.
		return s.live(obj), errMovedOn
	}
	metadata := map[string]any{
		"annotations": refreshRequest(action.RefreshID),
		"finalizers":  deletionFinalizers(obj.GetFinalizers(), s.options.Cascade),
	}
	rest := map[string]any{}
	if dict(obj.Object, "spec", "syncPolicy", "automated") != nil {
		rest["spec"] = automatedOff()
	}
	return s.mergePatch(ctx, obj, metadata, rest)
}

// deletionFinalizers are those to delete with: never without what others have put there.
func deletionFinalizers(live []string, cascade Cascade) []string {
	out, cascades := []string{}, false
	for _, f := range live {
		if isResourcesFinalizer(f) {
			if cascade == CascadeOrphan {
				continue
			}
			cascades = true
		}
		out = append(out, f)
	}
	if cascade != CascadeOrphan && !cascades {
		out = append(out, resourcesFinalizer)
	}
	return out
}

// delete deletes exactly the Application of this UID, at this version. One of the same name that
// has replaced it is left alone.
func (s *Session) delete(ctx context.Context, action rollout.Action) (*rollout.Live, error) {
	uid := types.UID(action.UID)
	only := metav1.Preconditions{UID: &uid}
	if action.Version != "" {
		only.ResourceVersion = &action.Version
	}
	err := s.client.request(ctx, appRequest("delete", s.owner.Namespace, action.App), func() error {
		return s.client.apps(s.owner.Namespace).Delete(ctx, action.App, metav1.DeleteOptions{Preconditions: &only})
	})
	if !apierrors.IsConflict(err) {
		return nil, err
	}
	return s.stillThere(ctx, action.App, uid, err)
}
