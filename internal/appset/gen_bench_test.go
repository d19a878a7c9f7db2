package appset_test

import (
	"fmt"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

// benchmarkRender decodes and renders a set of 10,000 Applications.
func benchmarkRender(b *testing.B, spec map[string]any, inputs appset.Inputs) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		set, issues := appset.Decode("set", "argocd", spec)
		if issues.HasErrors() {
			b.Fatal(issues)
		}
		rendering, issues := set.Render(b.Context(), inputs, appset.Answers{})
		if issues.HasErrors() || len(rendering.Apps) != 10_000 {
			b.Fatalf("%d Applications, %s", len(rendering.Apps), issues)
		}
	}
}

// benchmarkSpec has a template whose texts refer to the parameters that are named.
func benchmarkSpec(goTemplate bool, generator map[string]any, name, path, server string) map[string]any {
	return map[string]any{
		"goTemplate": goTemplate,
		"generators": []any{generator},
		"template": map[string]any{
			"metadata": map[string]any{"name": name, "labels": map[string]any{"path": path}},
			"spec": map[string]any{
				"project":     "default",
				"source":      map[string]any{"repoURL": "https://git/r.git", "path": "apps/" + path, "targetRevision": "main", "helm": map[string]any{"valuesObject": map[string]any{"cluster": name, "n": int64(3)}}},
				"destination": map[string]any{"server": server, "namespace": path},
				"syncPolicy":  map[string]any{"syncOptions": []any{"CreateNamespace=true"}},
			},
		},
	}
}

func BenchmarkMatrix100x100(b *testing.B) {
	lists := make([]any, 2)
	for i, key := range []string{"a", "b"} {
		elements := make([]any, 100)
		for j := range elements {
			elements[j] = map[string]any{key: fmt.Sprintf("%s%02d", key, j), "url" + key: "https://example.com"}
		}
		lists[i] = map[string]any{"list": map[string]any{"elements": elements}}
	}
	generator := map[string]any{"matrix": map[string]any{"generators": lists}}
	b.Run("goTemplate", func(b *testing.B) {
		benchmarkRender(b, benchmarkSpec(true, generator, "{{.a}}-{{.b}}", "{{.b}}", "{{.urla}}"), nil)
	})
	b.Run("fasttemplate", func(b *testing.B) {
		benchmarkRender(b, benchmarkSpec(false, generator, "{{a}}-{{b}}", "{{b}}", "{{urla}}"), nil)
	})
}

func BenchmarkClusters1000x10(b *testing.B) {
	fake := &appsettest.Fake{Trees: map[string]map[string]map[string]string{repository: {"main": {}}}}
	for i := range 1000 {
		fake.Known = append(fake.Known, appset.Cluster{
			Name: fmt.Sprintf("cluster-%04d", i), Server: fmt.Sprintf("https://c%d", i),
			Labels: map[string]string{"env": "prod", "region": fmt.Sprint("r", i%10)}, Annotations: map[string]string{"owner": "team"},
		})
	}
	for i := range 10 {
		fake.Trees[repository]["main"][fmt.Sprintf("apps/d%d/kustomization.yaml", i)] = ""
	}
	generator := map[string]any{"matrix": map[string]any{"generators": []any{
		map[string]any{"clusters": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"env": "prod"}}}},
		map[string]any{"git": map[string]any{"repoURL": repository, "revision": "main", "directories": []any{map[string]any{"path": "apps/*"}}}},
	}}}
	b.Run("goTemplate", func(b *testing.B) {
		benchmarkRender(b, benchmarkSpec(true, generator, "{{.name}}-{{.path.basename}}", "{{.path.basename}}", "{{.server}}"), fake)
	})
	b.Run("fasttemplate", func(b *testing.B) {
		benchmarkRender(b, benchmarkSpec(false, generator, "{{name}}-{{path.basename}}", "{{path.basename}}", "{{server}}"), fake)
	})
}
