package provider

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
)

func TestVersionsOutsideOfTheTestedRangeAreWarnedOf(t *testing.T) {
	for _, test := range []struct {
		version argocd.Version
		want    string
	}{
		{argocd.Version{Major: 2, Minor: 14, Text: "v2.14.9"}, `The Argo CD in namespace "argocd" is v2.14.9. This version of the provider is tested with Argo CD 3.2 to 3.6. Older ones lack fields`},
		{argocd.Version{Major: 3, Minor: 2, Text: "v3.2.0"}, ""},
		{argocd.Version{Major: 3, Minor: 4, Text: "v3.4.2"}, ""},
		{argocd.Version{Major: 3, Minor: 6, Text: "v3.6.9"}, ""},
		{argocd.Version{Major: 3, Minor: 7, Text: "v3.7.0-rc1"}, "is v3.7.0-rc1. This version of the provider is tested with Argo CD 3.2 to 3.6. It may report its status in another way"},
	} {
		diags := untested(test.version, "argocd")
		if test.want == "" && len(diags) > 0 {
			t.Errorf("%s: %v", test.version.Text, diags)
		}
		if test.want != "" && (len(diags) != 1 || !strings.Contains(diags[0].Detail(), test.want)) {
			t.Errorf("%s: %v, want one warning with %q", test.version.Text, diags, test.want)
		}
	}
}

func TestVersionIsLookedAtOnce(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "apps/v1", "kind": "List", "items": []any{map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "controller"},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": "argocd:v4.0.0"}}}}},
		}}})
	}))
	defer server.Close()
	d := &ProviderData{Namespace: "argocd", settings: kubeconfig.Settings{Host: &server.URL}}
	if diags := d.warnOfVersion(context.Background()); len(diags) != 1 || !strings.Contains(diags[0].Detail(), "is v4.0.0.") {
		t.Errorf("first: %v", diags)
	}
	if diags := d.warnOfVersion(context.Background()); len(diags) > 0 || asked.Load() != 1 {
		t.Errorf("again: %v after %d requests", diags, asked.Load())
	}
	unreachable := &ProviderData{Namespace: "argocd", UnknownAttributes: []string{"kubernetes.host"}}
	if diags := unreachable.warnOfVersion(context.Background()); len(diags) > 0 {
		t.Errorf("without a connection: %v", diags)
	}
}
