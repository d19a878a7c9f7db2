package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

func TestAccAnotherClusterIsRefusedByReadUpdateAndDelete(t *testing.T) {
	f := newFixture(t)
	p := f.proxy()
	w, s, _ := f.rolledOut(func(s *set) { s.Provider = p.through() })
	w.atRest()
	if len(p.Writes()) == 0 {
		t.Fatal("the provider did not connect through the proxy")
	}

	ours, theirs := p.anotherCluster()
	w.failsToPlan("Wrong cluster", ours, theirs, "Nothing was changed", "config_context")
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.fails([]string{"apply", "-auto-approve", "-refresh=false"}, "Wrong cluster", ours, theirs)
	w.fails([]string{"destroy", "-auto-approve", "-refresh=false"}, "Wrong cluster", ours, theirs)
	p.wroteNothing()
	w.lives(f.apps("dev", "staging", "prod")...)

	s.Provider = nil
	w.configure(s)
}

// What was known of the cluster outlasts an apply by credentials that may not ask.
func TestAccAnotherClusterIsRefusedAfterAnApplyThatCouldNotTell(t *testing.T) {
	f := newFixture(t)
	p := f.proxy()
	w, s, _ := f.rolledOut(func(s *set) { s.Provider = p.through() })
	forbidden := p.Add(faultproxy.Rule{On: faultproxy.On("namespaces", "get"), Do: faultproxy.Answer(http.StatusForbidden, metav1.StatusReasonForbidden, "refused by the test")})
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.apply()
	if forbidden.Hits() == 0 {
		t.Fatal("the apply has not asked for the namespace")
	}
	forbidden.Stop()
	w.atRest()

	ours, theirs := p.anotherCluster()
	w.failsToPlan("Wrong cluster", ours, theirs)
	s.Provider = nil
	w.configure(s)
}

func TestAccMoreDeletionsThanAllowedAreAnErrorAtPlan(t *testing.T) {
	f := newFixture(t)
	suffixes := []string{"a/dev", "b/dev", "c/dev", "d/prod", "e/prod"}
	w, s, seen := f.workspace(), f.newSet(suffixes, "dev", "prod"), f.record()
	f.release("1", "a", "b", "c", "d", "e")
	w.configure(s)
	w.apply()
	seen.reset()
	all := s.Elements

	s.Elements = all[2:]
	w.configure(s)
	w.failsToPlan("Too many deletions", "delete 2 of 5 Applications", "rollout.max_deletions allows 1 (20%)",
		f.app("a")+", "+f.app("b"), `rollout.max_deletions = "100%"`)
	w.failsToApply("Too many deletions")
	f.must(seen.onlyTouched())

	// One of five is within 20%.
	s.Elements = all[1:]
	w.configure(s)
	w.changes(w.planOf(), f.app("a"))
	for _, override := range []any{2, "40%"} {
		s.Elements = all[2:]
		s.Rollout = quick(obj{"max_deletions": override})
		w.configure(s)
		w.changes(w.planOf(), f.apps("a", "b")...)
	}
	w.apply()
	w.lives(f.apps("c", "d", "e")...)
	f.must(seen.onlyTouched(f.apps("a", "b")...))
	w.atRest()

	// A rename removes everything.
	s.Name = f.name + "-renamed"
	w.configure(s)
	w.failsToPlan("Too many deletions", "delete 3 of 3 Applications", s.Name)
	// 0 allows none at all.
	s.Name = f.name
	s.Elements = all[3:]
	s.Rollout = obj{"max_deletions": 0}
	w.configure(s)
	w.failsToPlan("Too many deletions", "delete 1 of 3 Applications", "allows 0")
	// destroy is exempt. (Terraform plans the configuration before, so that must be in order.)
	s.Elements = all[2:]
	w.configure(s)
	w.destroy()
	w.lives()
}

func TestAccAnEmptySetNeedsAllowEmpty(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	all := s.Elements
	s.Elements = nil
	w.configure(s)
	w.failsToPlan("Empty set", "rollout.allow_empty = true")

	s.Elements = all
	f.release("1", "dev", "staging", "prod")
	w.configure(s)
	w.apply()
	seen.reset()
	s.Elements = nil
	w.configure(s)
	w.failsToPlan("Empty set", "rollout.allow_empty = true")
	// Both guards hold: what may be empty may still not be emptied at one stroke.
	s.Rollout = quick(obj{"allow_empty": true})
	w.configure(s)
	w.failsToPlan("Too many deletions", "delete 3 of 3 Applications")
	f.must(seen.onlyTouched())

	s.Rollout["max_deletions"] = "100%"
	w.configure(s)
	w.apply()
	w.lives()
	w.atRest()
	s.Elements = all
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.apply()
	w.lives(f.apps("dev", "staging", "prod")...)
	w.atRest()
}

