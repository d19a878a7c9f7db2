package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"sigs.k8s.io/yaml"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

var (
	_ datasource.DataSource                   = (*applicationsDataSource)(nil)
	_ datasource.DataSourceWithConfigure      = (*applicationsDataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*applicationsDataSource)(nil)
)

// applicationsDataSource is argocdprogressive_applications.
type applicationsDataSource struct{ provider *ProviderData }

// NewApplicationsDataSource returns the data source argocdprogressive_applications.
func NewApplicationsDataSource() datasource.DataSource { return &applicationsDataSource{} }

type applicationsModel struct {
	Name         types.String  `tfsdk:"name"`
	Namespace    types.String  `tfsdk:"namespace"`
	Spec         types.Object  `tfsdk:"spec"`
	Manifest     types.String  `tfsdk:"manifest"`
	Applications types.Dynamic `tfsdk:"applications"`
	YAML         types.Map     `tfsdk:"yaml"`
	Waves        types.Map     `tfsdk:"waves"`
}

// namesType is the type of waves in a preview: step label -> names.
var namesType = types.ListType{ElemType: types.StringType}

func (d *applicationsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_applications"
}

func (d *applicationsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The Applications that an ApplicationSet gives, each with its step, without applying anything. With `list` generators alone (and `matrix` " +
			"and `merge` of them) no cluster is needed.",
		Attributes: withSet(map[string]schema.Attribute{
			"spec": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "The ApplicationSet spec, as in the resource `argocdprogressive_applicationset`. Exactly one of `spec` and `manifest` is needed. Default: none, " +
					"e.g. `{ generators = [...], strategy = {...}, template = {...} }`.",
				Attributes: forDataSource(specAttributes()),
			},
			"manifest": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A whole ApplicationSet in YAML or JSON. Its name and namespace must be absent or the same as here. Exactly one of `spec` and " +
					"`manifest` is needed. Default: none, e.g. `file(\"appset.yaml\")`.",
			},
			"applications": schema.DynamicAttribute{
				Computed: true,
				MarkdownDescription: "A list of objects, sorted by name: `name`, `step` (its label, as in `waves`), and `object`, the whole Application as it would be written, e.g. " +
					"`data.argocdprogressive_applications.guestbook.applications[0].object.spec.source.path`.",
			},
			"yaml": schema.MapAttribute{
				ElementType: types.StringType, Computed: true,
				MarkdownDescription: "The Applications as YAML, by name, e.g. `join(\"---\\n\", values(data.argocdprogressive_applications.guestbook.yaml))`.",
			},
			"waves": schema.MapAttribute{
				ElementType: namesType, Computed: true,
				MarkdownDescription: "Names of the Applications, sorted, by step, e.g. `{ \"step 01: envLabel in [env-dev]\" = [\"dev-guestbook\"] }`. Steps stand in the order in which they roll out, but `no step` stands first though it comes last.",
			},
		}),
	}
}

func (d *applicationsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	data, err := providerDataFrom(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
		return
	}
	d.provider = data
}

// ValidateConfig finds everything that is wrong as far as it is known.
func (d *applicationsDataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m applicationsModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &m)...); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(m.set().validate(ctx)...)
}

// set is the resource of the same content.
func (m *applicationsModel) set() *applicationSetModel {
	return &applicationSetModel{Name: m.Name, Namespace: m.Namespace, Spec: m.Spec, Manifest: m.Manifest}
}

// Read renders. It connects to the cluster only if the generators need it.
func (d *applicationsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m applicationsModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &m)...); resp.Diagnostics.HasError() {
		return
	}
	set := m.set()
	if m.Namespace.IsNull() {
		set.Namespace = types.StringValue(d.provider.namespace())
	}
	live := &lazyInputs{connect: func(ctx context.Context) (appset.Inputs, diag.Diagnostics) {
		return d.provider.reach(ctx, "data.argocdprogressive_applications")
	}}
	c, diags := set.read(ctx, answering{inputs: live})
	if live.diags.HasError() {
		diags = live.diags
	}
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	if err := c.open(); err != nil {
		resp.Diagnostics.AddError("Values still unknown", err.Error()+".")
		return
	}
	set.addIssues(&resp.Diagnostics, c.checkSteps())
	p, err := c.preview()
	if err != nil {
		resp.Diagnostics.AddError("Value not allowed", err.Error()+".")
		return
	}
	var problems diag.Diagnostics
	m.Applications, m.Waves = p.applications, p.waves
	m.YAML, problems = types.MapValueFrom(ctx, types.StringType, p.yaml)
	resp.Diagnostics.Append(problems...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// preview is a content for reading.
type preview struct {
	applications types.Dynamic
	yaml         map[string]string
	waves        types.Map
}

// preview shows the Applications, sorted by name. The content must be fully known.
func (c content) preview() (preview, error) {
	labels := c.set.Strategy.Labels()
	p := preview{yaml: map[string]string{}}
	var apps []any
	for _, a := range c.placed() {
		text, err := yaml.Marshal(a.app.Object)
		if err != nil {
			return p, err
		}
		p.yaml[a.app.Name] = string(text)
		apps = append(apps, map[string]any{"name": a.app.Name, "step": labelOf(labels, a.step), "object": a.app.Object})
	}
	var err error
	p.applications, err = listOf(apps)
	p.waves = c.names()
	return p, err
}
