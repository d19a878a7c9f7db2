package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// What has to be so before Applications are deleted, and after.

const summaryDestination = "Destination cluster unknown"

// The ways out when Argo CD does not know the cluster of an Application that is to be deleted.
const (
	insteadOfDestroy = "Add the clusters to Argo CD again (argocd cluster add), or leave the resources on purpose: " +
		"rollout.deletion = \"orphan\", applied before the destroy. Name these Applications in rollout.hold in that apply: it refuses to roll out to a cluster that is unknown."
	insteadOfRemoval = "Add the clusters to Argo CD again (argocd cluster add); or keep the Applications: name them in rollout.hold, or set " +
		"sync_policy.applications_sync = \"create-update\"; or leave the resources on purpose: rollout.deletion = \"orphan\", which leaves those of every Application that this apply deletes."
)

// mayRemove refuses the deletions of an apply that the credentials do not suffice for, and those that Argo CD
// would not carry out; most applies have none.
func (a *apply) mayRemove(ctx context.Context) diag.Diagnostics {
	if len(a.plan.Removals) == 0 {
		return nil
	}
	if refused := a.permitted(ctx, argocd.Remove); refused.HasError() {
		return refused
	}
	return a.checkDestinations(ctx, slices.Concat(a.plan.Removals...), "Nothing was changed. "+insteadOfRemoval)
}

// checkDestinations refuses to delete Applications whose cluster Argo CD does not know: it would
// leave their resources running without a word. instead tells the ways out.
func (a *apply) checkDestinations(ctx context.Context, names []string, instead string) diag.Diagnostics {
	var diags diag.Diagnostics
	if a.settings.orphan || len(names) == 0 {
		return diags
	}
	unknown, err := a.client.KnownDestinations(ctx, objectsNamed(a.objects, names))
	switch {
	case errors.Is(err, argocd.ErrForbidden):
		diags.AddWarning("Destination clusters not checked", "The provider's credentials may not read Argo CD's cluster Secrets. "+
			"If a destination cluster is unknown to Argo CD, it leaves the resources there running without a word.")
	case err != nil:
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Looking for the destination clusters of %s", a.owner), err))
	case len(unknown) > 0:
		diags.AddError(summaryDestination, unknownDestinations(unknown, instead))
	}
	return diags
}

// objectsNamed are the objects of these names, sorted.
func objectsNamed(objects map[string]*unstructured.Unstructured, names []string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, name := range slices.Sorted(slices.Values(names)) {
		if obj := objects[name]; obj != nil {
			found = append(found, obj)
		}
	}
	return found
}

// unknownDestinations tells of Applications (name -> what is wrong with the destination).
func unknownDestinations(unknown map[string]string, instead string) string {
	var lines []string
	for _, name := range sortedNames(unknown) {
		if len(lines) == longestList {
			lines = append(lines, fmt.Sprintf("  and %d more", len(unknown)-longestList))
			break
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", name, rollout.WithoutCredentials(unknown[name])))
	}
	return fmt.Sprintf("Argo CD does not know the destination clusters of these Applications, and would leave their resources running without a word:\n%s\n%s",
		strings.Join(lines, "\n"), instead)
}

// destinationsOf keeps of live Applications what KnownDestinations asks for.
func destinationsOf(objects map[string]*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	kept := make(map[string]*unstructured.Unstructured, len(objects))
	for name, obj := range objects {
		destination, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "destination")
		kept[name] = &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"destination": destination},
		}}
	}
	return kept
}

// storedDestinations are those of live Applications in the stored form.
func storedDestinations(objects map[string]*unstructured.Unstructured) []destination {
	var stored []destination
	at := map[[2]string]int{}
	for _, name := range sortedNames(objects) {
		of, _, _ := unstructured.NestedMap(objects[name].Object, "spec", "destination")
		d := destination{}
		d.Name, _ = of["name"].(string)
		d.Server, _ = of["server"].(string)
		i, known := at[[2]string{d.Name, d.Server}]
		if !known {
			i = len(stored)
			at[[2]string{d.Name, d.Server}] = i
			stored = append(stored, d)
		}
		stored[i].Apps = append(stored[i].Apps, name)
	}
	return stored
}

