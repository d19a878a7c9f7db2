package acceptance

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// newWatchedOutcome is an outcome whose Applications stay in sync when setHealth changes their health.
func newWatchedOutcome(t *testing.T) *outcome {
	return newOutcome(t, func(_ *fixture, s *set) { s.AppSpec = ignoreHealth })
}

// during commits a version that keeps this Application Progressing, and is somebody who acts as soon as it is.
func (o *outcome) during(suffix, version string, act func(ctx context.Context) error) *actor {
	o.f.Helper()
	for _, s := range []string{"dev", "qa", "prod"} {
		o.f.write(s, map[string]string{"version": version})
	}
	o.f.unhealthy("Progressing", version, suffix)
	return o.f.actor(func(ctx context.Context) error {
		if _, err := o.r.await(ctx, o.f.app(suffix), "is progressing", progressing); err != nil {
			return err
		}
		return act(ctx)
	})
}

// stopsAfterDev applies and wants what has become of the Application of the first step to keep the third one from starting.
func (o *outcome) stopsAfterDev(words ...string) {
	o.f.Helper()
	o.r.reset()
	failed := o.tf.want(exitFailed, "apply", "-auto-approve")
	for _, w := range append(words, "Application argocd/"+o.f.app("dev"), "step 01: env in [dev]", "Earlier step unhealthy") {
		if !says(w).MatchString(failed.out) {
			o.f.Errorf("the error does not say %q:\n%s", w, failed.out)
		}
	}
	o.f.must(o.f.deploys("2", "qa"))
}

// goesOn applies while somebody acts, and wants the last step to start when this Application, as it is now, is well, and nothing
// to be left to plan.
func (o *outcome) goesOn(acts *actor, version, suffix string) {
	o.f.Helper()
	o.r.reset()
	acts.Start()
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	o.f.must(acts.Check, o.f.deploys(version, "dev", "qa", "prod"), o.r.operations(1, o.f.app("prod")), func() error {
		now := o.r.get(o.f.app(suffix))
		for _, s := range o.r.since() {
			switch {
			case s.UID == now.UID && s.Revision == now.Revision && !s.Pending && s.Sync == "Synced" && s.Health == "Healthy":
				return nil
			case s.Name == o.f.app("prod") && s.Pending:
				return fmt.Errorf("the last step began before %s was well: %s", suffix, s)
			}
		}
		return fmt.Errorf("%s was never well", suffix)
	})
	o.tf.want(exitEmpty, "plan", "-detailed-exitcode")
}

// ends applies and wants everything done, and nothing left to plan.
func (o *outcome) ends(untouched ...string) {
	o.f.Helper()
	o.r.reset()
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	o.f.must(o.f.deploys("2", "dev", "qa", "prod"), o.r.untouched(untouched...))
	o.tf.want(exitEmpty, "plan", "-detailed-exitcode")
}

func TestAccHealthThatIsUnknownOrMissingStopsTheRollout(t *testing.T) {
	for name, c := range map[string]struct {
		health, summary string
		soak            bool // in a soak only
	}{
		"a health check says Unknown":                    {"Unknown", "Application health unknown", false},
		"a health check says what Argo CD does not know": {"Splendid", "Application health unknown", true},
		"a health check says Missing":                    {"Missing", "Resources missing", false},
	} {
		if c.soak && !soaks() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := newOutcome(t, nil)
			o.f.unhealthy(c.health, "2", "qa")
			o.f.release("2", "dev", "prod")
			o.stops(c.summary, "argocd app get argocd/"+o.f.app("qa"))
			o.f.must(o.r.untouched(o.f.app("prod")), o.r.operations(1, o.f.app("qa")))
			o.f.release("2", "qa")
			o.ends(o.f.app("dev"))
		})
	}
}

