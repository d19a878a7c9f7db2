package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// rolloutAttributes are those of rollout = {...}. They are optional and not computed: defaults
// are those of readSettings.
func rolloutAttributes() attributes {
	all := attributes{}
	for _, part := range []attributes{timeAttributes(), failureAttributes(), selectionAttributes(), deletionAttributes()} {
		for name, attribute := range part {
			all[name] = attribute
		}
	}
	return all
}

// timeAttributes are the times of a rollout.
func timeAttributes() attributes {
	duration := func(description string, rule durationText) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{rule}}
	}
	var zero, above = durationText{}, durationText{positive: true}
	return attributes{
		"app_timeout": duration("How long one Application may take from the moment it starts until it is proven done; then it has failed. "+
			"Manual steps have no such limit, and the time stands still while an Application is Suspended (`suspended = \"wait\"`) or a sync "+
			"window is closed (`sync_window_policy = \"wait\"`). Default: `\"10m\"`, e.g. `\"30m\"`.", above),
		"min_healthy_time": duration("How long an Application must stay healthy before it counts as done. Default: `\"5s\"`, e.g. `\"1m\"`.", zero),
		"soak_time": duration("How long, after all Applications of a step are done, all of them must stay healthy before the next step starts, or the "+
			"rollout ends. One that is not healthy starts the time anew, and fails the rollout after `degraded_grace`. Steps that change "+
			"nothing do not soak. Default: `\"0s\"`, e.g. `\"15m\"`.", zero),
		"degraded_grace": duration("How long an Application may be Degraded, Missing or Unknown before it has failed: operators flip to it for "+
			"seconds. Default: `\"30s\"`, e.g. `\"2m\"`.", zero),
		"error_grace": duration("How long a sync error or comparison error must stand before the Application has failed; Argo CD's first retry of a sync comes after 10 seconds. Default: `\"15s\"`, "+
			"e.g. `\"1m\"`.", zero),
		"lock_timeout": duration("How long to wait while another apply works on the same set; it is told apart by a Lease beside the "+
			"Applications. That of a dead process is taken over after 15 s, whatever this says. Default: `\"1m\"`, e.g. `\"30m\"`, or "+
			"`\"0s\"` to fail as soon as the other one is seen alive.", zero),
	}
}

// failureAttributes say what counts as a failure, and what it stops.
func failureAttributes() attributes {
	return attributes{
		"max_failures": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How many Applications may fail before nothing new starts, a number or a percentage of the Applications that take part " +
				"(rounded down). Up to that, the rollout goes on with the others and with the next steps. Apply fails all the same, with all of them, and deletes " +
				"nothing. Default: `\"0\"` (the first failure stops the rollout), e.g. `3` or `\"5%\"`.",
			Validators: []validator.String{amountText{}},
		},
		"require_healthy_earlier": flag("No step starts while an Application of an earlier step is Degraded, Missing or Unknown, even one that " +
			"this rollout does not change. Default: `true`, e.g. `false`."),
		"retry": choice("When a sync has failed: `\"first\"` takes the first failed attempt for a failure, if its message still stands "+
			"`error_grace` later, and ends the operation; `\"all\"` lets Argo CD use up the retries of the Application's `sync_policy.retry` "+
			"(5 unless set, about five minutes). Default: `\"first\"`, e.g. `\"all\"`.", retryFirst, retryAll),
		"suspended": choice("What Suspended health means (a paused Argo Rollout, a paused Deployment): `\"wait\"` waits until somebody resumes it, "+
			"as long as `timeouts` allow; `\"accept\"` takes it for healthy; `\"fail\"` treats it like Degraded. Default: `\"wait\"`, e.g. `\"accept\"`.",
			suspendedWait, suspendedAccept, suspendedFail),
		"sync_window_policy": choice("When a sync window of the AppProject holds a sync back: `\"fail\"` fails after `error_grace`; `\"wait\"` waits until it "+
			"opens, as long as `timeouts` allow; `\"manual\"` marks the syncs as manual ones, which windows with `manualSync` let pass, and "+
			"fails for the others. A plan warns of windows that are closed at that time to Applications that it changes, if the credentials may read AppProjects. "+
			"Default: `\"fail\"`, e.g. `\"wait\"`.", windowFail, windowWait, windowManual),
		"accept_out_of_sync": flag("Take an Application that was synced to its target and is healthy as done although Argo CD still finds it out of sync " +
			"(a controller changes a resource, something needs pruning). Later plans do not show its drift either. Default: `false` (it fails, and the " +
			"error lists the resources), e.g. `true`."),
	}
}