// destinations are those of the last refresh, by the name of the Application: see destinationsOf.
func (t targets) destinations() map[string]*unstructured.Unstructured {
	found := map[string]*unstructured.Unstructured{}
	for _, d := range t.Destinations {
		for _, name := range d.Apps {
			found[name] = &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": name}, "spec": map[string]any{"destination": map[string]any{"name": d.Name, "server": d.Server}},
			}}
		}
	}
	return found
}

// warnOfDestinations warns of deletions that the apply will refuse, as far as the plan can see: Read must have
// found the Applications in this run, and the credentials must suffice to read Argo CD's cluster Secrets.
func (r *applicationSetResource) warnOfDestinations(ctx context.Context, m *applicationSetModel, gone []string, s settings, home cluster) diag.Diagnostics {
	if m.ID.IsUnknown() || s.orphan {
		return nil
	}
	return r.warnOfUnknown(ctx, m, objectsNamed(r.liveOf(m).destinations, gone), home, "Apply will refuse to delete them. "+insteadOfRemoval)
}

// warnOfRefusedDestroy warns of a destroy that will refuse to delete anything, as far as the plan can see: a refresh
// must have stored where the Applications are deployed to. What cannot be read here is told by the destroy.
func (r *applicationSetResource) warnOfRefusedDestroy(ctx context.Context, state *applicationSetModel, from privateReader) diag.Diagnostics {
	known, problems := readTargets(ctx, from)
	home, _, more := readPrivate[cluster](ctx, from, keyCluster)
	problems.Append(more...)
	s, more := readSettings(ctx, state.Rollout)
	problems.Append(more...)
	c, unread := state.decode(ctx)
	if problems.HasError() || unread.HasError() && !s.deletionGiven || s.of(c.set).orphan {
		return nil // Without a configuration that can be read, the record says whether resources are to stay.
	}
	live := objectsNamed(known.destinations(), wavesOf(state.Waves).names())
	return r.warnOfUnknown(ctx, state, live, home, "Destroy will refuse to delete anything. "+insteadOfDestroy)
}