// An Application that was synced has Missing health when all of its resources are gone; then it is OutOfSync as well, always.
func TestAccResourcesThatAreDeletedDuringARolloutAreMissed(t *testing.T) {
	for name, c := range map[string]struct {
		settings obj
		words    []string
		soak     bool // in a soak only
	}{
		"being out of sync is the failure":         {nil, []string{"Application out of sync", "OutOfSync", "argocd app diff argocd/"}, false},
		"their absence is, where that is accepted": {obj{"accept_out_of_sync": true}, []string{"Resources missing", "argocd app get argocd/"}, true},
	} {
		if c.soak && !soaks() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := newWatchedOutcome(t)
			maps.Copy(o.s.Rollout, c.settings)
			o.tf.configure(o.s)
			lost := o.during("qa", "2", func(ctx context.Context) error { return o.f.loseResources(ctx, "qa") })
			lost.Start()
			o.stops(c.words...)
			o.f.must(lost.Check, o.r.untouched(o.f.app("prod")), o.r.operations(1, o.f.app("qa")), o.f.deploys("", "qa"))
			o.f.release("2", "qa")
			o.ends(o.f.app("dev"))
		})
	}
	t.Run("those of an earlier step hold back the next one, and are brought back first", func(t *testing.T) {
		o := newWatchedOutcome(t)
		dev := o.f.app("dev")
		lost := o.during("qa", "2", func(ctx context.Context) error {
			if err := o.f.loseResources(ctx, "dev"); err != nil {
				return err
			}
			if _, err := o.r.await(ctx, dev, "is Missing", func(s *appState) bool { return s.Health == "Missing" }); err != nil {
				return err
			}
			return o.f.setHealth(ctx, o.f.app("qa"), "Healthy")
		})
		lost.Start()
		o.stopsAfterDev("health Missing", "argocd app get argocd/"+dev, "rollout.require_healthy_earlier = false")
		o.f.must(lost.Check, o.r.untouched(o.f.app("prod")))
		o.ends(o.f.app("qa"))
		o.f.must(o.r.inOrder([]string{dev}, o.f.apps("prod")))
	})
}

// loseResources deletes what is deployed of an Application.
func (f *fixture) loseResources(ctx context.Context, suffix string) error {
	return f.client.Resource(configMaps).Namespace(f.name).Delete(ctx, f.app(suffix), metav1.DeleteOptions{})
}

func TestAccAnOperationThatIsTakenAwayBeforeItBeginsIsAskedForThreeTimes(t *testing.T) {
	o := newOutcome(t, func(f *fixture, s *set) {
		f.must(func() error { return f.cluster.AddCluster(f.ctx(), f.name, f.ownServer()) })
		f.Cleanup(func() { _ = f.cluster.RemoveCluster(context.Background(), f.name) })
		s.AppSpec = obj{"destination": obj{"namespace": f.name, "name": `{{if eq .env "qa"}}` + f.name + `{{else}}in-cluster{{end}}`}}
		maps.Copy(s.AppSpec, ignoreHealth)
	})
	f, qa := o.f, o.f.app("qa")
	lost := o.takesAway("2", 3)
	lost.Start()
	o.stops("Operation lost", "it was asked for 3 times and vanished without a trace", "--show-managed-fields")
	f.must(lost.Check, o.r.operations(3, qa), o.r.idle(qa), o.r.untouched(f.app("prod")), f.deploys("1", "qa"))
	f.must(func() error { return o.wakeUp(f.ctx()) })
	o.ends(f.app("dev"))

	once := o.takesAway("3", 1)
	o.goesOn(f.actor(func(ctx context.Context) error {
		if err := once.act(ctx); err != nil {
			return err
		}
		again := func(s *appState) bool { return asked(s) && o.r.operations(2, qa)() == nil }
		if _, err := o.r.await(ctx, qa, "is to be synced again", again); err != nil {
			return err
		}
		return o.wakeUp(ctx)
	}), "3", "qa")
	f.must(o.r.operations(2, qa))
	o.tf.want(exitEmpty, "destroy", "-auto-approve") // as long as Argo CD knows the cluster
}

