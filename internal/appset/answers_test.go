package appset_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

const everyQuestion = `
- clusters: {values: {v: '{{.name}}'}}
- git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: 'apps/*'}]}
- git: {repoURL: 'https://git/r.git', revision: main, files: [{path: envs}, {path: '*.json'}]}
- oci: {repoURL: 'oci://registry/r', revision: '1', directories: [{path: 'envs'}]}
- oci: {repoURL: 'oci://registry/r', revision: '1', files: [{path: '**/*.json'}]}
- plugin: {configMapRef: {name: plugin}, input: {parameters: {b: [1, '<&>'], a: x}}}
- clusterDecisionResource: {configMapRef: decide, labelSelector: {matchExpressions: [{key: a, operator: Exists}]}}
- matrix: {generators: [{list: {elements: [{e: dev}, {e: prod}]}}, {clusters: {selector: {matchLabels: {env: '{{.e}}'}}}}]}
`

func TestRecordedAnswersGiveTheSameWithoutAskingAgain(t *testing.T) {
	set, issues := appset.Decode("set", "argocd", specOf(t, true, everyQuestion))
	if len(issues) > 0 || !set.NeedsInputs() {
		t.Fatal(issues)
	}
	first, answers, issues, complete := set.Parameters(t.Context(), world(), appset.Answers{})
	if len(issues) > 0 || !complete || answers.Len() != 9 || answers.Empty() {
		t.Fatalf("%d answers, complete %v, %s", answers.Len(), complete, issues)
	}
	text, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	var read appset.Answers
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	again, used, issues, complete := set.Parameters(t.Context(), nil, read)
	if len(issues) > 0 || !complete || !reflect.DeepEqual(first, again) {
		t.Errorf("complete %v, %s\nfirst %v\nagain %v", complete, issues, first, again)
	}
	if other := asJSONText(t, used); other != string(text) {
		t.Errorf("answers change when they are used:\n%s\n%s", text, other)
	}
	if strings.Contains(string(text), "secret\"") || strings.Contains(string(text), "last-applied") {
		t.Errorf("a hidden annotation is recorded: %s", text)
	}
}

func TestOnlyTheAnswersThatWereUsedAreKept(t *testing.T) {
	fake := world()
	_, answers, _, _ := decodeSet(t, everyQuestion).Parameters(t.Context(), fake, appset.Answers{})
	asked := len(fake.Asked())
	_, used, issues, complete := decodeSet(t, `[{clusters: {}}, {plugin: {configMapRef: {name: plugin}}}]`).Parameters(t.Context(), fake, answers)
	if len(issues) > 0 || !complete || used.Len() != 2 {
		t.Errorf("%d answers, %s", used.Len(), issues)
	}
	if more := len(fake.Asked()) - asked; more != 1 {
		t.Errorf("asked %d times; the clusters are recorded, this question to the plugin is not", more)
	}
}

func TestParametersOfAGeneratorWithATemplateAreRefused(t *testing.T) {
	set := decodeSet(t, `[{list: {elements: [{e: dev}]}}, {list: {elements: [{e: prod}], template: {metadata: {labels: {tier: gold}}}}}]`)
	parameters, _, issues, complete := set.Parameters(t.Context(), world(), appset.Answers{})
	if complete || len(parameters) > 0 {
		t.Errorf("they are given: %v", parameters)
	}
	appset.WantIssue(t, issues, "spec.generators[1]", "has a template", "the set that uses them")
}

func TestWhatIsAddedLaterDoesNotReachARecordedRendering(t *testing.T) {
	fake := world()
	set := decodeSet(t, everyQuestion)
	first, answers, _, _ := set.Parameters(t.Context(), fake, appset.Answers{})
	fake.Known = append(fake.Known, appset.Cluster{Name: "new", Server: "s", Labels: map[string]string{"env": "dev"}})
	fake.Trees[repository]["main"]["apps/new/f"] = ""
	if again, _, _, _ := set.Parameters(t.Context(), fake, answers); !reflect.DeepEqual(first, again) {
		t.Errorf("recorded: %v", again)
	}
	fresh, _, _, _ := set.Parameters(t.Context(), fake, appset.Answers{})
	if len(fresh) != len(first)+3 {
		t.Errorf("%d sets, then %d", len(first), len(fresh))
	}
}

