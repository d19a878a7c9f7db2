package acceptance

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// outcome is one way in which the middle one of three Applications does not get to its target by
// itself, on a set that is out at version 1 when version 2 comes.
type outcome struct {
	f  *fixture
	r  *recorder
	s  *set
	tf *cli
}

// newOutcome is such a set at rest: dev, qa and prod, one step each.
func newOutcome(t *testing.T, prepare func(*fixture, *set)) *outcome {
	f := newFixture(t)
	o := &outcome{f: f, s: f.newSet([]string{"dev", "qa", "prod"}, "dev", "qa", "prod"), tf: f.cli()}
	o.s.Rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m", "error_grace": "2s", "degraded_grace": "2s"}
	f.release("1", "dev", "qa", "prod")
	if prepare != nil {
		prepare(f, o.s)
	}
	o.r = f.record()
	o.tf.configure(o.s)
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	return o
}

// stops applies and wants the rollout to stop in the second step with these words in the error.
func (o *outcome) stops(words ...string) {
	o.f.Helper()
	o.r.reset()
	failed := o.tf.want(exitFailed, "apply", "-auto-approve")
	if !says(append(words[:1:1], "Application argocd/"+o.f.app("qa"), "step 02: env in [qa]")...).MatchString(failed.out) {
		o.f.Errorf("the error does not name Application and step:\n%s", failed.out)
	}
	for _, w := range words {
		if !says(w).MatchString(failed.out) {
			o.f.Errorf("the error does not say %q:\n%s", w, failed.out)
		}
	}
	o.f.must(o.f.deploys("1", "prod"), o.f.deploys("2", "dev"))
}

// set changes settings of the rollout; nil removes one.
func (o *outcome) set(settings obj) {
	for k, v := range settings {
		o.s.Rollout[k] = v
	}
	o.tf.configure(o.s)
}

// finishes applies and wants everything done, and nothing left to plan; then it destroys.
func (o *outcome) finishes() {
	o.f.Helper()
	o.r.reset()
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	o.f.must(o.f.deploys("2", "dev", "qa", "prod"), o.r.untouched(o.f.app("dev")))
	o.tf.want(exitEmpty, "plan", "-detailed-exitcode")
	o.tf.want(exitEmpty, "destroy", "-auto-approve")
}

func TestAccWhatOnlyPruningWouldCureStopsOrIsAccepted(t *testing.T) {
	o := newOutcome(t, func(f *fixture, _ *set) {
		f.writeFile(f.path("qa")+"/old.yaml", configMap(f.name+"-old", map[string]string{"version": "1"}))
		f.commit()
	})
	if err := o.f.repo.Remove(o.f.path("qa") + "/old.yaml"); err != nil {
		t.Fatal(err)
	}
	o.f.release("2", "dev", "qa", "prod")
	o.stops("Application out of sync", "needs pruning", "rollout.prune = true")
	o.set(obj{"accept_out_of_sync": true})
	o.finishes()
}

