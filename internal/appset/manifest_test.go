package appset

import (
	"reflect"
	"strings"
	"testing"
)

const head = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a, labels: {x: z}}\n"

func TestManifestsInYAMLAndJSONGiveTheSameTree(t *testing.T) {
	want := map[string]any{
		"apiVersion": APIVersion, "kind": "ApplicationSet",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "z"}},
		"spec":     map[string]any{"count": float64(3), "b": true, "s": "text", "null": nil, "l": []any{"a", float64(1.5)}},
	}
	for name, text := range map[string]string{
		"YAML":                     head + "spec: {count: 3, b: on, s: text, 'null': null, l: [a, 1.5]}\n",
		"YAML with document marks": "%YAML 1.1\n--- # first\n\n---\n" + head + "spec: {count: 3, b: yes, s: text, 'null': ~, l: [a, 1.5]}\n...\n---\n# nothing\n",
		"JSON": `{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "a", "labels": {"x": "z"}},
			"spec": {"count": 3, "b": true, "s": "text", "null": null, "l": ["a", 1.5]}}`,
		"JSON indented with tabs": "{\n\t\"apiVersion\": \"argoproj.io/v1alpha1\",\n\t\"kind\": \"ApplicationSet\",\n\t\"metadata\": {\"name\": \"a\", \"labels\": {\"x\": \"z\"}},\n" +
			"\t\"spec\": {\n\t\t\"count\": 3, \"b\": true, \"s\": \"text\", \"null\": null, \"l\": [\"a\", 1.5]\n\t}\n}\n",
	} {
		got, issues := DecodeManifest([]byte(text))
		if len(issues) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%s", name, got, issues)
		}
	}
}

func TestManifestsThatAreNotOneApplicationSetAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, path, word string }{
		"nothing":                  {"", "", "0 YAML documents"},
		"comments only":            {"# hello\n---\n", "", "0 YAML documents"},
		"two documents":            {head + "spec: {}\n---\n" + head, "", "2 YAML documents"},
		"broken YAML":              {"a: [", "", "not valid YAML"},
		"a key given twice":        {head + "spec: {a: 1, a: 2}", "", `"a" already set`},
		"a list":                   {"- a", "", "a list"},
		"another kind":             {strings.Replace(head, "ApplicationSet", "Application", 1) + "spec: {}", "kind", "ApplicationSet"},
		"another API version":      {strings.Replace(head, "v1alpha1", "v1", 1) + "spec: {}", "apiVersion", "v1alpha1"},
		"no spec":                  {head, "spec", "missing"},
		"a spec that is a list":    {head + "spec: []", "spec", "an object"},
		"a field that is unknown":  {head + "spec: {}\nspecs: {}", "specs", `"spec"?`},
		"a name that is a number":  {strings.Replace(head, "name: a", "name: 5", 1) + "spec: {}", "metadata.name", "in quotes"},
		"a namespace that is bool": {strings.Replace(head, "name: a", "namespace: on", 1) + "spec: {}", "metadata.namespace", "in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := DecodeManifest([]byte(c.text))
			wantIssue(t, issues, c.path, c.word)
		})
	}
}

func TestAKeyBesideAMergeOverridesIt(t *testing.T) {
	spec := "spec: {base: &base {a: 1, b: 2}, other: {<<: *base, a: 3}}\n"
	got, issues := DecodeManifest([]byte(head + spec))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	want := map[string]any{"a": float64(3), "b": float64(2)}
	if other := got["spec"].(map[string]any)["other"]; !reflect.DeepEqual(other, want) {
		t.Errorf("got %v, want %v", other, want)
	}
	_, issues = DecodeManifest([]byte(head + "spec: {base: &base {a: 1}, other: {<<: *base, a: 3, a: 4}}\n"))
	wantIssue(t, issues, "", `"a" already set`)
}

func TestAYAMLErrorKeepsItsLineNumberBehindOtherMarks(t *testing.T) {
	_, issues := DecodeManifest([]byte("# one\n---\n# three\n---\na: b\n c: d: e\n"))
	wantIssue(t, issues, "", "line 6")
}

func TestAManifestWhoseAliasesFillTheMemoryIsRefused(t *testing.T) {
	text := head + "spec:\n  a: &a \"" + strings.Repeat("x", 1<<20) + "\"\n  b: [" + strings.Repeat("*a, ", 900) + "*a]\n  <<: {c: d}\n"
	if _, issues := DecodeManifest([]byte(text)); len(issues) != 1 || !strings.Contains(issues[0].Detail, "aliases make more than 64 MiB") {
		t.Errorf("issues: %s", issues)
	}
	if _, issues := DecodeManifest([]byte("{\n\t\"apiVersion\": \"argoproj.io/v1alpha1\",\n\t\"kind\": \"ApplicationSet\",\n\t\"spec\": {\"a\": \"b & c*\"}\n}")); len(issues) > 0 {
		t.Errorf("JSON with both characters: %s", issues)
	}
}
