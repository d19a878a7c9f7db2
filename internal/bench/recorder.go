package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

var (
	applications    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	applicationSets = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// recorder watches all Applications and keeps when what happened to each.
type recorder struct {
	mu   sync.Mutex
	want string // the commit that makes an Application done
	apps map[string]*seen
	log  []moment
	news chan struct{} // closed at each event
	err  error
}

// seen is what happened to one Application since the last reset.
type seen struct {
	step   string
	exists bool
	state  string
	// reached tells that it is synced to the wanted commit and healthy now.
	reached bool
	// created, asked (for an operation), done (reached for the first time: Argo CD's controller
	// syncs several times over) and gone are zero while it has not happened.
	created, asked, done, gone time.Time
}

// moment is one event of one Application; write tells that a rollout or a deletion has begun with it.
type moment struct {
	at    time.Time
	step  string
	write bool
}

// newRecorder records until ctx ends.
func newRecorder(ctx context.Context, client dynamic.Interface, namespace string) (*recorder, error) {
	apps := client.Resource(applications).Namespace(namespace)
	listed, err := apps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Applications: %w", err)
	}
	r := &recorder{apps: map[string]*seen{}, news: make(chan struct{})}
	go func() { r.lost(r.follow(ctx, apps, listed.GetResourceVersion())) }()
	return r, nil
}

// follow notes events until ctx ends or one is missed. A watch that the API server ends, as it
// does from time to time and when definitions are new, goes on where it was.
func (r *recorder) follow(ctx context.Context, apps dynamic.ResourceInterface, version string) error {
	for {
		w, err := apps.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			return fmt.Errorf("watching Applications: %w", err)
		}
		for event := range w.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Error {
				return fmt.Errorf("the watch on Applications was lost: %v", event.Object)
			}
			version = o.GetResourceVersion()
			if event.Type != watch.Bookmark {
				r.take(time.Now(), event.Type == watch.Deleted, o)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (r *recorder) lost(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	r.tell()
}

func (r *recorder) tell() {
	close(r.news)
	r.news = make(chan struct{})
}

// take notes one event.
func (r *recorder) take(now time.Time, deleted bool, o *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.tell()
	a := r.apps[o.GetName()]
	if a == nil {
		a = &seen{}
		r.apps[o.GetName()] = a
	}
	a.step, a.state = o.GetLabels()[stepLabel], state(o)
	m := moment{at: now, step: a.step}
	switch {
	case deleted:
		a.exists, a.gone = false, now
	case !a.exists:
		a.exists, a.created = true, now
	}
	if o.Object["operation"] != nil && a.asked.IsZero() {
		a.asked, m.write = now, true
	}
	if o.GetDeletionTimestamp() != nil && !deleted {
		m.write = true
	}
	if a.reached = reached(o, r.want); a.reached && a.done.IsZero() {
		a.done = now
	}
	r.log = append(r.log, m)
}

// reached tells that an Application was synced to the commit and is healthy.
func reached(o *unstructured.Unstructured, commit string) bool {
	return o.Object["operation"] == nil && text(o, "status", "operationState", "phase") == "Succeeded" &&
		text(o, "status", "operationState", "syncResult", "revision") == commit && text(o, "status", "sync", "revision") == commit &&
		text(o, "status", "sync", "status") == "Synced" && text(o, "status", "health", "status") == "Healthy"
}

// state is what reached looks at, in words.
func state(o *unstructured.Unstructured) string {
	words := []string{
		"operation " + text(o, "status", "operationState", "phase"), "to " + text(o, "status", "operationState", "syncResult", "revision"),
		text(o, "status", "sync", "status"), "at " + text(o, "status", "sync", "revision"), text(o, "status", "health", "status"),
		text(o, "status", "operationState", "message"),
	}
	if o.Object["operation"] != nil {
		words = append([]string{"an operation waits"}, words...)
	}
	return strings.Join(words, ", ")
}

func text(o *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, fields...)
	return s
}

// reset forgets what happened; commit makes Applications done from now on.
func (r *recorder) reset(commit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want, r.log = commit, nil
	for name, a := range r.apps {
		if !a.exists {
			delete(r.apps, name)
			continue
		}
		*a = seen{step: a.step, exists: true, state: a.state}
	}
}

// until waits until all Applications are as wanted, n of them; what says so in words.
func (r *recorder) until(ctx context.Context, timeout time.Duration, n int, what string, wanted func(*seen) bool) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		news, err := r.news, r.err
		var missing []string
		for name, a := range r.apps {
			if !wanted(a) {
				missing = append(missing, fmt.Sprintf("%s (%s)", name, a.state))
			}
		}
		there := len(r.apps)
		r.mu.Unlock()
		if there >= n && len(missing) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			slices.Sort(missing)
			return fmt.Errorf("after %s not all of %d Applications are %s: %d are known, not yet: %s", timeout, n, what, there, strings.Join(missing, "; "))
		case <-news:
		}
	}
}

