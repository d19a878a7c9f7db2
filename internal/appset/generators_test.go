package appset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

func TestSeveralKindsInOneEntryFollowArgoCDsOrder(t *testing.T) {
	sets := parameters(t, true, `
- plugin: {configMapRef: {name: plugin}}
  merge: {mergeKeys: [name], generators: [{list: {elements: [{name: merge}]}}, {list: {elements: []}}]}
  matrix: {generators: [{list: {elements: [{name: matrix}]}}, {list: {elements: [{x: y}]}}]}
  clusterDecisionResource: {configMapRef: decide, name: r}
  git: {repoURL: https://git/r.git, revision: main, files: [{path: root.yaml}]}
  clusters: {selector: {matchLabels: {env: dev}}}
  list: {elements: [{name: list}], elementsYaml: '[{name: yaml}]'}
- list: {elements: [{name: second}]}`)
	want := []string{"list", "yaml", "dev-1", "root", "dev-1", "in-cluster", "matrix", "merge", "x", "y", "second"}
	if got := namesOf(sets, "name"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPluginsGiveTheirParametersWithTheInputOfTheGenerator(t *testing.T) {
	const plugin = `[{plugin: {configMapRef: {name: plugin}, input: {parameters: {key: [1, {a: b}]}}, values: {v: '%'}}}]`
	wantParameters(t, parameters(t, true, strings.ReplaceAll(plugin, "%", "{{.name}}")), `
- {name: x, size: 1, nested: {k: [v]}, generator: {input: {parameters: {key: [1, {a: b}]}}}, values: {v: x}}
- {name: 'y', generator: {input: {parameters: {key: [1, {a: b}]}}}, values: {v: 'y'}}`)
	wantParameters(t, parameters(t, false, strings.ReplaceAll(plugin, "%", "{{name}}")), `
- {name: x, size: '1', nested.k.0: v, generator: {input: {parameters: {key: [1, {a: b}]}}}, values.v: x}
- {name: 'y', generator: {input: {parameters: {key: [1, {a: b}]}}}, values.v: 'y'}`)
}

func TestTheInputOfAPluginCanBeUsedAsJSONButNotPrinted(t *testing.T) {
	spec := specOf(t, true, `[{plugin: {configMapRef: {name: plugin}, input: {parameters: {key: {a: b}}}}}]`)
	metadata := map[string]any{"name": "{{.name}}", "annotations": map[string]any{"in": "{{toJson .generator.input.parameters.key}}"}}
	spec["template"].(map[string]any)["metadata"] = metadata
	set, _ := appset.Decode("set", "argocd", spec)
	rendering, issues := set.Render(t.Context(), world(), appset.Answers{})
	if len(issues) > 0 || rendering.Apps[0].Object["metadata"].(map[string]any)["annotations"].(map[string]any)["in"] != `{"a":"b"}` {
		t.Errorf("%v %s", rendering.Apps, issues)
	}
	metadata["annotations"] = map[string]any{"in": "{{.generator.input.parameters.key}}"}
	set, _ = appset.Decode("set", "argocd", spec)
	_, issues = set.Render(t.Context(), world(), appset.Answers{})
	if len(issues) != 2 || issues[0].Summary != appset.SummaryLeftover || !strings.Contains(issues[0].Detail, "toJson") {
		t.Errorf("printed: %s", issues)
	}
}

func TestDecisionsGiveTheClustersThatArgoCDKnows(t *testing.T) {
	const decide = `[{clusterDecisionResource: {configMapRef: decide, labelSelector: {matchLabels: {a: b}}, requeueAfterSeconds: 30, values: {v: '{{.name}}'}}}]`
	wantParameters(t, parameters(t, true, decide), `
- {name: dev-1, server: 'https://d1', clusterName: dev-1, weight: '12345678', values: {v: '{{.name}}'}}
- {name: in-cluster, server: 'https://kubernetes.default.svc', clusterName: in-cluster, values: {v: '{{.name}}'}}`)
	wantParameters(t, parameters(t, false, `[{clusterDecisionResource: {configMapRef: decide, name: r, values: {v: w}}}]`), `
- {name: dev-1, server: 'https://d1', clusterName: dev-1, weight: '12345678', values.v: w}
- {name: in-cluster, server: 'https://kubernetes.default.svc', clusterName: in-cluster, values.v: w}`)
}

func TestDecisionsThatWouldDeleteEverythingAreErrors(t *testing.T) {
	fake := world()
	fake.Decided["empty"] = appset.Decisions{Entries: []map[string]any{{"clusterName": "dev-1"}}}
	_, issues, _ := evaluated(t, specOf(t, true, `[{clusterDecisionResource: {configMapRef: empty, name: r}}]`), fake)
	wantIssue(t, issues, "spec.generators[0].clusterDecisionResource", `"empty" has no matchKey`)
	fake.Known = append(fake.Known, appset.Cluster{Name: "dev-1", Server: "other"})
	_, issues, _ = evaluated(t, specOf(t, true, `[{clusterDecisionResource: {configMapRef: decide, name: r}}]`), fake)
	wantIssue(t, issues, "spec.generators[0].clusterDecisionResource", "two clusters", "at random")
}

func TestTheSelectorOfAnEntryLooksAtFlattenedParameters(t *testing.T) {
	const elements = `list: {elements: [{name: a, n: 1, url: 'https://a', m: {k: x, l: [p, q], nothing: null}, e: {}}, {name: b, n: 1000000}]}`
	for selector, want := range map[string][]string{
		`{}`:                                {"a", "b"},
		`{matchLabels: {name: a}}`:          {"a"},
		`{matchLabels: {m.k: x, n: '1'}}`:   {"a"},
		`{matchLabels: {n: '1e+06'}}`:       {"b"},
		`{matchLabels: {m.l.1: q}}`:         {"a"},
		`{matchLabels: {m.nothing: <nil>}}`: {"a"},
		`{matchExpressions: [{key: url, operator: In, values: ['https://a', x]}]}`: {"a"},
		`{match_expressions: [{key: m.k, operator: NotIn, values: [x]}]}`:          {"b"},
		`{matchExpressions: [{key: m.k, operator: Exists}]}`:                       {"a"},
		`{matchExpressions: [{key: m.k, operator: DoesNotExist}]}`:                 {"b"},
		`{matchExpressions: [{key: e, operator: Exists}]}`:                         {},
		`{matchExpressions: [{key: m, operator: Exists}]}`:                         {},
	} {
		sets := parameters(t, true, "[{"+elements+", selector: "+selector+"}]")
		if got := namesOf(sets, "name"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	sets := parameters(t, true, `[{clusters: {values: {v: w}}, selector: {matchLabels: {metadata.labels.env: dev, values.v: w}}}]`)
	if got := namesOf(sets, "name"); !slices.Equal(got, []string{"dev-1"}) {
		t.Errorf("labels and values: %q", got)
	}
	sets = parameters(t, true, `[{git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: 'apps/*'}]}, selector: {matchExpressions: [{key: path.segments.0, operator: Exists}]}}]`)
	if len(sets) != 0 {
		t.Errorf("segments are flattened, which Argo CD does not do: %v", sets)
	}
}

func TestNestedSelectorsFilterBeforeTheSetsAreCombined(t *testing.T) {
	wantParameters(t, parameters(t, true, `
- matrix:
    generators:
    - list: {elements: [{a: 1}, {a: 2}]}
      selector: {matchLabels: {a: '2'}}
    - list: {elements: [{b: 1}, {b: 2}]}
      selector: {matchExpressions: [{key: a, operator: DoesNotExist}, {key: b, operator: In, values: ['1']}]}
  selector: {matchLabels: {a: '2'}}`), `[{a: 2, b: 1}]`)
}

func TestAnErrorOfTheWorldIsAnErrorOfTheGeneratorAndNothingIsRendered(t *testing.T) {
	for generators, path := range map[string]string{
		`[{list: {elements: [{a: 1}]}}, {clusters: {}}]`:                                                              "spec.generators[1].clusters",
		`[{matrix: {generators: [{git: {repoURL: x, directories: [{path: x}]}}, {clusters: {}}]}}]`:                   "spec.generators[0].matrix.generators[0].git",
		`[{plugin: {configMapRef: {name: plugin}}}]`:                                                                  "spec.generators[0].plugin",
		`[{clusterDecisionResource: {configMapRef: decide, name: r}}]`:                                                "spec.generators[0].clusterDecisionResource",
		`[{merge: {mergeKeys: [a], generators: [{list: {elements: []}}, {plugin: {configMapRef: {name: plugin}}}]}}]`: "spec.generators[0].merge.generators[1].plugin",
	} {
		fake := world()
		fake.Err = errors.New("forbidden")
		set, issues := appset.Decode("set", "argocd", specOf(t, true, generators))
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		rendering, issues := set.Render(t.Context(), fake, appset.Answers{})
		wantIssue(t, issues, path, "Generator failed", "forbidden", "Nothing is rendered", strings.TrimPrefix(path, "spec."))
		if rendering.Complete || len(rendering.Apps) > 0 || !rendering.Answers.Empty() {
			t.Errorf("%s: %+v", path, rendering)
		}
	}
}

func TestAFailingQuestionIsAskedAndReportedOnce(t *testing.T) {
	fake := world()
	spec := specOf(t, true, `[{matrix: {generators: [{list: {elements: [{a: 1}, {a: 2}]}}, {git: {repoURL: gone, directories: [{path: x}], values: {v: '{{.a}}'}}}]}}]`)
	_, issues, _ := evaluated(t, spec, fake)
	wantIssue(t, issues, "spec.generators[0].matrix.generators[1].git", "gone")
	if len(fake.Asked()) != 1 {
		t.Errorf("asked %q", fake.Asked())
	}
}

func TestGeneratorsThatArgoCDWouldRefuseAreRefusedWhenTheyAreDecoded(t *testing.T) {
	const at = "spec.generators[0]"
	for name, c := range map[string]struct{ generators, path, word string }{
		"a matrix of one":                {`[{matrix: {generators: [{list: {elements: []}}]}}]`, at + ".matrix.generators", "exactly two"},
		"a matrix of three":              {`[{matrix: {generators: [{clusters: {}}, {clusters: {}}, {clusters: {}}]}}]`, at + ".matrix.generators", "exactly two"},
		"a matrix of nothing":            {`[{matrix: {}}]`, at + ".matrix.generators", "missing"},
		"a matrix of an object":          {`[{matrix: {generators: {}}}]`, at + ".matrix.generators", "a list"},
		"a merge of one":                 {`[{merge: {mergeKeys: [a], generators: [{clusters: {}}]}}]`, at + ".merge.generators", "at least two"},
		"a merge without keys":           {`[{merge: {mergeKeys: [], generators: [{clusters: {}}, {clusters: {}}]}}]`, at + ".merge.mergeKeys", "at least one"},
		"a merge whose keys are missing": {`[{merge: {generators: [{clusters: {}}, {clusters: {}}]}}]`, at + ".merge.mergeKeys", "missing"},
		"two kinds in a child":           {`[{matrix: {generators: [{list: {elements: []}, clusters: {}}, {clusters: {}}]}}]`, at + ".matrix.generators[0]", "several generators: clusters, list"},
		"a child without a kind":         {`[{matrix: {generators: [{clusters: {}}, {selector: {}}]}}]`, at + ".matrix.generators[1]", "no generator"},
		"a child that is a text":         {`[{matrix: {generators: [{clusters: {}}, list]}}]`, at + ".matrix.generators[1]", "an object"},
		"a misspelled kind in a child":   {`[{matrix: {generators: [{clusters: {}}, {cluster: {}}]}}]`, at + ".matrix.generators[1].cluster", `"clusters"?`},
		"an unsupported kind in a child": {`[{matrix: {generators: [{clusters: {}}, {pull_request: {}}]}}]`, at + ".matrix.generators[1].pullRequest", "Generator kind not supported"},
		"a template in a child":          {`[{matrix: {generators: [{clusters: {}}, {list: {elements: [], template: {metadata: {name: x}}}}]}}]`, at + ".matrix.generators[1].list.template", "ignores"},
		"three levels": {`[{matrix: {generators: [{clusters: {}}, {matrix: {generators: [{clusters: {}}, {merge: {mergeKeys: [a], generators: [{clusters: {}}, {clusters: {}}]}}]}}]}}]`,
			at + ".matrix.generators[1].matrix.generators[1].merge", "too deep"},
		"an unknown field":                   {`[{clusters: {selectors: {}}}]`, at + ".clusters.selectors", `"selector"?`},
		"an unknown field of a selector":     {`[{clusters: {selector: {matchLabel: {}}}}]`, at + ".clusters.selector.matchLabel", `"matchLabels"?`},
		"a number as a value":                {`[{clusters: {values: {a: 1}}}]`, at + ".clusters.values.a", "in quotes"},
		"a text for flatList":                {`[{clusters: {flatList: '{{.a}}'}}]`, at + ".clusters.flatList", "a bool"},
		"a label value with a blank":         {`[{clusters: {selector: {matchLabels: {a: 'b c'}}}}]`, at + ".clusters.selector", "Invalid selector"},
		"an operator that does not exist":    {`[{clusters: {selector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}}]`, at + ".clusters.selector", "Gt"},
		"a selector key with brackets":       {`[{list: {elements: []}, selector: {matchLabels: {'path[0]': x}}}]`, at + `.selector.matchLabels["path[0]"]`, "cannot be a key"},
		"In without values":                  {`[{list: {elements: []}, selector: {matchExpressions: [{key: a, operator: In}]}}]`, at + ".selector.matchExpressions[0]", "needs values"},
		"Exists with values":                 {`[{list: {elements: []}, selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]`, at + ".selector.matchExpressions[0]", "takes no values"},
		"an operator of an entry's selector": {`[{list: {elements: []}, selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}}]`, at + ".selector.matchExpressions[0]", `"in" is not an operator`},
		"a git generator without repoURL":    {`[{git: {directories: [{path: x}]}}]`, at + ".git.repoURL", "missing"},
		"a git generator with an empty one":  {`[{git: {repoURL: '', directories: [{path: x}]}}]`, at + ".git.repoURL", "empty"},
		"a git generator that asks nothing":  {`[{git: {repoURL: x, revision: main}}]`, at + ".git", "Give directories or files"},
		"directories and files":              {`[{git: {repoURL: x, directories: [{path: x}], files: [{path: x}]}}]`, at + ".git.files", "ignores files"},
		"a directory pattern that is broken": {`[{git: {repoURL: x, directories: [{path: 'a['}]}}]`, at + ".git.directories[0].path", "not a pattern"},
		"a file pattern out of the tree":     {`[{git: {repoURL: x, files: [{path: 'a/../../b'}]}}]`, at + ".git.files[0].path", "out of the repository"},
		"a file pattern with magic":          {`[{git: {repoURL: x, files: [{path: ':(glob)**/a'}]}}]`, at + ".git.files[0].path", "special meaning"},
		"an absolute file pattern":           {`[{git: {repoURL: x, files: [{path: /a}]}}]`, at + ".git.files[0].path", "relative to the root"},
		"a pattern without a path":           {`[{git: {repoURL: x, files: [{exclude: true}]}}]`, at + ".git.files[0].path", "missing"},
		"a template at the top":              {`[{git: {repoURL: x, directories: [{path: '{{.a}}'}]}}]`, at + ".git.directories[0].path", "still holds"},
		"a plugin without a ConfigMap":       {`[{plugin: {}}]`, at + ".plugin.configMapRef", "missing"},
		"a plugin with an empty name":        {`[{plugin: {configMapRef: {name: ''}}}]`, at + ".plugin.configMapRef.name", "empty"},
		"parameters of a plugin in a list":   {`[{plugin: {configMapRef: {name: x}, input: {parameters: []}}}]`, at + ".plugin.input.parameters", "an object"},
		"a templated plugin at the top":      {`[{plugin: {configMapRef: {name: x}, input: {parameters: {a: '{{.b}}'}}}}]`, at + ".plugin.input.parameters", "still holds"},
		"decisions by name and by label":     {`[{clusterDecisionResource: {configMapRef: x, name: a, labelSelector: {matchLabels: {a: b}}}}]`, at + ".clusterDecisionResource", "exactly one"},
		"decisions by nothing":               {`[{clusterDecisionResource: {configMapRef: x}}]`, at + ".clusterDecisionResource", "exactly one"},
		"a value that cannot be read":        {`[{clusters: {values: {a: '{{.x'}}}]`, at + ".clusters.values.a", "Invalid template"},
		"a list template that is broken":     {`[{list: {elements: [], template: {metadata: {name: '{{.x'}}}}]`, at + ".list.template.metadata.name", "Invalid template"},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := appset.Decode("set", "argocd", specOf(t, true, c.generators))
			wantIssue(t, issues, c.path, c.word)
		})
	}
}

func TestTemplatesThatSayNothingAreAccepted(t *testing.T) {
	const empty = `{metadata: {}, spec: {project: '', destination: {}}}`
	sets := parameters(t, true, `[{matrix: {template: `+empty+`, generators: [{list: {elements: [{a: 1}], template: `+empty+`}}, {list: {elements: [{b: 1}], template: {}}}]}}]`)
	wantParameters(t, sets, `[{a: 1, b: 1}]`)
}

func TestTheTemplateOfAGeneratorOverridesThatOfTheSet(t *testing.T) {
	spec := specOf(t, true, `
- list: {elements: [{t: one}], template: {metadata: {name: 'own-{{.t}}', labels: {a: own}}, spec: {project: q, source: {repo_url: 'https://git/r.git', target_revision: v1}}}}
- matrix:
    template: {metadata: {labels: {a: matrix}}}
    generators: [{list: {elements: [{t: two}]}}, {list: {elements: [{m: x}]}}]
- list: {elements: [{t: three}]}`)
	spec["template"].(map[string]any)["metadata"] = map[string]any{"name": "{{.t}}", "labels": map[string]any{"a": "set", "b": "set"}}
	set, issues := appset.Decode("set", "argocd", spec)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	rendering, issues := set.Render(t.Context(), nil, appset.Answers{})
	if len(issues) > 0 || len(rendering.Apps) != 3 {
		t.Fatalf("%d %s", len(rendering.Apps), issues)
	}
	for i, want := range []string{
		`{"labels":{"a":"own","b":"set"},"name":"own-one"} q {"path":"p","repoURL":"https://git/r.git","targetRevision":"v1"}`,
		`{"labels":{"a":"set","b":"set"},"name":"three"} p {"path":"p","repoURL":"https://git/r.git"}`,
		`{"labels":{"a":"matrix","b":"set"},"name":"two"} p {"path":"p","repoURL":"https://git/r.git"}`,
	} {
		object := rendering.Apps[i].Object
		metadata, spec := object["metadata"].(map[string]any), object["spec"].(map[string]any)
		delete(metadata, "finalizers")
		delete(metadata, "namespace")
		if got := asJSONText(t, metadata) + " " + spec["project"].(string) + " " + asJSONText(t, spec["source"]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestReferenceInputs(t *testing.T) {
	fake := world()
	fake.Trees["https://github.com/example/app-manifests"] = map[string]map[string]string{"main": {"envs/dev/f": "", "envs/prod/f": "", "other/f": ""}}
	fake.Trees["https://github.com/your-org/gitops-repo.git"] = map[string]map[string]string{"HEAD": {"clusters/c/f": ""}}
	rendering, issues := caseOf(t, "multi-env-matrix.yaml").Render(t.Context(), fake, appset.Answers{})
	var names []string
	for _, app := range rendering.Apps {
		names = append(names, app.Name)
	}
	if want := []string{"dev-prod-cluster-1", "dev-prod-cluster-2", "prod-prod-cluster-1", "prod-prod-cluster-2"}; len(issues) > 0 || !slices.Equal(names, want) {
		t.Errorf("matrix: %q %s", names, issues)
	}
	if origin := rendering.Apps[0].Origin; origin != `generators[0].matrix.generators[0].git (directory "envs/dev") with generators[0].matrix.generators[1].list.elements[0]` {
		t.Errorf("origin %s", origin)
	}
	_, issues = caseOf(t, "multi-env-git-directories.yaml").Render(t.Context(), fake, appset.Answers{})
	if text := issues.String(); !strings.Contains(text, `generators[0].git (directory "envs/dev")`) || !strings.Contains(text, "has no .cluster") ||
		!strings.Contains(text, "generators[1].list.elements[0]") || !strings.Contains(text, "has no .path.basename") {
		t.Errorf("two generators: %s", text)
	}
	_, issues = caseOf(t, "clusters-fasttemplate.yaml").Render(t.Context(), fake, appset.Answers{})
	wantIssue(t, issues, "spec.template.spec.destination.server", "{{url}} has no parameter", `directory "clusters/c"`)
}

func TestALabelWithoutAValueNeverMeansEveryCluster(t *testing.T) {
	for name, c := range map[string]struct{ generators, at string }{
		"clusters":        {`[{clusters: {selector: {matchLabels: {env: null}}}}]`, "spec.generators[0].clusters.selector.matchLabels.env"},
		"beside the kind": {`[{list: {elements: [{name: a}]}, selector: {matchLabels: {name: null}}}]`, "spec.generators[0].selector.matchLabels.name"},
		"decisions":       {`[{clusterDecisionResource: {configMapRef: decide, labelSelector: {matchLabels: {a: null}}}}]`, "spec.generators[0].clusterDecisionResource.labelSelector.matchLabels.a"},
		"inside of matrix": {`[{matrix: {generators: [{list: {elements: [{x: a}]}}, {clusters: {selector: {match_labels: {env: null}}}}]}}]`,
			"spec.generators[0].matrix.generators[1].clusters.selector.matchLabels.env"},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := appset.Decode("set", "argocd", specOf(t, true, c.generators))
			if len(issues) != 1 || issues[0].Summary != appset.SummaryWrongType || !strings.Contains(issues[0].Detail, c.at+" must be a string, but is null") {
				t.Errorf("got %s", issues)
			}
		})
	}
}
