package acceptance

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// failsWithin is what a hopeless sync may take until apply has failed.
const failsWithin = 30 * time.Second

func TestAccABrokenPathInStep2FailsTheUpdateAndStopsThere(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"dev", "qa", "prod"}
	dev, qa, prod := f.apps("dev"), f.apps("qa"), f.apps("prod")
	s := f.newSet(suffixes, suffixes...)
	s.Extra = `timeouts = { update = "1m" }`
	f.release("1", suffixes...)
	r := f.record()
	var second, third string
	f.run(
		resource.TestStep{Config: s.String()},
		resource.TestStep{
			PreConfig: func() {
				f.removeFolders("qa")
				second = f.release("2", "dev", "prod")
				r.reset()
			},
			Config: s.String(),
			ExpectError: says("Application argocd/"+f.app("qa"), "step 02: env in [qa]",
				f.path("qa")+": app path does not exist"),
		},
		resource.TestStep{
			PreConfig: func() {
				// 10 seconds to Argo CD's first retry, 15 of error_grace, and what a busy machine takes: less than the timeout.
				f.must(r.endsWithin(failsWithin*3/2, qa...), r.untouched(prod...), r.inOrder(dev), r.idle(f.apps(suffixes...)...),
					checkAt(r, &second, dev...), f.deploys("1", "prod"))
				r.reset()
				third = f.release("3", "qa")
			},
			Config: s.String(),
			ConfigPlanChecks: planned(plansAction(plancheck.ResourceActionUpdate), plansExactly(f.apps("qa", "prod")...),
				plansRevisionOf(&third, f.apps("qa", "prod")...)),
			Check: check(r.inOrder(qa, prod), r.untouched(dev...), f.deploys("3", "qa"), f.deploys("2", "dev", "prod")),
		},
	)
}

// within fails when more than limit has passed since began.
func within(limit time.Duration, began time.Time) func() error {
	return func() error {
		if took := time.Since(began); took > limit {
			return fmt.Errorf("it took %s, more than %s", took.Round(time.Second), limit)
		}
		return nil
	}
}

// endsWithin fails unless the first operation on each of the Applications was over so soon after it was asked for. What
// terraform takes besides, on a busy machine, does not count.
func (r *recorder) endsWithin(limit time.Duration, names ...string) func() error {
	return each(names, func(name string) error {
		var began, ended time.Time
		for _, s := range r.since() {
			switch {
			case s.Name != name || !ended.IsZero():
			case began.IsZero() && s.Pending:
				began = s.Seen
			case !began.IsZero() && !s.Pending:
				ended = s.Seen
			}
		}
		if took := ended.Sub(began); began.IsZero() || ended.IsZero() || took > limit {
			return fmt.Errorf("an operation on %s began at %s and ended at %s, which is not within %s", name, began, ended, limit)
		}
		return nil
	})
}

// idle fails if an operation on one of the Applications runs or is asked for.
func (r *recorder) idle(names ...string) func() error {
	return each(names, func(name string) error {
		r.catchUp()
		if s := r.get(name); s == nil || s.Pending || s.Phase == "Running" || s.Phase == "Terminating" {
			return fmt.Errorf("an operation is left running: %s", s)
		}
		return nil
	})
}

// absent fails if one of the Applications exists.
func (r *recorder) absent(names ...string) func() error {
	return each(names, func(name string) error {
		if s := r.get(name); s != nil {
			return fmt.Errorf("it should not exist: %s", s)
		}
		return nil
	})
}
