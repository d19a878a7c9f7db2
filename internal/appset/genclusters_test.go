package appset_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

func TestClustersGiveTheParametersOfArgoCD(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate       bool
		generators, want string
	}{
		"with Go templates they are nested, hidden annotations are left out, the own cluster comes last": {true, `[{clusters: {}}]`, `
- {name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}}
- {name: prod_1, nameNormalized: prod-1, server: 'https://p1', project: p, metadata: {annotations: {owner: a}, labels: {env: prod, argocd.argoproj.io/secret-type: cluster}}}
- {name: in-cluster, nameNormalized: in-cluster, server: 'https://kubernetes.default.svc', project: ''}`},
		"with goTemplate off they are flat": {false, `[{clusters: {selector: {matchLabels: {env: prod}}, values: {a: 'x-{{name}}', b: '{{values.a}}'}}}]`, `
- {name: prod_1, nameNormalized: prod-1, server: 'https://p1', project: p, metadata.annotations.owner: a, metadata.labels.env: prod,
   metadata.labels.argocd.argoproj.io/secret-type: cluster, values.a: x-prod_1, values.b: '{{values.a}}'}`},
		"a selector leaves out the own cluster": {true, `[{clusters: {selector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}, values: {v: '{{.metadata.labels.env}}!'}}}]`, `
- {name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}, values: {v: dev!}}`},
		"the label that every cluster has may be asked for": {true, `[{clusters: {selector: {matchLabels: {argocd.argoproj.io/secret-type: cluster, env: dev}}}}]`, `
- {name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}}`},
		"an empty selector is none": {true, `[{clusters: {selector: {matchLabels: {}}}, selector: {matchLabels: {name: in-cluster}}}]`, `
- {name: in-cluster, nameNormalized: in-cluster, server: 'https://kubernetes.default.svc', project: ''}`},
		"a flat list is one set": {true, `[{clusters: {flatList: true, selector: {matchLabels: {env: dev}}}}]`, `
- clusters: [{name: dev-1, nameNormalized: dev-1, server: 'https://d1', project: '', metadata: {labels: {env: dev}}}]`},
		"a flat list of nothing is one set too": {true, `[{clusters: {flat_list: true, selector: {match_labels: {env: none}}}}]`, `[{clusters: []}]`},
		"nothing matches":                       {true, `[{clusters: {selector: {matchLabels: {env: none}}}}]`, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			wantParameters(t, parameters(t, c.goTemplate, c.generators), c.want)
		})
	}
}

func TestAClusterSecretForTheOwnClusterReplacesIt(t *testing.T) {
	fake := &appsettest.Fake{Known: []appset.Cluster{{Name: "home", Server: "https://kubernetes.default.svc"}}}
	sets, issues, _ := evaluated(t, specOf(t, true, `[{clusters: {}}]`), fake)
	if len(issues) > 0 || !slices.Equal(namesOf(sets, "name"), []string{"home"}) {
		t.Errorf("%v %s", sets, issues)
	}
	wantParameters(t, sets, `[{name: home, nameNormalized: home, server: 'https://kubernetes.default.svc', project: '', metadata: {}}]`)
}

func TestAnnotationsThatAreAllHiddenAreAnEmptyObject(t *testing.T) {
	fake := &appsettest.Fake{Known: []appset.Cluster{{Name: "c", Server: "s", Annotations: map[string]string{"argocd.argoproj.io/refresh": "x"}}}}
	sets, _, _ := evaluated(t, specOf(t, true, `[{clusters: {}, selector: {matchLabels: {name: c}}}]`), fake)
	wantParameters(t, sets, `[{name: c, nameNormalized: c, server: s, project: '', metadata: {annotations: {}}}]`)
}

func TestTwoClustersWithOneNameAreAnErrorWhereArgoCDPicksOne(t *testing.T) {
	fake := world()
	fake.Known = append(fake.Known, appset.Cluster{Name: "dev-1", Server: "https://user:hunter2@d2"})
	_, issues, complete := evaluated(t, specOf(t, true, `[{clusters: {}}]`), fake)
	wantIssue(t, issues, "spec.generators[0].clusters", "Generator failed", `"dev-1"`, "https://d2", "https://d1", "at random")
	if complete {
		t.Error("complete")
	}
	if sets, issues, _ := evaluated(t, specOf(t, true, `[{clusters: {selector: {matchLabels: {env: prod}}}}]`), fake); len(issues) > 0 || len(sets) != 1 {
		t.Errorf("they are not asked for: %s", issues)
	}
}

func TestTheListOfClustersIsAskedForOnce(t *testing.T) {
	fake := world()
	spec := specOf(t, true, `
- clusters: {}
- clusters: {selector: {matchLabels: {env: dev}}}
- matrix: {generators: [{list: {elements: [{e: dev}, {e: prod}]}}, {clusters: {selector: {matchLabels: {env: '{{.e}}'}}}}]}`)
	if sets, issues, _ := evaluated(t, spec, fake); len(issues) > 0 || len(sets) != 6 {
		t.Errorf("%d sets, %s", len(sets), issues)
	}
	if asked := fake.Asked(); !slices.Equal(asked, []string{"clusters"}) {
		t.Errorf("asked %q", asked)
	}
}

