package argocd

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

func asked(edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{}}}
	obj.SetName("a")
	obj.SetUID("uid-a")
	obj.SetResourceVersion("1")
	for _, edit := range edits {
		edit(obj)
	}
	return obj
}

func operationAsked(obj *unstructured.Unstructured) { obj.Object["operation"] = map[string]any{} }

func operationIn(phase string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		operationAsked(obj)
		obj.Object["status"] = map[string]any{"operationState": map[string]any{"phase": phase}}
	}
}

func deletionAsked(obj *unstructured.Unstructured) {
	obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
}

func refreshAsked(id string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{refreshAnnotation: "normal", refreshTimestampAnnotation: id})
	}
}

func version(v string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { obj.SetResourceVersion(v) }
}

func uid(u types.UID) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { obj.SetUID(u) }
}

func TestApplicationsThatAreSilentAfterARequestAreTouched(t *testing.T) {
	type look struct {
		at  time.Duration
		obj *unstructured.Unstructured
		due bool
	}
	for name, looks := range map[string][]look{
		"an operation that does not begin": {
			{0, asked(operationAsked), false},
			{nudgeAfter - time.Millisecond, asked(operationAsked), false},
			{nudgeAfter, asked(operationAsked), true},
			{nudgeAfter + time.Second, asked(operationAsked), false},
		},
		"an operation after another one": {{0, asked(operationIn("Succeeded")), false}, {nudgeAfter, asked(operationIn("Succeeded")), true}},
		"an operation that runs":         {{0, asked(operationIn("Running")), false}, {nudgeAfter, asked(operationIn("Running")), false}},
		"a deletion":                     {{0, asked(deletionAsked), false}, {nudgeAfter, asked(deletionAsked), true}},
		"a refresh":                      {{0, asked(refreshAsked("1")), false}, {nudgeAfter, asked(refreshAsked("1")), true}},
		"another refresh":                {{0, asked(refreshAsked("1")), false}, {nudgeAfter, asked(refreshAsked("2")), false}},
		"nothing that is asked for":      {{0, asked(), false}, {nudgeAfter, asked(), false}},
		"a deletion that moves on": {
			{0, asked(deletionAsked), false},
			{nudgeAfter, asked(deletionAsked, version("2")), false},
			{2*nudgeAfter - time.Millisecond, asked(deletionAsked, version("2")), false},
			{2 * nudgeAfter, asked(deletionAsked, version("2")), true},
		},
		"another Application of the same name": {{0, asked(deletionAsked), false}, {nudgeAfter, asked(deletionAsked, uid("uid-b")), false}},
		"a controller that does not run": {
			{0, asked(deletionAsked), false},
			{nudgeAfter, asked(deletionAsked), true},
			{2 * nudgeAfter, asked(deletionAsked), true},
			{3 * nudgeAfter, asked(deletionAsked), true},
			{4 * nudgeAfter, asked(deletionAsked), false},
			{5 * nudgeAfter, asked(deletionAsked), true},
			{9*nudgeAfter - time.Millisecond, asked(deletionAsked), false},
			{9 * nudgeAfter, asked(deletionAsked), true},
			{9*nudgeAfter + slowestNudge - time.Millisecond, asked(deletionAsked), false},
			{9*nudgeAfter + slowestNudge, asked(deletionAsked), true},
			{9*nudgeAfter + 2*slowestNudge, asked(deletionAsked), true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var n nudger
			for i, l := range looks {
				due := n.overlooked(time.Unix(1000, 0).Add(l.at), []*unstructured.Unstructured{l.obj})
				if (len(due) == 1) != l.due {
					t.Errorf("look %d: to be touched are %d", i+1, len(due))
				}
			}
		})
	}
}

