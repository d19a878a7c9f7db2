package acceptance

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holdWave writes a ConfigMap of an Application that stays Progressing and, like that of hold, does not go before letGo is called
// for the suffix that it returns. In a sync wave before all else, it keeps each operation running.
func (f *fixture) holdWave(suffix string, annotations obj) (held string) {
	f.Helper()
	held = suffix + "-held"
	f.writeFile(f.path(suffix)+"/held.yaml", manifest(obj{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": obj{"name": f.app(held), "finalizers": list{"example.com/hold"}, "annotations": annotations},
		"data":     obj{"health": "Progressing"},
	}))
	return held
}

func TestAccAnApplicationThatSomebodyDeletesDuringARolloutIsNamedAndCreatedAgainOnceItIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		annotations obj
		inFlight    func(*appState) bool
		soak        bool // in a soak only
	}{
		"while its operation runs, which is ended":       {obj{"argocd.argoproj.io/sync-wave": "-1"}, underWay, false},
		"while its health is what the rollout waits for": {nil, progressing, true},
	} {
		if c.soak && !soaks() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			w, s, seen := f.rolledOut(func(s *set) { s.Rollout = quick(obj{"app_timeout": "2m"}) })
			dev, staging, prod := f.app("dev"), f.app("staging"), f.app("prod")
			held := f.holdWave("staging", c.annotations)
			f.release("2", "dev", "staging", "prod")
			somebody := f.actor(func(ctx context.Context) error {
				if _, err := seen.await(ctx, staging, "is in flight", c.inFlight); err != nil {
					return err
				}
				return f.client.Resource(applications).Namespace(argoNamespace).Delete(ctx, staging, metav1.DeleteOptions{})
			})
			somebody.Start()
			r := w.failsToApply("Application being deleted", "Application argocd/"+staging, stepOf("02", "staging"),
				"kubectl -n argocd get applications.argoproj.io "+staging, "When it is gone, terraform apply creates it again")
			w.saysNot(r, "sync status") // what it would be waiting for, if its time had to be over first
			f.must(somebody.Check, seen.idle(staging), seen.operations(1, staging), seen.untouched(prod), f.deploys("1", "prod"))

			// Still there when the next apply begins: nothing is done to it, and it is waited for until app_timeout.
			if err := f.repo.Remove(f.path("staging") + "/held.yaml"); err != nil {
				t.Fatal(err)
			}
			f.release("3", "dev", "staging")
			s.Rollout = quick(obj{"app_timeout": "2s"})
			w.configure(s)
			seen.reset()
			w.failsToApply("Application being deleted", "Application argocd/"+staging, "it is being deleted; waiting until it is gone",
				"When it is gone, terraform apply creates it again", "Not done (2): "+prod)
			f.must(seen.operations(0, staging, prod), seen.inOrder([]string{dev}), f.deploys("1", "prod"))

			// Gone while the next one waits for it.
			f.release("4", "dev")
			s.Rollout = quick()
			w.configure(s)
			seen.reset()
			releases := f.actor(func(ctx context.Context) error {
				_, err := seen.await(ctx, dev, "is done", func(s *appState) bool { return seen.operations(1, dev)() == nil && s.done() })
				return errors.Join(err, f.letGo(ctx, held))
			})
			releases.Start()
			w.apply()
			f.must(releases.Check, seen.inOrder([]string{dev}, []string{staging}, []string{prod}), seen.operations(1, staging, prod),
				f.deploys("3", "staging"), f.deploys("2", "prod"))
			w.atRest()
		})
	}
}

func TestAccAHookThatNeverEndsIsNamedAndEndedWhenTheTimeOfItsApplicationIsOver(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	staging, prod, hook := f.app("staging"), f.app("prod"), f.app("staging-hook")
	f.writeFile(f.path("staging")+"/hook.yaml", manifest(obj{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": obj{"name": hook, "annotations": obj{"argocd.argoproj.io/hook": "PreSync"}},
		"data":     obj{"health": "Progressing"},
	}))
	f.release("1", "dev", "staging", "prod")
	s.Rollout = quick(obj{"app_timeout": "8s"}) // on a slow machine, the hook has to begin before
	w.configure(s)
	w.failsToApply("Application timed out", "Application argocd/"+staging, stepOf("02", "staging"),
		"the operation is running: waiting for completion of hook", hook, "kubectl -n argocd get applications.argoproj.io "+staging, "raise rollout.app_timeout",
		"Not done (2): "+prod)
	f.must(seen.idle(staging), seen.operations(1, staging), seen.absent(prod), f.deploys("", "staging"))

	if err := f.repo.Remove(f.path("staging") + "/hook.yaml"); err != nil {
		t.Fatal(err)
	}
	f.release("2", "staging")
	s.Rollout = quick()
	w.configure(s)
	seen.reset()
	w.apply()
	f.must(seen.inOrder([]string{staging}, []string{prod}), seen.operations(0, f.app("dev")), f.deploys("2", "staging"), f.deploys("1", "prod"))
	w.atRest()
}
