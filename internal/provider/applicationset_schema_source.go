package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// sourceAttributes are the fields of one source. Terraform allows free-form values only outside
// of lists, so helm.values_object exists only where single is set, not in sources.
func sourceAttributes(single bool) attributes {
	return attributes{
		"repo_url": requiredText("URL of the git repository, the Helm repository, or, with `oci://`, the OCI artifact. Templated. Required, e.g. " +
			"`\"https://github.com/infra-team/cluster-deployments.git\"` or `\"oci://ghcr.io/infra-team/manifests\"`."),
		"path": text("Directory in the git repository or the OCI artifact (`\".\"` for all of it). Templated. Default: none; one of `path`, `chart` and `ref` " +
			"is needed, e.g. `\"guestbook/{{.cluster}}\"`."),
		"target_revision": text("Branch, tag or commit of the git repository, version (range) of the chart, or tag, version range or digest of the OCI artifact. " +
			"What can move is resolved once for each rollout, and every step gets that same revision. Templated. Default: `HEAD`; required for " +
			"charts, e.g. `\"main\"`."),
		"chart": text("Name of a chart in the Helm repository. Templated. Default: none, e.g. `\"podinfo\"`."),
		"ref": text("Name under which the value files of other sources refer to this one (`$NAME/path`). Default: none, " +
			"e.g. `\"values\"`."),
		"name": text("Name of the source that Argo CD shows. Default: none, e.g. `\"chart\"`."),
		"tag_prefix": text("Only git tags with this prefix are considered when `target_revision` is a version range. " +
			"Default: none, e.g. `\"component-b/\"`."),
		"helm":      object("How Helm renders the source. Default: Argo CD's own settings, e.g. `{ value_files = [\"values-{{.env}}.yaml\"] }`.", helmAttributes(single)),
		"kustomize": object("How Kustomize renders the source. Default: Argo CD's own settings, e.g. `{ name_prefix = \"dev-\" }`.", kustomizeAttributes()),
		"directory": object("How plain manifests are found in the directory. Default: `*.yaml`, `*.yml`, `*.json` and `*.jsonnet` of the "+
			"directory itself, e.g. `{ recurse = true }`.", directoryAttributes()),
		"plugin": object("A config management plugin that renders the source. Default: none; an empty object lets Argo CD find the plugin "+
			"that wants the source, e.g. `{ name = \"kustomized-helm-v1.0\" }`.", pluginAttributes()),
	}
}

func pluginAttributes() attributes {
	return attributes{
		"name": text("Name of the plugin, with `-` and its version if it has one. Templated. Default: the plugin that discovers the source, e.g. `\"kustomized-helm-v1.0\"`."),
		"env": objects("Environment variables that the plugin sees, with `ARGOCD_ENV_` before their names. Default: none, "+
			"e.g. `[{ name = \"CLUSTER\", value = \"{{.cluster}}\" }]`.", attributes{
			"name":  requiredText("Name of the variable. Required, e.g. `\"CLUSTER\"`."),
			"value": requiredText("Value of the variable. Templated. Required, e.g. `\"{{.cluster}}\"`."),
		}),
		"parameters": objects("Parameters that the plugin sees as JSON in `ARGOCD_APP_PARAMETERS`; each has one of `string`, `array` and `map`. Default: none, "+
			"e.g. `[{ name = \"values-files\", array = [\"values.yaml\"] }]`.", attributes{
			"name":   text("Name of the parameter. Default: empty, e.g. `\"values-files\"`."),
			"string": text("Its value, where that is a text. Templated. Default: none, e.g. `\"{{.env}}\"`."),
			"array":  texts("Its value, where that is a list of texts. Templated. Default: none, e.g. `[\"values.yaml\"]`."),
			"map":    textMap("Its value, where that is texts by key. Templated. Default: none, e.g. `{ \"image.tag\" = \"{{.tag}}\" }`."),
		}),
	}
}

