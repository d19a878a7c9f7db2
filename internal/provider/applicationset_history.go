package provider

import (
	"strings"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// recordedTargets are those of a plan, for the record: with the revisions that the run has resolved, as
// far as it has.
func recordedTargets(p rollout.Plan, s settings, o rollout.Outcome) map[string]argocd.Target {
	targets := make(map[string]argocd.Target, len(p.Apps))
	for i := range p.Apps {
		d := &p.Apps[i]
		t := argocd.Target{
			Step: stepName(p, d.Step), Mode: string(d.Mode), Hash: d.Hash,
			AcceptOutOfSync: s.acceptOutOfSync, AcceptSuspended: s.suspended == rollout.SuspendedAccept,
		}
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
		entry.Reason = strings.TrimPrefix(text, inWords(result)+": ")
	}
	entry.Outcomes = stepOutcomes(a.plan, a.settings.selection, a.outcome)
	spans, done := spansOf(a.outcome.Log, at), map[string]bool{}
	for _, name := range a.outcome.Done {
		done[name] = true
	}
	step := map[string]*argocd.Outcome{}
	for i := range entry.Outcomes {
		o := &entry.Outcomes[i]
		o.Started, o.Ended = spans[o.Step].began.UTC(), spans[o.Step].ended.UTC()
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

// inWords is a value that programs compare, such as "timed_out", as people read it.
func inWords(value string) string { return strings.ReplaceAll(value, "_", " ") }

// span is when a step was rolled out.
type span struct{ began, ended time.Time }

// spansOf tells, from the story of a run that ended at end, when each step in which something was
// rolled out began and ended: label -> span. A step that did not come to its end ended with the run.
func spansOf(log []rollout.Note, end time.Time) map[string]span {
	spans := map[string]span{}
	for _, n := range log {
		switch n.Moment {
		case rollout.MomentBegins:
			spans[n.Step] = span{began: n.At, ended: end}
		case rollout.MomentEnds:
			spans[n.Step] = span{began: spans[n.Step].began, ended: n.At}
		}
	}
	return spans
}
