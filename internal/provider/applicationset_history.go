package provider

import (
	"strings"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// recordedTargets are those of a plan, for the record: with the revisions that the run has resolved, as
// far as it has.
func recordedTargets(p rollout.Plan, o rollout.Outcome) map[string]argocd.Target {
	targets := make(map[string]argocd.Target, len(p.Apps))
	for i := range p.Apps {
		d := &p.Apps[i]
		t := argocd.Target{Step: stepName(p, d.Step), Mode: string(d.Mode), Hash: d.Hash}
		if d.Mode == rollout.ModeSync {
			t.Revisions = revisionsOf(d, o)
		}
		targets[d.Name] = t
	}
	return targets
}

// ended completes the entry of a rollout in the record.
func (a *apply) ended(entry *argocd.Rollout, at time.Time) {
	result, text := resultOf(a.outcome)
	entry.Ended, entry.Result = at, result
	if result != argocd.ResultSucceeded {
		entry.Reason = strings.TrimPrefix(text, result+": ")
	}
	entry.Outcomes = stepOutcomes(a.plan, a.settings.selection, a.outcome)
	spans, done := progress.Spans(a.outcome.Log, at), map[string]bool{}
	for _, name := range a.outcome.Done {
		done[name] = true
	}
	step := map[string]*argocd.Outcome{}
	for i := range entry.Outcomes {
		o := &entry.Outcomes[i]
		o.Started, o.Ended = spans[o.Step].Began.UTC(), spans[o.Step].Ended.UTC()
		step[o.Step] = o
	}
	for i := range a.plan.Apps {
		d := &a.plan.Apps[i]
		if o := step[stepName(a.plan, d.Step)]; o != nil {
			o.Applications++
			if done[d.Name] {
				o.Done++
			}
		}
	}
	for _, p := range newTargets(a.outcome.Pins, nil).Pins {
		entry.Pins = append(entry.Pins, argocd.Pin(p))
	}
}
