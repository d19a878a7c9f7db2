package argocd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

const (
	// watchPatience bounds how long the watch may stay interrupted.
	watchPatience = 2 * time.Minute
	// watchLength is after how long the API server ends a watch that is in order, in seconds.
	watchLength = 600
	// watchSettled is how long a watch must hold before a loss of it counts as a new one.
	watchSettled = time.Second
)

// Watch lists the Applications of the set and follows them; see rollout.Cluster.
//
// A watch that ends, expires (410), is throttled or loses its connection is restored, for up to
// watchPatience without success. Then the channel is closed, and Err tells why.
func (s *Session) Watch(ctx context.Context) (<-chan rollout.Event, error) {
	found, version, err := s.client.listObjects(ctx, s.owner.Namespace, s.selector())
	if err != nil {
		return nil, err
	}
	events := make(chan rollout.Event)
	go s.nudge(ctx)
	go func() {
		defer close(events)
		f := follower{Session: s, ctx: ctx, events: events, version: version}
		if f.start(found) {
			f.run()
		}
	}()
	return events, nil
}

// selector selects by our label. Applications to adopt do not carry it yet, so a run that adopts
// looks at the whole namespace.
func (s *Session) selector() string {
	if len(s.options.Adopt) > 0 {
		return ""
	}
	return SetLabel + "=" + s.owner.Hash()
}

// follower is one watch on its way through interruptions.
type follower struct {
	*Session
	ctx    context.Context
	events chan<- rollout.Event
	// version is what the next watch starts from.
	version string
}

// start sends what was listed. It reports whether to go on.
func (f *follower) start(found []*unstructured.Unstructured) bool {
	slices.SortFunc(found, compareNames)
	for _, obj := range found {
		if f.ours(obj) && !f.observe(obj) {
			return false
		}
	}
	return f.send(rollout.Event{Listed: true})
}

// run follows until the context ends or the watch is lost for good.
func (f *follower) run() {
	retry := f.client.retry
	delay, success := firstDelay, retry.now()
	for {
		began := retry.now()
		err := f.follow()
		if expired(err) {
			err = f.relist()
		}
		if f.ctx.Err() != nil {
			return
		}
		if retry.now().Sub(began) >= watchSettled && !errors.Is(err, errNotEstablished) {
			delay, success = firstDelay, retry.now()
		}
		if err != nil && !transient(err) {
			f.fail(lost(err))
			return
		}
		if retry.now().Sub(success) > watchPatience {
			f.fail(lost(fmt.Errorf("no success for %s; the last answer was: %w", watchPatience, orClosed(err))))
			return
		}
		wait := retry.jitter(delay)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			wait = time.Duration(seconds) * time.Second
		}
		if retry.sleep(f.ctx, wait) != nil {
			return
		}
		delay = min(2*delay, longestDelay)
	}
}

// follow watches once, until the API server ends it (nil) or an error.
func (f *follower) follow() error {
	length := int64(watchLength)
	var w watch.Interface
	err := f.client.request(f.ctx, appRequest("watch", f.owner.Namespace, ""), func() (err error) {
		w, err = f.client.apps(f.owner.Namespace).Watch(f.ctx, metav1.ListOptions{
			LabelSelector: f.selector(), ResourceVersion: f.version, AllowWatchBookmarks: true, TimeoutSeconds: &length,
		})
		return err
	})
	if err != nil {
		return errors.Join(errNotEstablished, err)
	}
	defer w.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return f.ctx.Err()
		case event, open := <-w.ResultChan():
			if !open {
				return nil
			}
			if err := f.take(event); err != nil {
				return err
			}
		}
	}
}

// take handles one event of the API server.
func (f *follower) take(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	obj, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		if err := f.changed(obj); err != nil {
			return err
		}
	case watch.Deleted:
		if err := f.gone(obj); err != nil {
			return err
		}
	}
	f.version = obj.GetResourceVersion()
	return f.ctx.Err()
}

func (f *follower) changed(obj *unstructured.Unstructured) error {
	if f.ours(obj) {
		f.observe(obj)
		return nil
	}
	if old := f.latest(obj.GetName()); old != nil && old.GetUID() == obj.GetUID() {
		return lostMarks(obj)
	}
	return nil
}

// gone handles the end of an Application as the watch sees it: also one that has lost our label
// ends there. Only when nothing had been waiting for its deletion is it worth a look.
func (f *follower) gone(obj *unstructured.Unstructured) error {
	if !f.ours(obj) && f.latest(obj.GetName()) == nil {
		return nil
	}
	if obj.GetDeletionTimestamp() == nil && f.selector() != "" {
		current, err := f.fetch(f.ctx, obj.GetName())
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil && current.GetUID() == obj.GetUID() {
			return lostMarks(obj)
		}
	}
	f.vanished(obj.GetName(), string(obj.GetUID()))
	return nil
}

// relist reads everything again after the watch has expired, and sends what differs.
func (f *follower) relist() error {
	found, version, err := f.client.listObjects(f.ctx, f.owner.Namespace, f.selector())
	if err != nil {
		return err
	}
	there := map[string]string{}
	for _, obj := range found {
		there[obj.GetName()] = string(obj.GetUID())
	}
	f.mu.Lock()
	known := maps.Clone(f.seen)
	f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		// One that we have created since the list was made is not gone.
		old := known[name]
		if there[name] != string(old.GetUID()) && rank(old) <= versionRank(version) {
			f.vanished(name, string(old.GetUID()))
		}
	}
	slices.SortFunc(found, compareNames)
	for _, obj := range found {
		if err := f.changed(obj); err != nil {
			return err
		}
	}
	f.version = version
	return nil
}

// observe sends a state, unless a later one is known already.
func (f *follower) observe(obj *unstructured.Unstructured) bool {
	if !f.remember(obj) {
		return true
	}
	return f.send(rollout.Event{Name: obj.GetName(), Live: f.live(obj)})
}

func (f *follower) vanished(name, uid string) {
	f.forget(name, uid)
	f.send(rollout.Event{Name: name, UID: uid})
}

func (f *follower) send(event rollout.Event) bool {
	select {
	case <-f.ctx.Done():
		return false
	case f.events <- event:
		return true
	}
}

// fetch reads one Application.
func (s *Session) fetch(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	var obj *unstructured.Unstructured
	err := s.client.request(ctx, appRequest("get", s.owner.Namespace, name), func() (err error) {
		obj, err = s.client.apps(s.owner.Namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return obj, err
}
