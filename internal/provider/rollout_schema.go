package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// rolloutStatusModel is data.argocdprogressive_rollout.
type rolloutStatusModel struct {
	Name               types.String `tfsdk:"name"`
	Namespace          types.String `tfsdk:"namespace"`
	State              types.String `tfsdk:"state"`
	RunningBy          types.String `tfsdk:"running_by"`
	Applications       types.Map    `tfsdk:"applications"`
	History            types.List   `tfsdk:"history"`
	Summary            types.String `tfsdk:"summary"`
	ApplicationSetYAML types.String `tfsdk:"applicationset_yaml"`
}

// appStatusModel is one of applications.
type appStatusModel struct {
	Step     types.String `tfsdk:"step"`
	Status   types.String `tfsdk:"status"`
	Sync     types.String `tfsdk:"sync"`
	Health   types.String `tfsdk:"health"`
	Revision types.String `tfsdk:"revision"`
	Message  types.String `tfsdk:"message"`
}

var appStatusType = map[string]attr.Type{
	"step": types.StringType, "status": types.StringType, "sync": types.StringType,
	"health": types.StringType, "revision": types.StringType, "message": types.StringType,
}

// historyModel is one of history.
type historyModel struct {
	ID              types.String `tfsdk:"id"`
	Started         types.String `tfsdk:"started"`
	Ended           types.String `tfsdk:"ended"`
	DurationSeconds types.Int64  `tfsdk:"duration_seconds"`
	Actor           types.String `tfsdk:"actor"`
	Outcome         types.String `tfsdk:"outcome"`
	Reason          types.String `tfsdk:"reason"`
	Pins            []pinModel   `tfsdk:"pins"`
	Steps           []stepModel  `tfsdk:"steps"`
}

type pinModel struct {
	RepoURL        types.String `tfsdk:"repo_url"`
	Chart          types.String `tfsdk:"chart"`
	TargetRevision types.String `tfsdk:"target_revision"`
	TagPrefix      types.String `tfsdk:"tag_prefix"`
	Revision       types.String `tfsdk:"revision"`
}

type stepModel struct {
	Step            types.String `tfsdk:"step"`
	Outcome         types.String `tfsdk:"outcome"`
	Started         types.String `tfsdk:"started"`
	Ended           types.String `tfsdk:"ended"`
	DurationSeconds types.Int64  `tfsdk:"duration_seconds"`
	Done            types.Int64  `tfsdk:"done"`
	Applications    types.Int64  `tfsdk:"applications"`
}

var (
	pinType = map[string]attr.Type{
		"repo_url": types.StringType, "chart": types.StringType, "target_revision": types.StringType, "tag_prefix": types.StringType,
		"revision": types.StringType,
	}
	stepType = map[string]attr.Type{
		"step": types.StringType, "outcome": types.StringType, "started": types.StringType, "ended": types.StringType,
		"duration_seconds": types.Int64Type, "done": types.Int64Type, "applications": types.Int64Type,
	}
	historyType = map[string]attr.Type{
		"id": types.StringType, "started": types.StringType, "ended": types.StringType, "duration_seconds": types.Int64Type,
		"actor": types.StringType, "outcome": types.StringType, "reason": types.StringType,
		"pins":  types.ListType{ElemType: types.ObjectType{AttrTypes: pinType}},
		"steps": types.ListType{ElemType: types.ObjectType{AttrTypes: stepType}},
	}
)

