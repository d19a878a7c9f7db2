package rollout

import (
	"slices"
	"time"
)

// Sync states, as Argo CD names them.
const (
	Synced      = "Synced"
	OutOfSync   = "OutOfSync"
	SyncUnknown = "Unknown"
)

// Health states, as Argo CD names them.
const (
	Healthy       = "Healthy"
	Suspended     = "Suspended"
	Progressing   = "Progressing"
	Missing       = "Missing"
	Degraded      = "Degraded"
	HealthUnknown = "Unknown"
)

// Operation phases, as Argo CD names them.
const (
	Running     = "Running"
	Terminating = "Terminating"
	Succeeded   = "Succeeded"
	Failed      = "Failed"
	Error       = "Error"
)

// Live is what is known of one live Application at one moment. It is never modified.
type Live struct {
	Name string
	UID  string
	// Version is the precondition for writes (the resourceVersion).
	Version string
	// Rank orders observations of one UID: a higher one is later.
	Rank uint64
	// Hash is the spec hash over what we manage of it.
	Hash string
	// StepLabel is the step it was last written in, as stored with it; empty if unknown.
	StepLabel string
	// Sources are those of the live spec.
	Sources []Source
	// AutomatedOn tells that Argo CD syncs it by itself.
	AutomatedOn bool
	// Terminating tells that its deletion has begun.
	Terminating bool
	// SkipReconcile tells that Argo CD has been told to leave it alone.
	SkipReconcile bool
	Operation     Operation
	Sync          Comparison
	Health        Condition
	// Errors are Argo CD's error conditions (types ending in Error), sorted by type.
	Errors   []Condition
	Deployed Deployed
	// RefreshID is that of a refresh asked for and not answered yet; "?" for somebody else's.
	RefreshID string
	// ManualAfter is what a Write of a manual step stored, zero if none.
	ManualAfter int64
	// Ended is when the last operation ended, and Compared when Argo CD last compared: both by the
	// clock of its application controller, in whole seconds; zero if unknown.
	Ended, Compared time.Time
	// Prepared tells that PrepareDelete would change nothing but ask for a refresh.
	Prepared bool
	// Unfinished describes resources that are not Synced or not Healthy, for messages.
	Unfinished []string
	Finalizers []string
}

// anotherEnd tells that an operation has ended between two states of an Application. Two of somebody
// else that began in the same second look the same otherwise.
func (l *Live) anotherEnd(before *Live) bool {
	return l.Deployed.ID != before.Deployed.ID || !l.Ended.Equal(before.Ended)
}

// rested tells that Argo CD has compared the Application a second or more after the end of its
// last operation. Both times are of the same clock, but without the fraction.
func (l *Live) rested() bool {
	return !l.Ended.IsZero() && l.Compared.Sub(l.Ended) >= 2*time.Second
}

// whole tells that Argo CD has compared this spec, and found all of it in the cluster. Whether that was
// after the last operation is another question.
func (l *Live) whole() bool { return l.Prepared && l.Sync.Status == Synced && l.Sync.OfSpec }

// wholeSince tells that the last operation has succeeded, and that Argo CD has found all of the
// Application, with what that deployed, in the second in which it ended, or later.
func (l *Live) wholeSince() bool {
	o := l.Operation
	return l.whole() && o.Phase == Succeeded && l.Sync.at(o.Revisions) && !l.Ended.IsZero() && !l.Compared.Before(l.Ended)
}

// Condition is a state with Argo CD's own words.
type Condition struct {
	Type    string
	Message string
	// Kind is what an error condition means, where its text tells more than its type.
	Kind Kind
}

// Comparison is Argo CD's last comparison of live and desired state.
type Comparison struct {
	Status string
	// Revisions that were compared, one for each source; a name that could not be resolved stays a name.
	Revisions []string
	// OfSpec tells that it was made with the sources, destination and ignoreDifferences of the live spec.
	OfSpec bool
}

// Operation is the operation that is pending, running, or ended last.
type Operation struct {
	// Pending is the token of the operation asked for (".operation"), "?" for one that is not ours,
	// empty when none is.
	Pending string
	// PendingTarget and PendingRevisions are what the pending operation is to deploy.
	PendingTarget    string
	PendingRevisions []string
	// Token is that of the operation in the status, "?" for one that is not ours, empty for none.
	Token string
	// Target is the spec hash that the operation in the status said it deploys, empty if not ours.
	Target string
	// Phase is empty when the status knows no operation.
	Phase   string
	Message string
	// Cause is what a failed attempt failed for, where its message tells; empty for any other sync
	// failure.
	Cause Kind
	// Failure is what the attempt said that has failed, between it and the next one; it is the same
	// for attempts that fail in the same way.
	Failure string
	// Revisions are those of the sync result, or asked for until there is one.
	Revisions []string
	// Retries counts failed attempts of a running operation.
	Retries int
	// Blocked tells that a sync window holds it back.
	Blocked bool
	// Incomplete lists resources that the sync left out or failed on (PruneSkipped, SyncFailed).
	Incomplete []string
	// Started distinguishes operations without a token (the start time, as text).
	Started string
}

// Active tells whether an operation is asked for or has not ended.
func (o Operation) Active() bool {
	return o.Pending != "" || o.Phase == Running || o.Phase == Terminating
}

// Deployed is the newest entry of the deployment history: the last full sync that succeeded.
type Deployed struct {
	// ID grows with each entry; zero means no history.
	ID        int64
	Revisions []string
	// OfSpec tells that its sources are those of the live spec.
	OfSpec bool
	// Target is the spec hash deployed, where the sync was ours.
	Target string
}

// Source identifies what a source of an Application deploys, without its parameters.
type Source struct {
	RepoURL        string
	Chart          string
	TargetRevision string
	// TagPrefix is that of the git tags among which the target revision looks for a version; empty where
	// it looks for none.
	TagPrefix string
}

// Pins are resolved revisions: what a name meant when the rollout was planned or began.
type Pins map[Source]string

// newer tells whether l may replace old as the state known of the Application.
func (l *Live) newer(old *Live) bool {
	return old == nil || old.UID != l.UID || l.Rank >= old.Rank
}

// at tells whether the last comparison was made at these revisions.
func (c Comparison) at(revisions []string) bool { return slices.Equal(c.Revisions, revisions) }
