package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// validateRollout finds settings that contradict each other, or the strategy.
func (m *applicationSetModel) validateRollout(c content) diag.Diagnostics {
	s, diags := readSettings(context.Background(), m.Rollout)
	at := path.Root("rollout")
	if !s.timesUnknown && s.appTimeout < s.minHealthyTime {
		diags.AddAttributeError(at.AtName("app_timeout"), "Timeout too short", atPath(at.AtName("app_timeout"), fmt.Sprintf(
			"no Application can be done within %s when each must stay healthy for %s (rollout.min_healthy_time). Make app_timeout longer.",
			s.appTimeout, s.minHealthyTime)))
	}
	strategy := c.set.Strategy
	if s.selection.stopAfter == 0 || strategy.Unknown {
		return diags
	}
	if strategy.Type != appset.RollingSync {
		diags.AddAttributeError(at.AtName("stop_after_step"), "No steps", atPath(at.AtName("stop_after_step"),
			"the strategy has no steps to stop after. Use the type RollingSync, or remove stop_after_step."))
	} else if n := len(strategy.Steps); s.selection.stopAfter > n {
		diags.AddAttributeError(at.AtName("stop_after_step"), "No such step", atPath(at.AtName("stop_after_step"), fmt.Sprintf(
			"there is no step %d, the last one is %d. Remove stop_after_step to roll all of them out.", s.selection.stopAfter, n)))
	}
	return diags
}

// checkSelection names what is held back and does not exist: the waves cannot show it.
func (c content) checkSelection(prior waves) diag.Diagnostics {
	var diags diag.Diagnostics
	if !c.complete || c.set.Strategy.Unknown || c.selection.unknown {
		return diags
	}
	if names := c.notCreated(prior); len(names) > 0 {
		diags.AddWarning("Applications not created", fmt.Sprintf(
			"%s held back by rollout.hold or rollout.stop_after_step and not created: %s.", are(len(names)), shorten(names)))
	}
	known := prior.labels()
	for _, p := range c.placed() {
		if p.app.NameUnknown {
			return diags
		}
		known[p.app.Name] = ""
	}
	var strange []string
	for _, name := range sortedNames(c.selection.hold) {
		if _, ok := known[name]; !ok {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		diags.AddAttributeWarning(path.Root("rollout").AtName("hold"), "Nothing to hold", fmt.Sprintf(
			"At rollout.hold: the set neither has nor generates Applications of these names, so nothing is held: %s.", shorten(strange)))
	}
	return diags
}

func are(n int) string {
	if n == 1 {
		return "1 Application is"
	}
	return count(n) + " are"
}

// timeout is that of timeouts = {...}; zero while it is not known.
func (m *applicationSetModel) timeout(name string) time.Duration {
	if m.Timeouts.IsUnknown() {
		return 0
	}
	text, ok := m.Timeouts.Attributes()[name].(types.String)
	switch {
	case !ok || text.IsNull():
		return defaultTimeout
	case text.IsUnknown():
		return 0
	}
	d, err := time.ParseDuration(text.ValueString())
	if err != nil {
		return 0 // the type of the attribute has refused it
	}
	return d
}

// guardDuration refuses a rollout that cannot end within its timeout even if nothing goes wrong.
func (c change) guardDuration(s settings, timeout time.Duration) diag.Diagnostics {
	var diags diag.Diagnostics
	least := c.leastDuration(s)
	if timeout == 0 || s.timesUnknown || least <= timeout {
		return diags
	}
	diags.AddError("Timeout too short", fmt.Sprintf(
		"The rollout takes at least %s: in each step the Applications that change, max_update at a time, each healthy for %s (rollout.min_healthy_time), "+
			"and %s after it (rollout.soak_time). It may take %s (timeouts). Give it more time in timeouts, raise max_update, or shorten these times.",
		least, s.minHealthyTime, s.soakTime, timeout))
	return diags
}

// leastDuration is the time that the Applications which change take by waiting alone.
func (c change) leastDuration(s settings) time.Duration {
	if c.planned.unknown || c.content.set == nil || c.content.set.Strategy.Unknown {
		return 0
	}
	labels := c.content.set.Strategy.Labels()
	total, changing := map[int]int{}, map[int]int{}
	for _, p := range c.content.placed() {
		if !p.certain || !p.modeKnown || p.app.NameUnknown || c.content.selection.holds(p.app.Name, p.step) {
			continue
		}
		total[p.step]++
		label := labelOf(labels, p.step)
		if leaf := c.planned.leaf(label, p.app.Name); p.mode != rollout.ModeWrite && (leaf == "" || leaf != c.prior.leaf(label, p.app.Name)) {
			changing[p.step]++
		}
	}
	var least time.Duration
	for step, n := range changing {
		turns := 1
		if step != rollout.NoStep && step < len(labels) {
			if limit := limitOf(c.content.set.Strategy, step, total[step]); limit > 0 {
				turns = (n + limit - 1) / limit
			}
		}
		least += time.Duration(turns)*s.minHealthyTime + s.soakTime
	}
	return least
}
