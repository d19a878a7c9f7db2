package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// plansHeld fails unless exactly these Applications are planned as held back.
func plansHeld(names ...string) plancheck.PlanCheck {
	return wavesCheck(func(_, after waves) error {
		held := waves{"held back": {}}
		for _, apps := range after {
			for app, target := range apps {
				if isHeld(target) {
					held["held back"][app] = "x"
				}
			}
		}
		want := waves{"held back": {}}
		for _, name := range names {
			want["held back"][name] = "x"
		}
		if differing := changed(held, want); len(differing) > 0 {
			return fmt.Errorf("not as it should be, held back or not: %v", differing)
		}
		return nil
	})
}

func TestAccAPartialPromotionStopsAfterItsStepAndGoesOnFromThere(t *testing.T) {
	f := newFixture(t)
	dev, qa, prod, extra := f.apps("dev"), f.apps("qa"), f.apps("prod-a"), f.apps("prod-b")
	all := []string{"dev", "qa", "prod-a/prod", "old/prod"}
	s := f.newSet(all, "dev", "qa", "prod")
	f.release("1", "dev", "qa", "prod-a", "prod-b", "old")
	r := f.record()
	rollout := func(stop any) obj {
		return obj{"min_healthy_time": "0s", "app_timeout": "2m", "stop_after_step": stop, "max_deletions": 1}
	}
	f.run(
		resource.TestStep{Config: s.String()},
		resource.TestStep{
			PreConfig: func() {
				f.release("2", "dev", "qa", "prod-a", "prod-b", "old")
				f.must(func() error { return f.setAutomated(f.ctx(), f.app("prod-a"), true) })
				r.reset()
			},
			Config: func() string {
				s.Elements = s.Elements[:3]
				s.Elements = append(s.Elements, f.element("prod-b/prod"))
				s.Rollout = rollout(1)
				return s.String()
			}(),
			ConfigPlanChecks: planned(plansHeld(append(f.apps("qa", "prod-a"), f.app("old"))...)),
			Check: check(r.inOrder(dev), r.untouched(append(qa, f.app("old"))...), r.absent(extra...), r.operations(0, prod...),
				f.deploys("2", "dev"), f.deploys("1", "qa", "prod-a", "old")),
		},
		resource.TestStep{
			PreConfig:        r.reset,
			Config:           func() string { s.Rollout = rollout(2); return s.String() }(),
			ConfigPlanChecks: planned(plansHeld(f.apps("prod-a", "old")...)),
			Check:            check(r.inOrder(qa), r.untouched(append(dev, f.app("old"))...), r.absent(extra...), f.deploys("2", "dev", "qa"), f.deploys("1", "prod-a")),
		},
		resource.TestStep{
			PreConfig:        r.reset,
			Config:           func() string { s.Rollout = rollout(nil); return s.String() }(),
			ConfigPlanChecks: planned(plansHeld()),
			Check: check(r.inOrder(append(prod, extra...)), r.untouched(append(dev, qa...)...), r.absent(f.app("old")),
				f.deploys("2", "dev", "qa", "prod-a", "prod-b")),
		},
	)
}

func TestAccAHeldApplicationIsLeftAloneEvenWhenItsClusterIsGone(t *testing.T) {
	f := newFixture(t)
	s := f.newSet([]string{"dev-a/dev", "dev-b/dev", "prod"}, "dev", "prod")
	f.release("1", "dev-a", "dev-b", "prod")
	r := f.record()
	f.run(
		resource.TestStep{Config: s.String()},
		resource.TestStep{
			PreConfig: func() {
				f.release("2", "dev-a", "dev-b", "prod")
				r.reset()
			},
			Config: func() string {
				s.AppSpec = obj{"destination": obj{"server": `{{if eq .name "` + f.app("dev-a") + `"}}https://gone.example{{else}}` + inClusterServer + `{{end}}`, "namespace": f.name}}
				s.Rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m", "hold": f.apps("dev-a")}
				return s.String()
			}(),
			ConfigPlanChecks: planned(plansHeld(f.apps("dev-a")...)),
			Check:            check(r.inOrder(f.apps("dev-b"), f.apps("prod")), r.untouched(f.apps("dev-a")...), f.deploys("1", "dev-a"), f.deploys("2", "dev-b", "prod")),
		},
		resource.TestStep{
			PreConfig: r.reset,
			Config: func() string {
				s.AppSpec, s.Rollout = nil, nil
				return s.String()
			}(),
			ConfigPlanChecks: planned(plansExactly(f.apps("dev-a")...)),
			Check:            check(r.inOrder(f.apps("dev-a")), r.untouched(f.apps("dev-b", "prod")...), f.deploys("2", "dev-a")),
		},
	)
}

