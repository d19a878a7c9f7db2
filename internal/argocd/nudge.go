package argocd

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Argo CD can overlook what it was asked for. After each patch of an Application its controller
// puts the answer into its own cache (PatchAppWithWriteBack in controller/appcontroller.go,
// 3.6.1). When an operation, a deletion or a refresh arrives in that moment, the older copy hides
// it, and nothing happens before the next event of the Application; without one, before the
// resync minutes later. Seen: 2 of about 100 deletions on a busy machine. Any event will do, so an
// Application that was asked for something and has been silent since is touched.
//
// A comparison that fails because the repo server or git is away is not tried again either before
// the next event (processAppRefreshQueueItem, same file). So the touching goes on, ever more slowly:
// it may be that Argo CD does not run.
const (
	// nudgeAfter is how long an Application must have been silent, the first quickNudges times; then
	// twice as long each time, up to slowestNudge.
	nudgeAfter   = 2 * time.Second
	quickNudges  = 3
	slowestNudge = 15 * time.Second
	// busyNudge is how long it must have been silent at least while Argo CD answers for others: most
	// probably it waits in Argo CD's queue, and touching it would only make the queue longer.
	busyNudge = 10 * time.Second
	// nudgeEvery is how often silence is looked for.
	nudgeEvery = 500 * time.Millisecond
	// nudgesAtOnce is how many Applications are touched at one look at most: two requests each,
	// beside those of the rollout.
	nudgesAtOnce = 5
)

// nudger finds Applications that Argo CD seems to have overlooked.
type nudger struct {
	silent map[types.UID]silence
	// answered is when Argo CD was last seen to have done what some Application was asked for.
	answered time.Time
}

// silence is how long nothing has changed of an Application that was asked for something.
type silence struct {
	asked, version string
	since          time.Time
	nudges         int
}

// due is when the Application is to be touched, if Argo CD was last seen to answer at answered.
func (s silence) due(answered time.Time) time.Time {
	wait := nudgeAfter
	for n := quickNudges; n <= s.nudges && wait < slowestNudge; n++ {
		wait *= 2
	}
	busy := min(answered.Add(nudgeAfter).Sub(s.since), busyNudge)
	return s.since.Add(max(busy, min(wait, slowestNudge)))
}

// overlooked are those of the Applications that are to be touched now: of many, those that have
// waited longest.
func (n *nudger) overlooked(now time.Time, objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	asks := map[types.UID]string{}
	for _, obj := range objs {
		asks[obj.GetUID()] = askedFor(obj)
	}
	for uid, s := range n.silent {
		if asks[uid] != s.asked {
			n.answered = now
		}
	}
	var due []*unstructured.Unstructured
	silent := map[types.UID]silence{}
	for _, obj := range objs {
		asked := asks[obj.GetUID()]
		if asked == "" {
			continue
		}
		s := n.silent[obj.GetUID()]
		switch {
		case s.asked != asked:
			s = silence{asked: asked, version: obj.GetResourceVersion(), since: now}
		case s.version != obj.GetResourceVersion():
			s.version, s.since = obj.GetResourceVersion(), now
		case !now.Before(s.due(n.answered)):
			due = append(due, obj)
		}
		silent[obj.GetUID()] = s
	}
	slices.SortFunc(due, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(silent[a.GetUID()].since.Compare(silent[b.GetUID()].since), compareNames(a, b))
	})
	due = due[:min(len(due), nudgesAtOnce)]
	for _, obj := range due {
		s := silent[obj.GetUID()]
		s.since = now
		s.nudges++
		silent[obj.GetUID()] = s
	}
	n.silent = silent
	return due
}

// askedFor names what Argo CD is to do with an Application and has not begun, empty for nothing.
func askedFor(obj *unstructured.Unstructured) string {
	annotations := obj.GetAnnotations()
	switch phase := text(obj.Object, "status", "operationState", "phase"); {
	case obj.GetDeletionTimestamp() != nil:
		return "deletion"
	case dict(obj.Object, "operation") != nil && phase != rollout.Running && phase != rollout.Terminating:
		return "operation " + tokenOf(dict(obj.Object, "operation"))
	case annotations[refreshAnnotation] != "":
		return "refresh " + annotations[refreshTimestampAnnotation]
	}
	return ""
}

// nudge touches the Applications of the session that Argo CD has overlooked, until ctx ends.
func (s *Session) nudge(ctx context.Context) {
	ticker := time.NewTicker(nudgeEvery)
	defer ticker.Stop()
	var n nudger
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			s.client.touch(ctx, n.overlooked(now, s.touchable()))
		}
	}
}

// touchable are the Applications that the run works on. Others of the set are there to be looked at:
// one that rollout.hold names is left alone, whatever it waits for.
func (s *Session) touchable() []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	objs := make([]*unstructured.Unstructured, 0, len(s.seen))
	for name, obj := range s.seen {
		if s.attended == nil || s.attended[name] {
			objs = append(objs, obj)
		}
	}
	return objs
}

// touch makes events of Applications: an annotation comes and goes. Whether it succeeds is seen by
// what Argo CD does then, so errors are left alone.
func (c *Client) touch(ctx context.Context, objs []*unstructured.Unstructured) {
	_ = parallel(len(objs), func(i int) error { // f returns no errors
		for _, value := range []any{time.Now().UTC().Format(time.RFC3339Nano), nil} {
			body, err := json.Marshal(map[string]any{"metadata": map[string]any{
				"uid": objs[i].GetUID(), "annotations": map[string]any{nudgeAnnotation: value},
			}})
			if err != nil {
				return nil
			}
			_, err = c.apps(objs[i].GetNamespace()).Patch(ctx, objs[i].GetName(), types.MergePatchType, body, metav1.PatchOptions{})
			if err != nil {
				return nil
			}
		}
		return nil
	})
}
