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
	// watchSettled is how long a watch must hold before a loss of it counts as a new one, unless it
	// has told something.
	watchSettled = time.Second
	// caughtUp is how long a watch from an older list must be silent at its beginning: what has
	// happened since that list comes in one burst. caughtUpAfter is how long that may take at most.
	caughtUp      = 50 * time.Millisecond
	caughtUpAfter = time.Second
)

// Watch sends the Applications of the set, as SessionOptions.From has them or else from a list,
// and follows them; see rollout.Cluster.
//
// A watch that ends, expires (410), is throttled or loses its connection is restored, for up to
// watchPatience without success. Then the channel is closed, and Err tells why.
func (s *Session) Watch(ctx context.Context) (<-chan rollout.Event, error) {
	found, version, fresh, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	events := make(chan rollout.Event)
	go s.nudge(ctx)
	go func() {
		defer close(events)
		f := follower{Session: s, ctx: ctx, events: events, version: version}
		if f.start(found, fresh) {
			f.run()
		}
	}()
	return events, nil
}

// begin is what the run begins with, the resourceVersion to watch from, and whether it is fresh.
// What the API server has forgotten meanwhile is an expired watch, which is restored by a list.
func (s *Session) begin(ctx context.Context) (found []*unstructured.Unstructured, version string, fresh bool, err error) {
	if from := s.options.From; from != nil && len(s.options.Adopt) == 0 {
		return slices.Collect(maps.Values(from.Objects)), from.version, false, nil
	}
	found, version, err = s.client.listObjects(ctx, s.owner.Namespace, s.selector())
	return found, version, true, err
}

// selector selects by our label. Applications to adopt do not carry it yet, so a run that adopts
// looks at the whole namespace.
func (s *Session) selector() string {
	if len(s.options.Adopt) > 0 {
		return ""
	}
	return selector(s.owner)
}

// follower is one watch on its way through interruptions.
type follower struct {
	*Session
	ctx    context.Context
	events chan<- rollout.Event
	// version is what the next watch starts from.
	version string
	// listed tells that the end of the list has been told, and that the watch has not been interrupted since.
	listed bool
	// news counts what the watch has told.
	news int
}

// start sends what was listed. It reports whether to go on. The end of a list that is not fresh is
// told when the watch has caught up with what has happened since: nothing is decided before.
func (f *follower) start(found []*unstructured.Unstructured, fresh bool) bool {
	slices.SortFunc(found, compareNames)
	for _, obj := range found {
		if f.ours(obj) && !f.observe(obj) {
			return false
		}
	}
	return !fresh || f.list()
}

// list tells the end of the list, or of what an interrupted watch has missed, once. It reports
// whether to go on.
func (f *follower) list() bool {
	if f.listed {
		return true
	}
	f.listed = true
	return f.send(rollout.Event{Listed: true})
}

// away tells that the watch is interrupted, once. It reports whether to go on.
func (f *follower) away() bool {
	if f.ctx.Err() != nil || !f.listed {
		return f.ctx.Err() == nil
	}
	f.listed = false
	return f.send(rollout.Event{Away: true})
}

// run follows until the context ends or the watch is lost for good.
func (f *follower) run() {
	retry := f.client.retry
	delay, success := firstDelay, retry.now()
	for {
		began, news := retry.now(), f.news
		err := f.follow()
		if !f.away() {
			return
		}
		if expired(err) {
			err = f.relist()
		}
		if f.ctx.Err() != nil {
			return
		}
		if f.news > news || retry.now().Sub(began) >= watchSettled && !errors.Is(err, errNotEstablished) {
			delay, success = firstDelay, retry.now()
		}
		if err != nil && !transient(err) {
			f.fail(lost(err))
			return
		}
		left := watchPatience - retry.now().Sub(success)
		if left <= 0 {
			f.fail(lost(fmt.Errorf("no success for %s; the last answer was: %w", watchPatience, orClosed(err))))
			return
		}
		wait := retry.jitter(delay)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			wait = time.Duration(seconds) * time.Second
		}
		// However long the server asks for: when patience is over it is asked a last time.
		if retry.sleep(f.ctx, min(wait, left)) != nil {
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
		if err != nil {
			f.away()
		}
		return err
	})
	if err != nil {
		return errors.Join(errNotEstablished, err)
	}
	defer w.Stop()
	silence, latest := time.NewTimer(caughtUp), time.NewTimer(caughtUpAfter)
	defer silence.Stop()
	defer latest.Stop()
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
			if !f.listed {
				silence.Reset(caughtUp)
			}
		case <-silence.C:
			f.list()
		case <-latest.C:
			f.list()
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
	f.news++
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
// ends there, even while it is being deleted. So whether it is gone is worth a look where nothing had
// been waiting for its deletion, or where the next deletion waits for it.
func (f *follower) gone(obj *unstructured.Unstructured) error {
	if !f.ours(obj) && f.latest(obj.GetName()) == nil {
		return nil
	}
	if f.selector() != "" && (f.options.Ordered || obj.GetDeletionTimestamp() == nil) {
		current, err := f.see(obj.GetName())
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

// see reads an Application in the middle of the watch, which tells nothing more while it has to be asked
// for again.
func (f *follower) see(name string) (obj *unstructured.Unstructured, err error) {
	err = f.client.request(f.ctx, appRequest("get", f.owner.Namespace, name), func() error {
		obj, err = f.client.apps(f.owner.Namespace).Get(f.ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			f.away()
		}
		return err
	})
	return obj, err
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
			if err := f.gone(old); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(found, compareNames)
	for _, obj := range found {
		if err := f.changed(obj); err != nil {
			return err
		}
	}
	f.version = version
	f.list()
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
	return s.client.fetch(ctx, s.owner, name)
}

func (c *Client) fetch(ctx context.Context, owner Owner, name string) (*unstructured.Unstructured, error) {
	var obj *unstructured.Unstructured
	err := c.request(ctx, appRequest("get", owner.Namespace, name), func() (err error) {
		obj, err = c.apps(owner.Namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return obj, err
}
