package argocd

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// retaining is a client for a set with these rules.
func retaining(t *testing.T, rules map[string]any) *Client {
	t.Helper()
	spec := map[string]any{
		"generators": []any{map[string]any{"list": map[string]any{"elements": []any{}}}},
		"template":   map[string]any{"metadata": map[string]any{"name": "n"}, "spec": testSpec()},
	}
	for key, v := range rules {
		spec[key] = v
	}
	set, issues := appset.Decode("shop", "argocd", spec)
	if len(issues) > 0 || set.Retained == nil {
		t.Fatal(issues)
	}
	return (&Client{}).Retaining(set.Retained)
}

func retainedApp(spec map[string]any, labels map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "dev", "labels": labels}, "spec": spec}
}

func TestAWriteKeepsWhatTheSetRetains(t *testing.T) {
	c := retaining(t, map[string]any{
		"preservedFields":              map[string]any{"labels": []any{"owner", "gone"}},
		"ignoreApplicationDifferences": []any{map[string]any{"jsonPointers": []any{"/spec/source/targetRevision"}}},
	})
	old := c.buildApplication(shop, "dev", retainedApp(testSpec(), map[string]any{"owner": "first", "gone": "g", "env": "a"}), nil, "step 01", 0)
	wanted := retainedApp(testSpec(), map[string]any{"owner": "second", "env": "b"})
	if Facts(old, nil).Hash == appset.HashRendered(wanted) {
		t.Fatal("without rules there is no difference")
	}

	// Others change what they may.
	changed := old.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "v7", "spec", "source", "targetRevision"); err != nil {
		t.Fatal(err)
	}
	changed.SetLabels(with(changed.GetLabels(), "owner", "theirs"))
	if c.facts(changed).Hash != c.facts(old).Hash {
		t.Error("what others may change makes a difference")
	}

	got := c.buildApplication(shop, "dev", wanted, changed, "step 01", 0)
	if rev := text(got.Object, "spec", "source", "targetRevision"); rev != "v7" {
		t.Errorf("targetRevision is %q", rev)
	}
	labels := map[string]string{"owner": "theirs", "gone": "g", "env": "b", SetLabel: shop.Hash()}
	if !reflect.DeepEqual(got.GetLabels(), labels) {
		t.Errorf("labels are %v, want %v", got.GetLabels(), labels)
	}
	if c.facts(got).Hash != c.retained.HashRendered(wanted) {
		t.Error("what was written is not what was wanted")
	}
}

func TestAnOperationSyncsTheSourceThatIsKept(t *testing.T) {
	c := retaining(t, map[string]any{"ignoreApplicationDifferences": []any{map[string]any{"jqPathExpressions": []any{".spec.source.path"}}}})
	wanted := retainedApp(testSpec(), nil)
	old := c.buildApplication(shop, "dev", wanted, nil, "step 01", 0)
	if err := unstructured.SetNestedField(old.Object, "other", "spec", "source", "path"); err != nil {
		t.Fatal(err)
	}
	s := c.Session(shop, map[string]map[string]any{"dev": wanted}, SessionOptions{})
	got := s.build(rollout.Action{App: "dev", Sync: &rollout.SyncRequest{Token: "t"}}, old)
	if path := text(got.Object, "operation", "sync", "source", "path"); path != "other" {
		t.Errorf("it syncs %q", path)
	}
}

func TestANewApplicationHasEverything(t *testing.T) {
	c := retaining(t, map[string]any{"preservedFields": map[string]any{"labels": []any{"owner"}}})
	if got := c.buildApplication(shop, "dev", retainedApp(testSpec(), map[string]any{"owner": "x"}), nil, "", 0); got.GetLabels()["owner"] != "x" {
		t.Errorf("labels are %v", got.GetLabels())
	}
}
