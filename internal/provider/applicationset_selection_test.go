package provider

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// planNewCommit plans a new commit that all Applications of the fleet are to get, under a policy.
func planNewCommit(t *testing.T, given values, names ...string) planned {
	t.Helper()
	manifest := manifestOf("main", names...)
	known := knownAt(t, manifestOf("main", fleet...), shaB, fleet...)
	return planOf(t, stateOf(t, manifestOf("main", fleet...), shaA), configOf(manifest).with(values{"rollout": settingsWith(given)}), private(t, known))
}

// held are the Applications that a plan shows as held back, each with its commit.
func (p planned) held() map[string]string {
	out := map[string]string{}
	for _, leaves := range p.waves {
		for name, leaf := range leaves {
			if base, ok := strings.CutSuffix(leaf, " (held back)"); ok {
				commit, _, _ := strings.Cut(base, " ")
				out[name] = commit
			}
		}
	}
	return out
}

func TestAPartialPromotionHoldsLaterStepsAndDeletionsBack(t *testing.T) {
	p := planNewCommit(t, values{"stop_after_step": 1}, "dev-1", "dev-2", "prod-1", "prod-2", "prod-4")
	if len(p.errors) > 0 {
		t.Fatal(p.errors)
	}
	if diff := cmp.Diff(map[string]string{"prod-1": "main@aaaaaaa", "prod-2": "main@aaaaaaa", "prod-3": "main@aaaaaaa"}, p.held()); diff != "" {
		t.Error(diff)
	}
	if got := p.waves[stepDev]["dev-1"]; !strings.HasPrefix(got, "main@bbbbbbb ") {
		t.Errorf("the first step is planned as %q", got)
	}
	if _, planned := p.waves[stepProd]["prod-4"]; planned {
		t.Error("an Application of a later step that does not exist is planned")
	}
	all := strings.Join(p.warns, "\n")
	if !strings.Contains(all, "Applications not created") || !strings.Contains(all, "prod-4") || strings.Contains(all, "will be deleted") {
		t.Errorf("the warnings are %q", p.warns)
	}
}

