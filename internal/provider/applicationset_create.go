package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Create rolls a set out for the first time, or goes on with a first time that has failed: what
// is live and carries our mark is adopted, and what is done already is not done again.
//
// A Create that fails after its first write leaves state behind, which Terraform taints. The
// next apply then hands over (see Delete) and comes back here.
func (r *applicationSetResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan applicationSetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, diags := plan.Timeouts.Create(ctx, defaultTimeout)
	resp.Diagnostics.Append(diags...)
	c, diags := r.connect(ctx, &plan, cluster{})
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	c.inherit()
	defer c.leave(ctx)
	a, diags := c.prepare(ctx, &plan, planFacts{answers: r.provider.keptAnswers(idOf(&plan).ValueString())})
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(a.prepareCreate()...)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(a.mayRemove(ctx)...)
	}
	if resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(c.keep(ctx, &plan, resp)...)
		return
	}
	a.timeout = timeout
	resp.Diagnostics.Append(a.run(ctx)...)
	if !a.touched {
		return
	}
	plan.ID = idOf(&plan)
	after, known := a.result(ctx, a.kept, !resp.Diagnostics.HasError())
	for label := range wavesOf(plan.Waves).open() {
		after.step(label) // a step that was planned must be there, though nothing is in it
	}
	plan.Waves = after.value()
	resp.Diagnostics.Append(a.report("rollout", "create", afterFailedCreate(plan.Name.ValueString())).diagnostics(a.outcome)...)
	resp.Diagnostics.Append(c.store(ctx, &plan, known, a.content.answers, resp)...)
}

// store sets state, identity and private state.
func (c *connected) store(ctx context.Context, m *applicationSetModel, known *targets, answers appset.Answers, resp *resource.CreateResponse) diag.Diagnostics {
	diags := resp.State.Set(ctx, m)
	diags.Append(resp.Identity.Set(ctx, m.identity())...)
	diags.Append(c.writePrivate(ctx, resp.Private, known)...)
	diags.Append(writeAnswers(ctx, resp.Private, answers)...)
	return diags
}

// keep stores a set that was handed over to a Create that is refused before its first write:
// Terraform has forgotten it already, and a destroy would leave it running. One that is being taken over is not
// stored: an import finds it, and nothing else may write its record, which alone has what it was before.
func (c *connected) keep(ctx context.Context, m *applicationSetModel, resp *resource.CreateResponse) diag.Diagnostics {
	var diags diag.Diagnostics
	// The apply may have been cancelled, which is one of the reasons for a refusal.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotTimeout)
	defer cancel()
	content, _ := m.read(ctx, answering{recorded: c.resource.provider.keptAnswers(idOf(m).ValueString())})
	c.retain(content)
	switch {
	case !c.loaded:
		// Without the lease the record must not be written. Only a deletion that came first has
		// released it, so there is no deposed object that the token has to be kept from.
		if c.load(ctx).HasError() || c.record == nil || c.record.State != argocd.StateReleased || c.record.TakeOver != nil {
			return diags
		}
	case c.record == nil || c.record.State == argocd.StateComplete || c.record.TakeOver != nil:
		return diags
	default:
		c.begins()
		if err := c.client.SaveRecord(ctx, c.owner, c.record); err != nil {
			diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Writing the record of %s", c.owner), err))
			return diags
		}
	}
	m.ID, m.Waves = idOf(m), liveWaves(content, c.live, c.proven()).value()
	known := targetsOf(c.live)
	diags.Append(c.store(ctx, m, &known, content.answers, resp)...)
	return diags
}

// prepare does everything that can be done before the first write: it takes the lease, reads the
// cluster, renders, validates and checks again, now that nothing is unknown.
//
// from is what the plan was made from.
func (c *connected) prepare(ctx context.Context, m *applicationSetModel, from planFacts) (*apply, diag.Diagnostics) {
	desired, s, diags := c.desired(ctx, m, from)
	if diags.HasError() {
		return nil, diags
	}
	if diags.Append(c.permitted(ctx, c.purposes())...); diags.HasError() {
		return nil, diags
	}
	if diags.Append(c.enter(ctx, s)...); diags.HasError() {
		return nil, diags
	}
	if diags.Append(c.mayApply()...); diags.HasError() {
		return nil, diags
	}
	m.addIssues(&diags, desired.checkSteps().Errors())
	if diags.HasError() {
		return nil, diags
	}
	kept := newWaves()
	if !from.exists {
		kept = c.leaveInOpen(&desired, wavesOf(m.Waves))
	}
	objects := objectsOf(desired.takingPart())
	adopt, problems := c.preflight(ctx, objects, s)
	if diags.Append(problems...); diags.HasError() {
		return nil, diags
	}
	if len(adopt) > 0 {
		diags.AddWarning("Applications taken over", fmt.Sprintf(
			"These Applications existed already and belong to %s from now on: %s.", c.owner, shorten(sortedNames(adopt))))
	}
	known := from.targets
	if !from.exists {
		c.watched.stage("asking Argo CD for new commits")
		diags.Append(c.refresh(ctx)...)
		known = targetsOf(c.live)
	}
	a := &apply{connected: c, settings: s.of(desired.set), content: desired, adopt: adopt, known: known, kept: kept}
	a.plan = rolloutPlan(desired, known, c.proven(), c.liveNames())
	return a, diags
}

