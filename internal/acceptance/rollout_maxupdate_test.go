package acceptance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// settle is how long a rollout is given to start one more than it may.
const settle = 300 * time.Millisecond

// Each Application stays Progressing until the test lets it go, one at a time: so the rollout has
// all the time to start as many as it dares, and must start the next one when one is done.
func TestAccNeverMoreThanMaxUpdateAreInFlight(t *testing.T) {
	for _, test := range []struct {
		maxUpdate   any
		apps, limit int
	}{
		{1, 3, 1},
		{"34%", 3, 1},
		{"19%", 8, 1},
		{"50%", 4, 2},
		{nil, 3, 3},
	} {
		t.Run(fmt.Sprintf("%v of %d are %d at once", test.maxUpdate, test.apps, test.limit), func(t *testing.T) {
			f := newFixture(t)
			var suffixes, elements []string
			for i := range test.apps {
				suffixes = append(suffixes, fmt.Sprintf("app-%02d", i))
				elements = append(elements, suffixes[i]+"/prod")
			}
			f.unhealthy("Progressing", "1", suffixes...)
			s := f.newSet(elements, "prod")
			s.Steps[0].MaxUpdate = test.maxUpdate
			s.AppSpec = ignoreHealth
			r := f.record()
			release := f.actor(func(ctx context.Context) error { return f.releaseOneByOne(ctx, r, test.limit, f.apps(suffixes...)) })
			f.run(resource.TestStep{
				PreConfig: release.Start,
				Config:    s.String(),
				Check:     check(release.Check, r.mostInFlight(test.limit, f.apps(suffixes...)...)),
			})
		})
	}
}

// releaseOneByOne makes the Applications healthy, each when limit of them, or all that are left,
// are progressing.
func (f *fixture) releaseOneByOne(ctx context.Context, r *recorder, limit int, names []string) error {
	released := map[string]bool{}
	held := func() []string {
		var held []string
		for _, name := range names {
			if progressing(r.get(name)) && !released[name] {
				held = append(held, name)
			}
		}
		return held
	}
	for len(released) < len(names) {
		want := min(limit, len(names)-len(released))
		for len(held()) < want {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("waiting until %d are progressing, after %d were released: %w; there are %v", want, len(released), err, held())
			}
		}
		if err := pause(ctx, settle); err != nil {
			return err
		}
		now := held()
		if len(now) < want {
			continue // one is being compared just now
		}
		released[now[0]] = true
		if err := f.setHealth(ctx, now[0], "Healthy"); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAccAChangeOfMaxUpdateTouchesNoApplication(t *testing.T) {
	f := newFixture(t)
	f.release("1", "dev", "prod-a", "prod-b", "prod-c")
	s := f.newSet([]string{"dev", "prod-a/prod", "prod-b/prod", "prod-c/prod"}, "dev", "prod")
	s.Steps[1].MaxUpdate = 1
	p := f.proxy()
	s.Provider = p.through()
	s.Provider["refresh"] = false // refreshes are writes as well
	r := f.record()
	step := func(maxUpdate any) resource.TestStep {
		s.Steps[1].MaxUpdate = maxUpdate
		return resource.TestStep{
			PreConfig:        func() { r.reset(); p.Writes() },
			Config:           s.String(),
			ConfigPlanChecks: planned(plansExactly()),
			Check:            check(r.onlyTouched(), p.wroteNoApplication),
		}
	}
	created := resource.TestStep{Config: s.String()}
	f.run(created, step("50%"), step(nil), step(2))
}
