package acceptance

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// What becomes of a rollout when something happens beside what it is doing: to an earlier step, to a later one, or for too long.

// whileStagingRolls does something once staging is deployed, while its health, which git wants to be Progressing, holds the
// rollout back; then staging gets healthy, whatever has come of it.
func (f *fixture) whileStagingRolls(seen *recorder, do func(ctx context.Context) error) *actor {
	return f.actor(func(ctx context.Context) error {
		if _, err := seen.await(ctx, f.app("staging"), "is progressing", progressing); err != nil {
			return err
		}
		return errors.Join(do(ctx), f.setHealth(ctx, f.app("staging"), "Healthy"))
	})
}

// blockedWave gives an Application a first sync wave that does not get healthy: each operation goes on until somebody heals
// it. It returns the name of the ConfigMap.
func (f *fixture) blockedWave(suffix string) string {
	f.Helper()
	name := f.app(suffix + "-wave")
	f.writeFile(f.path(suffix)+"/wave.yaml", manifest(obj{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": obj{"name": name, "annotations": obj{"argocd.argoproj.io/sync-wave": "-1"}},
		"data":     obj{"health": "Progressing"},
	}))
	return name
}

// underWay tells that an operation of an Application has begun and not ended.
func underWay(s *appState) bool { return s != nil && s.Pending && s.Phase == "Running" }

// offAgain waits until automated sync of an Application, which was seen to be on since the last reset, is off.
func (r *recorder) offAgain(ctx context.Context, name string) error {
	_, err := r.await(ctx, name, "has automated sync off again", func(s *appState) bool {
		on := func(was *appState) bool { return was.Name == name && was.AutomatedOn }
		return s != nil && !s.AutomatedOn && slices.ContainsFunc(r.since(), on)
	})
	return err
}

func TestAccAnEarlierStepThatTurnsDegradedHoldsBackTheNextOne(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) { s.AppSpec = ignoreHealth })
	dev, staging, prod := f.app("dev"), f.app("staging"), f.app("prod")
	f.write("dev", map[string]string{"version": "2"})
	f.write("prod", map[string]string{"version": "2"})
	f.unhealthy("Progressing", "2", "staging")
	breaks := f.whileStagingRolls(seen, func(ctx context.Context) error {
		if err := f.setHealth(ctx, dev, "Degraded"); err != nil {
			return err
		}
		_, err := seen.await(ctx, dev, "is degraded", func(s *appState) bool { return s != nil && s.Health == "Degraded" })
		return err
	})
	breaks.Start()
	w.failsToApply("Earlier step unhealthy", "Application argocd/"+dev, stepOf("01", "dev"), "starting "+stepOf("03", "prod"),
		"health Degraded", "rollout.require_healthy_earlier = false", "Not done (1): "+prod)
	f.must(breaks.Check, seen.inOrder([]string{dev}, []string{staging}), seen.untouched(prod), f.deploys("2", "dev", "staging"), f.deploys("1", "prod"))

	seen.reset()
	s.Rollout = quick(obj{"require_healthy_earlier": false})
	w.configure(s)
	w.apply()
	f.must(seen.onlyTouched(prod), f.deploys("2", "prod"))
	w.atRest()
}

func TestAccAutomatedSyncSwitchedOnInALaterStepIsSwitchedOffAndStopsTheRolloutOnceItHasBegun(t *testing.T) {
	f := newFixture(t)
	x := f.faults(1)
	w, s, seen := f.rolledOut(func(s *set) { s.Provider, s.AppSpec = x.through(), maps.Clone(ignoreHealth) })
	dev, staging, prod := f.app("dev"), f.app("staging"), f.app("prod")

	// Git has nothing new for prod, so that Argo CD finds nothing to sync; the template has.
	f.write("dev", map[string]string{"version": "2"})
	f.unhealthy("Progressing", "2", "staging")
	s.AppSpec["revision_history_limit"] = 3
	w.configure(s)
	switches := f.whileStagingRolls(seen, func(ctx context.Context) error {
		return errors.Join(f.setAutomated(ctx, prod, true), seen.offAgain(ctx, prod))
	})
	switches.Start()
	w.apply()
	f.must(switches.Check, seen.inOrder([]string{dev}, []string{staging}, []string{prod}), seen.operations(1, dev, staging, prod), seen.automated(false, prod))

	// Now there is something to sync, and Argo CD begins before the provider's request has come through.
	seen.reset()
	f.blockedWave("prod")
	f.write("dev", map[string]string{"version": "3"})
	f.unhealthy("Progressing", "3", "staging")
	overtakes := f.whileStagingRolls(seen, func(ctx context.Context) error {
		x.Add(faultproxy.Rule{
			On: faultproxy.On("applications", "update", "patch").Named(prod),
			Do: func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
				_, _ = seen.await(ctx, prod, "has begun to deploy", underWay) // the check of the actor tells of a wait in vain
				forward(w, r)
			},
		})
		return errors.Join(f.setAutomated(ctx, prod, true), seen.offAgain(ctx, prod))
	})
	overtakes.Start()
	w.failsToApply("Automated sync switched on", "Application argocd/"+prod, stepOf("03", "prod"), "an operation has begun", "--show-managed-fields")
	f.must(overtakes.Check, seen.inOrder([]string{dev}, []string{staging}), seen.automated(false, prod), seen.operations(1, prod))
}

