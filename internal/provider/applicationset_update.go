package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

const afterFailedUpdate = "What was reached is kept. Remove the cause and run terraform apply again: the plan shows what is not done, and the rollout goes on with that."

// Update rolls a changed set out. On any error all configuration attributes keep their prior
// value; only the waves and private state tell what was reached. So the next plan shows the rest.
func (r *applicationSetResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state applicationSetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	known, diags := readTargets(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	answers, diags := readAnswers(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	home, _, diags := readPrivate[cluster](ctx, req.Private, keyCluster)
	resp.Diagnostics.Append(diags...)
	ours, _, diags := readPrivate[owner](ctx, req.Private, keyOwner)
	resp.Diagnostics.Append(diags...)
	pending, _, diags := readPrivate[takeOver](ctx, req.Private, keyTakeOver)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, diags := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(diags...)
	c, diags := r.connect(ctx, &plan, home)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	defer c.leave(ctx)
	c.takes(ctx, pending, &state, answers)
	prior := wavesOf(state.Waves)
	a, diags := c.prepare(ctx, &plan, planFacts{exists: true, targets: known, prior: prior, answers: answers})
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	a.timeout = timeout
	if resp.Diagnostics.Append(a.prepareUpdate(ours, prior)...); resp.Diagnostics.HasError() {
		return
	}
	if resp.Diagnostics.Append(a.mayRemove(ctx)...); resp.Diagnostics.HasError() {
		return
	}
	if pending.pending() {
		if resp.Diagnostics.Append(a.takeOverSet(ctx, ours, prior)...); resp.Diagnostics.HasError() {
			return
		}
	}
	resp.Diagnostics.Append(a.run(ctx)...)
	if !a.touched {
		return
	}
	saved := !resp.Diagnostics.HasError()
	now, facts := a.result(ctx, prior, saved)
	after := now.value()
	resp.Diagnostics.Append(a.report("rollout", "update", afterFailedUpdate).diagnostics(a.outcome)...)
	if resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("waves"), after)...)
	} else {
		plan.Waves = after
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	resp.Diagnostics.Append(a.writePrivate(ctx, resp.Private, facts)...)
	resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, a.content.answers)...)
	if pending.pending() {
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTakeOver, takeOver{})...)
	}
}

// prepareUpdate makes sure that the set is still ours, and plans what has to go: what the plan
// has shown, as far as it is live.
func (a *apply) prepareUpdate(ours owner, prior waves) diag.Diagnostics {
	var diags diag.Diagnostics
	if a.record == nil {
		a.record = &argocd.Record{Token: ours.Token, State: argocd.StateComplete}
	}
	if a.record.Token != ours.Token && ours.Token != "" && !a.settings.adoptExisting {
		diags.AddError("Set taken over", fmt.Sprintf(
			"The set %s has been created again since by another resource or Terraform state, which manages it now. Nothing was changed. "+
				"Remove this resource from the state (terraform state rm), or set rollout.adopt_existing = true to take the set back.", a.owner))
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
