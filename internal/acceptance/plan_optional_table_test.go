package acceptance

// optional is one optional attribute of the resource.
type optional struct {
	// path in the resource, lists with the index of the element.
	path string
	// set is a value that differs from the default, empty the empty one. Nil where there is none:
	// where the empty value is no value at all and refused, or where it is needed by the test.
	set, empty any
}

// group is a source of one kind and the attributes that are tried with it, all at the same time.
type group struct {
	name      string
	optionals []optional
	// variants are tried one after the other; default: all, and back.
	variants []string
	// files are written into the folder of each Application.
	files map[string]string
}

const (
	inSpec     = "spec.template.spec."
	inSource   = inSpec + "source."
	inHydrator = inSpec + "source_hydrator."
)

var groups = []group{
	{name: "resource, strategy and plain manifests", optionals: []optional{
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
		}, list{}},
		{"spec.sync_policy.applications_sync", "sync", nil},
		{"spec.strategy.type", "RollingSync", ""},
		{"spec.strategy.deletion_order", "Reverse", ""},
		{"spec.strategy.rolling_sync.steps", list{
			obj{"match_expressions": list{obj{"key": "env", "operator": "NotIn", "values": list{"prod"}}}, "max_update": "50%"},
			obj{"match_expressions": list{}},
		}, nil},
		{"spec.sync_policy.preserve_resources_on_deletion", true, false},
		{"spec.template.metadata.labels", obj{"env": "{{.env}}", "tier": "gold"}, obj{}},
		{"spec.template.metadata.annotations", obj{"example.com/team": "web", "example.com/empty": ""}, obj{}},
		{"spec.template.metadata.finalizers", list{"resources-finalizer.argocd.argoproj.io"}, list{}},
		{inSource + "target_revision", "main", ""},
		{inSource + "chart", nil, ""},
		{inSource + "ref", nil, ""},
		{inSource + "name", nil, ""},
		{inSource + "tag_prefix", nil, ""},
		{inSource + "directory.recurse", true, false},
		{inSource + "directory.include", "*.yaml", ""},
		{inSource + "directory.exclude", "*.txt", ""},
		{inSource + "directory.disable_extension_filter", true, false},
		{inSource + "directory.jsonnet.ext_vars", list{obj{"name": "env", "value": "{{.env}}", "code": false}}, list{}},
		{inSource + "directory.jsonnet.tlas", list{obj{"name": "n", "value": "1", "code": true}}, list{}},
		{inSource + "directory.jsonnet.libs", list{"vendor"}, list{}},
		{inSpec + "destination.name", nil, ""},
		{inSpec + "revision_history_limit", 3, nil},
		{inSpec + "ignore_differences", list{obj{
			"group": "", "kind": "ConfigMap", "name": "x", "namespace": "y", "json_pointers": list{"/data/a"},
			"jq_path_expressions": list{".data.b"}, "managed_fields_managers": list{"me"},
		}, obj{"kind": "Secret", "json_pointers": list{"/data"}, "group": nil, "name": "", "namespace": nil, "jq_path_expressions": list{}, "managed_fields_managers": nil}}, list{}},
		{inSpec + "info", list{obj{"name": "url", "value": "https://example.com"}}, list{}},
		{inSpec + "sync_policy.automated.enabled", false, nil},
		{inSpec + "sync_policy.automated.prune", true, false},
		{inSpec + "sync_policy.automated.self_heal", true, false},
		{inSpec + "sync_policy.automated.allow_empty", true, false},
		{inSpec + "sync_policy.sync_options", list{"CreateNamespace=true", "ServerSideApply=true"}, nil},
		{inSpec + "sync_policy.retry.limit", 2, 0},
		{inSpec + "sync_policy.retry.refresh", true, false},
		{inSpec + "sync_policy.retry.backoff.duration", "1s", ""},
		{inSpec + "sync_policy.retry.backoff.factor", 3, nil},
		{inSpec + "sync_policy.retry.backoff.max_duration", "10s", ""},
	}},
	// Argo CD keeps the metadata of a namespace for good: "set" is the last.
	{name: "metadata of the namespace", variants: []string{"absent", "null", "nulls", "empty", "set"}, optionals: []optional{
		{inSpec + "sync_policy.managed_namespace_metadata.labels", obj{"team": "web"}, obj{}},
		{inSpec + "sync_policy.managed_namespace_metadata.annotations", obj{"team": "web"}, obj{}},
	}},
	{name: "Helm", optionals: []optional{
		{inSource + "helm.release_name", "release", ""},
		{inSource + "helm.value_files", list{"extra.yaml", "values-{{.env}}.yaml"}, list{}},
		{inSource + "helm.ignore_missing_value_files", true, false},
		{inSource + "helm.values", "b: text\n", ""},
		{inSource + "helm.values_object", obj{"c": 1, "d": list{true, "x"}, "empty": obj{}}, obj{}},
		{inSource + "helm.parameters", list{
			obj{"name": "a", "value": "1", "force_string": true}, obj{"name": "e", "value": "", "force_string": false}, obj{"name": "f", "value": nil},
		}, list{}},
		{inSource + "helm.file_parameters", list{obj{"name": "g", "path": "extra.yaml"}}, list{}},
		{inSource + "helm.version", "v3", ""},
		{inSource + "helm.pass_credentials", true, false},
		{inSource + "helm.skip_crds", true, false},
		{inSource + "helm.skip_schema_validation", true, false},
		{inSource + "helm.skip_tests", true, false},
		{inSource + "helm.namespace", "elsewhere", ""},
		{inSource + "helm.kube_version", "1.30.0", ""},
		{inSource + "helm.api_versions", list{"v1/ConfigMap"}, list{}},
	}, files: map[string]string{
		"Chart.yaml":               "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
		"values.yaml":              "a: 0\n",
		"extra.yaml":               "a: 1\n",
		"templates/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: APP}\ndata:\n  values: {{ toJson .Values | quote }}\n",
	}},
	{name: "Kustomize", optionals: []optional{
		{inSource + "kustomize.name_prefix", "p-", ""},
		{inSource + "kustomize.name_suffix", "-s", ""},
		{inSource + "kustomize.images", list{"nginx:1.2"}, list{}},
		{inSource + "kustomize.common_labels", obj{"team": "web"}, obj{}},
		{inSource + "kustomize.common_annotations", obj{"team": "web"}, obj{}},
		{inSource + "kustomize.force_common_labels", true, false},
		{inSource + "kustomize.force_common_annotations", true, false},
		{inSource + "kustomize.common_annotations_envsubst", true, false},
		{inSource + "kustomize.label_without_selector", true, false},
		{inSource + "kustomize.label_include_templates", true, false},
		{inSource + "kustomize.version", nil, ""}, // needs to be installed
		{inSource + "kustomize.namespace", "NAMESPACE", ""},
		{inSource + "kustomize.components", list{"extra", "missing"}, list{}},
		{inSource + "kustomize.ignore_missing_components", true, false},
		{inSource + "kustomize.kube_version", "1.30.0", ""},
		{inSource + "kustomize.api_versions", list{"v1/ConfigMap"}, list{}},
		{inSource + "kustomize.replicas", list{obj{"name": "APP", "count": 0}}, list{}},
		{inSource + "kustomize.patches", list{obj{
			"patch": "- op: add\n  path: /data/patched\n  value: \"1\"\n", "path": "", "options": obj{"allowNameChange": true},
			"target": obj{"group": "", "version": "v1", "kind": "ConfigMap", "name": nil, "namespace": "", "label_selector": "", "annotation_selector": ""},
		}}, list{}},
	}, files: map[string]string{
		"kustomization.yaml":       "resources: [configmap.yaml, controller.yaml]\n",
		"configmap.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: APP}\ndata: {a: b}\n",
		"controller.yaml":          "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: APP}\nspec: {replicas: 0, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: nginx}]}}}\n",
		"extra/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {from: component}\n",
	}},
	// Argo CD has no such plugin: these Applications are written and not synced.
	{name: "plugin", variants: []string{"absent", "set", "empty", "nulls", "null"}, optionals: []optional{
		{inSource + "plugin.name", "cook-v1.0", ""},
		{inSource + "plugin.env", list{obj{"name": "ENV", "value": "{{.env}}"}}, list{}},
		{inSource + "plugin.parameters", list{
			obj{"name": "a", "string": "{{.env}}"}, obj{"name": "b", "array": list{"x", "{{.env}}"}},
			obj{"name": "c", "map": obj{"image.tag": "1", "ENV_x": ""}},
			obj{"name": "d", "string": "", "array": list{}, "map": obj{}}, obj{"name": nil, "string": nil, "array": nil, "map": nil},
		}, list{}},
	}},
	{name: "source hydrator", variants: []string{"absent", "set", "empty", "nulls", "null"}, optionals: []optional{
		{inHydrator + "sync_source.repo_url", "REPO", ""},
		{inHydrator + "hydrate_to", obj{"target_branch": "next"}, nil},
		{inHydrator + "dry_source.helm.values_object", obj{"a": 1, "b": list{true, nil}}, obj{}},
		{inHydrator + "dry_source.helm.parameters", list{obj{"name": "a", "value": nil, "force_string": false}}, list{}},
		{inHydrator + "dry_source.kustomize.replicas", list{obj{"name": "a", "count": "{{len .env}}"}}, list{}},
		{inHydrator + "dry_source.directory.recurse", true, false},
		{inHydrator + "dry_source.directory.jsonnet.libs", list{"vendor"}, list{}},
		{inHydrator + "dry_source.plugin.parameters", list{obj{"name": "a", "string": ""}}, list{}},
	}},
	{name: "several sources", optionals: []optional{
		{inSpec + "sources.0.target_revision", "main", ""},
		{inSpec + "sources.0.chart", nil, ""},
		{inSpec + "sources.0.ref", nil, ""},
		{inSpec + "sources.0.name", "first", ""},
		{inSpec + "sources.0.tag_prefix", nil, ""},
		{inSpec + "sources.0.directory.recurse", true, false},
		{inSpec + "sources.1.path", nil, ""},
		{inSpec + "sources.1.ref", "values", nil},
		{inSpec + "sources.1.target_revision", "main", ""},
	}},
}