// warnOfUnknown warns of Applications whose cluster Argo CD does not know. Where there is no connection, or Argo CD's
// cluster Secrets cannot be read, it says nothing: what fails here is told by the apply, which asks again.
func (r *applicationSetResource) warnOfUnknown(ctx context.Context, m *applicationSetModel, objects []*unstructured.Unstructured, home cluster, instead string) diag.Diagnostics {
	var diags diag.Diagnostics
	if r.provider == nil || r.provider.NamespaceUnknown && home.Namespace == "" || len(objects) == 0 {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	on, problems := r.connect(ctx, m, home)
	if problems.HasError() {
		return diags
	}
	if unknown, err := on.client.KnownDestinations(ctx, objects); err == nil && len(unknown) > 0 {
		diags.AddWarning(summaryDestination, unknownDestinations(unknown, instead))
	}
	return diags
}

// reversed tells whether a destroy goes through the steps in reverse. A configuration that this version of the
// provider cannot read any more does not say so; then the record does, else the order is the safe one.
func (a *apply) reversed() bool {
	if a.content.set != nil {
		return a.content.set.Strategy.ReverseDeletion
	}
	if a.record == nil {
		return true
	}
	spec, ok := a.record.ApplicationSet["spec"].(map[string]any)
	if !ok {
		return true
	}
	strategy, _ := spec["strategy"].(map[string]any)
	order, _ := strategy["deletionOrder"].(string)
	return order != "" && order != "AllAtOnce"
}

// toDestroy are the settings of a destroy. A configuration that this version of the provider cannot read any more
// does not say whether resources stay; then the record does, else they stay: what was left can still be deleted.
func (s settings) toDestroy(set *appset.Set, record *argocd.Record) settings {
	if set != nil || s.deletionGiven {
		return s.of(set)
	}
	if recorded := recordedSet(record); recorded != nil {
		return s.of(recorded)
	}
	s.orphan = true
	return s
}

// recordedSet is, of the set that was applied last, what tells whether resources stay: nil where the record does not
// say, and a set that preserves them where this version of the provider does not understand what it says.
func recordedSet(record *argocd.Record) *appset.Set {
	if record == nil {
		return nil
	}
	spec, ok := record.ApplicationSet["spec"].(map[string]any)
	if !ok {
		return nil
	}
	set := &appset.Set{PreserveResources: true}
	set.Template, _ = spec["template"].(map[string]any)
	policy, understood := spec["syncPolicy"].(map[string]any)
	if understood = understood || spec["syncPolicy"] == nil; !understood {
		return set
	}
	if preserve, isBool := policy["preserveResourcesOnDeletion"].(bool); isBool || policy["preserveResourcesOnDeletion"] == nil {
		set.PreserveResources = preserve
	}
	return set
}

// stays says why resources are left running; empty where they are deleted. when tells at what time another
// rollout.deletion has to be applied.
func (s settings) stays(when string) string {
	switch {
	case !s.orphan:
		return ""
	case s.deletionGiven:
		return "What they have deployed stays: rollout.deletion is \"orphan\"."
	}
	return fmt.Sprintf("What they have deployed stays: sync_policy.preserve_resources_on_deletion is true. rollout.deletion = \"cascade\"%s deletes it as well.", when)
}

// warnOfUnreadable tells of a destroy that leaves resources because nothing says whether they are to be deleted.
func (a *apply) warnOfUnreadable() diag.Diagnostics {
	var diags diag.Diagnostics
	if a.content.set == nil && !a.settings.deletionGiven && recordedSet(a.record) == nil && len(a.liveNames()) > 0 {
		diags.AddWarning("Resources left", fmt.Sprintf("This version of the provider cannot read the configuration of %s in the state, and there is no record that tells "+
			"whether the resources of its Applications are to be deleted. They are left running: delete them by hand if they are not wanted.", a.owner))
	}
	return diags
}

// nothingLeft refuses to forget a set while an Application says that it is of it: one that somebody has created
// again, or that had lost the label by which the set is found. Nothing would know of it any more.
func (a *apply) nothingLeft(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	names := map[string]bool{}
	for _, name := range a.liveNames() {
		names[name] = true
	}
	if a.record != nil {
		for name := range a.record.Targets {
			names[name] = true
		}
	}
	found, err := a.client.Get(ctx, a.owner, sortedNames(names)...)
	if err != nil {
		diags.Append(a.resource.requestDiagnostic(fmt.Sprintf("Looking whether all Applications of %s are gone", a.owner), err))
		return diags
	}
	maps.DeleteFunc(found, func(_ string, e argocd.Existing) bool { return e.Holder != argocd.HeldByUs })
	if len(found) > 0 {
		diags.AddError("Applications left", a.left(found))
	}
	return diags
}

// left tells of Applications of the set that exist after all of it was deleted.
func (a *apply) left(found map[string]argocd.Existing) string {
	var unlabelled []string
	for _, name := range sortedNames(found) {
		if !found[name].Labelled {
			unlabelled = append(unlabelled, name)
		}
	}
	kubectl := func(verb string, names []string, more string) string {
		return fmt.Sprintf("kubectl -n %s %s applications.argoproj.io %s %s", a.owner.Namespace, verb, strings.Join(names, " "), more)
	}
	parts := []string{
		fmt.Sprintf("All Applications of %s that were found have been deleted, but these exist and name it as their owner: %s. Somebody has created them again, "+
			"or they had lost the label %s, by which they are found. The record of the set is kept.", a.owner, shorten(sortedNames(found)), argocd.SetLabel),
		"Find out who manages them as well: " + kubectl("get", sortedNames(found), "-o yaml --show-managed-fields"),
	}
	if len(unlabelled) > 0 {
		parts = append(parts, "To have those without the label deleted: "+kubectl("label", unlabelled, argocd.SetLabel+"="+a.owner.Hash()))
	}
	return paragraphs(append(parts,
		"To leave them alone for good: "+kubectl("annotate", sortedNames(found), argocd.OwnerAnnotation+"-"),
		"Then run terraform destroy again.")...)
}
