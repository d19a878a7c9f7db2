package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

const (
	summaryUnauthorized = "Credentials refused"
	summaryForbidden    = "Permission missing"
	summaryNoConnection = "No connection to the cluster"
	summaryUnreachable  = "Cluster not reachable"
	summaryNoArgoCD     = "Argo CD not found"
)

// permitted refuses what the credentials do not suffice for, everything at once, before the first
// write, which is that of the lease. Then the set is read, as far as it may be, for what has to be
// kept of it.
func (c *connected) permitted(ctx context.Context, purposes argocd.Purpose) diag.Diagnostics {
	missing := c.client.Missing(ctx, c.owner, purposes)
	if len(missing) == 0 {
		return nil
	}
	if !c.loaded {
		_ = c.load(ctx) // what is forbidden of it is among the missing
	}
	doing := "apply"
	if purposes&argocd.Destroy != 0 {
		doing = "destroy"
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(summaryForbidden, paragraphs(
		fmt.Sprintf("The provider's credentials may not do everything that it takes to %s %s. Nothing was changed.", doing, c.owner),
		argocd.Grant(missing...)))}
}

// refusal says what to do about credentials that are refused (401) or do not suffice (403); empty
// for every other error.
func (r *applicationSetResource) refusal(err error) string {
	if errors.Is(err, argocd.ErrUnauthorized) {
		return r.provider.ExplainUnauthorized(err)
	}
	return argocd.ExplainForbidden(err)
}
