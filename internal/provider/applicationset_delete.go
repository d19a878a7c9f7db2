package provider

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

const afterFailedDelete = "What remains stays in Terraform's state. Remove the cause and run terraform destroy (or apply) again: it goes on with what remains."

// Delete has two meanings. Part of replacing a tainted set by itself, it hands the set over to
// the create that follows and deletes nothing: Terraform taints what a failed create has left,
// and deleting that would take down what is in production. Anything else really deletes: destroy,
// -replace of a set that is not tainted, and a change of name or namespace.
//
// Which one it is stands in the private data: that of a deletion in a replacement is what
// ModifyPlan wrote when it planned the create, that of a destroy is its own.
func (r *applicationSetResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state applicationSetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	d, diags := readDeletion(ctx, &state, req.Private)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	c, diags := r.connect(ctx, &state, d.home)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	s, diags := readSettings(ctx, state.Rollout)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	// What the generators give is of no interest: what is live is deleted.
	content, _ := state.decode(ctx)
	c.retain(content)
	defer c.leave(ctx)
	refused := c.enterToDelete(ctx, d, s)
	becomes := c.fate(d)
	if becomes == fateForgotten {
		resp.Diagnostics.Append(c.onlyForgotten()...)
		return
	}
	if resp.Diagnostics.Append(refused...); !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(c.refuses(becomes)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if becomes == fateHandedOver {
		resp.Diagnostics.Append(c.handOver(ctx, d)...)
		return
	}
	timeout, diags := state.Timeouts.Delete(ctx, defaultTimeout)
	resp.Diagnostics.Append(diags...)
	a := c.destruction(s, content, timeout)
	resp.Diagnostics.Append(a.warnOfUnreadable()...)
	if resp.Diagnostics.Append(a.takeDown(ctx)...); resp.Diagnostics.HasError() {
		if live, ok := a.snapshot(ctx); ok {
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("waves"), liveWaves(content, live, c.proven()).value())...)
		}
	}
}

// destruction is the deletion of all that is live.
func (c *connected) destruction(s settings, content content, timeout time.Duration) *apply {
	return &apply{connected: c, settings: s.toDestroy(content.set, c.record), content: content, timeout: timeout}
}

// deletion is what a Delete is asked for.
type deletion struct {
	planned phase
	home    cluster
	// ours are the tokens by which the state may know the set: of deposed objects as well, where it is handed over.
	ours    []string
	answers appset.Answers
	// handOver is true for half of replacing the set by itself: nothing is deleted.
	handOver bool
}

func readDeletion(ctx context.Context, state *applicationSetModel, from privateReader) (deletion, diag.Diagnostics) {
	var d deletion
	var diags, problems diag.Diagnostics
	d.planned, _, diags = readPrivate[phase](ctx, from, keyPhase)
	d.home, _, problems = readPrivate[cluster](ctx, from, keyCluster)
	diags.Append(problems...)
	ours, _, problems := readPrivate[owner](ctx, from, keyOwner)
	diags.Append(problems...)
	if diags.HasError() {
		return d, diags
	}
	d.knows(append(d.planned.Stored[state.ID.ValueString()], storedObject{Token: ours.Token, Home: d.home}))
	pending, _, problems := readPrivate[takeOver](ctx, from, keyTakeOver)
	diags.Append(problems...)
	if diags.Append(pending.onlyUpdate(state.ID.ValueString())...); diags.HasError() {
		return d, diags
	}
	d.handOver, problems = d.planned.handsOver(state)
	diags.Append(problems...)
	d.answers, problems = readAnswers(ctx, from)
	diags.Append(problems...)
	return d, diags
}

// knows takes what objects in the state know of the set: its tokens, and the cluster that it is on.
func (d *deletion) knows(objects []storedObject) {
	for _, o := range objects {
		if o.Token != "" && !slices.Contains(d.ours, o.Token) {
			d.ours = append(d.ours, o.Token)
		}
		if d.home.UID == "" && o.Home != (cluster{}) {
			d.home = o.Home
		}
	}
}

