package provider

import (
	"maps"
	"slices"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// A create of a set that is live is one that Terraform replaces, because it was tainted. Its plan must
// not depend on what is live, since with create_before_destroy the same plan is made again without
// knowing that. But what a policy, or rollout.hold, leaves as it is must not be shown as deleted or
// changed either. So the steps that it is in are left open.

// liveOf is the set as Read has found it in this run, before Terraform planned its replacement; empty
// if it has not, as for a set that is new.
func (r *applicationSetResource) liveOf(m *applicationSetModel) foundSet {
	if r.provider == nil || m.ID.IsUnknown() {
		return foundSet{}
	}
	live, _ := r.provider.generation.sets.foundOf(m.ID.ValueString())
	return live
}

// storedOf are the objects in the state that the creation of the set may replace.
func (r *applicationSetResource) storedOf(m *applicationSetModel) map[string][]storedObject {
	if r.provider == nil || m.ID.IsUnknown() {
		return nil
	}
	return r.provider.generation.sets.storedOf(m.ID.ValueString())
}

// handedAnswers are what the plan of a replacement was made with, if the set was handed over by it.
func (r *applicationSetResource) handedAnswers(m *applicationSetModel) appset.Answers {
	if r.provider == nil || m.ID.IsUnknown() {
		return appset.Answers{}
	}
	if _, handed := r.provider.generation.sets.handedOver(m.ID.ValueString()); !handed {
		return appset.Answers{}
	}
	return r.provider.keptAnswers(m.ID.ValueString())
}

// leaveOpen leaves the steps open in which something live stays as it is, and returns them. During the
// apply, these are the same ones if the set has been handed over.
func (r *applicationSetResource) leaveOpen(m *applicationSetModel, c content, live foundSet) []string {
	if r.provider == nil || m.ID.IsUnknown() {
		return nil
	}
	open, handed := r.provider.generation.sets.handedOver(m.ID.ValueString())
	if !handed {
		open = c.stepsKept(live)
	}
	planned := wavesOf(m.Waves)
	if len(open) == 0 || planned.unknown {
		return open
	}
	for _, label := range open {
		planned.steps[label] = &wave{unknown: true}
	}
	m.Waves = planned.value()
	return open
}

// stepsKept are the labels of the steps, sorted, that a live Application is in, or is to be in, which
// stays as it is.
func (c content) stepsKept(live foundSet) []string {
	c.leaveStanding(live.waves.names(), live.unfinished)
	held, labels := map[string]bool{}, map[string]bool{}
	for _, name := range c.heldNames(live.waves) {
		held[name] = true
	}
	for name, label := range live.waves.labels() {
		if held[name] {
			labels[label] = true
		}
	}
	for name, label := range c.stepLabels() {
		if held[name] {
			labels[label] = true
		}
	}
	return slices.Sorted(maps.Keys(labels))
}

// stepLabels maps the Applications whose name and step are known to the step.
func (c content) stepLabels() map[string]string {
	labels, of := c.set.Strategy.Labels(), map[string]string{}
	for _, p := range c.placed() {
		if p.certain && !p.app.NameUnknown {
			of[p.app.Name] = labelOf(labels, p.step)
		}
	}
	return of
}

// leaveInOpen lets a create leave as it is what is live in the steps that its plan has left open, and
// returns the waves of that.
func (c *connected) leaveInOpen(desired *content, planned waves) waves {
	kept, open := newWaves(), planned.open()
	wanted := desired.stepLabels()
	var names []string
	for i := range c.live {
		label, ok := wanted[c.live[i].Name]
		if !ok {
			label = c.live[i].StepLabel
		}
		if open[label] {
			names = append(names, c.live[i].Name)
		}
	}
	if len(names) == 0 {
		return kept
	}
	desired.leaveStanding(names, c.unfinished(c.live))
	for label, s := range liveWaves(*desired, c.live, c.proven()).steps {
		if open[label] {
			kept.steps[label] = s
		}
	}
	return kept
}