func TestWithoutAnybodyToAskASetIsIncompleteButNotWrong(t *testing.T) {
	for generators, needs := range map[string]bool{
		`[{list: {elements: [{a: 1}]}}]`: false,
		`[{matrix: {generators: [{list: {elements: [{a: 1}]}}, {list: {elements: [{b: '{{.a}}'}]}}]}}]`: false,
		`[{clusters: {}}]`:                                                                              true,
		`[{git: {repoURL: x, files: [{path: x}]}}]`:                                                     true,
		`[{oci: {repoURL: x, revision: x, files: [{path: x}]}}]`:                                        true,
		`[{plugin: {configMapRef: {name: x}}}]`:                                                         true,
		`[{clusterDecisionResource: {configMapRef: x, name: z}}]`:                                       true,
		`[{merge: {mergeKeys: [a], generators: [{list: {elements: []}}, {clusters: {}}]}}]`:             true,
		`[{matrix: {generators: [{list: {elements: [{a: 1}]}}, {clusters: {values: {v: '{{.a}}'}}}]}}]`: true,
		`[{matrix: {generators: [{list: {elements: [{a: 1}]}}, {matrix: {generators: [{list: {elements: [{a: '{{.a}}'}]}}, {git: {repoURL: x, files: [{path: x}]}}]}}]}}]`: true,
	} {
		set := decodeSet(t, generators)
		rendering, issues := set.Render(t.Context(), nil, appset.Answers{})
		if set.NeedsInputs() != needs || rendering.Complete == needs || len(issues) > 0 {
			t.Errorf("%s: needs inputs %v, complete %v, %s", generators, set.NeedsInputs(), rendering.Complete, issues)
		}
	}
}

func TestAnswersOfAnotherVersionAreRefused(t *testing.T) {
	var answers appset.Answers
	if err := json.Unmarshal([]byte(`{"version": 2, "entries": []}`), &answers); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("error %v", err)
	}
	if text := asJSONText(t, appset.Answers{}); text != `{"version":1,"entries":[]}` {
		t.Errorf("no answers are %s", text)
	}
}

