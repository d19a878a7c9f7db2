package appset_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

// renderTwice renders with the world, and again with its answers alone: it must be the same.
func renderTwice(t *testing.T, set *appset.Set) {
	t.Helper()
	first, issues := set.Render(t.Context(), world(), appset.Answers{})
	if !first.Complete && len(first.Apps) > 0 {
		t.Fatalf("incomplete, but %d Applications", len(first.Apps))
	}
	if !first.Complete || issues.HasErrors() {
		return
	}
	text, err := json.Marshal(first.Answers)
	if err != nil {
		t.Fatal(err)
	}
	var recorded appset.Answers
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	second, issues := set.Render(t.Context(), nil, recorded)
	if issues.HasErrors() || !reflect.DeepEqual(first.Apps, second.Apps) {
		t.Fatalf("the answers give something else: %s\n%v\n%v", issues, first.Apps, second.Apps)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  goTemplate: true\n  generators: [{list: {elements: [{n: x}]}}]\n  template: {metadata: {name: '{{.n}}'}, spec: {project: p, source: {repoURL: r, path: p}, destination: {name: c}}}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("{\"apiVersion\": \"argoproj.io/v1alpha1\", \"kind\": \"ApplicationSet\", \"spec\": null}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		document, issues := appset.DecodeManifest(text)
		if issues.HasErrors() {
			return
		}
		spec, _ := document["spec"].(map[string]any)
		set, issues := appset.Decode("set", "argocd", spec)
		if !issues.HasErrors() {
			renderTwice(t, set)
		}
	})
}

func FuzzGenerators(f *testing.F) {
	f.Add(true, everyQuestion)
	f.Add(false, everyQuestion)
	f.Add(true, `[{merge: {mergeKeys: [name], generators: [{clusters: {values: {a: '{{.name}}'}}}, {list: {elements: [{name: dev-1}]}}]}, selector: {matchLabels: {name: dev-1}}}]`)
	f.Add(true, `[{matrix: {generators: [{git: {repoURL: 'https://git/r.git', revision: main, files: [{path: '*.json'}]}}, {matrix: {generators: [{list: {elementsYaml: '[{a: {{.name}}}]'}}, {clusters: {flatList: true}}]}}]}}]`)
	f.Add(false, `[{list: {elements: [{a: UNKNOWN, values: {b: c}}], template: {metadata: {name: '{{a}}'}}}}]`)
	f.Fuzz(func(t *testing.T, goTemplate bool, text string) {
		if len(text) > 1<<16 {
			return
		}
		var generators any
		if yaml.Unmarshal([]byte(text), &generators) != nil {
			return
		}
		spec := specOf(t, goTemplate, "[]")
		spec["generators"] = appset.WithUnknowns(generators)
		set, issues := appset.Decode("set", "argocd", spec)
		for _, issue := range issues {
			if len(issue.Path) < 2 || issue.Path[0] != "spec" {
				t.Fatalf("an issue without its place: %s", issue)
			}
		}
		if !issues.HasErrors() {
			renderTwice(t, set)
		}
	})
}

func FuzzGitFiles(f *testing.F) {
	f.Add("*.yaml", "apps/*", "apps/a.yaml", "a: 1\n", "g", true)
	f.Add("[a-", "[", "a/b/c", "- {a: &x [1]}\n- {b: *x}\n", "", false)
	f.Add("a/../b/", "**", "b/\x00\xff", "{\"a\": {\"b\": [null, 1e400]}}", "path", true)
	f.Fuzz(func(t *testing.T, files, directories, name, content, prefix string, goTemplate bool) {
		fake := &appsettest.Fake{Trees: map[string]map[string]map[string]string{repository: {"": {name: content}}}}
		spec := specOf(t, goTemplate, "[]")
		git := func(kind, pattern string) any {
			return map[string]any{"git": map[string]any{
				"repoURL": repository, "pathParamPrefix": prefix, kind: []any{map[string]any{"path": pattern}, map[string]any{"path": "x" + pattern, "exclude": true}},
			}}
		}
		spec["generators"] = []any{git("files", files), git("directories", directories)}
		set, issues := appset.Decode("set", "argocd", spec)
		if issues.HasErrors() {
			return
		}
		_, issues = set.Render(t.Context(), fake, appset.Answers{})
		for _, issue := range issues {
			if len(issue.Path) < 2 {
				t.Fatalf("an issue without its place: %s", issue)
			}
		}
	})
}
