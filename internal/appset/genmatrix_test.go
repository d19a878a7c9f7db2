package appset_test

import (
	"testing"
)

func TestMatrixCombinesAndInterpolates(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate       bool
		generators, want string
	}{
		"the first one changes slowest": {true, `[{list: {elements: [{a: 1}, {a: 2}]}}, {list: {elements: [{b: x}, {b: y}]}}]`,
			`[{a: 1, b: x}, {a: 1, b: y}, {a: 2, b: x}, {a: 2, b: y}]`},
		"the first one overrides the second, deeply": {true, `[{list: {elements: [{m: {x: 1, e: {}}, l: [1], n: null, s: ''}]}}, {list: {elements: [{m: {x: 2, y: 3, e: {k: v}}, l: [2, 3], n: z, s: t}]}}]`,
			`[{m: {x: 1, y: 3, e: {k: v}}, l: [1], n: null, s: ''}]`},
		"a changed type replaces":                       {true, `[{list: {elements: [{m: text, o: {a: 1}}]}}, {list: {elements: [{m: {x: 2}, o: text}]}}]`, `[{m: text, o: {a: 1}}]`},
		"an empty first one asks nothing of the second": {true, `[{list: {elements: []}}, {git: {repoURL: gone, directories: [{path: x}]}}]`, `[]`},
		"an empty second one leaves nothing":            {true, `[{list: {elements: [{a: 1}]}}, {list: {elements: []}}]`, `[]`},
		"elements and keys of the second are rendered": {true, `[{list: {elements: [{a: A}]}}, {list: {elements: [{'k-{{.a}}': ['{{.a}}', 1, true], n: 2}]}}]`,
			`[{a: A, k-A: [A, 1, true], n: 2}]`},
		"elementsYaml of the second is rendered, then read": {true, `[{list: {elements: [{l: [x, z]}]}}, {list: {elementsYaml: "{{range .l}}\n- {e: '{{.}}'}{{end}}"}}]`,
			`[{l: [x, z], e: x}, {l: [x, z], e: z}]`},
		"the selector of clusters is rendered": {true, `[{list: {elements: [{e: dev}, {e: none}]}}, {clusters: {selector: {matchLabels: {env: '{{.e}}'}}}}]`,
			`[{e: dev, name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}}]`},
		"values of the second are of the first where they can be, else of its own": {true, `
- list: {elements: [{a: A}]}
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: 'apps/{{.a | lower}}'}], values: {own: '{{.path.basename}}', first: '{{.a}}', deep: '{{.a.b}}{{.path.path}}'}}`,
			`[{a: A, path: {path: apps/a, basename: a, basenameNormalized: a, segments: [apps, a]}, values: {own: a, first: A, deep: '<no value>apps/a'}}]`},
		"a second git overwritten by the first one's path, but for a prefix": {true, `
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: apps/a}]}
- git: {repoURL: 'https://git/r.git', revision: main, pathParamPrefix: g, files: [{path: '{{.path.path}}/*.yaml'}], values: {v: '{{.g.path.filename}}'}}`,
			`[{path: {path: apps/a, basename: a, basenameNormalized: a, segments: [apps, a]}, name: a, size: 3, big: 12345678, 'true': true, nested: {list: [x, 2], none: null},
			g: {path: {path: apps/a, basename: a, basenameNormalized: a, filename: values.yaml, filenameNormalized: values.yaml, segments: [apps, a]}}, values: {v: values.yaml}}]`},
		"nested once": {true, `[{matrix: {generators: [{list: {elements: [{a: 1}]}}, {list: {elements: [{b: '{{.a}}'}]}}]}}, {list: {elements: [{c: '{{.b}}'}]}}]`,
			`[{a: 1, b: '1', c: '1'}]`},
		"nested in the second, whose selectors are rendered": {true, `[{list: {elements: [{a: x}]}}, {merge: {mergeKeys: [k], generators: [{list: {elements: [{k: '{{.a}}'}, {k: y}]}, selector: {matchLabels: {k: '{{.a}}'}}}, {list: {elements: [{k: x, more: m}]}}]}}]`,
			`[{a: x, k: x, more: m}]`},
		"with goTemplate off everything is a text": {false, `[{list: {elementsYaml: "[{a: 1, m: {x: [1]}}]"}}, {list: {elements: [{b: 'u-{{a}}-{{gone}}'}]}}]`,
			`[{a: '1', m: 'map[x:[1]]', b: 'u-{{a}}-{{gone}}'}]`},
		"with goTemplate off tags are replaced by texts": {false, `[{list: {elements: [{a: A}]}}, {list: {elements: [{b: 'u-{{ a }}-{{ gone }}', a: A}]}}]`,
			`[{a: A, b: 'u-A-{{ gone }}'}]`},
		"with goTemplate off nested tags wait for their own generator": {false, `
- list: {elements: [{a: A}]}
- matrix: {generators: [{git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: envs}]}}, {list: {elements: [{b: '{{a}}-{{path}}'}]}}]}`,
			`[{a: A, path: envs, path.basename: envs, path.basenameNormalized: envs, 'path[0]': envs, b: A-envs}]`},
		"without parameters of the first nothing is rendered": {false, `[{list: {elementsYaml: '[{}]'}}, {list: {elements: [{b: '{{a}}'}]}}]`, `[{b: '{{a}}'}]`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.goTemplate, `[{matrix: {}}]`)
			spec["generators"].([]any)[0].(map[string]any)["matrix"].(map[string]any)["generators"] = yamlOf(t, c.generators)
			sets, issues, complete := evaluated(t, spec, world())
			if len(issues) > 0 || !complete {
				t.Fatalf("complete %v\n%s", complete, issues)
			}
			wantParameters(t, sets, c.want)
		})
	}
}

