package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// An in-cluster ApplicationSet that was imported is in the state, and nothing of it has changed. Until
// the first apply has taken it over, a plan is an update, in whose waves each Application leaves the
// cluster's controller, and nothing but that update is possible: a destroy and a replacement are refused.

// keyTakeOver is the key of private state for takeOver.
const keyTakeOver = "takeover"

// takeOver tells of an ApplicationSet in the cluster that is to be taken over.
type takeOver struct {
	// UID is that of the ApplicationSet; empty when there is nothing to be taken over (any more).
	UID string `json:"uid,omitempty"`
	// Thaw is, where an apply has frozen it and has not come to the end, how to undo that by hand.
	Thaw string `json:"thaw,omitempty"`
	// Refused are the reasons that Read has found why that is not possible now.
	Refused []argocd.Refusal `json:"refused,omitempty"`
}

func (t takeOver) pending() bool { return t.UID != "" }

// taking is the ApplicationSet that a set is to take over.
type taking struct {
	uid string
	// rendered are its Applications as it renders them, by name.
	rendered map[string]map[string]any
}

// takeOver is what is known of the Applications: what the record says, once it has begun.
func (c *connected) takeOver() argocd.TakeOver {
	if c.record != nil && c.record.TakeOver != nil {
		return *c.record.TakeOver
	}
	return argocd.TakeOver{UID: c.taking.uid}
}

// list lists the Applications of the set; while it is to be taken over, those of the ApplicationSet.
func (c *connected) list(ctx context.Context) (*argocd.Listing, error) {
	if c.taking == nil {
		return c.client.Listing(ctx, c.owner)
	}
	return c.client.TakeOverListing(ctx, c.owner, c.takeOver(), c.taking.rendered)
}

// purposes are what an apply is for.
func (c *connected) purposes() argocd.Purpose {
	if c.taking == nil {
		return argocd.Apply
	}
	return argocd.Apply | argocd.TakingOver
}

// look finds out how far a take-over is, for Read. What is in the state follows the ApplicationSet until it is
// taken over. Where it is gone, and no take-over has begun, or one has ended, nothing is pending.
func (c *connected) look(ctx context.Context, t takeOver, state *applicationSetModel) (takeOver, diag.Diagnostics) {
	var diags diag.Diagnostics
	set, err := c.client.InCluster(ctx, c.owner)
	if err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Looking for the ApplicationSet %s, which is to be taken over", c.owner), err))
		return t, diags
	}
	record, err := c.client.LoadRecord(ctx, c.owner)
	if err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Reading the record of %s", c.owner), err))
		return t, diags
	}
	begun := record != nil && record.TakeOver != nil
	t.Refused, t.Thaw = nil, ""
	if set != nil {
		if t.Refused, diags = c.refusals(ctx, set); diags.HasError() {
			return t, diags
		}
		if set.Frozen() {
			t.Thaw = set.ThawByHand()
		}
	}
	switch {
	case set == nil && !begun:
		return takeOver{}, diags
	case set == nil:
		t.UID = record.TakeOver.UID
	case begun && record.TakeOver.UID != set.UID():
		t.UID, t.Refused = record.TakeOver.UID, []argocd.Refusal{recreated(set)}
	case set.Frozen():
		t.UID = set.UID()
	default:
		t.UID = set.UID()
		state.Manifest = c.manifestOf(set.Manifest())
	}
	c.taking = &taking{uid: t.UID}
	return t, diags
}

// refusals are the reasons why the ApplicationSet is not taken over as it is now.
func (c *connected) refusals(ctx context.Context, set *argocd.InCluster) ([]argocd.Refusal, diag.Diagnostics) {
	var diags diag.Diagnostics
	reasons, err := c.client.Refusals(ctx, set)
	if err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Finding out where the ApplicationSet %s comes from", c.owner), err))
	}
	return reasons, diags
}

func recreated(set *argocd.InCluster) argocd.Refusal {
	return argocd.Refusal{Summary: "ApplicationSet created again", Detail: fmt.Sprintf(
		"A take-over of it has begun, and somebody has created another one of the same name since. See to it that nobody applies it again, and delete that one, "+
			"keeping its Applications: %s", set.DeleteByHand())}
}