func (d *rolloutDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Where a set stands now, and what became of its last rollouts: for a look, an alert, a chart or the summary of a job. It only reads, " +
			"also while another process rolls the set out. It is as good as the moment: with `depends_on` on the set, that is after its apply. Needs what " +
			"examples/rbac/plan.yaml grants; `get` on `leases` is optional: without it a warning says that a rollout that runs is not told from one that was killed.",
		Attributes: withSet(map[string]schema.Attribute{
			"state": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "Where the set stands, e.g. `\"complete\"`: `\"running\"` (some process rolls it out at this moment), `\"complete\"`, `\"incomplete\"` (the last rollout has left something undone, or was told " +
					"to), `\"interrupted\"` (its process was killed) or `\"absent\"` (there is no such set).",
			},
			"running_by": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Who rolls it out at this moment, e.g. `\"ci@runner-3, process 4711, run 5b8c...\"`. Null when nobody does, or when the Lease of the set may not be read.",
			},
			"applications": schema.MapNestedAttribute{
				Computed: true,
				MarkdownDescription: "The Applications, by name: those that are live, and those that the last rollout was still to create, e.g. " +
					"`data.argocdprogressive_rollout.guestbook.applications[\"dev-guestbook\"].status`.",
				NestedObject: schema.NestedAttributeObject{Attributes: appStatusAttributes()},
			},
			"history": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The last 10 rollouts, the newest first, e.g. `data.argocdprogressive_rollout.guestbook.history[0].outcome`.",
				NestedObject:        schema.NestedAttributeObject{Attributes: historyAttributes()},
			},
			"summary": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "All of this as Markdown, with the timeline of the last rollout as a Mermaid chart: for a job summary, e.g. " +
					"`terraform output -raw summary >> \"$GITHUB_STEP_SUMMARY\"`.",
			},
			"applicationset_yaml": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "The ApplicationSet as it was applied last, as YAML for `kubectl`: how to go back to the controller in the cluster, e.g. " +
					"`terraform output -raw applicationset_yaml > guestbook.yaml`. Null where there is no record of the set.",
			},
		}),
	}
}

// computedText and computedNumber are attributes of that type.
func computedText(description string) schema.Attribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func computedNumber(description string) schema.Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func appStatusAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"step": computedText("The step that it is rolled out in, as in `waves`, e.g. `\"step 01: envLabel in [env-dev]\"`."),
		"status": computedText("Where it stands, as in Argo CD's progressive syncs, e.g. `\"Healthy\"`: `\"Waiting\"` (its target is not deployed, and its turn has not come, or it has drifted), `\"Pending\"` (written, and its sync has not begun), " +
			"`\"Progressing\"`, `\"Healthy\"` (at its target); and `\"Failed\"` or `\"Deleting\"`, which Argo CD does not have."),
		"sync":     computedText("Sync status as Argo CD gives it, e.g. `\"Synced\"`. Null where there is none yet."),
		"health":   computedText("Health as Argo CD gives it, e.g. `\"Healthy\"`. Null where there is none yet."),
		"revision": computedText("The revision that is deployed, one for each source, separated by commas, e.g. `\"1f3a9c2b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a\"`. Null before the first sync."),
		"message":  computedText("What it waits for, or what is wrong, e.g. `\"it does not exist yet\"`. Null where all is well."),
	}
}

func historyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":               computedText("What identifies the rollout; it stands in the lock and in the record as well, e.g. `\"5b8c1d0e2f3a4b5c6d7e8f9a0b1c2d3e\"`."),
		"started":          computedText("When it began (RFC 3339, UTC), e.g. `\"2026-01-02T03:04:05Z\"`."),
		"ended":            computedText("When it ended, e.g. `\"2026-01-02T03:09:05Z\"`. Null while it runs, and for one whose process was killed."),
		"duration_seconds": computedNumber("How long it took, in seconds, e.g. `360`. Null where `ended` is."),
		"actor":            computedText("Who ran Terraform, e.g. `\"ci@runner-3\"`."),
		"outcome":          computedText("How it ended, e.g. `\"succeeded\"`; else `\"failed\"`, `\"cancelled\"`, `\"timed_out\"`, `\"running\"` or `\"interrupted\"`."),
		"reason":           computedText("Why it did not succeed, in one line, e.g. `\"its time was over in \\\"step 02: envLabel in [env-prod]\\\"\"`. Null where it did, or where that is not known."),
		"pins": schema.ListNestedAttribute{
			Computed: true,
			MarkdownDescription: "The revisions that names (branches, tags, ranges) meant for the rollout, sorted, e.g. " +
				"`[{ repo_url = \"https://github.com/infra-team/cluster-deployments.git\", target_revision = \"main\", ... }]`. " +
				"Empty while the rollout runs, and for one whose process was killed.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"repo_url":        computedText("URL of the repository, without credentials, e.g. `\"https://github.com/infra-team/cluster-deployments.git\"`."),
				"chart":           computedText("Name of the chart, e.g. `\"podinfo\"`. Null for other sources than Helm repositories."),
				"target_revision": computedText("The name that was resolved, e.g. `\"main\"`."),
				"tag_prefix":      computedText("The prefix of the git tags that were considered, e.g. `\"component-b/\"`. Null where there is none."),
				"revision":        computedText("What it meant, a commit SHA, a version or a digest, e.g. `\"1f3a9c2b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a\"`."),
			}},
		},
		"steps": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "How each step ended, in order, e.g. `data.argocdprogressive_rollout.guestbook.history[0].steps[0].outcome`. Empty while the rollout runs, and for one whose process was killed.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"step":             computedText("The label of the step, as in `waves`, e.g. `\"step 01: envLabel in [env-dev]\"`."),
				"outcome":          computedText("How it ended, e.g. `\"done\"`; else `\"failed\"`, `\"open\"` (not finished, or not begun) or `\"held_back\"` (by `stop_after_step`)."),
				"started":          computedText("When it began, e.g. `\"2026-01-02T03:04:05Z\"`. Null where nothing of it had to be rolled out."),
				"ended":            computedText("When it ended, e.g. `\"2026-01-02T03:06:05Z\"`. Null where `started` is."),
				"duration_seconds": computedNumber("How long it took, in seconds, e.g. `120`. Null where `started` is."),
				"done":             computedNumber("How many of its Applications were at their target in the end, e.g. `12`. Null in entries of earlier versions."),
				"applications":     computedNumber("How many Applications it had, e.g. `12`. Null in entries of earlier versions."),
			}},
		},
	}
}

