package acceptance

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// says is a regular expression of texts in this order, however terraform wraps them.
func says(texts ...string) *regexp.Regexp {
	var parts []string
	for _, text := range texts {
		var quoted []string
		for _, word := range strings.Fields(text) {
			quoted = append(quoted, regexp.QuoteMeta(word))
		}
		parts = append(parts, strings.Join(quoted, `\s+`))
	}
	return regexp.MustCompile(`(?s)` + strings.Join(parts, `.*`))
}

func TestAccHandOverAfterABrokenPathDeletesNothingAndResumes(t *testing.T) {
	f := newFixture(t)
	s, seen := f.threeSteps(), f.record()
	var before map[string]string
	f.release("1", "dev")
	f.run(
		resource.TestStep{
			Config: s.String(),
			ExpectError: says("Comparison failed", f.app("staging"), `"step 02`, "app path does not exist",
				"nothing is deleted", "terraform untaint"),
		},
		resource.TestStep{
			PreConfig: func() {
				f.must(seen.onlyTouched(f.apps("dev", "staging")...))
				before = f.uids()
				f.release("1", "staging", "prod")
				seen.reset()
			},
			Config: s.String(),
			ConfigPlanChecks: planned(
				plansAction(plancheck.ResourceActionDestroyBeforeCreate),
				plansWaves(f.apps("dev"), f.apps("staging"), f.apps("prod")),
			),
			Check: check(
				seen.inOrder(f.apps("staging"), f.apps("prod")),
				seen.operations(0, f.app("dev")),
				f.deploys("1", "dev", "staging", "prod"),
				func() error { f.sameUIDs(before); return nil },
			),
		},
		resource.TestStep{
			PreConfig:        seen.reset,
			Config:           s.String(),
			ConfigPlanChecks: planned(plancheck.ExpectEmptyPlan()),
			Check:            check(seen.onlyTouched()),
		},
	)
	f.must(seen.deletedInOrder(f.apps("dev", "staging", "prod")))
}

func TestAccHandOverAfterDegradedDeletesNothingAndResumes(t *testing.T) {
	f := newFixture(t)
	s, seen := f.threeSteps(), f.record()
	var before map[string]string
	f.write("staging", map[string]string{"version": "1", "health": "Degraded", "message": "the disk is full"})
	f.release("1", "dev", "prod")
	f.run(
		resource.TestStep{
			Config:      s.String(),
			ExpectError: says("Application degraded", f.app("staging"), `"step 02`),
		},
		resource.TestStep{
			PreConfig: func() {
				f.must(seen.onlyTouched(f.apps("dev", "staging")...))
				before = f.uids()
				f.release("2", "staging")
				seen.reset()
			},
			Config:           s.String(),
			ConfigPlanChecks: planned(plansAction(plancheck.ResourceActionDestroyBeforeCreate)),
			Check: check(
				seen.inOrder(f.apps("staging"), f.apps("prod")),
				seen.operations(0, f.app("dev")),
				f.deploys("2", "staging"), f.deploys("1", "dev", "prod"),
				func() error { f.sameUIDs(before); return nil },
			),
		},
	)
}

func TestAccStateTellsWhatAFailedCreateHasReached(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	values, _ := w.stored()
	reached := wavesOf(values, nil)
	if len(reached) != 2 || reached[stepOf("01", "dev")] == nil || reached[stepOf("02", "staging")] == nil {
		t.Errorf("the state has the waves %v", reached)
	}
	if leaf := reached[stepOf("02", "staging")][f.app("staging")]; !strings.Contains(leaf, "(") {
		t.Errorf("staging was not reached, and the state says %q", leaf)
	}
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")))
	w.isState("complete")
	w.atRest()
}

// stepOf is the label of a step of one environment.
func stepOf(number, env string) string { return "step " + number + ": env in [" + env + "]" }

func TestAccUntaintMakesTheResumeAnUpdateInPlace(t *testing.T) {
	f := newFixture(t)
	w, _, seen := failedCreate(f)
	before := f.uids()
	w.cli.want(exitEmpty, "untaint", address)
	p := w.planOf()
	w.acts(p, "update")
	w.changes(p, f.apps("staging", "prod")...)
	w.apply("plan.bin")
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
	f.sameUIDs(before)
	w.isState("complete")
	w.atRest()
}

func TestAccReplaceReallyDeletesAndCreatesAnew(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) { s.Reverse = true })
	before := f.uids()

	w.fails([]string{"plan", "-replace=" + address}, "Too many deletions", `rollout.max_deletions = "100%"`)
	s.Rollout = quick(obj{"max_deletions": "100%"})
	w.configure(s)
	w.apply()
	f.must(seen.onlyTouched())
	w.apply("-replace=" + address)
	f.newUIDs(before)
	f.must(
		seen.deletedInOrder(f.apps("prod"), f.apps("staging"), f.apps("dev")),
		seen.inOrder(f.apps("dev"), f.apps("staging"), f.apps("prod")),
	)
	w.isState("complete")
	w.atRest()
}

func TestAccDestroyOfATaintedSetReallyDeletes(t *testing.T) {
	f := newFixture(t)
	w, _, seen := failedCreate(f)
	w.destroy()
	f.must(seen.deletedInOrder(f.apps("dev", "staging")))
	w.lives()
	w.isState("")
}

func TestAccRenameOfATaintedSetDeletesTheOldApplications(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	before := f.uids()
	renamed := f.name + "-renamed"
	s.Name = renamed
	// The Applications of the renamed set have other names, but dev: nothing may be left of the old.
	s.Elements = []obj{f.element("dev"), f.element("other/prod")}
	f.release("3", "other")
	w.configure(s)
	w.apply()
	f.must(seen.deletedInOrder(f.apps("dev", "staging")))
	w.lives(f.apps("dev", "other")...)
	f.newUIDs(map[string]string{f.app("dev"): before[f.app("dev")]})
	w.isState("")
	if got := f.stateOf(renamed); got != "complete" {
		t.Errorf("the record of %s says %q", renamed, got)
	}
	w.atRest()
}