// hydratorAttributes are those of source_hydrator.
func hydratorAttributes() attributes {
	return attributes{
		"dry_source": requiredObject("What is rendered. Required, e.g. `{ repo_url = \"https://github.com/infra-team/cluster-deployments.git\", path = \"guestbook\", target_revision = \"main\" }`.", attributes{
			"repo_url":        requiredText("URL of the git repository. Templated. Required, e.g. `\"https://github.com/infra-team/cluster-deployments.git\"`."),
			"path":            requiredText("Directory in it. Templated. Required, e.g. `\"guestbook/{{.cluster}}\"`."),
			"target_revision": requiredText("Branch, tag or commit. Templated. Required, e.g. `\"main\"`."),
			"helm":            object("How Helm renders it. Default: Argo CD's own settings, e.g. `{ value_files = [\"values-{{.env}}.yaml\"] }`.", helmAttributes(true)),
			"kustomize":       object("How Kustomize renders it. Default: Argo CD's own settings, e.g. `{ name_prefix = \"dev-\" }`.", kustomizeAttributes()),
			"directory":       object("How plain manifests are found in it. Default: `*.yaml`, `*.yml`, `*.json` and `*.jsonnet` of the directory itself, e.g. `{ recurse = true }`.", directoryAttributes()),
			"plugin":          object("A config management plugin that renders it. Default: none, e.g. `{ name = \"kustomized-helm-v1.0\" }`.", pluginAttributes()),
		}),
		"sync_source": requiredObject("Where the rendered manifests are synced from. Required, e.g. `{ target_branch = \"environments/{{.env}}\", path = \"guestbook\" }`.", attributes{
			"repo_url":      text("URL of the git repository. Templated. Default: that of `dry_source`, e.g. `\"https://github.com/infra-team/hydrated.git\"`."),
			"path":          requiredText("Directory in it. Templated. Required, e.g. `\"guestbook/{{.cluster}}\"`."),
			"target_branch": requiredText("Branch that has them. Templated. Required, e.g. `\"environments/{{.env}}\"`."),
		}),
		"hydrate_to": object("A staging branch that is written instead, for something else to move to the branch of `sync_source`. Default: none, "+
			"e.g. `{ target_branch = \"environments/{{.env}}-next\" }`.", attributes{
			"target_branch": requiredText("Name of the staging branch. Templated. Required, e.g. `\"environments/{{.env}}-next\"`."),
		}),
	}
}

func helmAttributes(single bool) attributes {
	a := attributes{
		"release_name": text("Name of the release. Templated. Default: the Application's name, e.g. `\"guestbook\"`."),
		"value_files": texts("Value files, later ones win, relative to the source or `$REF/path`. Templated. Default: none, " +
			"e.g. `[\"values-{{.env}}.yaml\"]`."),
		"ignore_missing_value_files": flag("Skip value files that do not exist. Default: `false`, e.g. `true`."),
		"values": text("Values as a YAML text; they win over `value_files`. Templated. Default: none, " +
			"e.g. `\"replicaCount: 2\"`."),
		"parameters": objects("Single values (`--set`); they win over everything else. Default: none, "+
			"e.g. `[{ name = \"image.tag\", value = \"{{.tag}}\" }]`.", attributes{
			"name":         requiredText("Name of the value. Required, e.g. `\"image.tag\"`."),
			"value":        text("The value itself. Templated. Default: empty, e.g. `\"{{.tag}}\"`."),
			"force_string": flag("Take numbers and `true`/`false` as text (`--set-string`). Default: `false`, e.g. `true`."),
		}),
		"file_parameters": objects("Single values read from files of the source (`--set-file`). Default: none, "+
			"e.g. `[{ name = \"config\", path = \"files/config.ini\" }]`.", attributes{
			"name": requiredText("Name of the value. Required, e.g. `\"config\"`."),
			"path": requiredText("Path of the file. Templated. Required, e.g. `\"files/config.ini\"`."),
		}),
		"version":                text("Version of Helm to render with. Default: Argo CD's, e.g. `\"v3\"`."),
		"pass_credentials":       flag("Send credentials to every domain (`--pass-credentials`). Default: `false`, e.g. `true`."),
		"skip_crds":              flag("Leave out the chart's `crds` directory (`--skip-crds`). Default: `false`, e.g. `true`."),
		"skip_schema_validation": flag("Do not check values against the chart's schema. Default: `false`, e.g. `true`."),
		"skip_tests":             flag("Leave out test hooks (`--skip-tests`). Default: `false`, e.g. `true`."),
		"namespace":              text("Namespace to render with. Default: the destination's, e.g. `\"guestbook\"`."),
		"kube_version":           text("Kubernetes version to render for. Default: the destination cluster's, e.g. `\"1.34.0\"`."),
		"api_versions": texts("Resource kinds to render for, `[group/]version/kind`. Default: the destination cluster's, e.g. " +
			"`[\"monitoring.coreos.com/v1/ServiceMonitor\"]`."),
	}
	if single {
		a["values_object"] = schema.DynamicAttribute{
			Optional: true,
			MarkdownDescription: "Values as an object of any shape; `values` is ignored where it is set. Keys are never renamed, types are kept. " +
				"Templated. Only under `source`; in `sources` use `values = yamlencode({...})`. Default: none, " +
				"e.g. `{ replicaCount = 2 }`.",
		}
	}
	return a
}