func TestWhileArgoCDAnswersOthersASilentApplicationWaits(t *testing.T) {
	named := func(name string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		return asked(append(edits, uid(types.UID(name)), func(obj *unstructured.Unstructured) { obj.SetName(name) })...)
	}
	type look struct {
		at  time.Duration
		obj []*unstructured.Unstructured
		due []string
	}
	both := []*unstructured.Unstructured{named("a", operationAsked), named("b", operationAsked)}
	answered := []*unstructured.Unstructured{named("a", operationAsked), named("b", operationIn("Running"))}
	for name, looks := range map[string][]look{
		"until nothing has been answered for a while": {
			{0, both, nil},
			{nudgeAfter - time.Second, answered, nil},
			{nudgeAfter, answered, nil},
			{2*nudgeAfter - time.Second - time.Millisecond, answered, nil},
			{2*nudgeAfter - time.Second, answered, []string{"a"}},
		},
		"until one that is gone has been gone for a while": {
			{0, both, nil},
			{nudgeAfter - time.Second, both[:1], nil},
			{nudgeAfter, both[:1], nil},
			{2*nudgeAfter - time.Second, both[:1], []string{"a"}},
		},
		"but not for ever": {
			{0, both, nil},
			{nudgeAfter, answered, nil},
			{2 * nudgeAfter, both, []string{"a"}},
			{2*nudgeAfter + busyNudge - time.Second, answered, nil},
			{2*nudgeAfter + busyNudge - time.Millisecond, both, nil},
			{2*nudgeAfter + busyNudge, both, []string{"a"}},
		},
		"not where others are asked for something only": {
			{0, both[:1], nil},
			{nudgeAfter, both, []string{"a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var n nudger
			for i, l := range looks {
				var due []string
				for _, obj := range n.overlooked(time.Unix(1000, 0).Add(l.at), l.obj) {
					due = append(due, obj.GetName())
				}
				if !slices.Equal(due, l.due) {
					t.Errorf("look %d: to be touched are %v, not %v", i+1, due, l.due)
				}
			}
		})
	}
}

// transport answers requests in memory.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOnlyWhatTheRunWorksOnIsTouched(t *testing.T) {
	for name, c := range map[string]struct {
		attended []string
		want     string
	}{
		"what it rolls out or deletes, and nothing that is held": {[]string{"desired", "removed", "absent"}, "[desired removed]"},
		"nothing":                     {[]string{}, "[]"},
		"everything, if it says none": {nil, "[desired held removed]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				touched := map[string]bool{}
				var mu sync.Mutex
				client, err := New(&rest.Config{Host: "http://argocd", Transport: transport(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					touched[r.Method+" "+path.Base(r.URL.Path)] = true
					return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
				})}, "argocd")
				if err != nil {
					t.Fatal(err)
				}
				s := client.Session(shop, nil, SessionOptions{})
				for _, name := range []string{"desired", "held", "removed"} {
					s.remember(asked(deletionAsked, uid(types.UID(name)), func(obj *unstructured.Unstructured) { obj.SetName(name) }))
				}
				if c.attended != nil {
					s.Attend(c.attended)
				}
				ctx, cancel := context.WithCancel(t.Context())
				go s.nudge(ctx)
				time.Sleep(5 * nudgeAfter)
				cancel()
				synctest.Wait()
				if got := strings.ReplaceAll(fmt.Sprint(slices.Sorted(maps.Keys(touched))), "PATCH ", ""); got != c.want {
					t.Errorf("touched are %s, not %s", got, c.want)
				}
			})
		})
	}
}

func TestOfManySilentApplicationsAFewAreTouchedAtATime(t *testing.T) {
	var n nudger
	var objs []*unstructured.Unstructured
	for i := range 2*nudgesAtOnce + 1 {
		obj := asked(deletionAsked, uid(types.UID(fmt.Sprint(i))))
		obj.SetName(fmt.Sprintf("app-%02d", i))
		objs = append(objs, obj)
	}
	at := time.Unix(1000, 0)
	n.overlooked(at, objs)
	touched := map[string]int{}
	for _, want := range []int{nudgesAtOnce, nudgesAtOnce, 1, 0} {
		due := n.overlooked(at.Add(nudgeAfter), objs)
		if len(due) != want {
			t.Errorf("%d are touched, not %d", len(due), want)
		}
		for _, obj := range due {
			touched[obj.GetName()]++
		}
	}
	if len(touched) != len(objs) {
		t.Errorf("touched are %v", touched)
	}
}
