package acceptance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
)

var (
	applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	appProjects  = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}
	leases       = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// argoNamespace is where Argo CD and its Applications live.
const argoNamespace = "argocd"

// patience bounds every wait of the harness; nothing that works takes that long.
const patience = 60 * time.Second

// fixture is what one test has of its own on the shared cluster: names, a destination namespace
// and a git repository with one folder for each Application.
type fixture struct {
	*testing.T
	cluster *controlplane.Cluster
	client  dynamic.Interface
	repo    *gitrepo.Repo
	// name starts the names of everything that the test creates. It is the name of the set and of
	// the destination namespace as well.
	name string
	// fragile tells that the test may stop parts of the cluster.
	fragile bool
	// asAccount is the kubeconfig file of the provider; see kubeconfig.
	asAccount string
}

// requireAcceptance skips the test as terraform-plugin-testing does, for work outside of it.
func requireAcceptance(t *testing.T) {
	t.Helper()
	if os.Getenv(resource.EnvTfAcc) == "" {
		t.Skipf("Acceptance tests skipped unless env '%s' set", resource.EnvTfAcc)
	}
}

// newFixture prepares a test, which then runs in parallel with others. When the test ends, none
// of its Applications may be left.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	requireAcceptance(t)
	t.Parallel()
	return newFixtureOn(t, cptest.Shared(t))
}

// newFixtureOn is newFixture on another cluster, and not in parallel.
func newFixtureOn(t *testing.T, cluster *controlplane.Cluster) *fixture {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	repo := cptest.Repo(t, filepath.Join(t.TempDir(), "deployments"))
	id := make([]byte, 3)
	_, _ = rand.Read(id) // never fails
	f := &fixture{T: t, cluster: cluster, client: client, repo: repo, name: "t" + hex.EncodeToString(id)}
	t.Cleanup(f.clean)
	// Of two Applications that create it at once one may fail, which Argo CD repeats after ten seconds.
	namespace := &unstructured.Unstructured{Object: obj{"apiVersion": "v1", "kind": "Namespace", "metadata": obj{"name": f.name}}}
	if _, err := client.Resource(namespaces).Create(f.ctx(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// ownServer is a URL of the test cluster that no other test registers it by: Argo CD tells clusters apart by their URLs, and
// forgets what it knows of one when that is removed.
func (f *fixture) ownServer() string {
	scheme, host, _ := strings.Cut(f.cluster.LocalhostServer(), "://")
	id, err := strconv.ParseUint(strings.TrimPrefix(f.name, "t"), 16, 64)
	f.must(func() error { return err })
	return scheme + "://" + strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return r
		}
		odd := id%2 == 1
		if id /= 2; odd {
			return unicode.ToUpper(r)
		}
		return r
	}, host)
}

// withoutNamespace removes the namespace that Applications are deployed to, for a test in which Argo CD creates it.
func (f *fixture) withoutNamespace() {
	f.Helper()
	at := f.client.Resource(namespaces)
	f.must(func() error { return at.Delete(f.ctx(), f.name, metav1.DeleteOptions{}) })
	f.until("the namespace is gone", func() bool {
		_, err := at.Get(f.ctx(), f.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// app is the name of an Application of this test: its own prefix and a suffix.
func (f *fixture) app(suffix string) string { return f.name + "-" + suffix }

// apps are the names for several suffixes.
func (f *fixture) apps(suffixes ...string) []string {
	names := make([]string, len(suffixes))
	for i, s := range suffixes {
		names[i] = f.app(s)
	}
	return names
}

// ctx bounds one wait of the harness.
func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.Cleanup(cancel)
	return ctx
}

// clean removes what is left, and fails the test when Applications are.
func (f *fixture) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, app := range f.liveApps(ctx) {
		if !f.Failed() {
			f.Errorf("Application %s is left after the test", app.GetName())
		}
		app.SetFinalizers(nil)
		unstructured.RemoveNestedField(app.Object, "operation")
		_, _ = f.client.Resource(applications).Namespace(argoNamespace).Update(ctx, &app, metav1.UpdateOptions{})
		err := f.client.Resource(applications).Namespace(argoNamespace).Delete(ctx, app.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			f.Logf("removing Application %s: %v", app.GetName(), err)
		}
	}
	err := f.client.Resource(namespaces).Delete(ctx, f.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		f.Logf("removing namespace %s: %v", f.name, err)
	}
}

// liveApps are the Applications whose names start with the fixture's.
func (f *fixture) liveApps(ctx context.Context) []unstructured.Unstructured {
	f.Helper()
	list, err := f.client.Resource(applications).Namespace(argoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		f.Fatalf("listing Applications: %v", err)
	}
	var own []unstructured.Unstructured
	for _, app := range list.Items {
		if strings.HasPrefix(app.GetName(), f.name) {
			own = append(own, app)
		}
	}
	return own
}

// deleteByHand deletes Applications one after the other, each together with its resources, as `argocd app delete` does.
func (f *fixture) deleteByHand(seen *recorder, suffixes ...string) {
	f.Helper()
	for _, suffix := range suffixes {
		f.must(func() error {
			return f.client.Resource(applications).Namespace(argoNamespace).Delete(f.ctx(), f.app(suffix), metav1.DeleteOptions{})
		})
		_, err := seen.await(f.ctx(), f.app(suffix), "is gone", isGone)
		f.must(func() error { return err })
	}
}

// configMap is the manifest of one ConfigMap. data.health, when given, is its health to Argo CD.
func configMap(name string, data map[string]string) string {
	return manifest(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name}, "data": data,
	})
}

// write puts the ConfigMap of an Application into its folder, without a commit.
func (f *fixture) write(suffix string, data map[string]string) {
	f.Helper()
	f.writeFile(f.path(suffix)+"/configmap.yaml", configMap(f.app(suffix), data))
}

func (f *fixture) writeFile(path, content string) {
	f.Helper()
	if err := f.repo.Write(path, content); err != nil {
		f.Fatal(err)
	}
}

// path is the folder of an Application in the repository.
func (f *fixture) path(suffix string) string { return "apps/" + f.app(suffix) }

// commit commits what was written and returns the SHA.
func (f *fixture) commit() string {
	f.Helper()
	sha, err := f.repo.Commit("change")
	if err != nil {
		f.Fatal(err)
	}
	return sha
}

// release writes version into the ConfigMaps of these Applications and commits.
func (f *fixture) release(version string, suffixes ...string) string {
	f.Helper()
	for _, s := range suffixes {
		f.write(s, map[string]string{"version": version})
	}
	return f.commit()
}

// deployed is data.version of the live ConfigMap of an Application, "" when there is none.
func (f *fixture) deployed(suffix string) (string, error) {
	cm, err := f.client.Resource(configMaps).Namespace(f.name).Get(f.ctx(), f.app(suffix), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	version, _, err := unstructured.NestedString(cm.Object, "data", "version")
	return version, err
}

// deploys fails unless version is what is live of these Applications.
func (f *fixture) deploys(version string, suffixes ...string) func() error {
	return func() error {
		var errs []error
		for _, s := range suffixes {
			if got, err := f.deployed(s); err != nil || got != version {
				errs = append(errs, fmt.Errorf("ConfigMap %s has version %q (%v), not %q", f.app(s), got, err, version))
			}
		}
		return errors.Join(errs...)
	}
}
