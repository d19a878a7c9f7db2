package acceptance

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// commitWhenDone commits once the Application is deployed at from(), and fails if one of the others
// has been touched by then.
func (f *fixture) commitWhenDone(r *recorder, name string, from func() string, commit func(), others ...string) *actor {
	return f.actor(func(ctx context.Context) error {
		_, err := r.await(ctx, name, "is done", func(s *appState) bool { return s != nil && s.done() && s.Revision == from() })
		if err != nil {
			return err
		}
		commit()
		if err := r.untouched(others...)(); err != nil {
			return fmt.Errorf("the commit came too late: %w", err)
		}
		return nil
	})
}

func TestAccACommitDuringTheRolloutWaitsForTheNextPlan(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"dev", "qa", "prod"}
	dev, qa, prod, all := f.apps("dev"), f.apps("qa"), f.apps("prod"), f.apps(suffixes...)
	s := f.newSet(suffixes, suffixes...)
	s.Rollout = obj{"min_healthy_time": "3s"} // time to commit before step 2 begins
	r := f.record()
	r.movingHead = true

	first := f.release("1", suffixes...)
	var second, third string
	commitSecond := f.commitWhenDone(r, f.app("dev"), func() string { return first },
		func() { second = f.release("2", suffixes...) }, f.apps("qa", "prod")...)
	deletePaths := f.commitWhenDone(r, f.app("dev"), func() string { return third }, func() {
		f.removeFolders("qa", "prod")
		f.commit()
	}, f.apps("qa", "prod")...)

	f.run(
		resource.TestStep{
			PreConfig: commitSecond.Start,
			Config:    s.String(),
			Check: check(commitSecond.Check, r.inOrder(dev, qa, prod), r.at(first, all...),
				f.deploys("1", suffixes...)),
			ExpectNonEmptyPlan: true, // the second commit
		},
		resource.TestStep{
			PreConfig:        r.reset,
			Config:           s.String(),
			ConfigPlanChecks: planned(plansExactly(all...), plansRevisionOf(&second, all...)),
			Check:            check(r.inOrder(dev, qa, prod), checkAt(r, &second, all...), f.deploys("2", suffixes...)),
		},
		resource.TestStep{
			PreConfig: func() {
				r.reset()
				third = f.release("3", suffixes...)
				deletePaths.Start()
			},
			Config: s.String(),
			Check: check(deletePaths.Check, r.inOrder(dev, qa, prod), checkAt(r, &third, all...),
				f.deploys("3", suffixes...)),
			ExpectNonEmptyPlan: true, // the paths are gone
		},
	)
}

// removeFolders removes the folders of Applications, without a commit.
func (f *fixture) removeFolders(suffixes ...string) {
	for _, s := range suffixes {
		if err := f.repo.Remove(f.path(s)); err != nil {
			f.Errorf("removing the folder of %s: %v", s, err)
		}
	}
}
