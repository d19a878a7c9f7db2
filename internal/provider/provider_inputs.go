package provider

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/inputs"
)

// generation is what the resources of one run of the provider share to answer generators. Terraform
// starts the provider anew for each plan and each apply.
type generation struct {
	mu sync.Mutex
	// inputs are by Argo CD's namespace: a repository is fetched once for all sets.
	inputs map[string]appset.Inputs
	// planned are the answers that the creation of a set was planned with, by namespace/name.
	planned map[string]appset.Answers
	sets    sets
}

// inputs are those of the Argo CD in a namespace.
func (d *ProviderData) inputs(client *argocd.Client, argoNamespace string) appset.Inputs {
	g := &d.generation
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inputs == nil {
		g.inputs = map[string]appset.Inputs{}
	}
	if g.inputs[argoNamespace] == nil {
		g.inputs[argoNamespace] = logged{inputs.New(client, argoNamespace)}
	}
	return g.inputs[argoNamespace]
}

// keepAnswers keeps what a creation was planned with: Terraform plans it once more in the apply, by
// the same process, and hands no private data from there to the Create.
func (d *ProviderData) keepAnswers(set string, answers appset.Answers) {
	g := &d.generation
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.planned == nil {
		g.planned = map[string]appset.Answers{}
	}
	g.planned[set] = answers
}

// keptAnswers are what keepAnswers has kept, or none: then the generators are asked anew.
func (d *ProviderData) keptAnswers(set string) appset.Answers {
	g := &d.generation
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.planned[set]
}

// reach connects for the generators of a data source, who.
func (d *ProviderData) reach(ctx context.Context, who string) (appset.Inputs, diag.Diagnostics) {
	var diags diag.Diagnostics
	switch {
	case d == nil:
		diags.AddError("Provider not configured", "The provider has no configuration, so there is no cluster to ask.")
		return nil, diags
	case d.NamespaceUnknown:
		diags.AddError(summaryNoConnection, fmt.Sprintf("%s needs the cluster: the provider's namespace, in which Argo CD runs, is known only after apply.", who))
		return nil, diags
	}
	client, err := d.client()
	if err != nil {
		diags.AddError(summaryNoConnection, fmt.Sprintf("%s needs the cluster: %s.", who, strings.TrimSuffix(err.Error(), ".")))
		return nil, diags
	}
	return d.inputs(client, d.Namespace), diags
}

// namespace is where Applications live unless told otherwise; the default while that is not known.
func (d *ProviderData) namespace() string {
	if d == nil || d.NamespaceUnknown {
		return defaultNamespace
	}
	return d.Namespace
}