// takesAway has the operation of the second step taken away so often before Argo CD looks at it.
func (o *outcome) takesAway(version string, times int) *actor {
	o.f.Helper()
	qa := o.f.app("qa")
	return o.during("dev", version, func(ctx context.Context) error {
		if err := o.leaveAlone(ctx, true); err != nil {
			return err
		}
		if err := o.f.setHealth(ctx, o.f.app("dev"), "Healthy"); err != nil {
			return err
		}
		for times > 0 {
			if _, err := o.r.await(ctx, qa, "is to be synced", asked); err != nil {
				return err
			}
			found := 0
			err := o.f.edit(ctx, qa, func(app *unstructured.Unstructured) error {
				if found = 0; app.Object["operation"] != nil {
					found = 1
				}
				delete(app.Object, "operation")
				return nil
			})
			if err != nil {
				return err
			}
			times -= found
		}
		return nil
	})
}

// leaveAlone has Argo CD touch nothing that is deployed to the cluster of the fixture's name, no operation either.
func (o *outcome) leaveAlone(ctx context.Context, alone bool) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"argocd.argoproj.io/skip-reconcile":"%t"}}}`, alone)
	clusters := o.f.client.Resource(secrets).Namespace(argoNamespace)
	_, err := clusters.Patch(ctx, "cluster-"+o.f.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// wakeUp is the end of that for the Application of the second step, at which Argo CD does not look before something happens to it.
func (o *outcome) wakeUp(ctx context.Context) error {
	if err := o.leaveAlone(ctx, false); err != nil {
		return err
	}
	const refresh = "argocd.argoproj.io/refresh"
	tries, awake := 0, false
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := o.f.edit(ctx, o.f.app("qa"), func(app *unstructured.Unstructured) error {
			annotations := app.GetAnnotations()
			awake = tries > 0 && annotations[refresh] == "" // as it has answered
			annotations[refresh], annotations["example.com/tries"] = "normal", fmt.Sprint(tries)
			app.SetAnnotations(annotations)
			return nil
		})
		tries++
		return awake, err
	})
}

// inItsFirstWave tells that an operation has deployed a sync wave and waits until that is healthy.
func inItsFirstWave(s *appState) bool {
	return s != nil && s.Pending && s.Phase == "Running" && strings.Contains(s.Message, "waiting for healthy state")
}

func TestAccARolloutOutlivesThatItsOperationIsWiped(t *testing.T) {
	for name, when := range map[string]struct {
		waves bool // the operation runs until the first one is healthy
		what  string
		seen  func(*appState) bool
		wiped []string
		asked int  // how often the operation is asked for
		soak  bool // in a soak only
	}{
		"its state, while it runs":                                  {true, "runs", inItsFirstWave, []string{"status", "operationState"}, 1, true},
		"its state, after its success, before all of it is healthy": {false, "is progressing", progressing, []string{"status", "operationState"}, 1, true},
		// Argo CD works on it no more, and its state says for ever that it runs.
		"what asked for it, while it runs": {true, "runs", inItsFirstWave, []string{"operation"}, 2, false},
	} {
		if when.soak && !soaks() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := newWatchedOutcome(t)
			f, qa := o.f, o.f.app("qa")
			if when.waves {
				f.writeFile(f.path("qa")+"/late.yaml", manifest(obj{"apiVersion": "v1", "kind": "ConfigMap",
					"metadata": obj{"name": f.name + "-late", "annotations": obj{"argocd.argoproj.io/sync-wave": "1"}}}))
			}
			f.unhealthy("Progressing", "2", "qa")
			f.release("2", "dev", "prod")
			o.goesOn(f.actor(func(ctx context.Context) error {
				if _, err := o.r.await(ctx, qa, when.what, when.seen); err != nil {
					return err
				}
				err := f.edit(ctx, qa, func(app *unstructured.Unstructured) error {
					unstructured.RemoveNestedField(app.Object, when.wiped...)
					return nil
				})
				if err != nil {
					return err
				}
				// One that runs may begin anew, and deploy once more what is not healthy.
				return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
					s := o.r.get(qa)
					return !s.Pending && s.Phase != "Running", f.setHealth(ctx, qa, "Healthy")
				})
			}), "2", "qa")
			f.must(o.r.operations(1, f.apps("dev", "prod")...), o.r.operations(when.asked, qa))
		})
	}
}
