package acceptance

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// decisions is the kind of resource that decides about clusters in one fixture.
func (f *fixture) decisions() schema.GroupVersionResource {
	f.Helper()
	resource := schema.GroupVersionResource{Group: "acceptance.example.com", Version: "v1", Resource: f.name + "s"}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	name := resource.Resource + "." + resource.Group
	object := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": resource.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": resource.Resource, "singular": f.name, "kind": strings.ToUpper(f.name), "listKind": strings.ToUpper(f.name) + "List"},
			"versions": []any{map[string]any{"name": resource.Version, "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}
	if _, err := f.client.Resource(crds).Create(f.ctx(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = f.client.Resource(crds).Delete(context.Background(), name, metav1.DeleteOptions{}) })
	for ctx := f.ctx(); ; time.Sleep(50 * time.Millisecond) {
		_, err := f.client.Resource(resource).Namespace(argoNamespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			return resource
		}
		if ctx.Err() != nil {
			f.Fatal(err)
		}
	}
}

// decide writes which clusters are chosen, "SUFFIX" or "SUFFIX/ENV" as in newSet.
func (f *fixture) decide(resource schema.GroupVersionResource, suffixes ...string) {
	f.Helper()
	at := f.client.Resource(resource).Namespace(argoNamespace)
	decision, err := at.Get(f.ctx(), f.name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	chosen := []any{}
	for _, suffix := range suffixes {
		element := f.element(suffix)
		chosen = append(chosen, map[string]any{"clusterName": element["name"], "env": element["env"]})
	}
	decision.Object["status"] = map[string]any{"decisions": chosen}
	if _, err := at.Update(f.ctx(), decision, metav1.UpdateOptions{}); err != nil {
		f.Fatal(err)
	}
}

func TestAccADecisionAboutClustersIsAnApplicationInItsWave(t *testing.T) {
	f := newFixture(t)
	w, seen, resource := f.workspace(), f.record(), f.decisions()
	f.create(configMaps, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": f.name + "-decisions"},
		"data": map[string]any{"apiVersion": "acceptance.example.com/v1", "kind": resource.Resource, "matchKey": "clusterName", "statusListKey": "decisions"},
	})
	f.create(resource, argoNamespace, map[string]any{
		"apiVersion": "acceptance.example.com/v1", "kind": strings.ToUpper(f.name), "metadata": map[string]any{"name": f.name},
	})
	f.register("dev", "prod")
	s := f.generated(list{obj{"cluster_decision_resource": obj{"config_map_ref": f.name + "-decisions", "name": f.name}}}, "{{.env}}", "dev", "prod")
	f.release("1", "dev", "prod")
	w.configure(s)
	w.failsToPlan("Generator failed", resource.Resource, "is forbidden", `verbs: ["list"]`)
	s.Provider = f.as(f.accountOf("apply.yaml", applyAccount, "decisions", func(role *unstructured.Unstructured) {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		rules = append(rules, map[string]any{"apiGroups": []any{resource.Group}, "resources": []any{resource.Resource}, "verbs": []any{"list"}})
		role.Object["rules"] = rules
	}))
	w.configure(s)
	w.failsToPlan("Empty set", "rollout.allow_empty = true") // nothing is decided yet

	f.decide(resource, "dev")
	w.apply()
	w.lives(f.app("dev"))
	w.atRest()
	seen.reset()
	f.decide(resource, "dev", "prod")
	p := w.planOf()
	w.changes(p, f.app("prod"))
	f.decide(resource, "prod") // what the plan has shown is what is applied
	w.apply("plan.bin")
	f.must(seen.onlyTouched(f.app("prod")), f.deploys("1", "dev", "prod"))
	w.changes(w.planOf(), f.app("dev"))
	f.decide(resource, "dev", "prod", "gone") // a cluster that Argo CD does not know
	w.atRest()

	f.decide(resource)
	w.failsToPlan("Empty set")
	f.must(seen.onlyTouched(f.app("prod")))
	w.destroy("-refresh=false")
}
