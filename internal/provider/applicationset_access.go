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
)

// permitted refuses what the credentials do not suffice for, everything at once, before the first
// write. loaded is how reading the set has ended: where that was forbidden, it is a part of what
// is told; any other failure stands for itself.
func (c *connected) permitted(ctx context.Context, purposes argocd.Purpose, loaded diag.Diagnostics) diag.Diagnostics {
	if loaded.HasError() && loaded.Errors()[0].Summary() != summaryForbidden {
		return loaded
	}
	missing := c.client.Missing(ctx, c.owner, purposes)
	if len(missing) == 0 {
		return loaded
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

// mayRemove is permitted for the deletions of an apply; most have none.
func (a *apply) mayRemove(ctx context.Context) diag.Diagnostics {
	if len(a.plan.Removals) == 0 {
		return nil
	}
	return a.permitted(ctx, argocd.Remove, nil)
}
