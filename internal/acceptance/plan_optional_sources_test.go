package acceptance

import "maps"

// The attributes that a source, each of several and one that is hydrated have alike; at is the path of the
// source, with a dot at its end.

func directoryOptions(at string) []optional {
	at += "directory."
	variables := list{
		obj{"name": "env", "value": "{{.env}}", "code": false}, obj{"name": "n", "value": "1", "code": true}, obj{"name": "m", "value": "", "code": nil},
	}
	return []optional{
		{at + "recurse", true, false},
		{at + "include", "*.yaml", ""},
		{at + "exclude", "*.txt", ""},
		{at + "disable_extension_filter", true, false},
		{at + "jsonnet.ext_vars", variables, list{}},
		{at + "jsonnet.tlas", variables, list{}},
		{at + "jsonnet.libs", list{"vendor"}, list{}},
	}
}

// helmOptions lack values_object, which sources do not have.
func helmOptions(at string) []optional {
	at += "helm."
	return []optional{
		{at + "release_name", "release", ""},
		{at + "value_files", list{"extra.yaml", "values-{{.env}}.yaml"}, list{}},
		{at + "ignore_missing_value_files", true, false},
		{at + "values", "b: text\n", ""},
		{at + "parameters", list{
			obj{"name": "a", "value": "1", "force_string": true}, obj{"name": "e", "value": "", "force_string": false},
			obj{"name": "f", "value": nil, "force_string": nil},
		}, list{}},
		{at + "file_parameters", list{obj{"name": "g", "path": "extra.yaml"}}, list{}},
		{at + "version", "v3", ""},
		{at + "pass_credentials", true, false},
		{at + "skip_crds", true, false},
		{at + "skip_schema_validation", true, false},
		{at + "skip_tests", true, false},
		{at + "namespace", "elsewhere", ""},
		{at + "kube_version", "1.30.0", ""},
		{at + "api_versions", list{"v1/ConfigMap"}, list{}},
	}
}

// kustomizeOptions lack version: what is rendered with another one has to be installed.
func kustomizeOptions(at string) []optional {
	at += "kustomize."
	return []optional{
		{at + "name_prefix", "p-", ""},
		{at + "name_suffix", "-s", ""},
		{at + "images", list{"nginx:1.2"}, list{}},
		{at + "common_labels", obj{"team": "web"}, obj{}},
		{at + "common_annotations", obj{"team": "web"}, obj{}},
		{at + "force_common_labels", true, false},
		{at + "force_common_annotations", true, false},
		{at + "common_annotations_envsubst", true, false},
		{at + "label_without_selector", true, false},
		{at + "label_include_templates", true, false},
		{at + "namespace", "NAMESPACE", ""},
		{at + "components", list{"extra", "missing"}, list{}},
		{at + "ignore_missing_components", true, false},
		{at + "kube_version", "1.30.0", ""},
		{at + "api_versions", list{"v1/ConfigMap"}, list{}},
		{at + "replicas", list{obj{"name": "APP", "count": 0}, obj{"name": "APP", "count": "{{len list}}"}}, list{}},
		{at + "patches", list{
			obj{
				"patch": "- op: add\n  path: /data/patched\n  value: \"1\"\n", "path": "", "options": obj{"allowNameChange": true},
				"target": obj{"group": "", "version": "v1", "kind": "ConfigMap", "name": nil, "namespace": "", "label_selector": "", "annotation_selector": ""},
			},
			obj{
				"patch": nil, "path": "patch.yaml", "options": obj{},
				"target": obj{"group": "apps", "version": "", "kind": "", "name": "", "namespace": "nowhere", "label_selector": "a=b", "annotation_selector": "a=b"},
			},
			obj{
				"patch": "- op: test\n  path: /kind\n  value: Deployment\n", "path": nil, "options": nil,
				"target": obj{"group": nil, "version": nil, "kind": nil, "name": "nobody", "namespace": nil, "label_selector": nil, "annotation_selector": nil},
			},
			obj{"patch": "", "path": "names.yaml", "target": nil},
		}, list{}},
	}
}

func pluginOptions(at string) []optional {
	at += "plugin."
	return []optional{
		{at + "name", "cook-v1.0", ""},
		{at + "env", list{obj{"name": "ENV", "value": "{{.env}}"}}, list{}},
		{at + "parameters", list{
			obj{"name": "a", "string": "{{.env}}"}, obj{"name": "b", "array": list{"x", "{{.env}}"}},
			obj{"name": "c", "map": obj{"image.tag": "1", "ENV_x": ""}},
			obj{"name": "d", "string": "", "array": list{}, "map": obj{}}, obj{"name": nil, "string": nil, "array": nil, "map": nil},
			obj{"name": "", "string": "x"},
		}, list{}},
	}
}

// plainFiles, chartFiles and kustomizationFiles are what the sources render, below a folder of the Application's.
func plainFiles(folder string) map[string]string {
	return map[string]string{
		folder + "configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: APP-plain}\ndata: {a: b}\n",
	}
}

func chartFiles(folder string) map[string]string {
	return map[string]string{
		folder + "Chart.yaml":               "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
		folder + "values.yaml":              "a: 0\n",
		folder + "extra.yaml":               "a: 1\n",
		folder + "templates/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: APP-chart}\ndata:\n  values: {{ toJson .Values | quote }}\n",
	}
}

func kustomizationFiles(folder string) map[string]string {
	return map[string]string{
		folder + "kustomization.yaml": "resources: [configmap.yaml, controller.yaml]\n",
		folder + "configmap.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: APP}\ndata: {a: b}\n",
		folder + "controller.yaml": "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: APP}\n" +
			"spec: {replicas: 0, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: nginx}]}}}\n",
		folder + "patch.yaml":               "- op: add\n  path: /data/never\n  value: \"1\"\n",
		folder + "names.yaml":               "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: APP}\ndata: {named: \"1\"}\n",
		folder + "extra/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {from: component}\n",
	}
}

// allFiles are those of all three.
func allFiles() map[string]string {
	files := plainFiles("plain/")
	maps.Copy(files, chartFiles("chart/"))
	maps.Copy(files, kustomizationFiles("kustomize/"))
	return files
}
