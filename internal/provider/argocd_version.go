package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// versionTimeout bounds the look at Argo CD's version: a plan must not wait for a courtesy.
const versionTimeout = 5 * time.Second

// versionCheck is done once for each configuration of the provider, however many sets there are.
type versionCheck struct{ once sync.Once }

// warnOfVersion warns of an Argo CD that this provider is not tested with. Where the version does
// not show, or the cluster is not there yet, it says nothing.
func (d *ProviderData) warnOfVersion(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	if d == nil || d.NamespaceUnknown {
		return diags
	}
	d.version.once.Do(func() {
		client, err := d.client()
		if err != nil {
			return // whoever needs the connection tells
		}
		ctx, cancel := context.WithTimeout(ctx, versionTimeout)
		defer cancel()
		if v, ok := client.Version(ctx); ok {
			diags.Append(untested(v, d.Namespace)...)
		}
	})
	return diags
}

// untested is the warning about a version; none where it is tested.
func untested(v argocd.Version, namespace string) diag.Diagnostics {
	var diags diag.Diagnostics
	oldest, newest := argocd.OldestTested, argocd.NewestTested
	var advice string
	switch {
	case v.Compare(oldest) < 0:
		advice = "Older ones lack fields of an Application that the provider may write, and are not looked at when something changes here. Update Argo CD"
	case v.Compare(newest) > 0:
		advice = "It may report its status in another way, and a rollout relies on that. Look for a newer version of the provider"
	default:
		return diags
	}
	diags.AddWarning("Argo CD version not tested", fmt.Sprintf(
		"The Argo CD in namespace %q is %s. This version of the provider is tested with Argo CD %s to %s. %s, or try it first on a cluster where a "+
			"rollout that goes wrong does no harm. The guide \"Compatibility\" tells what is tested.",
		namespace, v.Text, oldest.Short(), newest.Short(), advice))
	return diags
}
