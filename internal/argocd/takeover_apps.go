package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// letGo is step 3. One round lets all go that were there when it began, which takes a minute for some thousand.
func (c *Client) letGo(ctx context.Context, owner Owner, uid string) error {
	err := c.dwindle(ctx, answerPatience, func() (int, error) {
		owned, err := c.controlled(ctx, owner, uid)
		if err != nil || len(owned) == 0 {
			return 0, err
		}
		names := slices.Sorted(maps.Keys(owned))
		c.tell("letting %d Applications go", len(names))
		return len(names), parallel(len(names), func(i int) error {
			err := c.disown(ctx, owned[names[i]], uid)
			if unprocessable(err) || apierrors.IsNotFound(err) {
				return nil // It has changed, and is looked at again.
			}
			return err
		})
	})
	if errors.Is(err, errPatience) {
		return stuck("somebody keeps putting references to the ApplicationSet %s on its Applications again, although its controller has seen that it may not. Find out who: "+
			"kubectl -n %s get applications.argoproj.io -o yaml --show-managed-fields", owner, owner.Namespace)
	}
	return err
}

// disown removes the reference to the set from an Application, if it stands where it was seen.
func (c *Client) disown(ctx context.Context, app metav1.Object, uid string) error {
	at := slices.IndexFunc(app.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return string(ref.UID) == uid })
	if at < 0 {
		return nil
	}
	path := fmt.Sprintf("/metadata/ownerReferences/%d", at)
	body, err := json.Marshal([]map[string]any{{"op": "test", "path": path + "/uid", "value": uid}, {"op": "remove", "path": path}})
	if err != nil {
		return fmt.Errorf("the patch of Application %s cannot be encoded: %w", app.GetName(), err)
	}
	return c.request(ctx, appRequest("patch", app.GetNamespace(), app.GetName()), func() error {
		_, err := c.apps(app.GetNamespace()).Patch(ctx, app.GetName(), types.JSONPatchType, body, metav1.PatchOptions{})
		return err
	})
}

// controlled are the Applications that the ApplicationSet of the UID controls, by name.
func (c *Client) controlled(ctx context.Context, owner Owner, uid string) (map[string]*metav1.PartialObjectMetadata, error) {
	return c.listMetadata(ctx, owner.Namespace, func(app *metav1.PartialObjectMetadata) bool { return controlledBy(app, uid) })
}

// MarkTakenOver is step 5. Each Application of t that still is the one that t names gets our marks;
// labels are those of their steps, and rendered is as for TakeOverListing. One that is gone by now
// is left out.
func (c *Client) MarkTakenOver(ctx context.Context, owner Owner, t TakeOver, labels map[string]string, rendered map[string]map[string]any) error {
	listing, err := c.TakeOverListing(ctx, owner, t, rendered)
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(listing.Objects)), func(name string) bool { return !t.has(listing.Objects[name]) })
	return parallel(len(names), func(i int) error {
		obj := listing.Objects[names[i]]
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid":    string(obj.GetUID()),
			"labels": map[string]any{SetLabel: owner.Hash()},
			"annotations": map[string]any{
				OwnerAnnotation: owner.String(), StepAnnotation: labels[names[i]], ManagedAnnotation: obj.GetAnnotations()[ManagedAnnotation],
			},
		}})
		if err != nil {
			return fmt.Errorf("the marks of Application %s cannot be encoded: %w", names[i], err)
		}
		err = c.request(ctx, appRequest("patch", owner.Namespace, names[i]), func() error {
			_, err := c.apps(owner.Namespace).Patch(ctx, names[i], types.MergePatchType, body, metav1.PatchOptions{})
			return err
		})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
