package provider

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/user"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// snapshotTimeout is how long looking at what was reached may take when the apply itself has
// been cancelled: CI systems kill a process some seconds after they have asked it to stop.
const snapshotTimeout = 10 * time.Second

// apply is one rollout of a set.
type apply struct {
	*connected
	settings settings
	content  content
	plan     rollout.Plan
	adopt    map[string]string
	// known is what the plan was made from.
	known targets
	// kept is what a create leaves as it is.
	kept    waves
	timeout time.Duration
	// provenBefore is what was proven when the run began.
	provenBefore map[string]string
	// touched tells that something has been written.
	touched bool
	outcome rollout.Outcome
}

// run writes the record, rolls the plan out and writes the record again. It returns what went
// wrong besides the outcome.
func (a *apply) run(ctx context.Context) diag.Diagnostics {
	diags := a.begin(ctx)
	if diags.HasError() {
		return diags
	}
	session := a.client.Session(a.owner, objectsOf(a.content.apps), argocd.SessionOptions{
		Prune: a.settings.prune, ManualSyncs: a.settings.windowPolicy == windowManual, Cascade: a.cascade(), Adopt: a.adopt, From: a.listing,
		Ordered: len(a.plan.Removals) > 1,
	})
	a.roll(ctx, session, "rollout")
	// The apply may have been cancelled: what was reached is worth storing nevertheless.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotTimeout)
	defer cancel()
	diags.Append(a.end(ctx)...)
	diags.Append(a.unwatch()...)
	return diags
}

func (a *apply) cascade() argocd.Cascade {
	if a.settings.orphan {
		return argocd.CascadeOrphan
	}
	return argocd.CascadeDelete
}

// begin announces the rollout in the record.
func (a *apply) begin(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	a.record.ApplicationSet = named(a.owner, a.content.document)
	a.rememberPrevious()
	a.provenBefore, a.record.Proven = a.record.Proven, a.stillProven()
	a.record.Targets = recordedTargets(a.plan, a.settings, a.outcome)
	a.record.Rollouts = append(a.record.Rollouts, argocd.Rollout{ID: a.runID, Started: time.Now().UTC(), Actor: actor()})
	if extra := len(a.record.Rollouts) - argocd.KeptRollouts; extra > 0 {
		a.record.Rollouts = a.record.Rollouts[extra:]
	}
	if err := a.client.SaveRecord(ctx, a.owner, a.record); err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Writing the record of %s before the first Application", a.owner), err))
		return diags
	}
	a.touched, a.recorded = true, true
	return diags
}

// rememberPrevious keeps the specs that the rollout replaces. A rollout that goes on with an
// unfinished one adds to what that has kept.
func (a *apply) rememberPrevious() {
	if n := len(a.record.Rollouts); a.record.Previous == nil || n == 0 || finished(a.record.Rollouts[n-1]) {
		a.record.Previous = map[string]map[string]any{}
	}
	hashes := map[string]string{}
	for i := range a.live {
		hashes[a.live[i].Name] = a.live[i].Hash
	}
	for _, d := range a.plan.Apps {
		_, kept := a.record.Previous[d.Name]
		if obj := a.objects[d.Name]; obj != nil && !kept && hashes[d.Name] != d.Hash {
			if spec, ok := obj.Object["spec"].(map[string]any); ok {
				a.record.Previous[d.Name] = spec
			}
		}
	}
}

// The outcomes of a step in the record.
const (
	stepDone   = "done"
	stepFailed = "failed"
	stepOpen   = "open"
	stepHeld   = "held_back"
)

func finished(r argocd.Rollout) bool {
	for _, o := range r.Outcomes {
		if o.Outcome != stepDone {
			return false
		}
	}
	return !r.Ended.IsZero()
}

// end stores what the rollout has reached.
func (a *apply) end(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	if !a.outcome.OK() && a.lease.Lost() != nil {
		return diags // The record belongs to whoever holds the lease now.
	}
	if a.outcome.OK() {
		a.record.State = argocd.StateComplete
	}
	a.record.Proven = a.nowProven()
	a.record.Targets = recordedTargets(a.plan, a.settings, a.outcome)
	a.ended(&a.record.Rollouts[len(a.record.Rollouts)-1], time.Now().UTC())
	if err := a.client.SaveRecord(ctx, a.owner, a.record); err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Writing the record of %s after the rollout", a.owner), err))
	}
	return diags
}

