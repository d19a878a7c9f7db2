package provider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withDestinations are live Applications by name, each with the server of its destination.
func withDestinations(servers map[string]string) map[string]*unstructured.Unstructured {
	objects := map[string]*unstructured.Unstructured{}
	for name, server := range servers {
		objects[name] = &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"project": "default", "destination": map[string]any{"server": server, "namespace": "x"}},
		}}
	}
	return objects
}

// clusterOf is an API server on which Argo CD knows the cluster https://near; status is that of the list of its
// cluster Secrets, and of everything where nothing is found. It notes what it is asked.
func clusterOf(t *testing.T, status int, asked *[]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "argocd", "uid": "ours"}}
		if strings.HasSuffix(r.URL.Path, "/secrets") || status == http.StatusNotFound {
			w.WriteHeader(status)
			answer = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": status}
			if status == http.StatusOK {
				answer = map[string]any{"apiVersion": "v1", "kind": "SecretList", "metadata": map[string]any{}, "items": []any{map[string]any{
					"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "near", "namespace": "argocd"},
					"data": map[string]any{"server": base64.StdEncoding.EncodeToString([]byte("https://near"))},
				}}}
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server
}

// planBy plans, as Terraform does, by a provider that has these settings: a change from prior (nil: none) to proposed,
// which is what the configuration makes of it (nil: destroy).
func planBy(t *testing.T, settings map[string]tftypes.Value, prior, config, proposed values, private map[string]any) planned {
	t.Helper()
	hideCluster(t)
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	raw := providerConfiguration(t, settings)
	of, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
	if err != nil {
		t.Fatal(err)
	}
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &of})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatal(err, configured)
	}
	stored := map[string][]byte{}
	for key, value := range private {
		if stored[key], err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
	}
	bytes, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeApplicationSet, PriorState: dynamic(t, prior), Config: dynamic(t, config), ProposedNewState: dynamic(t, proposed), PriorPrivate: bytes,
	})
	if err != nil {
		t.Fatal(err)
	}
	var p planned
	p.says(resp.Diagnostics)
	if len(p.errors) == 0 && config != nil {
		p.read(t, resp.PlannedState)
	}
	return p
}

