package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// ModifyPlan computes the waves, and refuses what must not be applied. It is a function of the
// configuration, the refreshed state and private state, for Terraform calls it again during apply,
// without what the plan wrote into private state, and rejects any known value that differs. Only
// what generators ask that were created or changed since the state was stored is asked here; what
// they are told may be another thing by the time of the apply, which then ends before its first
// write. data.argocdprogressive_parameters makes it a part of the plan.
func (r *applicationSetResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var config, plan, state applicationSetModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	pending, _, diags := readPrivate[takeOver](ctx, req.Private, keyTakeOver)
	resp.Diagnostics.Append(diags...)
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(pending.onlyUpdate(state.ID.ValueString())...)
		resp.Diagnostics.Append(warnOfDestruction(ctx, &state)...)
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(r.warnOfRefusedDestroy(ctx, &state, req.Private)...)
		}
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyPhase, phase{Op: opDestroy})...)
		return
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(r.provider.warnOfVersion(ctx)...)
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(pending.onlyUpdate(idOf(&plan).ValueString())...)
		r.planCreate(ctx, req, resp, &config, &plan)
	} else {
		r.planUpdate(ctx, req, resp, &config, &plan, &state, pending)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// planCreate plans a set from nothing. Nothing of private state may enter the plan: the same
// call during apply does not have it. It is also what plans the second half of a replacement.
func (r *applicationSetResource) planCreate(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, config, plan *applicationSetModel) {
	before, replaces, diags := readPrivate[phase](ctx, req.Private, keyPhase)
	resp.Diagnostics.Append(diags...)
	s, diags := readSettings(ctx, plan.Rollout)
	resp.Diagnostics.Append(diags...)

	if config.Namespace.IsNull() {
		plan.Namespace = r.providerNamespace()
	}
	plan.ID = idOf(plan)
	now := phase{Op: opCreate, Namespace: plan.Namespace.ValueString(), Name: plan.Name.ValueString()}
	var live foundSet
	if !replaces {
		live = r.liveOf(plan)
		now.Stored = r.storedOf(plan)
	} else {
		// An update of the same resource was planned just before: Terraform is to replace it.
		now.Op = opForcedReplace
		resp.Diagnostics.Append(guardReplacement(before.Existing, s, fmt.Sprintf(
			"%s/%s is to be replaced: all of its Applications are deleted and created anew", before.Namespace, before.Name))...)
	}
	c, diags := r.contentToPlan(ctx, plan, r.handedAnswers(plan), cluster{})
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, c.answers)...)
	if resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyPhase, now)...)
		return
	}
	ch := changeOf(c, newWaves(), targets{}, live)
	resp.Diagnostics.Append(plan.plan(ch, s, plan.timeout("create"))...)
	now.Open = r.leaveOpen(plan, c, live)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyPhase, now)...)
	resp.Diagnostics.Append(r.checkNames(ctx, plan, c, newWaves(), s, cluster{}, false)...)
	resp.Diagnostics.Append(r.warnOfDestinations(ctx, plan, change{prior: live.waves, content: c}.removed(), s.of(c.set), cluster{})...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(r.warnOfWindows(ctx, plan, ch, s, cluster{})...)
	}
	if r.provider != nil {
		r.provider.keepAnswers(plan.ID.ValueString(), c.answers)
	}
}

