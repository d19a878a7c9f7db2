package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

const (
	// namesPatience is how long a plan looks whether names are free, and reachPatience how long for the
	// cluster: it may be created by the same apply.
	namesPatience = 30 * time.Second
	reachPatience = 5 * time.Second
)

// checkNames refuses Applications that the set does not have yet and that belong to others, as far as
// the plan can see: apply asks again. What it finds may only be an error, never a part of the plan.
//
// prior are the Applications that the set has. Of a set that exists it is only a warning: terraform destroy
// plans an update first, and one whose Applications another set has taken over must be let go.
func (r *applicationSetResource) checkNames(ctx context.Context, m *applicationSetModel, c content, prior waves, s settings, home cluster, exists bool) diag.Diagnostics {
	if r.provider == nil || m.ID.IsUnknown() || !c.complete || c.selection.unknown {
		return nil
	}
	all := &r.provider.generation.sets
	set, has := m.ID.ValueString(), prior.labels()
	var names, fresh []string
	for _, app := range c.takingPart() {
		if app.NameUnknown {
			continue
		}
		names = append(names, app.Name)
		if _, old := has[app.Name]; !old {
			fresh = append(fresh, app.Name)
		}
	}
	if diags := claimedTwice(set, m.Namespace.ValueString(), all.claim(set, m.Namespace.ValueString(), names)); diags.HasError() {
		return diags
	}
	if _, handed := all.handedOver(set); handed || len(fresh) == 0 || r.provider.NamespaceUnknown && home.Namespace == "" {
		return nil // What was handed over is told by Create, which keeps it in the state.
	}
	slices.Sort(fresh)
	s.adoptExisting = s.adoptExisting || s.adoptExistingUnknown
	on, existing := r.lookUp(ctx, m, fresh, home)
	maps.DeleteFunc(existing, func(_ string, e argocd.Existing) bool {
		return e.Terminating || e.HolderName == set || e.Holder == argocd.HeldByOtherSet && all.knows(e.HolderName)
	})
	if len(existing) == 0 {
		return nil
	}
	_, diags := on.adoptable(existing, s)
	if !exists {
		return diags
	}
	var hazards diag.Diagnostics
	for _, d := range diags {
		hazards.AddWarning(d.Summary(), d.Detail()+" Apply will refuse to write anything as long as that is so.")
	}
	return hazards
}

// lookUp finds the Applications that exist. Where the plan cannot see the cluster there are none.
func (r *applicationSetResource) lookUp(ctx context.Context, m *applicationSetModel, names []string, home cluster) (*connected, map[string]argocd.Existing) {
	reach, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	on, diags := r.connect(reach, m, home)
	if diags.HasError() {
		return nil, nil
	}
	ctx, cancel = context.WithTimeout(ctx, namesPatience)
	defer cancel()
	existing, err := on.client.Get(ctx, on.owner, names...)
	if err != nil {
		return nil, nil
	}
	return on, existing
}

// claimedTwice refuses Applications (name -> set) that another set of the configuration is to have.
func claimedTwice(set, namespace string, taken map[string]string) diag.Diagnostics {
	var diags diag.Diagnostics
	if len(taken) == 0 {
		return diags
	}
	var of []string
	for _, name := range sortedNames(taken) {
		of = append(of, fmt.Sprintf("%s (of the set %s)", name, taken[name]))
	}
	diags.AddError("Applications of two sets", fmt.Sprintf(
		"%s generates Applications in namespace %q that another set of this configuration generates as well: %s. "+
			"An Application belongs to one set. Let the generators, or the names in the template, keep them apart.",
		set, namespace, shorten(of)))
	return diags
}
