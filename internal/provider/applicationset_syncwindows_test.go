package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// shut is a window that is closed at any time to the Applications that fit.
func shut(pattern string, manual bool) map[string]any {
	return map[string]any{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": []any{pattern}, "manualSync": manual}
}

// rolloutOf is rollout = {...} of which some is set.
func rolloutOf(t *testing.T, set func(*rolloutModel)) types.Object {
	t.Helper()
	kinds := applicationSetSchema(t.Context()).Attributes["rollout"].GetType().(types.ObjectType).AttrTypes
	if set == nil {
		return types.ObjectNull(kinds)
	}
	m := rolloutModel{Hold: types.SetNull(types.StringType)}
	set(&m)
	object, diags := types.ObjectValueFrom(t.Context(), kinds, m)
	if diags.HasError() {
		t.Fatal(diags)
	}
	return object
}

// clusterWith is an API server whose AppProject "default" has these windows; status is that of its answer. It notes
// what it is asked of sync windows.
func clusterWith(t *testing.T, status int, asked *[]string, windows ...any) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if name == "argocd" {
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "uid": "ours"}})
			return
		}
		if name == "default" || name == "argocd-cm" {
			*asked = append(*asked, r.Method+" "+name)
		}
		if name == "default" && status == http.StatusOK {
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
				"metadata": map[string]any{"name": name, "namespace": "argocd"}, "spec": map[string]any{"syncWindows": windows}})
			return
		}
		code := http.StatusNotFound
		if name == "default" {
			code = status
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
			"reason": strings.ReplaceAll(http.StatusText(code), " ", "")})
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAPlanWarnsOfSyncWindowsThatAreClosedToWhatItChanges(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	known := knownAt(t, manifest, shaA, fleet...)
	moved := knownAt(t, manifest, shaA, fleet...)
	moved.Apps["dev-1"] = rollout.KnownTarget{Hash: hashOf(t, manifest, "dev-1"), Revisions: []string{shaB}}
	moved.Apps["prod-2"] = rollout.KnownTarget{Hash: hashOf(t, manifest, "prod-2"), Revisions: []string{shaB}}
	both := []string{"GET default", "GET argocd-cm"}
	all, manual := []any{shut("*", false)}, []any{shut("*", true)}
	fails := func(p *ProviderData) { p.UnknownAttributes = []string{"kubernetes.host"} }
	policy := func(p string) func(*rolloutModel) {
		return func(m *rolloutModel) { m.SyncWindowPolicy = types.StringValue(p) }
	}
	for name, c := range map[string]struct {
		known   targets
		rollout func(*rolloutModel)
		windows []any
		status  int
		handed  bool
		breaks  func(*ProviderData)
		// names are the Applications that the warning names, none for no warning.
		names []string
		says  []string
		asked []string
	}{
		"two Applications change":           {known: moved, windows: all, names: []string{"dev-1", "prod-2"}, says: []string{`AppProject "default", 2 Applications: dev-1, prod-2`}, asked: both},
		"the window counts for one of them": {known: moved, windows: []any{shut("prod-*", false)}, names: []string{"prod-2"}, asked: both},
		"the window counts for one at rest": {known: moved, windows: []any{shut("prod-1", false)}, asked: both},
		"nothing changes":                   {known: known, windows: all},
		"there are no windows":              {known: moved, asked: both},
		"one of them is held": {known: moved, windows: all, rollout: func(m *rolloutModel) {
			m.Hold = types.SetValueMust(types.StringType, []attr.Value{types.StringValue("dev-1")})
		}, names: []string{"prod-2"}, asked: both},
		"one of them is postponed":                   {known: moved, windows: all, rollout: func(m *rolloutModel) { m.StopAfterStep = types.NumberValue(big.NewFloat(1)) }, names: []string{"dev-1"}, asked: both},
		"the rollout waits":                          {known: moved, windows: all, rollout: policy("wait"), names: []string{"dev-1", "prod-2"}, says: []string{"the rollout waits"}, asked: both},
		"its syncs are manual ones":                  {known: moved, windows: manual, rollout: policy("manual"), asked: both},
		"its syncs are manual, the window is closed": {known: moved, windows: all, rollout: policy("manual"), names: []string{"dev-1", "prod-2"}, says: []string{"manual syncs do not pass these windows either"}, asked: both},
		"its syncs could be manual ones":             {known: moved, windows: manual, names: []string{"dev-1", "prod-2"}, says: []string{`"manual" lets the syncs of the rollout pass`}, asked: both},
		"AppProjects may not be read":                {known: moved, windows: all, status: http.StatusForbidden, asked: both[:1]},
		"the AppProject does not exist":              {known: moved, windows: all, status: http.StatusNotFound, asked: both[:1]},
		"the API server is out of order":             {known: moved, windows: all, status: http.StatusServiceUnavailable, asked: both[:1]},
		"the cluster is not known yet":               {known: moved, windows: all, breaks: fails},
		"the namespace is not known yet":             {known: moved, windows: all, breaks: func(p *ProviderData) { p.NamespaceUnknown = true }},
		"the set is being replaced by this apply":    {known: moved, windows: all, handed: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.status == 0 {
				c.status = http.StatusOK
			}
			var asked []string
			r := &applicationSetResource{provider: &ProviderData{Namespace: "argocd", settings: kubeconfig.Settings{Host: &clusterWith(t, c.status, &asked, c.windows...).URL},
				options: kubeconfig.Options{QPS: 1000, Burst: 1000, LookupEnv: func(string) (string, bool) { return "", false }}}}
			if c.breaks != nil {
				c.breaks(r.provider)
			}
			if c.handed {
				r.provider.generation.sets.handOver("argocd/guestbook", nil)
			}
			m := modelOf(manifest)
			m.ID, m.Rollout = types.StringValue("argocd/guestbook"), rolloutOf(t, c.rollout)
			content, diags := m.read(t.Context(), answering{})
			s, more := readSettings(t.Context(), m.Rollout)
			if diags.Append(more...); diags.HasError() {
				t.Fatal(diags)
			}
			free := content
			free.selection = selection{}
			prior := planWaves(free, known, newWaves())
			said := r.warnOfWindows(t.Context(), m, changeOf(content, prior, c.known, foundSet{waves: prior}), s, cluster{})
			if !slices.Equal(asked, c.asked) {
				t.Errorf("the plan asks %q, want %q", asked, c.asked)
			}
			if len(c.names) == 0 {
				if len(said) > 0 {
					t.Errorf("the plan says %v", said)
				}
				return
			}
			if len(said) != 1 || said.HasError() || said[0].Summary() != "Sync window closed" {
				t.Fatalf("the plan says %v", said)
			}
			for _, app := range fleet {
				if strings.Contains(said[0].Detail(), app) != slices.Contains(c.names, app) {
					t.Errorf("the warning names %s, or it does not:\n%s", app, said[0].Detail())
				}
			}
			for _, text := range append(c.says, `deny window, open: schedule "* * * * *", duration "1h", time zone "UTC"`, "kubectl -n argocd get appprojects.argoproj.io default -o yaml") {
				if !strings.Contains(said[0].Detail(), text) {
					t.Errorf("the warning does not say %q:\n%s", text, said[0].Detail())
				}
			}
		})
	}
}

