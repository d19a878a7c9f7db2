package provider

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// refreshed tells that Read has found the set in this run: it is that of a plan, for an apply, which plans anew as
// well, does not refresh.
func (r *applicationSetResource) refreshed(m *applicationSetModel) bool {
	if r.provider == nil || m.ID.IsUnknown() {
		return false
	}
	_, found := r.provider.generation.sets.foundOf(m.ID.ValueString())
	return found
}

// warnOfWindows warns of sync windows that are closed, at the time of the plan, to Applications that it changes. It is
// no part of the plan, and another time may have another answer: where something may not be read, or there is no
// connection, it says nothing, and what fails here is told by the apply.
func (r *applicationSetResource) warnOfWindows(ctx context.Context, m *applicationSetModel, ch change, s settings, home cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	if r.provider == nil || m.ID.IsUnknown() || r.provider.NamespaceUnknown && home.Namespace == "" {
		return diags
	}
	if _, handed := r.provider.generation.sets.handedOver(m.ID.ValueString()); handed {
		return diags // it is being replaced: this is the apply
	}
	syncs, modes := ch.syncs(s)
	config, err := r.provider.RESTConfig()
	if err != nil || len(syncs) == 0 {
		return diags
	}
	argoNamespace := cmp.Or(home.Namespace, r.provider.Namespace)
	client, err := argocd.New(config, argoNamespace)
	if err != nil {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	if held, err := client.HeldBack(ctx, syncs); err == nil && len(held) > 0 {
		diags.AddWarning("Sync window closed", closedWindows(held, modes, s, argoNamespace))
	}
	return diags
}

// syncs are those that the change takes, of Applications of which is known where they belong, and the modes of these by
// name. Those that only a person starts count as manual ones, and those that Argo CD starts never do.
func (c change) syncs(s settings) ([]argocd.Sync, map[string]rollout.Mode) {
	if c.nothing() {
		return nil, nil
	}
	var syncs []argocd.Sync
	modes, labels := map[string]rollout.Mode{}, c.content.set.Strategy.Labels()
	for _, p := range c.content.placed() {
		if !p.certain || p.app.NameUnknown || p.mode == rollout.ModeWrite || c.content.selection.holds(p.app.Name, p.step) || !c.moves(p, labels) || homeless(p.app) {
			continue
		}
		modes[p.app.Name] = p.mode
		syncs = append(syncs, argocd.Sync{App: p.app.Object,
			Manual: p.mode == rollout.ModeManual || p.mode == rollout.ModeSync && s.windowPolicy == windowManual})
	}
	return syncs, modes
}

// homeless tells that the project or the destination of an Application is not known yet.
func homeless(app appset.Application) bool {
	if !app.HasUnknown {
		return false
	}
	spec, known := app.Object["spec"].(map[string]any)
	return !known || appset.ContainsUnknown(spec["project"]) || appset.ContainsUnknown(spec["destination"])
}

// closedWindows tells of Applications that sync windows hold back, and of what becomes of them.
func closedWindows(held []argocd.HeldBack, modes map[string]rollout.Mode, s settings, argoNamespace string) string {
	parts := []string{"Argo CD would not sync these Applications now:"}
	projects, passed := map[string]bool{}, true
	for i, h := range held {
		if i == longestList {
			parts = append(parts, fmt.Sprintf("  and %d more like these", len(held)-longestList))
			break
		}
		parts = append(parts, heldBack(h))
	}
	in := map[rollout.Mode]bool{}
	for _, h := range held {
		for _, name := range h.Apps {
			in[modes[name]] = true
		}
		projects[h.Project] = true
		for _, w := range h.Windows {
			projects[w.Project] = true
			passed = passed && h.Err == nil && w.ManualSync
		}
	}
	parts = append(parts, "")
	if in[rollout.ModeSync] {
		parts = append(parts, s.heldBackBy(passed))
	}
	if in[rollout.ModeAutomated] {
		parts = append(parts, "Automated sync does not begin while a window is closed, whatever rollout.sync_window_policy says: "+
			"Applications that wait for it fail after app_timeout.")
	}
	if in[rollout.ModeManual] {
		parts = append(parts, "A person cannot sync the Applications of a manual step (max_update is 0) either: the rollout waits.")
	}
	return strings.Join(append(parts, fmt.Sprintf("Look at the windows: kubectl -n %s get appprojects.argoproj.io %s -o yaml",
		argoNamespace, strings.Join(sortedNames(projects), " "))), "\n")
}

// heldBack is the reason for some Applications. Lines that begin with blanks are printed by Terraform as they are.
func heldBack(h argocd.HeldBack) string {
	lines := []string{fmt.Sprintf("AppProject %q, %s: %s", h.Project, count(len(h.Apps)), shorten(h.Apps))}
	for i, w := range h.Windows {
		if i == longestList {
			lines = append(lines, fmt.Sprintf("  and %d more windows", len(h.Windows)-longestList))
			break
		}
		state := "open"
		if w.Kind == "allow" {
			state = "not open"
		}
		if h.Err != nil {
			state = "unreadable"
		}
		line := fmt.Sprintf("  %s window, %s: schedule %q, duration %q, time zone %q", w.Kind, state, w.Schedule, w.Duration, cmp.Or(w.TimeZone, "UTC"))
		if w.Project != h.Project {
			line += fmt.Sprintf(", of the global AppProject %q", w.Project)
		}
		lines = append(lines, line)
	}
	switch {
	case h.Err != nil:
		lines = append(lines, fmt.Sprintf("  %s; until that is corrected Argo CD syncs nothing that the window counts for", h.Err))
	case !h.Opens.IsZero():
		lines = append(lines, "  Syncs are possible again from "+h.Opens.UTC().Format("2006-01-02 15:04 MST")+", if nobody changes the windows")
	}
	return strings.Join(lines, "\n")
}

// heldBackBy is what happens to an Application whose turn comes while its window is closed. passed tells that a sync
// that a person has started would pass all the windows.
func (s settings) heldBackBy(passed bool) string {
	const (
		when = "If that is still so when their turn comes: "
		stop = "the rollout stops with \"Sync window closed\" after error_grace, for rollout.sync_window_policy is "
		wait = "To wait until the windows let them pass, set it to \"wait\"."
	)
	switch s.windowPolicy {
	case windowWait:
		return when + "the rollout waits until the windows let them pass, as long as timeouts allow, for rollout.sync_window_policy is \"wait\"."
	case windowManual:
		return when + stop + "\"manual\", and manual syncs do not pass these windows either. " + wait
	case windowFail:
		if passed {
			return when + stop + "\"fail\". " + wait + " All of these windows have manualSync: \"manual\" lets the syncs of the rollout pass."
		}
		return when + stop + "\"fail\". " + wait
	}
	return when + "rollout.sync_window_policy, which is not known yet, tells whether the rollout stops or waits."
}
