package provider

import (
	"slices"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// selection is which Applications of a set take part in its rollouts.
type selection struct {
	// unknown: not everything of it is known yet.
	unknown bool
	// stopAfter is the number of the last step that rolls out; zero means all do.
	stopAfter int
	hold      map[string]bool
	// last rolls Applications of no step out as a last step.
	last bool
	// policy is what of the set's sync policy Applications may be created, changed and deleted by.
	policy appset.ApplicationsSync
	// standing are the Applications that exist and that the policy does not let change; see
	// leaveStanding.
	standing map[string]bool
	// Whether Applications of no step, and of several steps, are an error.
	refuseUnselected bool
	refuseOverlap    bool
}

func (m *rolloutModel) selection() selection {
	s := selection{
		unknown:          m.StopAfterStep.IsUnknown() || m.Hold.IsUnknown() || m.Unselected.IsUnknown() || m.Overlap.IsUnknown(),
		last:             m.Unselected.ValueString() == unselectedLast,
		refuseUnselected: m.Unselected.ValueString() == unselectedError,
		refuseOverlap:    m.Overlap.ValueString() == overlapError,
	}
	if !m.StopAfterStep.IsNull() && !m.StopAfterStep.IsUnknown() {
		n, _ := m.StopAfterStep.ValueBigFloat().Int64()
		s.stopAfter = int(n)
	}
	for _, name := range m.Hold.Elements() {
		if name.IsUnknown() {
			s.unknown = true
			continue
		}
		if s.hold == nil {
			s.hold = map[string]bool{}
		}
		s.hold[stringOf(name)] = true
	}
	return s
}

// holds tells whether an Application of this step (rollout.NoStep for none) is left as it is.
func (s selection) holds(name string, step int) bool {
	return s.hold[name] || s.standing[name] || s.later(step)
}

// later tells whether stop_after_step leaves the Applications of a step for another run.
func (s selection) later(step int) bool {
	return s.stopAfter > 0 && (step == rollout.NoStep || step >= s.stopAfter)
}

// postpones tells whether an Application is left as it is for its step alone: automated sync, with
// which it would overtake the steps before, is switched off in it all the same.
func (s selection) postpones(name string, step int) bool {
	return s.later(step) && !s.hold[name] && !s.standing[name]
}

// keeps tells whether an Application that the set does not generate any more is left as it is:
// deletions come after the last step.
func (s selection) keeps(name string) bool {
	return s.hold[name] || s.stopAfter > 0 || !s.policy.Deletes()
}

// holdsAny tells whether a certain Application, or one whose name or step is not known yet, may
// be held.
func (s selection) holdsAny(p placed) bool {
	if p.app.NameUnknown && len(s.hold)+len(s.standing) > 0 || !p.app.NameUnknown && (s.hold[p.app.Name] || s.standing[p.app.Name]) {
		return true
	}
	return slices.ContainsFunc(p.candidates, func(step int) bool { return s.holds("", step) })
}

// leaveStanding holds the Applications back that exist and that the set's policy (applicationsSync:
// create-only, create-delete) does not let change. One that a rollout has created and not finished
// is not among them as long as its spec is the one that it was created with: it is finished.
func (c *content) leaveStanding(existing []string, unfinished map[string]string) {
	if c.set == nil || c.selection.policy.Updates() || len(existing) == 0 {
		return
	}
	wanted := map[string]string{}
	for _, p := range c.placed() {
		if _, begun := unfinished[p.app.Name]; begun {
			wanted[p.app.Name] = p.hash
		}
	}
	c.selection.standing = map[string]bool{}
	for _, name := range existing {
		hash, begun := unfinished[name]
		c.selection.standing[name] = !begun || hash != wanted[name]
	}
}

// unfinished are the live Applications, with their spec hash, that the last rollout has not brought
// to an end, and none has before.
func (c *connected) unfinished(live []rollout.Live) map[string]string {
	if c.record == nil || len(c.record.Rollouts) == 0 || finished(c.record.Rollouts[len(c.record.Rollouts)-1]) {
		return nil
	}
	names := map[string]string{}
	for i := range live {
		if _, once := c.record.Proven[live[i].Name]; !once {
			names[live[i].Name] = live[i].Hash
		}
	}
	return names
}

// heldWaves adds what is held back to the waves that are planned: each where it is live, and as
// it is live.
func (c content) heldWaves(prior, into waves) {
	held := map[string]bool{}
	for _, name := range c.heldNames(prior) {
		held[name] = true
	}
	for label, s := range prior.steps {
		for name, leaf := range s.leaves {
			if held[name] {
				into.step(label).leaves[name] = rollout.HeldBack(leaf)
			}
		}
	}
}

// heldNames are the live Applications that are held back, sorted.
func (c content) heldNames(prior waves) []string {
	if !c.complete {
		return nil
	}
	steps := map[string]int{}
	for _, p := range c.placed() {
		if !p.app.NameUnknown {
			steps[p.app.Name] = p.step
		}
	}
	return slices.DeleteFunc(prior.names(), func(name string) bool {
		step, wanted := steps[name]
		return !(wanted && c.selection.holds(name, step)) && !(!wanted && c.selection.keeps(name))
	})
}

// notCreated are the Applications that do not exist and are held back, sorted by name.
func (c content) notCreated(prior waves) []string {
	live := prior.labels()
	var names []string
	for _, p := range c.placed() {
		if _, exists := live[p.app.Name]; !exists && p.certain && !p.app.NameUnknown && c.selection.holds(p.app.Name, p.step) {
			names = append(names, p.app.Name)
		}
	}
	slices.Sort(names)
	return names
}

// takingPart are the Applications that a rollout may write.
func (c content) takingPart() []appset.Application {
	var apps []appset.Application
	for _, p := range c.placed() {
		if !c.selection.holds(p.app.Name, p.step) {
			apps = append(apps, p.app)
		}
	}
	return apps
}

// checkSteps is what the steps select, with what the selection refuses as errors.
func (c content) checkSteps() appset.Issues {
	issues := c.set.CheckSteps(c.apps)
	out := issues[:0]
	for _, issue := range issues {
		switch issue.Summary {
		case appset.SummaryUnselected:
			if c.selection.last {
				continue
			}
			if c.selection.refuseUnselected {
				issue.Warning = false
				issue.Detail += "\nSelect them, or set rollout.unselected to \"ignore\" or \"last\"."
			}
		case appset.SummaryOverlap:
			if c.selection.refuseOverlap {
				issue.Warning = false
				issue.Detail += "\nLet one step select each, or set rollout.overlap to \"first\"."
			}
		}
		out = append(out, issue)
	}
	return out
}
