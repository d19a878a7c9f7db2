package provider

import "github.com/hashicorp/terraform-plugin-framework/resource/schema"

// The descriptions of the attribute generators: what it is everywhere, in a set, and on its own.
const (
	generatorsKinds = "Names may be written in snake_case or, as in YAML, in camelCase; elements, values, labels and plugin parameters are yours: their keys are never renamed " +
		"and their types are kept. The kinds are `list`, `clusters`, `git` and `oci` (`directories`, `files`), `matrix`, `merge`, `plugin` and `cluster_decision_resource`"
	generatorsExample = " Required, e.g. `[{ list = { elements = [{ cluster = \"dev\", url = \"https://1.2.3.4\" }] } }]`, or `[{ clusters = { selector = { match_labels = { env = \"prod\" } } } }]`."

	generatorsDescription = "List of generators as in the ApplicationSet; each gives parameter sets, and each set one Application. " + generatorsKinds + ", each with an optional " +
		"`template`, and beside each an optional `selector`; see the guide \"Generators\". What generators read from the cluster, from git, registries and plugins is read when a plan refreshes, and " +
		"a saved plan is applied with it; `data.argocdprogressive_parameters` makes it a part of the plan." + generatorsExample
	parametersDescription = "List of generators as in the ApplicationSet; each gives parameter sets. " + generatorsKinds + ", and beside each an optional `selector`; see the guide " +
		"\"Generators\". A `template` is an error here: it belongs to the set." + generatorsExample
)

// specAttributes is the ApplicationSet spec of Argo CD 3.6 in snake_case. Fields that this
// version of the provider does not act on are left out, so that setting one is an error.
func specAttributes() attributes {
	return attributes{
		"go_template": flag("Templates are Go templates with the functions of Sprig, `normalize`, `slugify`, `toYaml`, `fromYaml`, " +
			"`fromYamlArray` and `tpl`; those whose result is another one each time, such as `now`, are errors. Otherwise `{{name}}` is replaced by the parameter of that name. Default: `false`, e.g. `true`."),
		"go_template_options": texts("Options of Go templates. Default: none, e.g. `[\"missingkey=error\"]`, which is advised."),
		"generators": schema.DynamicAttribute{
			Required:            true,
			MarkdownDescription: generatorsDescription,
		},
		"strategy": object("In which order Applications may change. Default: all at once, e.g. "+
			"`{ type = \"RollingSync\", rolling_sync = { steps = [...] } }`.", strategyAttributes()),
		"sync_policy": object("What may happen to Applications, and to resources when Applications go. Default: everything (and they are deleted), "+
			"e.g. `{ preserve_resources_on_deletion = true }`.", attributes{
			"preserve_resources_on_deletion": flag("Applications get no deletion finalizer: their resources stay when they are deleted, " +
				"unless `rollout.deletion` says otherwise. Default: `false`, e.g. `true`."),
			"applications_sync": choice("What an apply may do to Applications: `\"sync\"` creates, changes and deletes them; `\"create-update\"` deletes none: those that "+
				"the generators do not give any more are left alone, with a warning; `\"create-delete\"` changes none that exists: new commits, templates and "+
				"parameters reach only Applications that are created; `\"create-only\"` does neither. `waves` show what is left alone as `(held back)`; steps and "+
				"gates go on without it. Destroying the resource deletes every Application, whatever this says. Default: `\"sync\"`, e.g. `\"create-update\"`.",
				"sync", "create-only", "create-update", "create-delete"),
		}),
		"template_patch": text("A patch of the Application, YAML or JSON, as one template: rendered for each parameter set, and merged into what `template` " +
			"gives, so that lists, numbers, bools and whole objects can depend on parameters. Objects are merged, lists replaced (`finalizers` are put in front). " +
			"`spec.project` stays as the template has it. Default: none, e.g. " +
			"`\"spec:\\n  source:\\n    helm:\\n      valueFiles: {{ toJson .valueFiles }}\"`."),
		"preserved_fields": object("Annotations and labels of Applications that others set and that a rollout must not remove. What the template does not name is never removed; this is "+
			"for keys that it names as well, or used to. Default: none, e.g. `{ annotations = [\"example.com/owner\"] }`.", attributes{
			"annotations": texts("Keys of annotations to keep. Default: none, e.g. `[\"example.com/owner\"]`."),
			"labels":      texts("Keys of labels to keep. Default: none, e.g. `[\"team\"]`."),
		}),
		"ignore_application_differences": objects("Fields of Applications that others may change: they are neither drift nor are they written back. Default: none, "+
			"e.g. `[{ json_pointers = [\"/spec/source/targetRevision\"] }]`.", attributes{
			"name":                text("Application that it is about. Default: all, e.g. `\"guestbook-dev\"`."),
			"json_pointers":       texts("JSON pointers into the Application. Default: none, e.g. `[\"/spec/source/targetRevision\"]`."),
			"jq_path_expressions": texts("jq path expressions over the Application. Default: none, e.g. `[\".spec.source.helm.values\"]`."),
		}),
		"apply_nested_selectors": flag("No effect, as in Argo CD: a `selector` of a generator inside of matrix or merge always applies. Default: `true`, e.g. `false`."),
		"template": requiredObject("The Application that each parameter set becomes. Required, e.g. `{ metadata = { name = \"{{.cluster}}-guestbook\" }, spec = {...} }`.", attributes{
			"metadata": requiredObject("Metadata of the Application. Required, e.g. `{ name = \"{{.cluster}}-guestbook\" }`.", attributes{
				"namespace": text("No effect, as in Argo CD: Applications live in the `namespace` of the set. Another one is a warning. Default: none, e.g. `\"argocd\"`."),
				"name":      requiredText("Name of the Application; must be different for each parameter set. Templated. Required, e.g. `\"{{.cluster}}-guestbook\"`."),
				"labels": textMap("Labels; the strategy selects by them. Keys and values are templated. Labels that others set stay. " +
					"Default: none, e.g. `{ envLabel = \"{{.env}}\" }`."),
				"annotations": textMap("Annotations of the Application. Keys and values are templated. Annotations that others set stay. Default: none, " +
					"e.g. `{ \"notifications.argoproj.io/subscribe.on-sync-failed.slack\" = \"ops\" }`."),
				"finalizers": texts("Finalizers of the Application. Default: `[\"resources-finalizer.argocd.argoproj.io\"]`, unless " +
					"`sync_policy.preserve_resources_on_deletion`, e.g. `[\"resources-finalizer.argocd.argoproj.io/background\"]`."),
			}),
			"spec": requiredObject("Spec of the Application. Required, e.g. `{ project = \"default\", source = {...}, destination = {...} }`.", specOfApplication()),
		}),
	}
}

