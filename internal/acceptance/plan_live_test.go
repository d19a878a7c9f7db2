package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAccDriftShowsInItsStepAndIsRepaired(t *testing.T) {
	f := newFixture(t)
	s, seen := f.threeSteps(), f.record()
	s.Labels = obj{"tier": "gold"}
	f.release("1", "dev", "staging", "prod")
	// shows fails unless the plan changes staging alone, in its own step.
	shows := wavesCheck(func(before, after waves) error {
		if changes := changed(before, after); len(changes) != 1 || changes[0] != f.app("staging") {
			return fmt.Errorf("the plan changes %v", changes)
		}
		if after[stepOf("02", "staging")][f.app("staging")] == "" {
			return fmt.Errorf("staging is not planned in its step")
		}
		return nil
	})
	// drift is a step in which somebody changes staging, and apply repairs it.
	drift := func(by func(), repaired func() error) resource.TestStep {
		return resource.TestStep{
			PreConfig:        func() { seen.reset(); by(); seen.reset() },
			Config:           s.String(),
			ConfigPlanChecks: planned(plansAction(plancheck.ResourceActionUpdate), shows),
			Check:            check(repaired, seen.untouched(f.apps("dev", "prod")...), f.deploys("1", "dev", "staging", "prod")),
		}
	}
	change := func(value any, fields ...string) func() {
		return func() {
			f.touch(f.app("staging"), func(o *unstructured.Unstructured) error {
				return unstructured.SetNestedField(o.Object, value, fields...)
			})
		}
	}
	is := func(want any, fields ...string) func() error {
		return func() error {
			got, _, _ := unstructured.NestedFieldNoCopy(f.getApp(f.ctx(), f.app("staging")).Object, fields...)
			if got != want {
				return fmt.Errorf("%v is %v, not %v", fields, got, want)
			}
			return nil
		}
	}
	f.run(
		resource.TestStep{Config: s.String()},
		drift(change(true, "spec", "source", "directory", "recurse"), is(nil, "spec", "source", "directory")),
		drift(change(f.name+"-elsewhere", "spec", "destination", "namespace"), is(f.name, "spec", "destination", "namespace")),
		drift(change("silver", "metadata", "labels", "tier"), is("gold", "metadata", "labels", "tier")),
		drift(change("prod", "metadata", "labels", "env"), is("staging", "metadata", "labels", "env")),
		drift(func() { f.deleteByHand(seen, "staging") }, is("gold", "metadata", "labels", "tier")),
		drift(func() {
			// Somebody changes what is deployed; Argo CD sees it and calls it OutOfSync.
			cms := f.client.Resource(configMaps).Namespace(f.name)
			cm, err := cms.Get(f.ctx(), f.app("staging"), metav1.GetOptions{})
			f.must(func() error { return err })
			f.must(func() error { return unstructured.SetNestedField(cm.Object, "by hand", "data", "version") })
			_, err = cms.Update(f.ctx(), cm, metav1.UpdateOptions{})
			f.must(func() error { return err })
			_, err = seen.await(f.ctx(), f.app("staging"), "is OutOfSync", func(s *appState) bool { return s != nil && s.Sync == "OutOfSync" })
			f.must(func() error { return err })
		}, is("gold", "metadata", "labels", "tier")),
		resource.TestStep{
			// Labels and annotations that are not ours may change.
			PreConfig: func() {
				f.touch(f.app("staging"), func(o *unstructured.Unstructured) error {
					if err := unstructured.SetNestedField(o.Object, "somebody", "metadata", "labels", "owner"); err != nil {
						return err
					}
					return unstructured.SetNestedField(o.Object, "x", "metadata", "annotations", "example.com/note")
				})
			},
			Config:           s.String(),
			ConfigPlanChecks: planned(plancheck.ExpectEmptyPlan()),
		},
	)
}

