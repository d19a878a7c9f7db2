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
	// What the last apply planned is no part of the next plan: for a set that is gone Terraform plans a
	// creation with this private state, which would be taken for the second half of a replacement.
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, keyPhase, nil)...)
	pending, _, diags := readPrivate[takeOver](ctx, req.Private, keyTakeOver)
	resp.Diagnostics.Append(diags...)
	c, diags := r.connect(ctx, &state, home)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	imported := pending.pending()
	if imported {
		pending, diags = c.look(ctx, pending, &state)
		resp.Diagnostics.Append(diags...)
		// Also for a set that is gone, as above.
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTakeOver, pending)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	recorded, diags := readAnswers(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	// A configuration that was applied once is readable; if a later version of the provider
	// refuses it, the labels stored with the Applications still tell their steps.
	content, answers, diags := c.evaluate(ctx, &state, recorded)
	resp.Diagnostics.Append(diags...)
	c.retain(content)
	if c.taking != nil {
		c.taking.rendered = objectsOf(content.apps)
	}
	if resp.Diagnostics.Append(c.load(ctx)...); resp.Diagnostics.HasError() {
		return
	}
	// Also of a set that is gone: Terraform before 1.12 does not keep the identity, and the framework
	// takes a Read without one for a mistake.
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if c.record == nil && len(c.live) == 0 && c.taking == nil {
		resp.State.RemoveResource(ctx)
		return
	}
	if r.provider.Refresh && c.taking == nil {
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
	if imported {
		if c.taking != nil {
			now = now.inCluster()
			pending.Refused = append(pending.Refused, terminating(c.live)...)
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("manifest"), state.Manifest)...)
		} else if c.record != nil {
			// An apply has taken it over, and was killed before it could store that.
			resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyOwner, owner{Token: c.record.Token})...)
		}
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTakeOver, pending)...)
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("waves"), now.value())...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTargets, known)...)
	resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, answers)...)
}
