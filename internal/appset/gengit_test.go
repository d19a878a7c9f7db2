package appset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

func TestGitGivesTheParametersOfArgoCD(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate bool
		git, want  string
	}{
		"directories: a star does not cross a slash, hidden ones are never meant": {true, `directories: [{path: 'apps/*'}]`, `
- {path: {path: apps/B_2, basename: B_2, basenameNormalized: b-2, segments: [apps, B_2]}}
- {path: {path: apps/a, basename: a, basenameNormalized: a, segments: [apps, a]}}
- {path: {path: apps/b, basename: b, basenameNormalized: b, segments: [apps, b]}}`},
		"directories: exclude wins, whatever the order": {true, `directories: [{path: apps/a, exclude: true}, {path: 'apps/[ab]'}, {path: '*/*/*'}]`, `
- {path: {path: apps/B_2/x, basename: x, basenameNormalized: x, segments: [apps, B_2, x]}}
- {path: {path: apps/b, basename: b, basenameNormalized: b, segments: [apps, b]}}`},
		"directories: a prefix, and values that see it": {true, `{pathParamPrefix: g, values: {v: '{{.g.path.basename}}-{{index .g.path.segments 0}}'}, directories: [{path: apps/b}]}`, `
- {g: {path: {path: apps/b, basename: b, basenameNormalized: b, segments: [apps, b]}}, values: {v: b-apps}}`},
		"directories: flat with goTemplate off": {false, `{values: {v: '{{path[0]}}'}, directories: [{path: apps/B_2/*}]}`, `
- {path: apps/B_2/x, path.basename: x, path.basenameNormalized: x, 'path[0]': apps, 'path[1]': B_2, 'path[2]': x, values.v: apps}`},
		"directories: flat with a prefix": {false, `{path_param_prefix: g, directories: [{path: envs}]}`, `
- {g.path: envs, g.path.basename: envs, g.path.basenameNormalized: envs, 'g.path[0]': envs}`},
		"files: YAML 1.1, numbers are floats, the directory is path": {true, `files: [{path: apps/a}]`, `
- {name: a, size: 3, big: 12345678, 'true': true, nested: {list: [x, 2], none: null},
   path: {path: apps/a, basename: a, basenameNormalized: a, filename: values.yaml, filenameNormalized: values.yaml, segments: [apps, a]}}`},
		"files: a star crosses slashes, path overrides a key, an empty file has path alone": {true, `files: [{path: 'apps*.json'}, {path: '*empty.yaml'}]`, `
- {name: b, path: {path: apps/b, basename: b, basenameNormalized: b, filename: config.json, filenameNormalized: config.json, segments: [apps, b]}}
- {path: {path: envs, basename: envs, basenameNormalized: envs, filename: empty.yaml, filenameNormalized: empty.yaml, segments: [envs]}}`},
		"files: a list gives one set per object": {true, `files: [{path: envs/}, {path: 'envs/e*', exclude: true}]`, `
- {name: one, path: {path: envs, basename: envs, basenameNormalized: envs, filename: many.yaml, filenameNormalized: many.yaml, segments: [envs]}}
- {name: two, path: {path: envs, basename: envs, basenameNormalized: envs, filename: many.yaml, filenameNormalized: many.yaml, segments: [envs]}}`},
		"files: in the root, path is a dot": {true, `{pathParamPrefix: g, files: [{path: root.yaml}]}`, `
- {name: root, g: {path: {path: ., basename: ., basenameNormalized: '', filename: root.yaml, filenameNormalized: root.yaml, segments: [.]}}}`},
		"files: flat with goTemplate off": {false, `files: [{path: 'apps/a/values.yaml'}]`, `
- {name: a, size: '3', big: '1.2345678e+07', 'true': 'true', nested.list.0: x, nested.list.1: '2', nested.none: <nil>,
   path: apps/a, path.basename: a, path.basenameNormalized: a, path.filename: values.yaml, path.filenameNormalized: values.yaml, 'path[0]': apps, 'path[1]': a}`},
		"nothing matches": {true, `files: [{path: nothing}]`, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.goTemplate, `[{git: {repoURL: 'https://git/r.git', revision: main}}]`)
			git := spec["generators"].([]any)[0].(map[string]any)["git"].(map[string]any)
			for key, v := range yamlOf(t, c.git).(map[string]any) {
				git[key] = v
			}
			sets, issues, complete := evaluated(t, spec, world())
			if len(issues) > 0 || !complete {
				t.Fatalf("%v %s", complete, issues)
			}
			wantParameters(t, sets, c.want)
		})
	}
}

