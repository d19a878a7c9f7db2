package appset_test

import (
	"testing"
)

func TestMergeOverridesSetsWithTheSameKeys(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate            bool
		keys, children, wants string
	}{
		"later children override earlier ones, sets that match nothing are dropped": {true, `[k]`, `[{list: {elements: [{k: a, v: 1, w: 1}, {k: b, v: 1}]}}, {list: {elements: [{k: a, v: 2}, {k: c, v: 2}]}}, {list: {elements: [{k: a, v: 3}]}}]`,
			`[{k: a, v: 3, w: 1}, {k: b, v: 1}]`},
		"the merge is deep, and what is empty overrides": {true, `[k]`, `[{list: {elements: [{k: a, m: {x: 1, y: 2}, l: [1], s: t, n: 1, e: {z: 1}}]}}, {list: {elements: [{k: a, m: {y: 0}, l: [], s: '', n: null, e: {}}]}}]`,
			`[{k: a, m: {x: 1, y: 0}, l: [], s: '', n: null, e: {z: 1}}]`},
		"several keys of any type": {true, `[k, p, p]`, `[{list: {elements: [{k: a, p: {x: 1}, v: 1}, {k: a, p: 2, v: 1}]}}, {list: {elements: [{k: a, p: {x: 1}, v: 2}]}}]`,
			`[{k: a, p: {x: 1}, v: 2}, {k: a, p: 2, v: 1}]`},
		"a missing key is null": {true, `[k]`, `[{list: {elements: [{v: 1}, {k: a}]}}, {list: {elements: [{k: null, v: 2}]}}]`, `[{k: null, v: 2}, {k: a}]`},
		"with goTemplate off keys are flat, and whole parameters are replaced": {false, `[path.basename]`, `
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: 'apps/[ab]'}]}
- list: {elements: [{path.basename: b, x: z, values: {k: v}}]}`, `
- {path: apps/a, path.basename: a, path.basenameNormalized: a, 'path[0]': apps, 'path[1]': a}
- {path: apps/b, path.basename: b, path.basenameNormalized: b, 'path[0]': apps, 'path[1]': b, x: z, values.k: v}`},
		"a matrix in it": {true, `[a, b]`, `[{matrix: {generators: [{list: {elements: [{a: 1}, {a: 2}]}}, {list: {elements: [{b: x}]}}]}}, {list: {elements: [{a: 2, b: x, c: z}]}}]`,
			`[{a: 1, b: x}, {a: 2, b: x, c: z}]`},
		"children are not interpolated with each other": {true, `[k]`, `[{list: {elements: [{k: a}]}}, {list: {elements: [{k: a, v: '{{.k}}'}]}}]`, `[{k: a, v: '{{.k}}'}]`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.goTemplate, `[{merge: {}}]`)
			merge := spec["generators"].([]any)[0].(map[string]any)["merge"].(map[string]any)
			merge["generators"], merge["mergeKeys"] = yamlOf(t, c.children), yamlOf(t, c.keys)
			sets, issues, complete := evaluated(t, spec, world())
			if len(issues) > 0 || !complete {
				t.Fatalf("complete %v\n%s", complete, issues)
			}
			wantParameters(t, sets, c.wants)
		})
	}
}

func TestAMergeDoesNotChangeSetsThatShareAParameter(t *testing.T) {
	sets := parameters(t, true, `
- merge:
    mergeKeys: [b]
    generators:
    - matrix: {generators: [{list: {elements: [{shared: {x: 1}}]}}, {list: {elements: [{b: one}, {b: two}]}}]}
    - list: {elements: [{b: one, shared: {x: 2}}]}`)
	wantParameters(t, sets, `[{b: one, shared: {x: 2}}, {b: two, shared: {x: 1}}]`)
}

func TestSetsThatCannotBeMergedAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate          bool
		keys, children, why string
		at                  string
	}{
		"twice the same keys in one child": {true, `[k]`, `[{list: {elements: [{k: a}, {k: a}]}}, {list: {elements: []}}]`, "elements[1] of one generator have the same merge keys", "spec.generators[0].merge.mergeKeys"},
		"a path as a key with Go templates": {true, `[path.basename]`, `[{list: {elements: []}}, {git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: 'apps/*'}]}}]`,
			"parameters at the top", "spec.generators[0].merge.mergeKeys"},
		"texts and an object": {true, `[name]`, `[{clusters: {selector: {matchLabels: {env: dev}}, values: {k: v}}}, {list: {elements: [{name: dev-1, values: {k: w}}]}}]`, "texts only", "spec.generators[0].merge"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.goTemplate, `[{merge: {}}]`)
			merge := spec["generators"].([]any)[0].(map[string]any)["merge"].(map[string]any)
			merge["generators"], merge["mergeKeys"] = yamlOf(t, c.children), yamlOf(t, c.keys)
			_, issues, _ := evaluated(t, spec, world())
			wantIssue(t, issues, c.at, c.why)
		})
	}
}
