package acceptance

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// soakEnv is set where tests may take hours: see "make soak".
const soakEnv = "SOAK"

// nothingLeft fails when a ConfigMap is left in the destination namespace, but Kubernetes' own.
func (f *fixture) nothingLeft() error {
	found, err := f.client.Resource(configMaps).Namespace(f.name).List(f.ctx(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, cm := range found.Items {
		if cm.GetName() != "kube-root-ca.crt" {
			return fmt.Errorf("ConfigMap %s is left in namespace %s", cm.GetName(), f.name)
		}
	}
	return nil
}

// hold is the manifest of a ConfigMap that does not go before release is called for it: its
// deletion, and so that of its Application, waits.
func (f *fixture) hold(suffix string) {
	f.Helper()
	f.writeFile(f.path(suffix)+"/configmap.yaml", manifest(obj{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": obj{"name": f.app(suffix), "finalizers": list{"example.com/hold"}},
		"data":     obj{"version": "1"},
	}))
}

// letGo ends a hold.
func (f *fixture) letGo(ctx context.Context, suffix string) error {
	cms := f.client.Resource(configMaps).Namespace(f.name)
	for {
		cm, err := cms.Get(ctx, f.app(suffix), metav1.GetOptions{})
		if err != nil {
			return err
		}
		cm.SetFinalizers(nil)
		if _, err = cms.Update(ctx, cm, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func isDeleting(s *appState) bool { return s == nil || s.Deleting }
func isGone(s *appState) bool     { return s == nil }

func TestAccOneRemovedElementIsDeletedAndNothingElse(t *testing.T) {
	f := newFixture(t)
	s, seen := f.threeSteps(), f.record()
	f.release("1", "dev", "staging", "prod")
	first := s.String()
	s.Elements = []obj{f.element("dev"), f.element("prod")}
	f.run(
		resource.TestStep{Config: first},
		resource.TestStep{
			PreConfig:        seen.reset,
			Config:           s.String(),
			ConfigPlanChecks: planned(plansAction(plancheck.ResourceActionUpdate), plansExactly(f.app("staging"))),
			Check: check(
				seen.onlyTouched(f.app("staging")), seen.deletedInOrder(f.apps("staging")),
				f.deploys("1", "dev", "prod"), f.deploys("", "staging"),
			),
		},
	)
}

func TestAccRemovalsOfAnUpdateComeAfterTheLastStepInReverseOrder(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"a/dev", "b/dev", "c/staging", "d/staging", "e/prod", "g/prod"}
	w, s, seen := f.workspace(), f.newSet(suffixes, "dev", "staging", "prod"), f.record()
	s.Reverse = true
	f.release("1", "a", "b", "c", "d", "e", "g")
	w.configure(s)
	w.apply()
	seen.reset()
	s.Elements = []obj{f.element("a/dev"), f.element("c/staging"), f.element("e/prod")}
	s.Labels = obj{"tier": "gold"}
	s.Rollout = quick(obj{"max_deletions": "50%"})
	w.configure(s)
	p := w.planOf()
	w.says(p.printed, "Applications will be deleted", fmt.Sprintf("%s, %s, %s", f.app("b"), f.app("d"), f.app("g")))
	w.apply("plan.bin")
	f.must(
		seen.inOrder(f.apps("a"), f.apps("c"), f.apps("e")),
		seen.deletedInOrder(f.apps("g"), f.apps("d"), f.apps("b")),
		seen.deletedAfter(f.app("g"), f.app("e")),
	)
	w.atRest()
}

// deletedAfter fails unless the deletion of one Application began when the other was done.
func (r *recorder) deletedAfter(deleted, done string) func() error {
	return func() error {
		all, _ := r.follow()
		if d, h := all[deleted], all[done]; d == nil || h == nil || h.done < 0 || d.begun() < h.done {
			return fmt.Errorf("the deletion of %s did not wait for %s", deleted, done)
		}
		return nil
	}
}

func TestAccDestroyGoesThroughTheStepsInReverseAndLeavesNothing(t *testing.T) {
	f := newFixture(t)
	// "loose" is in no step: it goes first.
	suffixes := []string{"a/dev", "b/dev", "c/staging", "d/prod", "e/prod", "loose/nowhere"}
	w, s, seen := f.workspace(), f.newSet(suffixes, "dev", "staging", "prod"), f.record()
	s.Reverse = true
	f.write("a", map[string]string{"version": "1"})
	f.write("b", map[string]string{"version": "1"})
	f.write("c", map[string]string{"version": "1"})
	f.hold("d")
	f.release("1", "e", "loose")
	w.configure(s)
	w.apply()
	w.says(w.plan("-destroy"), "6 Applications of "+argoNamespace+"/"+f.name, "no step: 1", stepOf("03", "prod")+": 2",
		stepOf("02", "staging")+": 1", stepOf("01", "dev")+": 2")
	// The order is that of what was rolled out, whatever step a person's label would select for it now.
	f.must(func() error {
		return f.edit(f.ctx(), f.app("c"), func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedField(o.Object, "prod", "metadata", "labels", "env")
		})
	})
	seen.reset()

	// One of prod is slow to go: staging waits for it, the other of prod does not.
	person := f.actor(func(ctx context.Context) error {
		if _, err := seen.await(ctx, f.app("e"), "is gone", isGone); err != nil {
			return err
		}
		if _, err := seen.await(ctx, f.app("d"), "is being deleted", isDeleting); err != nil {
			return err
		}
		if err := seen.untouched(f.apps("a", "b", "c")...)(); err != nil {
			return err
		}
		return f.letGo(ctx, "d")
	})
	person.Start()
	w.destroy("-refresh=false")
	f.must(
		person.Check,
		seen.deletedInOrder(f.apps("loose"), f.apps("d", "e"), f.apps("c"), f.apps("a", "b")),
		f.nothingLeft,
	)
	w.lives()
	w.isState("")
}

func TestAccDestroyDeletesEverythingAtTheSameTimeByDefault(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	f.hold("dev")
	f.hold("staging")
	f.hold("prod")
	f.commit()
	w.configure(s)
	w.apply()
	w.says(w.plan("-destroy"), "3 Applications of "+argoNamespace+"/"+f.name, "at the same time")
	seen.reset()
	person := f.actor(func(ctx context.Context) error {
		for _, suffix := range []string{"dev", "staging", "prod"} {
			if _, err := seen.await(ctx, f.app(suffix), "is being deleted", func(s *appState) bool { return s != nil && s.Deleting }); err != nil {
				return err
			}
		}
		for _, suffix := range []string{"dev", "staging", "prod"} {
			if err := f.letGo(ctx, suffix); err != nil {
				return err
			}
		}
		return nil
	})
	person.Start()
	w.destroy()
	f.must(person.Check, f.nothingLeft)
	w.lives()
}

// A deletion right after a sync leaks resources in a plain Argo CD now and then; hence the
// repeats.
func TestAccDestroyRightAfterASyncLeaksNothing(t *testing.T) {
	repeats := 5
	if os.Getenv(soakEnv) != "" {
		repeats = 20
	}
	f := newFixture(t)
	suffixes := []string{"a/dev", "b/dev", "c/prod", "d/prod"}
	w, s := f.workspace(), f.newSet(suffixes, "dev", "prod")
	s.Reverse = true
	f.release("1", "a", "b", "c", "d")
	w.configure(s)
	for range repeats {
		w.apply()
		f.must(f.deploys("1", "a", "b", "c", "d"))
		w.destroy("-refresh=false")
		f.must(f.nothingLeft)
		w.lives()
	}
}

func TestAccDestroyEndsARunningOperation(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut()

	// Wave 0 of prod stays Progressing, so that somebody's sync never gets to wave 1.
	f.writeFile(f.path("prod")+"/wave.yaml", manifest(obj{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": obj{"name": f.app("prod-wave"), "annotations": obj{"argocd.argoproj.io/sync-wave": "-1"}},
		"data":     obj{"health": "Progressing"},
	}))
	// A hook of staging never ends.
	f.writeFile(f.path("staging")+"/hook.yaml", manifest(obj{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": obj{"name": f.app("staging-hook"), "annotations": obj{"argocd.argoproj.io/hook": "PreSync"}},
		"data":     obj{"health": "Progressing"},
	}))
	revision := f.release("2", "prod", "staging")
	for _, suffix := range []string{"prod", "staging"} {
		f.must(func() error { return f.sync(f.ctx(), f.app(suffix), revision) })
		_, err := seen.await(f.ctx(), f.app(suffix), "has a running operation", func(s *appState) bool {
			return s != nil && !s.Deleted && s.Phase == "Running" && s.Pending
		})
		f.must(func() error { return err })
	}
	seen.reset()
	w.destroy("-refresh=false")
	f.must(seen.deletedInOrder(f.apps("dev", "staging", "prod")), seen.ended(f.apps("staging", "prod")...))
	w.lives()
}

// ended fails unless the operations of the Applications were ended before they were deleted.
func (r *recorder) ended(names ...string) func() error {
	return func() error {
		for _, name := range names {
			found := false
			for _, s := range r.since() {
				if s.Name != name {
					continue
				}
				if s.Deleting && !found {
					return fmt.Errorf("%s was deleted while its operation was running: %s", name, s)
				}
				if s.Phase == "Failed" || s.Phase == "Error" || s.Phase == "Succeeded" {
					found = true
				}
			}
			if !found {
				return fmt.Errorf("the operation of %s was not ended", name)
			}
		}
		return nil
	}
}

func TestAccDestroyOfWhatIsGoneAlready(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut(func(s *set) { s.Reverse = true })
	f.deleteByHand(seen, "staging")
	w.destroy("-refresh=false")
	w.lives()
	f.must(f.nothingLeft)

	// All of it is gone, record included: the next plan creates.
	w.apply()
	f.deleteByHand(seen, "dev", "staging", "prod")
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.destroy("-refresh=false")
	w.isState("")
}

// An update leaves in private state what it has planned; that must not be taken for a part of the plan
// that creates the set anew.
func TestAccASetThatIsGoneAltogetherIsCreatedAnewOrDestroyed(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut()
	f.release("2", "dev")
	w.apply()
	f.must(func() error {
		return f.client.Resource(configMaps).Namespace(argoNamespace).Delete(f.ctx(), f.recordOf(f.name).GetName(), metav1.DeleteOptions{})
	})
	f.deleteByHand(seen, "dev", "staging", "prod")
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.destroy()
	w.isState("")
}

func TestAccOrphanDeletionLeavesTheResourcesRunning(t *testing.T) {
	f := newFixture(t)
	w, s, _ := f.rolledOut(func(s *set) { s.Rollout = quick(obj{"deletion": "orphan"}) })
	s.Elements = []obj{f.element("dev"), f.element("prod")}
	w.configure(s)
	w.apply()
	w.lives(f.apps("dev", "prod")...)
	w.destroy()
	w.lives()
	f.must(f.deploys("1", "dev", "staging", "prod"))
}

func TestAccDeletionsAreRefusedWhileADestinationClusterIsUnknown(t *testing.T) {
	f := newFixture(t)
	cluster := f.name + "-far"
	ctx := f.ctx()
	f.must(func() error { return f.cluster.AddCluster(ctx, cluster, f.ownServer()) })
	f.Cleanup(func() { _ = f.cluster.RemoveCluster(context.Background(), cluster) })
	w, s, seen := f.rolledOut(func(s *set) {
		s.AppSpec = obj{"destination": obj{
			"name":      `{{if eq .env "prod"}}` + cluster + `{{else}}in-cluster{{end}}`,
			"namespace": f.name,
		}}
	})
	f.must(func() error { return f.cluster.RemoveCluster(ctx, cluster) })
	all := s.Elements
	s.Elements = all[:2]
	w.configure(s)
	w.says(w.plan(), "Destination cluster unknown", "Apply will refuse to delete them", "rollout.hold")
	w.failsToApply("Destination cluster unknown", f.app("prod"), cluster, "Nothing was changed", "applications_sync = \"create-update\"", `rollout.deletion = "orphan"`)
	s.Elements = all
	w.configure(s)
	w.says(w.plan("-destroy"), "Destination cluster unknown", "Destroy will refuse to delete anything", f.app("prod"), cluster)
	w.fails([]string{"destroy", "-auto-approve", "-refresh=false"}, "Destination cluster unknown", f.app("prod"), cluster, "Nothing was deleted", `rollout.deletion = "orphan"`)
	f.must(seen.onlyTouched())
	f.must(func() error { return f.cluster.AddCluster(ctx, cluster, f.ownServer()) })
	w.destroy()
	w.lives()
	f.must(f.nothingLeft)
}
