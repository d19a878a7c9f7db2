package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

var (
	_ datasource.DataSource                   = (*parametersDataSource)(nil)
	_ datasource.DataSourceWithConfigure      = (*parametersDataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*parametersDataSource)(nil)
)

// parametersDataSource is argocdprogressive_parameters.
type parametersDataSource struct{ provider *ProviderData }

// NewParametersDataSource returns the data source argocdprogressive_parameters.
func NewParametersDataSource() datasource.DataSource { return &parametersDataSource{} }

type parametersModel struct {
	Generators        types.Dynamic `tfsdk:"generators"`
	GoTemplate        types.Bool    `tfsdk:"go_template"`
	GoTemplateOptions types.List    `tfsdk:"go_template_options"`
	Name              types.String  `tfsdk:"name"`
	Project           types.String  `tfsdk:"project"`
	Parameters        types.Dynamic `tfsdk:"parameters"`
}

func (d *parametersDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_parameters"
}

func (d *parametersDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "What generators give: one set of parameters for each Application. Used as the elements of a list generator, they are a part of the " +
			"plan: a saved plan is applied with exactly these, whatever becomes of clusters, repositories and plugins until then, also when the set is created or its " +
			"generators were changed.",
		Attributes: map[string]schema.Attribute{
			"generators": schema.DynamicAttribute{Required: true, MarkdownDescription: parametersDescription},
			"go_template": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether the set that uses the parameters has `go_template`: with it parameters are objects (`{{.path.basename}}`), without it texts " +
					"(`{{path.basename}}`). Default: `false`, e.g. `true`.",
			},
			"go_template_options": schema.ListAttribute{
				ElementType: types.StringType, Optional: true,
				MarkdownDescription: "Options of the Go templates in generators. Default: none, e.g. `[\"missingkey=error\"]`.",
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the ApplicationSet, which plugins are told. Default: `\"parameters\"`, e.g. `\"guestbook\"`.",
				Validators:          []validator.String{stringvalidator.RegexMatches(objectName, objectNameRule)},
			},
			"project": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "AppProject of the Applications: credentials of repositories that belong to one AppProject are used for that one only. " +
					"Default: none (only credentials of no project), e.g. `\"default\"`.",
			},
			"parameters": schema.DynamicAttribute{
				Computed: true,
				MarkdownDescription: "A list of objects, in the order of the generators: `elements` of a list generator, e.g. " +
					"`generators = [{ list = { elements = data.argocdprogressive_parameters.clusters.parameters } }]`.",
			},
		},
	}
}

func (d *parametersDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	data, err := providerDataFrom(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
		return
	}
	d.provider = data
}

// ValidateConfig finds what is wrong with the generators as far as they are known.
func (d *parametersDataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m parametersModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &m)...); resp.Diagnostics.HasError() {
		return
	}
	set, diags := m.decode()
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	_, _, issues, _ := set.Parameters(ctx, nil, appset.Answers{})
	addGeneratorIssues(&resp.Diagnostics, issues)
}

// Read asks the generators.
func (d *parametersDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m parametersModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &m)...); resp.Diagnostics.HasError() {
		return
	}
	set, diags := m.decode()
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	var inputs appset.Inputs
	if set.NeedsInputs() {
		if inputs, diags = d.provider.reach(ctx, "data.argocdprogressive_parameters"); diags.HasError() {
			resp.Diagnostics.Append(diags...)
			return
		}
	}
	found, _, issues, complete := set.Parameters(ctx, inputs, appset.Answers{})
	if addGeneratorIssues(&resp.Diagnostics, issues); resp.Diagnostics.HasError() {
		return
	}
	if !complete {
		resp.Diagnostics.AddAttributeError(path.Root("generators"), "Values still unknown", "The generators are not known.")
		return
	}
	list := make([]any, len(found))
	for i, parameters := range found {
		list[i] = parameters
	}
	value, err := listOf(list)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("generators"), "Value not allowed", err.Error()+".")
		return
	}
	m.Parameters = value
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// decode makes a set of the generators: what else a set has does not matter to them.
func (m *parametersModel) decode() (*appset.Set, diag.Diagnostics) {
	var diags diag.Diagnostics
	spec := map[string]any{"template": map[string]any{
		"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"project": m.Project.ValueString()},
	}}
	for field, v := range map[string]attr.Value{"generators": m.Generators, "goTemplate": m.GoTemplate, "goTemplateOptions": m.GoTemplateOptions} {
		tree, err := toTree(v)
		if err != nil {
			diags.AddAttributeError(path.Root("generators"), "Value not allowed", err.Error()+".")
			return nil, diags
		}
		if tree != nil {
			spec[field] = tree
		}
	}
	name := "parameters"
	if !m.Name.IsNull() {
		name = m.Name.ValueString() // empty while it is not known
	}
	set, issues := appset.Decode(name, defaultNamespace, spec)
	addGeneratorIssues(&diags, issues)
	return set, diags
}

// addGeneratorIssues turns issues into diagnostics of the attribute generators.
func addGeneratorIssues(diags *diag.Diagnostics, issues appset.Issues) {
	for _, issue := range issues {
		at, detail := path.Root("generators"), issue.Detail
		if len(issue.Path) > 1 {
			detail = fmt.Sprintf("At %s: %s", issue.Path[1:], detail)
			if field, _ := issue.Path[1].(string); field == "goTemplateOptions" {
				at = path.Root("go_template_options")
			}
		}
		if issue.Warning {
			diags.AddAttributeWarning(at, issue.Summary, detail)
		} else {
			diags.AddAttributeError(at, issue.Summary, detail)
		}
	}
}
