package appset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

var (
	yamlOf    = appset.YAMLOf
	wantIssue = appset.WantIssue
)

const (
	repository = "https://git/r.git"
	artifact   = "oci://registry/r"
)

// world is what the generators of the tests find outside.
func world() *appsettest.Fake {
	fake := &appsettest.Fake{
		Known: []appset.Cluster{
			{Name: "prod_1", Server: "https://p1", Project: "p", Labels: map[string]string{"env": "prod", "argocd.argoproj.io/secret-type": "cluster"},
				Annotations: map[string]string{"owner": "a", "kubectl.kubernetes.io/last-applied-configuration": "secret"}},
			{Name: "dev-1", Server: "https://d1", Labels: map[string]string{"env": "dev"}},
		},
		Trees: map[string]map[string]map[string]string{repository: {
			"main": {
				"apps/a/values.yaml":  "name: a\nsize: 3\nbig: 12345678\non: yes\nnested: {list: [x, 2], none: null}\n",
				"apps/b/config.json":  `{"name": "b", "path": "mine"}`,
				"apps/B_2/x/deep.txt": "",
				"apps/.hidden/f":      "",
				"envs/many.yaml":      "- {name: one}\n- {name: two}\n",
				"envs/empty.yaml":     "# nothing\n",
				"root.yaml":           "name: root\n",
				"bad.yaml":            "- 1\n",
			},
			"": {"only/f": ""},
		}},
		Plugins: map[string][]map[string]any{"plugin": {
			{"name": "x", "size": float64(1), "nested": map[string]any{"k": []any{"v"}}},
			{"name": "y"},
		}},
		Decided: map[string]appset.Decisions{"decide": {MatchKey: "clusterName", Entries: []map[string]any{
			{"clusterName": "dev-1", "weight": int64(12345678)}, {"clusterName": "gone"}, {"other": "x"}, {"clusterName": "in-cluster"},
		}}},
	}
	fake.Artifacts = map[string]map[string]map[string]string{artifact: {"1": fake.Trees[repository]["main"]}}
	return fake
}

// specOf is a spec with the generators and options given as YAML.
func specOf(t testing.TB, goTemplate bool, generators string) map[string]any {
	t.Helper()
	spec := yamlOf(t, `
template:
  metadata: {name: app}
  spec:
    project: p
    source: {repoURL: https://git/r.git, path: p}
    destination: {name: in-cluster}
`).(map[string]any)
	spec["goTemplate"] = goTemplate
	spec["generators"] = yamlOf(t, generators)
	return spec
}

// evaluated is what the generators of a spec give in the world.
func evaluated(t testing.TB, spec map[string]any, inputs appset.Inputs) ([]map[string]any, appset.Issues, bool) {
	t.Helper()
	set, issues := appset.Decode("set", "argocd", spec)
	if issues.HasErrors() {
		return nil, issues, false
	}
	sets, _, issues, complete := set.Parameters(t.Context(), inputs, appset.Answers{})
	return sets, issues, complete
}

// parameters are those of generators, without any issue.
func parameters(t testing.TB, goTemplate bool, generators string) []map[string]any {
	t.Helper()
	sets, issues, complete := evaluated(t, specOf(t, goTemplate, generators), world())
	if len(issues) > 0 || !complete {
		t.Fatalf("complete %v, %s\n%s", complete, issues, generators)
	}
	return sets
}

// wantParameters compares parameter sets with YAML, in order.
func wantParameters(t *testing.T, got []map[string]any, want string) {
	t.Helper()
	wanted, _ := yamlOf(t, want).([]any)
	if len(wanted) != len(got) {
		t.Errorf("%d sets, want %d:\n%s", len(got), len(wanted), asJSONText(t, got))
		return
	}
	for i := range got {
		if !reflect.DeepEqual(any(got[i]), wanted[i]) {
			t.Errorf("set %d:\ngot  %s\nwant %s", i, asJSONText(t, got[i]), asJSONText(t, wanted[i]))
		}
	}
}

func asJSONText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// namesOf are the values of one parameter, in order.
func namesOf(sets []map[string]any, key string) []string {
	out := []string{}
	for _, set := range sets {
		text, _ := set[key].(string)
		out = append(out, text)
	}
	return out
}

// caseOf decodes one of the reference inputs in testdata/cases.
func caseOf(t *testing.T, file string) *appset.Set {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "cases", file))
	if err != nil {
		t.Fatal(err)
	}
	document, issues := appset.DecodeManifest(text)
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	set, issues := appset.Decode(file, "argocd", document["spec"].(map[string]any))
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	return set
}