func kustomizeAttributes() attributes {
	selector := attributes{
		"group":               text("API group of the resources. Default: any, e.g. `\"apps\"`."),
		"version":             text("API version of the resources. Default: any, e.g. `\"v1\"`."),
		"kind":                text("Kind of the resources. Default: any, e.g. `\"Deployment\"`."),
		"name":                text("Name of the resources (a regular expression). Default: any, e.g. `\"guestbook-ui\"`."),
		"namespace":           text("Namespace of the resources (a regular expression). Default: any, e.g. `\"guestbook\"`."),
		"label_selector":      text("Label selector of the resources. Default: any, e.g. `\"app=guestbook\"`."),
		"annotation_selector": text("Annotation selector of the resources. Default: any, e.g. `\"tier=web\"`."),
	}
	return attributes{
		"name_prefix": text("Prefix of all resource names. Templated. Default: none, e.g. `\"dev-\"`."),
		"name_suffix": text("Suffix of all resource names. Templated. Default: none, e.g. `\"-v2\"`."),
		"images": texts("Image overrides as in `kustomize edit set image`. Templated. Default: none, " +
			"e.g. `[\"gcr.io/heptio-images/ks-guestbook-demo:0.2\"]`."),
		"common_labels":               textMap("Labels added to all resources. Templated. Default: none, e.g. `{ team = \"web\" }`."),
		"common_annotations":          textMap("Annotations added to all resources. Templated. Default: none, e.g. `{ owner = \"web\" }`."),
		"force_common_labels":         flag("Let `common_labels` replace labels that exist. Default: `false`, e.g. `true`."),
		"force_common_annotations":    flag("Let `common_annotations` replace annotations that exist. Default: `false`, e.g. `true`."),
		"common_annotations_envsubst": flag("Replace `${VAR}` in `common_annotations` with Argo CD's build environment. Default: `false`, e.g. `true`."),
		"label_without_selector":      flag("Add `common_labels` to metadata only, not to selectors. Default: `false`, e.g. `true`."),
		"label_include_templates": flag("With `label_without_selector`, add `common_labels` to pod templates too. " +
			"Default: `false`, e.g. `true`."),
		"version":                   text("Version of Kustomize to render with. Default: Argo CD's, e.g. `\"v5.4.3\"`."),
		"namespace":                 text("Namespace set on all resources. Templated. Default: none, e.g. `\"guestbook\"`."),
		"components":                texts("Kustomize components to add. Templated. Default: none, e.g. `[\"../components/tls\"]`."),
		"ignore_missing_components": flag("Skip components that do not exist. Default: `false`, e.g. `true`."),
		"kube_version":              text("Kubernetes version to render for. Default: the destination cluster's, e.g. `\"1.34.0\"`."),
		"api_versions":              texts("Resource kinds to render for. Default: the destination cluster's, e.g. `[\"apps/v1/Deployment\"]`."),
		"replicas": objects("Replica counts of Deployments and StatefulSets. Default: as in the manifests, e.g. `[{ name = \"guestbook-ui\", count = 3 }]`.", attributes{
			"name":  requiredText("Name of the workload. Templated. Required, e.g. `\"guestbook-ui\"`."),
			"count": requiredText("Number of replicas; a template is allowed. Required, e.g. `3`."),
		}),
		"patches": objects("Patches of the rendered resources. Default: none, e.g. `[{ path = \"patch.yaml\" }]`.", attributes{
			"path":    text("File of the source that holds the patch. Default: none, e.g. `\"patch.yaml\"`."),
			"patch":   text("The patch itself, YAML. Templated. Default: none, e.g. `\"[{op: remove, path: /spec/replicas}]\"`."),
			"target":  object("Resources to patch. Default: those the patch names, e.g. `{ kind = \"Deployment\" }`.", selector),
			"options": flagMap("Options of the patch. Default: none, e.g. `{ allowNameChange = true }`."),
		}),
	}
}

