package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// parallelRequests is how many requests of one call run at once; the rate limit is the client's.
const parallelRequests = 8

// Refreshed is the outcome of Client.Refresh.
type Refreshed struct {
	// Live are the Applications that Argo CD has compared afresh, by name.
	Live map[string]rollout.Live
	// Unanswered are the names that were not compared in time, sorted: Argo CD's application
	// controller does not run, does not watch the namespace, or has been told to skip them.
	Unanswered []string
}

// Refresh asks Argo CD for a comparison of each of the owner's Applications that starts after the
// request, and waits for the answers, at most timeout. It costs Argo CD one git ls-remote each. from
// is what the caller has listed, which saves a list; nil lists.
//
// The handshake: both annotations are set in one patch; Argo CD compares, stores the status, and
// only then removes them (persistReconciliationStatus in controller/appcontroller.go, 3.6.1).
// Before 3.6 it removes only the first, together with the new status. A refresh of somebody else
// that stands already may have begun before, so it is waited for first.
//
// ErrForbidden means that Applications may not be patched (or watched); the last known
// comparisons are then all there is.
func (c *Client) Refresh(ctx context.Context, owner Owner, from *Listing, names []string, timeout time.Duration) (Refreshed, error) {
	names = sortedCopy(names)
	if len(names) == 0 {
		return Refreshed{Live: map[string]rollout.Live{}}, nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	h := handshakes{
		client: c, owner: owner, pending: map[string]string{}, live: map[string]rollout.Live{},
		seen: map[string]*unstructured.Unstructured{},
	}
	for _, name := range names {
		h.pending[name] = ""
	}
	err := h.run(limited, from)
	if ctx.Err() != nil {
		return Refreshed{}, ctx.Err()
	}
	if err != nil && limited.Err() == nil {
		return Refreshed{}, err
	}
	h.hopeless = slices.AppendSeq(h.hopeless, maps.Keys(h.pending))
	return Refreshed{Live: h.live, Unanswered: sortedCopy(h.hopeless)}, nil
}

// handshakes are those of one Refresh.
type handshakes struct {
	client *Client
	owner  Owner
	// pending: name -> id of the refresh asked for; empty while it has not been.
	pending map[string]string
	live    map[string]rollout.Live
	// seen are the latest states of those that are pending.
	seen   map[string]*unstructured.Unstructured
	nudger nudger
	// hopeless are the names that will get no answer.
	hopeless []string
	// mu guards pending against requests that run at once.
	mu sync.Mutex
}

// run drives all handshakes from one watch until none is pending, or ctx ends.
func (h *handshakes) run(ctx context.Context, from *Listing) error {
	for ctx.Err() == nil && len(h.pending) > 0 {
		found, version, err := h.begin(ctx, from)
		if err != nil {
			return err
		}
		from = nil // when the watch has ended, it is old
		h.giveUpMissing(found)
		if err := h.take(ctx, found); err != nil {
			return err
		}
		err = h.follow(ctx, version)
		if err != nil && !expired(err) && !transient(err) {
			return err
		}
		if len(h.pending) > 0 && h.client.retry.sleep(ctx, firstDelay) != nil {
			break
		}
	}
	return ctx.Err()
}

// begin is what the caller has listed, or a list, and the resourceVersion to watch from.
func (h *handshakes) begin(ctx context.Context, from *Listing) ([]*unstructured.Unstructured, string, error) {
	if from != nil {
		return slices.Collect(maps.Values(from.Objects)), from.version, nil
	}
	return h.client.listObjects(ctx, h.owner.Namespace, selector(h.owner))
}

// giveUpMissing gives up names that do not exist.
func (h *handshakes) giveUpMissing(found []*unstructured.Unstructured) {
	there := map[string]bool{}
	for _, obj := range found {
		there[obj.GetName()] = h.owner.owns(obj)
	}
	for _, name := range slices.Sorted(maps.Keys(h.pending)) {
		if !there[name] {
			h.giveUp(name)
		}
	}
}

func (h *handshakes) giveUp(name string) {
	if _, waiting := h.pending[name]; waiting {
		delete(h.pending, name)
		delete(h.seen, name)
		h.hopeless = append(h.hopeless, name)
	}
}

func (h *handshakes) follow(ctx context.Context, version string) error {
	var w watch.Interface
	err := h.client.request(ctx, appRequest("watch", h.owner.Namespace, ""), func() (err error) {
		w, err = h.client.apps(h.owner.Namespace).Watch(ctx, metav1.ListOptions{
			LabelSelector: SetLabel + "=" + h.owner.Hash(), ResourceVersion: version,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	silence := time.NewTicker(nudgeEvery)
	defer silence.Stop()
	for len(h.pending) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-silence.C:
			h.client.touch(ctx, h.nudger.overlooked(now, slices.Collect(maps.Values(h.seen))))
			if err := h.take(ctx, h.notAsked()); err != nil {
				return err
			}
		case event, open := <-w.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			obj, ok := event.Object.(*unstructured.Unstructured)
			if ok && event.Type == watch.Deleted {
				h.giveUp(obj.GetName())
			} else if ok {
				if err := h.take(ctx, []*unstructured.Unstructured{obj}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// notAsked are the latest states of those that a refresh has not been asked for, because a request met a
// conflict: normally the watch tells the newer state soon.
func (h *handshakes) notAsked() []*unstructured.Unstructured {
	var again []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(h.seen)) {
		if h.pending[name] == "" {
			again = append(again, h.seen[name])
		}
	}
	return again
}

// take moves the handshakes of these Applications on.
func (h *handshakes) take(ctx context.Context, seen []*unstructured.Unstructured) error {
	var ask, tidy []*unstructured.Unstructured
	for _, obj := range seen {
		name := obj.GetName()
		id, waiting := h.pending[name]
		if waiting {
			h.seen[name] = obj
		}
		if waiting && obj.GetAnnotations()[skipReconcileAnnotation] == "true" {
			h.giveUp(name)
			continue
		}
		if !waiting || refreshID(obj.GetAnnotations()) != "" {
			continue
		}
		if id == "" {
			ask = append(ask, obj)
			continue
		}
		delete(h.pending, name)
		delete(h.seen, name)
		h.live[name] = h.client.facts(obj)
		if obj.GetAnnotations()[refreshTimestampAnnotation] == id {
			tidy = append(tidy, obj)
		}
	}
	if err := h.each(ask, func(obj *unstructured.Unstructured) error { return h.ask(ctx, obj) }); err != nil {
		return err
	}
	return h.each(tidy, func(obj *unstructured.Unstructured) error { return h.tidy(ctx, obj) })
}

// each runs f on all, some at a time, until one fails.
func (h *handshakes) each(objs []*unstructured.Unstructured, f func(*unstructured.Unstructured) error) error {
	return parallel(len(objs), func(i int) error { return f(objs[i]) })
}

var lastRefresh struct {
	sync.Mutex
	at time.Time
}

// newRefreshID is the time in RFC 3339 with nanoseconds, as Argo CD's own clients write it; no
// two of a process are the same.
func newRefreshID() string {
	lastRefresh.Lock()
	defer lastRefresh.Unlock()
	now := time.Now()
	if !now.After(lastRefresh.at) {
		now = lastRefresh.at.Add(time.Nanosecond)
	}
	lastRefresh.at = now
	return now.UTC().Format(time.RFC3339Nano)
}

// ask requests a refresh of obj as it was read; when it has changed since, the watch tells.
func (h *handshakes) ask(ctx context.Context, obj *unstructured.Unstructured) error {
	id := h.client.newRefreshID()
	done, err := h.patch(ctx, obj, refreshRequest(id))
	if done {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.pending[obj.GetName()] = id
	}
	return err
}

// tidy removes the timestamp that an Argo CD before 3.6 leaves behind.
func (h *handshakes) tidy(ctx context.Context, obj *unstructured.Unstructured) error {
	_, err := h.patch(ctx, obj, map[string]any{refreshTimestampAnnotation: nil})
	return err
}

// patch sets annotations of obj as it was read; done is false when it has changed or is gone.
func (h *handshakes) patch(ctx context.Context, obj *unstructured.Unstructured, annotations map[string]any) (done bool, err error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "annotations": annotations,
	}})
	if err != nil {
		return false, err
	}
	err = h.client.request(ctx, appRequest("patch", h.owner.Namespace, obj.GetName()), func() error {
		_, err := h.client.apps(h.owner.Namespace).Patch(ctx, obj.GetName(), types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
	if isConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// parallel runs f(0) to f(n-1), parallelRequests at a time, and joins their errors. After an error it begins no
// more: where the API server is gone, each request would try again for requestPatience.
func parallel(n int, f func(int) error) error {
	var wg sync.WaitGroup
	var failed atomic.Bool
	errs := make([]error, n)
	slots := make(chan struct{}, parallelRequests)
	for i := range n {
		slots <- struct{}{}
		if failed.Load() {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = f(i); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
