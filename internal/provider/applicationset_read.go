package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
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
	ours, _, diags := readPrivate[owner](ctx, req.Private, keyOwner)
	resp.Diagnostics.Append(diags...)
	c, diags := r.connect(ctx, &state, home)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.provider.generation.sets.keepStored(c.owner.String(), storedObject{Token: ours.Token, Home: home})
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
	content, answers, diags := c.readContent(ctx, &state, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.Append(c.load(ctx)...); resp.Diagnostics.HasError() {
		return
	}
	// Also of a set that is gone: Terraform before 1.12 does not keep the identity, and the framework
	// takes a Read without one for a mistake.
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if c.record == nil && len(c.live) == 0 && c.taking == nil {
		if c.maybeElsewhere() {
			resp.Diagnostics.Append(c.notVerified()...)
			return
		}
		resp.State.RemoveResource(ctx)
		return
	}
	if home.UID == "" && c.uid != "" && c.record != nil && ours.Token != "" && c.record.Token == ours.Token {
		// Credentials that could not read the UID have created the set. Nothing else has its token.
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyCluster, cluster{UID: c.uid, Namespace: c.argoNamespace})...)
	}
	now, known, diags := c.readLive(ctx, content, req.Private)
	resp.Diagnostics.Append(diags...)
	if imported {
		now = c.storeImported(ctx, &state, pending, now, resp)
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("waves"), now.value())...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTargets, known)...)
	resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, answers)...)
}

// readContent evaluates the generators of the state. A configuration that was applied once is readable;
// if a later version of the provider refuses it, the labels stored with the Applications still tell
// their steps.
func (c *connected) readContent(ctx context.Context, state *applicationSetModel, from privateReader) (content, appset.Answers, diag.Diagnostics) {
	recorded, diags := readAnswers(ctx, from)
	now, answers, problems := c.evaluate(ctx, state, recorded)
	diags.Append(problems...)
	c.retain(now)
	if c.taking != nil {
		c.taking.rendered = objectsOf(now.apps)
	}
	return now, answers, diags
}

// readLive is what is live, after Argo CD has looked at git again: the waves, and the facts that a plan
// is made from.
func (c *connected) readLive(ctx context.Context, of content, from privateReader) (waves, targets, diag.Diagnostics) {
	var diags diag.Diagnostics
	if c.resource.provider.Refresh && c.taking == nil {
		diags.Append(c.refresh(ctx)...)
	}
	before, problems := readTargets(ctx, from)
	diags.Append(problems...)
	known, problems := targetsSince(before, c.live)
	diags.Append(problems...)
	known.Unfinished, known.Live = c.unfinished(c.live), changedSources(of, c.live)
	known.Destinations = storedDestinations(c.objects)
	of.leaveStanding(c.liveNames(), known.Unfinished)
	now := liveWaves(of, c.live, c.proven())
	c.resource.provider.generation.sets.keepFound(c.owner.String(), foundSet{waves: now, unfinished: known.Unfinished, destinations: destinationsOf(c.objects)})
	return now, known, diags
}

// storeImported stores what is known only of a set that was imported and not applied since, and returns
// its waves.
func (c *connected) storeImported(ctx context.Context, state *applicationSetModel, pending takeOver, now waves, resp *resource.ReadResponse) waves {
	if c.taking != nil {
		now = now.inCluster()
		pending.Refused = append(pending.Refused, terminating(c.live)...)
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("manifest"), state.Manifest)...)
	} else if c.record != nil {
		// An apply has taken it over, and was killed before it could store that.
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyOwner, owner{Token: c.record.Token})...)
	}
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTakeOver, pending)...)
	return now
}
