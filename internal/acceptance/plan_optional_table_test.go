package acceptance

import "slices"

// optional is one optional attribute of the resource.
type optional struct {
	// path in the resource, lists with the index of the element.
	path string
	// set is a value that differs from the default, empty the empty one. Nil where there is none:
	// where the empty value is no value at all and refused, or where it is needed by the test.
	set, empty any
}

// part is one set and the attributes that are tried with it, all at the same time.
type part struct {
	// base are the fields of template.spec that the set always has, instead of a folder in git.
	base obj
	// written tells that the Applications are written and not synced: Argo CD cannot render them here.
	written bool
	// fast tells that the templates are no Go templates.
	fast      bool
	optionals []optional
	// kept are the attributes of optionals that no variant sets to null.
	kept []string
	// files are written into the folder of each Application; default: a ConfigMap.
	files map[string]string
}

// group are sets that share a configuration, and so the runs of Terraform.
type group struct {
	name string
	// prune is rollout.prune of all: the names of their resources change.
	prune bool
	parts []part
	// variants are tried one after the other; default: all, and back.
	variants []string
}

const (
	inSpec    = "spec.template.spec."
	inSource  = inSpec + "source."
	inSources = inSpec + "sources."
	inDry     = inSpec + "source_hydrator.dry_source."
)

// kept are what plain manifests are deployed with: without go_template there is one name for all, and steps need a type.
var kept = []string{"rollout.min_healthy_time", "spec.go_template", inSpec + "sync_policy.sync_options", "spec.strategy.rolling_sync.steps"}

// brief are variants for what needs no way back.
var brief = []string{"absent", "set", "empty", "nulls", "null"}