func TestAccAClosedSyncWindowStopsWaitsOrLetsManualSyncsPass(t *testing.T) {
	o := newOutcome(t, func(f *fixture, s *set) {
		f.createProject()
		s.AppSpec = obj{"project": f.name}
	})
	f, qa := o.f, o.f.app("qa")
	f.setWindows(obj{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": list{qa}, "manualSync": true})
	o.plansWithWindows(exitEmpty)
	f.release("2", "dev", "qa", "prod")
	o.plansWithWindows(exitChanges, `AppProject "`+f.name+`", 1 Application: `+qa, `deny window, open: schedule "* * * * *", duration "1h", time zone "UTC"`,
		`for rollout.sync_window_policy is "fail"`, `"manual" lets the syncs of the rollout pass`, "kubectl -n "+argoNamespace+" get appprojects.argoproj.io "+f.name)
	f.setWindows(obj{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": list{f.name + "-other"}}, obj{"kind": "allow", "schedule": "* * * * *", "duration": "1h", "namespaces": list{"*"}})
	o.plansWithWindows(exitChanges)
	f.setWindows(obj{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": list{qa}, "manualSync": true})
	o.stops("Sync window closed", "Sync operation blocked by sync window", "rollout.sync_window_policy")
	f.must(o.r.idle(qa), f.deploys("1", "qa"))

	// The last step has its turn afterwards: it is to have no more time than it needs.
	o.set(obj{"sync_window_policy": "wait", "app_timeout": "12s", "stop_after_step": 2})
	o.r.reset()
	opens := f.actor(func(ctx context.Context) error {
		blocked := func(s *appState) bool { return s != nil && s.Phase == "Running" }
		if _, err := o.r.await(ctx, qa, "is held back by the window", blocked); err != nil {
			return err
		}
		if err := pause(ctx, 14*time.Second); err != nil {
			return err
		}
		f.setWindows()
		return nil
	})
	opens.Start()
	waited := o.tf.want(exitEmpty, "apply", "-auto-approve")
	if n := strings.Count(waited.out, "Warning: Sync window closed"); n != 1 || !says("the rollout waits until the windows let them pass").MatchString(waited.out) {
		f.Errorf("the plan of an apply warns, and what it plans again does not: %d warnings\n%s", n, waited.out)
	}
	f.must(opens.Check, o.r.inOrder([]string{qa}), f.deploys("2", "qa"), f.deploys("1", "prod"))

	f.setWindows(obj{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": list{"*"}, "manualSync": true})
	f.release("3", "qa")
	// Argo CD takes each operation for an automated one first, and says so until it has looked again.
	o.set(obj{"sync_window_policy": "manual", "app_timeout": "2m", "error_grace": "30s", "stop_after_step": nil})
	o.plansWithWindows(exitChanges)
	o.r.reset()
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(o.r.inOrder([]string{qa}, f.apps("prod")), f.deploys("3", "qa"), f.deploys("2", "prod"))
	f.setWindows()
	o.tf.want(exitEmpty, "destroy", "-auto-approve")
}

func TestAccSuspendedHealthStopsWaitsOrIsAccepted(t *testing.T) {
	o := newOutcome(t, func(_ *fixture, s *set) { s.AppSpec = ignoreHealth })
	f, qa := o.f, o.f.app("qa")
	f.unhealthy("Suspended", "2", "qa")
	f.release("2", "dev", "prod")
	o.set(obj{"suspended": "fail"})
	o.stops("Application suspended", "rollout.suspended")

	o.set(obj{"suspended": "wait", "app_timeout": "10s", "stop_after_step": 2})
	o.r.reset()
	resumes := f.actor(func(ctx context.Context) error {
		if err := pause(ctx, 12*time.Second); err != nil {
			return err
		}
		return f.setHealth(ctx, qa, "Healthy")
	})
	resumes.Start()
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(resumes.Check, o.r.operations(0, qa), f.deploys("2", "qa"), f.deploys("1", "prod"))

	f.must(func() error { return f.setHealth(f.ctx(), qa, "Suspended") })
	f.release("3", "prod")
	o.set(obj{"suspended": "accept", "app_timeout": "2m", "stop_after_step": nil})
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(f.deploys("3", "prod"))
	o.tf.want(exitEmpty, "plan", "-detailed-exitcode")
	o.tf.want(exitEmpty, "destroy", "-auto-approve")
}

func TestAccAllRetriesOfASyncAreWaitedForWhenAskedTo(t *testing.T) {
	o := newOutcome(t, func(_ *fixture, s *set) {
		s.SyncPolicy = obj{"sync_options": []string{"CreateNamespace=true"}, "retry": obj{"limit": 5, "backoff": obj{"duration": "1s", "factor": 2, "max_duration": "4s"}}}
	})
	f := o.f
	// A ConfigMap in a namespace that does not exist yet.
	other := f.name + "-other"
	f.writeFile(f.path("qa")+"/other.yaml", manifest(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": other, "namespace": other},
	}))
	f.release("2", "dev", "qa", "prod")
	o.stops("Sync failed", "namespaces \""+other+"\" not found")
	f.must(o.r.idle(f.app("qa")))

	o.set(obj{"retry": "all"})
	appears := f.actor(func(ctx context.Context) error {
		retried := func(s *appState) bool { return s != nil && s.Phase == "Running" && s.Retries > 0 }
		if _, err := o.r.await(ctx, f.app("qa"), "is being retried", retried); err != nil {
			return err
		}
		if err := pause(ctx, 4*time.Second); err != nil { // longer than error_grace
			return err
		}
		f.create(namespaces, "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": other}})
		return nil
	})
	o.r.reset()
	appears.Start()
	o.tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(appears.Check, o.r.operations(1, f.app("qa")), f.deploys("2", "qa", "prod"))
	o.tf.want(exitEmpty, "destroy", "-auto-approve")
}

func TestAccAnAppProjectThatGoesAwayIsNamed(t *testing.T) {
	o := newOutcome(t, func(f *fixture, s *set) {
		f.createProject()
		s.AppSpec = obj{"project": `{{if eq .env "qa"}}` + f.name + `{{else}}default{{end}}`}
		for k, v := range ignoreHealth {
			s.AppSpec[k] = v
		}
	})
	f := o.f
	f.unhealthy("Progressing", "2", "dev")
	f.release("2", "qa", "prod")
	goes := f.actor(func(ctx context.Context) error {
		if _, err := o.r.await(ctx, f.app("dev"), "is progressing", progressing); err != nil {
			return err
		}
		if err := f.client.Resource(appProjects).Namespace(argoNamespace).Delete(ctx, f.name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return f.setHealth(ctx, f.app("dev"), "Healthy")
	})
	goes.Start()
	o.stops("AppProject missing", "project", f.name, "kubectl -n argocd get appprojects.argoproj.io")
	f.must(goes.Check)
	f.createProject()
	o.set(obj{"error_grace": "15s"}) // Argo CD sees the project a moment later, and tries again
	o.finishes()
}

func TestAccWhatOthersDoToAnApplicationInFlightIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(ctx context.Context, f *fixture, name string) error
		words []string
		heal  func(ctx context.Context, f *fixture, name string) error
	}{
		"its spec is changed": {
			do: func(ctx context.Context, f *fixture, name string) error {
				return f.edit(ctx, name, func(o *unstructured.Unstructured) error {
					return unstructured.SetNestedField(o.Object, int64(3), "spec", "revisionHistoryLimit")
				})
			},
			words: []string{"Application changed by someone else", "--show-managed-fields"},
		},
		"reconciliation is switched off": {
			do: func(ctx context.Context, f *fixture, name string) error {
				return f.edit(ctx, name, func(o *unstructured.Unstructured) error {
					return unstructured.SetNestedField(o.Object, "true", "metadata", "annotations", "argocd.argoproj.io/skip-reconcile")
				})
			},
			words: []string{"Reconciliation switched off", "argocd.argoproj.io/skip-reconcile-"},
			heal: func(ctx context.Context, f *fixture, name string) error {
				return f.edit(ctx, name, func(o *unstructured.Unstructured) error {
					unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "argocd.argoproj.io/skip-reconcile")
					return nil
				})
			},
		},
		"it is deleted without its resources": {
			do: func(ctx context.Context, f *fixture, name string) error {
				err := f.edit(ctx, name, func(o *unstructured.Unstructured) error {
					o.SetFinalizers(nil)
					return nil
				})
				if err != nil {
					return err
				}
				return f.client.Resource(applications).Namespace(argoNamespace).Delete(ctx, name, metav1.DeleteOptions{})
			},
			words: []string{"Application vanished"},
		},
		"another revision is synced": {
			do: func(ctx context.Context, f *fixture, name string) error {
				f.writeFile("notes.txt", "of no Application")
				return f.sync(ctx, name, f.commit())
			},
			words: []string{"Sync superseded", "argocd app history argocd/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutcome(t, func(_ *fixture, s *set) { s.AppSpec = ignoreHealth })
			f, qa := o.f, o.f.app("qa")
			f.unhealthy("Progressing", "2", "qa")
			f.release("2", "dev", "prod")
			act := f.actor(func(ctx context.Context) error {
				if _, err := o.r.await(ctx, qa, "is progressing", progressing); err != nil {
					return err
				}
				return c.do(ctx, f, qa)
			})
			act.Start()
			o.stops(c.words...)
			f.must(act.Check)
			if c.heal != nil {
				f.must(func() error { return c.heal(f.ctx(), f, qa) })
			}
			// Both, as one that is synced again gets what git has.
			f.release("2", "qa")
			f.must(func() error { return f.setHealth(f.ctx(), qa, "Healthy") })
			o.finishes()
		})
	}
}

// plansWithWindows plans, and wants a warning of closed sync windows with these words, or none without words.
func (o *outcome) plansWithWindows(code int, words ...string) {
	o.f.Helper()
	out := o.tf.want(code, "plan", "-detailed-exitcode").out
	if says("Warning: Sync window closed").MatchString(out) != (len(words) > 0) {
		o.f.Errorf("the plan warns of sync windows, or it does not:\n%s", out)
	}
	for _, w := range words {
		if !says(w).MatchString(out) {
			o.f.Errorf("the plan does not say %q:\n%s", w, out)
		}
	}
}

// setWindows replaces the sync windows of the fixture's AppProject.
func (f *fixture) setWindows(windows ...obj) {
	f.Helper()
	projects := f.client.Resource(appProjects).Namespace(argoNamespace)
	project, err := projects.Get(f.ctx(), f.name, metav1.GetOptions{})
	if err != nil {
		f.Error(err)
		return
	}
	all := make(list, len(windows))
	for i, w := range windows {
		all[i] = w
	}
	project.Object["spec"].(map[string]any)["syncWindows"] = all
	if _, err := projects.Update(f.ctx(), project, metav1.UpdateOptions{}); err != nil {
		f.Error(err)
	}
}