func TestSyncsCountAsManualOnesWhereAPersonOrThePolicySaysSo(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	automated := strings.Replace(manifest, `"project":"default"`, `"project":"default","syncPolicy":{"automated":{}}`, 1)
	atOnce := func(manifest string) string {
		return strings.NewReplacer(`"type":"RollingSync"`, `"type":"AllAtOnce"`, `"deletionOrder":"Reverse",`, "").Replace(manifest)
	}
	if automated == manifest || atOnce(manifest) == manifest {
		t.Fatal("the manifest is another one")
	}
	all := "dev-1 dev-2 prod-1 prod-2 prod-3"
	for name, c := range map[string]struct {
		manifest, policy, project string
		// automated and manual are the names of those whose sync counts as such.
		automated, manual string
	}{
		"steps":                           {manifest: manifest, automated: all},
		"steps, and manual syncs":         {manifest: manifest, policy: windowManual, manual: all},
		"a manual step":                   {manifest: strings.Replace(manifest, `{"matchExpressions":[{"key":"env","operator":"In","values":["prod"]}]}`, `{"maxUpdate":0,"matchExpressions":[{"key":"env","operator":"In","values":["prod"]}]}`, 1), automated: "dev-1 dev-2", manual: "prod-1 prod-2 prod-3"},
		"Applications of no step":         {manifest: strings.Replace(manifest, `"values":["prod"]`, `"values":["other"]`, 1), automated: "dev-1 dev-2"},
		"all at once":                     {manifest: atOnce(manifest), policy: windowManual, manual: all},
		"all at once, and automated sync": {manifest: atOnce(automated), policy: windowManual, automated: all},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(c.manifest)
			content, diags := m.read(t.Context(), answering{})
			if diags.HasError() {
				t.Fatal(diags)
			}
			s := defaultSettings()
			if c.policy != "" {
				s.windowPolicy = c.policy
			}
			syncs, modes := changeOf(content, newWaves(), targets{}, foundSet{}).syncs(s)
			got := map[bool][]string{}
			for _, sync := range syncs {
				name := sync.App["metadata"].(map[string]any)["name"].(string)
				got[sync.Manual] = append(got[sync.Manual], name)
				if modes[name] == "" {
					t.Errorf("%s has no mode", name)
				}
			}
			if automated, manual := strings.Join(got[false], " "), strings.Join(got[true], " "); automated != c.automated || manual != c.manual {
				t.Errorf("automated are %q, manual are %q, want %q and %q", automated, manual, c.automated, c.manual)
			}
		})
	}
}

