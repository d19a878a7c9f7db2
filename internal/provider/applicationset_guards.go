package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// change is one planned step from what is live to what is to be.
type change struct {
	prior   waves
	planned waves
	content content
}

// changeOf is the step that a plan makes. The waves are a function of content, prior and known; live is what
// is told about, and what the guards go by.
func changeOf(c content, prior waves, known targets, live foundSet) change {
	given := c
	given.leaveStanding(prior.names(), known.Unfinished)
	c.leaveStanding(live.waves.names(), live.unfinished)
	return change{prior: live.waves, planned: planWaves(given, known, prior), content: c}
}

// nothing tells that nothing changes, or that it is not known what.
func (c change) nothing() bool { return c.planned.unknown || c.planned.value().Equal(c.prior.value()) }

// removed are the live Applications that the content does not have any more, sorted. Where
// names are not known yet, only those that are removed for certain: any of the rest could be one
// of the unknown names.
func (c change) removed() []string {
	if c.content.unknown || !c.content.complete {
		return nil
	}
	wanted, open := map[string]bool{}, 0
	for _, app := range c.content.apps {
		if app.NameUnknown {
			open++
		} else {
			wanted[app.Name] = true
		}
	}
	gone := slices.DeleteFunc(c.prior.names(), func(name string) bool { return wanted[name] || c.content.selection.keeps(name) })
	if len(gone) <= open {
		return nil
	}
	if open > 0 {
		return gone[open:]
	}
	return gone
}

// leftAlone are the live Applications, sorted, that the content does not have any more and that its
// policy does not let go.
func (c change) leftAlone() []string {
	if !c.content.complete || c.content.selection.policy.Deletes() {
		return nil
	}
	wanted := map[string]bool{}
	for _, app := range c.content.apps {
		wanted[app.Name] = true
	}
	return slices.DeleteFunc(c.prior.names(), func(name string) bool { return wanted[name] })
}

// guardEmpty refuses a set without Applications.
func (c change) guardEmpty(s settings) diag.Diagnostics {
	var diags diag.Diagnostics
	if c.content.unknown || !c.content.complete || len(c.content.apps) > 0 || s.allowEmpty || s.allowEmptyUnknown {
		return diags
	}
	diags.AddAttributeError(path.Root("rollout").AtName("allow_empty"), "Empty set",
		"The generators give no Application at all. If that is meant, set rollout.allow_empty = true; "+
			"otherwise correct the generators. To destroy the set as it is: terraform destroy -refresh=false")
	return diags
}

// guardDeletions refuses to remove more Applications than max_deletions allows.
func (c change) guardDeletions(s settings) diag.Diagnostics {
	return guardAmount(c.removed(), len(c.prior.names()), s,
		"The configuration does not generate these Applications any more")
}

// guardReplacement refuses to replace a set, which deletes all of its Applications.
func guardReplacement(existing int, s settings, why string) diag.Diagnostics {
	return guardAmount(make([]string, existing), existing, s, why)
}

func guardAmount(removed []string, existing int, s settings, why string) diag.Diagnostics {
	var diags diag.Diagnostics
	allowed := s.maxDeletions.of(existing)
	if len(removed) <= allowed || s.maxDeletionsUnknown {
		return diags
	}
	names := ""
	if removed[0] != "" {
		names = ": " + shorten(removed)
	}
	diags.AddAttributeError(path.Root("rollout").AtName("max_deletions"), "Too many deletions", fmt.Sprintf(
		"%s%s. The plan would delete %d of %s; rollout.max_deletions allows %d (%s). "+
			"If that is meant, set rollout.max_deletions = \"100%%\" for this plan.",
		why, names, len(removed), count(existing), allowed, s.maxDeletions))
	return diags
}

// warnings are the hazards of the change. While nothing changes there is one: Applications that
// nothing generates, and that stay.
func (c change) warnings(m *applicationSetModel, s settings) diag.Diagnostics {
	var diags diag.Diagnostics
	if left := c.leftAlone(); len(left) > 0 {
		diags.AddWarning("Applications left alone", fmt.Sprintf(
			"%s that the configuration does not generate any more stay as they are, because sync_policy.applications_sync is %q: %s. They still belong to the set: "+
				"destroying the resource deletes them.", count(len(left)), c.content.selection.policy, shorten(left)))
	}
	if c.nothing() {
		return diags
	}
	if gone := c.removed(); len(gone) > 0 {
		diags.AddWarning("Applications will be deleted", paragraphs(fmt.Sprintf(
			"%s that the configuration does not generate any more will be deleted after the last step: %s.", count(len(gone)), shorten(gone)), s.stays("")))
	}
	manual, switchedOff := c.hazards()
	if len(manual) > 0 {
		diags.AddWarning("Manual step", fmt.Sprintf(
			"max_update is 0 for the step of these Applications: apply writes them and then waits until a person has synced each one "+
				"(argocd app sync %s/NAME): %s.", m.Namespace.ValueString(), shorten(manual)))
	}
	if len(switchedOff) > 0 {
		diags.AddWarning("Automated sync will be switched off", fmt.Sprintf(
			"The strategy RollingSync syncs Applications itself, so automated.enabled is set to false, as Argo CD does, on: %s.", shorten(switchedOff)))
	}
	if c.leavesRollingSync() {
		diags.AddWarning("No steps any more", "The strategy was RollingSync and is AllAtOnce now: all Applications change at the same time, "+
			"and automated sync is as the template has it.")
	}
	m.addIssues(&diags, c.content.checkSteps().Warnings())
	return diags
}

// hazards are the Applications that change and are in a manual step, or have their automated
// sync switched off, which those of the steps after stop_after_step have as well.
func (c change) hazards() (manual, switchedOff []string) {
	labels := c.content.set.Strategy.Labels()
	for _, p := range c.content.placed() {
		if !p.certain || p.app.NameUnknown {
			continue
		}
		if c.content.selection.holds(p.app.Name, p.step) {
			if p.app.AutomatedSwitchedOff && c.content.selection.postpones(p.app.Name, p.step) && c.prior.leaf(rollout.AllAtOnceLabel, p.app.Name) != "" {
				switchedOff = append(switchedOff, p.app.Name)
			}
			continue
		}
		if !c.moves(p, labels) {
			continue
		}
		if p.mode == rollout.ModeManual {
			manual = append(manual, p.app.Name)
		}
		if p.app.AutomatedSwitchedOff {
			switchedOff = append(switchedOff, p.app.Name)
		}
	}
	return manual, switchedOff
}

// moves tells that an Application which is not held back changes, or may; labels are those of the steps.
func (c change) moves(p placed, labels []string) bool {
	label := labelOf(labels, p.step)
	leaf := c.planned.leaf(label, p.app.Name)
	return leaf == "" || leaf != c.prior.leaf(label, p.app.Name)
}

func (c change) leavesRollingSync() bool {
	if c.content.set.Strategy.Unknown || c.content.set.Strategy.Type == appset.RollingSync {
		return false
	}
	for label := range c.prior.steps {
		if label != rollout.AllAtOnceLabel {
			return true
		}
	}
	return false
}

// shorten joins names for a message.
func shorten(names []string) string {
	if more := len(names) - longestList; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:longestList], ", "), more)
	}
	return strings.Join(names, ", ")
}