var groups = []group{
	{name: "resource, strategy and plain manifests", parts: []part{{kept: kept, optionals: slices.Concat(directoryOptions(inSource), []optional{
		{"manifest", nil, nil},
		{"namespace", argoNamespace, nil},
		{"rollout.app_timeout", "5m", nil},
		{"rollout.min_healthy_time", "1ms", nil},
		{"rollout.degraded_grace", "20s", nil},
		{"rollout.error_grace", "20s", nil},
		{"rollout.soak_time", "1ms", nil},
		{"rollout.lock_timeout", "2m", nil},
		{"rollout.max_failures", "50%", nil},
		{"rollout.require_healthy_earlier", false, true},
		{"rollout.retry", "all", nil},
		{"rollout.suspended", "accept", nil},
		{"rollout.sync_window_policy", "manual", nil},
		{"rollout.accept_out_of_sync", true, false},
		{"rollout.stop_after_step", 2, nil},
		{"rollout.hold", list{"nobody"}, list{}},
		{"rollout.unselected", "last", nil},
		{"rollout.overlap", "first", nil},
		{"rollout.prune", true, false},
		{"rollout.max_deletions", "50%", nil},
		{"rollout.allow_empty", true, false},
		{"rollout.adopt_existing", true, false},
		{"rollout.deletion", "orphan", nil},
		{"timeouts.create", "10m", nil},
		{"timeouts.update", "10m", nil},
		{"timeouts.delete", "10m", nil},
		{"spec.go_template", true, nil},
		{"spec.apply_nested_selectors", true, false},
		{"spec.template.metadata.namespace", argoNamespace, ""},
		{"spec.go_template_options", list{"missingkey=error"}, list{}},
		{"spec.template_patch", "metadata:\n  labels:\n    patched: yes-it-is\n", ""},
		{"spec.preserved_fields.labels", list{"kept"}, list{}},
		{"spec.preserved_fields.annotations", list{"example.com/kept"}, list{}},
		{"spec.ignore_application_differences", list{
			obj{"name": "nobody", "json_pointers": list{"/spec/info"}, "jq_path_expressions": list{".spec.revisionHistoryLimit"}},
			obj{"name": "", "json_pointers": list{"/spec/nothing"}, "jq_path_expressions": list{}},
			obj{"name": nil, "json_pointers": list{"/spec/nothing"}, "jq_path_expressions": nil},
			obj{"json_pointers": list{}, "jq_path_expressions": list{".spec.nothing"}},
			obj{"json_pointers": nil, "jq_path_expressions": list{".spec.nothing"}},
		}, list{}},
		{"spec.sync_policy.applications_sync", "sync", nil},
		{"spec.strategy.type", "RollingSync", ""},
		{"spec.strategy.deletion_order", "Reverse", ""},
		{"spec.strategy.rolling_sync.steps", list{
			obj{"match_expressions": list{obj{"key": "env", "operator": "NotIn", "values": list{"prod"}}}, "max_update": "50%"},
			obj{"match_expressions": list{}, "max_update": nil},
			obj{"match_expressions": nil},
		}, list{}},
		{"spec.sync_policy.preserve_resources_on_deletion", true, false},
		{"spec.template.metadata.labels", obj{"env": "{{.env}}", "tier": "gold"}, obj{}},
		{"spec.template.metadata.annotations", obj{"example.com/team": "web", "example.com/empty": ""}, obj{}},
		{"spec.template.metadata.finalizers", list{"resources-finalizer.argocd.argoproj.io"}, list{}},
		{inSource + "target_revision", "1.x", ""},
		{inSource + "tag_prefix", "APP/", ""},
		{inSource + "chart", nil, ""},
		{inSource + "ref", "plain", ""},
		{inSource + "name", "first", ""},
		{inSpec + "sources", nil, list{}},
		{inSpec + "destination.name", nil, ""},
		{inSpec + "revision_history_limit", 3, nil},
		{inSpec + "ignore_differences", list{obj{
			"group": "", "kind": "ConfigMap", "name": "x", "namespace": "y", "json_pointers": list{"/data/a"},
			"jq_path_expressions": list{".data.b"}, "managed_fields_managers": list{"me"},
		}, obj{
			"kind": "Secret", "json_pointers": list{"/data"}, "group": nil, "name": "", "namespace": nil, "jq_path_expressions": list{}, "managed_fields_managers": nil,
		}, obj{
			"kind": "Deployment", "json_pointers": list{}, "group": "apps", "name": nil, "namespace": "", "jq_path_expressions": list{".spec.replicas"}, "managed_fields_managers": list{},
		}, obj{
			"kind": "StatefulSet", "json_pointers": nil, "group": "apps", "jq_path_expressions": nil, "managed_fields_managers": list{"me"},
		}}, list{}},
		{inSpec + "info", list{obj{"name": "url", "value": "https://example.com"}}, list{}},
		{inSpec + "sync_policy.automated.enabled", true, false},
		{inSpec + "sync_policy.automated.prune", true, false},
		{inSpec + "sync_policy.automated.self_heal", true, false},
		{inSpec + "sync_policy.automated.allow_empty", true, false},
		{inSpec + "sync_policy.sync_options", list{"CreateNamespace=true", "ServerSideApply=true"}, nil},
		{inSpec + "sync_policy.retry.limit", 2, 0},
		{inSpec + "sync_policy.retry.refresh", true, false},
		{inSpec + "sync_policy.retry.backoff.duration", "1s", ""},
		{inSpec + "sync_policy.retry.backoff.factor", 3, nil},
		{inSpec + "sync_policy.retry.backoff.max_duration", "10s", ""},
	})}}},
	// Argo CD keeps the metadata of a namespace for good: "set" is the last.
	{name: "metadata of the namespace, and a chart", variants: []string{"absent", "null", "nulls", "empty", "set"}, parts: []part{{
		base: obj{"source": obj{"repo_url": "CHARTS", "chart": "demo", "target_revision": "1.0.0"}},
		optionals: []optional{
			{inSource + "path", nil, ""},
			{inSpec + "sync_policy.managed_namespace_metadata.labels", obj{"team": "web"}, obj{}},
			{inSpec + "sync_policy.managed_namespace_metadata.annotations", obj{"team": "web"}, obj{}},
		},
	}}},
	{name: "Helm, Kustomize and several sources", prune: true, variants: brief, parts: []part{
		{optionals: append(helmOptions(inSource), optional{inSource + "helm.values_object", obj{"c": 1, "d": list{true, "x"}, "empty": obj{}}, obj{}}), files: chartFiles("")},
		// Another version of Kustomize would have to be installed.
		{optionals: append(kustomizeOptions(inSource), optional{inSource + "kustomize.version", nil, ""}), files: kustomizationFiles("")},
		{
			base: obj{
				"destination": obj{"name": "in-cluster", "namespace": "NAMESPACE"},
				"sources": list{
					obj{"repo_url": "REPO", "path": "apps/{{.name}}/plain"},
					obj{"repo_url": "REPO", "ref": "values"},
					obj{"repo_url": "REPO", "path": "apps/{{.name}}/chart"},
					obj{"repo_url": "REPO", "path": "apps/{{.name}}/kustomize"},
					obj{"repo_url": "CHARTS", "chart": "demo", "target_revision": "1.0.0"},
				},
			},
			optionals: slices.Concat(directoryOptions(inSources+"0."), helmOptions(inSources+"2."), kustomizeOptions(inSources+"3."), []optional{
				{inSources + "0.target_revision", "1.x", ""},
				{inSources + "0.tag_prefix", "APP/", ""},
				{inSources + "0.chart", nil, ""},
				{inSources + "0.ref", "plain", ""},
				{inSources + "0.name", "first", ""},
				{inSources + "1.path", nil, ""},
				{inSources + "1.target_revision", "main", ""},
				{inSources + "3.kustomize.version", nil, ""},
				{inSources + "4.path", nil, ""},
				{inSpec + "destination.server", nil, ""},
			}),
			files: allFiles(),
		},
	}},
	// Argo CD has no such plugin, no such version of Kustomize and no hydrator here.
	{name: "what Argo CD cannot render here", variants: brief, parts: []part{
		{written: true, base: obj{"destination": obj{"name": "in-cluster"}}, optionals: append(pluginOptions(inSource),
			optional{inSpec + "destination.namespace", "NAMESPACE", ""},
			optional{inSpec + "sync_policy.sync_options", list{"CreateNamespace=true"}, list{}},
		)},
		{written: true, fast: true, optionals: []optional{
			{inSource + "kustomize.version", "v1.2.3", ""},
			{"spec.go_template", nil, false},
			{"rollout.min_healthy_time", "1ms", nil},
		}},
		{
			written: true,
			base:    obj{"sources": list{obj{"repo_url": "REPO", "path": "apps/{{.name}}"}, obj{"repo_url": "REPO", "path": "apps/{{.name}}"}}},
			optionals: append(pluginOptions(inSources+"0."),
				optional{inSources + "1.kustomize.version", "v1.2.3", ""},
			),
		},
		{
			base: obj{"source_hydrator": obj{
				"dry_source":  obj{"repo_url": "REPO", "path": "apps/{{.name}}", "target_revision": "main"},
				"sync_source": obj{"path": "apps/{{.name}}", "target_branch": "main"},
			}},
			optionals: slices.Concat(directoryOptions(inDry), helmOptions(inDry), kustomizeOptions(inDry), pluginOptions(inDry), []optional{
				{inSpec + "source_hydrator.sync_source.repo_url", "REPO", ""},
				{inSpec + "source_hydrator.hydrate_to", obj{"target_branch": "next"}, nil},
				{inDry + "helm.values_object", obj{"a": 1, "b": list{true, nil}}, obj{}},
				{inDry + "kustomize.version", "v1.2.3", ""},
			}),
		},
	}},
}