func appModels(now standing) map[string]appStatusModel {
	out := make(map[string]appStatusModel, len(now.apps))
	for name, a := range now.apps {
		out[name] = appStatusModel{
			Step: optional(a.step), Status: types.StringValue(a.status), Sync: optional(a.sync),
			Health: optional(a.health), Revision: optional(a.revision), Message: optional(a.message),
		}
	}
	return out
}

// historyModels are the rollouts of the record, the newest first.
func historyModels(now standing) []historyModel {
	out := []historyModel{}
	for i := len(now.record.Rollouts) - 1; i >= 0; i-- {
		r := now.record.Rollouts[i]
		m := historyModel{
			ID: types.StringValue(r.ID), Started: instant(r.Started), Ended: instant(r.Ended), DurationSeconds: secondsOf(r.Started, r.Ended),
			Actor: optional(r.Actor), Outcome: types.StringValue(now.outcomeOf(i)), Reason: optional(r.Reason), Pins: []pinModel{}, Steps: []stepModel{},
		}
		for _, p := range sortedPins(r.Pins) {
			m.Pins = append(m.Pins, pinModel{
				RepoURL: types.StringValue(rollout.WithoutCredentials(p.RepoURL)), Chart: optional(p.Chart),
				TargetRevision: types.StringValue(p.TargetRevision), TagPrefix: optional(p.TagPrefix), Revision: types.StringValue(p.Revision),
			})
		}
		for _, o := range r.Outcomes {
			s := stepModel{
				Step: types.StringValue(o.Step), Outcome: types.StringValue(o.Outcome),
				Started: instant(o.Started), Ended: instant(o.Ended), DurationSeconds: secondsOf(o.Started, o.Ended),
			}
			if r.Result != "" {
				s.Done, s.Applications = types.Int64Value(int64(o.Done)), types.Int64Value(int64(o.Applications))
			}
			m.Steps = append(m.Steps, s)
		}
		out = append(out, m)
	}
	return out
}

// outcomeOf is how the i-th rollout of the record ended.
func (now standing) outcomeOf(i int) string {
	r := now.record.Rollouts[i]
	switch {
	case r.Result != "":
		return r.Result
	case r.Ended.IsZero() && now.state == stateRunning && i == len(now.record.Rollouts)-1:
		return stateRunning
	case r.Ended.IsZero():
		return stateInterrupted
	case finished(r): // of a version that did not record the result
		return argocd.ResultSucceeded
	}
	return argocd.ResultFailed
}

func instant(t time.Time) types.String {
	if t.IsZero() {
		return types.StringNull()
	}
	return types.StringValue(t.UTC().Format(time.RFC3339))
}

func secondsOf(from, to time.Time) types.Int64 {
	if from.IsZero() || to.IsZero() {
		return types.Int64Null()
	}
	return types.Int64Value(int64(to.Sub(from).Round(time.Second) / time.Second))
}
