package acceptance

import (
	"context"
	"os"
	"testing"
)

// loseGit moves the repository away; findGit brings it back.
func (f *fixture) loseGit() error { return os.Rename(f.repo.Dir(), f.repo.Dir()+".gone") }
func (f *fixture) findGit() error { return os.Rename(f.repo.Dir()+".gone", f.repo.Dir()) }

func TestAccGitThatIsGoneBeforeTheFirstApplyIsNamedAndTheNextApplyFinishes(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	f.release("1", "dev", "staging", "prod")
	f.must(f.loseGit)
	w.configure(s)
	w.failsToApply("Comparison failed", f.app("dev"), "step 01: env in [dev]", "ComparisonError", f.repo.URL(), "terraform apply again")
	f.must(seen.absent(f.apps("staging", "prod")...), f.deploys("", "dev"))

	f.must(f.findGit)
	seen.reset()
	w.apply()
	f.must(seen.historyInOrder(f.apps("dev"), f.apps("staging"), f.apps("prod")), f.deploys("1", "dev", "staging", "prod"))
	w.atRest()
}

// What is pinned has been fetched already, and needs no git any more; a plan says that it cannot look.
func TestAccGitThatIsGoneInTheMiddleIsNotNeededAnyMore(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut(func(s *set) { s.AppSpec = ignoreHealth })
	dev, staging, prod := f.apps("dev"), f.apps("staging"), f.apps("prod")

	f.unhealthy("Progressing", "2", "staging")
	second := f.release("2", "dev", "prod")
	seen.reset()
	loss := f.actor(func(ctx context.Context) error {
		if _, err := seen.await(ctx, f.app("staging"), "is progressing", progressing); err != nil {
			return err
		}
		if err := f.loseGit(); err != nil {
			return err
		}
		return f.setHealth(ctx, f.app("staging"), "Healthy")
	})
	loss.Start()
	w.apply()
	f.must(loss.Check, seen.historyInOrder(dev, staging, prod), seen.at(second, f.apps("dev", "staging", "prod")...),
		seen.operations(1, f.apps("dev", "staging", "prod")...), f.deploys("2", "dev", "staging", "prod"))

	w.says(w.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "Revisions not compared", f.app("dev"), "ComparisonError", "repository not found",
		"The plan uses the revisions that were known before")
	f.must(f.findGit)
	w.atRest()
}