// planUpdate plans a change of a set that exists, or none.
func (r *applicationSetResource) planUpdate(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, config, plan, state *applicationSetModel, pending takeOver) {
	s, diags := readSettings(ctx, plan.Rollout)
	resp.Diagnostics.Append(diags...)
	known, diags := readTargets(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	recorded, diags := readAnswers(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	home, _, diags := readPrivate[cluster](ctx, req.Private, keyCluster)
	resp.Diagnostics.Append(diags...)
	prior := wavesOf(state.Waves)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyPhase, phase{
		Op: opUpdate, Namespace: state.Namespace.ValueString(), Name: state.Name.ValueString(), Existing: len(prior.names()),
	})...)
	resp.Diagnostics.Append(r.checkIdentity(config, plan, state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.ID = idOf(plan)
	c, diags := r.contentToPlan(ctx, plan, recorded, home)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.ID.Equal(state.ID) {
		ch := changeOf(c, prior, known, foundSet{waves: prior.outOfCluster(), unfinished: known.Unfinished})
		resp.Diagnostics.Append(plan.plan(ch, s, plan.timeout("update"))...)
		resp.Diagnostics.Append(r.checkNames(ctx, plan, c, prior, s, home, true)...)
		resp.Diagnostics.Append(r.warnOfDestinations(ctx, plan, change{prior: prior.outOfCluster(), content: c}.removed(), s.of(c.set), home)...)
		if r.refreshed(plan) && !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(r.warnOfWindows(ctx, plan, ch, s, home)...)
		}
		resp.Diagnostics.Append(writeAnswers(ctx, resp.Private, c.answers)...)
		resp.Diagnostics.Append(pending.planned(plan, prior)...)
		return
	}
	resp.Diagnostics.Append(pending.onlyUpdate(state.ID.ValueString())...)
	// Terraform will plan again, as a create; that call does not see the state.
	resp.Diagnostics.Append(guardReplacement(len(prior.names()), s, fmt.Sprintf(
		"The set %s becomes %s: all of its Applications are deleted and created anew", state.ID.ValueString(), plan.ID.ValueString()))...)
	resp.Diagnostics.Append(plan.plan(changeOf(c, newWaves(), targets{}, foundSet{}), s, plan.timeout("create"))...)
}

// plan sets the waves and tells what is wrong or hazardous.
//
// timeout is how long the rollout may take; zero while that is not known.
func (m *applicationSetModel) plan(ch change, s settings, timeout time.Duration) diag.Diagnostics {
	var diags diag.Diagnostics
	c := ch.content
	diags.Append(ch.guardEmpty(s)...)
	diags.Append(ch.guardDeletions(s)...)
	diags.Append(ch.guardDuration(s, timeout)...)
	m.addIssues(&diags, c.checkSteps().Errors())
	diags.Append(c.checkSelection(ch.prior)...)
	diags.Append(ch.warnings(m, s.of(c.set))...)
	m.Waves = ch.planned.value()
	return diags
}

// checkIdentity refuses what would replace the set, and so delete its Applications, without
// anybody having asked for it.
func (r *applicationSetResource) checkIdentity(config, plan, state *applicationSetModel) diag.Diagnostics {
	var diags diag.Diagnostics
	for name, unknown := range map[string]bool{"name": plan.Name.IsUnknown(), "namespace": plan.Namespace.IsUnknown()} {
		if unknown {
			diags.AddAttributeError(path.Root(name), "Unknown "+name, fmt.Sprintf(
				"The %s of a set that exists must be known when it is planned: a changed one means that all Applications are deleted "+
					"and created anew. Set it to a value that does not depend on resources that change in the same apply.", name))
		}
	}
	now := r.providerNamespace()
	if config.Namespace.IsNull() && !now.IsUnknown() && !now.Equal(state.Namespace) {
		diags.AddAttributeError(path.Root("namespace"), "Namespace of the provider changed", fmt.Sprintf(
			"%s was created in namespace %q, and the provider's namespace is %q now. The Applications are not moved. "+
				"Set namespace = %q on the resource to leave them where they are, or namespace = %q to delete them and create them anew.",
			state.ID.ValueString(), state.Namespace.ValueString(), now.ValueString(), state.Namespace.ValueString(), now.ValueString()))
	}
	return diags
}

// providerNamespace is the provider's, unknown where that is.
func (r *applicationSetResource) providerNamespace() types.String {
	if r.provider == nil || r.provider.NamespaceUnknown {
		return types.StringUnknown()
	}
	return types.StringValue(r.provider.Namespace)
}

func idOf(m *applicationSetModel) types.String {
	if m.Namespace.IsUnknown() || m.Name.IsUnknown() {
		return types.StringUnknown()
	}
	return types.StringValue(m.Namespace.ValueString() + "/" + m.Name.ValueString())
}

// warnOfDestruction says in which order a destroy deletes, and what it leaves.
func warnOfDestruction(ctx context.Context, state *applicationSetModel) diag.Diagnostics {
	var diags diag.Diagnostics
	live := wavesOf(state.Waves)
	labels := live.labels()
	if len(labels) == 0 {
		return diags
	}
	c, problems := state.decode(ctx)
	s, _ := readSettings(ctx, state.Rollout) // what is wrong with them is told by the destroy
	stays := s.of(c.set).stays(", applied before the destroy,")
	order := " in this order, each group when the one before it is gone:"
	if problems.HasError() {
		order = fmt.Sprintf(". This version of the provider cannot read the configuration in the state (%s), so the set's record tells deletion_order; "+
			"where that does not either, it is Reverse, each group when the one before it is gone:", problems.Errors()[0].Summary())
		if !s.deletionGiven {
			stays = "Whether what they have deployed stays is taken from the record as well (preserve_resources_on_deletion); without a record, it stays. " +
				"rollout.deletion, applied before the destroy, decides."
		}
	} else if !c.set.Strategy.ReverseDeletion {
		diags.AddWarning("Applications will be deleted", paragraphs(fmt.Sprintf(
			"%s of %s will be deleted at the same time (deletion_order is AllAtOnce).", count(len(labels)), state.ID.ValueString()), stays))
		return diags
	}
	groups := rollout.RemovalGroups(labels, true)
	lines := make([]string, len(groups))
	for i, names := range groups {
		lines[i] = fmt.Sprintf("  %s: %d", labels[names[0]], len(names))
	}
	diags.AddWarning("Applications will be deleted", paragraphs(fmt.Sprintf(
		"%s of %s will be deleted%s\n%s", count(len(labels)), state.ID.ValueString(), order, strings.Join(lines, "\n")), stays))
	return diags
}
