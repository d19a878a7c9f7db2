package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func contentOf(t *testing.T, manifest string) content {
	t.Helper()
	m := &applicationSetModel{Name: types.StringValue("guestbook"), Namespace: types.StringValue("argocd"), Manifest: types.StringValue(manifest)}
	c, diags := m.read(t.Context(), answering{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	return c
}

func TestTheEngineGetsTheRevisionsThatThePlanHasPromised(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	known := knownAt(t, manifest, shaA, fleet...)
	c := contentOf(t, manifest)
	promised := planWaves(c, known, newWaves())
	plan := rolloutPlan(c, known, map[string]string{"dev-1": promised.leaf(stepDev, "dev-1"), "dev-2": "an older leaf"}, nil)
	if got := reached(c, plan, rollout.Outcome{}, newWaves()).value(); !got.Equal(promised.value()) {
		t.Errorf("the plan promises %v, the engine reaches %v", promised.value(), got)
	}
	proven := map[string]bool{}
	for _, a := range plan.Apps {
		proven[a.Name] = a.Proven
	}
	if !proven["dev-1"] || proven["dev-2"] || proven["prod-1"] {
		t.Errorf("proven is what the record says of exactly this leaf: %v", proven)
	}
}

func TestTheEngineResolvesWhatThePlanHasLeftOpen(t *testing.T) {
	manifest := manifestOf("main", "dev-1")
	c := contentOf(t, manifest)
	plan := rolloutPlan(c, targets{}, nil, nil)
	if plan.Apps[0].Revisions != nil {
		t.Errorf("the revisions are %v before anybody has resolved them", plan.Apps[0].Revisions)
	}
	w := reached(c, plan, rollout.Outcome{Revisions: map[string][]string{"dev-1": {shaB}}}, newWaves())
	if got, want := w.leaf(stepDev, "dev-1"), "main@bbbbbbb #"+hashOf(t, manifest, "dev-1"); got != want {
		t.Errorf("the leaf is %q, want %q", got, want)
	}
}

func TestLiveWavesKeepTheStepOfTheLastRollout(t *testing.T) {
	manifest := manifestOf("main", "dev-1")
	live := []rollout.Live{
		{Name: "dev-1", Hash: "11111111", StepLabel: "step 03: as it was"},
		{Name: "gone", Hash: "22222222", StepLabel: stepProd},
		{Name: "unmarked", Hash: "33333333"},
	}
	want := map[string]string{"dev-1": "step 03: as it was", "gone": stepProd, "unmarked": rollout.NoStepLabel}
	if diff := cmp.Diff(want, liveWaves(contentOf(t, manifest), live, nil).labels()); diff != "" {
		t.Error(diff)
	}
}
