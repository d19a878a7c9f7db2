package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// withPolicy is a manifest with syncPolicy.applicationsSync.
func withPolicy(manifest, policy string) string {
	return strings.Replace(manifest, `"spec":{"generators"`, `"spec":{"syncPolicy":{"applicationsSync":"`+policy+`"},"generators"`, 1)
}

func TestAPolicyHoldsBackWhatItDoesNotLetChange(t *testing.T) {
	at := func(names ...string) map[string]string {
		held := map[string]string{}
		for _, name := range names {
			held[name] = "main@aaaaaaa"
		}
		return held
	}
	const dropped, left = "Applications will be deleted", "Applications left alone"
	for policy, want := range map[string]struct {
		held map[string]string
		warn string
		mute string
	}{
		"sync":          {at(), dropped, left},
		"create-delete": {at(fleet[:4]...), dropped, left},
		"create-update": {at("prod-3"), left, dropped},
		"create-only":   {at(fleet...), left, dropped},
	} {
		t.Run(policy, func(t *testing.T) {
			// A new commit for all; prod-3 is dropped, prod-4 is new.
			manifest := withPolicy(manifestOf("main", append(fleet[:4:4], "prod-4")...), policy)
			known := knownAt(t, manifestOf("main", fleet...), shaB, fleet...)
			p := planOf(t, stateOf(t, manifestOf("main", fleet...), shaA), configOf(manifest), private(t, known))
			if len(p.errors) > 0 {
				t.Fatal(p.errors)
			}
			if diff := cmp.Diff(want.held, p.held()); diff != "" {
				t.Error(diff)
			}
			if got := p.waves[stepProd]["prod-4"]; !strings.HasPrefix(got, "main@bbbbbbb ") {
				t.Errorf("a new Application is planned as %q", got)
			}
			warned := strings.Join(p.warns, "\n")
			if !strings.Contains(warned, want.warn) || strings.Contains(warned, want.mute) || !strings.Contains(warned, "prod-3") {
				t.Errorf("the warnings are %q", p.warns)
			}
		})
	}
}

func TestAPolicyLetsACreationFinishThatHasFailed(t *testing.T) {
	manifest := withPolicy(manifestOf("main", fleet...), "create-only")
	known := knownAt(t, manifest, shaB, fleet...)
	known.Unfinished = map[string]string{"prod-1": hashOf(t, manifest, "prod-1"), "prod-2": "anothersp"}
	p := planOf(t, stateOf(t, manifestOf("main", fleet...), shaA), configOf(manifest), private(t, known))
	if len(p.errors) > 0 {
		t.Fatal(p.errors)
	}
	if _, held := p.held()["prod-1"]; held {
		t.Error("what a failed rollout has created is not finished")
	}
	if _, held := p.held()["prod-2"]; !held {
		t.Error("what a failed rollout has created gets another spec")
	}
}

func TestWhatIsUnfinishedIsToldByTheRecord(t *testing.T) {
	live := []rollout.Live{{Name: "a", Hash: "1"}, {Name: "b", Hash: "2"}}
	open := argocd.Rollout{Outcomes: []argocd.Outcome{{Outcome: stepFailed}}}
	for name, c := range map[string]struct {
		record *argocd.Record
		want   map[string]string
	}{
		"no record":          {nil, nil},
		"no rollout":         {&argocd.Record{}, nil},
		"a failed rollout":   {recordOf(map[string]string{"a": "#1"}, open), map[string]string{"b": "2"}},
		"everything is done": {recordOf(nil, argocd.Rollout{Ended: open.Ended.AddDate(1, 0, 0)}), nil},
	} {
		if diff := cmp.Diff(c.want, (&connected{record: c.record}).unfinished(live)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func recordOf(proven map[string]string, last argocd.Rollout) *argocd.Record {
	return &argocd.Record{Payload: argocd.Payload{Proven: proven, Rollouts: []argocd.Rollout{last}}}
}

func TestTheEngineGetsNothingOfWhatAPolicyHoldsBack(t *testing.T) {
	c := contentOf(t, withPolicy(manifestOf("main", fleet...), "create-only"))
	c.leaveStanding([]string{"dev-1", "prod-1"}, nil)
	plan := rolloutPlan(c, targets{}, nil, []string{"dev-1", "prod-1"})
	var names []string
	for _, a := range plan.Apps {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"dev-2", "prod-2", "prod-3"}, names); diff != "" {
		t.Error(diff)
	}
	if len(plan.Held) > 0 {
		t.Errorf("automated sync is switched off on %v", plan.Held)
	}
	live := []rollout.Live{{Name: "dev-1", Hash: "1", StepLabel: stepDev}, {Name: "gone", Hash: "2", StepLabel: stepDev}}
	for name, leaf := range liveWaves(c, live, nil).steps[stepDev].leaves {
		if !strings.HasSuffix(leaf, " (held back)") {
			t.Errorf("%s is read as %q", name, leaf)
		}
	}
}