func TestAccAnErrorOfGeneratorOrTemplateNeverDeletes(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	for _, broken := range []struct {
		what string
		spec obj
		says string
	}{
		{"a key that no element has", obj{"template": obj{
			"metadata": obj{"name": "{{.nothing}}"},
			"spec":     s.template()["spec"],
		}}, "nothing"},
		{"an element that is no object", obj{"generators": list{obj{"list": obj{"elements": list{"dev"}}}}}, "must be an object"},
		{"a generator that does not exist", obj{"generators": list{obj{"lisst": obj{"elements": list{}}}}}, "lisst"},
		{"elements in broken YAML", obj{"generators": list{obj{"list": obj{"elements_yaml": "- {"}}}}, "YAML"},
	} {
		s.Spec = broken.spec
		s.Rollout = obj{"allow_empty": true, "max_deletions": "100%"}
		w.configure(s)
		if r := w.cli.run("apply", "-auto-approve"); r.code != exitFailed || !strings.Contains(words(r.out), broken.says) {
			t.Errorf("%s: exit code %d\n%s", broken.what, r.code, r.out)
		}
	}
	f.must(seen.onlyTouched())
	s.Spec, s.Rollout = nil, quick()
	w.configure(s)
	w.atRest()
}

// foreign creates an Application by hand, as it looks with what change does to it.
func (f *fixture) foreign(suffix string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	f.Helper()
	app := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": f.app(suffix), "namespace": argoNamespace},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": f.repo.URL(), "targetRevision": "main", "path": f.path(suffix)},
			"destination": map[string]any{"server": inClusterServer, "namespace": f.name},
		},
	}}
	if change != nil {
		change(app)
	}
	created, err := f.client.Resource(applications).Namespace(argoNamespace).Create(f.ctx(), app, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.removeApp(app.GetName()) })
	return created
}

// removeApp deletes an Application, if it is there, and leaves its resources.
func (f *fixture) removeApp(name string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = f.edit(ctx, name, func(o *unstructured.Unstructured) error { o.SetFinalizers(nil); return nil })
	_ = f.client.Resource(applications).Namespace(argoNamespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// written is what people and the provider write of an Application, without what Argo CD adds, and without
// the time that an Argo CD before 3.6 leaves of a refresh that it has answered: the next plan removes it.
func written(app *unstructured.Unstructured) string {
	annotations := app.GetAnnotations()
	if annotations["argocd.argoproj.io/refresh"] == "" {
		delete(annotations, "argocd.argoproj.io/refresh-timestamp")
	}
	return manifest(map[string]any{
		"uid": string(app.GetUID()), "labels": app.GetLabels(), "annotations": annotations,
		"finalizers": app.GetFinalizers(), "spec": app.Object["spec"], "operation": app.Object["operation"],
		"deleting": app.GetDeletionTimestamp() != nil,
	})
}

// unchanged fails unless the Application is still as it was.
func (f *fixture) unchanged(before *unstructured.Unstructured) {
	f.Helper()
	after := f.getApp(f.ctx(), before.GetName())
	if was, is := written(before), written(after); was != is {
		f.Errorf("Application %s was changed, from\n%sto\n%s", before.GetName(), was, is)
	}
}

const (
	setLabel        = "argocdprogressive.io/set"
	ownerAnnotation = "argocdprogressive.io/owner"
)

func TestAccAForeignApplicationOfTheSameNameIsRefusedAndAdoptedOnRequest(t *testing.T) {
	for _, test := range []struct {
		name string
		mark func(*unstructured.Unstructured)
		says string
	}{
		{"made by hand", nil, "made by someone else"},
		{"of another set", func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{setLabel: "0123456789abcdef"})
			o.SetAnnotations(map[string]string{ownerAnnotation: argoNamespace + "/billing"})
		}, argoNamespace + "/billing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			w, s := f.workspace(), f.threeSteps()
			f.release("1", "dev", "staging", "prod")
			before := f.foreign("staging", test.mark)
			w.configure(s)
			w.failsToPlan("Applications exist already", f.app("staging"), test.says, "rollout.adopt_existing = true")
			w.failsToApply("Applications exist already", f.app("staging"), test.says)
			f.unchanged(before)
			w.lives(f.app("staging"))
			w.isState("")

			s.Rollout = quick(obj{"adopt_existing": true})
			w.configure(s)
			w.apply()
			f.sameUIDs(map[string]string{f.app("staging"): string(before.GetUID())})
			f.must(f.deploys("1", "dev", "staging", "prod"))
			if owner := f.getApp(f.ctx(), f.app("staging")).GetAnnotations()[ownerAnnotation]; owner != argoNamespace+"/"+f.name {
				t.Errorf("the adopted Application belongs to %q", owner)
			}
			w.atRest()
		})
	}
}