func TestAccASavedPlanStaysValidWhenTheBranchMovesOn(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut()
	second := f.release("2", "dev", "staging", "prod")
	p := w.planOf()
	w.changes(p, f.apps("dev", "staging", "prod")...)

	// The cluster moves on: a third commit, which Argo CD has seen by the time of the apply.
	third := f.release("3", "dev", "staging", "prod")
	for _, name := range f.apps("dev", "staging", "prod") {
		f.touch(name, func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedField(o.Object, "normal", "metadata", "annotations", "argocd.argoproj.io/refresh")
		})
		_, err := seen.await(f.ctx(), name, "has seen the third commit", func(s *appState) bool { return s.Revision == third })
		f.must(func() error { return err })
	}
	seen.reset()
	w.apply("plan.bin")
	f.must(
		seen.historyInOrder(f.apps("dev"), f.apps("staging"), f.apps("prod")),
		seen.at(second, f.apps("dev", "staging", "prod")...),
		f.deploys("2", "dev", "staging", "prod"),
	)
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.apply("plan.bin")
	f.must(f.deploys("3", "dev", "staging", "prod"))
	w.atRest()
}

func TestAccWithoutRefreshAPlanOnlyReads(t *testing.T) {
	f := newFixture(t)
	p := f.proxy()
	w, s, _ := f.rolledOut(func(s *set) { s.Provider = p.through() })
	f.release("2", "dev", "staging", "prod")
	p.Writes()

	s.Provider = p.through()
	s.Provider["refresh"] = false
	w.configure(s)
	w.atRest()
	p.wroteNothing()

	s.Provider = p.through()
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	// One for the source, and one for each of the others that use it, since it has moved.
	// One that is not answered in time is nudged, with writes to the same Application.
	if writes := slices.Compact(p.Writes()); len(writes) != 3 {
		t.Errorf("a plan of three Applications of one source, which has moved, wrote %v", writes)
	}
	w.apply("plan.bin")
	p.Writes()
	w.atRest()
	if writes := slices.Compact(p.Writes()); len(writes) != 1 {
		t.Errorf("a plan of three Applications of one source at rest wrote %v", writes)
	}
	s.Provider = nil
	w.configure(s)
}

func TestAccLeavingRollingSyncIsAWarning(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	s.Steps = nil
	w.configure(s)
	p := w.planOf()
	w.says(p.printed, "Warning: No steps any more", "all Applications change at the same time")
	if len(p.after["all at once"]) != 3 || len(p.after) != 1 {
		t.Errorf("planned are the waves %v", p.after)
	}
	w.apply("plan.bin")
	f.must(seen.operations(0, f.apps("dev", "staging", "prod")...))
	w.atRest()
	w.saysNot(w.cli.want(exitEmpty, "plan"), "Warning: No steps any more")
}

func TestAccAnotherOrderOfStepsMovesTheLabelsAndSyncsNothing(t *testing.T) {
	f := newFixture(t)
	s, seen := f.threeSteps(), f.record()
	f.release("1", "dev", "staging", "prod")
	first := s.String()
	s.Steps = []step{in("prod"), in("dev"), in("staging")}
	f.run(
		resource.TestStep{Config: first},
		resource.TestStep{
			PreConfig: seen.reset,
			Config:    s.String(),
			ConfigPlanChecks: planned(
				plansAction(plancheck.ResourceActionUpdate),
				plansWaves(f.apps("prod"), f.apps("dev"), f.apps("staging")),
			),
			Check: check(seen.onlyTouched(), seen.operations(0, f.apps("dev", "staging", "prod")...)),
		},
	)
}

func TestAccAPlanOfANewSetNeedsNoCluster(t *testing.T) {
	f := offline(t)
	w, s := f.workspace(), f.threeSteps()
	w.configure(s)
	p := w.planOf()
	w.acts(p, "create")
	if len(p.after) != 3 || p.after[stepOf("01", "dev")][f.app("dev")] != "?" {
		t.Errorf("planned are the waves %v", p.after)
	}
}

func TestAccAClusterThatIsMadeInTheSameApplyIsNoErrorAtPlan(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.threeSteps()
	f.release("1", "dev", "staging", "prod")
	s.Before = later("later", hcl(f.kubeconfig()))
	s.Provider = obj{"kubernetes": obj{"config_path": raw("terraform_data.later.output")}}
	w.configure(s)
	w.acts(w.planOf(), "create")
	w.apply("plan.bin")
	f.must(f.deploys("1", "dev", "staging", "prod"))
	w.atRest()
	s.Before = strings.Replace(s.Before, "input =", "triggers_replace = 2\ninput =", 1)
	w.configure(s)
	w.failsToPlan("kubernetes.config_path", "known only after apply")
	s.Before, s.Provider = "", nil
	w.configure(s)
}
