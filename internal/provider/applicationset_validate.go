package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// ValidateConfig finds everything that is wrong with the configuration as far as it is known:
// `terraform validate` and every plan tell all of it at once, each at its attribute.
func (r *applicationSetResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m applicationSetModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(m.validate()...)
}

func (m *applicationSetModel) validate() diag.Diagnostics {
	var diags diag.Diagnostics
	switch {
	case m.Spec.IsNull() && m.Manifest.IsNull():
		diags.AddError("Missing specification", "Set exactly one of spec and manifest.")
	case !m.Spec.IsNull() && !m.Manifest.IsNull() && !m.Spec.IsUnknown() && !m.Manifest.IsUnknown():
		diags.AddAttributeError(path.Root("manifest"), "Two specifications", "Both spec and manifest are set. Set exactly one of them.")
	}
	if diags.HasError() {
		return diags
	}
	_, problems := m.read()
	diags.Append(problems...)
	return diags
}
