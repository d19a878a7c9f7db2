package appset

import (
	"math"
	"strings"
	"testing"
)

func TestDecodeRefusesWhatTheCRDDoesNotHaveWithItsPath(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		v    any
		at   string
		word string
	}{
		"an unknown field of the spec":          {"generator", []any{}, "spec.generator", `"generators"?`},
		"snake_case outside generators":         {"go_template", true, "spec.go_template", `"goTemplate"?`},
		"an unknown field of metadata":          {"template.metadata.label", map[string]any{}, "spec.template.metadata.label", `"labels"?`},
		"an unknown field of a source":          {"template.spec.source.repoUrl", "x", "spec.template.spec.source.repoUrl", `"repoURL"?`},
		"an unknown field of helm":              {"template.spec.source.helm.valuesobject", map[string]any{}, "spec.template.spec.source.helm.valuesobject", `"valuesObject"?`},
		"an unknown field without a neighbour":  {"template.spec.zzzzzzzzzzzz", "x", "spec.template.spec.zzzzzzzzzzzz", "has no field"},
		"a policy that is none":                 {"syncPolicy.applicationsSync", "create_only", "spec.syncPolicy.applicationsSync", `Did you mean "create-only"?`},
		"a key that is no list":                 {"preservedFields", map[string]any{"labels": "a"}, "spec.preservedFields.labels", "a list"},
		"a preserved field that is none":        {"preservedFields", map[string]any{"label": []any{}}, "spec.preservedFields.label", `"labels"`},
		"a pointer without a slash":             {"ignoreApplicationDifferences", []any{map[string]any{"jsonPointers": []any{"spec"}}}, "spec.ignoreApplicationDifferences[0].jsonPointers[0]", "/spec/source"},
		"a jq expression that cannot be read":   {"ignoreApplicationDifferences", []any{map[string]any{"jqPathExpressions": []any{".["}}}, "spec.ignoreApplicationDifferences[0].jqPathExpressions[0]", "cannot be used"},
		"a jq expression that is no path":       {"ignoreApplicationDifferences", []any{map[string]any{"jqPathExpressions": []any{"1"}}}, "spec.ignoreApplicationDifferences[0].jqPathExpressions[0]", "does not lead to a field"},
		"a jq expression that reads the clock":  {"ignoreApplicationDifferences", []any{map[string]any{"jqPathExpressions": []any{".a | select(now > 1)"}}}, "spec.ignoreApplicationDifferences[0].jqPathExpressions[0]", "now"},
		"a jq expression that loops":            {"ignoreApplicationDifferences", []any{map[string]any{"jqPathExpressions": []any{"def f: f; .a | select(f)"}}}, "spec.ignoreApplicationDifferences[0].jqPathExpressions[0]", "def"},
		"a source hydrator without a branch":    {"template.spec.sourceHydrator", map[string]any{"drySource": map[string]any{"repoURL": "r", "path": "p", "targetRevision": "main"}, "syncSource": map[string]any{"path": "a"}}, "spec.template.spec.sourceHydrator.syncSource.targetBranch", "missing"},
		"a template for applyNestedSelectors":   {"applyNestedSelectors", "{{.x}}", "spec.applyNestedSelectors", "a bool"},
		"a number where a string belongs":       {"template.spec.source.targetRevision", float64(1.5), "spec.template.spec.source.targetRevision", "Write it in quotes"},
		"a string where a bool belongs":         {"template.spec.syncPolicy.automated.prune", "yes", "spec.template.spec.syncPolicy.automated.prune", "a bool"},
		"a fraction where an integer belongs":   {"template.spec.revisionHistoryLimit", 1.5, "spec.template.spec.revisionHistoryLimit", "an integer"},
		"a list where an object belongs":        {"template.spec.syncPolicy", []any{}, "spec.template.spec.syncPolicy", "an object"},
		"a string where a list belongs":         {"template.spec.syncPolicy.syncOptions", "a=b", "spec.template.spec.syncPolicy.syncOptions", "a list"},
		"a bool in a map of strings":            {"template.metadata.labels.x", true, "spec.template.metadata.labels.x", "in quotes"},
		"a null in a list":                      {"template.spec.syncPolicy.syncOptions", []any{nil}, "spec.template.spec.syncPolicy.syncOptions[0]", "null"},
		"a template for goTemplate":             {"goTemplate", "{{.x}}", "spec.goTemplate", "a bool"},
		"a template for preserve":               {"syncPolicy.preserveResourcesOnDeletion", "{{.x}}", "spec.syncPolicy.preserveResourcesOnDeletion", "a bool"},
		"a missing required field":              {"template.spec.info", []any{map[string]any{"name": "x"}}, "spec.template.spec.info[0].value", "missing"},
		"a missing repoURL":                     {"template.spec.source.repoURL", nil, "spec.template.spec.source.repoURL", "missing"},
		"no generators":                         {"generators", nil, "spec.generators", "missing"},
		"no template":                           {"template", nil, "spec.template", "missing"},
		"no name":                               {"template.metadata.name", nil, "spec.template.metadata.name", "missing"},
		"no spec in the template":               {"template.spec", nil, "spec.template.spec", "missing"},
		"generators that are an object":         {"generators", map[string]any{}, "spec.generators", "a list"},
		"a generator that is a string":          {"generators.0", "list", "spec.generators[0]", "an object"},
		"a generator with nothing in it":        {"generators.0", map[string]any{"list": nil}, "spec.generators[0]", "no generator"},
		"a list that is a list":                 {"generators.0.list", []any{}, "spec.generators[0].list", "an object"},
		"a list without elements":               {"generators.0.list", map[string]any{}, "spec.generators[0].list.elements", "missing"},
		"elements that are an object":           {"generators.0.list.elements", map[string]any{}, "spec.generators[0].list.elements", "a list of objects"},
		"an element that is a string":           {"generators.0.list.elements.1", "a", "spec.generators[0].list.elements[1]", "an object"},
		"a number that JSON cannot hold":        {"generators.0.list.elements.1.n", math.NaN(), "spec.generators[0].list.elements[1].n", "JSON"},
		"elementsYaml that is a list":           {"generators.0.list.elementsYaml", []any{}, "spec.generators[0].list.elementsYaml", "string of YAML"},
		"an unknown field of the list":          {"generators.0.list.element", []any{}, "spec.generators[0].list.element", `"elements"?`},
		"an unknown field of a list template":   {"generators.0.list.template.metadata.label", map[string]any{}, "spec.generators[0].list.template.metadata.label", `"labels"?`},
		"a selector that is a list":             {"generators.0.selector", []any{}, "spec.generators[0].selector", "an object"},
		"a kind that is not supported":          {"generators.0.scm_provider", map[string]any{}, "spec.generators[0].scmProvider", "not support"},
		"pull requests":                         {"generators.0.pullRequest", map[string]any{}, "spec.generators[0].pullRequest", "not support"},
		"a generator kind that does not exist":  {"generators.0.lists", map[string]any{}, "spec.generators[0].lists", `"list"?`},
		"a field of the list in both spellings": {"generators.0.list", map[string]any{"elements": []any{}, "elements_yaml": "[]", "elementsYaml": "[]"}, "spec.generators[0].list.elementsYaml", "both spellings"},
	} {
		t.Run(name, func(t *testing.T) {
			_, issues := Decode("set", "argocd", put(baseSpec(t), c.path, c.v))
			wantIssue(t, issues, c.at, c.word)
		})
	}
}

