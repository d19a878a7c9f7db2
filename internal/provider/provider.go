// Package provider is the Terraform side: schema, models, CRUD handlers and diagnostics. It is
// thin, and must not know how a rollout works; that is internal/rollout.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ provider.Provider              = (*argocdprogressive)(nil)
	_ provider.ProviderWithFunctions = (*argocdprogressive)(nil)
)

// typeName is the first part of the name of every resource.
const typeName = "argocdprogressive"

// argocdprogressive is the provider.
type argocdprogressive struct {
	version    string
	configured configured
}

// New returns the constructor of the provider; version is what `terraform version` and the
// user agent show.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &argocdprogressive{version: version} }
}

// providerModel is the configuration block.
type providerModel struct {
	Namespace  types.String `tfsdk:"namespace"`
	Refresh    types.Bool   `tfsdk:"refresh"`
	QPS        types.Number `tfsdk:"qps"`
	Burst      types.Number `tfsdk:"burst"`
	Kubernetes types.Object `tfsdk:"kubernetes"`
	Progress   types.Object `tfsdk:"progress"`
}

func (p *argocdprogressive) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = typeName
	resp.Version = p.version
}

func (p *argocdprogressive) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerSchema()
}

// Configure stores settings and connects to nothing. The cluster may be created in the same
// apply, so unknown values are no error here: ProviderData.RESTConfig reports them to whoever
// needs a connection.
func (p *argocdprogressive) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	data, diags := newProviderData(ctx, m, userAgent(req.TerraformVersion, p.version))
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	p.configured.add(data)
	resp.ResourceData = data
	resp.DataSourceData = data
}

func (p *argocdprogressive) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{NewApplicationSetResource}
}

func (p *argocdprogressive) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{NewApplicationsDataSource, NewParametersDataSource, NewRolloutDataSource}
}

// Functions need no configuration, and no cluster.
func (p *argocdprogressive) Functions(context.Context) []func() function.Function {
	return []func() function.Function{NewRenderFunction, NewWavesFunction}
}

// userAgent is what the audit log of the API server shows.
func userAgent(terraformVersion, version string) string {
	return "Terraform/" + terraformVersion + " terraform-provider-argocdprogressive/" + version
}