func TestAnApplicationIsHeldBackOnlyWhereItIsKnownWhereItBelongs(t *testing.T) {
	spec := func(project, namespace, revision any) map[string]any {
		return map[string]any{"spec": map[string]any{"project": project, "destination": map[string]any{"name": "in-cluster", "namespace": namespace},
			"source": map[string]any{"targetRevision": revision}}}
	}
	for name, c := range map[string]struct {
		object map[string]any
		want   bool
	}{
		"all is known":                     {spec("shop", "a", "main"), false},
		"its revision is not known yet":    {spec("shop", "a", appset.Unknown), false},
		"its project is not known yet":     {spec(appset.Unknown, "a", "main"), true},
		"its destination is not known yet": {spec("shop", appset.Unknown, "main"), true},
		"its spec is not known yet":        {map[string]any{"spec": appset.Unknown}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := homeless(appset.Application{Object: c.object, HasUnknown: appset.ContainsUnknown(c.object)}); got != c.want {
				t.Errorf("left out: %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheWarningOfSyncWindowsTellsWhatToExpect(t *testing.T) {
	night := argocd.SyncWindow{Project: "shop", Kind: "deny", Schedule: "0 22 * * *", Duration: "8h", TimeZone: "Europe/Berlin", ManualSync: true}
	freeze := argocd.SyncWindow{Project: "freeze", Kind: "allow", Schedule: "0 9 * * 1", Duration: "1h"}
	broken := argocd.SyncWindow{Project: "shop", Kind: "deny", Schedule: "noon", Duration: "1h"}
	closed := func(opens time.Time, windows ...argocd.SyncWindow) argocd.HeldBack {
		return argocd.HeldBack{Project: "shop", Apps: []string{"a", "b"}, Closed: argocd.Closed{Windows: windows}, Opens: opens}
	}
	unreadable := closed(time.Time{}, broken)
	unreadable.Err = errors.New("cannot parse schedule 'noon'")
	const (
		look = "Look at the windows: kubectl -n argocd get appprojects.argoproj.io shop -o yaml"
		when = "If that is still so when their turn comes: "
	)
	for name, c := range map[string]struct {
		held   []argocd.HeldBack
		mode   rollout.Mode
		policy string
		want   string
	}{
		"a deny window that ends": {
			[]argocd.HeldBack{closed(time.Date(2026, 1, 15, 7, 0, 0, 0, time.FixedZone("CET", 3600)), night)}, rollout.ModeSync, windowFail,
			`AppProject "shop", 2 Applications: a, b
  deny window, open: schedule "0 22 * * *", duration "8h", time zone "Europe/Berlin"
  Syncs are possible again from 2026-01-15 06:00 UTC, if nobody changes the windows

` + when + `the rollout stops with "Sync window closed" after error_grace, for rollout.sync_window_policy is "fail". To wait until the windows let them pass, set it to "wait". All of these windows have manualSync: "manual" lets the syncs of the rollout pass.
` + look,
		},
		"an allow window of a global AppProject that is not open": {
			[]argocd.HeldBack{closed(time.Time{}, night, freeze)}, rollout.ModeSync, windowWait,
			`AppProject "shop", 2 Applications: a, b
  deny window, open: schedule "0 22 * * *", duration "8h", time zone "Europe/Berlin"
  allow window, not open: schedule "0 9 * * 1", duration "1h", time zone "UTC", of the global AppProject "freeze"

` + when + `the rollout waits until the windows let them pass, as long as timeouts allow, for rollout.sync_window_policy is "wait".
Look at the windows: kubectl -n argocd get appprojects.argoproj.io freeze shop -o yaml`,
		},
		"a window that cannot be read": {
			[]argocd.HeldBack{unreadable}, rollout.ModeSync, windowManual,
			`AppProject "shop", 2 Applications: a, b
  deny window, unreadable: schedule "noon", duration "1h", time zone "UTC"
  cannot parse schedule 'noon'; until that is corrected Argo CD syncs nothing that the window counts for

` + when + `the rollout stops with "Sync window closed" after error_grace, for rollout.sync_window_policy is "manual", and manual syncs do not pass these windows either. To wait until the windows let them pass, set it to "wait".
` + look,
		},
		"automated sync": {
			[]argocd.HeldBack{closed(time.Time{}, night)}, rollout.ModeAutomated, windowWait,
			`AppProject "shop", 2 Applications: a, b
  deny window, open: schedule "0 22 * * *", duration "8h", time zone "Europe/Berlin"

Automated sync does not begin while a window is closed, whatever rollout.sync_window_policy says: Applications that wait for it fail after app_timeout.
` + look,
		},
		"a manual step": {
			[]argocd.HeldBack{closed(time.Time{}, freeze)}, rollout.ModeManual, windowFail,
			`AppProject "shop", 2 Applications: a, b
  allow window, not open: schedule "0 9 * * 1", duration "1h", time zone "UTC", of the global AppProject "freeze"

A person cannot sync the Applications of a manual step (max_update is 0) either: the rollout waits.
Look at the windows: kubectl -n argocd get appprojects.argoproj.io freeze shop -o yaml`,
		},
		"a policy that is not known yet": {
			[]argocd.HeldBack{closed(time.Time{}, night)}, rollout.ModeSync, "",
			`AppProject "shop", 2 Applications: a, b
  deny window, open: schedule "0 22 * * *", duration "8h", time zone "Europe/Berlin"

` + when + `rollout.sync_window_policy, which is not known yet, tells whether the rollout stops or waits.
` + look,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := defaultSettings()
			s.windowPolicy = c.policy
			got := closedWindows(c.held, map[string]rollout.Mode{"a": c.mode, "b": c.mode}, s, "argocd")
			if want := "Argo CD would not sync these Applications now:\n" + c.want; got != want {
				t.Errorf("the warning is\n%s\nwant\n%s", got, want)
			}
		})
	}
	var many []argocd.HeldBack
	for range longestList + 3 {
		many = append(many, closed(time.Time{}, slices.Repeat([]argocd.SyncWindow{night}, longestList+2)...))
	}
	got := closedWindows(many, nil, defaultSettings(), "argocd")
	if strings.Count(got, "AppProject ") != longestList || strings.Count(got, "deny window") != longestList*longestList ||
		!strings.Contains(got, "  and 3 more like these\n") || !strings.Contains(got, "  and 2 more windows\n") {
		t.Errorf("the warning of very many is not bounded:\n%s", got)
	}
}

func TestSyncWindowsNeverChangeAPlan(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	config := configOf(manifest)
	warned := func(p planned) bool {
		return slices.ContainsFunc(p.warns, func(said string) bool { return strings.HasPrefix(said, "Sync window closed: ") })
	}
	plan := func(prior values, private map[string]any, asked *[]string, windows ...any) planned {
		t.Helper()
		settings := map[string]tftypes.Value{"kubernetes.host": tftypes.NewValue(tftypes.String, clusterWith(t, http.StatusOK, asked, windows...).URL)}
		proposed := config
		if prior != nil {
			proposed = config.with(values{"id": prior["id"], "waves": prior["waves"], "namespace": prior["namespace"]})
		}
		p := planBy(t, settings, prior, config, proposed, private)
		if len(p.errors) > 0 {
			t.Fatal(p.errors)
		}
		return p
	}
	var asked []string
	open, closed := plan(nil, nil, &asked), plan(nil, nil, &asked, shut("*", false))
	if warned(open) || !warned(closed) || len(asked) != 4 {
		t.Errorf("the creation says %q, and %q where a window is closed, and asks %q", open.warns, closed.warns, asked)
	}
	if !maps.EqualFunc(open.waves, closed.waves, func(a, b map[string]string) bool { return maps.Equal(a, b) }) || open.id != closed.id {
		t.Errorf("the creation plans %v, and %v where a window is closed", open.waves, closed.waves)
	}

	// An update that no refresh has come before, which is what an apply plans again, does not ask.
	asked = nil
	old := stateOf(t, strings.ReplaceAll(manifest, `"path":"."`, `"path":"old"`), shaA)
	if p := plan(old, map[string]any{keyTargets: knownAt(t, manifest, shaA, fleet...)}, &asked, shut("*", false)); warned(p) || len(asked) > 0 {
		t.Errorf("the update says %q, and asks %q", p.warns, asked)
	}
	r := &applicationSetResource{provider: &ProviderData{}}
	m := modelOf(manifest)
	m.ID = types.StringValue("argocd/guestbook")
	before := r.refreshed(m)
	r.provider.generation.sets.keepFound("argocd/guestbook", foundSet{})
	if after := r.refreshed(m); before || !after {
		t.Errorf("it was refreshed: %v, and %v after that", before, after)
	}
	m.ID = types.StringUnknown()
	if fmt.Sprint(r.refreshed(m), (&applicationSetResource{}).refreshed(m)) != "false false" {
		t.Error("a set whose name is not known was refreshed")
	}
}
