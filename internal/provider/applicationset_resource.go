package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.Resource                   = (*applicationSetResource)(nil)
	_ resource.ResourceWithConfigure      = (*applicationSetResource)(nil)
	_ resource.ResourceWithIdentity       = (*applicationSetResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*applicationSetResource)(nil)
	_ resource.ResourceWithValidateConfig = (*applicationSetResource)(nil)
)

// applicationSetResource is argocdprogressive_applicationset.
type applicationSetResource struct {
	// provider is nil while Terraform validates without a provider configuration.
	provider *ProviderData
}

// NewApplicationSetResource returns the resource argocdprogressive_applicationset.
func NewApplicationSetResource() resource.Resource { return &applicationSetResource{} }

func (r *applicationSetResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_applicationset"
}

func (r *applicationSetResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, err := providerDataFrom(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
		return
	}
	r.provider = data
}

// applicationSetModel is the resource as Terraform stores it.
type applicationSetModel struct {
	ID        types.String   `tfsdk:"id"`
	Name      types.String   `tfsdk:"name"`
	Namespace types.String   `tfsdk:"namespace"`
	Spec      types.Object   `tfsdk:"spec"`
	Manifest  types.String   `tfsdk:"manifest"`
	Rollout   types.Object   `tfsdk:"rollout"`
	Timeouts  timeouts.Value `tfsdk:"timeouts"`
	Waves     types.Map      `tfsdk:"waves"`
}

// identityModel is the resource identity.
type identityModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

func (m *applicationSetModel) identity() identityModel {
	return identityModel{Namespace: m.Namespace, Name: m.Name}
}