func isDone(a *seen) bool { return !a.done.IsZero() }
func isGone(a *seen) bool { return !a.exists }

// isAtRest is for Applications of which some have been asked to sync.
func isAtRest(a *seen) bool { return a.asked.IsZero() || a.reached }

// course is how a rollout or deletion went, as seen from outside.
type course struct {
	// Changed is how many Applications were written or deleted.
	Changed int
	// First is the first write, Last when the last of them was done or gone.
	First, Last time.Time
	// Steps are the times that the steps took, in order of their begin; nil when they overlap.
	Steps []time.Duration
	// Gap is the longest time from the last event of a step to the first write of the next.
	Gap time.Duration
}

// course sums up what happened since the last reset. Where the writes are known, because they went
// through the proxy, they tell when something began; otherwise what was first seen of them does.
func (r *recorder) course(writes *tally) course {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	var c course
	if writes != nil {
		log = r.withWrites(beginning(writes.Persisted))
		for _, w := range writes.Persisted {
			if r.apps[w.Name] != nil && (c.First.IsZero() || w.At.Before(c.First)) {
				c.First = w.At
			}
		}
	}
	ends := map[string]time.Time{}
	for _, a := range r.apps {
		ended := a.done
		switch {
		case !a.gone.IsZero():
			ended = a.gone
		case a.created.IsZero() && a.asked.IsZero():
			continue
		}
		c.Changed++
		if writes == nil && !a.created.IsZero() && (c.First.IsZero() || a.created.Before(c.First)) {
			c.First = a.created
		}
		if ended.After(c.Last) {
			c.Last = ended
		}
		if ended.After(ends[a.step]) {
			ends[a.step] = ended
		}
	}
	for _, m := range log {
		if m.write && (c.First.IsZero() || m.at.Before(c.First)) {
			c.First = m.at
		}
	}
	var steps []begun
	steps, c.Gap = stepsOf(log)
	for i, step := range steps {
		c.Steps = append(c.Steps, ends[step.name].Sub(step.began))
		if i > 0 && step.began.Before(ends[steps[i-1].name]) {
			c.Steps, c.Gap = nil, 0
			break
		}
	}
	return c
}

// beginning are the writes that a step begins with. Deletions are prepared while the step before
// goes, so of those only the deletion itself counts.
func beginning(writes []request) []request {
	isDelete := func(w request) bool { return w.Verb == "DELETE" }
	if !slices.ContainsFunc(writes, isDelete) {
		return writes
	}
	return slices.DeleteFunc(slices.Clone(writes), func(w request) bool { return !isDelete(w) })
}

// withWrites is the log with these writes in the place of those that were seen in the watch.
func (r *recorder) withWrites(writes []request) []moment {
	var log []moment
	for _, m := range r.log {
		log = append(log, moment{at: m.at, step: m.step})
	}
	for _, w := range writes {
		if a := r.apps[w.Name]; a != nil {
			log = append(log, moment{at: w.At, step: a.step, write: true})
		}
	}
	slices.SortStableFunc(log, func(a, b moment) int { return a.at.Compare(b.at) })
	return log
}

// begun is a step that has begun.
type begun struct {
	name  string
	began time.Time
}

// stepsOf are the steps in the order of their first writes, and the longest time from the last
// event of one to the first write of the next.
func stepsOf(log []moment) (steps []begun, longest time.Duration) {
	first := firstWrites(log)
	for _, name := range slices.SortedFunc(maps.Keys(first), func(a, b string) int { return first[a].Compare(first[b]) }) {
		if n := len(steps); n > 0 {
			longest = max(longest, gap(log, steps[n-1].name, first[name]))
		}
		steps = append(steps, begun{name, first[name]})
	}
	return steps, longest
}

// firstWrites are the times at which steps began.
func firstWrites(log []moment) map[string]time.Time {
	first := map[string]time.Time{}
	for _, m := range log {
		if _, begun := first[m.step]; m.write && !begun {
			first[m.step] = m.at
		}
	}
	return first
}

// gap is the time from the last event of the step before next.
func gap(log []moment, step string, next time.Time) time.Duration {
	var last time.Time
	for _, m := range log {
		if m.step == step && m.at.Before(next) {
			last = m.at
		}
	}
	if last.IsZero() {
		return 0
	}
	return next.Sub(last)
}
