package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

var (
	_ function.Function = renderFunction{}
	_ function.Function = wavesFunction{}
)

// renderFunction is provider::argocdprogressive::render.
type renderFunction struct{}

// NewRenderFunction returns the function render.
func NewRenderFunction() function.Function { return renderFunction{} }

func (renderFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "render"
}

func (renderFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The Applications of an ApplicationSet",
		MarkdownDescription: "Renders an ApplicationSet, without any cluster, and returns the list of its Applications, sorted by name, each as an object with `apiVersion`, `kind`, `metadata` and " +
			"`spec`. Whatever is wrong with the set is an error. Generators that read from outside (`clusters`, `git`, `oci`, `plugin`, `cluster_decision_resource`) need a connection: use " +
			"`data.argocdprogressive_applications` for them.",
		Parameters: []function.Parameter{manifestParameter},
		Return:     function.DynamicReturn{},
	}
}

func (renderFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	c, failed := renderArgument(ctx, req)
	if resp.Error = failed; failed != nil {
		return
	}
	apps := make([]any, len(c.apps))
	for i, app := range c.apps {
		apps[i] = app.Object
	}
	value, err := listOf(apps)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, value)
}

// wavesFunction is provider::argocdprogressive::waves.
type wavesFunction struct{}

// NewWavesFunction returns the function waves.
func NewWavesFunction() function.Function { return wavesFunction{} }

func (wavesFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "waves"
}

func (wavesFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The steps of an ApplicationSet and their Applications",
		MarkdownDescription: "Renders an ApplicationSet, without any cluster, and returns the names of its Applications, sorted, by the label of their step, as in `waves` of the resource. Applications " +
			"that no step selects are under `no step`; without the strategy RollingSync all are under `all at once`. Generators that read from outside are an error, as for `render`.",
		Parameters: []function.Parameter{manifestParameter},
		Return:     function.MapReturn{ElementType: namesType},
	}
}

func (wavesFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	c, failed := renderArgument(ctx, req)
	if resp.Error = failed; failed != nil {
		return
	}
	resp.Error = resp.Result.Set(ctx, c.names())
}

var manifestParameter = function.StringParameter{
	Name:                "manifest",
	MarkdownDescription: "A whole ApplicationSet in YAML or JSON, e.g. `file(\"appset.yaml\")` or `yamlencode({...})`. Its namespace is that of the Applications; default: `argocd`.",
}

// renderArgument renders the manifest that a function is given. Functions have no configuration and
// no connection.
func renderArgument(ctx context.Context, req function.RunRequest) (content, *function.FuncError) {
	var manifest string
	if failed := req.Arguments.Get(ctx, &manifest); failed != nil {
		return content{}, failed
	}
	m := &applicationSetModel{Manifest: types.StringValue(manifest), Name: types.StringValue(""), Namespace: types.StringValue(defaultNamespace)}
	// Errors of the document are told by read, with everything else.
	document, _ := appset.DecodeManifest([]byte(manifest))
	metadata, _ := document["metadata"].(map[string]any)
	if name, ok := metadata["name"].(string); ok {
		m.Name = types.StringValue(name)
	}
	if namespace, ok := metadata["namespace"].(string); ok && namespace != "" {
		m.Namespace = types.StringValue(namespace)
	}
	c, diags := m.read(ctx, answering{})
	if !diags.HasError() {
		m.addIssues(&diags, c.checkSteps().Errors())
	}
	var lines []string
	for _, d := range diags.Errors() {
		lines = append(lines, fmt.Sprintf("%s: %s", d.Summary(), d.Detail()))
	}
	switch {
	case len(lines) > 0:
		return content{}, function.NewArgumentFuncError(0, strings.Join(lines, "\n"))
	case m.Name.ValueString() == "":
		return content{}, function.NewArgumentFuncError(0, "Missing field: metadata.name of the manifest is missing.")
	case !c.complete:
		return content{}, function.NewArgumentFuncError(0, "The generators of this set read from a cluster, from git or from a plugin, and functions have no connection. "+
			"Use data.argocdprogressive_applications, which has the provider's.")
	}
	return c, nil
}

// names are the Applications, sorted, by the label of their step.
func (c content) names() types.Map {
	labels, by := c.set.Strategy.Labels(), map[string][]attr.Value{}
	for _, p := range c.placed() {
		label := labelOf(labels, p.step)
		by[label] = append(by[label], types.StringValue(p.app.Name))
	}
	waves := make(map[string]attr.Value, len(by))
	for label, names := range by {
		waves[label] = types.ListValueMust(types.StringType, names)
	}
	return types.MapValueMust(namesType, waves)
}
