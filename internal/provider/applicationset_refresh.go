package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// refreshPatience is how long a plan waits for Argo CD to look at git again.
const refreshPatience = 30 * time.Second

// refresh asks Argo CD what the branches mean now: one Application for each distinct source,
// then, where a branch has moved, all others that use it. Where Argo CD does not answer in time,
// or the credentials do not suffice, its last comparison is used, with a warning.
func (c *connected) refresh(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	deadline := time.Now().Add(refreshPatience)
	asked := map[string]bool{}
	for _, choose := range []func([]rollout.Live) []string{representatives, stale} {
		names := slices.DeleteFunc(choose(c.live), func(name string) bool { return asked[name] })
		if len(names) == 0 {
			continue
		}
		for _, name := range names {
			asked[name] = true
		}
		answered := waits(ctx, "asking Argo CD to look at git again", map[string]any{"set": c.owner.String(), "applications": len(names)})
		fresh, err := c.client.Refresh(ctx, c.owner, c.listing, names, time.Until(deadline))
		answered()
		switch {
		case errors.Is(err, argocd.ErrForbidden):
			diags.AddWarning("New commits not looked for", fmt.Sprintf(
				"The provider's credentials may not ask Argo CD to look at git again for %s. The plan uses its last comparison. "+
					"Set refresh = false on the provider if that is meant.\n\n%s", c.owner, argocd.ExplainForbidden(err)))
			return diags
		case err != nil:
			diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Asking Argo CD to look at git again for %s", c.owner), err))
			return diags
		}
		for i := range c.live {
			if l, ok := fresh.Live[c.live[i].Name]; ok {
				c.live[i] = l
			}
		}
		if len(fresh.Unanswered) > 0 {
			diags.AddWarning("No answer from Argo CD", fmt.Sprintf(
				"Argo CD did not look at git again within %s for: %s. The plan uses its last comparison. See whether the application controller runs: "+
					"kubectl -n %s get pods", refreshPatience, shorten(fresh.Unanswered), c.argoNamespace))
			return diags
		}
	}
	return diags
}

// targetsSince are what a plan is made from. Where Argo CD cannot compare, because its repo server,
// git or the branch is gone, it forgets what the branch meant; then that is what was known before.
func targetsSince(before targets, live []rollout.Live) (targets, diag.Diagnostics) {
	var diags diag.Diagnostics
	pins, known := rollout.ResolvePins(live), before.pins()
	said, stand := map[string]string{}, rollout.Pins{}
	each(live, func(l *rollout.Live, s rollout.Source, _ string) {
		if pins[s] != "" || known[s] == "" || len(l.Errors) == 0 || l.AutomatedOn {
			return
		}
		stand[s] = known[s]
		said[l.Name] = fmt.Sprintf("%s: %s", l.Errors[0].Type, l.Errors[0].Message)
	})
	if len(said) == 0 {
		return targetsAt(live, pins), diags
	}
	maps.Copy(pins, stand)
	names := slices.Sorted(maps.Keys(said))
	diags.AddWarning("Revisions not compared", fmt.Sprintf(
		"Argo CD cannot compare %s. The plan uses the revisions that were known before. Argo CD says of %s:\n%s\n\n"+
			"When its source is there again: argocd app get %s --hard-refresh", shorten(names), names[0], said[names[0]], names[0]))
	now := targetsAt(live, pins)
	for i := range live {
		// Whether it is in sync is not known now, so it stays where it was to be: a plan during an outage
		// must not roll out what was at rest.
		if l := &live[i]; said[l.Name] != "" {
			if k := before.known(l.Name); k != nil && k.Hash == l.Hash {
				now.Apps[l.Name] = *k
			}
		}
	}
	return now, diags
}

// answers tells whether Argo CD would compare an Application when it is asked, and do no more
// than that: with automated sync on, a refresh deploys, which no plan may do.
func answers(l *rollout.Live) bool { return !l.Terminating && !l.SkipReconcile && !l.AutomatedOn }

// representatives are Applications, as few as is simple, that between them use every source whose
// revision can move.
func representatives(live []rollout.Live) []string {
	covered := map[rollout.Source]bool{}
	var names []string
	for _, i := range mostSourcesFirst(live) {
		l := &live[i]
		adds := false
		for _, s := range l.Sources {
			adds = adds || (!rollout.Immutable(s) && !covered[s])
		}
		if !adds || !answers(l) {
			continue
		}
		names = append(names, l.Name)
		for _, s := range l.Sources {
			covered[s] = true
		}
	}
	slices.Sort(names)
	return names
}

func mostSourcesFirst(live []rollout.Live) []int {
	order := make([]int, len(live))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(live[b].Sources) - len(live[a].Sources) })
	return order
}

// stale are the Applications that were compared at another revision than an Application with
// the same source: their branch has moved.
func stale(live []rollout.Live) []string {
	seen := map[rollout.Source]map[string]bool{}
	each(live, func(_ *rollout.Live, s rollout.Source, revision string) {
		if seen[s] == nil {
			seen[s] = map[string]bool{}
		}
		seen[s][revision] = true
	})
	names := map[string]bool{}
	each(live, func(l *rollout.Live, s rollout.Source, _ string) {
		if len(seen[s]) > 1 && answers(l) {
			names[l.Name] = true
		}
	})
	return slices.Sorted(maps.Keys(names))
}

// each visits every mutable source with the revision that it was last compared at, which is
// empty where it was never compared.
func each(live []rollout.Live, visit func(l *rollout.Live, s rollout.Source, revision string)) {
	for i := range live {
		l := &live[i]
		for j, s := range l.Sources {
			if rollout.Immutable(s) {
				continue
			}
			revision := ""
			if j < len(l.Sync.Revisions) {
				revision = l.Sync.Revisions[j]
			}
			visit(l, s, revision)
		}
	}
}