func TestAPartialPromotionWarnsOfAutomatedSyncThatItSwitchesOffInLaterSteps(t *testing.T) {
	stepped := strings.Replace(manifestOf("main", fleet...), `"project"`, `"syncPolicy":{"automated":{}},"project"`, 1)
	before := strings.NewReplacer(`"RollingSync"`, `"AllAtOnce"`, `"deletionOrder":"Reverse",`, "").Replace(stepped)
	for name, c := range map[string]struct {
		prior string
		given values
		want  bool
	}{
		"where the set had no steps":               {before, values{"stop_after_step": 1}, true},
		"not where it had steps":                   {stepped, values{"stop_after_step": 1}, false},
		"not on one that is left alone altogether": {before, values{"stop_after_step": 1, "hold": []string{"prod-2"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			known := knownAt(t, stepped, shaB, fleet...)
			p := planOf(t, stateOf(t, c.prior, shaA), configOf(stepped).with(values{"rollout": settingsWith(c.given)}), private(t, known))
			if len(p.errors) > 0 {
				t.Fatal(p.errors)
			}
			warned := ""
			for _, w := range p.warns {
				if strings.Contains(w, "Automated sync will be switched off") {
					warned = w
				}
			}
			if got := strings.Contains(warned, "prod-2"); got != c.want || !strings.Contains(warned, "dev-1") {
				t.Errorf("the warning is %q", warned)
			}
		})
	}
}

func TestAHeldApplicationIsLeftAloneAndTheOthersAreNot(t *testing.T) {
	p := planNewCommit(t, values{"hold": []string{"dev-2", "prod-3", "typo-1"}}, "dev-1", "dev-2", "prod-1", "prod-2")
	if len(p.errors) > 0 {
		t.Fatal(p.errors)
	}
	if diff := cmp.Diff(map[string]string{"dev-2": "main@aaaaaaa", "prod-3": "main@aaaaaaa"}, p.held()); diff != "" {
		t.Error(diff)
	}
	if got := p.waves[stepProd]["prod-1"]; !strings.HasPrefix(got, "main@bbbbbbb ") {
		t.Errorf("one that is not held is planned as %q", got)
	}
	if all := strings.Join(p.warns, "\n"); !strings.Contains(all, "Nothing to hold") || !strings.Contains(all, "typo-1") || strings.Contains(all, "dev-2") {
		t.Errorf("the warnings are %q", p.warns)
	}
}

func TestTheEngineGetsNothingOfWhatIsHeld(t *testing.T) {
	c := contentOf(t, manifestOf("main", fleet...))
	c.selection = selection{stopAfter: 1, hold: map[string]bool{"dev-2": true, "prod-3": true}}
	prior := newWaves()
	for _, name := range fleet {
		prior.step(stepProd).leaves[name] = "main@aaaaaaa #1"
	}
	plan := rolloutPlan(c, targets{}, nil, []string{"dev-1", "dev-2", "prod-1", "prod-3"})
	var names []string
	for _, a := range plan.Apps {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"dev-1"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"prod-1"}, plan.Held); diff != "" {
		t.Errorf("of later steps automated sync is switched off, of held ones not: %s", diff)
	}
	outcomes := stepOutcomes(plan, c.selection, rollout.Outcome{Done: []string{"dev-1"}})
	if outcomes[0].Outcome != stepDone || outcomes[1].Outcome != stepHeld {
		t.Errorf("the record says %v", outcomes)
	}
	want := map[string]string{"dev-1": "main #" + hashOf(t, manifestOf("main", fleet...), "dev-1")}
	for _, name := range []string{"dev-2", "prod-1", "prod-2", "prod-3"} {
		want[name] = "main@aaaaaaa #1 (held back)"
	}
	got := map[string]string{}
	for _, s := range reached(c, plan, rollout.Outcome{Revisions: map[string][]string{"dev-1": {"main"}}}, prior).steps {
		for name, leaf := range s.leaves {
			got[name] = leaf
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadShowsWhatIsHeldAsThePlanDoes(t *testing.T) {
	c := contentOf(t, manifestOf("main", fleet...))
	c.selection = selection{stopAfter: 1, hold: map[string]bool{"dev-2": true}}
	live := []rollout.Live{
		{Name: "dev-1", Hash: "11111111", StepLabel: stepDev}, {Name: "dev-2", Hash: "22222222", StepLabel: stepDev},
		{Name: "prod-1", Hash: "33333333", StepLabel: stepProd}, {Name: "gone", Hash: "44444444", StepLabel: stepProd},
	}
	w := liveWaves(c, live, nil)
	for name, held := range map[string]bool{"dev-1": false, "dev-2": true, "prod-1": true, "gone": true} {
		leaf := w.leaf(w.labels()[name], name)
		if strings.HasSuffix(leaf, " (held back)") != held {
			t.Errorf("%s is read as %q", name, leaf)
		}
	}
}

func TestUnselectedAndOverlappingApplicationsFollowThePolicy(t *testing.T) {
	overlapping := strings.Replace(manifestOf("main", "dev-1", "qa-1"), `"values":["prod"]`, `"values":["prod","dev"]`, 1)
	for name, c := range map[string]struct {
		given      values
		error      string
		warn, mute string
	}{
		"by default both are warned of":          {values{}, "", "No step selects these Applications", ""},
		"unselected as an error":                 {values{"unselected": "error"}, "No step selects these Applications", "", ""},
		"overlap as an error":                    {values{"overlap": "error"}, "selected by more than one step", "", ""},
		"unselected as a last step is no hazard": {values{"unselected": "last"}, "", "selected by more than one step", "No step selects"},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, nil, configOf(overlapping).with(values{"rollout": settingsWith(c.given)}), nil)
			errors, warns := strings.Join(p.errors, "\n"), strings.Join(p.warns, "\n")
			if c.error == "" && errors != "" || !strings.Contains(errors, c.error) {
				t.Errorf("the errors are %q, want %q", errors, c.error)
			}
			if !strings.Contains(warns, c.warn) || c.mute != "" && strings.Contains(warns, c.mute) {
				t.Errorf("the warnings are %q, want %q and not %q", warns, c.warn, c.mute)
			}
		})
	}
}

