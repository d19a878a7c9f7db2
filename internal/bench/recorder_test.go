package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const wanted = "c0ffee"

func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// application is one of a step, with an operation that is asked for, or synced to a commit.
func application(name, step string, operation bool, synced string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetName(name)
	o.SetLabels(map[string]string{stepLabel: step})
	if operation {
		o.Object["operation"] = map[string]any{}
	}
	if synced != "" {
		o.Object["status"] = map[string]any{
			"operationState": map[string]any{"phase": "Succeeded", "syncResult": map[string]any{"revision": synced}},
			"sync":           map[string]any{"status": "Synced", "revision": synced},
			"health":         map[string]any{"status": "Healthy"},
		}
	}
	return o
}

func emptyRecorder() *recorder {
	return &recorder{want: wanted, apps: map[string]*seen{}, news: make(chan struct{})}
}

func wantSeconds(t *testing.T, what string, got time.Duration, want float64) {
	t.Helper()
	if diff := got.Seconds() - want; diff < -0.001 || diff > 0.001 {
		t.Errorf("%s is %.3f s, want %.3f s", what, got.Seconds(), want)
	}
}

// wantSteps fails unless a course began at first, its steps took these seconds, in their order, and between two of them were at most
// gap seconds.
func wantSteps(t *testing.T, c course, first, gap float64, steps ...float64) {
	t.Helper()
	if !c.First.Equal(at(first)) || len(c.Steps) != len(steps) {
		t.Fatalf("the course is %+v", c)
	}
	for i, want := range steps {
		wantSeconds(t, fmt.Sprintf("step %d", i+1), c.Steps[i], want)
	}
	wantSeconds(t, "the gap", c.Gap, gap)
}

func TestCourseOfARollout(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", true, ""))
	r.take(at(2), false, application("b", "s01", true, ""))
	r.take(at(3), false, application("a", "s01", false, wanted))
	r.take(at(4), false, application("b", "s01", false, wanted))
	r.take(at(4.5), false, application("b", "s01", false, wanted)) // the end of a refresh
	r.take(at(4.75), false, application("c", "s02", true, ""))
	r.take(at(6), false, application("c", "s02", false, wanted))
	c := r.course(nil)
	if c.Changed != 3 || !c.Last.Equal(at(6)) {
		t.Errorf("the course is %+v", c)
	}
	wantSteps(t, c, 1, 0.25, 3, 1.25)
}

func TestARolloutBeginsWithTheFirstCreationAndAStepWithTheFirstOperation(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", false, ""))
	r.take(at(1), false, application("b", "s02", false, ""))
	r.take(at(5), false, application("a", "s01", true, ""))
	r.take(at(6), false, application("a", "s01", false, wanted))
	r.take(at(7), false, application("b", "s02", true, ""))
	r.take(at(9), false, application("b", "s02", false, wanted))
	wantSteps(t, r.course(nil), 1, 1, 1, 2)
}

func TestWritesThroughTheProxyTellWhenAStepBegan(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", true, ""))
	r.take(at(2), false, application("a", "s01", false, wanted))
	r.take(at(4), false, application("b", "s02", true, ""))
	r.take(at(5), false, application("b", "s02", false, wanted))
	c := r.course(&tally{Persisted: []request{{Name: "a", At: at(0.5)}, {Name: "b", At: at(3)}, {Name: "b", At: at(3.5)}, {Name: "record", At: at(0)}}})
	if c.Changed != 2 {
		t.Errorf("the course is %+v", c)
	}
	wantSteps(t, c, 0.5, 1, 1.5, 2)
}

func TestStepsThatOverlapAreNotTimed(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", true, ""))
	r.take(at(2), false, application("b", "s02", true, ""))
	r.take(at(3), false, application("a", "s01", false, wanted))
	r.take(at(4), false, application("b", "s02", false, wanted))
	if c := r.course(nil); c.Changed != 2 || c.Steps != nil || c.Gap != 0 || !c.Last.Equal(at(4)) {
		t.Errorf("the course is %+v", c)
	}
}

func TestAnApplicationThatIsSyncedAgainWasDoneTheFirstTime(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", true, ""))
	r.take(at(2), false, application("a", "s01", false, wanted))
	r.take(at(3), false, application("a", "s01", true, wanted))
	if a := r.apps["a"]; !isDone(a) || isAtRest(a) {
		t.Errorf("done %v, at rest %v; want done and not at rest", isDone(a), isAtRest(a))
	}
	r.take(at(4), false, application("a", "s01", false, wanted))
	if c := r.course(nil); !c.Last.Equal(at(2)) || !isAtRest(r.apps["a"]) {
		t.Errorf("the course is %+v, at rest %v", c, isAtRest(r.apps["a"]))
	}
}

