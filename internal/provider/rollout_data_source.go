package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"sigs.k8s.io/yaml"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

var (
	_ datasource.DataSource              = (*rolloutDataSource)(nil)
	_ datasource.DataSourceWithConfigure = (*rolloutDataSource)(nil)
)

// rolloutDataSource is argocdprogressive_rollout: it only reads.
type rolloutDataSource struct{ provider *ProviderData }

// NewRolloutDataSource returns the data source argocdprogressive_rollout.
func NewRolloutDataSource() datasource.DataSource { return &rolloutDataSource{} }

// The values of state.
const (
	stateAbsent      = "absent"
	stateRunning     = "running"
	stateInterrupted = "interrupted"
	stateIncomplete  = "incomplete"
	stateComplete    = "complete"
)

func (d *rolloutDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_rollout"
}

func (d *rolloutDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	data, err := providerDataFrom(req.ProviderData)
	if err != nil {
		resp.Diagnostics.AddError("Unexpected provider data", err.Error())
		return
	}
	d.provider = data
}

// Read looks at the record, the Applications and the lock of the set.
func (d *rolloutDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m rolloutStatusModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &m)...); resp.Diagnostics.HasError() {
		return
	}
	set := &applicationSetModel{Name: m.Name, Namespace: m.Namespace}
	if m.Namespace.IsNull() {
		set.Namespace = types.StringValue(d.provider.namespace())
	}
	c, diags := (&applicationSetResource{provider: d.provider}).connect(ctx, set, cluster{})
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	now, diags := c.standing(ctx)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(m.fill(ctx, now)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// standing is where a set stands.
type standing struct {
	owner argocd.Owner
	state string
	// holder rolls the set out now; its Identity is empty where nobody does, or where that cannot be told.
	holder argocd.LeaseHolder
	record argocd.Record
	apps   map[string]appStanding
}

// appStanding is where an Application of the set stands.
type appStanding struct {
	step, status, sync, health, revision, message string
}

// standing reads the set, the record first: what is written meanwhile is at most newer than that.
func (c *connected) standing(ctx context.Context) (standing, diag.Diagnostics) {
	var diags diag.Diagnostics
	now := standing{owner: c.owner}
	record, err := c.client.LoadRecord(ctx, c.owner)
	if err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Reading the record of %s", c.owner), err))
		return now, diags
	}
	if record != nil {
		now.record = *record
	}
	c.retain(recordedContent(c.owner, now.record.ApplicationSet))
	live, _, err := c.client.List(ctx, c.owner)
	if err != nil {
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Listing the Applications of %s", c.owner), err))
		return now, diags
	}
	now.apps = appStandings(live, now.record.Targets)
	var running bool
	now.holder, running, err = c.client.Running(ctx, c.owner)
	switch {
	case errors.Is(err, argocd.ErrForbidden):
		// Then a rollout that was killed cannot be told from one that runs.
		running = unended(now.record)
		diags.AddWarning("Lock not readable", paragraphs(fmt.Sprintf("Whether %s is being rolled out at this moment is told by its record alone.", c.owner), c.resource.refusal(err)))
	case err != nil:
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Reading the lock of %s", c.owner), err))
		return now, diags
	}
	now.state = standsAt(record, running, len(live))
	return now, diags
}

// recordedContent is what was applied last, without its Applications: what of them is left to others.
func recordedContent(owner argocd.Owner, document map[string]any) content {
	spec, _ := document["spec"].(map[string]any)
	if spec == nil {
		return content{}
	}
	// It was applied once, so it is readable; where a later version refuses it, nothing is left to others.
	set, _ := appset.Decode(owner.Name, owner.Namespace, spec)
	return content{set: set}
}

func unended(r argocd.Record) bool {
	n := len(r.Rollouts)
	return n > 0 && r.Rollouts[n-1].Ended.IsZero()
}

func standsAt(record *argocd.Record, running bool, apps int) string {
	switch {
	case running:
		return stateRunning
	case record == nil && apps == 0:
		return stateAbsent
	case record == nil:
		return stateIncomplete
	case unended(*record):
		return stateInterrupted
	case len(record.Rollouts) > 0 && !finished(record.Rollouts[len(record.Rollouts)-1]):
		return stateIncomplete
	}
	return stateComplete
}

// appStandings are those of what is live, and of what is still to be created.
func appStandings(live []rollout.Live, targets map[string]argocd.Target) map[string]appStanding {
	out := map[string]appStanding{}
	for name, t := range targets {
		status, message := rollout.Standing(nil, nil)
		out[name] = appStanding{step: t.Step, status: string(status), message: message}
	}
	for i := range live {
		l := &live[i]
		var want *rollout.Target
		a := appStanding{step: l.StepLabel, sync: l.Sync.Status, health: l.Health.Type, revision: strings.Join(l.DeployedRevisions(), ", ")}
		if t, ok := targets[l.Name]; ok {
			want = &rollout.Target{
				Step: t.Step, Mode: rollout.Mode(t.Mode), Hash: t.Hash, Revisions: t.Revisions,
				AcceptOutOfSync: t.AcceptOutOfSync, AcceptSuspended: t.AcceptSuspended,
			}
			a.step = t.Step
		}
		status, message := rollout.Standing(l, want)
		a.status, a.message = string(status), message
		out[l.Name] = a
	}
	return out
}

// fill sets the computed attributes.
func (m *rolloutStatusModel) fill(ctx context.Context, now standing) diag.Diagnostics {
	var diags, problems diag.Diagnostics
	m.State, m.RunningBy = types.StringValue(now.state), optional(now.holder.Identity)
	m.Applications, problems = types.MapValueFrom(ctx, types.ObjectType{AttrTypes: appStatusType}, appModels(now))
	diags.Append(problems...)
	m.History, problems = types.ListValueFrom(ctx, types.ObjectType{AttrTypes: historyType}, historyModels(now))
	diags.Append(problems...)
	m.Summary = types.StringValue(summary(now))
	m.ApplicationSetYAML = types.StringNull()
	if now.record.ApplicationSet != nil {
		text, err := yaml.Marshal(named(now.owner, now.record.ApplicationSet))
		if err != nil {
			diags.AddError("Record not readable", fmt.Sprintf("The ApplicationSet in the record of %s cannot be written as YAML: %s.", now.owner, err))
		}
		m.ApplicationSetYAML = types.StringValue(string(text))
	}
	return diags
}

// optional is null for an empty text.
func optional(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
