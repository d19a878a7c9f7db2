package appset

import (
	"fmt"
	"testing"
)

// manyElements is a set of n Applications with a Helm source and six steps.
func manyElements(n int) map[string]any {
	elements := make([]any, n)
	for i := range elements {
		elements[i] = map[string]any{
			"cluster": fmt.Sprintf("c%05d", i), "env": fmt.Sprintf("env-%d", i%6), "url": "https://example.com", "replicas": float64(i % 7),
		}
	}
	steps := make([]any, 6)
	for i := range steps {
		steps[i] = map[string]any{"matchExpressions": []any{map[string]any{"key": "env", "operator": "In", "values": []any{fmt.Sprintf("env-%d", i)}}}}
	}
	return map[string]any{
		"goTemplate":        true,
		"goTemplateOptions": []any{"missingkey=error"},
		"generators":        []any{map[string]any{"list": map[string]any{"elements": elements}}},
		"strategy":          map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": steps}},
		"template": map[string]any{
			"metadata": map[string]any{"name": "{{.cluster}}-app", "labels": map[string]any{"env": "{{.env}}"}},
			"spec": map[string]any{
				"project": "default",
				"source": map[string]any{
					"repoURL": "https://example.com/r.git", "path": "apps/{{.env}}", "targetRevision": "main",
					"helm": map[string]any{
						"valuesObject": map[string]any{"name": "{{.cluster | upper}}", "replicas": int64(2), "nested": map[string]any{"list": []any{"a", "{{.env}}"}}},
						"parameters":   []any{map[string]any{"name": "replicas", "value": "{{.replicas | int}}"}},
					},
				},
				"destination": map[string]any{"server": "{{.url}}", "namespace": "{{.cluster}}"},
				"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true}, "syncOptions": []any{"CreateNamespace=true"}},
			},
		},
	}
}

// BenchmarkPlan10000 is the part of a plan that this package does: the budget
// for all of it is two seconds and 500 MiB.
func BenchmarkPlan10000(b *testing.B) {
	spec := manyElements(10_000)
	b.ReportAllocs()
	for b.Loop() {
		set, issues := Decode("s", "argocd", spec)
		if issues.HasErrors() {
			b.Fatal(issues)
		}
		rendering, issues := set.Render(b.Context(), nil, Answers{})
		apps := rendering.Apps
		if len(apps) != 10_000 || issues.HasErrors() {
			b.Fatal(issues)
		}
		for _, app := range apps {
			HashRendered(app.Object)
			set.Strategy.StepsFor(app)
		}
		set.CheckSteps(apps)
	}
}
