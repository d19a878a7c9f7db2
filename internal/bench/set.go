package main

import (
	"encoding/json"
	"fmt"
)

const (
	setName = "bench"
	// destination is the namespace of all ConfigMaps.
	destination = "bench"
	stepLabel   = "step"
)

// setOptions are what differs between the ApplicationSets that are compared.
type setOptions struct {
	apps, steps int
	// rolling makes the steps count, and the deletion go backwards; without it all at once.
	rolling bool
	// automated lets Argo CD sync by itself, since its controller does not without steps.
	automated bool
	// firstMaxUpdate is the max_update of the first step; nil means none.
	firstMaxUpdate any
}

func appName(i int) string { return fmt.Sprintf("app-%05d", i) }

// stepOf is the step of Application i, from 0: equal shares, in order.
func (o setOptions) stepOf(i int) int { return i * o.steps / o.apps }

func stepValue(step int) string { return fmt.Sprintf("s%02d", step+1) }

// applicationSet is the object that both sides get.
func applicationSet(namespace, repoURL string, o setOptions) map[string]any {
	elements := make([]any, o.apps)
	for i := range elements {
		elements[i] = map[string]any{"name": appName(i), "step": stepValue(o.stepOf(i))}
	}
	syncPolicy := map[string]any{}
	if o.automated {
		syncPolicy["automated"] = map[string]any{}
	}
	spec := map[string]any{
		"goTemplate":        true,
		"goTemplateOptions": []any{"missingkey=error"},
		"generators":        []any{map[string]any{"list": map[string]any{"elements": elements}}},
		"template": map[string]any{
			"metadata": map[string]any{"name": "{{.name}}", "labels": map[string]any{stepLabel: "{{.step}}"}},
			"spec": map[string]any{
				"project":     "default",
				"source":      map[string]any{"repoURL": repoURL, "targetRevision": "main", "path": "apps/{{.name}}"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": destination},
				"syncPolicy":  syncPolicy,
			},
		},
	}
	if o.rolling {
		spec["strategy"] = strategy(o)
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": setName, "namespace": namespace},
		"spec":     spec,
	}
}

func strategy(o setOptions) map[string]any {
	steps := make([]any, o.steps)
	for i := range steps {
		step := map[string]any{"matchExpressions": []any{
			map[string]any{"key": stepLabel, "operator": "In", "values": []any{stepValue(i)}},
		}}
		if i == 0 && o.firstMaxUpdate != nil {
			step["maxUpdate"] = o.firstMaxUpdate
		}
		steps[i] = step
	}
	return map[string]any{"type": "RollingSync", "deletionOrder": "Reverse", "rollingSync": map[string]any{"steps": steps}}
}

// configMap is the one file of an Application. A slow one stays for a while after it was deleted.
func configMap(name, version string, slow bool) string {
	finalizers := ""
	if slow {
		finalizers = fmt.Sprintf("  finalizers: [%s]\n", slowFinalizer)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n%sdata:\n  version: %q\n", name, finalizers, version)
}

// configuration is the Terraform configuration of the set in appset.json beside it. minHealthy is
// empty for the provider's default.
func configuration(host, namespace, minHealthy string) ([]byte, error) {
	resource := map[string]any{"name": setName, "manifest": `${file("${path.module}/appset.json")}`}
	if minHealthy != "" {
		resource["rollout"] = map[string]any{"min_healthy_time": minHealthy}
	}
	return json.MarshalIndent(map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{
			"argocdprogressive": map[string]any{"source": "argocdprogressive/argocdprogressive"},
		}},
		"provider": map[string]any{"argocdprogressive": map[string]any{
			"namespace": namespace, "kubernetes": map[string]any{"host": host},
		}},
		"resource": map[string]any{"argocdprogressive_applicationset": map[string]any{setName: resource}},
	}, "", "  ")
}