func TestUnselectedApplicationsRollOutAsALastStep(t *testing.T) {
	c := contentOf(t, manifestOf("main", "dev-1", "qa-1"))
	c.selection.last = true
	c.placed = func() []placed { return place(c.set, c.apps, c.selection) }
	plan := rolloutPlan(c, targets{}, nil, nil)
	last := plan.Steps[len(plan.Steps)-1]
	if last.Label != rollout.NoStepLabel || last.Limit != -1 || len(plan.Steps) != 3 {
		t.Fatalf("the steps are %v", plan.Steps)
	}
	for _, a := range plan.Apps {
		if a.Name == "qa-1" && (a.Step != 2 || a.Mode != rollout.ModeSync) {
			t.Errorf("qa-1 is in step %d, mode %s", a.Step, a.Mode)
		}
	}
	if got := reached(c, plan, rollout.Outcome{}, newWaves()).labels()["qa-1"]; got != rollout.NoStepLabel {
		t.Errorf("its wave is %q", got)
	}
}

func TestATimeoutThatWaitingAloneExceedsIsAnErrorAtPlan(t *testing.T) {
	manifest := strings.Replace(manifestOf("main", fleet...), `"values":["prod"]}]}`, `"values":["prod"]}],"maxUpdate":1}`, 1)
	// Two of dev at once, three of prod one after the other: four times 15 minutes, and twice 5.
	for name, c := range map[string]struct {
		healthy, soak string
		state         string
		fails         bool
	}{
		"seventy minutes in an hour":              {"15m", "5m", shaA, true},
		"an hour in an hour":                      {"15m", "0s", shaA, false},
		"what does not change takes no time":      {"15m", "5m", shaB, false},
		"soaking alone may take too long as well": {"0s", "31m", shaA, true},
	} {
		t.Run(name, func(t *testing.T) {
			given := values{"rollout": settingsWith(values{"min_healthy_time": c.healthy, "soak_time": c.soak, "app_timeout": "2h"})}
			p := planOf(t, stateOf(t, manifest, c.state), configOf(manifest).with(given), private(t, knownAt(t, manifest, shaB, fleet...)))
			if failed := len(p.errors) > 0; failed != c.fails || failed && !strings.HasPrefix(p.errors[0], "Timeout too short: ") {
				t.Errorf("the errors are %q", p.errors)
			}
		})
	}
}

func TestMaxFailuresRoundsDown(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want int
	}{{"0", 100, 0}, {"3", 2, 3}, {"5%", 19, 0}, {"5%", 20, 1}, {"5%", 39, 1}, {"100%", 7, 7}} {
		a, err := parseAmount(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.floor(c.n); got != c.want {
			t.Errorf("%s of %d is %d, want %d", c.text, c.n, got, c.want)
		}
	}
}

func TestSettingsOfARolloutReachTheEngine(t *testing.T) {
	s := defaultSettings()
	if o := s.options(rollout.Plan{}, time.Hour); o.MaxFailures != 0 || o.SoakTime != 0 || o.Suspended != rollout.SuspendedWait ||
		o.AllRetries || o.WaitForWindow || o.AcceptOutOfSync || o.IgnoreUnhealthyEarlier {
		t.Errorf("the defaults are %+v", o)
	}
	m := rolloutModel{
		SoakTime: types.StringValue("7s"), MaxFailures: types.StringValue("50%"), Suspended: types.StringValue("fail"),
		Retry: types.StringValue("all"), SyncWindowPolicy: types.StringValue("wait"), AcceptOutOfSync: types.BoolValue(true),
		RequireHealthyEarlier: types.BoolValue(false), Hold: types.SetNull(types.StringType), LockTimeout: types.StringValue("30m"),
	}
	given, diags := types.ObjectValueFrom(t.Context(), applicationSetSchema(t.Context()).Attributes["rollout"].GetType().(types.ObjectType).AttrTypes, m)
	if diags.HasError() {
		t.Fatal(diags)
	}
	s, diags = readSettings(t.Context(), given)
	if diags.HasError() {
		t.Fatal(diags)
	}
	o := s.options(rollout.Plan{Apps: make([]rollout.Desired, 5)}, time.Hour)
	if o.MaxFailures != 2 || o.SoakTime != 7*time.Second || o.Suspended != rollout.SuspendedFail || !o.AllRetries || !o.WaitForWindow ||
		!o.AcceptOutOfSync || !o.IgnoreUnhealthyEarlier || s.lockTimeout != 30*time.Minute {
		t.Errorf("the options are %+v", o)
	}
}