// desired is what is to be, and how it is rolled out: all of it known, and as the plan has shown it.
func (c *connected) desired(ctx context.Context, m *applicationSetModel, from planFacts) (content, settings, diag.Diagnostics) {
	s, diags := readSettings(ctx, m.Rollout)
	desired, problems := m.read(ctx, answering{recorded: from.answers, inputs: c.inputs()})
	diags.Append(problems...)
	if diags.HasError() {
		return desired, s, diags
	}
	c.retain(desired)
	if err := desired.open(); err != nil {
		diags.AddError("Values still unknown", fmt.Sprintf("%s cannot be applied: %s.", c.owner, err))
		return desired, s, diags
	}
	desired.leaveStanding(from.prior.names(), from.targets.Unfinished)
	diags.Append(asPlanned(c.owner, wavesOf(m.Waves), planWaves(desired, from.targets, from.prior))...)
	diags.Append(change{content: desired}.guardEmpty(s)...)
	return desired, s, diags
}

// planFacts are what a plan was made from.
type planFacts struct {
	// exists is false for a create. It goes by what is live then: what an earlier one has rolled out
	// keeps its revision, as in an update.
	exists  bool
	targets targets
	prior   waves
	answers appset.Answers
}

// open is an error while something of the content is not known; Terraform knows everything by
// the time it applies.
func (c content) open() error {
	if c.unknown || !c.complete {
		return fmt.Errorf("the generators are not known")
	}
	for _, app := range c.apps {
		if app.HasUnknown {
			return fmt.Errorf("%s is not fully known", app.Origin)
		}
	}
	return nil
}

// prepareCreate decides whose the set is, and what of it has to go: nothing, unless the set was
// handed over by this very apply, for the plan of a replacement shows what it removes, and that of a
// create cannot. An apply that was killed after it had handed over leaves the plan of a create.
func (a *apply) prepareCreate() diag.Diagnostics {
	diags := a.claim()
	if diags.HasError() {
		return diags
	}
	ch := change{prior: liveWaves(a.content, a.live, a.proven()), content: a.content}
	gone := ch.removed()
	switch {
	case len(gone) == 0:
	case a.handedOver():
		if diags.Append(ch.guardDeletions(a.settings)...); diags.HasError() {
			return diags
		}
		a.remove(gone)
	default:
		diags.AddWarning("Applications left over", fmt.Sprintf(
			"%s existed already, with %s that the configuration does not generate: %s. They are left alone now, as this plan has not shown "+
				"their deletion; the next one does.", a.owner, count(len(gone)), shorten(gone)))
	}
	a.begins()
	return diags
}

// remove plans the deletion of live Applications, in the order of the strategy.
func (a *apply) remove(names []string) {
	labels, of := a.stepLabels(), map[string]string{}
	for _, name := range names {
		if label, live := labels[name]; live {
			of[name] = label
		}
	}
	a.plan.Removals = rollout.RemovalGroups(of, a.content.set.Strategy.ReverseDeletion)
}

// result is what to store after a run: the targets where everything is done, else what is live.
// Where that cannot be told it is before, and no new facts to plan from.
func (a *apply) result(ctx context.Context, before waves, saved bool) (waves, *targets) {
	if a.outcome.OK() && saved {
		apps := knownOf(a.plan, a.outcome)
		for _, name := range a.content.heldNames(before) {
			if k := a.known.known(name); k != nil {
				apps[name] = *k
			}
		}
		known := newTargets(a.outcome.Pins, apps)
		known.Live = a.known.Live
		return reached(a.content, a.plan, a.outcome, before), &known
	}
	live, ok := a.snapshot(ctx)
	if !ok {
		return before, nil
	}
	known := targetsOf(live)
	known.Unfinished, known.Live = a.unfinished(live), changedSources(a.content, live)
	return liveWaves(a.content, live, a.record.Proven), &known
}

// report is what the outcome is told with.
func (a *apply) report(doing, timeoutName, next string) report {
	return report{namespace: a.owner.Namespace, argoNamespace: a.argoNamespace, doing: doing, timeout: a.timeout, timeoutName: timeoutName, next: next, refusal: a.resource.refusal}
}

func (c *connected) writePrivate(ctx context.Context, to privateWriter, known *targets) diag.Diagnostics {
	diags := writePrivate(ctx, to, keyOwner, owner{Token: c.record.Token})
	diags.Append(writePrivate(ctx, to, keyCluster, cluster{UID: c.uid, Namespace: c.argoNamespace})...)
	if known != nil {
		diags.Append(writePrivate(ctx, to, keyTargets, *known)...)
	}
	return diags
}

func afterFailedCreate(name string) string {
	return fmt.Sprintf("What was reached is kept, and Terraform has marked the resource as tainted. Remove the cause and run terraform apply again: the plan "+
		"says \"must be replaced\", but the Applications are handed over, nothing is deleted, and the rollout goes on with what is not done. "+
		"terraform untaint ADDRESS (such as argocdprogressive_applicationset.%s) makes that a plain update in place.", name)
}
