package rollout

// NoStep is the step of Applications that no step selects.
const NoStep = -1

// Mode is how an Application of the plan gets to its target.
type Mode string

const (
	// ModeSync: we write it and start the operation.
	ModeSync Mode = "sync"
	// ModeManual: we write it; a person syncs it (max_update 0).
	ModeManual Mode = "manual"
	// ModeAutomated: we write it; Argo CD's automated sync syncs it (AllAtOnce only).
	ModeAutomated Mode = "automated"
	// ModeWrite: we write it and nobody syncs it (Applications of no step).
	ModeWrite Mode = "write"
)

// Desired is one Application as it shall be.
type Desired struct {
	Name string
	// Step is the index into Plan.Steps, or NoStep.
	Step int
	Mode Mode
	// Hash is the spec hash of what is written.
	Hash    string
	Sources []Source
	// Revisions is the target of each source; nil when it is not known before the apply: then the
	// run resolves it, once for each Source, and Plan.Pins grows.
	Revisions []string
	// Proven tells that an earlier rollout has brought it to exactly this target and seen it
	// healthy. If it is unhealthy now, that is not this rollout's work, but it holds later steps back.
	Proven bool
}

// Step is one step of the strategy.
type Step struct {
	Label string
	// Limit is how many may be in flight at once; negative means no limit.
	Limit int
}

// Plan is what a run shall reach.
type Plan struct {
	Steps []Step
	// Apps is sorted by name.
	Apps []Desired
	// NoStepLabel is stored with Applications of no step.
	NoStepLabel string
	// Pins are the revisions already resolved.
	Pins Pins
	// DisableAutomated switches automated sync off on all Applications before anything else.
	DisableAutomated bool
	// Held are Applications of later steps that this run leaves as they are; DisableAutomated is
	// meant for them as well, or Argo CD would deploy there what the first steps have not proven.
	Held []string
	// Removals are the names to delete, in groups: a group is started when the one before it is gone.
	// They are deleted after all of Apps is done.
	Removals [][]string
}
