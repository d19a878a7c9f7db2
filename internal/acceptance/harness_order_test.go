package acceptance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// history is what happened to one Application since the last reset: indexes into the states of the
// recorder, -1 for what did not happen.
type history struct {
	created, touched, done, deleting, deleted int
	// operations counts operations that were seen to begin.
	operations int
}

// nothingYet is the history of an Application that nothing has happened to.
func nothingYet() *history {
	return &history{created: -1, touched: -1, done: -1, deleting: -1, deleted: -1}
}

// follow derives the histories of all Applications. One is done at the first state after the last touch that proves it
// (see appState.done).
func (r *recorder) follow() (map[string]*history, []*appState) {
	r.catchUp()
	return r.followed()
}

// followed is follow of what has been seen already.
func (r *recorder) followed() (map[string]*history, []*appState) {
	states, last := r.sinceAndBefore()
	all := map[string]*history{}
	for i, s := range states {
		h := all[s.Name]
		if h == nil {
			h = nothingYet()
			all[s.Name] = h
		}
		before := last[s.Name]
		if before == nil {
			h.created = i
		}
		if s.began(before) {
			h.operations++
		}
		if s.touches(before) {
			if h.touched < 0 {
				h.touched = i
			}
			h.done = -1
		}
		if h.touched >= 0 && h.done < 0 && r.done(s) {
			h.done = i
		}
		if s.Deleting && h.deleting < 0 {
			h.deleting = i
		}
		last[s.Name] = s
		if s.Deleted {
			h.deleted = i
			delete(last, s.Name)
		}
	}
	return all, states
}

// touches tells that an Application was touched between the two states: by its creation, a change of its spec
// (automated sync aside) or the beginning of an operation.
func (s *appState) touches(before *appState) bool {
	return !s.Deleted && (before == nil || s.began(before) || s.Spec != before.Spec)
}

// began tells that an operation was asked for between the two states.
func (s *appState) began(before *appState) bool {
	if before == nil {
		return s.Pending || s.Phase != ""
	}
	if s.Pending {
		return !before.Pending
	}
	return s.Phase != "" && s.Started != before.Started && !before.Pending
}

// ending is the last state of a group, and the Application that was in it.
type ending struct {
	name  string
	state int
}

// groupAfterGroup judges what has happened to each Application of the groups since the last reset. ends is the state in which that
// was over for one, wrong says what is wrong with one, or "": it gets the last ending of the groups before as well, -1 for none.
func (r *recorder) groupAfterGroup(groups [][]string, ends func(*history) int, wrong func(h *history, before ending, states []*appState) string) func() error {
	return func() error {
		all, states := r.follow()
		var errs []error
		before := ending{state: -1}
		for n, group := range groups {
			latest := before
			for _, name := range group {
				h := all[name]
				if h == nil {
					h = nothingYet()
				}
				if what := wrong(h, before, states); what != "" {
					errs = append(errs, fmt.Errorf("%s of group %d %s", name, n+1, what))
				}
				if end := ends(h); end > latest.state {
					latest = ending{name, end}
				}
			}
			before = latest
		}
		return errors.Join(errs...)
	}
}

// inOrder fails unless all Applications of the groups were rolled out since the last reset, group
// after group: none of a group was touched before each one of the groups before it was done.
func (r *recorder) inOrder(groups ...[]string) func() error {
	ends := func(h *history) int { return h.done }
	return r.groupAfterGroup(groups, ends, func(h *history, before ending, states []*appState) string {
		switch {
		case h.touched < 0:
			return "was never touched"
		case h.done < 0:
			return "was never seen done"
		case h.touched < before.state:
			return fmt.Sprintf("was touched before %s was done: %s, then %s", before.name, states[h.touched], states[before.state])
		}
		return ""
	})
}

// deletedInOrder fails unless all Applications of the groups were deleted since the last reset: no
// deletion began before all of the groups before were gone.
func (r *recorder) deletedInOrder(groups ...[]string) func() error {
	ends := func(h *history) int { return h.deleted }
	return r.groupAfterGroup(groups, ends, func(h *history, before ending, _ []*appState) string {
		switch {
		case h.deleted < 0:
			return "was never deleted"
		case h.begun() < before.state:
			return fmt.Sprintf("began to be deleted before %s was gone", before.name)
		}
		return ""
	})
}

// begun is when the deletion began; without a finalizer that is when it ended.
func (h *history) begun() int {
	if h.deleting >= 0 {
		return h.deleting
	}
	return h.deleted
}

// untouched fails if one of the Applications was created, written, synced or deleted since the last
// reset.
func (r *recorder) untouched(names ...string) func() error {
	return func() error {
		all, states := r.follow()
		var errs []error
		for _, name := range names {
			if h := all[name]; h != nil && (h.touched >= 0 || h.begun() >= 0) {
				errs = append(errs, fmt.Errorf("%s was touched: %s", name, states[max(h.touched, h.begun())]))
			}
		}
		return errors.Join(errs...)
	}
}