func TestAccAnApplicationOfAnInClusterSetIsNeverAdopted(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.threeSteps()
	f.release("1", "dev", "staging", "prod")
	// The owner must exist, or the garbage collector deletes the Application.
	owner := f.createAppSet(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": f.app("incluster"), "namespace": argoNamespace},
		"spec": map[string]any{
			"generators": []any{},
			"template": map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{
				"project": "default", "destination": map[string]any{"server": inClusterServer, "namespace": "x"},
			}},
		},
	}})
	before := f.foreign("staging", func(o *unstructured.Unstructured) {
		controller := true
		o.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: owner.GetName(), UID: owner.GetUID(), Controller: &controller,
		}})
	})
	for _, adopt := range []bool{false, true} {
		s.Rollout = obj{"adopt_existing": adopt}
		w.configure(s)
		w.failsToApply("Applications of an in-cluster ApplicationSet", fmt.Sprintf("%s (ApplicationSet %s/%s)", f.app("staging"), argoNamespace, owner.GetName()))
		f.unchanged(before)
		w.lives(f.app("staging"))
	}
}

func TestAccAnApplicationThatOnlyLooksLikeOursIsNeverTouched(t *testing.T) {
	f := newFixture(t)
	w, s, _ := f.rolledOut()
	label := f.getApp(f.ctx(), f.app("dev")).GetLabels()[setLabel]
	if label == "" {
		t.Fatal("dev does not have the label of the set")
	}
	stranger := f.foreign("stranger", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{setLabel: label, "env": "dev"})
		o.SetAnnotations(map[string]string{ownerAnnotation: argoNamespace + "/somebody-else"})
	})
	unsigned := f.foreign("unsigned", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{setLabel: label, "env": "dev"})
	})
	w.atRest()
	s.Labels = obj{"tier": "gold"}
	s.Elements = []obj{f.element("dev"), f.element("staging")}
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.apply()
	w.destroy()
	f.unchanged(stranger)
	f.unchanged(unsigned)
	w.lives(f.apps("stranger", "unsigned")...)
	f.removeApp(stranger.GetName())
	f.removeApp(unsigned.GetName())
}

func TestAccWhatArgoCDWouldRefuseIsFoundBeforeTheFirstWrite(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	f.release("1", "dev", "staging", "prod")
	project := f.name + "-narrow"
	f.create(appProjects, argoNamespace, map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": map[string]any{"name": project},
		"spec": map[string]any{
			"sourceRepos":  []any{"*"},
			"destinations": []any{map[string]any{"server": "*", "namespace": f.name + "-dev"}},
		},
	})
	destination := func(key, value string) obj {
		return obj{"destination": obj{key: value, "namespace": f.name}}
	}
	// Only prod, the last step, is wrong: nothing of dev may happen either.
	wrongs := []struct {
		spec obj
		says []string
	}{
		{obj{"project": `{{if eq .env "prod"}}` + project + `-missing{{else}}default{{end}}`},
			[]string{"AppProject missing", f.app("prod"), project + "-missing"}},
		{obj{"project": project, "destination": obj{"server": inClusterServer, "namespace": f.name + `-{{if eq .env "prod"}}prod{{else}}dev{{end}}`}},
			[]string{"not permitted", f.app("prod"), f.name + "-prod", project}},
		{destination("name", `{{if eq .env "prod"}}mars{{else}}in-cluster{{end}}`),
			[]string{"Unknown destination cluster", f.app("prod"), "mars"}},
		{destination("server", `https://{{if eq .env "prod"}}mars.example.com{{else}}kubernetes.default.svc{{end}}`),
			[]string{"Unknown destination cluster", f.app("prod"), "https://mars.example.com"}},
	}
	for _, wrong := range wrongs {
		s.AppSpec = wrong.spec
		w.configure(s)
		r := w.failsToApply(append(wrong.says, "Nothing was changed")...)
		w.saysNot(r, "Application "+argoNamespace+"/"+f.app("dev")+":")
	}
	f.must(seen.onlyTouched())
	w.isState("")
	if values, _ := w.stored(); values != nil {
		t.Errorf("a refused create has left state: %v", values)
	}

	s.AppSpec = nil
	w.configure(s)
	w.apply()
	seen.reset()
	for _, wrong := range wrongs {
		s.AppSpec = wrong.spec
		w.configure(s)
		w.failsToApply(append(wrong.says, "Nothing was changed")...)
	}
	f.must(seen.onlyTouched())
	s.AppSpec = nil
	w.configure(s)
	w.atRest()
}

func TestAccAChangedNamespaceOfTheProviderIsAnErrorAtPlan(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	s.Provider = obj{"namespace": "kube-system"}
	w.configure(s)
	w.failsToPlan("Namespace of the provider changed", `"argocd"`, `"kube-system"`, `namespace = "argocd"`)
	s.Extra = `namespace = "argocd"`
	w.configure(s)
	w.atRest()
	s.Provider, s.Extra = nil, ""
	w.configure(s)
	w.atRest()
	f.must(seen.onlyTouched())
}
