package acceptance

import (
	"slices"
	"testing"
)

// The recorder is what all other tests rely on, so it is shown here that it finds what is wrong.

func created(name string) *appState {
	return &appState{Name: name, UID: "1", Spec: "{}", Pending: true}
}

func running(name string) *appState {
	return &appState{Name: name, UID: "1", Spec: "{}", Pending: true, Phase: "Running", Started: "now", Sync: "OutOfSync"}
}

// synced has succeeded, and is not healthy yet.
func synced(name string) *appState {
	return &appState{
		Name: name, UID: "1", Spec: "{}", Phase: "Succeeded", Started: "now", OpRevision: "1",
		Sync: "Synced", Revision: "1", Health: "Progressing",
	}
}

func healthy(name string) *appState {
	s := synced(name)
	s.Health = "Healthy"
	return s
}

// stale is healthy by the comparison with the revision before.
func stale(name string) *appState {
	s := healthy(name)
	s.Revision = "0"
	return s
}

func gone(name string) *appState { return &appState{Name: name, UID: "1", Deleted: true} }

func deleting(name string) *appState {
	s := healthy(name)
	s.Deleting = true
	return s
}

func recorded(states ...*appState) *recorder {
	return &recorder{states: states, before: map[string]*appState{}, last: map[string]*appState{}}
}

func TestRecorderJudgesTheOrderOfARollout(t *testing.T) {
	for name, test := range map[string]struct {
		states []*appState
		ok     bool
	}{
		"one after the other":                                    {[]*appState{created("a"), running("a"), synced("a"), healthy("a"), created("b"), running("b"), healthy("b")}, true},
		"the second begins before the first ends":                {[]*appState{created("a"), running("a"), created("b"), healthy("a"), healthy("b")}, false},
		"the second begins while the first is progressing":       {[]*appState{created("a"), synced("a"), created("b"), healthy("a"), healthy("b")}, false},
		"the second begins on a stale status of the first":       {[]*appState{created("a"), stale("a"), created("b"), healthy("a"), healthy("b")}, false},
		"the first is synced again after the second began":       {[]*appState{created("a"), healthy("a"), created("b"), running("a"), healthy("a"), healthy("b")}, false},
		"the second is never done":                               {[]*appState{created("a"), healthy("a"), created("b"), running("b")}, false},
		"the second is never touched":                            {[]*appState{created("a"), healthy("a")}, false},
		"the first is progressing for a while after it was done": {[]*appState{created("a"), healthy("a"), synced("a"), created("b"), healthy("b")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := recorded(test.states...).inOrder([]string{"a"}, []string{"b"})(); (err == nil) != test.ok {
				t.Errorf("in order: %v", err)
			}
		})
	}
}

func TestRecorderJudgesTheOrderOfADeletion(t *testing.T) {
	for name, test := range map[string]struct {
		states []*appState
		ok     bool
	}{
		"one after the other":                     {[]*appState{deleting("a"), gone("a"), deleting("b"), gone("b")}, true},
		"the second begins before the first ends": {[]*appState{deleting("a"), deleting("b"), gone("a"), gone("b")}, false},
		"without finalizers, the wrong way round": {[]*appState{gone("b"), gone("a")}, false},
		"one is left": {[]*appState{deleting("a"), gone("a"), deleting("b")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(test.states...)
			r.before["a"], r.before["b"] = healthy("a"), healthy("b")
			if err := r.deletedInOrder([]string{"a"}, []string{"b"})(); (err == nil) != test.ok {
				t.Errorf("in order: %v", err)
			}
		})
	}
}

func TestRecorderCountsOperationsAndApplicationsInFlight(t *testing.T) {
	r := recorded(
		created("a"), running("a"), synced("a"), created("b"), running("b"), healthy("a"), created("c"), healthy("b"), healthy("c"),
		running("a"), healthy("a"),
	)
	if got := r.inFlight("a", "b", "c"); got != 2 {
		t.Errorf("%d were in flight at once, not 2", got)
	}
	if err := r.operations(2, "a")(); err != nil {
		t.Error(err)
	}
	if err := r.operations(1, "b", "c")(); err != nil {
		t.Error(err)
	}
	if err := r.untouched("d")(); err != nil {
		t.Error(err)
	}
	if r.untouched("a")() == nil {
		t.Error("a was touched, and nobody noticed")
	}
}

func TestRecorderTellsWhatWasTouched(t *testing.T) {
	written, refreshed := healthy("a"), healthy("b")
	written.Spec = `{"project":"other"}`
	refreshed.Annotations = map[string]string{"argocd.argoproj.io/refresh": "normal"}
	r := recorded(written, refreshed)
	r.before["a"], r.before["b"] = healthy("a"), healthy("b")
	if err := r.onlyTouched("a")(); err != nil {
		t.Error(err)
	}
	if err := r.onlyTouched("a", "b")(); err == nil {
		t.Error("a refresh counts as a touch")
	}
	if got := changed(waves{"1": {"a": "x", "b": "y", "d": "z"}}, waves{"1": {"a": "x", "b": "?"}, "2": {"c": "z"}}); !slices.Equal(got, []string{"b", "c", "d"}) {
		t.Errorf("the plan changes %v", got)
	}
}
