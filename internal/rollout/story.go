package rollout

import (
	"slices"
	"strings"
	"time"
)

// say adds a line to the story.
func (e *engine) say(now time.Time, a *app, phase Phase, text string) {
	n := Note{At: now, Phase: phase, Text: text, Step: e.stepLabel()}
	if a != nil {
		n.App, n.Step = a.name, a.label
	}
	e.log = append(e.log, n)
	if e.opt.Notes != nil {
		e.opt.Notes(n)
	}
}

// heldLabel is the step of an Application that is held back, in the story.
const heldLabel = "held back"

func (e *engine) stepLabel() string {
	switch e.stage {
	case stepping:
		if e.step < len(e.plan.Steps) {
			return e.plan.Steps[e.step].Label
		}
	case writing:
		return e.plan.NoStepLabel
	case deleting:
		return "deletion"
	case disabling:
		return "switching automated sync off"
	}
	return "start"
}

// phaseOf names the state as Argo CD's progressive syncs do.
func (a *app) phaseOf() Phase {
	switch a.state {
	case idle:
		return PhaseWaiting
	case entering:
		return PhasePending
	case done:
		if a.want == nil {
			return PhaseDeleted
		}
		return PhaseHealthy
	case failed, givingUp:
		return PhaseFailed
	case removing:
		return PhaseDeleting
	}
	return PhaseProgressing
}

// outcome sums the run up.
func (e *engine) outcome() Outcome {
	o := Outcome{
		Failures: e.failures, Stop: e.stop, Err: e.stopErr, Step: e.stepLabel(), Log: e.log,
		Pins: e.pins, Revisions: map[string][]string{},
	}
	if e.stage == stepping && e.soaks && e.opened && e.step < len(e.steps) {
		o.Soaking = e.plan.Steps[e.step].Label
	}
	for name, a := range e.apps {
		if a.aside && a.state == idle {
			continue
		}
		if a.want != nil {
			if revisions := e.revisions(a); revisions != nil {
				o.Revisions[name] = revisions
			}
		}
		switch {
		case a.state == done && a.want == nil:
			o.Deleted = append(o.Deleted, name)
		case a.state == done:
			o.Done = append(o.Done, name)
		default:
			o.Open = append(o.Open, OpenApp{Name: name, Step: a.label, Phase: a.phaseOf(), Reason: a.reason})
		}
	}
	slices.Sort(o.Done)
	slices.Sort(o.Deleted)
	slices.SortFunc(o.Open, func(x, y OpenApp) int { return strings.Compare(x.Name, y.Name) })
	return o
}
