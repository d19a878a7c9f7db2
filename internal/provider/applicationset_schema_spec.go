package provider

import "github.com/hashicorp/terraform-plugin-framework/resource/schema"

// specAttributes is the ApplicationSet spec of Argo CD 3.6 in snake_case. Fields that this
// version of the provider does not act on are left out, so that setting one is an error.
func specAttributes() attributes {
	return attributes{
		"go_template": flag("Templates are Go templates with the functions of Sprig, `normalize`, `slugify`, `toYaml`, `fromYaml` " +
			"and `tpl`. Otherwise `{{name}}` is replaced by the parameter of that name. Default: `false`."),
		"go_template_options": texts("Options of Go templates. Default: none, e.g. `[\"missingkey=error\"]`, which is advised."),
		"generators": schema.DynamicAttribute{
			Required: true,
			MarkdownDescription: "List of generators as in the ApplicationSet; each gives parameter sets, and each set one Application. " +
				"Names may be written in snake_case or, as in YAML, in camelCase; elements are yours: their keys are never renamed " +
				"and their types are kept. This version knows `list`. Required, e.g. " +
				"`[{ list = { elements = [{ cluster = \"dev\", url = \"https://1.2.3.4\" }] } }]`.",
		},
		"strategy": object("In which order Applications may change. Default: all at once.", strategyAttributes()),
		"sync_policy": object("What happens to resources when Applications go. Default: they are deleted.", attributes{
			"preserve_resources_on_deletion": flag("Applications get no deletion finalizer: their resources stay when they are deleted. " +
				"Default: `false`."),
		}),
		"template": requiredObject("The Application that each parameter set becomes.", attributes{
			"metadata": requiredObject("Metadata of the Application.", attributes{
				"name": requiredText("Name; must be different for each parameter set. Templated. Required, e.g. `\"{{.cluster}}-guestbook\"`."),
				"labels": textMap("Labels; the strategy selects by them. Keys and values are templated. Labels that others set stay. " +
					"Default: none, e.g. `{ envLabel = \"{{.env}}\" }`."),
				"annotations": textMap("Annotations. Keys and values are templated. Annotations that others set stay. Default: none, " +
					"e.g. `{ \"notifications.argoproj.io/subscribe.on-sync-failed.slack\" = \"ops\" }`."),
				"finalizers": texts("Finalizers. Default: `[\"resources-finalizer.argocd.argoproj.io\"]`, unless " +
					"`sync_policy.preserve_resources_on_deletion`."),
			}),
			"spec": requiredObject("Spec of the Application.", specOfApplication()),
		}),
	}
}

func strategyAttributes() attributes {
	return attributes{
		"type": text("`\"RollingSync\"`: step by step; `\"AllAtOnce\"`: everything at the same time. Default: `\"AllAtOnce\"`, " +
			"e.g. `\"RollingSync\"`."),
		"deletion_order": text("`\"Reverse\"`: the last step is deleted first, each step when the one before it is gone, whole steps " +
			"in parallel (needs RollingSync); `\"AllAtOnce\"`: all at the same time. Default: `\"AllAtOnce\"`, e.g. `\"Reverse\"`."),
		"rolling_sync": object("The steps of RollingSync. Needed with it.", attributes{
			"steps": objects("Steps, in order. Nothing of a step is touched before every Application of the step before it is "+
				"proven done. At most 99. Applications that no step selects are written and not synced.", attributes{
				"match_expressions": objects("Labels that select the Applications of the step; all expressions must match, none selects "+
					"every Application. One that several steps select belongs to the first of them.", attributes{
					"key":      requiredText("Label key. Required, e.g. `\"envLabel\"`."),
					"operator": requiredText("`\"In\"` or `\"NotIn\"`; `NotIn` also selects Applications without the label. Required, e.g. `\"In\"`."),
					"values": schema.ListAttribute{
						ElementType: stringType, Required: true,
						MarkdownDescription: "Label values. Required, e.g. `[\"env-dev\"]`.",
					},
				}),
				"max_update": text("How many Applications of the step may be in flight at once: a number, or a percentage of the step " +
					"(rounded down, at least 1). `0` or `\"0%\"` makes the step manual: its Applications are written, and apply waits until a " +
					"person has synced them. Default: all of them, e.g. `\"10%\"` or `2`."),
			}),
		}),
	}
}
