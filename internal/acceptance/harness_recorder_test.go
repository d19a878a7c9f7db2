package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// appState is one state of one Application, as it was seen in the watch.
type appState struct {
	Name, UID string
	Version   uint64 // the resourceVersion: a number that grows across all objects
	Seen      time.Time
	Deleted   bool // gone from the API
	Deleting  bool
	// Spec is the spec without automated sync, as JSON: it tells whether it was written.
	Spec        string
	AutomatedOn bool
	Labels      map[string]string
	Annotations map[string]string
	// Pending tells that an operation is asked for and not ended; Wanted is its revision(s).
	Pending bool
	Wanted  string
	// Phase, Message, Started and OpRevision are those of the operation in the status.
	Phase, Message, Started, OpRevision string
	Retries                             int64 // failed attempts of it
	Sync, Health, Revision              string
	History                             []deployment
}

// deployment is one entry of status.history.
type deployment struct {
	ID                int64
	Revision          string
	Started, Deployed time.Time
	InitiatedBy       string
}

// deployed tells that the last operation has succeeded, and that it is healthy.
func (s *appState) deployed() bool {
	return !s.Deleted && !s.Pending && s.Phase == "Succeeded" && s.Health == "Healthy"
}

// done tells that the last operation has deployed what it was to, and that it is healthy.
func (s *appState) done() bool {
	return s.deployed() && s.Sync == "Synced" && s.Revision == s.OpRevision
}

// newAppState reads an Application.
func newAppState(o *unstructured.Unstructured) *appState {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(o.Object, fields...)
		return s
	}
	// revision is that of the only source, or those of all of them.
	revision := func(fields ...string) string {
		last := len(fields) - 1
		if many, _, _ := unstructured.NestedStringSlice(o.Object, append(slices.Clone(fields[:last]), fields[last]+"s")...); len(many) > 0 {
			return strings.Join(many, ",")
		}
		return text(fields...)
	}
	s := &appState{
		Name: o.GetName(), UID: string(o.GetUID()), Version: versionOf(o.GetResourceVersion()), Seen: time.Now(), Deleting: o.GetDeletionTimestamp() != nil,
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		Phase: text("status", "operationState", "phase"), Message: text("status", "operationState", "message"),
		Started: text("status", "operationState", "startedAt"), OpRevision: revision("status", "operationState", "syncResult", "revision"),
		Sync: text("status", "sync", "status"), Health: text("status", "health", "status"), Revision: revision("status", "sync", "revision"),
	}
	_, s.Pending, _ = unstructured.NestedMap(o.Object, "operation")
	s.Wanted = revision("operation", "sync", "revision")
	s.Retries, _, _ = unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
	automated, ok, _ := unstructured.NestedMap(o.Object, "spec", "syncPolicy", "automated")
	s.AutomatedOn = ok && automated["enabled"] != false
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	unstructured.RemoveNestedField(spec, "syncPolicy", "automated")
	encoded, _ := json.Marshal(spec)
	s.Spec = string(encoded)
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "history")
	for _, e := range entries {
		s.History = append(s.History, newDeployment(e.(map[string]any)))
	}
	return s
}

func versionOf(resourceVersion string) uint64 {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		panic(err) // the API servers of the tests store in etcd
	}
	return version
}

func newDeployment(entry map[string]any) deployment {
	d := deployment{}
	d.ID, _, _ = unstructured.NestedInt64(entry, "id")
	d.InitiatedBy, _, _ = unstructured.NestedString(entry, "initiatedBy", "username")
	if revisions, _, _ := unstructured.NestedStringSlice(entry, "revisions"); len(revisions) > 0 {
		d.Revision = strings.Join(revisions, ",")
	} else {
		d.Revision, _, _ = unstructured.NestedString(entry, "revision")
	}
	for field, at := range map[string]*time.Time{"deployStartedAt": &d.Started, "deployedAt": &d.Deployed} {
		text, _, _ := unstructured.NestedString(entry, field)
		*at, _ = time.Parse(time.RFC3339, text)
	}
	return d
}

// recorder watches the Applications of a fixture and keeps all their states in the order in which
// they came to be: one watch tells the order across Applications as well.
type recorder struct {
	f *fixture
	// movingHead is for tests that commit during a rollout: a comparison with a newer commit than
	// the deployed one does not keep an Application from being done.
	movingHead bool

	mu     sync.Mutex
	states []*appState
	from   int                  // index of the first state since the last reset
	before map[string]*appState // what was live at the last reset
	last   map[string]*appState
	news   chan struct{} // closed at each state
	err    error
}