// nowProven are the leaves that a rollout has reached: those of this one, and older ones of
// Applications whose turn has not come in this one. What was begun and not finished is unproven,
// even if its configuration goes back to what it was.
func (a *apply) nowProven() map[string]string {
	proven, done := map[string]string{}, map[string]bool{}
	for _, name := range a.outcome.Done {
		done[name] = true
	}
	for _, open := range a.outcome.Open {
		if before, ok := a.provenBefore[open.Name]; ok && open.Phase == rollout.PhaseWaiting {
			proven[open.Name] = before
		}
	}
	for i := range a.plan.Apps {
		// Until its step has soaked, an Application is done but not proven: the next run soaks again.
		if d := &a.plan.Apps[i]; done[d.Name] && (a.outcome.Soaking == "" || stepName(a.plan, d.Step) != a.outcome.Soaking) {
			proven[d.Name] = leafOf(d, a.outcome)
		}
	}
	for _, name := range a.content.heldNames(liveWaves(a.content, a.live, nil)) {
		if before, ok := a.provenBefore[name]; ok {
			proven[name] = before
		}
	}
	return proven
}

// stillProven is what is proven however the run ends: a process that is killed takes nothing back, and what it
// has brought away from its old target must not count as proven there should the configuration go back.
func (a *apply) stillProven() map[string]string {
	proven := maps.Clone(a.record.Proven)
	for i := range a.plan.Apps {
		if d := &a.plan.Apps[i]; !d.Proven {
			delete(proven, d.Name)
		}
	}
	return proven
}

// stepOutcomes tells how each step ended.
func stepOutcomes(p rollout.Plan, s selection, o rollout.Outcome) []argocd.Outcome {
	ended := map[string]string{}
	for _, open := range o.Open {
		ended[open.Step] = stepOpen
	}
	for _, f := range o.Failures {
		ended[f.Step] = stepFailed
	}
	out := make([]argocd.Outcome, len(p.Steps))
	if o.Soaking != "" {
		ended[o.Soaking] = stepOpen
	}
	for i, step := range p.Steps {
		out[i] = argocd.Outcome{Step: step.Label, Outcome: stepDone}
		if how, ok := ended[step.Label]; ok {
			out[i].Outcome = how
		} else if s.stopAfter > 0 && i >= s.stopAfter {
			out[i].Outcome = stepHeld
		}
	}
	return out
}

// snapshot is what is live now; ok is false when that cannot be told.
func (a *apply) snapshot(ctx context.Context) (live []rollout.Live, ok bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotTimeout)
	defer cancel()
	live, _, err := a.client.List(ctx, a.owner)
	if err != nil {
		tflog.Warn(ctx, "cannot list the Applications after the rollout", map[string]any{"set": a.owner.String(), "error": err.Error()})
	}
	return live, err == nil
}

// options are the limits of a run that ends after timeout.
func (s settings) options(p rollout.Plan, timeout time.Duration) rollout.Options {
	return rollout.Options{
		SoakTime:               s.soakTime,
		MaxFailures:            s.maxFailures.floor(len(p.Apps)),
		Suspended:              s.suspended,
		AllRetries:             s.allRetries,
		WaitForWindow:          s.windowPolicy == windowWait,
		AcceptOutOfSync:        s.acceptOutOfSync,
		AppTimeout:             s.appTimeout,
		MinHealthy:             s.minHealthyTime,
		DegradedGrace:          s.degradedGrace,
		ErrorGrace:             s.errorGrace,
		DeleteTimeout:          s.appTimeout,
		IgnoreUnhealthyEarlier: !s.requireHealthyEarlier,
		Deadline:               time.Now().Add(timeout),
		NewID:                  newID,
	}
}

// newID is 32 random hexadecimal digits.
func newID() string {
	var b [16]byte
	// crypto/rand never fails: the process ends where the system has no randomness.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// actor is who runs Terraform, for the history: user@host as far as known.
func actor() string {
	name := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