func TestAccAnOperationOfSomebodyElseIsWaitedForAndNeverOverwritten(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) { s.AppSpec = ignoreHealth })
	prod := f.app("prod")
	wave := f.blockedWave("prod")
	revision := f.release("2", "prod")
	f.must(func() error { return f.sync(f.ctx(), prod, revision) }, func() error {
		_, err := seen.await(f.ctx(), prod, "has a running operation", inItsFirstWave)
		return err
	})
	s.Rollout = quick(obj{"app_timeout": "2s"})
	w.configure(s)
	w.failsToApply("Another operation is running", "Application argocd/"+prod, stepOf("03", "prod"), "waiting for healthy state of", wave,
		"argocd app terminate-op argocd/"+prod)
	if now := seen.get(prod); !underWay(now) {
		t.Errorf("the operation was ended: %s", now)
	}

	f.must(func() error { return f.setHealth(f.ctx(), wave, "Healthy") })
	s.Rollout = quick()
	w.configure(s)
	w.apply()
	f.must(seen.onlyTouched(prod), seen.operations(1, prod), seen.syncedBy("somebody", prod), f.deploys("2", "prod"))
}

func TestAccAnAppProjectThatIsNarrowedDuringTheRolloutIsNamed(t *testing.T) {
	f := newFixture(t)
	f.createProject()
	prod := f.app("prod")
	w, _, seen := f.rolledOut(func(s *set) {
		s.AppSpec = maps.Clone(ignoreHealth)
		s.AppSpec["project"] = `{{if eq .env "prod"}}` + f.name + `{{else}}default{{end}}`
	})
	f.write("dev", map[string]string{"version": "2"})
	f.write("prod", map[string]string{"version": "2"})
	f.unhealthy("Progressing", "2", "staging")
	narrows := f.whileStagingRolls(seen, func(ctx context.Context) error {
		if err := f.permitSources(ctx, "https://git.invalid/another"); err != nil {
			return err
		}
		// Argo CD deploys once more what it has not looked at since.
		if err := f.refresh(ctx, prod); err != nil {
			return err
		}
		_, err := seen.await(ctx, prod, "is refused", func(s *appState) bool { return s != nil && s.Sync == "Unknown" })
		return err
	})
	narrows.Start()
	w.failsToApply("AppProject does not permit it", "Application argocd/"+prod, stepOf("03", "prod"), f.repo.URL(),
		"not permitted in project", f.name, "kubectl -n argocd get appprojects.argoproj.io -o yaml")
	f.must(narrows.Check, seen.inOrder(f.apps("dev"), f.apps("staging")), f.deploys("1", "prod"))
}

// permitSources makes these the only repositories that the fixture's AppProject permits.
func (f *fixture) permitSources(ctx context.Context, repositories ...string) error {
	projects := f.client.Resource(appProjects).Namespace(argoNamespace)
	project, err := projects.Get(ctx, f.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedStringSlice(project.Object, repositories, "spec", "sourceRepos"); err != nil {
		return err
	}
	_, err = projects.Update(ctx, project, metav1.UpdateOptions{})
	return err
}

func TestAccWhatStaysProgressingIsNamedWhenItsTimeOrThatOfTheRolloutIsOver(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) { s.AppSpec = ignoreHealth })
	staging, prod := f.app("staging"), f.app("prod")
	f.write("prod", map[string]string{"version": "2"})
	revision := f.unhealthy("Progressing", "2", "staging")
	// Somebody has synced it before, so that it is the health that takes the time, however slow the machine is.
	f.must(func() error { return f.syncAndWait(f.ctx(), seen, staging, revision) })

	s.Extra = `timeouts = { update = "12s" }`
	w.configure(s)
	w.failsToApply("Rollout timed out", "timeouts.update (12s)", stepOf("02", "staging"), "Not done (2): "+prod)

	s.Extra, s.Rollout = "", quick(obj{"app_timeout": "2s"})
	w.configure(s)
	w.failsToApply("Application still progressing", "Application argocd/"+staging, stepOf("02", "staging"),
		"health Progressing: Caused by ConfigMap:"+f.name+"/"+staging, "raise rollout.app_timeout")
	f.must(seen.onlyTouched(staging), seen.operations(1, staging), f.deploys("1", "prod"))

	f.must(func() error { return f.setHealth(f.ctx(), staging, "Healthy") })
	s.Rollout = quick()
	w.configure(s)
	w.apply()
	f.must(seen.operations(1, staging, prod), f.deploys("2", "prod"))
}