// terminating is a reason not to take Applications over: what becomes of them is not decided here.
func terminating(live []rollout.Live) []argocd.Refusal {
	var names []string
	for i := range live {
		if live[i].Terminating {
			names = append(names, live[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []argocd.Refusal{{Summary: "Applications are being deleted", Detail: fmt.Sprintf("These are being deleted: %s. Wait until they are gone, and run terraform again.", shorten(names))}}
}

// inCluster marks the waves of Applications that the controller in the cluster manages.
func (w waves) inCluster() waves {
	for _, s := range w.steps {
		for name, leaf := range s.leaves {
			if inner, ok := strings.CutSuffix(leaf, ")"); ok {
				s.leaves[name] = inner + ", in-cluster)"
			} else {
				s.leaves[name] = leaf + " (in-cluster)"
			}
		}
	}
	return w
}

// onlyUpdate refuses what is not an update of a set that is not taken over yet.
func (t takeOver) onlyUpdate(id string) diag.Diagnostics {
	var diags diag.Diagnostics
	if t.pending() {
		namespace, name, _ := strings.Cut(id, "/")
		diags.AddError("ApplicationSet not taken over yet", fmt.Sprintf(
			"%s was imported, and the ApplicationSet in the cluster still manages its Applications: Terraform has not rolled out any of them, and does not delete them. "+
				"Nothing was changed.\n\nTo delete the set, run terraform apply first, which takes it over; or delete it in the cluster: kubectl -n %s delete applicationsets.argoproj.io %s. "+
				"To leave it to the cluster and forget it here: terraform state rm ADDRESS, or a removed block with lifecycle { destroy = false }.%s", id, namespace, name, t.thawFirst()))
	}
	return diags
}

// takeOverOpen refuses what is not the rest of a take-over that the record tells of, and the state does not.
func (c *connected) takeOverOpen() diag.Diagnostics {
	return diag.Diagnostics{diag.NewErrorDiagnostic("Take-over not finished", fmt.Sprintf(
		"A take-over of the ApplicationSet %s from the cluster's controller was begun, and this Terraform state does not know of it. Nothing was changed: only the record of the set has what the "+
			"ApplicationSet was. Import it, and the next apply goes on with that: terraform import ADDRESS %s. Where the resource is in the state, before the import: terraform state rm ADDRESS. "+
			"If another Terraform state has imported it, apply that one instead.", c.owner, c.owner))}
}

// thawFirst says what an apply that was killed has left, to somebody who gives up.
func (t takeOver) thawFirst() string {
	if t.Thaw == "" {
		return ""
	}
	return "\n\nAn apply was killed while it took the ApplicationSet over: its controller is kept from changing anything. The next apply goes on from there. To give up instead, let the controller go on first: " +
		t.Thaw
}

// planned refuses a plan for the reasons that Read has found, or tells what will be taken over. A plan without any
// other change must be an update nevertheless.
func (t takeOver) planned(m *applicationSetModel, prior waves) diag.Diagnostics {
	var diags diag.Diagnostics
	if !t.pending() {
		return diags
	}
	for _, reason := range t.Refused {
		diags.AddError(reason.Summary, fmt.Sprintf("The ApplicationSet %s in the cluster cannot be taken over now. %s\n\nNothing was changed.", m.ID.ValueString(), reason.Detail))
	}
	if diags.HasError() {
		return diags
	}
	names := prior.names()
	if len(names) == 0 {
		m.Waves = waves{unknown: true}.value()
	}
	diags.AddWarning("ApplicationSet in the cluster will be taken over", fmt.Sprintf(
		"apply deletes the ApplicationSet %s, keeping %s: %s. They and their resources stay as they are, and belong to Terraform from then on; what else they change is in the plan. "+
			"Make sure that nothing applies that ApplicationSet again: its controller would take the Applications back.", m.ID.ValueString(), count(len(names)), shorten(names)))
	return diags
}

// takes prepares an apply that takes the ApplicationSet over: state has what it renders.
func (c *connected) takes(ctx context.Context, t takeOver, state *applicationSetModel, recorded appset.Answers) {
	if !t.pending() {
		return
	}
	// As in Read: where a generator of the ApplicationSet fails, all that is on its Applications counts as managed.
	rendered, problems := state.read(ctx, answering{recorded: recorded, inputs: c.inputs()})
	c.taking = &taking{uid: t.UID}
	if !problems.HasError() {
		c.taking.rendered = objectsOf(rendered.apps)
	}
}

// takeOverSet takes the ApplicationSet over, from wherever an earlier apply has got to. Afterwards the Applications
// are those of the set, and carry its marks; nothing else of them has changed.
func (a *apply) takeOverSet(ctx context.Context, ours owner, prior waves) diag.Diagnostics {
	t, diags := a.beginTakeOver(ctx)
	if diags.HasError() {
		return diags
	}
	tflog.Info(ctx, "taking over the ApplicationSet in the cluster", map[string]any{"set": a.owner.String(), "uid": t.UID, "applications": len(t.Applications)})
	a.watched.stage("taking the ApplicationSet in the cluster over, with %s", count(len(t.Applications)))
	client := a.client.Telling(func(what string) { a.watched.stage("taking the ApplicationSet in the cluster over: %s", what) })
	if err := client.ReleaseApplications(ctx, a.owner, t, func() error { return a.client.SaveRecord(ctx, a.owner, a.record) }); err != nil {
		diags.Append(a.takeOverStopped(ctx, "Taking over the ApplicationSet", err))
		return diags
	}
	a.watched.stage("the ApplicationSet is gone; marking %s", count(len(t.Applications)))
	labels := map[string]string{}
	for name := range t.Applications {
		labels[name] = rollout.NoStepLabel
	}
	for _, p := range a.content.placed() {
		labels[p.app.Name] = labelOf(a.content.set.Strategy.Labels(), p.step)
	}
	if err := a.client.MarkTakenOver(ctx, a.owner, *t, labels, a.taking.rendered); err != nil {
		diags.Append(a.takeOverStopped(ctx, "Marking the Applications of the ApplicationSet", err))
		return diags
	}
	tflog.Info(ctx, "the ApplicationSet in the cluster is taken over", map[string]any{"set": a.owner.String()})
	// The rollout's first write of the record stores that.
	a.taking, a.record.TakeOver, a.record.State = nil, nil, argocd.StateComplete
	listing, err := a.list(ctx)
	if err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Listing the Applications of %s", a.owner), err))
		return diags
	}
	a.listing, a.live, a.objects = listing, listing.Live, listing.Objects
	diags.Append(a.prepareUpdate(ours, prior)...)
	return diags
}

// beginTakeOver looks at the ApplicationSet once more, and writes the record: from then on every
// apply goes on with the take-over.
func (a *apply) beginTakeOver(ctx context.Context) (*argocd.TakeOver, diag.Diagnostics) {
	var diags diag.Diagnostics
	t := a.takeOver()
	a.watched.stage("looking at the ApplicationSet in the cluster")
	set, err := a.client.InCluster(ctx, a.owner)
	switch {
	case err != nil:
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Looking for the ApplicationSet %s, which is to be taken over", a.owner), err))
	case set == nil && t.ApplicationSet == nil:
		diags.AddError("ApplicationSet gone", fmt.Sprintf("The ApplicationSet %s has been deleted since it was imported. Nothing was changed. Make a new plan: terraform plan", a.owner))
	case set != nil && set.UID() != t.UID:
		diags.Append(a.refused([]argocd.Refusal{recreated(set)})...)
	case set != nil:
		reasons, problems := a.refusals(ctx, set)
		diags.Append(problems...)
		diags.Append(a.refused(append(reasons, terminating(a.live)...))...)
	}
	if diags.HasError() {
		return nil, diags
	}
	if set != nil && !set.Frozen() {
		t = argocd.TakeOver{UID: set.UID(), ApplicationSet: set.Manifest(), Applications: map[string]string{}}
		for i := range a.live {
			t.Applications[a.live[i].Name] = a.live[i].UID
		}
	}
	if a.record.Token == "" {
		a.record.Token = newID()
	}
	a.record.State, a.record.TakeOver, a.record.ApplicationSet, a.record.Proven = argocd.StateTakingOver, &t, t.ApplicationSet, nil
	if err := a.client.SaveRecord(ctx, a.owner, a.record); err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Writing the record of %s before anything of the ApplicationSet is changed", a.owner), err))
		return nil, diags
	}
	a.recorded = true
	return &t, diags
}

// takeOverStopped tells how far it got, and how to go on.
func (a *apply) takeOverStopped(ctx context.Context, doing string, err error) diag.Diagnostic {
	detail := fmt.Sprintf("%s %s was cancelled.", doing, a.owner)
	if ctx.Err() == nil {
		detail = a.resource.requestDiagnostic(fmt.Sprintf("%s %s", doing, a.owner), err).Detail()
	}
	return diag.NewErrorDiagnostic("Take-over stopped", paragraphs(detail,
		"No workload was changed, and no Application deleted. What was reached stands in the record. Remove the cause and run terraform apply again: it goes on from there."))
}

// outOfCluster undoes inCluster in a copy.
func (w waves) outOfCluster() waves {
	out := waves{unknown: w.unknown, steps: map[string]*wave{}}
	for label, s := range w.steps {
		out.steps[label] = &wave{unknown: s.unknown, leaves: map[string]string{}}
		for name, leaf := range s.leaves {
			leaf = strings.TrimSuffix(leaf, " (in-cluster)")
			if inner, ok := strings.CutSuffix(leaf, ", in-cluster)"); ok {
				leaf = inner + ")"
			}
			out.steps[label].leaves[name] = leaf
		}
	}
	return out
}
