//go:build linux

package acceptance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// isCreated checks all that a create must have reached, with or without interruptions.
func (s *story) isCreated() {
	s.Helper()
	stepped := slices.Concat(killDev, killStaging, killProd)
	s.check("create",
		s.are(append(stepped, killNoStep)...), s.marked(), s.nothingDeleted(),
		s.seen.inOrder(s.apps(killDev...), s.apps(killStaging...), s.apps(killProd...)),
		s.seen.operations(1, s.apps(stepped...)...), s.seen.operations(0, s.app(killNoStep)),
		s.neverMoreThan(2, killStaging...),
		s.seen.at(s.before, s.apps(stepped...)...), s.deploys("1", stepped...), s.deploys("", killNoStep),
		s.deployedOnce(1, stepped...), s.seen.historyInOrder(s.apps(killDev...), s.apps(killStaging...), s.apps(killProd...)),
	)
	s.rests()
}

// isUpdated is isCreated for an update.
func (s *story) isUpdated() {
	s.Helper()
	changed := slices.Concat(killReleased, killRespecified)
	older := slices.DeleteFunc(slices.Clone(changed), func(n string) bool { return n == "staging-d" })
	s.check("update",
		s.are(slices.Concat(killDev, killStagingLater, killProd, []string{killNoStep})...), s.marked(), s.nothingDeleted("staging-c"),
		s.seen.inOrder(s.apps("dev-a"), s.apps(killStagingLater...), s.apps(killProd...)),
		s.seen.operations(1, s.apps(changed...)...), s.seen.operations(0, s.apps("dev-b", killNoStep, "staging-c")...),
		s.seen.untouched(s.app("dev-b")), s.neverMoreThan(2, killStagingLater...),
		s.seen.at(s.release, s.apps(changed...)...), s.seen.at(s.before, s.app("dev-b")),
		s.deploys("2", killReleased...), s.deploys("1", "dev-b"), s.deploys("1", killRespecified...), s.deploys("", killNoStep, "staging-c"),
		s.deployedOnce(2, older...), s.deployedOnce(1, "staging-d", "dev-b"),
		s.removedLast("staging-c"),
	)
	s.sameUIDs(without(s.uids, s.app("staging-c")))
	s.rests()
}

// isDestroyed checks that nothing is left, and that it went in reverse order.
func (s *story) isDestroyed() {
	s.Helper()
	staging := killStagingLater
	if s.release == "" {
		staging = killStaging // there was no update
	}
	s.check("destroy",
		s.are(), s.seen.deletedInOrder(s.apps(killNoStep), s.apps(killProd...), s.apps(staging...), s.apps(killDev...)),
		s.deploys("", slices.Concat(killDev, killStaging, killProd, killStagingLater, []string{killNoStep})...),
		s.nothingStored(),
	)
	if values, _ := s.stored(); values != nil {
		s.Errorf("destroy: terraform's state still has %v", values)
	}
}

// check reports everything that is wrong after a phase, and ends the story if something is.
func (s *story) check(phase string, checks ...func() error) {
	s.Helper()
	for _, c := range checks {
		if err := c(); err != nil {
			s.Errorf("%s: %v", phase, err)
		}
	}
	if s.Failed() {
		s.FailNow()
	}
}

// rests fails unless the set is stored as complete and a plan finds nothing to do.
func (s *story) rests() {
	s.Helper()
	s.isState(string(argocd.StateComplete))
	if _, tainted := s.stored(); tainted {
		s.Error("the set is tainted")
	}
	s.atRest()
}

// are fails unless exactly these Applications live.
func (s *story) are(suffixes ...string) func() error {
	return func() error {
		var live []string
		for _, app := range s.liveApps(s.ctx()) {
			live = append(live, app.GetName())
		}
		slices.Sort(live)
		if want := s.apps(suffixes...); !slices.Equal(live, sorted(want)) {
			return fmt.Errorf("the Applications %v live, not %v", live, sorted(want))
		}
		return nil
	}
}