func TestCourseAfterAResetHasOnlyWhatIsChangedSince(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", true, ""))
	r.take(at(2), false, application("a", "s01", false, wanted))
	r.take(at(2), false, application("b", "s01", false, wanted))
	r.take(at(3), false, application("gone", "s01", false, wanted))
	r.take(at(4), true, application("gone", "s01", false, wanted))
	r.reset("beef")
	r.take(at(10), false, application("b", "s01", true, wanted))
	if c := r.course(nil); !c.Last.IsZero() {
		t.Errorf("done at %s, though it was synced to another commit", c.Last)
	}
	r.take(at(12), false, application("b", "s01", false, "beef"))
	c := r.course(nil)
	if c.Changed != 1 || !c.First.Equal(at(10)) || !c.Last.Equal(at(12)) {
		t.Errorf("the course is %+v, want only b, from 10 to 12", c)
	}
}

func TestCourseOfADeletion(t *testing.T) {
	r := emptyRecorder()
	deleting := func(name, step string) *unstructured.Unstructured {
		o := application(name, step, false, wanted)
		o.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		return o
	}
	r.take(at(0), false, application("a", "s01", false, wanted))
	r.take(at(0), false, application("b", "s02", false, wanted))
	r.reset("")
	r.take(at(1), false, deleting("b", "s02"))
	r.take(at(2), true, deleting("b", "s02"))
	r.take(at(2.5), false, deleting("a", "s01"))
	r.take(at(4), true, deleting("a", "s01"))
	c := r.course(nil)
	if c.Changed != 2 || !c.Last.Equal(at(4)) {
		t.Errorf("the course is %+v", c)
	}
	wantSteps(t, c, 1, 0.5, 1, 1.5)

	// The deletion of a was prepared while b went.
	writes := newTally()
	for _, w := range []request{
		{Verb: "PATCH", Resource: "applications", Name: "b", At: at(0.5)}, {Verb: "DELETE", Resource: "applications", Name: "b", At: at(0.9)},
		{Verb: "PATCH", Resource: "applications", Name: "a", At: at(1)}, {Verb: "DELETE", Resource: "applications", Name: "a", At: at(2.25)},
	} {
		writes.add(w, 200)
	}
	wantSteps(t, r.course(writes), 0.5, 0.25, 1.1, 1.75)
}

func TestAnApplicationIsDoneOnlyWhenItIsSyncedToTheCommitAndHealthy(t *testing.T) {
	set := func(value any, path ...string) func(map[string]any) {
		return func(o map[string]any) {
			if err := unstructured.SetNestedField(o, value, path...); err != nil {
				panic(err)
			}
		}
	}
	for name, spoil := range map[string]func(map[string]any){
		"another commit was synced":   set("beef", "status", "operationState", "syncResult", "revision"),
		"another commit was compared": set("beef", "status", "sync", "revision"),
		"it is out of sync":           set("OutOfSync", "status", "sync", "status"),
		"it is not healthy":           set("Progressing", "status", "health", "status"),
		"the operation runs":          set("Running", "status", "operationState", "phase"),
		"another operation waits":     set(map[string]any{}, "operation"),
	} {
		t.Run(name, func(t *testing.T) {
			o := application("a", "s01", false, wanted)
			if !reached(o, wanted) {
				t.Fatal("it is not done, though nothing is wrong")
			}
			spoil(o.Object)
			if reached(o, wanted) {
				t.Error("it is done")
			}
		})
	}
}

func TestWaitingNamesTheApplicationsThatAreMissing(t *testing.T) {
	r := emptyRecorder()
	r.take(at(1), false, application("a", "s01", false, wanted))
	r.take(at(1), false, application("b", "s01", true, ""))
	err := r.until(t.Context(), time.Millisecond, 2, "done", isDone)
	if err == nil || !strings.Contains(err.Error(), "not yet: b (an operation waits") || strings.Contains(err.Error(), "a (") {
		t.Errorf("the error is %v, want b named, and not a", err)
	}
	r.take(at(2), false, application("b", "s01", false, wanted))
	if err := r.until(t.Context(), time.Minute, 2, "done", isDone); err != nil {
		t.Errorf("all are done, but: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.until(cancelled, time.Minute, 3, "done", isDone); err == nil {
		t.Error("it waits on after the context has ended, or takes two for three")
	}
}

func TestStepsAreOrderedByTheirFirstWrite(t *testing.T) {
	log := []moment{
		{at(1), "s02", true}, {at(1.5), "s02", false}, {at(2), "s01", true}, {at(2.5), "s02", false}, {at(9), "s03", false},
	}
	steps, longest := stepsOf(log)
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	if want := []string{"s02", "s01"}; !slices.Equal(names, want) {
		t.Errorf("steps are %v, want %v", names, want)
	}
	wantSeconds(t, "the gap", longest, 0.5)
}