func strategyAttributes() attributes {
	return attributes{
		"type": text("`\"RollingSync\"`: step by step; `\"AllAtOnce\"`: everything at the same time. Default: `\"AllAtOnce\"`, " +
			"e.g. `\"RollingSync\"`."),
		"deletion_order": text("`\"Reverse\"`: the last step is deleted first, each step when the one before it is gone, whole steps " +
			"in parallel (needs RollingSync); `\"AllAtOnce\"`: all at the same time. Default: `\"AllAtOnce\"`, e.g. `\"Reverse\"`."),
		"rolling_sync": object("The steps of RollingSync. Default: none; needed with that type, e.g. "+
			"`{ steps = [{ match_expressions = [...] }] }`.", attributes{
			"steps": objects("Steps, in order. Nothing of a step is touched before every Application of the step before it is "+
				"proven done. At most 99. Applications that no step selects are written and not synced. Default: none; RollingSync needs one, e.g. "+
				"`[{ match_expressions = [...], max_update = \"10%\" }]`.", attributes{
				"match_expressions": objects("Labels that select the Applications of the step; all expressions must match, none selects "+
					"every Application. One that several steps select belongs to the first of them. Default: every Application, "+
					"e.g. `[{ key = \"envLabel\", operator = \"In\", values = [\"env-dev\"] }]`.", attributes{
					"key":      requiredText("Key of the label. Required, e.g. `\"envLabel\"`."),
					"operator": requiredText("`\"In\"` or `\"NotIn\"`; `NotIn` also selects Applications without the label. Required, e.g. `\"In\"`."),
					"values": schema.ListAttribute{
						ElementType: stringType, Required: true,
						MarkdownDescription: "Values of the label. Required, e.g. `[\"env-dev\"]`.",
					},
				}),
				"max_update": text("How many Applications of the step may be in flight at once: a number, or a percentage of the step " +
					"(rounded down, at least 1). `0` or `\"0%\"` makes the step manual: its Applications are written, and apply waits until a " +
					"person has synced them. Default: all of them, e.g. `\"10%\"` or `2`."),
			}),
		}),
	}
}
