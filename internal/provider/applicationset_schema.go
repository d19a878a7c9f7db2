package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	stringType = types.StringType
	// waveType is one wave: Application name -> target.
	waveType = types.MapType{ElemType: types.StringType}
)

func (r *applicationSetResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = applicationSetSchema(ctx)
}

// IdentitySchema names a set by where its Applications live.
func (r *applicationSetResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "Namespace of the Applications, e.g. \"argocd\".",
			},
			"name": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "Name of the ApplicationSet, e.g. \"guestbook\".",
			},
		},
	}
}

func applicationSetSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "An ApplicationSet that Terraform rolls out step by step: `terraform plan` shows the waves, `terraform " +
			"apply` brings one step after the other to its target and proves it done before the next one starts, and fails if one is " +
			"not. The provider owns the Applications itself; no ApplicationSet object is created in the cluster.",
		Attributes: attributes{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "What identifies the set, `namespace/name`, e.g. `\"argocd/guestbook\"`.",
			},
			"name": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "Name of the set. It marks the Applications as belonging together; changing it deletes them and creates " +
					"new ones. Required, e.g. `\"guestbook\"`.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{stringvalidator.RegexMatches(objectName, objectNameRule)},
			},
			"namespace": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "Namespace of the Applications; changing it deletes them and creates new ones. Default: the provider's " +
					"`namespace` when the set is created, and it stays there, e.g. `\"argocd\"`.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{stringvalidator.RegexMatches(namespaceName, namespaceRule)},
			},
			"spec": object("The ApplicationSet spec of Argo CD 3.6, field by field, in snake_case. Exactly one of `spec` and `manifest` is needed. Default: none, "+
				"e.g. `{ generators = [...], strategy = {...}, template = {...} }`.",
				specAttributes()),
			"manifest": text("A whole ApplicationSet in YAML or JSON, used unchanged. Its name and namespace must be absent or the same as " +
				"here. Exactly one of `spec` and `manifest` is needed. Default: none, e.g. `file(\"appset.yaml\")`."),
			"rollout":  object("How the rollout behaves where Argo CD has no field for it. Default: that of each attribute, e.g. `{ app_timeout = \"30m\", soak_time = \"15m\" }`.", rolloutAttributes()),
			"timeouts": timeoutsAttribute(ctx),
			"waves": schema.MapAttribute{
				Computed:    true,
				ElementType: waveType,
				MarkdownDescription: "Step -> Application -> target, e.g. `{ \"step 01: envLabel in [env-dev]\" = { \"dev-guestbook\" = \"main@1f3a9c2 #5be01234\" } }`: the branch, the commit it is pinned to, and a " +
					"hash of the spec. State holds what is live, the plan what is to be, so the difference is exactly the rollout " +
					"to come. Steps stand in the order in which they roll out, but `no step` stands first though it comes last.",
			},
		},
	}
}

// timeoutsAttribute is that of terraform-plugin-framework-timeouts, which describes what is in it and not itself.
func timeoutsAttribute(ctx context.Context) schema.Attribute {
	a := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, Update: true, Delete: true,
		CreateDescription: timeoutDescription("first rollout", ""),
		UpdateDescription: timeoutDescription("rollout", ""),
		DeleteDescription: timeoutDescription("deletion", " It must have been applied before the deletion."),
	}).(schema.SingleNestedAttribute)
	a.MarkdownDescription = "How long a whole rollout or deletion may take. A plan whose waiting alone takes longer is an error. " +
		"Default: an hour for each, e.g. `{ create = \"2h\", update = \"2h\" }`."
	return a
}

func timeoutDescription(what, more string) string {
	return "How long a whole " + what + " may take. Then nothing new starts, and apply fails with what was reached; " +
		"the next apply goes on from there." + more + " Default: \"1h\", e.g. \"30m\"."
}