func TestWhatArgoCDMakesRubbishOfInAMatrixIsAnError(t *testing.T) {
	const matrix = "spec.generators[0].matrix"
	for name, c := range map[string]struct {
		goTemplate       bool
		options          []any
		generators, path string
		words            []string
	}{
		"a value that mixes both generators": {true, nil, `
- list: {elements: [{a: A}]}
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: envs}], values: {v: '{{.a}}-{{.path.basename}}'}}`,
			matrix + ".generators[1].git.values.v", []string{"With generators[0].matrix.generators[0].list.elements[0]", "first generator", ".a", "Make two values"}},
		"a value that mixes both, with missingkey=error": {true, []any{"missingkey=error"}, `
- list: {elements: [{a: A}]}
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: envs}], values: {v: '{{.a}}-{{.path.basename}}'}}`,
			matrix + ".generators[1].git.values.v", []string{"Make two values"}},
		"a value that exists nowhere, with missingkey=error": {true, []any{"missingkey=error"}, `
- list: {elements: [{a: A}]}
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: envs}], values: {v: '{{.gone}}'}}`,
			matrix + ".generators[1].git.values.v", []string{"Template failed", `map has no entry for key "gone"`, `directory "envs"`}},
		"no value in the second": {true, nil, `[{list: {elements: [{a: A}]}}, {list: {elements: [{b: '{{.gone}}'}]}}]`,
			matrix + ".generators[1].list.elements[0].b", []string{"has no value", "{{.gone}}"}},
		"a missing key in the second": {true, []any{"missingkey=error"}, `[{list: {elements: [{a: A}]}}, {list: {elements: [{b: '{{.gone}}'}]}}]`,
			matrix + ".generators[1].list.elements[0].b", []string{`no entry for key "gone"`}},
		"a tag that is left in a question": {false, nil, `[{list: {elements: [{a: A}]}}, {git: {repoURL: '{{gone}}', directories: [{path: x}]}}]`,
			matrix + ".generators[1].git.repoURL", []string{"still holds"}},
		"a templated question in the first": {true, nil, `[{git: {repoURL: '{{.b}}', directories: [{path: x}]}}, {list: {elements: [{b: x}]}}]`,
			matrix + ".generators[0].git.repoURL", []string{"still holds", "only the second one of a matrix"}},
		"a templated selector": {true, nil, `[{list: {elements: [{a: A}]}}, {list: {elements: [{b: x}]}, selector: {matchLabels: {b: '{{.a}}'}}}]`,
			matrix + ".generators[1].selector", []string{"does not render the selector"}},
		"different values with goTemplate off": {false, nil, `[{list: {elements: [{a: A}]}}, {list: {elements: [{a: B}]}}]`,
			matrix, []string{`"a"`, "different values", "list.elements[0] with generators[0].matrix.generators[1].list.elements[0]"}},
		"texts that get an object": {true, nil, `[{list: {elements: [{values: {k: {deep: 1}}}]}}, {clusters: {values: {k: x}, selector: {matchLabels: {env: dev}}}}]`,
			matrix, []string{"values: ", "texts only"}},
		"two keys that render to one text": {true, nil, `[{list: {elements: [{a: A}]}}, {list: {elements: [{'{{.a}}': 1, A: 2}]}}]`,
			matrix + `.generators[1].list.elements[0]["{{.a}}"]`, []string{`render to "A"`, "random"}},
		"YAML that is none once it is rendered": {true, nil, `[{list: {elements: [{a: A}]}}, {list: {elementsYaml: '{{.a}}'}}]`,
			matrix + ".generators[1].list.elementsYaml", []string{"YAML list of objects", "With generators[0]"}},
		"a function that makes no two plans the same": {true, nil, `[{list: {elements: [{a: A}]}}, {list: {elements: [{b: '{{now}}'}]}}]`,
			matrix + ".generators[1].list.elements[0].b", []string{"now"}},
		"a template that cannot be read": {true, nil, `[{list: {elements: []}}, {list: {elements: [{b: '{{.a'}]}}]`,
			matrix + ".generators[1].list.elements[0].b", []string{"Invalid template"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.goTemplate, `[{matrix: {}}]`)
			if c.options != nil {
				spec["goTemplateOptions"] = c.options
			}
			spec["generators"].([]any)[0].(map[string]any)["matrix"].(map[string]any)["generators"] = yamlOf(t, c.generators)
			_, issues, complete := evaluated(t, spec, world())
			wantIssue(t, issues, c.path, c.words...)
			if complete {
				t.Error("complete")
			}
		})
	}
}

func TestAVerySimilarValueIsFineWhenItsOwnGeneratorHasAllOfIt(t *testing.T) {
	sets := parameters(t, true, `
- matrix:
    generators:
    - list: {elements: [{name: outer}]}
    - clusters: {selector: {matchLabels: {env: dev}}, values: {v: '{{.name}}-{{.metadata.labels.env}}'}}`)
	wantParameters(t, sets, `[{name: outer, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}, values: {v: dev-1-dev}}]`)
}
