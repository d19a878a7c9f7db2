package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ValidateConfig finds everything that is wrong with the configuration as far as it is known:
// `terraform validate` and every plan tell all of it at once, each at its attribute.
func (r *applicationSetResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m applicationSetModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(m.validate(ctx)...)
}

// validate asks no cluster: what generators ask for is known later.
func (m *applicationSetModel) validate(ctx context.Context) diag.Diagnostics {
	diags := m.validateTimeouts()
	switch {
	case m.Spec.IsNull() && m.Manifest.IsNull():
		diags.AddError("Missing specification", "Set exactly one of spec and manifest.")
	case !m.Spec.IsNull() && !m.Manifest.IsNull() && !m.Spec.IsUnknown() && !m.Manifest.IsUnknown():
		diags.AddAttributeError(path.Root("manifest"), "Two specifications", "Both spec and manifest are set. Set exactly one of them.")
	}
	if diags.HasError() {
		return diags
	}
	c, problems := m.read(ctx, answering{})
	if diags.Append(problems...); diags.HasError() {
		return diags
	}
	diags.Append(m.validateRollout(c)...)
	return diags
}

// validateTimeouts refuses what the type of timeouts lets pass: with no time at all, a rollout
// would fail behind its first write.
func (m *applicationSetModel) validateTimeouts() diag.Diagnostics {
	var diags diag.Diagnostics
	for name, value := range m.Timeouts.Attributes() {
		text, ok := value.(types.String)
		if !ok || text.IsNull() || text.IsUnknown() {
			continue
		}
		// The type has refused what is no duration.
		if d, err := time.ParseDuration(text.ValueString()); err == nil && d <= 0 {
			at := path.Root("timeouts").AtName(name)
			diags.AddAttributeError(at, "Invalid duration", atPath(at, fmt.Sprintf(
				"%q is not %s.", text.ValueString(), durationText{positive: true}.Description(context.Background()))))
		}
	}
	return diags
}
