package provider

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// Whose a set is: the record and the private state have the same token, unless another create has had
// the set since. A record that is complete says that it has ended well, so somebody manages the set by that token.
// Any other says no such thing. Terraform may have lost the object of that create (killed before it could store
// it), have it beside the one at hand (create_before_destroy: deposed objects), or never have had it (another
// state that adopts the set). So nothing is deleted for an object with another token, and such a record is no reason
// to forget the object either.

// fate is what becomes of a set whose object Terraform deletes.
type fate string

const (
	// fateDeleted: it goes, with all of its Applications.
	fateDeleted fate = "deleted"
	// fateHandedOver: it is left to the create that follows.
	fateHandedOver fate = "handed over"
	// fateForgotten: it is left to whom it belongs to.
	fateForgotten fate = "forgotten"
	// The others refuse the deletion, and the object stays in the state.
	// fateElsewhere: this may be another cluster than the one that the set is on.
	fateElsewhere fate = "elsewhere"
	// fateBegunAnew: a later create has not ended.
	fateBegunAnew fate = "begun anew"
	// fateTakenOver: a take-over has not ended.
	fateTakenOver fate = "taken over"
)

// fate is fateDeleted where there is no record that says otherwise, and where that could not be read, which is an error
// of its own.
func (c *connected) fate(d deletion) fate {
	switch foreign := c.foreign(d.ours...); {
	case !c.loaded:
		return fateDeleted
	case c.maybeElsewhere(d.ours...):
		return fateElsewhere
	case c.record != nil && c.record.TakeOver != nil:
		return fateTakenOver
	case foreign && c.record.State == argocd.StateComplete:
		return fateForgotten
	case d.handOver:
		return fateHandedOver
	case foreign:
		return fateBegunAnew
	}
	return fateDeleted
}

// foreign tells that another create has had the set since: none of ours, where there are any, is the token of the record.
func (c *connected) foreign(ours ...string) bool {
	ours = slices.DeleteFunc(slices.Clone(ours), func(token string) bool { return token == "" })
	return c.record != nil && len(ours) > 0 && !slices.Contains(ours, c.record.Token)
}

// refuses is the error of a deletion that would lose the set; none where that is its fate otherwise.
func (c *connected) refuses(of fate) diag.Diagnostics {
	switch of {
	case fateElsewhere:
		return c.notVerified()
	case fateTakenOver:
		return c.takeOverOpen()
	case fateBegunAnew:
		return c.notFinished(fmt.Sprintf("let the creation end: terraform taint ADDRESS, then terraform apply, with the resource in the configuration under this name. "+
			"Nothing is deleted, and what is not done is rolled out; after that terraform destroy deletes the set. To delete it without that: terraform state rm ADDRESS, "+
			"then terraform import ADDRESS %s, then terraform destroy. A deposed object (create_before_destroy) goes with the next apply or destroy.", c.owner))
	}
	return nil
}

// onlyForgotten tells that another create has the set: with create_before_destroy, the one that replaces this
// very object.
func (c *connected) onlyForgotten() diag.Diagnostics {
	return diag.Diagnostics{diag.NewWarningDiagnostic("Nothing deleted", fmt.Sprintf(
		"%s is managed by another resource or Terraform state by now, which keeps its Applications. It is only forgotten here. If no state has it, because an apply was killed "+
			"at its very end, this brings it back: terraform import ADDRESS %s", c.owner, c.owner))}
}

// notFinished tells of a create that the state does not know, and how to go on where that was killed.
func (c *connected) notFinished(next string) diag.Diagnostics {
	return diag.Diagnostics{diag.NewErrorDiagnostic("Creation not finished", paragraphs(fmt.Sprintf(
		"The creation of %s was begun anew after this Terraform state was written, and has not ended. An apply of this resource was killed, or another Terraform state "+
			"creates the set with rollout.adopt_existing. Nothing was changed.", c.owner),
		"Where an apply was killed: "+next,
		"Where another Terraform state has the set: terraform state rm ADDRESS"))}
}

// mayApply refuses an apply of what may be elsewhere, or is being taken over and does not know of that. It comes before
// everything else that is asked about the Applications: what is wrong with them is of no interest then.
func (c *connected) mayApply() diag.Diagnostics {
	switch {
	case c.maybeElsewhere():
		return c.notVerified()
	case c.taking == nil && c.record != nil && c.record.TakeOver != nil:
		return c.takeOverOpen()
	}
	return nil
}

// claim refuses a set that another Terraform state manages. One that a create has left
// unfinished, or that was handed over, is free to be taken.
func (a *apply) claim() diag.Diagnostics {
	var diags diag.Diagnostics
	switch {
	case a.record == nil:
		a.record = &argocd.Record{}
	case a.record.State == argocd.StateComplete && !a.settings.adoptExisting:
		diags.AddError("Set already managed", fmt.Sprintf(
			"The set %s exists already, with %s, and was not created by this resource: another Terraform state manages it, or the "+
				"state that did was lost. Nothing was changed. Choose another name; or, if no other state manages it, set "+
				"rollout.adopt_existing = true to take it over. With create_before_destroy, a replacement needs that as well.",
			a.owner, count(len(a.live))))
	}
	return diags
}

// stillOurs refuses to update a set that another create has had since.
func (a *apply) stillOurs(ours owner) diag.Diagnostics {
	var diags diag.Diagnostics
	switch foreign := a.foreign(ours.Token); {
	case a.maybeElsewhere(ours.Token):
		diags.Append(a.notVerified()...)
	case !foreign || a.settings.adoptExisting:
	case a.record.State == argocd.StateComplete:
		diags.AddError("Set taken over", fmt.Sprintf(
			"The set %s has been created again since by another resource or Terraform state, which manages it now. Nothing was changed. "+
				"Remove this resource from the state (terraform state rm), or set rollout.adopt_existing = true to take the set back.", a.owner))
	default:
		diags.Append(a.notFinished("terraform taint ADDRESS, then terraform apply. The plan says \"must be replaced\", but nothing is deleted, and the rollout goes on with what is not done. " +
			"Where prevent_destroy is in the way, rollout.adopt_existing = true for one apply does the same.")...)
	}
	return diags
}

// handedOver tells whether the set was handed over to this create by the deletion that came before it.
func (c *connected) handedOver() bool {
	_, ok := c.resource.provider.generation.sets.handedOver(c.owner.String())
	return ok && c.record.State == argocd.StateReleased
}

// begins makes the set that of this create. One that was handed over keeps the token by which the state knows it: until this
// create has ended, that may still be the one from before. Any other gets a new one, so that a deposed object of the same
// set (create_before_destroy), or the state that it is taken from, cannot delete it.
func (c *connected) begins() {
	if c.begun {
		return
	}
	sets := &c.resource.provider.generation.sets
	if former := sets.formerOf(c.owner.String()); former.Token == "" || former.Token != c.record.Token || !c.handedOver() {
		c.record.Token = newID()
	}
	c.record.State, c.begun = argocd.StateCreating, true
	sets.begin(c.owner.String(), c.record.Token)
}

// inherit takes over which cluster the set is on, where it was handed over and the credentials may not read that.
func (c *connected) inherit() {
	former := c.resource.provider.generation.sets.formerOf(c.owner.String())
	if c.uid == "" && former.Home.Namespace == c.argoNamespace {
		c.uid = former.Home.UID
	}
}
