package argocd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	events    = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	eventKind = events.GroupVersion().WithKind("Event")
)

const (
	// eventQueue is how many Events may wait; more are dropped.
	eventQueue = 2000
	// eventFarewell is how long those that still wait may take in the end.
	eventFarewell = 5 * time.Second
	// longestEvent bounds the message of an Event (1024 bytes; staging/src/k8s.io/api/core/v1, Kubernetes 1.34).
	longestEvent = 1000
	// eventSource says who writes the Events.
	eventSource = "terraform-provider-argocdprogressive"
)

// AppEvent is something that has happened to an Application of a rollout.
type AppEvent struct {
	App, UID string
	At       time.Time
	// Reason is one word in CamelCase.
	Reason, Message string
	// Warning makes it one; otherwise it is Normal.
	Warning bool
}

// EventWriter writes Kubernetes Events about the Applications of a set, beside a rollout: nothing
// that it does holds anything up. It needs the verb create on events (examples/rbac/events.yaml).
type EventWriter struct {
	client *Client
	owner  Owner
	cancel context.CancelFunc
	queue  chan AppEvent
	ended  chan struct{}

	mu      sync.Mutex
	err     error
	dropped int
}

// Events begins to write Events. c should be a client of its own: its rate limit is shared with all
// that it is asked, and no lease is needed.
func (c *Client) Events(ctx context.Context, owner Owner) *EventWriter {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &EventWriter{client: c, owner: owner, cancel: cancel, queue: make(chan AppEvent, eventQueue), ended: make(chan struct{})}
	go w.run(ctx)
	return w
}

// Write hands an Event over. It never waits; nobody may call it after Close.
func (w *EventWriter) Write(e AppEvent) {
	select {
	case w.queue <- e:
	default:
		w.lose()
	}
}

func (w *EventWriter) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped++
}

// Close writes what still waits, and tells why Events are missing, if any are. It takes
// eventFarewell at most.
func (w *EventWriter) Close() error {
	close(w.queue)
	timeout := time.AfterFunc(eventFarewell, w.cancel)
	<-w.ended
	timeout.Stop()
	w.cancel()
	switch {
	case w.dropped == 0:
		return nil
	case w.err == nil:
		return fmt.Errorf("%d Events are missing: the API server, or the provider's qps, took them too slowly", w.dropped)
	}
	return fmt.Errorf("%d Events are missing: %w", w.dropped, w.err)
}

// run writes all Events. Without the right to, it asks once only.
func (w *EventWriter) run(ctx context.Context) {
	defer close(w.ended)
	for e := range w.queue {
		if errors.Is(w.err, ErrForbidden) || errors.Is(w.err, ErrUnauthorized) {
			w.lose()
			continue
		}
		if err := w.write(ctx, e); err != nil {
			w.err = err
			w.lose()
		}
	}
}

func (w *EventWriter) write(ctx context.Context, e AppEvent) error {
	obj := w.object(e)
	what := RequestError{Verb: "create", Resource: events.Resource, Namespace: w.owner.Namespace}
	return w.client.requestWithin(ctx, firstPatience, what, func() error {
		_, err := w.client.dynamic.Resource(events).Namespace(w.owner.Namespace).Create(ctx, obj, metav1.CreateOptions{})
		return err
	})
}

// object is an Event as the API server takes it.
func (w *EventWriter) object(e AppEvent) *unstructured.Unstructured {
	kind := "Normal"
	if e.Warning {
		kind = "Warning"
	}
	at := e.At.UTC().Format(time.RFC3339)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"involvedObject": map[string]any{
			"apiVersion": applicationKind.GroupVersion().String(), "kind": applicationKind.Kind,
			"namespace": w.owner.Namespace, "name": e.App, "uid": e.UID,
		},
		"reason": e.Reason, "message": shortened(e.Message), "type": kind,
		"source":             map[string]any{"component": eventSource},
		"reportingComponent": eventSource,
		"firstTimestamp":     at, "lastTimestamp": at, "count": int64(1),
	}}
	obj.SetGroupVersionKind(eventKind)
	obj.SetNamespace(w.owner.Namespace)
	// A name of our own, not generateName: a request that is repeated makes no second one.
	obj.SetName(fmt.Sprintf("%.200s.%x", e.App, e.At.UnixNano()))
	return obj
}

// shortened is a message that an Event can hold.
func shortened(message string) string {
	if len(message) <= longestEvent {
		return message
	}
	cut := longestEvent
	for cut > 0 && message[cut]&0xC0 == 0x80 { // not within a character
		cut--
	}
	return message[:cut] + "..."
}