func TestLabelsOfClustersAreTextsForTemplates(t *testing.T) {
	spec := specOf(t, true, `[{clusters: {selector: {matchLabels: {env: dev}}}}]`)
	spec["goTemplateOptions"] = []any{"missingkey=zero"}
	template := spec["template"].(map[string]any)
	template["metadata"] = yamlOf(t, `{name: 'a{{.metadata.labels.gone}}-{{index .metadata.labels "gone"}}b'}`)
	set, issues := appset.Decode("set", "argocd", spec)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	rendering, issues := set.Render(t.Context(), world(), appset.Answers{})
	if len(issues) > 0 || rendering.Apps[0].Name != "a-b" || rendering.Apps[0].Origin != `generators[0].clusters (cluster "dev-1")` {
		t.Errorf("%+v %s", rendering.Apps, issues)
	}
}

func TestAClusterSecretThatSaysTooLittleIsNamedInErrors(t *testing.T) {
	spec := specOf(t, true, `[{clusters: {selector: {matchLabels: {env: dev}}}}]`)
	template := spec["template"].(map[string]any)
	template["metadata"] = map[string]any{"name": "{{.name}}"}
	template["spec"].(map[string]any)["destination"] = map[string]any{"server": "{{.server}}"}
	labels := map[string]string{"env": "dev"}
	for name, c := range map[string]struct {
		known []appset.Cluster
		says  string
	}{
		"without a name":   {[]appset.Cluster{{Server: "https://a", Labels: labels, Secret: "argocd/one"}}, `cluster without a name, of Secret "argocd/one"`},
		"without a server": {[]appset.Cluster{{Name: "a_b", Labels: labels, Secret: "argocd/two"}}, `cluster without a server, of Secret "argocd/two"`},
		"two without a name": {[]appset.Cluster{{Server: "https://a", Labels: labels, Secret: "argocd/one"}, {Server: "https://b", Labels: labels, Secret: "argocd/two"}},
			"that of Secret argocd/one and that of Secret argocd/two"},
	} {
		t.Run(name, func(t *testing.T) {
			set, issues := appset.Decode("s", "argocd", spec)
			if issues.HasErrors() {
				t.Fatal(issues)
			}
			fresh, issues := set.Render(t.Context(), &appsettest.Fake{Known: c.known}, appset.Answers{})
			if !strings.Contains(issues.String(), c.says) {
				t.Errorf("the issues are %q, without %q", issues, c.says)
			}
			if fresh.Answers.Empty() {
				return
			}
			// A plan that goes by what was recorded says the same.
			raw, err := json.Marshal(fresh.Answers)
			var recorded appset.Answers
			if err == nil {
				err = json.Unmarshal(raw, &recorded)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, again := set.Render(t.Context(), nil, recorded); again.String() != issues.String() {
				t.Errorf("with recorded answers the issues are %q, and were %q", again, issues)
			}
		})
	}
}

// discreet hides a word in everything that is told.
type discreet struct{ *appsettest.Fake }

func (discreet) Redact(text string) string { return strings.ReplaceAll(text, "hunter2", "(hidden)") }

func TestWhatInputsKnowToBeSecretIsNotTold(t *testing.T) {
	fake := discreet{&appsettest.Fake{Plugins: map[string][]map[string]any{"plugin": {{"name": "hunter2_"}}}}}
	generators := `[{plugin: {configMapRef: {name: plugin}, values: {x: '{{.nothing.here.of.it}}'}}}]`
	spec := specOf(t, true, generators)
	spec["goTemplateOptions"] = []any{"missingkey=error"}
	for _, template := range []string{"{{.name}}", "{{.name}}{{.missing}}"} {
		spec["template"].(map[string]any)["metadata"] = map[string]any{"name": template}
		spec["generators"] = yamlOf(t, `[{plugin: {configMapRef: {name: plugin}}}]`)
		set, issues := appset.Decode("s", "argocd", spec)
		if issues.HasErrors() {
			t.Fatal(issues)
		}
		if _, issues = set.Render(t.Context(), fake, appset.Answers{}); !issues.HasErrors() || strings.Contains(issues.String(), "hunter2") {
			t.Errorf("%s: the issues are %q", template, issues)
		}
	}
	spec["generators"] = yamlOf(t, generators)
	set, issues := appset.Decode("s", "argocd", spec)
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	if _, _, issues, _ = set.Parameters(t.Context(), fake, appset.Answers{}); !issues.HasErrors() || strings.Contains(issues.String(), "hunter2") {
		t.Errorf("the issues of parameters are %q", issues)
	}
}
