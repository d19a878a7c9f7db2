package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

const afterFailedUpdate = "What was reached is kept. Remove the cause and run terraform apply again: the plan shows what is not done, and the rollout goes on with that."

// Update rolls a changed set out. On any error all configuration attributes keep their prior
// value; only the waves and private state tell what was reached. So the next plan shows the rest.
func (r *applicationSetResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state applicationSetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	known, diags := readKnown(ctx, req.Private)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	timeout, diags := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(diags...)
	c, diags := r.connect(ctx, &plan, known.home)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	defer c.leave(ctx)
	c.takes(ctx, known.pending, &state, known.answers)
	prior := wavesOf(state.Waves)
	a, diags := c.prepare(ctx, &plan, planFacts{exists: true, targets: known.targets, prior: prior, answers: known.answers})
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	a.timeout = timeout
	if resp.Diagnostics.Append(a.beforeUpdate(ctx, known, prior)...); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(a.run(ctx)...)
	if !a.touched {
		return
	}
	a.storeUpdate(ctx, &plan, prior, resp)
	if known.pending.pending() {
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTakeOver, takeOver{})...)
	}
}

// knownSet is what private state says of a set that exists.
type knownSet struct {
	targets targets
	answers appset.Answers
	home    cluster
	ours    owner
	pending takeOver
}

func readKnown(ctx context.Context, from privateReader) (knownSet, diag.Diagnostics) {
	var k knownSet
	var diags, problems diag.Diagnostics
	k.targets, diags = readTargets(ctx, from)
	k.answers, problems = readAnswers(ctx, from)
	diags.Append(problems...)
	k.home, _, problems = readPrivate[cluster](ctx, from, keyCluster)
	diags.Append(problems...)
	k.ours, _, problems = readPrivate[owner](ctx, from, keyOwner)
	diags.Append(problems...)
	k.pending, _, problems = readPrivate[takeOver](ctx, from, keyTakeOver)
	diags.Append(problems...)
	return k, diags
}

// beforeUpdate does what comes before the rollout itself: the set must be ours, what has to go must be
// allowed to, and an ApplicationSet of the cluster is taken over.
func (a *apply) beforeUpdate(ctx context.Context, known knownSet, prior waves) diag.Diagnostics {
	diags := a.prepareUpdate(known.ours, prior)
	if diags.HasError() {
		return diags
	}
	if diags.Append(a.mayRemove(ctx)...); diags.HasError() {
		return diags
	}
	if known.pending.pending() {
		diags.Append(a.takeOverSet(ctx, known.ours, prior)...)
	}
	return diags
}

// storeUpdate tells how the rollout has ended, and stores the plan where it has ended well, else what was
// reached.
func (a *apply) storeUpdate(ctx context.Context, plan *applicationSetModel, prior waves, resp *resource.UpdateResponse) {
	now, facts := a.result(ctx, prior, !resp.Diagnostics.HasError())
	after := now.value()
	resp.Diagnostics.Append(a.report("rollout", "update", afterFailedUpdate).diagnostics(a.outcome)...)
	if resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("waves"), after)...)
	} else {
		plan.Waves = after
		resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	resp.Diagnostics.Append(a.writePrivate(ctx, resp.Private, facts)...)
	resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, a.content.answers)...)
}

// prepareUpdate makes sure that the set is still ours, and plans what has to go: what the plan
// has shown, as far as it is live.
func (a *apply) prepareUpdate(ours owner, prior waves) diag.Diagnostics {
	if a.record == nil {
		a.record = &argocd.Record{Token: ours.Token, State: argocd.StateComplete}
	}
	diags := a.stillOurs(ours)
	if diags.HasError() {
		return diags
	}
	if ours.Token != "" {
		a.record.Token = ours.Token
	}
	ch := change{prior: prior, content: a.content}
	shown := ch.removed()
	a.remove(slices.DeleteFunc(a.liveNames(), func(name string) bool { return !slices.Contains(shown, name) }))
	return diags
}
