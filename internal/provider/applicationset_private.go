package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Keys of Terraform's private state. It is a stored format: later versions of the provider read
// what this one wrote.
const (
	// keyTargets: what Read found that each Application is to be rolled out to.
	keyTargets = "targets"
	// keyCluster: which cluster the set was created on.
	keyCluster = "cluster"
	// keyOwner: the token in the record of the set, when this was stored.
	keyOwner = "owner"
	// keyPhase: what ModifyPlan planned; Delete is told by it what its deletion is a part of.
	keyPhase = "phase"
)

// The operations in a phase.
const (
	opCreate        = "create"
	opUpdate        = "update"
	opForcedReplace = "forced-replace"
	opDestroy       = "destroy"
)

// phase tells what was planned when the private data was written.
type phase struct {
	Op        string `json:"op"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Existing counts the Applications of the resource that an update would become the
	// replacement of.
	Existing int `json:"existing,omitempty"`
	// Open are the steps that the creation of a set that was found live leaves open: something in them
	// stays as it is.
	Open []string `json:"open,omitempty"`
	// Stored are objects in the state, by the id of their set. Creation only: see storedObject.
	Stored map[string][]storedObject `json:"stored,omitempty"`
}

// cluster identifies a cluster by the UID of Argo CD's namespace; empty when the credentials may
// not read namespaces.
type cluster struct {
	UID string `json:"uid"`
	// Namespace is Argo CD's own: the provider's when the set was created.
	Namespace string `json:"namespace,omitempty"`
}

// owner is by what a state knows the record of its set: see argocd.Record.
type owner struct {
	Token string `json:"token"`
}

// targetsVersion is the version of targets; one that is not known is read as nothing.
const targetsVersion = 1

// targets are the facts of the last refresh that a plan is made from.
type targets struct {
	Version int                            `json:"version"`
	Pins    []pin                          `json:"pins"`
	Apps    map[string]rollout.KnownTarget `json:"apps"`
	// Unfinished are Applications, with their spec hash, that the last rollout has begun and not
	// finished, and that were never finished before.
	Unfinished map[string]string `json:"unfinished,omitempty"`
	// Live are the sources of Applications in which others may have changed them: the set ignores
	// differences, or they are not as rendered.
	Live map[string][]liveSource `json:"live,omitempty"`
	// Destinations are where the Applications are deployed to. Only a refresh stores them, for the plan of a
	// destroy, which Terraform makes in another process.
	Destinations []destination `json:"destinations,omitempty"`
}

// destination is the cluster that an Application's spec names, in one way or the other.
type destination struct {
	Name   string `json:"name,omitempty"`
	Server string `json:"server,omitempty"`
	// Apps are those that name it, sorted.
	Apps []string `json:"apps"`
}

// liveSource is what decides which revision of a live source is deployed.
type liveSource struct {
	RepoURL        string `json:"repoURL"`
	Chart          string `json:"chart,omitempty"`
	TargetRevision string `json:"targetRevision,omitempty"`
	TagPrefix      string `json:"tagPrefix,omitempty"`
}

// pin is one entry of rollout.Pins.
type pin struct {
	RepoURL        string `json:"repoURL"`
	Chart          string `json:"chart,omitempty"`
	TargetRevision string `json:"targetRevision"`
	TagPrefix      string `json:"tagPrefix,omitempty"`
	Revision       string `json:"revision"`
}

func newTargets(pins rollout.Pins, apps map[string]rollout.KnownTarget) targets {
	t := targets{Version: targetsVersion, Apps: apps}
	for source, revision := range pins {
		t.Pins = append(t.Pins, pin{
			RepoURL: source.RepoURL, Chart: source.Chart, TargetRevision: source.TargetRevision, TagPrefix: source.TagPrefix, Revision: revision,
		})
	}
	return t
}

func (t targets) pins() rollout.Pins {
	pins := rollout.Pins{}
	for _, p := range t.Pins {
		pins[rollout.Source{RepoURL: p.RepoURL, Chart: p.Chart, TargetRevision: p.TargetRevision, TagPrefix: p.TagPrefix}] = p.Revision
	}
	return pins
}

func (t targets) known(name string) *rollout.KnownTarget {
	if k, ok := t.Apps[name]; ok {
		return &k
	}
	return nil
}

// privateReader and privateWriter are what requests and responses offer of the private state.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readPrivate returns the zero value, and false, when nothing is stored under the key.
func readPrivate[T any](ctx context.Context, from privateReader, key string) (T, bool, diag.Diagnostics) {
	var value T
	raw, diags := from.GetKey(ctx, key)
	if diags.HasError() || len(raw) == 0 {
		return value, false, diags
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		diags.AddError("Damaged private state", fmt.Sprintf("The private data %q that this provider stored in Terraform's state cannot be read: %s.", key, err))
		return value, false, diags
	}
	return value, true, diags
}

// readTargets returns nothing for targets of a version that this provider does not know: then
// the plan leaves revisions open.
func readTargets(ctx context.Context, from privateReader) (targets, diag.Diagnostics) {
	t, ok, diags := readPrivate[targets](ctx, from, keyTargets)
	if !ok || t.Version != targetsVersion {
		return targets{}, diags
	}
	return t, diags
}

func writePrivate(ctx context.Context, to privateWriter, key string, value any) diag.Diagnostics {
	raw, err := json.Marshal(value)
	if err != nil {
		var diags diag.Diagnostics
		diags.AddError("Private state cannot be written", err.Error())
		return diags
	}
	return to.SetKey(ctx, key, raw)
}
