package appset

import (
	"reflect"
	"testing"
)

// flatSpec is baseSpec with goTemplate off.
func flatSpec(t testing.TB) map[string]any {
	spec := baseSpec(t)
	delete(spec, "goTemplate")
	delete(spec, "goTemplateOptions")
	put(spec, "template.metadata", tree(t, "{name: '{{name}}-app', labels: {env: '{{ env }}'}}"))
	put(spec, "template.spec.source.path", "apps/{{name}}")
	return put(spec, "template.spec.destination.server", "{{url}}")
}

func TestWithoutGoTemplateTagsAreReplacedByParameters(t *testing.T) {
	spec := put(flatSpec(t), "generators.0.list.elements", []any{
		map[string]any{"name": "a", "env": "dev", "url": "u", "values": map[string]any{"k.x": "v"}},
	})
	put(spec, "template.metadata.annotations", map[string]any{"{{env}}": "{{name}}{{values.k.x}} }}{{  env  }}"})
	_, apps := render(t, spec)
	want := map[string]any{
		"name": "a-app", "namespace": "argocd", "labels": map[string]any{"env": "dev"},
		"annotations": map[string]any{"dev": "av }}dev"}, "finalizers": []any{ResourcesFinalizer},
	}
	if got := apps[0].Object["metadata"]; !reflect.DeepEqual(got, any(want)) {
		t.Errorf("got %v", got)
	}
}

func TestWithoutGoTemplateATagWithoutParameterIsAnErrorThatNamesIt(t *testing.T) {
	const path = "spec.template.spec.source.path"
	for text, word := range map[string]string{
		"{{gone}}/{{ also }}": "{{gone}} has no parameter; {{also}} has no parameter",
		"{{.name}}":           "{{.name}} has no parameter",
		"{{}}":                "{{}} has no parameter",
		"x{{":                 `still holds "{{"`,
		"{{a\n}}":             `still holds "{{"`,
	} {
		t.Run(text, func(t *testing.T) {
			spec := put(flatSpec(t), "generators.0.list.elements", []any{map[string]any{"name": "a", "env": "dev", "url": "u"}})
			wantIssue(t, failures(t, put(spec, "template.spec.source.path", text)), path, word, "generators[0].list.elements[0]")
		})
	}
	spec := put(flatSpec(t), "template.spec.source.path", "{{name}}{{name")
	_, issues := Decode("set", "argocd", spec)
	wantIssue(t, issues, path, "never closed")
}

func TestWithoutGoTemplateElementsMustBeStrings(t *testing.T) {
	const at = "spec.generators[0].list.elements[0]"
	for name, c := range map[string]struct {
		key  string
		v    any
		path string
		word string
	}{
		"a number":           {"replicas", float64(3), at + ".replicas", "the number 3"},
		"a bool":             {"canary", true, at + ".canary", "the bool true"},
		"a null":             {"x", nil, at + ".x", "null"},
		"an object":          {"x", map[string]any{}, at + ".x", "an object"},
		"values as a string": {"values", "x", at + ".values", "object of strings"},
		"a number in values": {"values", map[string]any{"n": int64(1)}, at + ".values.n", "the number 1"},
	} {
		t.Run(name, func(t *testing.T) {
			element := map[string]any{"name": "a", "env": "dev", "url": "u", c.key: c.v}
			spec := put(flatSpec(t), "generators.0.list.elements", []any{element})
			wantIssue(t, failures(t, spec), c.path, c.word)
			put(spec, "goTemplate", true)
			if _, issues := Decode("s", "n", put(spec, "template", baseSpec(t)["template"])); len(issues) > 0 {
				t.Errorf("with goTemplate on: %s", issues)
			}
		})
	}
}

func TestElementsYAMLFollowsElementsAndIsNotFlattened(t *testing.T) {
	spec := put(baseSpec(t), "generators.0.list.elementsYaml", "- {name: c, env: dev, url: u, count: 3}\n- {name: d, env: 'on', url: u, count: 4}\n")
	put(spec, "template.metadata.labels.count", `{{ get . "count" | default 0 }}`)
	_, apps := render(t, spec)
	if len(apps) != 4 || apps[2].Name != "c-app" || apps[2].Labels["count"] != "3" || apps[3].Origin != "generators[0].list.elementsYaml[1]" {
		t.Errorf("Applications %+v", apps)
	}

	flat := put(flatSpec(t), "generators.0.list.elementsYaml", "- {name: c, env: dev, url: u, count: 3}")
	put(flat, "generators.0.list.elements", []any{})
	render(t, flat)
	put(flat, "template.metadata.labels", map[string]any{"count": "{{count}}"})
	wantIssue(t, failures(t, flat), "spec.template.metadata.labels.count", "the number 3", "elementsYaml[0]")

	const at = "spec.generators[0].list.elementsYaml"
	for text, c := range map[string]struct{ path, word string }{
		"a: b": {at, "list of objects"}, "- x": {at, "list of objects"}, "[": {at, "list of objects"}, "- null": {at + "[0]", "null"},
	} {
		wantIssue(t, failures(t, put(flatSpec(t), "generators.0.list.elementsYaml", text)), c.path, c.word)
	}
}