func directoryAttributes() attributes {
	variable := func(what string) schema.Attribute {
		return objects(what+" Default: none, e.g. `[{ name = \"env\", value = \"{{.env}}\" }]`.", attributes{
			"name":  requiredText("Name of the variable. Required, e.g. `\"env\"`."),
			"value": requiredText("Value of the variable. Templated. Required, e.g. `\"{{.env}}\"`."),
			"code":  flag("Evaluate the value as Jsonnet code. Default: `false`, e.g. `true`."),
		})
	}
	return attributes{
		"recurse": flag("Look into subdirectories as well. Default: `false`, e.g. `true`."),
		"include": text("Glob pattern of the files to take. Templated. Default: all, e.g. `\"*.yaml\"`."),
		"exclude": text("Glob pattern of the files to leave out. Templated. Default: none, e.g. `\"config.json\"`."),
		"disable_extension_filter": flag("Take files of any extension; then set `include`. " +
			"Default: `false`, e.g. `true`."),
		"jsonnet": object("How Jsonnet files are evaluated. Default: no variables, e.g. `{ libs = [\"vendor\"] }`.", attributes{
			"ext_vars": variable("External variables that Jsonnet sees (`std.extVar`)."),
			"tlas":     variable("Top-level arguments of the Jsonnet function."),
			"libs":     texts("Additional library directories. Default: none, e.g. `[\"vendor\"]`."),
		}),
	}
}

// specOfApplication is template.spec.
func specOfApplication() attributes {
	a := attributes{
		"project": requiredText("AppProject of the Application. Templated. Required, e.g. `\"default\"`."),
		"source": object("What is deployed: one source. Exactly one of `source`, `sources` and `source_hydrator` is needed. Default: none, "+
			"e.g. `{ repo_url = \"https://github.com/infra-team/cluster-deployments.git\", path = \"guestbook\" }`.",
			sourceAttributes(true)),
		"sources": objects("What is deployed: several sources; each is pinned to a revision of its own for the whole rollout. "+
			"Exactly one of `source`, `sources` and `source_hydrator` is needed. Default: none, e.g. `[{...}, {...}]`.", sourceAttributes(false)),
		"source_hydrator": object("What is deployed: a branch to which Argo CD writes rendered manifests. It does so in its own time, and a rollout waits only "+
			"for what is in the branch already; so this is an error with the RollingSync strategy. Exactly one of `source`, `sources` and "+
			"`source_hydrator` is needed. Default: none, e.g. `{ dry_source = {...}, sync_source = {...} }`.", hydratorAttributes()),
		"destination": requiredObject("Where it is deployed. Exactly one of `server` and `name` is needed. Required, "+
			"e.g. `{ name = \"in-cluster\", namespace = \"guestbook\" }`.", attributes{
			"server":    text("API server of the cluster. Templated. Default: none, e.g. `\"https://kubernetes.default.svc\"`."),
			"name":      text("Name of the cluster in Argo CD. Templated. Default: none, e.g. `\"in-cluster\"`."),
			"namespace": text("Namespace of resources that name none. Templated. Default: none, e.g. `\"guestbook\"`."),
		}),
		"revision_history_limit": number("Number of history entries that Argo CD keeps. Default: `10`, e.g. `3`."),
	}
	maps.Copy(a, attributes{
		"ignore_differences": objects("Fields that Argo CD leaves out when it compares. Default: none, "+
			"e.g. `[{ group = \"apps\", kind = \"Deployment\", json_pointers = [\"/spec/replicas\"] }]`.", attributes{
			"group":                   text("API group of the resources. Default: the core group, e.g. `\"apps\"`."),
			"kind":                    requiredText("Kind of the resources. Required, e.g. `\"Deployment\"`."),
			"name":                    text("Name of the resource. Default: any, e.g. `\"guestbook-ui\"`."),
			"namespace":               text("Namespace of the resource. Default: any, e.g. `\"guestbook\"`."),
			"json_pointers":           texts("JSON pointers into the resources. Default: none, e.g. `[\"/spec/replicas\"]`."),
			"jq_path_expressions":     texts("jq path expressions over the resources. Default: none, e.g. `[\".spec.template.spec.containers[].image\"]`."),
			"managed_fields_managers": texts("Ignore fields of these field managers. Default: none, e.g. `[\"kube-controller-manager\"]`."),
		}),
		"info": objects("Information that Argo CD shows with the Application. Default: none, e.g. `[{ name = \"url\", value = \"https://example.com\" }]`.", attributes{
			"name":  requiredText("Name of the entry. Required, e.g. `\"url\"`."),
			"value": requiredText("Text of the entry. Templated. Required, e.g. `\"https://example.com\"`."),
		}),
		"sync_policy": object("How Argo CD syncs the Application. Default: no automated sync, no options, "+
			"e.g. `{ sync_options = [\"CreateNamespace=true\"] }`.", syncPolicyAttributes()),
	})
	return a
}

