package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// freezeKey marks the generator that freezes a set.
const freezeKey = "argocdprogressive.io/take-over"

// freeze is a generator that always fails: the controller does not know its operator, and names it
// in the status, if no generator before it has failed (GenerateApplications in applicationset/controllers/template
// and LabelSelectorAsSelector in applicationset/utils, Argo CD 3.2 to 3.6). The operator is another one each time:
// what the status says of an earlier one proves nothing. The values, which nothing reads, say what is
// to become of the deletionOrder when the set is thawed; see orderBefore.
func freeze(operator, before string) map[string]any {
	values := []any{}
	if before != "" {
		values = []any{before}
	}
	return map[string]any{
		"list": map[string]any{"elements": []any{}},
		"selector": map[string]any{"matchExpressions": []any{
			map[string]any{"key": freezeKey, "operator": operator, "values": values},
		}},
	}
}

// orderPath is where freezing writes AllAtOnce, and orderUnset says that nothing was there.
const (
	orderPath  = "/spec/strategy/deletionOrder"
	orderUnset = "unset"
)

// orderBefore is the deletionOrder of a set that is about to be frozen; empty where that does not change it.
func orderBefore(set map[string]any) string {
	switch order := text(set, "spec", "strategy", "deletionOrder"); {
	case order == "AllAtOnce" || dict(set, "spec", "strategy") == nil:
		return ""
	case order == "":
		return orderUnset
	default:
		return order
	}
}

func isFreeze(generator map[string]any) bool { return freezeOperator(generator) != "" }

func freezeOperator(generator map[string]any) string {
	for _, e := range objects(generator, "selector", "matchExpressions") {
		if text(e, "key") == freezeKey {
			return text(e, "operator")
		}
	}
	return ""
}

// freezeSet is step 2. It is guarded by the resourceVersion, as the position of the new generator and
// whether there is a strategy are known for that alone; the controller writes the status now and then.
func (c *Client) freezeSet(ctx context.Context, owner Owner, uid string) error {
	err := c.every(ctx, answerPatience, func() (bool, error) {
		set, err := c.InCluster(ctx, owner)
		if err != nil || set == nil || set.UID() != uid {
			return true, err
		}
		change := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": set.object.GetResourceVersion()}}
		before := orderBefore(set.object.Object)
		if before != "" {
			change = append(change, map[string]any{"op": "add", "path": orderPath, "value": "AllAtOnce"})
		}
		if !set.Frozen() {
			change = append(change, map[string]any{"op": "add", "path": "/spec/generators/0", "value": freeze("frozen-"+c.newRefreshID(), before)})
		}
		if len(change) == 1 {
			return true, nil
		}
		if err = c.patchSet(ctx, owner, change); !unprocessable(err) {
			return true, err
		}
		// Somebody has written it meanwhile; or the patch itself is impossible, which would last.
		newer, readErr := c.InCluster(ctx, owner)
		if readErr != nil || newer != nil && newer.object.GetResourceVersion() == set.object.GetResourceVersion() {
			return true, errors.Join(err, readErr)
		}
		return false, nil
	})
	if errors.Is(err, errPatience) {
		return busy(owner)
	}
	return err
}

func (c *Client) patchSet(ctx context.Context, owner Owner, change []map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("the patch of ApplicationSet %s cannot be encoded: %w", owner, err)
	}
	return c.request(ctx, setRequest("patch", owner), func() error {
		_, err := c.dynamic.Resource(applicationSets).Namespace(owner.Namespace).Patch(ctx, owner.Name, types.JSONPatchType, body, metav1.PatchOptions{})
		return err
	})
}

// awaitFrozen waits until the controller says that it has seen the set frozen. It works on one
// reconciliation of a set at a time, so none of an older version is under way then.
func (c *Client) awaitFrozen(ctx context.Context, owner Owner, t *TakeOver) error {
	patience := answerPatience + time.Duration(len(t.Applications))*writePatience
	c.tell("waiting until its controller has seen that the ApplicationSet is frozen, %s at most", patience.Round(time.Second))
	err := c.every(ctx, patience, func() (bool, error) {
		set, err := c.InCluster(ctx, owner)
		if err != nil || set == nil || set.UID() != t.UID {
			return true, err
		}
		return !set.Frozen() || set.seenFrozen(), nil
	})
	if !errors.Is(err, errPatience) {
		return err
	}
	return stuck("the ApplicationSet controller has not answered within %s, so it cannot be told whether it is just writing Applications of %s. "+
		"See whether it runs: kubectl -n %s get pods -l app.kubernetes.io/name=argocd-applicationset-controller. If it is switched off on purpose, "+
		"delete the set by hand, keeping its Applications: %s", patience, owner, c.namespace, deleteWithoutController(owner, t.UID))
}

// seenFrozen tells that the controller has met the generator that freezes the set.
func (s *InCluster) seenFrozen() bool {
	message, failing := s.condition("ErrorOccurred")
	return failing && slices.ContainsFunc(objects(s.object.Object, "spec", "generators"), func(g map[string]any) bool {
		return isFreeze(g) && strings.Contains(message, freezeOperator(g))
	})
}

// thaw undoes step 2, and nothing else: what somebody has changed meanwhile stays. Of a set that is
// being deleted the deletionOrder must stay as well.
func (c *Client) thaw(ctx context.Context, owner Owner, t *TakeOver) error {
	err := c.every(ctx, putBackPatience, func() (bool, error) {
		set, err := c.InCluster(ctx, owner)
		if err != nil || set == nil || set.UID() != t.UID || !set.Frozen() || set.object.GetDeletionTimestamp() != nil {
			return true, err
		}
		change := []map[string]any{
			{"op": "test", "path": "/metadata/resourceVersion", "value": set.object.GetResourceVersion()},
			{"op": "replace", "path": "/spec/generators", "value": slices.DeleteFunc(objects(set.object.Object, "spec", "generators"), isFreeze)},
		}
		before := text(t.ApplicationSet, "spec", "strategy", "deletionOrder")
		switch now := text(set.object.Object, "spec", "strategy", "deletionOrder"); {
		case now == before:
		case before == "":
			change = append(change, map[string]any{"op": "remove", "path": orderPath})
		case now != "":
			change = append(change, map[string]any{"op": "replace", "path": orderPath, "value": before})
		}
		if err = c.patchSet(ctx, owner, change); unprocessable(err) {
			return false, nil
		}
		return true, err
	})
	if errors.Is(err, errPatience) {
		return busy(owner)
	}
	return err
}
