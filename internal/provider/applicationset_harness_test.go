package provider

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// What is here calls the provider as Terraform does, so that tests see what stands in private state.

// values is a state, a configuration or a plan; attributes that are left out are null.
type values map[string]any

func (v values) with(more values) values {
	out := maps.Clone(v)
	maps.Copy(out, more)
	return out
}

type planned struct {
	waves   map[string]map[string]string // unknown leaves are empty
	unknown bool                         // the waves as a whole
	id      string
	private map[string]json.RawMessage
	bytes   []byte
	replace bool
	errors  []string
	warns   []string
}

const typeApplicationSet = "argocdprogressive_applicationset"

func dynamic(t testing.TB, v values) *tfprotov6.DynamicValue {
	t.Helper()
	if v == nil {
		return &tfprotov6.DynamicValue{JSON: []byte("null")}
	}
	whole := map[string]any{}
	for name := range applicationSetSchema(context.Background()).Attributes {
		whole[name] = v[name]
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.DynamicValue{JSON: raw}
}

// planOf plans a change from prior (nil: none) to config (nil: destroy).
func planOf(t *testing.T, prior, config values, private []byte) planned {
	t.Helper()
	ctx := context.Background()
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	configure(t, server)
	proposed := config
	if config != nil && prior != nil {
		proposed = config.with(values{"id": prior["id"], "waves": prior["waves"]})
		if config["namespace"] == nil {
			proposed["namespace"] = prior["namespace"]
		}
	}
	resp, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeApplicationSet, PriorState: dynamic(t, prior), Config: dynamic(t, config),
		ProposedNewState: dynamic(t, proposed), PriorPrivate: private,
	})
	if err != nil {
		t.Fatal(err)
	}
	out := planned{bytes: resp.PlannedPrivate, replace: len(resp.RequiresReplace) > 0}
	out.says(resp.Diagnostics)
	if len(resp.PlannedPrivate) > 0 {
		out.private = decodePrivate(t, resp.PlannedPrivate)
	}
	if len(out.errors) == 0 && config != nil {
		out.read(t, resp.PlannedState)
	}
	return out
}

// says takes what a plan says.
func (p *planned) says(diags []*tfprotov6.Diagnostic) {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			p.errors = append(p.errors, d.Summary+": "+d.Detail)
		} else {
			p.warns = append(p.warns, d.Summary+": "+d.Detail)
		}
	}
}

func configure(t testing.TB, server tfprotov6.ProviderServer) {
	t.Helper()
	raw := []byte(`{"namespace":null,"refresh":null,"qps":null,"burst":null,"kubernetes":null}`)
	resp, err := server.ConfigureProvider(context.Background(), &tfprotov6.ConfigureProviderRequest{Config: &tfprotov6.DynamicValue{JSON: raw}})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp)
	}
}

