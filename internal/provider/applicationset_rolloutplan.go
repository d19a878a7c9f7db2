package provider

import (
	"maps"
	"slices"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// rolloutPlan is what the engine is to reach. The content must be complete and fully known.
// Revisions are those that planWaves promised: both ask the same function the same question.
//
// live are the names of what exists: what is held back of it keeps its automated sync no longer.
func rolloutPlan(c content, known targets, proven map[string]string, live []string) rollout.Plan {
	labels, pins := c.set.Strategy.Labels(), known.pins()
	p := rollout.Plan{
		NoStepLabel:      rollout.NoStepLabel,
		Pins:             pins,
		DisableAutomated: c.set.Strategy.Type == appset.RollingSync,
	}
	count := map[int]int{}
	for _, a := range c.placed() {
		a = a.keeping(c.set, known)
		if c.selection.holds(a.app.Name, a.step) {
			if c.selection.postpones(a.app.Name, a.step) && slices.Contains(live, a.app.Name) {
				p.Held = append(p.Held, a.app.Name)
			}
			continue
		}
		step := a.step
		if step == rollout.NoStep && c.selection.last {
			step = len(labels)
		}
		count[step]++
		d := rollout.Desired{Name: a.app.Name, Step: step, Mode: a.mode, Hash: a.hash, Sources: a.sources}
		if a.mode == rollout.ModeSync {
			d.Revisions = rollout.DesiredRevisions(a.sources, a.hash, known.known(a.app.Name), pins)
		}
		leaf := a.leaf(known.known(a.app.Name), pins)
		d.Proven = leaf != "" && leaf == proven[a.app.Name]
		p.Apps = append(p.Apps, d)
	}
	for i, label := range labels {
		p.Steps = append(p.Steps, rollout.Step{Label: label, Limit: limitOf(c.set.Strategy, i, count[i])})
	}
	if c.selection.last && p.DisableAutomated {
		p.Steps = append(p.Steps, rollout.Step{Label: rollout.NoStepLabel, Limit: -1})
	}
	return p
}

// limitOf is how many of a step may be in flight. In a manual step nothing is in flight: all of
// it is written, and waits for people.
func limitOf(s appset.Strategy, step, total int) int {
	if s.Type != appset.RollingSync || s.Steps[step].MaxUpdate.Manual() {
		return -1
	}
	return s.Steps[step].MaxUpdate.Limit(total)
}

// reached are the waves after a run: what each Application was brought to, and where the others
// are held back.
func reached(c content, p rollout.Plan, o rollout.Outcome, prior waves) waves {
	w := newWaves()
	for i := range p.Apps {
		d := &p.Apps[i]
		w.step(stepName(p, d.Step)).leaves[d.Name] = leafOf(d, o)
	}
	c.heldWaves(prior, w)
	return w
}

// leafOf is the leaf of an Application's target, with the revisions that the run has resolved.
func leafOf(d *rollout.Desired, o rollout.Outcome) string {
	if d.Mode != rollout.ModeSync {
		return rollout.Leaf(nil, nil, d.Hash)
	}
	return rollout.Leaf(d.Sources, revisionsOf(d, o), d.Hash)
}

// revisionsOf are the revisions of a target: those promised, or those that the run has resolved.
func revisionsOf(d *rollout.Desired, o rollout.Outcome) []string {
	if d.Revisions != nil {
		return d.Revisions
	}
	return o.Revisions[d.Name]
}

// knownOf are the targets that a run has reached, as facts for the next plan.
func knownOf(p rollout.Plan, o rollout.Outcome) map[string]rollout.KnownTarget {
	known := map[string]rollout.KnownTarget{}
	for i := range p.Apps {
		d := &p.Apps[i]
		if revisions := revisionsOf(d, o); revisions != nil {
			known[d.Name] = rollout.KnownTarget{Hash: d.Hash, Revisions: revisions}
		}
	}
	return known
}

func stepName(p rollout.Plan, step int) string {
	if step == rollout.NoStep {
		return p.NoStepLabel
	}
	return p.Steps[step].Label
}

// objectsOf are the rendered Applications by name.
func objectsOf(apps []appset.Application) map[string]map[string]any {
	objects := make(map[string]map[string]any, len(apps))
	for _, a := range apps {
		objects[a.Name] = a.Object
	}
	return objects
}

// liveWaves are the waves of what is live: every Application of the set, also those that the
// content does not have any more. The step is the one it was rolled out in.
func liveWaves(c content, live []rollout.Live, proven map[string]string) waves {
	w := newWaves()
	at := map[string]placed{}
	if c.complete {
		for _, p := range c.placed() {
			at[p.app.Name] = p
		}
	}
	for i := range live {
		l := &live[i]
		p, desired := at[l.Name]
		label, mode := l.StepLabel, c.liveMode(l)
		if desired && p.certain {
			mode = p.mode
			if label == "" {
				label = labelOf(c.set.Strategy.Labels(), p.step)
			}
		}
		if label == "" {
			label = rollout.NoStepLabel
		}
		leaf := rollout.LiveLeaf(l, mode, proven[l.Name], c.acceptOutOfSync)
		if desired && c.selection.holds(l.Name, p.step) || !desired && c.complete && c.selection.keeps(l.Name) {
			leaf = rollout.HeldBack(leaf)
		}
		w.step(label).leaves[l.Name] = leaf
	}
	return w
}

// liveMode tells how an Application that is not desired any more got to its target, by the step
// it was rolled out in.
func (c content) liveMode(l *rollout.Live) rollout.Mode {
	set := c.set
	switch n := rollout.StepNumber(l.StepLabel); {
	case l.StepLabel == rollout.AllAtOnceLabel && l.AutomatedOn:
		return rollout.ModeAutomated
	case l.StepLabel == rollout.NoStepLabel && !c.selection.last:
		return rollout.ModeWrite
	case set != nil && l.StepLabel != rollout.AllAtOnceLabel && n > 0 && n <= len(set.Strategy.Steps) && set.Strategy.Steps[n-1].MaxUpdate.Manual():
		return rollout.ModeManual
	}
	return rollout.ModeSync
}

// targetsOf are the facts that a plan is made from.
func targetsOf(live []rollout.Live) targets {
	return targetsAt(live, rollout.ResolvePins(live))
}

// targetsAt are the targets with these meanings of mutable sources.
func targetsAt(live []rollout.Live, pins rollout.Pins) targets {
	apps := map[string]rollout.KnownTarget{}
	for i := range live {
		l := &live[i]
		if revisions := rollout.TargetRevisions(l, pins); revisions != nil {
			apps[l.Name] = rollout.KnownTarget{Hash: l.Hash, Revisions: revisions}
		}
	}
	return newTargets(pins, apps)
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