// marked fails unless each live Application carries the owner and its step.
func (s *story) marked() func() error {
	return func() error {
		owner := argocd.Owner{Namespace: argoNamespace, Name: s.name}
		steps := map[string]string{"dev": stepOf("01", "dev"), "staging": stepOf("02", "staging"), "prod": stepOf("03", "prod"), "other": "no step"}
		var errs []error
		for _, app := range s.liveApps(s.ctx()) {
			step, marks := steps[app.GetLabels()["env"]], app.GetAnnotations()
			if app.GetLabels()[argocd.SetLabel] != owner.Hash() || marks[argocd.OwnerAnnotation] != owner.String() || marks[argocd.StepAnnotation] != step || step == "" {
				errs = append(errs, fmt.Errorf("%s has not the marks of %s and %q: %v %v", app.GetName(), owner, step, app.GetLabels(), marks))
			}
		}
		return errors.Join(errs...)
	}
}

// nothingDeleted fails if an Application was deleted, or its deletion asked for, since the last
// reset; those that had to go aside.
func (s *story) nothingDeleted(except ...string) func() error {
	return func() error {
		for _, state := range s.seen.since() {
			if (state.Deleting || state.Deleted) && !slices.Contains(s.apps(except...), state.Name) {
				return fmt.Errorf("%s was deleted", state.Name)
			}
		}
		return nil
	}
}

// deployedOnce fails unless Argo CD's histories have exactly that many deployments, all of them
// ours, and no two of the same target and revision.
func (s *story) deployedOnce(want int, suffixes ...string) func() error {
	return each(s.apps(suffixes...), func(name string) error {
		state := s.seen.get(name)
		if state == nil {
			return fmt.Errorf("%s is not there", name)
		}
		targets := map[string]bool{}
		for _, d := range state.History {
			if !strings.HasPrefix(d.InitiatedBy, "argocdprogressive/") {
				return fmt.Errorf("a deployment of %s was initiated by %q", name, d.InitiatedBy)
			}
			targets[d.InitiatedBy+"@"+d.Revision] = true
		}
		if len(state.History) != want || len(targets) != want {
			return fmt.Errorf("%s was deployed %d times, to %d targets, not %d: %v", name, len(state.History), len(targets), want, state.History)
		}
		return nil
	})
}

// neverMoreThan fails if more of the Applications were in flight at once.
func (s *story) neverMoreThan(limit int, suffixes ...string) func() error {
	return func() error {
		if got := s.seen.inFlight(s.apps(suffixes...)...); got > limit {
			return fmt.Errorf("%d of %v were in flight at once, more than %d", got, suffixes, limit)
		}
		return nil
	}
}

// removedLast fails unless the Application was deleted after all else was done.
func (s *story) removedLast(suffix string) func() error {
	return func() error {
		all, _ := s.seen.follow()
		gone := all[s.app(suffix)]
		if gone == nil || gone.deleted < 0 {
			return fmt.Errorf("%s was not deleted", s.app(suffix))
		}
		for name, h := range all {
			if name != s.app(suffix) && name != s.app(killNoStep) && h.touched >= 0 && h.done > gone.begun() {
				return fmt.Errorf("%s was deleted before %s was done", s.app(suffix), name)
			}
		}
		return nil
	}
}

// nothingStored fails if anything is left of the set beside its Applications.
func (s *story) nothingStored() func() error {
	return func() error {
		owner := argocd.Owner{Namespace: argoNamespace, Name: s.name}
		var errs []error
		for _, kind := range []schema.GroupVersionResource{configMaps, leases} {
			list, err := s.client.Resource(kind).Namespace(argoNamespace).List(s.ctx(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, o := range list.Items {
				if text, _ := o.MarshalJSON(); strings.Contains(string(text), owner.Hash()) || strings.Contains(string(text), owner.String()) {
					errs = append(errs, fmt.Errorf("%s %s is left", kind.Resource, o.GetName()))
				}
			}
		}
		return errors.Join(errs...)
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// without is m without one key.
func without(m map[string]string, key string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}