// selectionAttributes say which Applications take part.
func selectionAttributes() attributes {
	return attributes{
		"stop_after_step": schema.NumberAttribute{
			Optional: true,
			MarkdownDescription: "The number of the step to stop after, a partial promotion. Applications of later steps and of no step are left as they " +
				"are, but for automated sync, which is switched off where it is on; nothing is deleted, and `waves` show them as `(held back)`; ones that do not exist yet are not created. Default: all steps, e.g. `1`.",
			Validators: []validator.Number{wholeNumber{1, 99}},
		},
		"hold": schema.SetAttribute{
			ElementType: types.StringType,
			Optional:    true,
			MarkdownDescription: "Names of Applications to leave alone altogether, for a dead cluster among a thousand: they are not written, not deleted, not " +
				"waited for, and `waves` show them as `(held back)`. Destroying the resource deletes them all the same. Default: none, e.g. `[\"guestbook-eu-7\"]`.",
			Validators: []validator.Set{setvalidator.ValueStringsAre(stringvalidator.RegexMatches(objectName, objectNameRule))},
		},
		"unselected": choice("Applications that no step selects: `\"ignore\"` writes them after the last step and does not sync them, as Argo CD does, with a "+
			"warning; `\"error\"` is an error at plan; `\"last\"` rolls them out as one last step. Default: `\"ignore\"`, e.g. `\"last\"`.",
			unselectedIgnore, unselectedError, unselectedLast),
		"overlap": choice("Applications that several steps select: `\"first\"` puts them into the first of these steps, as Argo CD does, with a warning; "+
			"`\"error\"` is an error at plan. Default: `\"first\"`, e.g. `\"error\"`.", overlapFirst, overlapError),
		"adopt_existing": flag("Take over Applications of the same names that exist already, unless an ApplicationSet in the cluster " +
			"owns them. That includes Applications of other sets, and a set of this name that another Terraform state manages: set it for one apply only. " +
			"Default: `false` (an error that names them), e.g. `true`."),
		"allow_empty": flag("Allow a set that generates no Application at all. Default: `false` (an error at plan), e.g. `true`."),
	}
}

// deletionAttributes are about resources and Applications that go.
func deletionAttributes() attributes {
	return attributes{
		"prune": flag("Whether syncs of the rollout delete resources that are gone from the source. Default: the " +
			"`automated.prune` of each Application, e.g. `true`."),
		"max_deletions": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How many Applications one plan may remove, a number or a percentage of those that exist (rounded down, at " +
				"least 1). More is an error at plan. Destroying the resource is exempt. Default: `\"20%\"`, e.g. `5` or `\"100%\"`.",
			Validators: []validator.String{amountText{}},
		},
		"deletion": choice("What happens to the resources of an Application that is deleted: `\"cascade\"` deletes them, `\"orphan\"` leaves "+
			"them running. Default: `\"cascade\"`, or `\"orphan\"` where `sync_policy.preserve_resources_on_deletion` is set and the template gives no `resources-finalizer`; "+
			"e.g. `\"orphan\"`.", deletionCascade, deletionOrphan),
	}
}

// choice is a text out of a few.
func choice(description string, values ...string) schema.Attribute {
	return schema.StringAttribute{
		Optional: true, MarkdownDescription: description, Validators: []validator.String{stringvalidator.OneOf(values...)},
	}
}
