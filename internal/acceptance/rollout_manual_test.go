package acceptance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// guestbook is the reference case, pointed at the test cluster: the names are the fixture's, as all
// its Applications share one namespace, and the trailing slash of the last URL is kept.
func (f *fixture) guestbook() string {
	content, err := os.ReadFile("testdata/guestbook-progressive.yaml")
	if err != nil {
		f.Fatal(err)
	}
	return strings.NewReplacer(
		"name: guestbook\n", "name: "+f.name+"\n",
		"namespace: guestbook", "namespace: "+f.name,
		"cluster: engineering", "cluster: "+f.name,
		"https://1.2.3.4", inClusterServer, "https://2.4.6.8", inClusterServer, "https://9.8.7.6", inClusterServer,
		"my-project", f.name,
		"https://github.com/infra-team/cluster-deployments.git", f.repo.URL(),
	).Replace(string(content))
}

// releaseGuestbook writes what the three Applications deploy, and commits.
func (f *fixture) releaseGuestbook(version string) string {
	for _, env := range []string{"dev", "qa", "prod"} {
		f.writeFile("guestbook/"+f.app(env)+"/configmap.yaml", configMap(f.app(env+"-guestbook"), map[string]string{"version": version}))
	}
	return f.commit()
}

func TestAccTheGuestbookWaitsForAPersonInItsManualStep(t *testing.T) {
	f := newFixture(t)
	f.createProject()
	older := f.releaseGuestbook("1")
	pin := f.releaseGuestbook("2")
	dev, qa, prod := f.app("dev-guestbook"), f.app("qa-guestbook"), f.app("prod-guestbook")
	s := f.newSet(nil)
	s.Manifest = f.guestbook()
	tf := f.cli()
	tf.configure(s)

	plan := tf.want(exitChanges, "plan", "-detailed-exitcode")
	for _, want := range []string{"step 01: envLabel in [env-dev]", "step 02: envLabel in [env-qa]", "step 03: envLabel in [env-prod]", dev, qa, prod} {
		if !strings.Contains(plan.out, want) {
			t.Errorf("the plan does not show %q:\n%s", want, plan.out)
		}
	}
	if !says("Warning:", "anual", qa).MatchString(plan.out) {
		t.Errorf("the plan does not warn that somebody has to sync %s:\n%s", qa, plan.out)
	}

	r := f.record()
	s.Extra = `timeouts = { create = "20s" }`
	tf.configure(s)
	gaveUp := tf.want(exitFailed, "apply", "-auto-approve")
	if !says(qa, "argocd app sync argocd/"+qa+" --revision "+pin).MatchString(gaveUp.out) {
		t.Errorf("the error does not say what to run:\n%s", gaveUp.out)
	}
	f.must(r.inOrder([]string{dev}), r.operations(0, qa), r.absent(prod))

	s.Extra = `timeouts = { create = "3m" }`
	tf.configure(s)
	r.reset()
	person := f.actor(func(ctx context.Context) error {
		if err := f.syncAndWait(ctx, r, qa, older); err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
		if s := r.get(prod); s != nil {
			return fmt.Errorf("the rollout took another revision for the pin: %s", s)
		}
		return f.syncAndWait(ctx, r, qa, pin)
	})
	apply := tf.start("apply", "-auto-approve")
	if err := pause(t.Context(), 3*time.Second); err != nil {
		t.Fatal(err)
	}
	f.must(r.untouched(dev, qa), r.absent(prod))
	person.Start()
	result := apply.wait()
	f.must(person.Check)
	if result.code != 0 {
		t.Fatalf("apply: exit code %d\n%s", result.code, result.out)
	}
	f.must(r.untouched(dev), r.operations(2, qa), r.operations(1, prod), r.at(pin, dev, qa, prod),
		r.inOrder([]string{qa}, []string{prod}))
	tf.want(exitEmpty, "plan", "-detailed-exitcode")

	r.reset()
	tf.want(exitEmpty, "destroy", "-auto-approve")
	f.must(r.deletedInOrder([]string{prod}, []string{qa}, []string{dev}))
}

// syncAndWait syncs an Application, as another person does, and waits for the end.
func (f *fixture) syncAndWait(ctx context.Context, r *recorder, name, revision string) error {
	if _, err := r.await(ctx, name, "is there and idle", func(s *appState) bool { return s != nil && !s.Pending }); err != nil {
		return err
	}
	if err := f.sync(ctx, name, revision); err != nil {
		return err
	}
	_, err := r.await(ctx, name, "is synced to "+short(revision), func(s *appState) bool {
		return s != nil && !s.Pending && s.Phase == "Succeeded" && s.OpRevision == revision
	})
	return err
}

// createProject creates an AppProject of the fixture's name that permits everything.
func (f *fixture) createProject() {
	f.create(appProjects, argoNamespace, map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": map[string]any{"name": f.name},
		"spec": map[string]any{
			"sourceRepos":              []any{"*"},
			"destinations":             []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
		},
	})
}

// create creates an object, which is deleted when the test ends.
func (f *fixture) create(resource schema.GroupVersionResource, namespace string, object map[string]any) {
	f.Helper()
	o := &unstructured.Unstructured{Object: object}
	client := f.client.Resource(resource).Namespace(namespace)
	if _, err := client.Create(f.ctx(), o, metav1.CreateOptions{}); err != nil {
		f.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			f.Logf("deleting %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	})
}
