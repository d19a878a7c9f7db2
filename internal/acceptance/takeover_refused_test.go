//go:build linux

package acceptance

import (
	"context"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// live is the ApplicationSet of the fixture's name; nil where there is none.
func (m *move) live() *unstructured.Unstructured {
	m.Helper()
	set, err := m.client.Resource(appSets).Namespace(argoNamespace).Get(m.ctx(), m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		m.Fatal(err)
	}
	return set
}

// lookAgain asks Argo CD to look at git for an Application.
func (m *move) lookAgain(name string) {
	m.Helper()
	m.touch(name, func(o *unstructured.Unstructured) error {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["argocd.argoproj.io/refresh"] = "normal"
		o.SetAnnotations(annotations)
		return nil
	})
}

// parent deploys the folder root as an Application that heals itself, and goes with the ApplicationSet when the test ends.
func (m *move) parent() (name string) {
	m.Helper()
	name = "root-" + m.name
	m.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		m.removeApp(name)
		_ = m.client.Resource(appSets).Namespace(argoNamespace).Delete(ctx, m.name, metav1.DeleteOptions{}) // it is gone mostly
	})
	app := &unstructured.Unstructured{Object: obj{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": obj{"name": name, "namespace": argoNamespace},
		"spec": obj{
			"project": "default", "source": obj{"repoURL": m.repo.URL(), "targetRevision": "main", "path": "root"},
			"destination": obj{"server": inClusterServer, "namespace": m.name},
			"syncPolicy":  obj{"automated": obj{"prune": true, "selfHeal": true}},
		},
	}}
	if _, err := m.client.Resource(applications).Namespace(argoNamespace).Create(m.ctx(), app, metav1.CreateOptions{}); err != nil {
		m.Fatal(err)
	}
	return name
}

// listed is the ApplicationSet among the resources of its parent, which is synced to that commit; nil where it is not among them.
func (m *move) listed(parent, commit string) (resource map[string]any, synced bool) {
	m.Helper()
	app := m.getApp(m.ctx(), parent)
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	for _, r := range resources {
		if r := r.(map[string]any); r["kind"] == "ApplicationSet" {
			resource = r
		}
	}
	s := newAppState(app)
	return resource, s.Revision == commit && s.OpRevision == commit && s.Phase == "Succeeded" && !s.Pending
}