// onlyTouched fails unless exactly these Applications were touched since the last reset.
func (r *recorder) onlyTouched(names ...string) func() error {
	return func() error {
		all, _ := r.follow()
		var touched []string
		for name, h := range all {
			if h.touched >= 0 || h.begun() >= 0 {
				touched = append(touched, name)
			}
		}
		slices.Sort(touched)
		want := slices.Sorted(slices.Values(names))
		if !slices.Equal(touched, want) {
			return fmt.Errorf("touched were [%s], not [%s]", strings.Join(touched, " "), strings.Join(want, " "))
		}
		return nil
	}
}

// operations fails unless each of the Applications saw exactly that many operations since the last reset.
func (r *recorder) operations(want int, names ...string) func() error {
	return func() error {
		all, _ := r.follow()
		var errs []error
		for _, name := range names {
			got := 0
			if h := all[name]; h != nil {
				got = h.operations
			}
			if got != want {
				errs = append(errs, fmt.Errorf("%s saw %d operations, not %d", name, got, want))
			}
		}
		return errors.Join(errs...)
	}
}

// inFlight is how many of the Applications were in flight at once, at most: touched, and not done.
func (r *recorder) inFlight(names ...string) int {
	r.catchUp()
	states, last := r.sinceAndBefore()
	flying, most := map[string]bool{}, 0
	for _, s := range states {
		if !slices.Contains(names, s.Name) {
			continue
		}
		before := last[s.Name]
		if s.touches(before) {
			flying[s.Name] = true
		}
		if s.Deleted || r.done(s) {
			delete(flying, s.Name)
		}
		most = max(most, len(flying))
		last[s.Name] = s
	}
	return most
}

// mostInFlight fails unless at most limit of the Applications were in flight at once, and at some
// time exactly limit: a rollout that is slower than allowed is wrong as well.
func (r *recorder) mostInFlight(limit int, names ...string) func() error {
	return func() error {
		if got := r.inFlight(names...); got != limit {
			return fmt.Errorf("%d Applications were in flight at once, not %d", got, limit)
		}
		return nil
	}
}

// historyInOrder fails unless Argo CD's own deployment histories agree: the newest deployment of each
// Application began no earlier than all of the groups before it ended (times have a precision of
// one second), and was ours.
func (r *recorder) historyInOrder(groups ...[]string) func() error {
	return func() error {
		var errs []error
		var before time.Time
		for n, group := range groups {
			latest := before
			for _, name := range group {
				s := r.get(name)
				if s == nil || len(s.History) == 0 {
					errs = append(errs, fmt.Errorf("%s has no deployment history", name))
					continue
				}
				d := s.History[len(s.History)-1]
				if d.Started.Before(before) {
					errs = append(errs, fmt.Errorf("%s of group %d was deployed from %s on, before the group before it ended at %s", name, n+1, d.Started, before))
				}
				if !strings.HasPrefix(d.InitiatedBy, "argocdprogressive/") {
					errs = append(errs, fmt.Errorf("the deployment of %s was initiated by %q", name, d.InitiatedBy))
				}
				if d.Deployed.After(latest) {
					latest = d.Deployed
				}
			}
			before = latest
		}
		return errors.Join(errs...)
	}
}

// at fails unless the newest deployment of each Application is of this revision.
func (r *recorder) at(revision string, names ...string) func() error {
	return checkAt(r, &revision, names...)
}

// checkAt is recorder.at for a commit that is made later.
func checkAt(r *recorder, revision *string, names ...string) func() error {
	return each(names, func(name string) error {
		s := r.get(name)
		if s == nil || len(s.History) == 0 || s.History[len(s.History)-1].Revision != *revision {
			return fmt.Errorf("%s is not deployed at %s: %s", name, short(*revision), s)
		}
		return nil
	})
}

// labelled fails unless the Applications have this label.
func (r *recorder) labelled(key, value string, names ...string) func() error {
	return each(names, func(name string) error {
		if s := r.get(name); s == nil || s.Labels[key] != value {
			return fmt.Errorf("%s has not the label %s=%s: %s", name, key, value, s)
		}
		return nil
	})
}

// rests fails unless this much time has passed between the end of each group and the next one.
func (r *recorder) rests(least time.Duration, groups ...[]string) func() error {
	return func() error {
		all, states := r.follow()
		var errs []error
		for n, group := range groups[1:] {
			var ended time.Time
			for _, name := range groups[n] {
				if h := all[name]; h != nil && h.done >= 0 && states[h.done].Seen.After(ended) {
					ended = states[h.done].Seen
				}
			}
			for _, name := range group {
				if h := all[name]; h != nil && h.touched >= 0 && states[h.touched].Seen.Sub(ended) < least {
					errs = append(errs, fmt.Errorf("%s began %s after the step before it was done, not %s", name, states[h.touched].Seen.Sub(ended), least))
				}
			}
		}
		return errors.Join(errs...)
	}
}

// each makes one check of one for each name.
func each(names []string, one func(name string) error) func() error {
	return func() error {
		var errs []error
		for _, name := range names {
			errs = append(errs, one(name))
		}
		return errors.Join(errs...)
	}
}
