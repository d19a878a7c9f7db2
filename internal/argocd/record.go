package argocd

import "time"

// State of a set, as its record says.
type State string

const (
	// StateCreating: the first apply has begun and not ended well.
	StateCreating State = "creating"
	// StateComplete: an apply has ended well since.
	StateComplete State = "complete"
	// StateReleased: Terraform has handed the set over; the next create adopts it.
	StateReleased State = "released"
)

// Record is what is stored of a set beside its Applications, in the same namespace: it serves
// adoption, import, history and rollback, and survives a killed process.
//
// It is a stored format, version 1, to which fields of the payload have been added since: what does not
// know them reads the rest, and what knows them does without. A ConfigMap "argocdprogressive-<Owner.Hash>", the head, with
//
//	labels      argocdprogressive.io/set: <Owner.Hash>, argocdprogressive.io/record: head
//	data        version: "1", owner: "namespace/name", token, state,
//	            digest: SHA-256 of the payload (hex), parts: how many further ConfigMaps follow ("0")
//	binaryData  payload: the first 900 KiB of Payload as gzip'd JSON
//
// and, above 900 KiB, parts "argocdprogressive-<Owner.Hash>-<first 8 of digest>-<n>" (n from 1) with
// label argocdprogressive.io/record: part and the next 900 KiB each. Parts are written before the
// head and named after what they hold, so a head always finds its own.
type Record struct {
	// Token identifies the Create that began the set, or took it from another state. One that goes on with what Terraform
	// has handed over to it keeps the token.
	Token string
	State State
	Payload

	// version is the resourceVersion that it was read at; empty for a new one.
	version string
	// parts is how many parts the stored one has.
	parts int
}

// Payload is the part of a record that is stored compressed.
type Payload struct {
	// ApplicationSet as it was applied last.
	ApplicationSet map[string]any `json:"applicationSet,omitempty"`
	// Proven: Application -> the leaf text (its target) that a rollout has reached and seen healthy.
	Proven map[string]string `json:"proven,omitempty"`
	// Rollouts are the last ones, oldest first, at most KeptRollouts.
	Rollouts []Rollout `json:"rollouts,omitempty"`
	// Targets: Application -> what the last rollout is, or was, to bring it to. Records of earlier
	// versions have none.
	Targets map[string]Target `json:"targets,omitempty"`
	// Previous: Application -> its spec before the last rollout that changed it.
	Previous map[string]map[string]any `json:"previous,omitempty"`
	// TakeOver is there while the state is StateTakingOver.
	TakeOver *TakeOver `json:"takeOver,omitempty"`
}

// KeptRollouts is how many rollouts a record keeps.
const KeptRollouts = 10

// Target is what a rollout is to bring an Application to.
type Target struct {
	// Step is the label of its step, Mode how it gets to its target (rollout.Mode), and Hash the spec hash.
	Step string `json:"step"`
	Mode string `json:"mode"`
	Hash string `json:"hash"`
	// Revisions are absent where they were not known when the rollout began.
	Revisions []string `json:"revisions,omitempty"`
	// AcceptOutOfSync and AcceptSuspended are what the rollout took for done (rollout.Options).
	AcceptOutOfSync bool `json:"acceptOutOfSync,omitempty"`
	AcceptSuspended bool `json:"acceptSuspended,omitempty"`
}

// Rollout is one entry of the history of a set.
type Rollout struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	// Ended is zero while it runs, and for ever when the process was killed.
	Ended time.Time `json:"ended,omitzero"`
	// Actor is who applied it.
	Actor    string    `json:"actor,omitempty"`
	Pins     []Pin     `json:"pins,omitempty"`
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Result is how it ended as a whole (see the constants), and Reason why it did not succeed, in one
	// line. Both are empty while it runs, and in records of earlier versions.
	Result string `json:"result,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// The results of a rollout.
const (
	ResultSucceeded = "succeeded"
	ResultFailed    = "failed"
	ResultCancelled = "cancelled"
	ResultTimedOut  = "timed_out"
)

// Pin is the revision that a source was rolled out at.
type Pin struct {
	RepoURL        string `json:"repoURL"`
	Chart          string `json:"chart,omitempty"`
	TargetRevision string `json:"targetRevision"`
	// TagPrefix tells apart sources that look for the same version among other tags.
	TagPrefix string `json:"tagPrefix,omitempty"`
	Revision  string `json:"revision"`
}

// Outcome is how a step ended.
type Outcome struct {
	Step    string `json:"step"`
	Outcome string `json:"outcome"`
	// Started and Ended are zero where nothing of the step had to be rolled out, and in records of
	// earlier versions. A step that has not ended well ended with the rollout.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Done of Applications are at their target; both are zero in records of earlier versions.
	Done         int `json:"done,omitempty"`
	Applications int `json:"applications,omitempty"`
}