// ofAnApplication: an ApplicationSet that an Application deploys, and brings back, is taken over when that has let it go as the error says.
func (m *move) ofAnApplication() {
	apps := m.apps("dev", "prod")
	m.deployFirst("dev", "prod")
	set := m.appSet("dev", "prod")
	m.writeFile("root/set.yaml", manifest(set.Object))
	m.writeFile("root/stays.yaml", configMap("stays", nil))
	m.commit()
	parent := m.parent()
	m.until("the parent has deployed the ApplicationSet", func() bool { return m.live() != nil })
	m.awaitAdopted(2)
	began, workloads := m.uids(), m.workloads()
	m.seen.reset()

	s := m.newSet(nil)
	s.Manifest = manifest(set.Object)
	m.configure(s)
	importing := []string{"import", address, argoNamespace + "/" + m.name}
	r := m.fails(importing, "ApplicationSet comes from somewhere else", `The Argo CD Application "`+parent+`" manages it`, "Nothing was changed",
		"Add the annotation argocd.argoproj.io/sync-options: Prune=false to the set in git and sync that", "remove the set from git and sync once more; then remove the Application's mark")
	command := regexp.MustCompile(`kubectl -n \S+ annotate \S+ \S+ \S+tracking-id-`).FindString(words(r.out))

	// As the error says.
	set.SetAnnotations(map[string]string{"argocd.argoproj.io/sync-options": "Prune=false"})
	m.writeFile("root/set.yaml", manifest(set.Object))
	m.commit()
	m.lookAgain(parent)
	m.until("the annotation is there", func() bool {
		live := m.live()
		return live != nil && live.GetAnnotations()["argocd.argoproj.io/sync-options"] == "Prune=false"
	})
	m.must(func() error { return m.repo.Remove("root/set.yaml") })
	commit := m.commit()
	m.lookAgain(parent)
	m.until("the parent is synced without the ApplicationSet", func() bool {
		resource, synced := m.listed(parent, commit)
		return synced && resource["requiresPruning"] == true
	})
	m.fails(importing, "ApplicationSet comes from somewhere else") // the mark is there
	m.runs(m.TempDir(), command)
	m.until("the parent does not know the ApplicationSet any more", func() bool {
		resource, _ := m.listed(parent, commit)
		return resource == nil
	})
	m.cli.want(exitEmpty, importing...)
	m.says(m.apply(), "0 added, 1 changed, 0 destroyed")
	m.lookAgain(parent)
	m.until("the parent has looked at git again", func() bool { return m.getApp(m.ctx(), parent).GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
	m.must(m.nothingDeleted(m.seen, workloads), m.seen.operations(0, apps...), m.appSetGone, m.isOurs(apps...))
	m.sameUIDs(began)
	m.atRest()
	m.destroy()
	m.lives()
}

// rollingOut: an ApplicationSet whose rollout the controller has begun is not taken over before that has ended.
func (m *move) rollingOut() {
	apps := m.apps("dev", "prod")
	m.deployFirst("dev", "prod")
	set := m.appSet("dev", "prod")
	set.Object["spec"].(obj)["template"].(obj)["spec"].(obj)["ignoreDifferences"] = list{obj{"kind": "ConfigMap", "jsonPointers": list{"/data/health", "/data/message"}}}
	m.createAppSet(set)
	m.awaitAdopted(2)
	s := m.newSet(nil)
	s.Manifest = manifest(set.Object)
	m.configure(s)
	importing := []string{"import", address, argoNamespace + "/" + m.name}
	m.cli.want(exitEmpty, importing...) // at rest

	m.unhealthy("Progressing", "2", "dev")
	m.release("2", "prod")
	for _, app := range apps {
		m.lookAgain(app)
	}
	// It waits for half a minute before it begins (ensureApplicationsReconciled in applicationset/progressivesync, Argo CD 3.6.1).
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if _, err := m.seen.await(ctx, m.app("dev"), "is deployed by the controller", progressing); err != nil {
		m.Fatal(err)
	}
	m.until("the controller says that it rolls out", func() bool {
		conditions, _, _ := unstructured.NestedSlice(m.live().Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			return c.(map[string]any)["type"] == "RolloutProgressing" && c.(map[string]any)["status"] == "True"
		})
	})
	before := m.live().GetGeneration()
	m.failsToPlan("Rollout in the cluster is running", "Nothing was changed")
	m.loseState()
	m.fails(importing, "Rollout in the cluster is running", "Wait until it is done", "Nothing was changed")
	if after := m.live().GetGeneration(); after != before || m.controlled() != 2 {
		m.Error("what was refused has changed the ApplicationSet or its Applications")
	}
	m.must(m.deploys("1", "prod"))
	m.letFinish(m.app("dev"), len(apps))
	m.must(m.deploys("2", "dev", "prod"))

	began, workloads := m.uids(), m.workloads()
	m.seen.reset()
	m.cli.want(exitEmpty, importing...)
	m.apply()
	m.must(m.nothingDeleted(m.seen, workloads), m.seen.operations(0, apps...), m.appSetGone, m.isOurs(apps...))
	m.sameUIDs(began)
	m.destroy()
	m.lives()
}

// letFinish waits until the controller's rollout of n Applications has ended. It sets the health of the one that holds it up, again
// where a second sync of that one (see awaitAdopted) has brought back the health that git has.
func (m *move) letFinish(held string, n int) {
	m.Helper()
	m.awaitAdopted(n, func() {
		if s := m.seen.get(held); s.Health != "Healthy" {
			m.must(func() error { return m.setHealth(m.ctx(), held, "Healthy") })
		}
	})
}
