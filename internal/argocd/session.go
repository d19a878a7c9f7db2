package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Cascade tells what becomes of an Application's resources when it is deleted.
type Cascade string

const (
	// CascadeDelete lets Argo CD delete the resources (its resources-finalizer). The default.
	CascadeDelete Cascade = "cascade"
	// CascadeOrphan leaves them in the cluster.
	CascadeOrphan Cascade = "orphan"
)

// SessionOptions are what a run does with Applications beyond what is rendered.
type SessionOptions struct {
	// Prune lets syncs delete resources that are no longer in the source. Nil means what each
	// Application's automated.prune says, whether automated sync is on or not.
	Prune *bool
	// ManualSyncs marks operations as started by a person: sync windows with manualSync let them
	// pass. Without it they count as automated, as in Argo CD's own rollouts.
	ManualSyncs bool
	// Cascade of deletions; empty means CascadeDelete.
	Cascade Cascade
	// Adopt are Applications that exist without our marks, or with those of another set, and that
	// this run may take over: name -> UID. A newer Application of the same name is not taken over.
	Adopt map[string]string
	// Ordered tells that deletions wait for others: then whether one is gone is made sure of.
	Ordered bool
	// From is what the caller has seen and checked: the run begins with it, and gets every event
	// since. Nil lists anew, and so does a run that adopts, which looks at the whole namespace.
	From *Listing
}

// Session is one run on the Applications of one set. It implements rollout.Cluster.
type Session struct {
	client  *Client
	owner   Owner
	desired map[string]map[string]any
	options SessionOptions

	mu sync.Mutex
	// seen is the latest full object of each Application, from the watch and from our own writes.
	seen map[string]*unstructured.Unstructured
	// attended are the names that the run works on; nil until it has told them, which means all.
	attended map[string]bool
	err      error
}

var (
	_ rollout.Cluster   = (*Session)(nil)
	_ rollout.Attendant = (*Session)(nil)
)

// Session prepares a run on the Applications of owner. objects are the rendered Applications by
// name; those that are not rendered any more can only be marked, terminated and deleted.
func (c *Client) Session(owner Owner, objects map[string]map[string]any, options SessionOptions) *Session {
	return &Session{client: c, owner: owner, desired: objects, options: options, seen: map[string]*unstructured.Unstructured{}}
}

// Attend tells which Applications the run works on; see rollout.Attendant.
func (s *Session) Attend(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attended = make(map[string]bool, len(names))
	for _, name := range names {
		s.attended[name] = true
	}
}

// Err tells why the channel of Watch was closed; nil when its context ended.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// remember keeps obj unless something later is known of the same Application. It reports
// whether obj is news.
func (s *Session) remember(obj *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.seen[obj.GetName()]
	if old != nil && old.GetUID() == obj.GetUID() && rank(old) > rank(obj) {
		return false
	}
	// A replacement without managedFields leaves them as they are, and they take much room.
	obj.SetManagedFields(nil)
	s.seen[obj.GetName()] = obj
	return true
}

// forget drops the Application of this UID.
func (s *Session) forget(name, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.seen[name]; old != nil && string(old.GetUID()) == uid {
		delete(s.seen, name)
	}
}

func (s *Session) latest(name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[name]
}

// ours tells whether the run may touch obj.
func (s *Session) ours(obj *unstructured.Unstructured) bool {
	return s.owner.owns(obj) || s.adoptable(obj)
}

func (s *Session) adoptable(obj *unstructured.Unstructured) bool {
	uid, ok := s.options.Adopt[obj.GetName()]
	return ok && uid == string(obj.GetUID())
}

// Do carries one action out; see rollout.Cluster.
func (s *Session) Do(ctx context.Context, action rollout.Action) rollout.Result {
	result := rollout.Result{Action: action}
	live, err := s.carryOut(ctx, action)
	switch {
	case err == nil:
		result.Live = live
	case isConflict(err):
		result.Conflict, result.Live = true, live
	case apierrors.IsNotFound(err):
		result.NotFound = true
	default:
		result.Err = err
		result.Hopeless = errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden)
		result.Unsure = action.Sync != nil && (transient(err) || isStale(err)) // a try before the last may have arrived
	}
	return result
}

func (s *Session) carryOut(ctx context.Context, action rollout.Action) (*rollout.Live, error) {
	if action.Verb == rollout.Write && action.Version == "" {
		return s.create(ctx, action)
	}
	obj := s.latest(action.App)
	if obj == nil {
		return nil, apierrors.NewNotFound(applications.GroupResource(), action.App)
	}
	if action.Verb == rollout.Delete && string(obj.GetUID()) != action.UID {
		return nil, apierrors.NewNotFound(applications.GroupResource(), action.App)
	}
	if action.Version != "" && action.Version != obj.GetResourceVersion() {
		return s.live(obj), errMovedOn
	}
	switch action.Verb {
	case rollout.Write:
		return s.write(ctx, action, obj)
	case rollout.DisableAutomated:
		return s.disableAutomated(ctx, obj)
	case rollout.Mark:
		return s.mark(ctx, action, obj)
	case rollout.Refresh:
		return s.refresh(ctx, action, obj)
	case rollout.Terminate:
		return s.terminate(ctx, action, obj)
	case rollout.PrepareDelete:
		return s.prepareDelete(ctx, action, obj)
	case rollout.Delete:
		return s.delete(ctx, action)
	}
	return nil, fmt.Errorf("unknown action %q on Application %s", action.Verb, action.App)
}

// store takes the answer of a write as the newest state. One that has lost our marks meanwhile is not ours any
// more, as in the watch.
func (s *Session) store(obj *unstructured.Unstructured, err error) (*rollout.Live, error) {
	if err != nil {
		return nil, err
	}
	if !s.ours(obj) {
		return nil, lostMarks(obj)
	}
	s.remember(obj)
	return s.live(obj), nil
}

// live are the facts of obj. As long as it does not carry our marks, all of them, it counts as
// written in no step: so one that is taken over gets them even where nothing else is to be done.
func (s *Session) live(obj *unstructured.Unstructured) *rollout.Live {
	facts := s.client.facts(obj)
	if !s.owner.owns(obj) || obj.GetLabels()[SetLabel] != s.owner.Hash() {
		facts.StepLabel = ""
	}
	facts.Prepared = !facts.AutomatedOn && slices.Equal(facts.Finalizers, deletionFinalizers(facts.Finalizers, s.options.Cascade))
	return &facts
}