func TestUnknownsInQuestionsMakeASetIncompleteAndAskNothing(t *testing.T) {
	for _, generators := range []string{
		`[{clusters: UNKNOWN}]`, `[{clusters: {selector: UNKNOWN}}]`, `[{clusters: {selector: {matchLabels: {a: UNKNOWN}}}}]`, `[{clusters: {values: UNKNOWN}}]`,
		`[{clusters: {flatList: UNKNOWN}}]`, `[{clusters: {}, selector: UNKNOWN}]`,
		`[{git: {repoURL: UNKNOWN, directories: [{path: x}]}}]`, `[{git: {repoURL: x, revision: UNKNOWN, directories: [{path: x}]}}]`,
		`[{git: {repoURL: x, directories: UNKNOWN}}]`, `[{git: {repoURL: x, directories: [UNKNOWN]}}]`, `[{git: {repoURL: x, files: [{path: UNKNOWN}]}}]`,
		`[{oci: {repoURL: UNKNOWN, revision: x, directories: [{path: x}]}}]`, `[{oci: {repoURL: x, revision: UNKNOWN, files: [{path: x}]}}]`,
		`[{oci: {repoURL: x, revision: x, files: [{path: UNKNOWN}]}}]`,
		`[{git: {repoURL: x, files: [{path: x, exclude: UNKNOWN}]}}]`, `[{git: {repoURL: x, pathParamPrefix: UNKNOWN, files: [{path: x}]}}]`,
		`[{plugin: {configMapRef: UNKNOWN}}]`, `[{plugin: {configMapRef: {name: UNKNOWN}}}]`, `[{plugin: {configMapRef: {name: x}, input: UNKNOWN}}]`,
		`[{plugin: {configMapRef: {name: x}, input: {parameters: {a: [UNKNOWN]}}}}]`,
		`[{clusterDecisionResource: {configMapRef: UNKNOWN, name: x}}]`, `[{clusterDecisionResource: {configMapRef: x, name: UNKNOWN}}]`,
		`[{clusterDecisionResource: {configMapRef: x, labelSelector: UNKNOWN}}]`,
		`[{matrix: UNKNOWN}]`, `[{matrix: {generators: UNKNOWN}}]`, `[{matrix: {generators: [UNKNOWN, {list: {elements: [{a: b}]}}]}}]`,
		`[{merge: {mergeKeys: UNKNOWN, generators: [{list: {elements: []}}, {list: {elements: []}}]}}]`,
		`[{merge: {mergeKeys: [UNKNOWN], generators: [{list: {elements: []}}, {list: {elements: []}}]}}]`,
		`[{merge: {mergeKeys: [a], generators: [{list: {elements: [{a: UNKNOWN}]}}, {list: {elements: []}}]}}]`,
		`[{merge: {mergeKeys: [a], generators: [{list: {elements: [UNKNOWN]}}, {list: {elements: []}}]}}]`,
		`[{list: {elements: [{a: UNKNOWN}]}, selector: {matchLabels: {a: b}}}]`, `[{list: {elements: [{a: UNKNOWN}]}, selector: {matchLabels: {a.b: c}}}]`,
		`[{list: {elements: [UNKNOWN]}, selector: {matchLabels: {a: b}}}]`, `[{list: {elements: [{a: b}], template: UNKNOWN}}]`,
		`[{matrix: {generators: [{list: {elements: [{a: UNKNOWN}]}}, {git: {repoURL: '{{.a}}', directories: [{path: x}]}}]}}]`,
		`[{matrix: {generators: [{list: {elements: [UNKNOWN]}}, {clusters: {selector: {matchLabels: {'{{.a}}': x}}}}]}}]`,
	} {
		fake := world()
		set := decodeSet(t, generators)
		rendering, issues := set.Render(t.Context(), fake, appset.Answers{})
		if rendering.Complete || len(rendering.Apps) > 0 || len(issues) > 0 || len(fake.Asked()) > 0 {
			t.Errorf("%s: complete %v, asked %q, %s", generators, rendering.Complete, fake.Asked(), issues)
		}
	}
}

func TestUnknownsInParametersStayFine(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate       bool
		generators, want string
	}{
		"a leaf of an element in a matrix": {true, `[{matrix: {generators: [{list: {elements: [{a: x, u: UNKNOWN}]}}, {list: {elements: [{b: '{{.u}}-', c: '{{.a}}'}]}}]}}]`,
			`[{a: x, u: UNKNOWN, b: UNKNOWN, c: x}]`},
		"an object over an Unknown, and the other way round": {true, `[{matrix: {generators: [{list: {elements: [{m: {k: 1}, n: UNKNOWN, o: {k: UNKNOWN}}]}}, {list: {elements: [{m: UNKNOWN, n: {k: 1}, o: {k: 1, l: 2}}]}}]}}]`,
			`[{m: UNKNOWN, n: UNKNOWN, o: {k: UNKNOWN, l: 2}}]`},
		"one of the values of clusters": {true, `[{clusters: {selector: {matchLabels: {env: dev}}, values: {u: UNKNOWN, k: '{{.name}}'}}}]`,
			`[{name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}, values: {u: UNKNOWN, k: dev-1}}]`},
		"a flat list with an Unknown in it": {true, `[{clusters: {flatList: true, selector: {matchLabels: {env: dev}}, values: {u: UNKNOWN}}}]`,
			`[{clusters: [{name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}, values: {u: UNKNOWN}}]}]`},
		"a parameter that a merge overrides": {true, `[{merge: {mergeKeys: [k], generators: [{list: {elements: [{k: a, v: UNKNOWN, w: UNKNOWN}]}}, {list: {elements: [{k: a, v: known}]}}]}}]`,
			`[{k: a, v: known, w: UNKNOWN}]`},
		"with goTemplate off": {false, `[{matrix: {generators: [{list: {elements: [{a: UNKNOWN, b: x}]}}, {list: {elements: [{a: z, c: '{{a}}', d: '{{b}}'}]}}]}}]`,
			`[{a: UNKNOWN, b: x, c: UNKNOWN, d: x}]`},
		"a selector that needs only what is known": {true, `[{list: {elements: [{a: x, u: UNKNOWN}]}, selector: {matchLabels: {a: x}}}]`, `[{a: x, u: UNKNOWN}]`},
	} {
		t.Run(name, func(t *testing.T) {
			wantParameters(t, parameters(t, c.goTemplate, c.generators), c.want)
		})
	}
}