func TestTheProjectOfTheTemplateIsToldUnlessItIsTemplated(t *testing.T) {
	for project, want := range map[string]string{"p": "git https://git/r.git main p", "{{.x}}": "git https://git/r.git main "} {
		fake := world()
		spec := specOf(t, true, `[{git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: x}]}}]`)
		spec["template"].(map[string]any)["spec"].(map[string]any)["project"] = project
		if _, issues, _ := evaluated(t, spec, fake); len(issues) > 0 || fake.Asked()[0] != want {
			t.Errorf("%s: asked %q, %s", project, fake.Asked(), issues)
		}
	}
}

func TestAMissingRevisionIsTheDefaultOne(t *testing.T) {
	wantParameters(t, parameters(t, true, `[{git: {repo_url: 'https://git/r.git', directories: [{path: '*'}]}}]`), `
- {path: {path: only, basename: only, basenameNormalized: only, segments: [only]}}`)
}

func TestFilesThatCannotBeParametersAreErrorsWithTheirName(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 10), ","))
	}
	for name, c := range map[string]struct{ content, word string }{
		"a list of numbers":        {"- 1\n", "an object or a list of objects"},
		"a text":                   {"hello\n", "an object or a list of objects, but there is a string"},
		"broken YAML":              {"a: [", "cannot be read as parameters"},
		"YAML that grows":          {bomb, "aliases"},
		"a long text used often":   {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 900) + "*a]\n", "aliases make more than 64 MiB"},
		"an anchor in itself":      {"a: &a [*a]\n", "contains itself"},
		"a file of more than 10 M": {strings.Repeat("a", 10<<20+1), "longer than 10 MiB"},
		"very many values":         {"[" + strings.Repeat("{},", 1<<20) + "{}]", "too many values"},
		"very deep nesting":        {strings.Repeat("[", 100_000), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &appsettest.Fake{Trees: map[string]map[string]map[string]string{repository: {"main": {"d/f.yaml": c.content}}}}
			spec := specOf(t, true, `[{git: {repoURL: 'https://git/r.git', revision: main, files: [{path: d}]}}]`)
			_, issues, complete := evaluated(t, spec, fake)
			wantIssue(t, issues, "spec.generators[0].git", "Generator failed", `"d/f.yaml"`, c.word, "https://git/r.git at ")
			if complete {
				t.Error("complete")
			}
		})
	}
}

func TestMoreParameterSetsThanThereMayBeAreAnError(t *testing.T) {
	many := "[" + strings.TrimSuffix(strings.Repeat("{},", 400), ",") + "]"
	list := `{list: {elementsYaml: '` + many + `'}}`
	_, issues, _ := evaluated(t, specOf(t, true, `[{matrix: {generators: [`+list+`, `+list+`]}}]`), nil)
	wantIssue(t, issues, "spec.generators[0].matrix", "100000 parameter sets", "Generator failed")
	fake := &appsettest.Fake{Trees: map[string]map[string]map[string]string{repository: {"main": {
		"d/f.yaml": "[" + strings.Repeat("{},", 100_000) + "{}]",
	}}}}
	_, issues, _ = evaluated(t, specOf(t, true, `[{git: {repoURL: 'https://git/r.git', revision: main, files: [{path: d}]}}]`), fake)
	wantIssue(t, issues, "spec.generators[0].git", "more than 100000 objects")
}