// record starts a recorder, which runs until the test ends.
func (f *fixture) record() *recorder {
	f.Helper()
	r := &recorder{f: f, before: map[string]*appState{}, last: map[string]*appState{}, news: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := r.watch(ctx)
	if err != nil {
		cancel()
		f.Fatalf("watching Applications: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := r.drain(w)
			if ctx.Err() != nil {
				return
			}
			if !f.fragile {
				r.fail(err)
				return
			}
			// The API server was stopped by the test: nothing happens until it is back.
			for w, err = r.watch(ctx); err != nil; w, err = r.watch(ctx) {
				if pause(ctx, 20*time.Millisecond) != nil {
					return
				}
			}
		}
	}()
	f.Cleanup(func() {
		cancel()
		<-ended
		if f.Failed() {
			f.Logf("Applications as they were seen:\n%s", r)
		}
	})
	r.reset()
	return r
}

// watch takes in what there is and begins to watch.
func (r *recorder) watch(ctx context.Context) (watch.Interface, error) {
	apps := r.f.client.Resource(applications).Namespace(argoNamespace)
	listed, err := apps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range listed.Items {
		r.take(watch.Added, &listed.Items[i])
	}
	return apps.Watch(ctx, metav1.ListOptions{ResourceVersion: listed.GetResourceVersion()})
}

// drain takes in what the watch tells until it ends, and returns why.
func (r *recorder) drain(w watch.Interface) error {
	defer w.Stop()
	for event := range w.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return fmt.Errorf("the watch on Applications was lost: %v", event.Object)
		}
		r.take(event.Type, o)
	}
	return errors.New("the watch on Applications has ended")
}

func (r *recorder) take(kind watch.EventType, o *unstructured.Unstructured) {
	if !strings.HasPrefix(o.GetName(), r.f.name) {
		return
	}
	s := newAppState(o)
	s.Deleted = kind == watch.Deleted
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states = append(r.states, s)
	if s.Deleted {
		delete(r.last, s.Name)
	} else {
		r.last[s.Name] = s
	}
	close(r.news)
	r.news = make(chan struct{})
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	close(r.news)
	r.news = make(chan struct{})
}

// reset makes the checks look only at what happens from now on.
func (r *recorder) reset() {
	r.catchUp()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = len(r.states)
	r.before = maps.Clone(r.last)
}

// since are the states since the last reset.
func (r *recorder) since() []*appState {
	r.catchUp()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states[r.from:])
}

// sinceAndBefore are the states since the last reset, and what each Application that lived then was.
func (r *recorder) sinceAndBefore() (since []*appState, before map[string]*appState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states[r.from:]), maps.Clone(r.before)
}

// get is the last state of an Application, nil when it is not there.
func (r *recorder) get(name string) *appState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[name]
}

// await waits until the last state of an Application fulfils the condition; the state is nil while
// there is no Application.
func (r *recorder) await(ctx context.Context, name, what string, condition func(*appState) bool) (*appState, error) {
	for {
		r.mu.Lock()
		s, news, err := r.last[name], r.news, r.err
		r.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case condition(s):
			return s, nil
		}
		select {
		case <-news:
		case <-time.After(nudgeAfter):
			r.f.nudge(ctx, name)
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting until %s %s: %w; it is %s", name, what, ctx.Err(), s)
		}
	}
}

// awaitOnce is await for what may last for a moment only: one state since the last reset is enough.
func (r *recorder) awaitOnce(ctx context.Context, name, what string, condition func(*appState) bool) error {
	for {
		r.mu.Lock()
		states, news, err := r.states[r.from:], r.news, r.err
		r.mu.Unlock()
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(states, func(s *appState) bool { return s.Name == name && condition(s) }):
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s %s: %w; it is %s", name, what, ctx.Err(), r.get(name))
		}
	}
}

// done is appState.done, unless HEAD moves: then a comparison with another commit is accepted.
func (r *recorder) done(s *appState) bool {
	return s.done() || (r.movingHead && s.deployed() && s.Revision != s.OpRevision)
}

// String is a line for each state in which something relevant has changed.
func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	last := map[string]string{}
	for i, s := range r.states {
		if i == r.from && i > 0 {
			b.WriteString("  -- reset --\n")
		}
		if line := s.String(); line != last[s.Name] {
			last[s.Name] = line
			fmt.Fprintf(&b, "  %s %s\n", s.Seen.UTC().Format("15:04:05.000"), line)
		}
	}
	return b.String()
}

func (s *appState) String() string {
	if s == nil {
		return "not there"
	}
	what := fmt.Sprintf("%s: operation %s at %s, %s at %s, %s", s.Name, orNone(s.Phase), short(s.OpRevision), orNone(s.Sync), short(s.Revision), orNone(s.Health))
	for text, on := range map[string]bool{" automated": s.AutomatedOn} {
		if on {
			what += text
		}
	}
	switch {
	case s.Deleted:
		what = s.Name + ": deleted"
	case s.Deleting:
		what += " deleting"
	}
	if s.Pending {
		what += " operation asked for: " + short(s.Wanted)
	}
	if s.Message != "" {
		what += " (" + s.Message + ")"
	}
	return what
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func short(revision string) string {
	parts := strings.Split(revision, ",")
	for i, p := range parts {
		if len(p) == 40 {
			parts[i] = p[:7]
		}
	}
	return orNone(strings.Join(parts, ","))
}
