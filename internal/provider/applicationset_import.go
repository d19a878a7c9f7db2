package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

var _ resource.ResourceWithImportState = (*applicationSetResource)(nil)

// ImportState finds a set by namespace and name: one of this provider by its record, or an
// ApplicationSet in the cluster, which the first apply takes over. It changes nothing. Either comes as the manifest
// in JSON, in the form of Terraform's jsonencode, which is what -generate-config-out makes of it.
func (r *applicationSetResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id, diags := importedIdentity(ctx, req)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	m := applicationSetModel{Name: id.Name, Namespace: id.Namespace}
	c, diags := r.connect(ctx, &m, cluster{})
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	found, diags := c.find(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	m.Manifest = found.manifest
	if _, problems := m.decode(ctx); problems.HasError() {
		resp.Diagnostics.Append(notDecoded(c.owner, problems)...)
		return
	}
	for name, value := range map[string]types.String{"id": idOf(&m), "name": m.Name, "namespace": m.Namespace, "manifest": m.Manifest} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyCluster, cluster{UID: c.uid, Namespace: c.argoNamespace})...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyOwner, owner{Token: found.token})...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyTakeOver, takeOver{UID: found.uid})...)
}

// importedIdentity reads the id or the identity of an import.
func importedIdentity(ctx context.Context, req resource.ImportStateRequest) (identityModel, diag.Diagnostics) {
	var id identityModel
	var diags diag.Diagnostics
	if req.ID == "" && req.Identity != nil && !req.Identity.Raw.IsNull() {
		diags.Append(req.Identity.Get(ctx, &id)...)
	} else if namespace, name, ok := strings.Cut(req.ID, "/"); ok {
		id = identityModel{Namespace: types.StringValue(namespace), Name: types.StringValue(name)}
	}
	if diags.HasError() {
		return id, diags
	}
	// The rules are those of the attributes.
	if !namespaceName.MatchString(id.Namespace.ValueString()) || !objectName.MatchString(id.Name.ValueString()) {
		given := req.ID
		if given == "" {
			given = id.Namespace.ValueString() + "/" + id.Name.ValueString()
		}
		diags.AddError("Invalid import id", fmt.Sprintf(
			"%q is not the id of a set. It is namespace/name, both as in Kubernetes: the namespace that the Applications are in, and the name of the set, "+
				"e.g. terraform import argocdprogressive_applicationset.guestbook argocd/guestbook", given))
	}
	return id, diags
}

// found is what an import has found.
type found struct {
	manifest types.String
	// uid is that of the in-cluster ApplicationSet that is to be taken over; empty for a set of ours.
	uid string
	// token is the record's; empty for what is to be taken over.
	token string
}

// find looks for the record and for the in-cluster ApplicationSet. Where both are there, the
// Applications belong to the ApplicationSet again, and the record is of an earlier time; one that a take-over
// has changed stands in the record as it was.
func (c *connected) find(ctx context.Context) (found, diag.Diagnostics) {
	var diags diag.Diagnostics
	if diags = c.load(ctx); diags.HasError() {
		return found{}, diags
	}
	set, err := c.client.InCluster(ctx, c.owner)
	if err != nil && (c.record == nil || c.record.TakeOver != nil || !errors.Is(err, argocd.ErrForbidden)) {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Looking for the ApplicationSet %s in the cluster", c.owner), err))
		return found{}, diags
	}
	switch {
	case set != nil && !set.Frozen():
		reasons, problems := c.refusals(ctx, set)
		diags.Append(problems...)
		diags.Append(c.refused(reasons)...)
		diags.Append(c.twoManagers(set)...)
		return found{manifest: c.manifestOf(set.Manifest()), uid: set.UID()}, diags
	case c.record != nil && c.record.TakeOver != nil:
		return found{manifest: c.manifestOf(c.record.TakeOver.ApplicationSet), uid: c.record.TakeOver.UID}, diags
	case set != nil:
		diags.AddError("Half of a take-over", fmt.Sprintf(
			"A take-over of the ApplicationSet %s was begun, and the record that says what it was before is gone. Nothing was changed. Let its controller go on, and import it again: %s",
			c.owner, set.ThawByHand()))
		return found{}, diags
	case c.record != nil:
		return found{manifest: c.manifestOf(c.record.ApplicationSet), token: c.record.Token}, diags
	}
	diags.AddError("Set not found", fmt.Sprintf(
		"There is neither a set of this provider nor an ApplicationSet %s in the cluster. See what there is: kubectl get applicationsets.argoproj.io -A; "+
			"sets of this provider: kubectl get configmaps -A -l argocdprogressive.io/record=head -o custom-columns=SET:.data.owner", c.owner))
	return found{}, diags
}

// twoManagers refuses an ApplicationSet beside a set of ours that has Applications.
func (c *connected) twoManagers(set *argocd.InCluster) diag.Diagnostics {
	var diags diag.Diagnostics
	if len(c.live) > 0 {
		diags.AddError("Two managers", fmt.Sprintf(
			"There is an ApplicationSet %s in the cluster, and a set of this provider of the same name that has %s: %s. Delete one of them first. The ApplicationSet, keeping what it has made: %s",
			c.owner, count(len(c.live)), shorten(c.liveNames()), set.DeleteByHand()))
	}
	return diags
}

// refused are the errors that the reasons are.
func (c *connected) refused(reasons []argocd.Refusal) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, reason := range reasons {
		diags.AddError(reason.Summary, fmt.Sprintf("The ApplicationSet %s in the cluster cannot be taken over now. %s\n\nNothing was changed.", c.owner, reason.Detail))
	}
	return diags
}

// manifestOf is an ApplicationSet in JSON: keys sorted, no blanks, as jsonencode writes it, so that
// the two are equal. Without a name it could not be applied again.
func (c *connected) manifestOf(document map[string]any) types.String {
	raw, err := json.Marshal(named(c.owner, document))
	if err != nil {
		return types.StringNull() // nothing that came from JSON
	}
	return types.StringValue(string(raw))
}

// named is an ApplicationSet with its name and namespace, which a manifest may leave out.
func named(owner argocd.Owner, document map[string]any) map[string]any {
	metadata := map[string]any{}
	given, _ := document["metadata"].(map[string]any)
	for key, value := range given {
		metadata[key] = value
	}
	metadata["name"], metadata["namespace"] = owner.Name, owner.Namespace
	return map[string]any{"apiVersion": appset.APIVersion, "kind": "ApplicationSet", "metadata": metadata, "spec": document["spec"]}
}

// notDecoded tells what this provider does not know of an ApplicationSet.
func notDecoded(owner argocd.Owner, problems diag.Diagnostics) diag.Diagnostics {
	var lines []string
	for _, d := range problems.Errors() {
		lines = append(lines, "  "+d.Summary()+": "+d.Detail())
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic("ApplicationSet not supported", paragraphs(
		fmt.Sprintf("%s has what this provider cannot roll out:", owner), strings.Join(lines, "\n"),
		"Nothing was changed. Change the ApplicationSet first, or leave it to Argo CD's own controller."))}
}
