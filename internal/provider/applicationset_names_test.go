package provider

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
)

// metadata is that of an Application on a cluster.
type metadata = map[string]any

// ownedBy are those of an Application of a set.
func ownedBy(set string) metadata {
	return metadata{"annotations": map[string]any{"argocdprogressive.io/owner": set}}
}

// resourceAmong is the resource with a connection to a cluster that has these Applications in the
// namespace argocd.
func resourceAmong(t *testing.T, apps map[string]metadata) *applicationSetResource {
	t.Helper()
	object := func(kind, name string, m metadata) map[string]any {
		of := metadata{"name": name, "namespace": "argocd", "uid": "uid-" + name}
		for k, v := range m {
			of[k] = v
		}
		return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": kind, "metadata": of}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const at = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
		name, isApp := strings.CutPrefix(r.URL.Path, at)
		w.Header().Set("Content-Type", "application/json")
		var answer map[string]any
		switch name = strings.TrimPrefix(name, "/"); {
		case r.Method != http.MethodGet:
			t.Errorf("a plan does %s %s", r.Method, r.URL)
		case !isApp:
			answer = object("Namespace", "argocd", nil)
		case name == "":
			var items []any
			for name, m := range apps {
				items = append(items, object("PartialObjectMetadata", name, m))
			}
			answer = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": items}
		case apps[name] != nil:
			answer = object("PartialObjectMetadata", name, apps[name])
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return &applicationSetResource{provider: &ProviderData{
		Namespace: "argocd", settings: kubeconfig.Settings{Host: &server.URL},
		options: kubeconfig.Options{QPS: 1000, Burst: 1000, LookupEnv: func(string) (string, bool) { return "", false }},
	}}
}

// check is what a plan says of the names of a set whose Applications are these.
func (r *applicationSetResource) check(t *testing.T, set string, s settings, prior waves, names ...string) string {
	t.Helper()
	m := modelOf(manifestOf("main", names...))
	m.Name, m.ID = types.StringValue(set), types.StringValue("argocd/"+set)
	c, diags := m.read(t.Context(), answering{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	var said []string
	for _, d := range r.checkNames(t.Context(), m, c, prior, s, cluster{}, false) {
		said = append(said, d.Summary()+": "+d.Detail())
	}
	return strings.Join(said, "\n")
}

func TestAPlanRefusesNamesThatBelongToOthers(t *testing.T) {
	adopting, openly := defaultSettings(), defaultSettings()
	adopting.adoptExisting, openly.adoptExistingUnknown = true, true
	controlled := metadata{"ownerReferences": []any{map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "incluster", "uid": "u", "controller": true,
	}}}
	terminating := metadata{"deletionTimestamp": "2026-01-01T00:00:00Z"}
	live := newWaves()
	live.step(stepDev).leaves["dev-1"] = "main@aaaaaaa #11111111"
	none := newWaves()
	for name, c := range map[string]struct {
		dev1     metadata
		settings settings
		prior    waves
		says     []string
	}{
		"of another set":                         {ownedBy("argocd/billing"), defaultSettings(), none, []string{"Applications exist already", "dev-1 (of the set argocd/billing)", "rollout.adopt_existing = true"}},
		"of nobody":                              {metadata{}, defaultSettings(), none, []string{"Applications exist already", "dev-1 (made by someone else)"}},
		"of an in-cluster set":                   {controlled, adopting, none, []string{"Applications of an in-cluster ApplicationSet", "argocd/incluster"}},
		"of another set, to be adopted":          {ownedBy("argocd/billing"), adopting, none, nil},
		"of nobody, to be adopted":               {metadata{}, adopting, none, nil},
		"of nobody, perhaps to be adopted":       {metadata{}, openly, none, nil},
		"of this set, whose create has failed":   {ownedBy("argocd/guestbook"), defaultSettings(), none, nil},
		"of another set, but the set has it now": {ownedBy("argocd/billing"), defaultSettings(), live, nil},
		"on its way out":                         {terminating, defaultSettings(), none, nil},
		"free":                                   {nil, defaultSettings(), none, nil},
	} {
		t.Run(name, func(t *testing.T) {
			apps := map[string]metadata{"other": {}}
			if c.dev1 != nil {
				apps["dev-1"] = c.dev1
			}
			said := resourceAmong(t, apps).check(t, "guestbook", c.settings, c.prior, "dev-1", "prod-1")
			for _, text := range c.says {
				if !strings.Contains(said, text) {
					t.Errorf("the plan says %q, without %q", said, text)
				}
			}
			if len(c.says) == 0 && said != "" {
				t.Errorf("the plan says %q", said)
			}
		})
	}
}

func TestAnUpdateIsOnlyWarnedOfNamesThatBelongToOthers(t *testing.T) {
	m := modelOf(manifestOf("main", "dev-1"))
	m.Name, m.ID = types.StringValue("guestbook"), types.StringValue("argocd/guestbook")
	c, diags := m.read(t.Context(), answering{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	r := resourceAmong(t, map[string]metadata{"dev-1": ownedBy("argocd/billing")})
	got := r.checkNames(t.Context(), m, c, newWaves(), defaultSettings(), cluster{}, true)
	if len(got) != 1 || got.HasError() || !strings.Contains(got[0].Detail(), "dev-1 (of the set argocd/billing)") {
		t.Errorf("the plan says %v", got)
	}
}

func TestManyNamesAreListedAndFound(t *testing.T) {
	names := slices.Repeat([]string{"dev-"}, 150)
	for i := range names {
		names[i] += strings.Repeat("x", i+1)[:1] + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	said := resourceAmong(t, map[string]metadata{names[7]: ownedBy("argocd/billing"), "stranger": {}}).check(t, "guestbook", defaultSettings(), newWaves(), names...)
	if !strings.Contains(said, names[7]+" (of the set argocd/billing)") || strings.Contains(said, "stranger") {
		t.Errorf("the plan says %q", said)
	}
}

func TestAPlanThatCannotSeeTheClusterRefusesNoName(t *testing.T) {
	r := resourceAmong(t, nil)
	nowhere := "http://127.0.0.1:1"
	r.provider.settings.Host = &nowhere
	if said := r.check(t, "guestbook", defaultSettings(), newWaves(), "dev-1"); said != "" {
		t.Errorf("without a cluster: %q", said)
	}
	r.provider.NamespaceUnknown = true
	if said := r.check(t, "guestbook", defaultSettings(), newWaves(), "dev-1"); said != "" {
		t.Errorf("without a namespace: %q", said)
	}
}

// Sets of one configuration are planned in any order, and a set may give an Application to another.
func TestSetsOfOneConfigurationKeepTheirApplicationsApart(t *testing.T) {
	r := resourceAmong(t, map[string]metadata{"dev-1": ownedBy("argocd/old"), "dev-2": ownedBy("argocd/old")})
	r.provider.generation.sets.keepFound("argocd/old", foundSet{waves: newWaves()})
	check := func(set string, names ...string) string {
		return r.check(t, set, defaultSettings(), newWaves(), names...)
	}
	if said := check("new", "dev-1"); said != "" {
		t.Errorf("before the set that has it is planned: %q", said)
	}
	said := check("old", "dev-1", "dev-2")
	if !strings.Contains(said, "Applications of two sets") || !strings.Contains(said, "dev-1 (of the set argocd/new)") || strings.Contains(said, "dev-2") {
		t.Errorf("the set that keeps it: %q", said)
	}
	if said := check("old", "dev-2"); said != "" {
		t.Errorf("the set that gives it away: %q", said)
	}
	if said := check("new", "dev-1"); said != "" {
		t.Errorf("the set that gets it: %q", said)
	}
	if said := check("new", "dev-2"); !strings.Contains(said, "dev-2 (of the set argocd/old)") {
		t.Errorf("one that the other keeps: %q", said)
	}
}

// What was handed over would fall out of the state if the plan of its create were refused.
func TestASetThatWasHandedOverIsNotRefusedByThePlanOfItsCreate(t *testing.T) {
	r := resourceAmong(t, map[string]metadata{"dev-1": ownedBy("argocd/billing")})
	r.provider.generation.sets.handOver("argocd/guestbook", nil)
	if said := r.check(t, "guestbook", defaultSettings(), newWaves(), "dev-1"); said != "" {
		t.Errorf("the plan says %q", said)
	}
}

func TestThePlanOfACreateAfterTheHandOverGoesByTheAnswersOfThePlanBefore(t *testing.T) {
	m := modelOf(clustersManifest(t, "dev"))
	m.ID = types.StringValue("argocd/guestbook")
	r := resourceOn(t, &appsettest.Fake{Err: errors.New("secrets is forbidden")})
	r.provider.keepAnswers("argocd/guestbook", answersOf(t, clustersManifest(t, "dev"), "dev-1"))
	if _, diags := r.contentToPlan(t.Context(), m, r.handedAnswers(m), cluster{}); !diags.HasError() {
		t.Error("without a hand-over the generators are not asked")
	}
	r.provider.generation.sets.handOver("argocd/guestbook", nil)
	if c, diags := r.contentToPlan(t.Context(), m, r.handedAnswers(m), cluster{}); names(c) != "dev-1" || len(diags) > 0 {
		t.Errorf("after the hand-over: %q, %v", names(c), diags)
	}
}

// foundLive is what Read finds of a set of these Applications.
func foundLive(names ...string) foundSet {
	live := foundSet{waves: newWaves()}
	for _, name := range names {
		step := stepDev
		if strings.HasPrefix(name, "prod") {
			step = stepProd
		}
		live.waves.step(step).leaves[name] = "main@aaaaaaa #11111111"
	}
	return live
}

// resumed is the plan that replaces a tainted set: its live Applications are those of the fleet.
func resumed(t *testing.T, r *applicationSetResource, live foundSet, policy string, names ...string) (planned waves, open []string, said string) {
	t.Helper()
	m := modelOf(withPolicy(manifestOf("main", names...), policy))
	m.ID = types.StringValue("argocd/guestbook")
	c, diags := m.read(t.Context(), answering{recorded: appset.Answers{}})
	if diags.HasError() {
		t.Fatal(diags)
	}
	said = summaries(m.plan(changeOf(c, newWaves(), targets{}, live), defaultSettings(), defaultTimeout))
	open = r.leaveOpen(m, c, live)
	return wavesOf(m.Waves), open, said
}

func TestThePlanThatReplacesATaintedSetIsGuarded(t *testing.T) {
	r := resourceAmong(t, nil)
	if _, _, said := resumed(t, r, foundLive(fleet...), "sync", fleet[:2]...); !strings.Contains(said, "Error: Too many deletions") {
		t.Errorf("the plan says %q", said)
	}
	for policy, says := range map[string]string{"sync": "Warning: Applications will be deleted", "create-update": "Warning: Applications left alone"} {
		if _, _, said := resumed(t, r, foundLive(fleet...), policy, fleet[1:]...); strings.Contains(said, "Error") || !strings.Contains(said, says) {
			t.Errorf("%s: the plan says %q", policy, said)
		}
	}
	// A set that is new has nothing to lose.
	if _, _, said := resumed(t, r, foundSet{}, "sync", fleet[:2]...); strings.Contains(said, "Error") {
		t.Errorf("a new set: %q", said)
	}
}

func TestThePlanThatReplacesATaintedSetLeavesOpenWhatStays(t *testing.T) {
	for policy, want := range map[string][]string{
		"sync": nil, "create-update": {stepProd}, "create-delete": {stepDev, stepProd}, "create-only": {stepDev, stepProd},
	} {
		t.Run(policy, func(t *testing.T) {
			r := resourceAmong(t, nil)
			// prod-3 is dropped.
			planned, open, _ := resumed(t, r, foundLive(fleet...), policy, fleet[:4]...)
			if !slices.Equal(open, want) {
				t.Errorf("open are %q, want %q", open, want)
			}
			for label, step := range planned.steps {
				if step.unknown != slices.Contains(want, label) {
					t.Errorf("%q is unknown: %v", label, step.unknown)
				}
			}
			// The same plan in the apply: after the hand-over it has the same open steps, and before it, with
			// create_before_destroy, it knows more, never anything else.
			again, _, _ := resumed(t, r, foundSet{}, policy, fleet[:4]...)
			r.provider.generation.sets.handOver("argocd/guestbook", open)
			after, _, _ := resumed(t, r, foundSet{}, policy, fleet[:4]...)
			if !after.value().Equal(planned.value()) {
				t.Errorf("after the hand-over the plan is %v, and was %v", after.value(), planned.value())
			}
			for label, step := range planned.steps {
				if other := again.steps[label]; !step.unknown && (other == nil || !wavesOfStep(label, step).Equal(wavesOfStep(label, other))) {
					t.Errorf("%q is %v without the hand-over, and was %v", label, other, step)
				}
			}
		})
	}
}

func wavesOfStep(label string, s *wave) types.Map {
	return waves{steps: map[string]*wave{label: s}}.value()
}