func TestThePlanOfADestroyWarnsOfAClusterThatIsGone(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	preserving := strings.Replace(manifest, `"strategy":`, `"syncPolicy":{"preserveResourcesOnDeletion":true},"strategy":`, 1)
	unreadable := strings.Replace(manifest, `"goTemplate":true`, `"goTemplate":"yes"`, 1)
	far := knownAt(t, manifest, shaA, fleet...)
	far.Destinations = storedDestinations(withDestinations(map[string]string{"dev-1": "https://near", "dev-2": "https://near/", "prod-1": "https://far", "prod-2": "https://kubernetes.default.svc"}))
	near, old := knownAt(t, manifest, shaA, fleet...), knownAt(t, manifest, shaA, fleet...)
	near.Destinations = storedDestinations(withDestinations(map[string]string{"dev-1": "https://near"}))
	old.Destinations = storedDestinations(withDestinations(map[string]string{"other-1": "https://far"}))
	orphaning, cascading := map[string]any{"deletion": "orphan"}, map[string]any{"deletion": "cascade"}
	host := func(url string) tftypes.Value { return tftypes.NewValue(tftypes.String, url) }
	for name, c := range map[string]struct {
		manifest string
		rollout  map[string]any
		known    any
		status   int
		// settings are those of the provider; the server's URL where there are none.
		settings map[string]tftypes.Value
		uid      string
		warns    bool
		asks     int
	}{
		"its cluster is gone":                         {known: far, warns: true, asks: 2},
		"the same, in the cluster that it is of":      {known: far, uid: "ours", warns: true, asks: 2},
		"its clusters are there":                      {known: near, asks: 2},
		"it is not live any more":                     {known: old},
		"no refresh has stored where they are":        {known: knownAt(t, manifest, shaA, fleet...)},
		"a version after this has":                    {known: map[string]any{"version": 99, "destinations": "everywhere"}},
		"what it has stored is damaged":               {known: "damaged"},
		"resources stay":                              {known: far, rollout: orphaning},
		"resources are preserved":                     {known: far, manifest: preserving},
		"they would be, but cascade is given":         {known: far, manifest: preserving, rollout: cascading, warns: true, asks: 2},
		"the record says whether they stay":           {known: far, manifest: unreadable},
		"the record would, but cascade is given":      {known: far, manifest: unreadable, rollout: cascading, warns: true, asks: 2},
		"another cluster":                             {known: far, uid: "theirs", asks: 1},
		"credentials that do not suffice":             {known: far, status: http.StatusForbidden, asks: 2},
		"an API server that refuses":                  {known: far, status: http.StatusBadRequest, asks: 2},
		"an API server without Argo CD":               {known: far, status: http.StatusNotFound, asks: 1},
		"a provider without a cluster":                {known: far, settings: map[string]tftypes.Value{}},
		"a provider whose cluster is not known yet":   {known: far, settings: map[string]tftypes.Value{"kubernetes.host": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)}},
		"a provider whose namespace is not known yet": {known: far, settings: map[string]tftypes.Value{"namespace": tftypes.NewValue(tftypes.String, tftypes.UnknownValue), "kubernetes.host": host("http://127.0.0.1:1")}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			if c.status == 0 {
				c.status = http.StatusOK
			}
			if c.settings == nil {
				c.settings = map[string]tftypes.Value{"kubernetes.host": host(clusterOf(t, c.status, &asked).URL)}
			}
			state := stateOf(t, manifest, shaA).with(values{"rollout": settingsWith(c.rollout)})
			if c.manifest != "" {
				state["manifest"] = c.manifest
			}
			private := map[string]any{keyTargets: c.known}
			if c.uid != "" {
				private[keyCluster] = cluster{UID: c.uid, Namespace: "argocd"}
			}
			p := planBy(t, c.settings, state, nil, nil, private)
			i := slices.IndexFunc(p.warns, func(said string) bool { return strings.HasPrefix(said, summaryDestination) })
			if len(p.errors) > 0 || i >= 0 != c.warns || !strings.Contains(strings.Join(p.warns, "\n"), "Applications will be deleted") {
				t.Fatalf("the plan says %q, and %q", p.errors, p.warns)
			}
			if len(asked) != c.asks {
				t.Errorf("the plan asks %q", asked)
			}
			if !c.warns {
				return
			}
			refusal := unknownDestinations(map[string]string{"prod-1": "Argo CD knows no cluster https://far: register it (argocd cluster add, or a Secret with label argocd.argoproj.io/secret-type=cluster)"},
				"Destroy will refuse to delete anything. "+insteadOfDestroy)
			if p.warns[i] != summaryDestination+": "+refusal {
				t.Errorf("the plan says\n%s\nwant\n%s", p.warns[i], refusal)
			}
		})
	}
}

// nothingPrivate is a private state with nothing in it.
type nothingPrivate struct{}

func (nothingPrivate) GetKey(context.Context, string) ([]byte, diag.Diagnostics) { return nil, nil }

func TestARefreshStoresWhereTheApplicationsAreDeployedTo(t *testing.T) {
	a := applyAmong(t, nil, "dev-1", "prod-1")
	a.lives("dev-1", "dev-2", "prod-1")
	a.objects = withDestinations(map[string]string{"dev-1": "https://near", "dev-2": "https://near", "prod-1": "https://far"})
	a.objects["prod-1"].Object["spec"].(map[string]any)["destination"] = map[string]any{"name": "far"}
	_, known, diags := a.readLive(t.Context(), a.content, nothingPrivate{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	got, err := json.Marshal(known.Destinations)
	if want := `[{"server":"https://near","apps":["dev-1","dev-2"]},{"name":"far","apps":["prod-1"]}]`; err != nil || string(got) != want {
		t.Errorf("it stores %s, %v; want %s", got, err, want)
	}
	live := known.destinations()
	for name, obj := range live {
		stored, _, _ := unstructured.NestedMap(obj.Object, "spec", "destination")
		is, _, _ := unstructured.NestedMap(a.objects[name].Object, "spec", "destination")
		for _, field := range []string{"name", "server"} {
			if was, _ := is[field].(string); stored[field] != was || obj.GetName() != name {
				t.Errorf("%s is at %v, and stored at %v", name, is, stored)
			}
		}
	}
	if len(live) != len(a.objects) {
		t.Errorf("%d of %d are stored", len(live), len(a.objects))
	}
}
