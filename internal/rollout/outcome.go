package rollout

import (
	"fmt"
	"time"
)

// Options are the limits of a run.
type Options struct {
	// Namespace of the Applications, for the commands that texts name.
	Namespace string
	// AppTimeout is how long one Application may take from its turn until it is done.
	AppTimeout time.Duration
	// MinHealthy is how long an Application must stay healthy before it counts as done.
	MinHealthy time.Duration
	// DegradedGrace is how long Degraded, Missing or unknown health is given to recover.
	DegradedGrace time.Duration
	// ErrorGrace is how long an error that Argo CD may overcome by itself is given.
	ErrorGrace time.Duration
	// DeleteTimeout is how long one deletion may take.
	DeleteTimeout time.Duration
	// IgnoreUnhealthyEarlier lets a step start although an earlier one has unhealthy Applications.
	IgnoreUnhealthyEarlier bool
	// SoakTime is how long all Applications of a step that was rolled out must stay healthy before
	// the step counts as done.
	SoakTime time.Duration
	// MaxFailures is how many Applications may fail before nothing new starts. Deletions begin only
	// when none has.
	MaxFailures int
	// Suspended is what Suspended health means; empty is SuspendedWait.
	Suspended SuspendedPolicy
	// AllRetries lets Argo CD use up the retries of an operation; without it an attempt that has
	// failed, and whose message still stands ErrorGrace later, ends it.
	AllRetries bool
	// WaitForWindow waits until a closed sync window opens; AppTimeout stands still meanwhile.
	WaitForWindow bool
	// AcceptOutOfSync takes an Application that was synced to its target and is healthy as done
	// although Argo CD still finds it out of sync.
	AcceptOutOfSync bool
	// Deadline ends the run; what is in flight is then given up and terminated. Zero means none.
	Deadline time.Time
	// NewID makes ids for operations and refreshes, never the same twice, across runs as well.
	NewID func() string
	// Notes receives each transition; nil discards them. It must not block.
	Notes func(Note)
	// Pulse is after how long without a transition Notes is told what is waited for, and again as
	// often; zero is never. Such notes are not part of the Log.
	Pulse time.Duration
}

// SuspendedPolicy is what Suspended health (a paused Argo Rollout or Deployment) means.
type SuspendedPolicy string

// The policies for Suspended health.
const (
	// SuspendedWait waits until somebody resumes it; AppTimeout stands still meanwhile.
	SuspendedWait SuspendedPolicy = "wait"
	// SuspendedAccept takes it for healthy.
	SuspendedAccept SuspendedPolicy = "accept"
	// SuspendedFail takes it for as bad as Degraded, with the same grace.
	SuspendedFail SuspendedPolicy = "fail"
)

// Phase is where an Application stands in the rollout, named as Argo CD's progressive syncs do.
type Phase string

// The phases. Argo CD has no PhaseFailed, and no phases of a deletion.
const (
	PhaseWaiting     Phase = "Waiting"
	PhasePending     Phase = "Pending"
	PhaseProgressing Phase = "Progressing"
	PhaseHealthy     Phase = "Healthy"
	PhaseFailed      Phase = "Failed"
	PhaseDeleting    Phase = "Deleting"
	PhaseDeleted     Phase = "Deleted"
)

// Moment is what a Note about a step as a whole tells.
type Moment string

// The moments. A step in which nothing has to be rolled out has none.
const (
	MomentBegins  Moment = "begins"
	MomentSoaks   Moment = "soaks"
	MomentEnds    Moment = "ends"
	MomentWaiting Moment = "waiting"
)

// Note is one line of the story of a run.
type Note struct {
	At  time.Time
	App string
	// UID is that of the Application, empty where it does not exist.
	UID  string
	Step string
	// Phase is empty for lines about a whole step, which may have a Moment instead.
	Phase  Phase
	Moment Moment
	Text   string
	// Done is how many Applications of the run, those to be deleted included, are done.
	Done int
}

// String is the line as people read it, with the time of day in UTC.
func (n Note) String() string {
	what := n.Step
	if n.App != "" {
		what = fmt.Sprintf("%s (%s)", n.App, n.Step)
	}
	if n.Phase != "" {
		what += " " + string(n.Phase)
	}
	return fmt.Sprintf("%s %s: %s", n.At.UTC().Format("15:04:05"), what, n.Text)
}

// Kind is why an Application failed.
type Kind string

// The kinds of failure.
const (
	KindSyncFailed       Kind = "sync failed"
	KindComparison       Kind = "comparison failed"
	KindInvalid          Kind = "invalid Application"
	KindDegraded         Kind = "degraded"
	KindMissing          Kind = "missing resources"
	KindHealthUnknown    Kind = "health unknown"
	KindOutOfSync        Kind = "out of sync after the sync"
	KindTimeout          Kind = "timed out"
	KindVanished         Kind = "vanished"
	KindRecreated        Kind = "recreated by someone else"
	KindDeleting         Kind = "being deleted"
	KindSuperseded       Kind = "synced to another revision by someone else"
	KindChanged          Kind = "changed by someone else"
	KindOvertaken        Kind = "synced by automated sync before its turn"
	KindSkipReconcile    Kind = "reconciliation switched off"
	KindSilent           Kind = "no answer from Argo CD"
	KindRequest          Kind = "request refused"
	KindUnhealthyEarlier Kind = "unhealthy earlier step"
	KindSyncWindow       Kind = "sync window closed"
	KindLost             Kind = "operation lost"
	KindDeletion         Kind = "deletion not finished"
	KindSuspended        Kind = "suspended"
	KindProgressing      Kind = "still progressing"
	KindOccupied         Kind = "occupied by another operation"
	KindUnsteady         Kind = "unhealthy while soaking"
	KindProject          Kind = "AppProject missing"
	KindNotPermitted     Kind = "not permitted by its AppProject"
	KindDestination      Kind = "unknown destination"
)

// Failure is one Application that could not be brought to its target.
type Failure struct {
	App  string
	Step string
	Kind Kind
	// Doing is what was being done ("syncing to main@1f3a9c2").
	Doing string
	// Said is what Argo CD or the API server said, empty if nothing.
	Said string
	// Revisions are the target, for the next command.
	Revisions []string
	// Err is the error of a refused request.
	Err error
}

// Stop is why a run ended before its goal, other than by a Failure.
type Stop string

// The reasons to stop.
const (
	StopNone      Stop = ""
	StopCancelled Stop = "cancelled"
	StopDeadline  Stop = "deadline"
	StopWatch     Stop = "watch lost"
)

// Outcome is what a run reached.
type Outcome struct {
	// Failures in the order in which they were seen. None, with StopNone, means success.
	Failures []Failure
	Stop     Stop
	// Err belongs to StopWatch.
	Err error
	// Step is the label of the step in which the run ended.
	Step string
	// Soaking is the label of the step that was rolled out but had not soaked for long enough;
	// empty for none.
	Soaking string
	// Done are the Applications proven at their target, sorted; Open those that are not yet.
	Done []string
	Open []OpenApp
	// Deleted are the Applications found gone, sorted.
	Deleted []string
	// Revisions are the targets of all Applications as far as resolved.
	Revisions map[string][]string
	// Pins are those of the plan and those that the run resolved.
	Pins Pins
	// Log is the story, oldest first.
	Log []Note
}

// OpenApp is an Application that the run has not brought to its target.
type OpenApp struct {
	Name   string
	Step   string
	Phase  Phase
	Reason string
}

// OK tells whether everything planned is done.
func (o Outcome) OK() bool { return len(o.Failures) == 0 && o.Stop == StopNone && len(o.Open) == 0 }
