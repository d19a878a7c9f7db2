package provider

import (
	"reflect"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestPlanAtRestChangesNothing(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	state := stateOf(t, manifest, shaA)
	p := planOf(t, state, configOf(manifest), private(t, knownAt(t, manifest, shaA, fleet...)))
	if len(p.errors)+len(p.warns) > 0 {
		t.Fatal(p.errors, p.warns)
	}
	for label, leaves := range state["waves"].(map[string]map[string]string) {
		for name, leaf := range leaves {
			if got := p.waves[label][name]; got != leaf {
				t.Errorf("%s is planned as %q, and is %q", name, got, leaf)
			}
		}
	}
}

func TestPlanOfANewCommitShowsTheApplicationsThatItTouches(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	known := knownAt(t, manifest, shaA, fleet...)
	known.Pins[0].Revision = shaB
	known.Apps["prod-1"] = rollout.KnownTarget{Hash: hashOf(t, manifest, "prod-1"), Revisions: []string{shaB}}
	p := planOf(t, stateOf(t, manifest, shaA), configOf(manifest), private(t, known))
	if got, want := p.waves[stepProd]["prod-1"], "main@bbbbbbb #"+hashOf(t, manifest, "prod-1"); got != want {
		t.Errorf("the Application that the commit touches is planned as %q, want %q", got, want)
	}
	if got := p.waves[stepProd]["prod-2"]; !strings.HasPrefix(got, "main@aaaaaaa ") {
		t.Errorf("one that it does not touch is planned as %q", got)
	}
}

func TestPlanOfAChangedSpecUsesThePinOfItsBranch(t *testing.T) {
	old := manifestOf("main", fleet...)
	changed := strings.ReplaceAll(old, `"path":"."`, `"path":"other"`)
	p := planOf(t, stateOf(t, old, shaA), configOf(changed), private(t, knownAt(t, old, shaB, fleet...)))
	if got, want := p.waves[stepDev]["dev-1"], "main@bbbbbbb #"+hashOf(t, changed, "dev-1"); got != want {
		t.Errorf("planned as %q, want %q", got, want)
	}
}

func TestPlanOfABranchThatNobodyHasResolvedLeavesLeavesOpen(t *testing.T) {
	old := manifestOf("main", fleet...)
	changed := manifestOf("other", fleet...)
	p := planOf(t, stateOf(t, old, shaA), configOf(changed), private(t, knownAt(t, old, shaA, fleet...)))
	for _, name := range []string{"dev-1", "dev-2"} {
		if leaf, ok := p.waves[stepDev][name]; !ok || leaf != "" {
			t.Errorf("%s is planned as %q, want an unknown leaf", name, leaf)
		}
	}
}

func TestPlanOfCreateUsesNothingOfPrivateState(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	p := planOf(t, nil, configOf(manifest), private(t, knownAt(t, manifest, shaA, fleet...)))
	if leaf := p.waves[stepDev]["dev-1"]; leaf != "" {
		t.Errorf("the leaf is %q: the same plan during apply has no private state", leaf)
	}
	if got, want := p.phase(t), (phase{Op: opCreate, Namespace: "argocd", Name: "guestbook"}); !reflect.DeepEqual(got, want) {
		t.Errorf("the phase is %+v, want %+v", got, want)
	}
}

func TestPlanOfRemovals(t *testing.T) {
	old := manifestOf("main", fleet...)
	for name, c := range map[string]struct {
		left    []string
		rollout map[string]any
		err     string
		warning string
	}{
		"one of five is within the default":      {left: fleet[1:], warning: "Applications will be deleted: 1 Application that"},
		"two of five are more than the default":  {left: fleet[2:], err: "Too many deletions: The configuration does not generate these Applications any more: dev-1, dev-2. The plan would delete 2 of 5 Applications; rollout.max_deletions allows 1 (20%)"},
		"two of five with max_deletions = 2":     {left: fleet[2:], rollout: map[string]any{"max_deletions": "2"}, warning: "dev-1, dev-2"},
		"one of five with max_deletions = 0":     {left: fleet[1:], rollout: map[string]any{"max_deletions": "0"}, err: "rollout.max_deletions allows 0 (0)"},
		"all of them need allow_empty":           {left: nil, rollout: map[string]any{"max_deletions": "100%"}, err: "Empty set"},
		"all of them with both guards opened":    {left: nil, rollout: map[string]any{"max_deletions": "100%", "allow_empty": true}, warning: "5 Applications"},
		"renaming all counts as removing them":   {left: []string{"dev-a", "dev-b", "prod-a", "prod-b", "prod-c"}, err: "The plan would delete 5 of 5"},
		"an empty set still counts its removals": {left: nil, rollout: map[string]any{"allow_empty": true}, err: "The plan would delete 5 of 5"},
	} {
		t.Run(name, func(t *testing.T) {
			config := configOf(manifestOf("main", c.left...)).with(values{"rollout": settingsWith(c.rollout)})
			p := planOf(t, stateOf(t, old, shaA), config, private(t, knownAt(t, old, shaA, fleet...)))
			if all := strings.Join(p.errors, "\n"); (c.err == "") != (all == "") || !strings.Contains(all, c.err) {
				t.Errorf("the errors are %q, want %q", all, c.err)
			}
			if all := strings.Join(p.warns, "\n"); c.err == "" && !strings.Contains(all, c.warning) {
				t.Errorf("the warnings are %q, want %q", all, c.warning)
			}
		})
	}
}

func TestPlanOfAnotherName(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	renamed := configOf(manifest).with(values{"name": "renamed"})
	state := stateOf(t, manifest, shaA)
	p := planOf(t, state, renamed, nil)
	if all := strings.Join(p.errors, "\n"); !strings.Contains(all, "argocd/guestbook becomes argocd/renamed") || !strings.Contains(all, "delete 5 of 5") {
		t.Errorf("a rename deletes everything; the errors are %q", all)
	}
	allowed := renamed.with(values{"rollout": settingsWith(map[string]any{"max_deletions": "100%"})})
	p = planOf(t, state, allowed, nil)
	if len(p.errors) > 0 || !p.replace {
		t.Errorf("with max_deletions = 100%% it is a replacement: %v, replace %v", p.errors, p.replace)
	}
	// What Terraform asks next, with the private data of the first answer.
	p = planOf(t, nil, allowed, p.bytes)
	if got, want := p.phase(t), (phase{Op: opForcedReplace, Namespace: "argocd", Name: "renamed"}); !reflect.DeepEqual(got, want) || len(p.errors) > 0 {
		t.Errorf("the phase is %+v, want %+v; errors %v", got, want, p.errors)
	}
}

func TestPlanOfAForcedReplacementIsGuarded(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	update := planOf(t, stateOf(t, manifest, shaA), configOf(manifest), nil)
	p := planOf(t, nil, configOf(manifest), update.bytes)
	if all := strings.Join(p.errors, "\n"); !strings.Contains(all, "argocd/guestbook is to be replaced") || !strings.Contains(all, "delete 5 of 5") {
		t.Errorf("the errors are %q", all)
	}
	p = planOf(t, nil, configOf(manifest).with(values{"rollout": settingsWith(map[string]any{"max_deletions": "100%"})}), update.bytes)
	if len(p.errors) > 0 || p.phase(t).Op != opForcedReplace {
		t.Errorf("with max_deletions = 100%%: errors %v, phase %+v", p.errors, p.phase(t))
	}
}

func TestPlanOfADestroyTellsTheOrder(t *testing.T) {
	p := planOf(t, stateOf(t, manifestOf("main", fleet...), shaA), nil, nil)
	if got := p.phase(t); got.Op != opDestroy {
		t.Errorf("the phase is %+v", got)
	}
	all := strings.Join(p.warns, "\n")
	prod, dev := strings.Index(all, stepProd+": 3"), strings.Index(all, stepDev+": 2")
	if prod < 0 || dev < prod {
		t.Errorf("the last step is deleted first; the warning is %q", all)
	}
}

func TestPlanRefusesAProviderNamespaceThatChanged(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	state := stateOf(t, manifest, shaA).with(values{"id": "elsewhere/guestbook", "namespace": "elsewhere"})
	p := planOf(t, state, configOf(manifest), nil)
	if all := strings.Join(p.errors, "\n"); !strings.Contains(all, `created in namespace "elsewhere"`) {
		t.Errorf("the errors are %q", all)
	}
	p = planOf(t, state, configOf(manifest).with(values{"namespace": "elsewhere"}), nil)
	if len(p.errors) > 0 || p.id != "elsewhere/guestbook" {
		t.Errorf("with the namespace set on the resource: id %q, errors %v", p.id, p.errors)
	}
}

func TestPlanWarnsOfAManualStep(t *testing.T) {
	manual := strings.Replace(manifestOf("main", fleet...), `"values":["prod"]}]}`, `"values":["prod"]}],"maxUpdate":0}`, 1)
	p := planOf(t, nil, configOf(manual), nil)
	if all := strings.Join(p.warns, "\n"); !strings.Contains(all, "Manual step") || !strings.Contains(all, "prod-1, prod-2, prod-3") {
		t.Errorf("the warnings are %q", all)
	}
	if leaf := p.waves[stepProd]["prod-1"]; leaf != "#"+hashOf(t, manual, "prod-1") {
		t.Errorf("a manual step promises no revision, but the leaf is %q", leaf)
	}
}

func TestPlanWarnsOfAutomatedSyncSwitchedOff(t *testing.T) {
	automated := strings.Replace(manifestOf("main", fleet...), `"project"`, `"syncPolicy":{"automated":{}},"project"`, 1)
	p := planOf(t, nil, configOf(automated), nil)
	if all := strings.Join(p.warns, "\n"); !strings.Contains(all, "Automated sync will be switched off") {
		t.Errorf("the warnings are %q", all)
	}
	p = planOf(t, stateOf(t, automated, shaA), configOf(automated), private(t, knownAt(t, automated, shaA, fleet...)))
	if len(p.warns) > 0 {
		t.Errorf("at rest there is nothing to warn of: %q", p.warns)
	}
}
