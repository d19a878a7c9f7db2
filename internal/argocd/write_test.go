package argocd

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestBuildOperation(t *testing.T) {
	yes, no := true, false
	request := rollout.SyncRequest{Token: "t-1", Target: "5be0aa01", Revisions: []string{"sha"}}
	source := map[string]any{"repoURL": "r", "path": "p"}
	two := []any{source, map[string]any{"repoURL": "c", "chart": "redis", "targetRevision": "1.*"}}
	limit5 := map[string]any{"limit": int64(5)}
	for name, test := range map[string]struct {
		spec    map[string]any
		request rollout.SyncRequest
		prune   *bool
		manual  bool
		sync    map[string]any
		retry   map[string]any
	}{
		"a plain Application is synced at the pin, with five retries": {
			spec: map[string]any{"source": source}, request: request,
			sync: map[string]any{"source": source, "revision": "sha"}, retry: limit5,
		},
		"sync options and retry are copied from the spec, retry.refresh is not": {
			spec: map[string]any{"source": source, "syncPolicy": map[string]any{
				"syncOptions": []any{"CreateNamespace=true"},
				"retry":       map[string]any{"limit": int64(2), "refresh": true, "backoff": map[string]any{"duration": "1s"}},
			}}, request: request,
			sync:  map[string]any{"source": source, "revision": "sha", "syncOptions": []any{"CreateNamespace=true"}},
			retry: map[string]any{"limit": int64(2), "backoff": map[string]any{"duration": "1s"}},
		},
		"pruning follows automated.prune, also when automated sync is off": {
			spec:    map[string]any{"source": source, "syncPolicy": map[string]any{"automated": map[string]any{"prune": true, "enabled": false}}},
			request: request,
			sync:    map[string]any{"source": source, "revision": "sha", "prune": true}, retry: limit5,
		},
		"the option turns pruning off": {
			spec:    map[string]any{"source": source, "syncPolicy": map[string]any{"automated": map[string]any{"prune": true}}},
			request: request, prune: &no,
			sync: map[string]any{"source": source, "revision": "sha"}, retry: limit5,
		},
		"the option turns pruning on": {
			spec: map[string]any{"source": source}, request: request, prune: &yes,
			sync: map[string]any{"source": source, "revision": "sha", "prune": true}, retry: limit5,
		},
		"several sources get a revision each": {
			spec: map[string]any{"sources": two}, request: rollout.SyncRequest{Token: "t-1", Target: "5be0aa01", Revisions: []string{"sha", "1.2.3"}},
			sync: map[string]any{"sources": two, "revisions": []any{"sha", "1.2.3"}}, retry: limit5,
		},
		"one entry in sources is still several sources": {
			spec: map[string]any{"sources": []any{source}, "source": map[string]any{"repoURL": "ignored"}}, request: request,
			sync: map[string]any{"sources": []any{source}, "revisions": []any{"sha"}}, retry: limit5,
		},
		"a sync that counts as manual is not marked as automated": {
			spec: map[string]any{"source": source}, request: request, manual: true,
			sync: map[string]any{"source": source, "revision": "sha"}, retry: limit5,
		},
		"without a revision the spec's own is synced": {
			spec: map[string]any{"source": source}, request: rollout.SyncRequest{Token: "t-1", Target: "5be0aa01"},
			sync: map[string]any{"source": source}, retry: limit5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]any{
				"sync": test.sync, "retry": test.retry,
				"initiatedBy": map[string]any{"username": "argocdprogressive/5be0aa01", "automated": !test.manual},
				"info": []any{
					map[string]any{"name": "Reason", "value": "Terraform rolls this Application out in steps"},
					map[string]any{"name": "argocdprogressive.io/operation", "value": "t-1"},
				},
			}
			if got := buildOperation(test.spec, test.request, test.prune, test.manual); !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %v\nwant %v", got, want)
			}
		})
	}
}

func TestBuildApplicationKeepsWhatBelongsToOthers(t *testing.T) {
	old := (&Client{}).buildApplication(shop, "dev", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"env": "dev", "tier": "web"}, "annotations": map[string]any{"docs": "a"}},
		"spec":     testSpec(),
	}, nil, "step 01", 3)
	old.SetResourceVersion("7")
	old.SetUID("u-1")
	old.SetLabels(with(old.GetLabels(), "theirs", "1"))
	old.SetAnnotations(with(with(old.GetAnnotations(), "theirs", "1"), refreshTimestampAnnotation, "left behind"))
	old.SetFinalizers([]string{"post-delete-finalizer.argocd.argoproj.io", resourcesFinalizer})
	old.Object["status"] = map[string]any{"sync": map[string]any{"status": "Synced"}}

	spec := testSpec()
	spec["info"] = []any{map[string]any{"name": "n", "value": "v"}}
	got := (&Client{}).buildApplication(shop, "dev", map[string]any{
		"metadata": map[string]any{
			"labels":     map[string]any{"env": "prod", SetLabel: "forged"},
			"finalizers": []any{resourcesFinalizer + "/background"},
		},
		"spec": spec,
	}, old, "step 02", 0)

	for what, pair := range map[string][2]any{
		"labels": {got.GetLabels(), map[string]string{"env": "prod", "theirs": "1", SetLabel: shop.Hash()}},
		"annotations": {got.GetAnnotations(), map[string]string{
			"theirs": "1", OwnerAnnotation: "argocd/shop", StepAnnotation: "step 02", ManagedAnnotation: `{"labels":["env"],"annotations":[]}`,
		}},
		"finalizers": {got.GetFinalizers(), []string{"post-delete-finalizer.argocd.argoproj.io", resourcesFinalizer + "/background"}},
		"spec":       {got.Object["spec"], any(spec)},
		"status":     {got.Object["status"], old.Object["status"]},
		"version":    {got.GetResourceVersion(), "7"},
		"UID":        {string(got.GetUID()), "u-1"},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s:\n got %v\nwant %v", what, pair[0], pair[1])
		}
	}
	if after := old.GetAnnotations()[ManualAfterAnnotation]; after != "3" || old.GetLabels()["env"] != "dev" {
		t.Errorf("the old object was changed, or had no manual-after: %v", old.GetAnnotations())
	}
}