// enterToDelete takes the lease and reads what is there, if the credentials may do all that is needed.
func (c *connected) enterToDelete(ctx context.Context, d deletion, s settings) diag.Diagnostics {
	purpose := argocd.Destroy
	if d.handOver {
		purpose = argocd.Apply // the create that follows
	}
	if refused := c.permitted(ctx, purpose); refused.HasError() {
		return refused
	}
	return c.enter(ctx, s)
}

// handOver leaves the set as it is to the create that follows.
func (c *connected) handOver(ctx context.Context, d deletion) diag.Diagnostics {
	diags := c.release(ctx)
	// Terraform plans the create once more now. A generator that fails by then must not keep it from
	// taking what was handed over.
	sets := &c.resource.provider.generation.sets
	sets.handOver(c.owner.String(), d.planned.Open)
	former := storedObject{Home: cluster{UID: c.uid, Namespace: c.argoNamespace}}
	if c.record != nil && slices.Equal(d.ours, []string{c.record.Token}) {
		former.Token = c.record.Token
	}
	sets.keepFormer(c.owner.String(), former)
	c.resource.provider.keepAnswers(c.owner.String(), d.answers)
	return diags
}

// handsOver tells whether a deletion is half of replacing the set by itself.
func (p phase) handsOver(state *applicationSetModel) (bool, diag.Diagnostics) {
	var diags diag.Diagnostics
	if p.Op != opCreate {
		return false, diags
	}
	if p.Namespace == "" || p.Name == "" {
		diags.AddError("Unknown identity", fmt.Sprintf(
			"%s is tainted, and what replaces it had no known name and namespace when it was planned, so it cannot be told whether the Applications are "+
				"to be handed over or deleted. Nothing was changed. Make them known, or run terraform untaint first.", state.ID.ValueString()))
		return false, diags
	}
	return p.Namespace == state.Namespace.ValueString() && p.Name == state.Name.ValueString(), diags
}

// release marks the set as free to be taken by the create that follows.
func (c *connected) release(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	if c.record == nil {
		return diags
	}
	c.record.State = argocd.StateReleased
	if err := c.client.SaveRecord(ctx, c.owner, c.record); err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Handing %s over to the create that follows", c.owner), err))
	}
	return diags
}

// takeDown deletes every Application of the set, then its record.
func (a *apply) takeDown(ctx context.Context) diag.Diagnostics {
	diags := a.checkDestinations(ctx, a.liveNames(), "Nothing was deleted. "+insteadOfDestroy)
	if diags.HasError() {
		return diags
	}
	a.plan = rollout.Plan{NoStepLabel: rollout.NoStepLabel, Removals: rollout.RemovalGroups(a.stepLabels(), a.reversed())}
	if len(a.plan.Removals) > 0 {
		session := a.client.Session(a.owner, nil, argocd.SessionOptions{Cascade: a.cascade(), From: a.listing, Ordered: len(a.plan.Removals) > 1})
		a.roll(ctx, session, "deletion")
	}
	diags.Append(a.unwatch()...)
	if diags.Append(a.report("deletion", "delete", afterFailedDelete).diagnostics(a.outcome)...); diags.HasError() {
		return diags
	}
	if diags.Append(a.nothingLeft(ctx)...); diags.HasError() {
		return diags
	}
	diags.Append(a.forget(ctx)...)
	return diags
}

// forget deletes what is stored of a set that has no Applications any more. The lease goes first:
// whenever the process is killed, the record is there for the next destroy to find, and nothing
// is left behind that only the lease's holder knows of. So the record is deleted without a lease,
// if it is still the one that was read.
func (a *apply) forget(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	if err := a.lease.Lost(); err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Deleting the record of %s, after all of its Applications", a.owner), err))
		return diags
	}
	a.recorded = false
	a.leave(ctx)
	a.lease, a.client = nil, a.client.Under(nil)
	if err := a.client.DeleteRecord(ctx, a.owner, a.record); err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Deleting the record of %s, after all of its Applications", a.owner), err))
	}
	return diags
}
