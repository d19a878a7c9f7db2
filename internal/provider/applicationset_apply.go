package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// connected is a set on its cluster.
type connected struct {
	resource *applicationSetResource
	client   *argocd.Client
	owner    argocd.Owner
	// argoNamespace is that of Argo CD itself; the Applications may live in another one.
	argoNamespace string
	// uid is that of the namespace. Where the credentials may not read it, it is the one that was known before, if any,
	// and unverified says why it is not known to be that of this cluster.
	uid        string
	unverified error
	// lease is ours while the set is written; nil where it is only read. runID names the holder.
	lease *argocd.Lease
	runID string
	// watched tells what is done while the set is written; nil where it is only read.
	watched *watched
	// recorded tells that a record is stored.
	recorded bool
	// record is nil where there is none.
	record  *argocd.Record
	live    []rollout.Live
	objects map[string]*unstructured.Unstructured
	// listing is where live and objects are from; a run begins with it.
	listing *argocd.Listing
	// loaded tells that all of these have been read.
	loaded bool
	// begun tells that a create has made the set its own.
	begun bool
	// taking is the in-cluster ApplicationSet that is to be taken over; nil for a set of ours.
	taking *taking
}

// connect reaches the cluster of a set and refuses one that is not the one the set was created
// on (want; empty where that is not known).
func (r *applicationSetResource) connect(ctx context.Context, m *applicationSetModel, want cluster) (*connected, diag.Diagnostics) {
	var diags diag.Diagnostics
	if r.provider == nil {
		diags.AddError("Provider not configured", "The provider has no configuration, so there is no cluster to work on.")
		return nil, diags
	}
	config, err := r.provider.RESTConfig()
	if err != nil {
		diags.AddError(summaryNoConnection, fmt.Sprintf("%s/%s needs the cluster that its Applications live on: %s.",
			m.Namespace.ValueString(), m.Name.ValueString(), strings.TrimSuffix(err.Error(), ".")))
		return nil, diags
	}
	argoNamespace := r.provider.Namespace
	if want.Namespace != "" {
		// Fixed when the set was created; ModifyPlan tells what to do when the provider's changes.
		argoNamespace = want.Namespace
	}
	client, err := argocd.New(config, argoNamespace)
	if err != nil {
		diags.AddError(summaryNoConnection, err.Error())
		return nil, diags
	}
	c := &connected{
		resource: r, client: client, argoNamespace: argoNamespace,
		owner: argocd.Owner{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString()},
	}
	diags.Append(c.identify(ctx, want)...)
	return c, diags
}

// identify reads the UID of the namespace, by which a cluster is recognised.
func (c *connected) identify(ctx context.Context, want cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	uid, err := c.client.NamespaceUID(ctx)
	switch {
	case errors.Is(err, argocd.ErrForbidden):
		// Not every credential may read namespaces. It is a safety net, no necessity: but what is known must outlast an
		// apply with such credentials, for the next one may be with others.
		if want.UID != "" {
			c.uid, c.unverified = want.UID, err
		}
		return diags
	case err != nil:
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Looking for Argo CD's namespace %q for %s", c.argoNamespace, c.owner), err))
		return diags
	}
	c.uid = uid
	if want.UID != "" && want.UID != uid {
		diags.AddError("Wrong cluster", fmt.Sprintf(
			"%s was created on a cluster whose namespace %q has the UID %s. The provider is connected to a cluster where that namespace has "+
				"the UID %s, so it is another cluster, or another installation of Argo CD. Nothing was changed. Check namespace in "+
				"the provider's configuration, config_context, config_path and host in its kubernetes settings, and the KUBE_* environment variables. If the namespace was really "+
				"created anew, forget the old set: terraform state rm.",
			c.owner, c.argoNamespace, want.UID, uid))
	}
	return diags
}

// maybeElsewhere tells that nothing is found of the set, or one of the same name that another create has made, on a cluster
// that is not known to be the one that the set is on: then it is neither gone nor taken over.
func (c *connected) maybeElsewhere(ours ...string) bool {
	if c.unverified == nil || !c.loaded {
		return false
	}
	if c.record == nil {
		return len(c.live) == 0
	}
	return c.foreign(ours...) && !c.resource.provider.generation.sets.hasBegun(c.owner.String(), c.record.Token)
}

// notVerified tells how to find out which cluster it is.
func (c *connected) notVerified() diag.Diagnostics {
	found := "has nothing of it, no record and no Application"
	if c.record != nil {
		found = "has a set of this name that another resource has created"
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic("Cluster not verified", paragraphs(fmt.Sprintf(
		"%s was created on a cluster whose namespace %q has the UID %s. The cluster that the provider is connected to %s, and the credentials may not read "+
			"that namespace, so it may be another cluster. Nothing was changed. Check config_context, config_path and host in the provider's kubernetes settings, and the KUBE_* "+
			"environment variables; or let the credentials read the namespace. If it is the right cluster, and the set is really gone, forget it: terraform state rm ADDRESS",
		c.owner, c.argoNamespace, c.uid, found),
		argocd.ExplainForbidden(c.unverified)))}
}

// retain lets others change what the set leaves to them: preserved_fields and
// ignore_application_differences. It comes before load.
func (c *connected) retain(of content) {
	if of.set != nil {
		c.client = c.client.Retaining(of.set.Retained)
	}
}

// load reads the record and the Applications of the set.
func (c *connected) load(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	var err error
	if c.record, err = c.client.LoadRecord(ctx, c.owner); err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Reading the record of %s", c.owner), err))
		return diags
	}
	c.recorded = c.record != nil
	if c.listing, err = c.list(ctx); err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Listing the Applications of %s", c.owner), err))
		return diags
	}
	c.live, c.objects, c.loaded = c.listing.Live, c.listing.Objects, true
	return diags
}