func syncPolicyAttributes() attributes {
	return attributes{
		"automated": object("Let Argo CD sync by itself. With the RollingSync strategy it is switched off on every Application "+
			"(`enabled = false`, as Argo CD does), so that no step syncs before its turn. Default: off, e.g. `{ prune = true }`.", attributes{
			"enabled": flag("Whether automated sync is on. Default: `true` where `automated` is set, e.g. `false`."),
			"prune": flag("Delete resources that are gone from the source; the rollout's own syncs follow it unless " +
				"`rollout.prune` is set. Default: `false`, e.g. `true`."),
			"self_heal":   flag("Sync also when the live resources were changed. Default: `false`, e.g. `true`."),
			"allow_empty": flag("Allow a sync that deletes every resource. Default: `false`, e.g. `true`."),
		}),
		"sync_options": texts("Sync options; the rollout's own syncs use them too. Templated. Default: none, " +
			"e.g. `[\"CreateNamespace=true\"]`."),
		"retry": object("Retries of a failed sync; the rollout's own syncs use them too. Default: 5 retries in a rollout, e.g. `{ limit = 2 }`.", attributes{
			"limit":   number("Number of retries; negative means for ever. Default: `0`, e.g. `2`."),
			"refresh": flag("Retry with the newest revision. A rollout ignores it: its revisions are pinned. Default: `false`, e.g. `true`."),
			"backoff": object("Pauses between retries. `duration` times `factor` before the first, `factor` times longer before each further one, at most `max_duration`. Default: 10, 20, 40 seconds and so on, 3 minutes at most, e.g. `{ duration = \"10s\" }`.", attributes{
				"duration":     text("Base of the pauses: the first one is this times `factor`. Default: `\"5s\"`, e.g. `\"10s\"`."),
				"factor":       number("How many times longer each pause is than the one before. Default: `2`, e.g. `3`."),
				"max_duration": text("How long a pause is at most. Default: `\"3m\"`, e.g. `\"5m\"`."),
			}),
		}),
		"managed_namespace_metadata": object("Metadata of the namespace that `CreateNamespace=true` creates. Default: none, e.g. `{ labels = { team = \"web\" } }`.", attributes{
			"labels":      textMap("Labels of the namespace. Templated. Default: none, e.g. `{ team = \"web\" }`."),
			"annotations": textMap("Annotations of the namespace. Templated. Default: none, e.g. `{ owner = \"web\" }`."),
		}),
	}
}
