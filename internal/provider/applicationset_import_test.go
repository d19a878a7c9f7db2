package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

func TestAnImportIdIsNamespaceAndName(t *testing.T) {
	for id, want := range map[string]string{
		"argocd/guestbook": "argocd/guestbook", "team-a/web.v2": "team-a/web.v2",
		"": "", "guestbook": "", "/guestbook": "", "argocd/": "", "argocd/a/b": "", "Argocd/guestbook": "", "argocd/guest book": "", "argocd:guestbook": "", " argocd/guestbook": "",
	} {
		got, diags := importedIdentity(t.Context(), resource.ImportStateRequest{ID: id})
		switch {
		case want == "" && !diags.HasError():
			t.Errorf("%q is taken for %v", id, got)
		case want == "":
			if d := diags.Errors()[0]; d.Summary() != "Invalid import id" || !strings.Contains(d.Detail(), "argocd/guestbook") {
				t.Errorf("%q: %s: %s", id, d.Summary(), d.Detail())
			}
		case diags.HasError() || got.Namespace.ValueString()+"/"+got.Name.ValueString() != want:
			t.Errorf("%q is taken for %v (%v)", id, got, diags)
		}
	}
}

func TestAnImportedManifestIsWhatJsonencodeWrites(t *testing.T) {
	c := &connected{owner: argocd.Owner{Namespace: "argocd", Name: "web"}}
	got := c.manifestOf(map[string]any{"spec": map[string]any{
		"template": map[string]any{"b": "<{{.x}}> & \u2028 é", "a": int64(12345678901234567), "c": 0.5, "d": nil, "e": []any{}, "f": true},
	}}).ValueString()
	// jsonencode escapes <, > and &, and separators of lines that JavaScript does not know.
	want := `{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","metadata":{"name":"web","namespace":"argocd"},` +
		`"spec":{"template":{"a":12345678901234567,"b":"\u003c{{.x}}\u003e \u0026 \u2028 é","c":0.5,"d":null,"e":[],"f":true}}}`
	if got != want {
		t.Errorf("the manifest is\n%s\nand not\n%s", got, want)
	}
}

func TestApplicationsOfTheClusterAreMarkedInTheWaves(t *testing.T) {
	w := newWaves()
	w.step("step 01").leaves["a"], w.step("step 01").leaves["b"] = "main@1f3a9c2 #5be0", "#5be0 (Degraded)"
	marked := w.outOfCluster().inCluster()
	if a, b := marked.leaf("step 01", "a"), marked.leaf("step 01", "b"); a != "main@1f3a9c2 #5be0 (in-cluster)" || b != "#5be0 (Degraded, in-cluster)" {
		t.Errorf("they are %q and %q", a, b)
	}
	if back := marked.outOfCluster(); !back.value().Equal(w.value()) {
		t.Errorf("without the mark they are %v, not %v", back.value(), w.value())
	}
}

func TestASetThatIsNotTakenOverIsOnlyUpdated(t *testing.T) {
	pending := takeOver{UID: "uid-1"}
	if diags := pending.onlyUpdate("argocd/web"); !diags.HasError() || !strings.Contains(diags[0].Detail(), "kubectl -n argocd delete applicationsets.argoproj.io web") {
		t.Errorf("it says %v", diags)
	}
	frozen := takeOver{UID: "uid-1", Thaw: "kubectl -n argocd patch"}
	if diags := frozen.onlyUpdate("argocd/web"); !diags.HasError() || !strings.HasSuffix(diags[0].Detail(), "let the controller go on first: kubectl -n argocd patch") {
		t.Errorf("one that is frozen says %v", diags)
	}
	if diags := (takeOver{}).onlyUpdate("argocd/web"); len(diags) > 0 {
		t.Errorf("one of ours says %v", diags)
	}
	m := &applicationSetModel{Waves: newWaves().value()}
	pending.Refused = []argocd.Refusal{{Summary: "Rollout in the cluster is running", Detail: "Wait."}}
	if diags := pending.planned(m, newWaves()); !diags.HasError() {
		t.Errorf("one that is refused says %v", diags)
	}
	pending.Refused = nil
	if diags := pending.planned(m, newWaves()); diags.HasError() || !m.Waves.IsUnknown() {
		t.Errorf("a set without Applications is planned as %v, and says %v: nothing would take it over", m.Waves, diags)
	}
}