func TestBuildApplicationTakesWholeNumbersAsTheyCome(t *testing.T) {
	obj := (&Client{}).buildApplication(shop, "dev", map[string]any{"spec": map[string]any{"revisionHistoryLimit": 5}}, nil, "", 0)
	if got := obj.DeepCopy().Object["spec"].(map[string]any)["revisionHistoryLimit"]; got != int64(5) {
		t.Errorf("revisionHistoryLimit is %T %v", got, got)
	}
}

func TestBuildApplicationLeavesOutWhatArgoCDWouldTakeOff(t *testing.T) {
	withBlocks := func(policy, helm map[string]any) map[string]any {
		spec := testSpec()
		spec["syncPolicy"], spec["source"].(map[string]any)["helm"] = policy, helm
		return map[string]any{"spec": spec}
	}
	old := (&Client{}).buildApplication(shop, "dev", withBlocks(map[string]any{"automated": map[string]any{}}, map[string]any{"releaseName": "a"}), nil, "step 01", 0)
	desired := withBlocks(map[string]any{}, map[string]any{"releaseName": ""})
	got := (&Client{}).buildApplication(shop, "dev", desired, old, "step 01", 0)
	if want := testSpec(); !reflect.DeepEqual(got.Object["spec"], any(want)) {
		t.Errorf("written: %v, want %v", got.Object["spec"], want)
	}
	if want := withBlocks(map[string]any{}, map[string]any{"releaseName": ""}); !reflect.DeepEqual(desired, want) {
		t.Errorf("what is desired was changed to %v", desired)
	}
}

func TestWriteWithoutAnOperationKeepsTheStateOfTheLastOne(t *testing.T) {
	old := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "dev", "resourceVersion": "7"},
		"status":   map[string]any{"operationState": map[string]any{"phase": "Succeeded"}, "health": map[string]any{"status": "Healthy"}},
	}}
	s := (&Client{}).Session(shop, map[string]map[string]any{"dev": {"spec": testSpec()}}, SessionOptions{})
	alone := s.build(rollout.Action{App: "dev"}, old)
	if at(alone.Object, "status", "operationState") == nil || alone.Object["operation"] != nil {
		t.Errorf("a write without an operation gives %v", alone.Object)
	}
	together := s.build(rollout.Action{App: "dev", Sync: &rollout.SyncRequest{Token: "t"}}, old)
	if at(together.Object, "status", "operationState") != nil || at(together.Object, "status", "health") == nil || together.Object["operation"] == nil {
		t.Errorf("a write with an operation gives %v", together.Object)
	}
}

func TestAnApplicationThatArgoCDHasNotSeenGetsAnEmptyStatusWithItsOperation(t *testing.T) {
	s := (&Client{}).Session(shop, map[string]map[string]any{"dev": {"spec": testSpec()}}, SessionOptions{})
	sync := &rollout.SyncRequest{Token: "t"}
	old := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "dev", "resourceVersion": "7"}}}
	for name, test := range map[string]struct {
		old  *unstructured.Unstructured
		sync *rollout.SyncRequest
		want any
	}{
		"a new one":                          {nil, sync, map[string]any{}},
		"a new one that is not synced":       {nil, nil, nil},
		"one that was never compared":        {old, sync, map[string]any{}},
		"one that is written but not synced": {old, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.build(rollout.Action{App: "dev", Sync: test.sync}, test.old).Object["status"]
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("the status is %#v, want %#v", got, test.want)
			}
		})
	}
}

func TestDeletionFinalizers(t *testing.T) {
	const other = "example.com/other"
	for name, test := range map[string]struct {
		live    []string
		cascade Cascade
		want    []string
	}{
		"cascading adds what is missing":             {nil, CascadeDelete, []string{resourcesFinalizer}},
		"cascading is the default":                   {[]string{other}, "", []string{other, resourcesFinalizer}},
		"cascading keeps the form that stands":       {[]string{resourcesFinalizer + "/background"}, CascadeDelete, []string{resourcesFinalizer + "/background"}},
		"orphaning removes the finalizer alone":      {[]string{other, resourcesFinalizer}, CascadeOrphan, []string{other}},
		"orphaning removes the other forms as well":  {[]string{resourcesFinalizer + "/foreground", resourcesFinalizer + "/background"}, CascadeOrphan, []string{}},
		"orphaning keeps those of Argo CD for hooks": {[]string{"post-delete-finalizer.argocd.argoproj.io/cleanup"}, CascadeOrphan, []string{"post-delete-finalizer.argocd.argoproj.io/cleanup"}},
		"a name that only begins alike is another's": {[]string{resourcesFinalizer + ".example.com"}, CascadeOrphan, []string{resourcesFinalizer + ".example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deletionFinalizers(test.live, test.cascade); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestOwnerHashIsALabelValue(t *testing.T) {
	if got := shop.Hash(); got != "e1456f7724faae33" {
		t.Errorf("the hash of %s is %s: a stored format must not change", shop, got)
	}
}