// liveNames are the names of the live Applications of the set, sorted.
func (c *connected) liveNames() []string {
	names := make([]string, len(c.live))
	for i := range c.live {
		names[i] = c.live[i].Name
	}
	return names
}

// stepLabels maps live Applications to the step they were rolled out in.
func (c *connected) stepLabels() map[string]string {
	labels := map[string]string{}
	for i := range c.live {
		labels[c.live[i].Name] = c.live[i].StepLabel
	}
	return labels
}

// proven is the record's, empty where there is no record, or one of an earlier time than that of the
// ApplicationSet that is to be taken over.
func (c *connected) proven() map[string]string {
	if c.record == nil || c.taking != nil {
		return nil
	}
	return c.record.Proven
}

// adoptable decides about Applications that exist under a desired name and are not known as
// ours: those that may be taken over (name -> UID), or errors that say whose they are.
func (c *connected) adoptable(existing map[string]argocd.Existing, s settings) (map[string]string, diag.Diagnostics) {
	var diags diag.Diagnostics
	adopt := map[string]string{}
	var controlled, taken []string
	for _, name := range sortedNames(existing) {
		e := existing[name]
		switch {
		case e.Holder == argocd.HeldByController:
			controlled = append(controlled, fmt.Sprintf("%s (ApplicationSet %s)", name, e.HolderName))
		case e.Holder == argocd.HeldByUs || s.adoptExisting:
			adopt[name] = e.UID
		case e.Holder == argocd.HeldByOtherSet:
			taken = append(taken, fmt.Sprintf("%s (of the set %s)", name, e.HolderName))
		default:
			taken = append(taken, fmt.Sprintf("%s (made by someone else)", name))
		}
	}
	if len(controlled) > 0 {
		diags.AddError("Applications of an in-cluster ApplicationSet", fmt.Sprintf(
			"%s would write Applications in namespace %q that an ApplicationSet in the cluster manages: %s. Its controller would undo every change. "+
				"Choose other names; or take that ApplicationSet over, which keeps its Applications and what they deploy, by an import into a resource of its name: "+
				"terraform import ADDRESS %s/NAME",
			c.owner, c.owner.Namespace, shorten(controlled), c.owner.Namespace))
	}
	if len(taken) > 0 {
		diags.AddError("Applications exist already", fmt.Sprintf(
			"%s would write Applications that exist in namespace %q already: %s. Nothing was changed. Choose other names, or set "+
				"rollout.adopt_existing = true to take them over.", c.owner, c.owner.Namespace, shorten(taken)))
	}
	return adopt, diags
}

// preflight asks Argo CD and the API server about everything that is to be written. It returns
// those that may be taken over.
func (c *connected) preflight(ctx context.Context, objects map[string]map[string]any, s settings) (map[string]string, diag.Diagnostics) {
	var diags diag.Diagnostics
	var ordered []map[string]any
	for _, name := range sortedNames(objects) {
		ordered = append(ordered, objects[name])
	}
	c.watched.stage("checking %s before the first write", count(len(ordered)))
	problems, taken, err := c.client.Preflight(ctx, c.owner, ordered, c.objects)
	if err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Checking the Applications of %s before the first write", c.owner), err))
		return nil, diags
	}
	adopt, diags := c.adoptable(taken, s)
	if !diags.HasError() {
		diags.Append(problemDiagnostics(problems, c.owner.Namespace, c.argoNamespace)...)
	}
	return adopt, diags
}

// problemDiagnostics tells what a preflight has found: once for all Applications that it is the
// same for, and the first ones where there are very many.
func problemDiagnostics(problems []argocd.Problem, namespace, argoNamespace string) diag.Diagnostics {
	var diags diag.Diagnostics
	apps := map[argocd.Problem][]string{}
	var kinds []argocd.Problem
	for _, p := range problems {
		kind := p
		kind.App = ""
		if _, seen := apps[kind]; !seen {
			kinds = append(kinds, kind)
		}
		apps[kind] = append(apps[kind], p.App)
	}
	for i, kind := range kinds {
		var more string
		if left := len(kinds) - longestList; i == longestList-1 && left > 0 {
			more = fmt.Sprintf("There are %d more problems like these.", left)
		}
		detail := kind.Detail
		if names := apps[kind]; len(names) > 1 {
			detail = fmt.Sprintf("%s in namespace %s (%s): %s", count(len(names)), namespace, shorten(names), detail)
		} else if names[0] != "" {
			detail = fmt.Sprintf("Application %s/%s: %s", namespace, names[0], detail)
		}
		if kind.Warning {
			diags.AddWarning(kind.Summary, paragraphs(detail, more))
		} else {
			diags.AddError(kind.Summary, paragraphs(detail, more, "Nothing was changed.", afterPreflight(kind.Summary, argoNamespace)))
		}
		if more != "" {
			break
		}
	}
	return diags
}

// afterPreflight is the next command after what a preflight has found.
func afterPreflight(summary, argoNamespace string) string {
	switch summary {
	case argocd.SummaryNoProject:
		return fmt.Sprintf("See which there are: kubectl -n %s get appprojects.argoproj.io", argoNamespace)
	case argocd.SummaryNotPermitted:
		return fmt.Sprintf("See what they permit: kubectl -n %s get appprojects.argoproj.io -o yaml", argoNamespace)
	case argocd.SummaryDestination:
		return "See which clusters Argo CD knows: argocd cluster list"
	}
	return ""
}
