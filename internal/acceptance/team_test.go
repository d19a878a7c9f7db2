package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

// A cluster that the tests are attached to has to have Applications in the namespaces of teams as well: see .ci/kind.
func TestAccATeamHasItsSetInANamespaceOfItsOwn(t *testing.T) {
	f := newFixture(t)
	team := f.team()
	f.permit(team)
	f.asAccount = f.kubeconfigOf(f.applierIn(team))
	w, s := f.workspace(), f.newSet([]string{"dev", "prod"}, "dev", "prod")
	s.AppSpec, s.Extra = obj{"project": f.name}, fmt.Sprintf("namespace = %q\n", team)
	f.release("1", "dev", "prod")
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "prod")...)
	w.apply("plan.bin")
	f.must(f.livesIn(argoNamespace), f.livesIn(team, f.apps("dev", "prod")...), f.deploys("1", "dev", "prod"), func() error {
		return f.createdInOrder(f.app("dev"), f.app("prod"))
	})
	w.atRest()
	w.destroy()
	f.must(f.livesIn(team), f.nothingLeft)
}

// applierIn is an account of examples/rbac/apply.yaml for Applications in another namespace than Argo CD's, as the file says.
func (f *fixture) applierIn(namespace string) account {
	f.Helper()
	objects := readRBAC("apply.yaml", applyAccount)
	for _, o := range objects {
		if o.GetKind() != "ServiceAccount" && o.GetName() == applyAccount {
			there := o.DeepCopy()
			there.SetNamespace(namespace)
			objects = append(objects, there)
		}
	}
	for _, o := range objects {
		*o = *parse(strings.ReplaceAll(manifest(o.Object), applyAccount, f.name+"-apply"))
	}
	return f.passingAccount(objects)
}

// team makes a namespace in which Argo CD looks for Applications, beside its own.
func (f *fixture) team() string {
	f.Helper()
	name := strings.Replace(controlplane.TeamNamespaces, "*", f.name, 1)
	namespace := &unstructured.Unstructured{Object: obj{"apiVersion": "v1", "kind": "Namespace", "metadata": obj{"name": name}}}
	if _, err := f.client.Resource(namespaces).Create(f.ctx(), namespace, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		at := f.client.Resource(applications).Namespace(name)
		left, err := at.List(ctx, metav1.ListOptions{})
		if err != nil {
			f.Error(err)
			return
		}
		for _, app := range left.Items {
			app.SetFinalizers(nil)
			_, _ = at.Update(ctx, &app, metav1.UpdateOptions{})
			_ = at.Delete(ctx, app.GetName(), metav1.DeleteOptions{})
		}
		_ = f.client.Resource(namespaces).Delete(ctx, name, metav1.DeleteOptions{})
	})
	return name
}

// permit makes an AppProject, called as the fixture, for Applications in a namespace.
func (f *fixture) permit(namespace string) {
	f.Helper()
	project := &unstructured.Unstructured{Object: obj{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": obj{"name": f.name},
		"spec": obj{
			"sourceNamespaces": list{namespace}, "sourceRepos": list{"*"},
			"destinations":             list{obj{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": list{obj{"group": "*", "kind": "*"}},
		},
	}}
	at := f.client.Resource(appProjects).Namespace(argoNamespace)
	if _, err := at.Create(f.ctx(), project, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := at.Delete(context.Background(), f.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			f.Error(err)
		}
	})
}

// livesIn fails unless exactly these Applications of the fixture are in the namespace.
func (f *fixture) livesIn(namespace string, names ...string) func() error {
	return func() error {
		found, err := f.client.Resource(applications).Namespace(namespace).List(f.ctx(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, app := range found.Items {
			if strings.HasPrefix(app.GetName(), f.name) {
				got = append(got, app.GetName())
			}
		}
		if strings.Join(got, " ") != strings.Join(names, " ") {
			return fmt.Errorf("namespace %s holds the Applications %v, not %v", namespace, got, names)
		}
		return nil
	}
}
