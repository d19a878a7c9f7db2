package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAccASetOfOursIsImported(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut()
	before := f.traces()

	// By an account that may not look for ApplicationSets, into a configuration with spec, whose state has the manifest until the next apply.
	w.loseState()
	w.fails([]string{"import", address, f.name}, "Invalid import id", "namespace/name", "argocd/guestbook")
	w.cli.want(exitEmpty, "import", address, argoNamespace+"/"+f.name)
	f.sameTraces(before)
	w.changes(w.planOf())
	w.apply()
	w.atRest()

	// And with a generated one, which is at rest from the beginning.
	w.loseState()
	w.configure(text(f.provider(nil) + f.importBlock()))
	r := w.cli.want(exitChanges, "plan", "-detailed-exitcode", "-generate-config-out=generated.tf")
	w.says(r, "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy")
	generated, err := os.ReadFile(filepath.Join(w.cli.dir, "generated.tf"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(words(string(generated)), "manifest = jsonencode({ apiVersion") {
		t.Errorf("the configuration is not readable:\n%s", generated)
	}
	w.says(w.apply(), "1 imported, 0 added, 0 changed")
	w.atRest()
	f.must(seen.operations(0, f.apps("dev", "staging", "prod")...))
	f.isState("complete")
}

// What there is to import stands in the cluster alone: on this control plane no ApplicationSet controller runs.
func TestAccWhatCannotBeTakenOverIsRefused(t *testing.T) {
	f := newFixture(t)
	w := f.workspace()
	f.asAccount = f.kubeconfigOf(f.mover("mover"))
	w.configure(f.newSet([]string{"dev"}))
	f.createAppSet(f.appSet("dev"))
	w.fails([]string{"import", address, argoNamespace + "/" + f.name + "-none"}, "Set not found", "kubectl get applicationsets.argoproj.io -A")
	id := argoNamespace + "/" + f.name
	change := func(change func(*unstructured.Unstructured)) {
		t.Helper()
		sets := f.client.Resource(appSets).Namespace(argoNamespace)
		set, err := sets.Get(f.ctx(), f.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status := set.Object["status"]
		change(set)
		if wanted := set.Object["status"]; fmt.Sprint(wanted) != fmt.Sprint(status) {
			if _, err := sets.UpdateStatus(f.ctx(), set, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			return
		}
		if _, err := sets.Update(f.ctx(), set, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	condition := func(kind, status, message string) func(*unstructured.Unstructured) {
		return func(set *unstructured.Unstructured) {
			set.Object["status"] = obj{"conditions": list{obj{"type": kind, "status": status, "message": message, "reason": "Test"}}}
		}
	}
	for _, c := range []struct {
		what  string
		apply func(*unstructured.Unstructured)
		says  []string
	}{
		{"an Argo CD Application", func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"argocd.argoproj.io/tracking-id": "root:argoproj.io/ApplicationSet:" + id})
		}, []string{"ApplicationSet comes from somewhere else", `Application "root"`, "Prune=false", "argocd.argoproj.io/tracking-id-"}},
		{"an instance label", func(o *unstructured.Unstructured) {
			o.SetAnnotations(nil)
			o.SetLabels(map[string]string{"app.kubernetes.io/instance": "root"})
		}, []string{"ApplicationSet comes from somewhere else", "app.kubernetes.io/instance-"}},
		{"Helm", func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
			o.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "sets"})
		}, []string{`The Helm release "sets"`, "helm.sh/resource-policy: keep"}},
		{"Flux", func(o *unstructured.Unstructured) {
			o.SetAnnotations(nil)
			o.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "sets"})
		}, []string{`The Flux kustomize "sets"`, "kustomize.toolkit.fluxcd.io/name- kustomize.toolkit.fluxcd.io/namespace-"}},
		{"a generator that is not there", func(o *unstructured.Unstructured) {
			o.SetLabels(nil)
			_ = unstructured.SetNestedSlice(o.Object, list{obj{"scmProvider": obj{"github": obj{"organization": "o"}}}}, "spec", "generators")
		}, []string{"ApplicationSet not supported", "scmProvider"}},
		{"an error", condition("ErrorOccurred", "True", "no such repository"), []string{"ApplicationSet fails", "no such repository"}},
		{"a rollout", condition("RolloutProgressing", "True", "performing rollout of step 2"), []string{"Rollout in the cluster is running", "step 2"}},
	} {
		t.Log(c.what)
		change(c.apply)
		w.fails([]string{"import", address, id}, append(c.says, "Nothing was changed")...)
	}
	if left := f.traces(); len(left) > 0 {
		t.Errorf("an import has left %v", left)
	}
}

func TestAccATakeOverTellsWhichPermissionsItTakes(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.newSet(nil)
	f.deployFirst("dev")
	set := f.createAppSet(f.appSet("dev"))
	f.touch(f.app("dev"), func(o *unstructured.Unstructured) error {
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: set.GetAPIVersion(), Kind: set.GetKind(), Name: set.GetName(), UID: set.GetUID(), Controller: &yes}})
		o.SetLabels(map[string]string{"env": "dev"})
		return nil
	})
	id := argoNamespace + "/" + f.name
	s.Manifest = manifest(f.appSet("dev").Object)
	w.configure(s)
	w.fails([]string{"import", address, id}, "Permission missing", `resources: ["applicationsets"]`, `verbs: ["get"]`, "examples/rbac")

	s.Provider = f.as(f.mover("looker", "patch applicationsets.argoproj.io", "delete applicationsets.argoproj.io"))
	w.configure(s)
	w.cli.want(exitEmpty, "import", address, id)
	before := f.traces()
	w.says(w.plan(), "ApplicationSet in the cluster will be taken over", f.app("dev"))
	w.failsToApply("Permission missing", "Nothing was changed", `resources: ["applicationsets"]`, `verbs: ["patch", "delete"]`)
	w.fails([]string{"destroy", "-auto-approve"}, "ApplicationSet not taken over yet", "terraform state rm", "destroy = false")
	w.fails([]string{"plan", "-replace=" + address}, "ApplicationSet not taken over yet")
	f.sameTraces(before)

	// Of one that is gone there is nothing to take over.
	f.touch(f.app("dev"), func(o *unstructured.Unstructured) error { o.SetOwnerReferences(nil); return nil })
	if err := f.client.Resource(appSets).Namespace(argoNamespace).Delete(f.ctx(), f.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until("the ApplicationSet is gone", func() bool { return f.appSetGone() == nil })
	w.fails([]string{"plan"}, "Applications exist already", f.app("dev")+" (made by someone else)") // a plan of a creation, not of a take-over
	w.cli.want(exitEmpty, "apply", "-refresh-only", "-auto-approve")
	if values, _ := w.stored(); values != nil {
		t.Errorf("the state has %v", values)
	}
}
