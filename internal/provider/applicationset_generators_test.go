package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// clusters are clusters, each with its environment as the label env: names are "ENV-NAME".
func clusters(names ...string) []appset.Cluster {
	var found []appset.Cluster
	for _, name := range names {
		env, _, _ := strings.Cut(name, "-")
		found = append(found, appset.Cluster{Name: name, Server: "https://" + name, Labels: map[string]string{"env": env}})
	}
	return found
}

// clustersManifest is manifestOf with an Application for each cluster of one of these environments.
func clustersManifest(t *testing.T, envs ...string) string {
	t.Helper()
	document, issues := appset.DecodeManifest([]byte(manifestOf("main")))
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	spec := document["spec"].(map[string]any)
	spec["generators"] = []any{map[string]any{"clusters": map[string]any{"selector": map[string]any{
		"matchExpressions": []any{map[string]any{"key": "env", "operator": "In", "values": envs}},
	}}}}
	metadata := spec["template"].(map[string]any)["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"env": "{{.metadata.labels.env}}"}
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func modelOf(manifest string) *applicationSetModel {
	return &applicationSetModel{Name: types.StringValue("guestbook"), Namespace: types.StringValue("argocd"), Manifest: types.StringValue(manifest)}
}

// resourceOn is the resource with a connection to a cluster on which generators are told this.
func resourceOn(t *testing.T, w *appsettest.Fake) *applicationSetResource {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(resp http.ResponseWriter, _ *http.Request) {
		resp.Header().Set("Content-Type", "application/json")
		_, _ = resp.Write([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"argocd","uid":"ours"}}`))
	}))
	t.Cleanup(server.Close)
	return &applicationSetResource{provider: &ProviderData{
		Namespace: "argocd", settings: kubeconfig.Settings{Host: &server.URL},
		options:    kubeconfig.Options{QPS: 1000, Burst: 1000, LookupEnv: func(string) (string, bool) { return "", false }},
		generation: generation{inputs: map[string]appset.Inputs{"argocd": w}},
	}}
}

func names(c content) string {
	var all []string
	for _, app := range c.apps {
		all = append(all, app.Name)
	}
	return strings.Join(all, " ")
}

func summaries(diags diag.Diagnostics) string {
	var all []string
	for _, d := range diags {
		all = append(all, d.Severity().String()+": "+d.Summary())
	}
	return strings.Join(all, ", ")
}

// answersOf are those that a set was told of these clusters.
func answersOf(t *testing.T, manifest string, names ...string) appset.Answers {
	t.Helper()
	c, diags := modelOf(manifest).read(t.Context(), answering{inputs: &appsettest.Fake{Known: clusters(names...)}})
	if diags.HasError() || !c.complete {
		t.Fatal(diags)
	}
	return c.answers
}

func TestAPlanGoesByWhatReadHasRecordedAndAsksOnlyWhatIsNew(t *testing.T) {
	dev, both := clustersManifest(t, "dev"), clustersManifest(t, "dev", "prod")
	recorded := answersOf(t, dev, "dev-1")
	w := &appsettest.Fake{Known: clusters("dev-1", "dev-2", "prod-1")}
	r := resourceOn(t, w)

	c, diags := r.contentToPlan(t.Context(), modelOf(dev), recorded, cluster{UID: "ours"})
	if names(c) != "dev-1" || len(diags) > 0 || len(w.Asked()) != 0 {
		t.Errorf("unchanged generators give %q (%v), asked %d times", names(c), diags, len(w.Asked()))
	}
	c, diags = r.contentToPlan(t.Context(), modelOf(both), recorded, cluster{UID: "ours"})
	if names(c) != "dev-1 dev-2 prod-1" || len(diags) > 0 || len(w.Asked()) != 1 {
		t.Errorf("changed generators give %q (%v), asked %d times", names(c), diags, len(w.Asked()))
	}
	// What the plan was made with is what the apply is made with.
	w.Known = nil
	c, diags = modelOf(both).read(t.Context(), answering{recorded: c.answers, inputs: w})
	if names(c) != "dev-1 dev-2 prod-1" || len(diags) > 0 || len(w.Asked()) != 1 {
		t.Errorf("the apply of that plan gives %q (%v)", names(c), diags)
	}
}

func TestAPlanWithoutAConnectionLeavesOpenWhatIsNotRecorded(t *testing.T) {
	manifest := clustersManifest(t, "dev")
	for name, spoil := range map[string]func(*ProviderData){
		"the connection is not known yet":            func(d *ProviderData) { d.UnknownAttributes = []string{"kubernetes.host"} },
		"Argo CD's namespace is not known yet":       func(d *ProviderData) { d.NamespaceUnknown = true },
		"nothing answers where the cluster is meant": func(d *ProviderData) { nowhere := "http://127.0.0.1:1"; d.settings.Host = &nowhere },
	} {
		t.Run(name, func(t *testing.T) {
			r := resourceOn(t, &appsettest.Fake{})
			spoil(r.provider)
			c, diags := r.contentToPlan(t.Context(), modelOf(manifest), appset.Answers{}, cluster{})
			if c.complete || summaries(diags) != "Warning: "+summaryNotEvaluated {
				t.Errorf("complete %v, diagnostics %q", c.complete, summaries(diags))
			}
			if w := planWaves(c, targets{}, newWaves()); !w.unknown {
				t.Errorf("the waves are %v", w)
			}
			c, diags = r.contentToPlan(t.Context(), modelOf(manifest), answersOf(t, manifest, "dev-1"), cluster{Namespace: "argocd"})
			if names(c) != "dev-1" || len(diags) > 0 {
				t.Errorf("with recorded answers: %q, %v", names(c), diags)
			}
		})
	}
}

func TestAGeneratorThatFailsIsAnErrorWhereNothingIsRecorded(t *testing.T) {
	manifest := clustersManifest(t, "dev")
	r := resourceOn(t, &appsettest.Fake{Err: errors.New("secrets is forbidden")})
	c, diags := r.contentToPlan(t.Context(), modelOf(manifest), appset.Answers{}, cluster{})
	if !diags.HasError() || c.complete || !strings.Contains(diags.Errors()[0].Detail(), "secrets is forbidden") {
		t.Errorf("complete %v, diagnostics %v", c.complete, diags)
	}
	_, diags = r.contentToPlan(t.Context(), modelOf(manifest), appset.Answers{}, cluster{UID: "theirs"})
	if summaries(diags) != "Error: Wrong cluster" {
		t.Errorf("on another cluster: %q", summaries(diags))
	}
}

func TestReadKeepsWhatWasRecordedWhenAGeneratorFails(t *testing.T) {
	manifest := clustersManifest(t, "dev")
	recorded := answersOf(t, manifest, "dev-1")
	w := &appsettest.Fake{Known: clusters("dev-1", "dev-2")}
	on := &connected{resource: resourceOn(t, w), argoNamespace: "argocd", owner: argocd.Owner{Namespace: "argocd", Name: "guestbook"}}

	c, answers, diags := on.evaluate(t.Context(), modelOf(manifest), recorded)
	if names(c) != "dev-1 dev-2" || len(diags) > 0 || cmp.Equal(jsonOf(t, answers), jsonOf(t, recorded)) {
		t.Errorf("a cluster more: %q, %v", names(c), diags)
	}
	w.Err = errors.New("git is down")
	c, answers, diags = on.evaluate(t.Context(), modelOf(manifest), recorded)
	if names(c) != "dev-1" || summaries(diags) != "Warning: "+summaryNotEvaluated || jsonOf(t, answers) != jsonOf(t, recorded) {
		t.Errorf("a generator fails: %q, %v", names(c), diags)
	}
	for _, text := range []string{"git is down", "no Application is deleted", "generators[0].clusters", "terraform plan"} {
		if !strings.Contains(diags[0].Detail(), text) {
			t.Errorf("the warning does not say %q: %s", text, diags[0].Detail())
		}
	}
	c, answers, diags = on.evaluate(t.Context(), modelOf(manifest), appset.Answers{})
	if c.complete || !answers.Empty() || diags.HasError() || len(diags) != 1 {
		t.Errorf("a generator fails and nothing is recorded: %q, %v", names(c), diags)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// stored is private state.
type stored map[string][]byte

func (s stored) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) { return s[key], nil }

func (s stored) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	s[key] = value
	return nil
}

func TestAnswersSurviveInPrivateState(t *testing.T) {
	answers := answersOf(t, clustersManifest(t, "dev"), "dev-1", "dev-2")
	s, again := stored{}, stored{}
	for _, to := range []stored{s, again} {
		if diags := writeAnswers(t.Context(), to, answers); diags.HasError() {
			t.Fatal(diags)
		}
	}
	if string(s[keyAnswers]) != string(again[keyAnswers]) || !json.Valid(s[keyAnswers]) {
		t.Errorf("stored as %s, and as %s", s[keyAnswers], again[keyAnswers])
	}
	back, diags := readAnswers(t.Context(), s)
	if diags.HasError() || jsonOf(t, back) != jsonOf(t, answers) {
		t.Errorf("read back as %s, %v", jsonOf(t, back), diags)
	}
	for name, c := range map[string]struct {
		raw   string
		fails bool
	}{
		"nothing is stored":            {"", false},
		"a later version is not read":  {`{"version":99,"gzip":"AAAA"}`, false},
		"a set that has asked nothing": {`{"version":1}`, false},
		"damaged":                      {`{"version":1,"gzip":"AAAA"}`, true},
	} {
		got, diags := readAnswers(t.Context(), stored{keyAnswers: []byte(c.raw)})
		if !got.Empty() || diags.HasError() != c.fails {
			t.Errorf("%s: %s, %v", name, jsonOf(t, got), diags)
		}
	}
}

func TestAnApplyRefusesOtherApplicationsThanThePlanHasShown(t *testing.T) {
	at := func(steps map[string]map[string]string) waves {
		w := newWaves()
		for label, leaves := range steps {
			w.step(label).leaves = leaves
		}
		return w
	}
	planned := at(map[string]map[string]string{stepDev: {"dev-1": "main@aaaaaaa #11111111", "dev-2": ""}, stepProd: {"prod-1": "#22222222"}})
	open := at(map[string]map[string]string{stepDev: {"dev-1": "#11111111"}, stepProd: nil})
	open.steps[stepProd].unknown = true
	for name, c := range map[string]struct {
		planned waves
		now     map[string]map[string]string
		says    []string
	}{
		"the same, with revisions that were open": {planned,
			map[string]map[string]string{stepDev: {"dev-1": "main@bbbbbbb #11111111", "dev-2": "#33333333"}, stepProd: {"prod-1": "#22222222"}}, nil},
		"one more": {planned,
			map[string]map[string]string{stepDev: {"dev-1": "#11111111", "dev-2": "#3", "dev-3": "#4"}, stepProd: {"prod-1": "#22222222"}}, []string{"New: dev-3"}},
		"one fewer": {planned, map[string]map[string]string{stepDev: {"dev-1": "#11111111", "dev-2": "#3"}}, []string{"Gone: prod-1"}},
		"another spec, and another step": {planned,
			map[string]map[string]string{stepDev: {"dev-1": "#99999999"}, stepProd: {"prod-1": "#22222222", "dev-2": "#3"}}, []string{"Changed: dev-1, dev-2"}},
		"a step that was open": {open, map[string]map[string]string{stepDev: {"dev-1": "#11111111"}, stepProd: {"prod-9": "#1"}}, nil},
		"one more in another step than the open one": {open,
			map[string]map[string]string{stepDev: {"dev-1": "#11111111", "dev-9": "#1"}, stepProd: {"prod-9": "#1"}}, []string{"New: dev-9"}},
		"everything was open": {waves{unknown: true}, map[string]map[string]string{stepDev: {"dev-1": "#11111111"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			diags := asPlanned(argocd.Owner{Namespace: "argocd", Name: "guestbook"}, c.planned, at(c.now))
			if (len(c.says) > 0) != diags.HasError() {
				t.Fatal(diags)
			}
			for _, text := range append(c.says, "terraform plan") {
				if diags.HasError() && (diags[0].Summary() != "Generators changed since the plan" || !strings.Contains(diags[0].Detail(), text)) {
					t.Errorf("the error does not say %q: %v", text, diags)
				}
			}
		})
	}
}

func TestWhatGeneratorsDropIsGuarded(t *testing.T) {
	manifest := clustersManifest(t, "dev", "prod")
	prior := newWaves()
	for _, name := range fleet {
		prior.step(stepDev).leaves[name] = "main@aaaaaaa #11111111"
	}
	for name, c := range map[string]struct {
		clusters []string
		says     string
	}{
		"all clusters are gone":        {nil, "Error: Empty set"},
		"most clusters are gone":       {fleet[:2], "Error: Too many deletions"},
		"one of five clusters is gone": {fleet[1:], "Warning: Applications will be deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(manifest)
			got, diags := m.read(t.Context(), answering{inputs: &appsettest.Fake{Known: clusters(c.clusters...)}})
			if diags.HasError() {
				t.Fatal(diags)
			}
			if said := summaries(m.plan(changeOf(got, prior, targets{}, foundSet{waves: prior}), defaultSettings(), defaultTimeout)); !strings.Contains(said, c.says) {
				t.Errorf("the plan says %q, not %q", said, c.says)
			}
		})
	}
}

func TestValidationAsksNoCluster(t *testing.T) {
	c, diags := modelOf(clustersManifest(t, "dev")).read(t.Context(), answering{})
	if len(diags) > 0 || c.complete || !c.answers.Empty() {
		t.Errorf("complete %v, %v", c.complete, diags)
	}
	if w := liveWaves(c, []rollout.Live{{Name: "dev-1", Hash: "11111111", StepLabel: stepDev}}, nil); w.labels()["dev-1"] != stepDev {
		t.Errorf("what is live has its step without the generators: %v", w.labels())
	}
}
