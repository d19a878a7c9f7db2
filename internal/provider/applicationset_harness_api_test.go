package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
)

// api is an API server that keeps what it is given, for what the record of a set decides. It has no Applications.
type api struct {
	*testing.T
	url string

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	refused []string
	version int
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{T: t, objects: map[string]map[string]any{
		"/api/v1/namespaces/argocd": {"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "argocd", "uid": "ours"}},
	}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// refuse forbids what is at a path.
func (a *api) refuse(path string) { a.refused = append(a.refused, path) }

// resource is the resource with a connection to it.
func (a *api) resource() *applicationSetResource {
	return &applicationSetResource{provider: &ProviderData{Namespace: "argocd", settings: kubeconfig.Settings{Host: &a.url},
		options: kubeconfig.Options{QPS: 1000, Burst: 1000, LookupEnv: func(string) (string, bool) { return "", false }}}}
}

func (a *api) client() *argocd.Client {
	a.Helper()
	client, err := a.resource().provider.client()
	if err != nil {
		a.Fatal(err)
	}
	return client
}

var guestbook = argocd.Owner{Namespace: "argocd", Name: "guestbook"}

// has stores a record; nil stores none.
func (a *api) has(record *argocd.Record) {
	a.Helper()
	if record == nil {
		return
	}
	if err := a.client().SaveRecord(a.Context(), guestbook, record); err != nil {
		a.Fatal(err)
	}
}

// says is what the record that is stored says of itself.
func (a *api) says() string {
	a.Helper()
	record, err := a.client().LoadRecord(a.Context(), guestbook)
	switch {
	case err != nil:
		a.Fatal(err)
	case record == nil:
		return "no record"
	}
	return fmt.Sprintf("%s of %s", record.State, record.Token)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent map[string]any
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&sent) // not every request has one
	}
	a.mu.Lock()
	code, answer := a.answer(r, sent)
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func (a *api) answer(r *http.Request, sent map[string]any) (int, map[string]any) {
	path := r.URL.Path
	found := a.objects[path]
	switch {
	case slices.Contains(a.refused, path):
		return failure(http.StatusForbidden, "Forbidden")
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		sent["status"] = map[string]any{"allowed": true}
		return http.StatusCreated, sent
	case r.Method == http.MethodPost:
		return http.StatusCreated, a.keep(path+"/"+sent["metadata"].(map[string]any)["name"].(string), sent)
	case slices.Contains([]string{"applications", "configmaps"}, path[strings.LastIndex(path, "/")+1:]):
		// Only the parts of a record are listed, and these have none.
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
			return http.StatusOK, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": []any{}}
		}
		return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
	case found == nil:
		return failure(http.StatusNotFound, "NotFound")
	case r.Method == http.MethodPut:
		return http.StatusOK, a.keep(path, sent)
	case r.Method == http.MethodDelete:
		delete(a.objects, path)
		return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}
	}
	return http.StatusOK, found
}

func (a *api) keep(path string, sent map[string]any) map[string]any {
	a.version++
	sent["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(a.version)
	a.objects[path] = sent
	return sent
}

func failure(code int, reason string) (int, map[string]any) {
	return code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "code": code}
}

// keptPrivate is a private state.
type keptPrivate map[string]string

func (p keptPrivate) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p[key] = string(value)
	return nil
}

// ran is what a call of the provider has come to.
type ran struct {
	planned
	// kept tells that Terraform has the set in its state afterwards.
	kept bool
}

// title is that of the only error or warning.
func (r ran) title() string {
	all := slices.Concat(r.errors, r.warns)
	if len(all) != 1 {
		return fmt.Sprintf("%q", all)
	}
	title, _, _ := strings.Cut(all[0], ":")
	return title
}