func TestAccUnselectedApplicationsRollOutLastWhenAskedTo(t *testing.T) {
	f := newFixture(t)
	s := f.newSet([]string{"dev", "prod", "other"}, "dev", "prod")
	s.Reverse = true
	s.Rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m", "unselected": "last"}
	f.release("1", "dev", "prod", "other")
	r := f.record()
	tf := f.cli()
	tf.configure(s)
	tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(r.inOrder(f.apps("dev"), f.apps("prod"), f.apps("other")), f.deploys("1", "dev", "prod", "other"))
	tf.want(exitEmpty, "plan", "-detailed-exitcode")
	r.reset()
	tf.want(exitEmpty, "destroy", "-auto-approve")
	f.must(r.deletedInOrder(f.apps("other"), f.apps("prod"), f.apps("dev")))
}

func TestAccFailuresWithinMaxFailuresLetTheOthersGoOn(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"dev-a/dev", "dev-b/dev", "prod", "old/prod"}
	s := f.newSet(suffixes, "dev", "prod")
	f.release("1", "dev-a", "dev-b", "prod", "old")
	r := f.record()
	tolerant := obj{"min_healthy_time": "0s", "app_timeout": "2m", "error_grace": "1s", "max_failures": "34%", "max_deletions": 1}
	f.run(
		resource.TestStep{Config: s.String()},
		resource.TestStep{
			PreConfig: func() {
				f.removeFolders("dev-a")
				f.release("2", "dev-b", "prod", "old")
				r.reset()
			},
			Config: func() string {
				s.Elements, s.Rollout = s.Elements[:3], tolerant
				return s.String()
			}(),
			ExpectError: says("Application argocd/"+f.app("dev-a"), "app path does not exist"),
		},
		resource.TestStep{
			PreConfig: func() {
				f.must(r.inOrder(f.apps("dev-b"), f.apps("prod")), r.untouched(f.apps("old")...), r.idle(f.apps("dev-a")...), f.deploys("2", "dev-b", "prod"))
				f.release("2", "dev-a")
				r.reset()
			},
			Config: s.String(),
			Check:  check(r.inOrder(f.apps("dev-a")), r.absent(f.apps("old")...), r.untouched(f.apps("dev-b", "prod")...), f.deploys("2", "dev-a")),
		},
	)
}

func TestAccOneFailureMoreThanMaxFailuresStopsTheRollout(t *testing.T) {
	f := newFixture(t)
	s := f.newSet([]string{"dev-a/dev", "dev-b/dev", "prod"}, "dev", "prod")
	s.Rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m", "error_grace": "1s", "max_failures": 1}
	f.release("1", "prod")
	r := f.record()
	tf := f.cli()
	tf.configure(s)
	failed := tf.want(exitFailed, "apply", "-auto-approve")
	for _, name := range f.apps("dev-a", "dev-b") {
		if !says("Application argocd/" + name).MatchString(failed.out) {
			t.Errorf("the error does not name %s:\n%s", name, failed.out)
		}
	}
	f.must(r.absent(f.apps("prod")...), r.idle(f.apps("dev-a", "dev-b")...))
	f.release("1", "dev-a", "dev-b")
	tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(f.deploys("1", "dev-a", "dev-b", "prod"))
	tf.want(exitEmpty, "destroy", "-auto-approve")
}

func TestAccAStepSoaksBeforeTheNextOne(t *testing.T) {
	f := newFixture(t)
	s := f.newSet([]string{"dev", "prod"}, "dev", "prod")
	s.AppSpec = ignoreHealth
	s.Rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m", "degraded_grace": "1s", "soak_time": "30s"}
	f.unhealthy("Healthy", "1", "dev")
	f.release("1", "prod")
	r := f.record()
	breaks := f.actor(func(ctx context.Context) error {
		if _, err := r.await(ctx, f.app("dev"), "is done", func(s *appState) bool { return s != nil && r.done(s) }); err != nil {
			return err
		}
		// Until the provider has seen it too, it would not be the soak that fails.
		if err := pause(ctx, 8*time.Second); err != nil {
			return err
		}
		return f.setHealth(ctx, f.app("dev"), "Degraded")
	})
	tf := f.cli()
	tf.configure(s)
	breaks.Start()
	failed := tf.want(exitFailed, "apply", "-auto-approve")
	f.must(breaks.Check, r.absent(f.apps("prod")...))
	if !says("Unhealthy while soaking", "Application argocd/"+f.app("dev"), "step 01: env in [dev]", "Degraded").MatchString(failed.out) {
		t.Errorf("the error does not say what happened:\n%s", failed.out)
	}
	f.must(func() error { return f.setHealth(f.ctx(), f.app("dev"), "Healthy") })
	r.reset()
	s.Rollout["soak_time"] = "3s"
	tf.configure(s)
	tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(r.operations(0, f.apps("dev")...), r.operations(1, f.apps("prod")...), f.deploys("1", "dev", "prod"))
	if !says("soaking: its Applications must stay healthy for 30s").MatchString(failed.out) {
		t.Errorf("the story does not tell of the soak:\n%s", failed.out)
	}
	tf.want(exitEmpty, "plan", "-detailed-exitcode")
	tf.want(exitEmpty, "destroy", "-auto-approve")
}

func isHeld(target string) bool { return strings.HasSuffix(target, " (held back)") }
