package appset

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// tree is yamlOf for a map.
func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	return yamlOf(t, text).(map[string]any)
}

// yamlOf reads YAML, with the word UNKNOWN for an Unknown.
func yamlOf(t testing.TB, text string) any {
	t.Helper()
	var out any
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatalf("test input: %v\n%s", err, text)
	}
	return withUnknowns(out)
}

// withUnknowns puts an Unknown in place of each word UNKNOWN.
func withUnknowns(v any) any {
	switch v := v.(type) {
	case string:
		if v == "UNKNOWN" {
			return Unknown
		}
	case map[string]any:
		for key, e := range v {
			v[key] = withUnknowns(e)
		}
	case []any:
		for i, e := range v {
			v[i] = withUnknowns(e)
		}
	}
	return v
}

// baseSpec is a valid spec; tests replace parts of it.
func baseSpec(t testing.TB) map[string]any {
	return tree(t, `
goTemplate: true
goTemplateOptions: [missingkey=error]
generators:
- list:
    elements:
    - {name: b, env: prod, url: https://b}
    - {name: a, env: dev, url: https://a}
template:
  metadata:
    name: '{{.name}}-app'
    labels: {env: '{{.env}}'}
  spec:
    project: p
    source: {repoURL: https://git/r.git, path: 'apps/{{.name}}'}
    destination: {server: '{{.url}}', namespace: ns}
`)
}

// put sets the value at a dotted path ("template.spec.source.path"; a number is
// an index), creating objects on the way. A nil value removes the key.
func put(spec map[string]any, path string, v any) map[string]any {
	keys := strings.Split(path, ".")
	var at any = spec
	for i, key := range keys {
		switch node := at.(type) {
		case map[string]any:
			if i == len(keys)-1 {
				if node[key] = v; v == nil {
					delete(node, key)
				}
				return spec
			}
			if node[key] == nil {
				node[key] = map[string]any{}
			}
			at = node[key]
		case []any:
			index := int(key[0] - '0')
			if i == len(keys)-1 {
				node[index] = v
				return spec
			}
			at = node[index]
		}
	}
	panic("no such place: " + path)
}

// render decodes and renders without any issue, or fails the test.
func render(t testing.TB, spec map[string]any) (*Set, []Application) {
	t.Helper()
	set, issues := Decode("set", "argocd", spec)
	if len(issues) > 0 {
		t.Fatalf("Decode: %s", issues)
	}
	return set, rendered(t, set)
}

// rendered are the Applications of a set that asks nothing, without any issue.
func rendered(t testing.TB, set *Set) []Application {
	t.Helper()
	rendering, issues := set.Render(t.Context(), nil, Answers{})
	if len(issues) > 0 || !rendering.Complete {
		t.Fatalf("Render: complete %v\n%s", rendering.Complete, issues)
	}
	return rendering.Apps
}

// failures are the errors of Decode, or else those of Render.
func failures(t testing.TB, spec map[string]any) Issues {
	t.Helper()
	set, issues := Decode("set", "argocd", spec)
	if issues.HasErrors() {
		return issues
	}
	_, issues = set.Render(t.Context(), nil, Answers{})
	return issues
}

// wantIssue fails unless there is exactly one error, at the path, that holds all words.
func wantIssue(t testing.TB, issues Issues, path string, words ...string) {
	t.Helper()
	if len(issues) != 1 || issues[0].Warning || issues[0].Path.String() != path {
		t.Errorf("want one error at %s, got:\n%s", path, issues)
		return
	}
	for _, word := range words {
		if !strings.Contains(issues[0].Summary+": "+issues[0].Detail, word) {
			t.Errorf("no %q in: %s", word, issues[0])
		}
	}
}

// get follows a dotted path of keys and indices of one digit.
func get(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[key]
		case []any:
			v = node[key[0]-'0']
		default:
			return v
		}
	}
	return v
}