func TestDecodeReportsEverythingAtOnceInOrder(t *testing.T) {
	spec := put(baseSpec(t), "template.spec.projekt", "x")
	put(spec, "strategy.type", "Rolling")
	put(spec, "template.metadata.name", "{{")
	_, issues := Decode("Set", "argocd", spec)
	want := []string{"metadata.name", "spec.strategy.type", "spec.template.metadata.name", "spec.template.spec.projekt"}
	if len(issues) != len(want) {
		t.Fatalf("issues: %s", issues)
	}
	for i, issue := range issues {
		if issue.Path.String() != want[i] {
			t.Errorf("issue %d is at %s, want %s", i, issue.Path, want[i])
		}
	}
}

func TestSnakeCaseIsAcceptedInGeneratorsAndUserDataIsNeverRenamed(t *testing.T) {
	spec := put(baseSpec(t), "generators.0.list", map[string]any{
		"elements":      []any{map[string]any{"name": "a", "env": "dev", "url": "u", "my_key": "snake", "myKey": "camel"}},
		"elements_yaml": "[]",
	})
	put(spec, "template.metadata.labels", map[string]any{"snake_label": "{{.my_key}}", "camelLabel": "{{.myKey}}"})
	_, apps := render(t, spec)
	if got := apps[0].Labels; got["snake_label"] != "snake" || got["camelLabel"] != "camel" {
		t.Errorf("labels %v", got)
	}
}

func TestNullIsTheSameAsAbsent(t *testing.T) {
	spec := baseSpec(t)
	_, want := render(t, baseSpec(t))
	for _, path := range []string{"strategy", "syncPolicy", "goTemplateOptions", "template.spec.syncPolicy", "template.spec.source.helm", "template.spec.sources", "template.metadata.annotations", "template.metadata.finalizers", "generators.0.list.elementsYaml", "generators.0.git", "templatePatch"} {
		put(spec, path, map[string]any{}) // makes the parents
		parent, key := spec, path
		if i := strings.LastIndex(path, "."); i >= 0 {
			parent, key = get(spec, path[:i]).(map[string]any), path[i+1:]
		}
		parent[key] = nil
	}
	_, got := render(t, spec)
	for i := range want {
		if HashRendered(got[i].Object) != HashRendered(want[i].Object) {
			t.Errorf("%s differs:\n%v\n%v", want[i].Name, got[i].Object, want[i].Object)
		}
	}
}

func TestAnEmptyGeneratorListGivesNoApplication(t *testing.T) {
	for _, path := range []string{"generators", "generators.0.list.elements"} {
		if _, apps := render(t, put(baseSpec(t), path, []any{})); len(apps) != 0 {
			t.Errorf("%s: %d Applications", path, len(apps))
		}
	}
}

func TestPathsReadLikeTheManifest(t *testing.T) {
	for want, path := range map[string]Path{
		"spec.strategy.rollingSync.steps[1].maxUpdate":              {"spec", "strategy", "rollingSync", "steps", 1, "maxUpdate"},
		`spec.template.metadata.labels["app.kubernetes.io/name"].x`: {"spec", "template", "metadata", "labels", "app.kubernetes.io/name", "x"},
		`labels[""]`: {"labels", ""},
		"":           nil,
	} {
		if got := path.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