func (a *api) server() tfprotov6.ProviderServer {
	a.Helper()
	hideCluster(a.T)
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		a.Fatal(err)
	}
	raw := providerConfiguration(a.T, map[string]tftypes.Value{"kubernetes.host": tftypes.NewValue(tftypes.String, a.url)})
	config, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
	if err != nil {
		a.Fatal(err)
	}
	configured, err := server.ConfigureProvider(a.Context(), &tfprotov6.ConfigureProviderRequest{Config: &config})
	if err != nil || len(configured.Diagnostics) > 0 {
		a.Fatal(err, configured)
	}
	return server
}

func (a *api) ran(state *tfprotov6.DynamicValue, diags []*tfprotov6.Diagnostic) ran {
	a.Helper()
	var r ran
	r.says(diags)
	value, err := state.Unmarshal(applicationSetSchema(a.Context()).Type().TerraformType(a.Context()))
	if err != nil {
		a.Fatal(err)
	}
	r.kept = !value.IsNull()
	return r
}

func privateBytes(t *testing.T, private map[string]any) []byte {
	t.Helper()
	stored := map[string][]byte{}
	for key, value := range private {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		stored[key] = raw
	}
	raw, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// read refreshes a set, by a provider that may be asked for more.
func (a *api) read(by tfprotov6.ProviderServer, state values, private map[string]any) ran {
	a.Helper()
	resp, err := by.ReadResource(a.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeApplicationSet, CurrentState: dynamic(a.T, state), Private: privateBytes(a.T, private)})
	if err != nil {
		a.Fatal(err)
	}
	r := a.ran(resp.NewState, resp.Diagnostics)
	r.private = decodePrivate(a.T, resp.Private)
	return r
}

// replaces plans the creation that replaces a tainted set, and returns what its deletion is told.
func (a *api) replaces(by tfprotov6.ProviderServer, config values) phase {
	a.Helper()
	plan, err := by.PlanResourceChange(a.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeApplicationSet, PriorState: dynamic(a.T, nil), Config: dynamic(a.T, config), ProposedNewState: dynamic(a.T, config),
	})
	if err != nil {
		a.Fatal(err)
	}
	var p planned
	if p.says(plan.Diagnostics); len(p.errors) > 0 {
		a.Fatal(p.errors)
	}
	p.private = decodePrivate(a.T, plan.PlannedPrivate)
	return p.phase(a.T)
}

// apply plans and applies, from prior (nil: none) to config.
func (a *api) apply(prior, config values, private map[string]any) ran {
	a.Helper()
	server, before := a.server(), privateBytes(a.T, private)
	proposed := config
	if prior != nil {
		proposed = config.with(values{"id": prior["id"], "namespace": prior["namespace"], "waves": prior["waves"]})
	}
	plan, err := server.PlanResourceChange(a.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeApplicationSet, PriorState: dynamic(a.T, prior), Config: dynamic(a.T, config), ProposedNewState: dynamic(a.T, proposed), PriorPrivate: before,
	})
	if err != nil {
		a.Fatal(err)
	}
	var p planned
	if p.says(plan.Diagnostics); len(p.errors) > 0 {
		a.Fatal(p.errors)
	}
	resp, err := server.ApplyResourceChange(a.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeApplicationSet, PriorState: dynamic(a.T, prior), Config: dynamic(a.T, config), PlannedState: plan.PlannedState, PlannedPrivate: plan.PlannedPrivate,
	})
	if err != nil {
		a.Fatal(err)
	}
	return a.ran(resp.NewState, resp.Diagnostics)
}

// deletes deletes a set, as a part of what was planned.
func (a *api) deletes(state values, planned phase, private map[string]any) ran {
	a.Helper()
	all := map[string]any{keyPhase: planned}
	for key, value := range private {
		all[key] = value
	}
	resp, err := a.server().ApplyResourceChange(a.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeApplicationSet, PriorState: dynamic(a.T, state), Config: dynamic(a.T, nil), PlannedState: dynamic(a.T, nil), PlannedPrivate: privateBytes(a.T, all),
	})
	if err != nil {
		a.Fatal(err)
	}
	return a.ran(resp.NewState, resp.Diagnostics)
}
