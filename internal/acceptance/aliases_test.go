//go:build unix

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
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// Two provider blocks in one configuration reach two clusters. On the second one, the Applications
// live in a namespace of their team: it must be the real provider, as each block has a process of
// its own only there.
func TestAccTwoProvidersReachTwoClustersAndANamespaceOfATeam(t *testing.T) {
	east := newFixture(t)
	west := newFixtureOn(t, cptest.Fragile(t))
	team := west.team()
	west.asAccount = west.kubeconfigOf(west.applierIn(team))
	w := east.workspace()
	w.useBinary(buildProvider(t))
	binary := func(want int, args ...string) result {
		t.Helper()
		r := w.startBinary(args...).wait()
		if r.code != want {
			t.Fatalf("terraform %v: exit code %d, not %d\n%s", args, r.code, want, r.out)
		}
		return r
	}

	east.release("1", "dev")
	west.release("1", "dev", "prod")
	one := east.newSet([]string{"dev"})
	two := west.newSet([]string{"dev", "prod"}, "dev", "prod")
	two.Name, two.Address = one.Name, "west" // the same name, on another cluster
	two.Extra = fmt.Sprintf("provider = argocdprogressive.west\nnamespace = %q\n", team)
	config := func() text {
		return text(one.String() + west.provider(obj{"alias": "west"}) + two.Resource())
	}

	w.configure(config())
	refused := binary(exitFailed, "apply", "-auto-approve")
	w.says(refused, fmt.Sprintf("AppProject %q does not permit Applications in namespace %q", "default", team), "spec.sourceNamespaces")
	west.must(west.livesIn(team))

	west.permit(team)
	two.AppSpec = obj{"project": west.name}
	w.configure(config())
	binary(exitEmpty, "apply", "-auto-approve")
	binary(exitEmpty, "plan", "-detailed-exitcode")
	east.must(east.livesIn(argoNamespace, east.app("dev")), east.deploys("1", "dev"))
	west.must(west.livesIn(argoNamespace), west.livesIn(team, west.apps("dev", "prod")...), west.deploys("1", "dev", "prod"))

	west.release("2", "dev", "prod")
	plan := binary(exitChanges, "plan", "-detailed-exitcode")
	w.says(plan, west.app("prod"), "1 to change")
	binary(exitEmpty, "apply", "-auto-approve")
	west.must(west.deploys("2", "dev", "prod"))
	binary(exitEmpty, "destroy", "-auto-approve")
	east.must(east.livesIn(argoNamespace))
	west.must(west.livesIn(team), west.deploys("", "dev", "prod"))
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