func decodeSet(t testing.TB, generators string) *appset.Set {
	t.Helper()
	set, issues := appset.Decode("set", "argocd", specOf(t, true, generators))
	if len(issues) > 0 {
		t.Fatalf("%s\n%s", issues, generators)
	}
	return set
}

// Whatever the generators are: the order in which clusters are listed plays no part, and the answers
// of a rendering are enough to make it again.
func TestRenderingDependsOnAnswersAloneAndNotOnTheOrderOfClusters(t *testing.T) {
	leaf := rapid.SampledFrom([]string{
		`{clusters: {}}`, `{clusters: {selector: {matchLabels: {env: a}}}}`, `{clusters: {values: {v: '{{.name}}'}}}`, `{clusters: {flatList: true}}`,
		`{git: {repoURL: 'https://git/r.git', revision: main, directories: [{path: '*'}]}}`, `{git: {repoURL: 'https://git/r.git', revision: main, files: [{path: '*'}]}}`,
		`{list: {elements: [{name: c1, x: {y: 1}}, {name: l, x: [1]}]}}`, `{list: {elements: [{name: c1}], elementsYaml: '[{z: 1}]'}}`,
		`{plugin: {configMapRef: {name: plugin}}}`, `{clusterDecisionResource: {configMapRef: decide, name: r}}`,
		`{oci: {repoURL: 'oci://registry/r', revision: '1', directories: [{path: '*'}]}}`, `{oci: {repoURL: 'oci://registry/r', revision: '1', files: [{path: '**'}]}}`,
	})
	combined := rapid.Custom(func(t *rapid.T) string {
		a, b := leaf.Draw(t, "first"), leaf.Draw(t, "second")
		return rapid.SampledFrom([]string{a, `{matrix: {generators: [` + a + `, ` + b + `]}}`, `{merge: {mergeKeys: [name], generators: [` + a + `, ` + b + `]}}`}).Draw(t, "combined")
	})
	rapid.Check(t, func(rt *rapid.T) {
		fake := &appsettest.Fake{Trees: world().Trees, Artifacts: world().Artifacts, Plugins: world().Plugins, Decided: map[string]appset.Decisions{
			"decide": {MatchKey: "name", Entries: []map[string]any{{"name": "c2"}, {"name": "c1"}}},
		}}
		fake.Trees[repository]["main"] = map[string]string{"d/f": "name: f", "e.yaml": "[{name: c1}]"}
		fake.Artifacts[artifact]["1"] = fake.Trees[repository]["main"]
		for i := range rapid.IntRange(0, 4).Draw(rt, "clusters") {
			fake.Known = append(fake.Known, appset.Cluster{
				Name: fmt.Sprint("c", i), Server: fmt.Sprint("s", i), Labels: map[string]string{"env": rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "env")},
			})
		}
		set := decodeSet(t, "["+strings.Join(rapid.SliceOfN(combined, 1, 3).Draw(rt, "generators"), ", ")+"]")
		first, answers, issues, complete := set.Parameters(t.Context(), fake, appset.Answers{})
		slices.Reverse(fake.Known)
		second, _, otherIssues, _ := set.Parameters(t.Context(), fake, appset.Answers{})
		if !reflect.DeepEqual(first, second) || issues.String() != otherIssues.String() {
			rt.Fatalf("the order of clusters matters:\n%v %s\n%v %s", first, issues, second, otherIssues)
		}
		if !complete {
			return
		}
		var recorded appset.Answers
		if err := json.Unmarshal([]byte(asJSONText(t, answers)), &recorded); err != nil {
			rt.Fatal(err)
		}
		replayed, _, issues, complete := set.Parameters(t.Context(), nil, recorded)
		if len(issues) > 0 || !complete || !reflect.DeepEqual(first, replayed) {
			rt.Fatalf("the answers are not enough: %v %s\n%v\n%v", complete, issues, first, replayed)
		}
	})
}