func decodePrivate(t *testing.T, raw []byte) map[string]json.RawMessage {
	t.Helper()
	var encoded map[string][]byte
	if err := json.Unmarshal(raw, &encoded); err != nil {
		t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for k, v := range encoded {
		out[k] = v
	}
	return out
}

func (p *planned) read(t *testing.T, state *tfprotov6.DynamicValue) {
	t.Helper()
	v, err := state.Unmarshal(applicationSetSchema(context.Background()).Type().TerraformType(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	var attrs map[string]tftypes.Value
	if err := v.As(&attrs); err != nil {
		t.Fatal(err)
	}
	if attrs["id"].IsKnown() {
		if err := attrs["id"].As(&p.id); err != nil {
			t.Fatal(err)
		}
	}
	if p.unknown = !attrs["waves"].IsKnown(); p.unknown {
		return
	}
	var steps map[string]tftypes.Value
	if err := attrs["waves"].As(&steps); err != nil {
		t.Fatal(err)
	}
	p.waves = map[string]map[string]string{}
	for label, inner := range steps {
		var leaves map[string]tftypes.Value
		if err := inner.As(&leaves); err != nil {
			t.Fatal(err)
		}
		p.waves[label] = map[string]string{}
		for name, leaf := range leaves {
			text := ""
			if leaf.IsKnown() {
				if err := leaf.As(&text); err != nil {
					t.Fatal(err)
				}
			}
			p.waves[label][name] = text
		}
	}
}

func (p planned) phase(t *testing.T) phase {
	t.Helper()
	var ph phase
	if err := json.Unmarshal(p.private[keyPhase], &ph); err != nil {
		t.Fatal(err)
	}
	return ph
}

func private(t *testing.T, known targets) []byte {
	t.Helper()
	inner, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string][]byte{keyTargets: inner})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// manifestOf is a set of one Application per name, in steps by the label env: names are
// "ENV-NAME".
func manifestOf(revision string, names ...string) string {
	elements := make([]map[string]any, len(names))
	for i, n := range names {
		env, _, _ := strings.Cut(n, "-")
		elements[i] = map[string]any{"name": n, "env": env}
	}
	expression := func(env string) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": "env", "operator": "In", "values": []string{env}}}}
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": appset.APIVersion, "kind": "ApplicationSet",
		"spec": map[string]any{
			"goTemplate": true,
			"generators": []any{map[string]any{"list": map[string]any{"elements": elements}}},
			"strategy": map[string]any{"type": "RollingSync", "deletionOrder": "Reverse", "rollingSync": map[string]any{
				"steps": []any{expression("dev"), expression("prod")},
			}},
			"template": map[string]any{
				"metadata": map[string]any{"name": "{{.name}}", "labels": map[string]any{"env": "{{.env}}"}},
				"spec": map[string]any{
					"project":     "default",
					"source":      map[string]any{"repoURL": "https://example.com/r.git", "targetRevision": revision, "path": "."},
					"destination": map[string]any{"name": "in-cluster"},
				},
			},
		},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

const (
	stepDev  = "step 01: env in [dev]"
	stepProd = "step 02: env in [prod]"
	shaA     = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	shaB     = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var fleet = []string{"dev-1", "dev-2", "prod-1", "prod-2", "prod-3"}

func configOf(manifest string) values { return values{"name": "guestbook", "manifest": manifest} }

// stateOf is what an apply of the manifest has stored at revision.
func stateOf(t *testing.T, manifest, revision string) values {
	t.Helper()
	first := planOf(t, nil, configOf(manifest), nil)
	if len(first.errors) > 0 {
		t.Fatal(first.errors)
	}
	w := map[string]map[string]string{}
	for label, leaves := range first.waves {
		w[label] = map[string]string{}
		for name := range leaves {
			hash := hashOf(t, manifest, name)
			w[label][name] = rollout.Leaf([]rollout.Source{mainSource}, []string{revision}, hash)
		}
	}
	return configOf(manifest).with(values{"id": "argocd/guestbook", "namespace": "argocd", "waves": w})
}

var mainSource = rollout.Source{RepoURL: "https://example.com/r.git", TargetRevision: "main"}

func hashOf(t *testing.T, manifest, name string) string {
	t.Helper()
	document, issues := appset.DecodeManifest([]byte(manifest))
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	set, issues := appset.Decode("guestbook", "argocd", document["spec"].(map[string]any))
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	rendering, issues := set.Render(t.Context(), nil, appset.Answers{})
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	for _, a := range rendering.Apps {
		if a.Name == name {
			return appset.HashRendered(a.Object)
		}
	}
	t.Fatalf("no Application %s", name)
	return ""
}

// knownAt are the facts of a refresh that has found everything at revision.
func knownAt(t *testing.T, manifest, revision string, names ...string) targets {
	t.Helper()
	apps := map[string]rollout.KnownTarget{}
	for _, n := range names {
		apps[n] = rollout.KnownTarget{Hash: hashOf(t, manifest, n), Revisions: []string{revision}}
	}
	return newTargets(rollout.Pins{mainSource: revision}, apps)
}

// settingsWith is rollout = {...} with everything else null.
func settingsWith(some map[string]any) any {
	if some == nil {
		return nil
	}
	all := map[string]any{}
	for name := range rolloutAttributes() {
		all[name] = some[name]
	}
	return all
}