func TestAccRenameOfAHealthySetDeletesTheOldApplicationsInReverseOrder(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) { s.Reverse, s.Rollout = true, quick(obj{"max_deletions": "100%"}) })
	before := f.uids()
	s.Name = f.name + "-renamed"
	w.configure(s)
	w.acts(w.planOf(), "delete create")
	w.apply("plan.bin")
	f.newUIDs(before)
	f.must(
		seen.deletedInOrder(f.apps("prod"), f.apps("staging"), f.apps("dev")),
		seen.inOrder(f.apps("dev"), f.apps("staging"), f.apps("prod")),
	)
	w.isState("")
	w.atRest()
}

func TestAccResumeAfterAConfigurationChangeDeletesWhatIsNotWantedAnyMore(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	s.Elements = []obj{f.element("prod")}
	w.configure(s)
	w.failsToPlan("Too many deletions", "delete 2 of 2 Applications", f.app("dev")+", "+f.app("staging"))
	s.Elements = []obj{f.element("dev"), f.element("prod")}
	w.configure(s)
	w.apply()
	f.must(seen.deletedInOrder(f.apps("staging")))
	w.lives(f.apps("dev", "prod")...)
	w.atRest()
}

// A policy holds for what a failed create has left as well, and the plan does not show it as deleted.
func TestAccAResumeLeavesWhatThePolicyDoesNotLetGoOrChange(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	before := f.getApp(f.ctx(), f.app("dev"))
	s.Spec = obj{"sync_policy": obj{"applications_sync": "create-only"}}
	s.Labels = obj{"tier": "gold"}
	s.Elements = []obj{f.element("dev"), f.element("prod")}
	w.configure(s)
	p := w.planOf()
	w.acts(p, "delete create")
	for step, names := range map[string][]string{stepOf("01", "dev"): {"?"}, stepOf("02", "staging"): {"?"}, stepOf("03", "prod"): f.apps("prod")} {
		if got := slices.Sorted(maps.Keys(p.after[step])); !slices.Equal(got, names) {
			t.Errorf("%q is planned to have %q, want %q", step, got, names)
		}
	}
	w.apply("plan.bin")
	f.must(seen.onlyTouched(f.app("prod")))
	f.unchanged(before)
	w.lives(f.apps("dev", "staging", "prod")...)
	values, _ := w.stored()
	for step, name := range map[string]string{stepOf("01", "dev"): f.app("dev"), stepOf("02", "staging"): f.app("staging")} {
		if leaf := wavesOf(values, nil)[step][name]; !strings.HasSuffix(leaf, "(held back)") {
			t.Errorf("%s is stored as %q", name, leaf)
		}
	}
	w.atRest()
}

func TestAccPreventDestroyStopsTheReplacementAndUntaintGoesRound(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	s.Extra = "lifecycle { prevent_destroy = true }"
	w.configure(s)
	w.failsToPlan("Instance cannot be destroyed", address)
	w.cli.want(exitEmpty, "untaint", address)
	w.apply()
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
	w.atRest()
	s.Extra = ""
	w.configure(s)
}

// The hand-over is over when the create finds that it cannot start: what was handed over must not
// fall out of the state, or destroy would leave it running.
func TestAccAResumeThatIsRefusedKeepsTheSetInTheState(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	before := f.uids()
	s.AppSpec = obj{"project": f.name + "-missing"}
	w.configure(s)
	w.failsToApply("AppProject missing", f.name+"-missing")
	f.must(seen.onlyTouched())
	f.sameUIDs(before)
	w.isTainted()
	s.AppSpec = nil
	w.configure(s)
	w.apply()
	f.sameUIDs(before)
	w.atRest()
}

func TestAccAFailedUpdateKeepsThePriorConfigurationAndThePlanShowsTheRest(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()

	// A new label makes every Application change; the new path of staging does not exist.
	s.Labels = obj{"tier": "gold"}
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": `{{if eq .env "staging"}}nowhere{{else}}apps/{{.name}}{{end}}`}
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.failsToApply("Comparison failed", f.app("staging"), "apply again")
	f.must(seen.onlyTouched(f.apps("dev", "staging")...))
	values, tainted := w.stored()
	if tainted {
		t.Error("a failed update has tainted the set")
	}
	if spec := hcl(values["spec"]); strings.Contains(spec, "tier") || strings.Contains(spec, "nowhere") {
		t.Errorf("the state has the new configuration, which was not reached: %s", spec)
	}
	if now := wavesOf(values, nil); !strings.Contains(now[stepOf("02", "staging")][f.app("staging")], "(") {
		t.Errorf("staging was not reached, and the state says %v", now)
	}

	p := w.planOf()
	w.acts(p, "update")
	w.changes(p, f.apps("staging", "prod")...)
	s.Source = nil
	w.configure(s)
	w.changes(w.planOf(), f.apps("staging", "prod")...)
	seen.reset()
	w.apply()
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
	w.atRest()
}

// touch changes an Application as a person with kubectl does.
func (f *fixture) touch(name string, change func(*unstructured.Unstructured) error) {
	f.Helper()
	if err := f.edit(f.ctx(), name, change); err != nil {
		f.Fatal(err)
	}
}

// getApp is a live Application.
func (f *fixture) getApp(ctx context.Context, name string) *unstructured.Unstructured {
	f.Helper()
	app, err := f.client.Resource(applications).Namespace(argoNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return app
}
