package rollout

import (
	"context"
	"time"
)

// Cluster is everything the engine needs of the world. Implementations are used by one run at a time.
type Cluster interface {
	// Watch sends one Event for every live Application of the set, then one with Listed set, then
	// one for every change, in order for each Application, until ctx ends or the watch is lost for
	// good, which closes the channel. Short interruptions are healed by the implementation: it sends
	// an Event with Away set, then what has changed meanwhile (Applications that vanished as deleted),
	// then one with Listed set again.
	Watch(ctx context.Context) (<-chan Event, error)
	// Do carries one action out and returns when the API server has answered. It never retries a
	// conflict: the engine decides again on the newer state. It is called from several goroutines.
	Do(ctx context.Context, action Action) Result
	// Err tells why the channel of Watch was closed.
	Err() error
}

// Attendant is a Cluster that does something for Applications by itself. It is told before Watch which
// ones the run works on: the others it may look at, but not touch.
type Attendant interface {
	Attend(names []string)
}

// Clock is the time of a run.
type Clock interface {
	Now() time.Time
	// After sends once when d has passed.
	After(d time.Duration) <-chan time.Time
}

// Event is one observation of one Application.
type Event struct {
	Name string
	// Live is the state seen; nil means that the Application is gone.
	Live *Live
	// UID is that of the Application that is gone.
	UID string
	// Listed marks the end of the initial list, and the moment in which an interrupted watch has told
	// all that it had missed; Name is then empty.
	Listed bool
	// Away tells that the watch is interrupted, until Listed is told; Name is then empty.
	Away bool
}

// Verb is what an Action does.
type Verb string

const (
	// DisableAutomated sets only spec.syncPolicy.automated.enabled to false. It deploys nothing.
	DisableAutomated Verb = "disable automated sync"
	// Write creates the Application, or replaces spec and managed metadata, in one guarded request,
	// together with the operation where Action.Sync is set.
	Write Verb = "write"
	// Mark writes only our own annotations (the step), leaving the spec alone.
	Mark Verb = "mark"
	// Refresh asks Argo CD for a fresh comparison, identified by Action.RefreshID.
	Refresh Verb = "refresh"
	// Terminate ends the operation that is running.
	Terminate Verb = "terminate"
	// PrepareDelete makes sure, in one guarded request, that the deletion finalizer asked for
	// is there (or is not), that automated sync is off, and asks for a refresh with RefreshID.
	PrepareDelete Verb = "prepare deletion"
	// Delete deletes the Application of exactly Action.UID, as long as it is at Action.Version: an
	// operation that began meanwhile would be overlooked.
	Delete Verb = "delete"
)

// Action is one request to the cluster about one Application.
type Action struct {
	Verb Verb
	App  string
	// Version is the version (Live.Version) the decision was made on; the request fails with
	// Conflict when the Application has moved on. Empty for Write means: must not exist yet.
	Version string
	// UID is set for Delete.
	UID string
	// StepLabel is stored with the Application by Write and Mark.
	StepLabel string
	// Sync is the operation that Write starts; nil writes the spec alone.
	Sync *SyncRequest
	// ManualAfter, for Write in a manual step, is the id of the newest history entry before the
	// write: only a later one proves that a person has synced. Zero means none.
	ManualAfter int64
	// RefreshID identifies a refresh (Refresh and PrepareDelete).
	RefreshID string
	// Token, for Terminate, is the operation meant, empty for one that is not ours.
	Token string
}

// SyncRequest is the operation that Write starts.
type SyncRequest struct {
	// Token identifies the operation; Live.Operation.Token gives it back.
	Token string
	// Target is the spec hash written; Argo CD's history keeps it.
	Target string
	// Revisions pins each source.
	Revisions []string
}

// Result answers an Action.
type Result struct {
	Action Action
	// Live is the Application after the action, where the answer tells it.
	Live *Live
	// Conflict: the Application has moved on (or exists already); decide again.
	Conflict bool
	// NotFound: the Application is gone.
	NotFound bool
	// Err is any other failure, after the implementation's own retries of transient ones.
	Err error
	// Hopeless, with Err: no other request will fare better (credentials, permissions).
	Hopeless bool
	// Unsure, with Err, of a Write that starts an operation: it may have been accepted all the same.
	Unsure bool
}
