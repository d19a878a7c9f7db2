package provider

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
)

// Variables that say where rollouts are to be watched, unless progress = {...} does.
const (
	envProgress       = "ARGOCDPROGRESSIVE_PROGRESS"
	envProgressFormat = "ARGOCDPROGRESSIVE_PROGRESS_FORMAT"
)

// progressModel is progress = {...}.
type progressModel struct {
	Path             types.String `tfsdk:"path"`
	Format           types.String `tfsdk:"format"`
	KubernetesEvents types.Bool   `tfsdk:"kubernetes_events"`
}

// progressSettings say where rollouts are to be watched.
type progressSettings struct {
	// path is empty for nowhere.
	path   string
	format progress.Format
	events bool
}

func progressAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Where to watch applies and destroys while they run; Terraform itself shows only that something is still being created or modified. What a plan or an import " +
			"waits for, Argo CD or what a generator asks, stands in Terraform's log alone. " +
			"None of it can hold an apply up or make it fail: what goes wrong is a warning. Default: nowhere, but Terraform's log (`TF_LOG_PROVIDER=INFO`), " +
			"e.g. `{ path = \"/dev/tty\" }`.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "File, FIFO or terminal that gets a line for each transition of an Application, with its step, how many are done and how long the rest " +
					"may take, and at least every 20 seconds one that says what is waited for. Lines are appended to a file. Can be set with " +
					"`" + envProgress + "`. Default: none, e.g. `\"/dev/tty\"` or `\"progress.log\"`.",
			},
			"format": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "`\"text\"` for people, or `\"json\"`: an object on each line with `time`, `set`, `event` (`application`, `step_begins`, `step_soaks`, `step_ends`, `waiting` " +
					"or `run`), `application`, `step`, `step_number`, `steps`, `status`, `text`, `done`, `total` and `eta_seconds`. Can be set with " +
					"`" + envProgressFormat + "`. Default: `\"text\"`, e.g. `\"json\"`.",
				Validators: []validator.String{stringvalidator.OneOf(string(progress.Text), string(progress.JSON))},
			},
			"kubernetes_events": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether each change of an Application's status, but not to `Waiting`, becomes a Kubernetes Event about it, for `kubectl describe` and whatever collects Events. " +
					"Its reason is the status: `RolloutPending`, `RolloutProgressing`, `RolloutHealthy`, `RolloutFailed` (a Warning), `RolloutDeleting` or `RolloutDeleted`. " +
					"Needs the verb `create` on `events` (examples/rbac/events.yaml); without it apply warns. Default: `false`, e.g. `true`.",
			},
		},
	}
}

// readProgress reads progress = {...}, and the environment for what it leaves out. What is not known
// yet is not watched.
func readProgress(ctx context.Context, o types.Object) (progressSettings, diag.Diagnostics) {
	var m progressModel
	var diags diag.Diagnostics
	if !o.IsNull() && !o.IsUnknown() {
		diags = o.As(ctx, &m, basetypes.ObjectAsOptions{})
	}
	s := progressSettings{path: m.Path.ValueString(), format: progress.Format(m.Format.ValueString()), events: m.KubernetesEvents.ValueBool()}
	if m.Path.IsNull() {
		s.path = os.Getenv(envProgress)
	}
	if s.format == "" {
		s.format = progress.Format(os.Getenv(envProgressFormat))
	}
	switch s.format {
	case progress.Text, progress.JSON:
	case "":
		s.format = progress.Text
	default:
		diags.AddWarning("Unknown format of progress", envProgressFormat+" is neither \"text\" nor \"json\". The progress of rollouts is written as text.")
		s.format = progress.Text
	}
	return s, diags
}
