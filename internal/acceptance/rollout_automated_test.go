package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

var automatedPolicy = obj{"sync_options": []string{"CreateNamespace=true"}, "automated": obj{"prune": true}}

// webhook tells Argo CD about a new commit for all others once the rollout has begun with the first
// Application: those whose automated sync is still on then sync themselves.
func (f *fixture) webhook(r *recorder, revision *string, first string, others ...string) *actor {
	return f.actor(func(ctx context.Context) error {
		_, err := r.await(ctx, first, "is synced to the new commit", func(s *appState) bool {
			return s != nil && (s.Wanted == *revision || s.OpRevision == *revision)
		})
		if err != nil {
			return err
		}
		for _, name := range others {
			if err := f.refresh(ctx, name); err != nil {
				return err
			}
		}
		for _, name := range others {
			_, err := r.await(ctx, name, "is compared with the new commit", func(s *appState) bool {
				return s != nil && s.Revision == *revision
			})
			if err != nil {
				return err
			}
		}
		return r.untouched(others...)()
	})
}

func TestAccAllAtOnceWithAutomatedSyncBecomesARollout(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"dev", "qa", "prod"}
	dev, qa, prod, all := f.apps("dev"), f.apps("qa"), f.apps("prod"), f.apps(suffixes...)
	f.release("1", suffixes...)
	s := f.newSet(suffixes)
	s.SyncPolicy = automatedPolicy
	r := f.record()
	allAtOnce := s.String()
	s.Steps = []step{in("dev"), in("qa"), in("prod")}
	s.Rollout = obj{"min_healthy_time": "3s", "app_timeout": "2m"} // time to overtake
	rolling := s.String()
	var second, third string
	push := f.webhook(r, &second, f.app("dev"), f.apps("qa", "prod")...)

	f.run(
		resource.TestStep{
			Config: allAtOnce,
			Check: check(r.operations(1, all...), r.automated(true, all...), r.syncedBy("", all...),
				f.deploys("1", suffixes...)),
		},
		resource.TestStep{
			PreConfig: func() { r.reset(); second = f.release("2", suffixes...); push.Start() },
			Config:    rolling,
			Check: check(push.Check, r.inOrder(dev, qa, prod), r.operations(1, all...), r.automated(false, all...),
				r.syncedBy("argocdprogressive/", all...), checkAt(r, &second, all...), f.deploys("2", suffixes...)),
		},
		resource.TestStep{
			PreConfig:        func() { r.reset(); third = f.release("3", suffixes...) },
			Config:           rolling,
			ConfigPlanChecks: planned(plansExactly(all...), plansRevisionOf(&third, all...)),
			Check:            check(r.inOrder(dev, qa, prod), checkAt(r, &third, all...)),
		},
		resource.TestStep{
			PreConfig: r.reset,
			Config:    allAtOnce,
			Check:     check(r.automated(true, all...), f.deploys("3", suffixes...)),
		},
	)
}

func TestAccAutomatedSyncSwitchedOnByHandDoesNotOvertakeTheRollout(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"dev", "qa", "prod"}
	dev, qa, prod, all := f.apps("dev"), f.apps("qa"), f.apps("prod"), f.apps(suffixes...)
	f.release("1", suffixes...)
	s := f.newSet(suffixes, suffixes...)
	s.Rollout = obj{"min_healthy_time": "3s", "app_timeout": "2m"} // time to overtake
	r := f.record()
	var second string
	push := f.webhook(r, &second, f.app("dev"), f.apps("qa", "prod")...)

	f.run(
		resource.TestStep{Config: s.String()},
		resource.TestStep{
			PreConfig: func() {
				for _, app := range all {
					if err := f.setAutomated(f.ctx(), app, true); err != nil {
						t.Fatal(err)
					}
				}
				r.reset()
				second = f.release("2", suffixes...)
				push.Start()
			},
			Config:           s.String(),
			ConfigPlanChecks: planned(plansExactly(all...)),
			Check: check(push.Check, r.inOrder(dev, qa, prod), r.operations(1, all...), r.automated(false, all...),
				checkAt(r, &second, all...), f.deploys("2", suffixes...)),
		},
	)
}

func TestAccAllAtOnceWithoutAutomatedSyncIsSyncedByTheRollout(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"dev", "qa", "prod"}
	all := f.apps(suffixes...)
	f.release("1", suffixes...)
	s := f.newSet(suffixes)
	r := f.record()
	var second string

	f.run(
		resource.TestStep{
			Config:           s.String(),
			ConfigPlanChecks: planned(plansWaves(all)),
			Check: check(r.inOrder(all), r.operations(1, all...), r.syncedBy("argocdprogressive/", all...),
				f.deploys("1", suffixes...)),
		},
		resource.TestStep{
			PreConfig:        func() { r.reset(); second = f.release("2", "dev", "prod") },
			Config:           s.String(),
			ConfigPlanChecks: planned(plansExactly(f.apps("dev", "prod")...), plansRevisionOf(&second, f.apps("dev", "prod")...)),
			Check:            check(r.onlyTouched(f.apps("dev", "prod")...), f.deploys("2", "dev", "prod"), f.deploys("1", "qa")),
		},
	)
}

// automated fails unless automated sync of the Applications is on, or off.
func (r *recorder) automated(on bool, names ...string) func() error {
	return each(names, func(name string) error {
		if s := r.get(name); s == nil || s.AutomatedOn != on {
			return fmt.Errorf("automated sync of %s is not %t: %s", name, on, s)
		}
		return nil
	})
}

// syncedBy fails unless the newest deployment was initiated by such a user; "" is Argo CD itself.
func (r *recorder) syncedBy(prefix string, names ...string) func() error {
	return each(names, func(name string) error {
		s := r.get(name)
		if s == nil || len(s.History) == 0 {
			return fmt.Errorf("%s has no deployment history", name)
		}
		by := s.History[len(s.History)-1].InitiatedBy
		if !strings.HasPrefix(by, prefix) || (prefix == "" && by != "") {
			return fmt.Errorf("%s was synced by %q, not by %q", name, by, prefix)
		}
		return nil
	})
}
