package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Read stores what is live in the waves, and the facts that a plan is made from in private
// state. Everything that the user configured stays as it is.
func (r *applicationSetResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state applicationSetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	home, _, diags := readPrivate[cluster](ctx, req.Private, keyCluster)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, diags := r.connect(ctx, &state, home)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	recorded, diags := readAnswers(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	// A configuration that was applied once is readable; if a later version of the provider
	// refuses it, the labels stored with the Applications still tell their steps.
	content, answers, diags := c.evaluate(ctx, &state, recorded)
	resp.Diagnostics.Append(diags...)
	c.retain(content)
	if resp.Diagnostics.Append(c.load(ctx)...); resp.Diagnostics.HasError() {
		return
	}
	// Also of a set that is gone: Terraform before 1.12 does not keep the identity, and the framework
	// takes a Read without one for a mistake.
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if c.record == nil && len(c.live) == 0 {
		resp.State.RemoveResource(ctx)
		return
	}
	if r.provider.Refresh {
		resp.Diagnostics.Append(c.refresh(ctx)...)
	}
	before, diags := readTargets(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	known, diags := targetsSince(before, c.live)
	resp.Diagnostics.Append(diags...)
	known.Unfinished, known.Live = c.unfinished(c.live), changedSources(content, c.live)
	content.leaveStanding(c.liveNames(), known.Unfinished)
	now := liveWaves(content, c.live, c.proven())
	r.provider.generation.sets.keepFound(c.owner.String(), foundSet{waves: now, unfinished: known.Unfinished})
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("waves"), now.value())...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTargets, known)...)
	resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, answers)...)
}
