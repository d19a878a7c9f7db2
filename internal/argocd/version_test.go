package argocd

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// workload is a StatefulSet or Deployment as an installation shows it.
func workload(label string, images ...string) map[string]any {
	var containers []any
	for _, image := range images {
		containers = append(containers, map[string]any{"name": "c", "image": image})
	}
	labels := map[string]any{}
	if label != "" {
		labels[versionLabel] = label
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "w", "labels": labels},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}},
	}
}

func TestVersionIsWhatTheControllersWorkloadShows(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct {
		name                      string
		statefulSets, deployments []any
		forbidden                 bool
		want                      string
	}{
		{name: "the manifests of Argo CD", statefulSets: []any{workload("", "quay.io/argoproj/argocd:v3.6.1")}, want: "3.6 (v3.6.1)"},
		{name: "a Deployment, with dynamic distribution of clusters", deployments: []any{workload("", "quay.io/argoproj/argocd:v3.2.12")}, want: "3.2 (v3.2.12)"},
		{name: "a mirror with a port, a tag and a digest", statefulSets: []any{workload("", "mirror.example:5000/argocd:v3.5.0-rc2"+digest)}, want: "3.5 (v3.5.0-rc2)"},
		{name: "a digest alone, and the label of Helm", statefulSets: []any{workload("v3.4.2", "quay.io/argoproj/argocd"+digest)}, want: "3.4 (v3.4.2)"},
		{name: "a container beside it", statefulSets: []any{workload("", "example.com/proxy:v9.9.9", "quay.io/argoproj/argocd:v3.3.0")}, want: "3.3 (v3.3.0)"},
		{name: "a tag that is no version", statefulSets: []any{workload("", "quay.io/argoproj/argocd:latest")}},
		{name: "nothing", statefulSets: []any{}},
		{name: "credentials that may not look", forbidden: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("labelSelector") != controllerLabels {
					t.Errorf("asked for %s", r.URL)
				}
				items := test.statefulSets
				if strings.HasSuffix(r.URL.Path, "/namespaces/argocd/deployments") {
					items = test.deployments
				}
				var body any = map[string]any{"apiVersion": "apps/v1", "kind": "List", "items": items}
				if test.forbidden {
					w.WriteHeader(http.StatusForbidden)
					body = status(http.StatusForbidden, "Forbidden", 0)
				}
				if err := json.NewEncoder(w).Encode(body); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			client, err := New(&rest.Config{Host: server.URL}, "argocd")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if v, ok := client.Version(context.Background()); ok {
				got = v.Short() + " (" + v.Text + ")"
			}
			if got != test.want {
				t.Errorf("the version is %q, not %q", got, test.want)
			}
		})
	}
}

func TestVersionsAreComparedByTheirNumbers(t *testing.T) {
	for _, test := range []struct {
		version string
		want    int
	}{{"v2.14.9", -1}, {"v3.1.20", -1}, {"v3.2.0", 0}, {"3.2.12", 0}, {"v3.10.0", 1}, {"v4.0.0", 1}} {
		v, ok := parseVersion(test.version)
		if got := v.Compare(OldestTested); !ok || got != test.want {
			t.Errorf("%s compared with %s is %d, not %d", test.version, OldestTested.Short(), got, test.want)
		}
	}
}
