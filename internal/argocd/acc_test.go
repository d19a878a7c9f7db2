package argocd

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// TestMain leaves the acceptance tests out unless, as everywhere in Terraform's world, TF_ACC
// asks for them.
func TestMain(m *testing.M) {
	flag.Parse()
	if skip := flag.Lookup("test.skip").Value; os.Getenv("TF_ACC") == "" && skip.String() == "" {
		if err := skip.Set("^TestAcc"); err != nil {
			panic(err)
		}
	}
	os.Exit(cptest.Main(m))
}

// patience bounds each wait for Argo CD in the acceptance tests.
const patience = 30 * time.Second

// lab is one acceptance test: a set of its own, a git repository, and a client.
type lab struct {
	*testing.T
	ctx     context.Context
	cluster *controlplane.Cluster
	client  *Client
	owner   Owner
	repo    *gitrepo.Repo
}

func newLab(t *testing.T, set string) *lab {
	t.Helper()
	cluster := cptest.Shared(t)
	client, err := New(cluster.RESTConfig(), cluster.ArgoNamespace())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	repo, err := gitrepo.New(filepath.Join(t.TempDir(), "repo"))
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, ctx: ctx, cluster: cluster, client: client, repo: repo,
		owner: Owner{Namespace: cluster.ArgoNamespace(), Name: set}}
	t.Cleanup(l.clean)
	return l
}

// clean takes away what a failed test has left, without its resources.
func (l *lab) clean() {
	ctx := context.Background()
	_, left, err := l.client.List(ctx, l.owner)
	if err != nil {
		l.Errorf("cleaning up: %v", err)
	}
	for name := range left {
		apps := l.client.apps(l.owner.Namespace)
		_, patchErr := apps.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err := errors.Join(patchErr, apps.Delete(ctx, name, metav1.DeleteOptions{})); err != nil && !apierrors.IsNotFound(err) {
			l.Logf("cleaning up %s: %v", name, err)
		}
	}
}

// commit puts one ConfigMap (and a hook that takes its time, where asked for) into the
// repository, and returns the SHA.
func (l *lab) commit(value string, hookSeconds int) string {
	l.Helper()
	l.must(l.repo.Write("app/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+l.owner.Name+"}\ndata: {value: \""+value+"\"}\n"))
	if hookSeconds > 0 {
		l.must(l.repo.Write("app/hook.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: slow\n  annotations: {argocd.argoproj.io/hook: PreSync}\n"+
			"spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}\n"))
	}
	sha, err := l.repo.Commit(value)
	l.must(err)
	return sha
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// rendered is an Application that deploys the repository into a namespace of its own.
func (l *lab) rendered(name string, labels map[string]any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": name, "labels": labels, "finalizers": []any{resourcesFinalizer}},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": l.repo.URL(), "path": "app", "targetRevision": "main"},
			"destination": map[string]any{"server": inClusterServer, "namespace": name},
			"syncPolicy":  map[string]any{"syncOptions": []any{"CreateNamespace=true"}},
		},
	}
}

func (l *lab) session(options SessionOptions, rendered ...map[string]any) *run {
	l.Helper()
	byName := map[string]map[string]any{}
	for _, r := range rendered {
		byName[nameOf(r)] = r
	}
	s := l.client.Session(l.owner, byName, options)
	events, err := s.Watch(l.ctx)
	l.must(err)
	r := &run{lab: l, Session: s, events: events, live: map[string]*rollout.Live{}}
	r.until("the end of the list", func(e rollout.Event) bool { return e.Listed })
	return r
}

// run is a session with what its watch has told.
type run struct {
	*lab
	*Session
	events <-chan rollout.Event
	live   map[string]*rollout.Live
}

// until takes events until one is right.
func (r *run) until(what string, right func(rollout.Event) bool) rollout.Event {
	r.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, open := <-r.events:
			if !open {
				r.Fatalf("waiting for %s: the watch has ended: %v", what, r.Session.Err())
			}
			if e.Name != "" {
				r.live[e.Name] = e.Live
			}
			if right(e) {
				return e
			}
		case <-timeout:
			r.Fatalf("waiting for %s: nothing for %s; last state: %+v", what, patience, r.live)
		}
	}
}

// untilLive takes events of one Application until its state is right.
func (r *run) untilLive(name, what string, right func(rollout.Live) bool) rollout.Live {
	r.Helper()
	if l := r.live[name]; l != nil && right(*l) {
		return *l
	}
	e := r.until(name+" "+what, func(e rollout.Event) bool { return e.Name == name && e.Live != nil && right(*e.Live) })
	return *e.Live
}

func (r *run) ok(action rollout.Action) rollout.Live {
	r.Helper()
	result := r.Do(r.ctx, action)
	if result.Err != nil || result.Conflict || result.NotFound {
		r.Fatalf("%s %s: conflict %v, not found %v, error %v", action.Verb, action.App, result.Conflict, result.NotFound, result.Err)
	}
	if result.Live == nil {
		return rollout.Live{}
	}
	return *result.Live
}

// again carries an action out on the newest state, like the engine: Argo CD goes on writing after
// a sync, so there are conflicts.
func (r *run) again(action rollout.Action) rollout.Live {
	r.Helper()
	for range 20 {
		action.Version = r.latest(action.App).GetResourceVersion()
		result := r.Do(r.ctx, action)
		if !result.Conflict {
			if result.Err != nil || result.NotFound {
				r.Fatalf("%s %s: not found %v, error %v", action.Verb, action.App, result.NotFound, result.Err)
			}
			return *result.Live
		}
		r.until("the next state", func(rollout.Event) bool { return true })
	}
	r.Fatalf("%s %s met a conflict 20 times", action.Verb, action.App)
	return rollout.Live{}
}

func (r *run) write(name, version, token, sha string) rollout.Action {
	return rollout.Action{Verb: rollout.Write, App: name, Version: version, StepLabel: "step 01",
		Sync: &rollout.SyncRequest{Token: token, Target: appset.HashRendered(r.desired[name]), Revisions: []string{sha}}}
}

func ended(token string) func(rollout.Live) bool {
	return func(l rollout.Live) bool { return l.Operation.Token == token && !l.Operation.Active() }
}

func (l *lab) get(name string) *unstructured.Unstructured {
	l.Helper()
	obj, err := l.client.apps(l.owner.Namespace).Get(l.ctx, name, metav1.GetOptions{})
	l.must(err)
	return obj
}

// remove takes an Application away after a test, resources included.
func (r *run) remove(name string) {
	r.Helper()
	l := r.again(rollout.Action{Verb: rollout.PrepareDelete, App: name, RefreshID: newRefreshID()})
	r.untilLive(name, "is compared before its deletion", func(now rollout.Live) bool { return now.RefreshID == "" && now.Rank > l.Rank })
	r.deleteNow(name, l.UID)
	r.until(name+" is gone", func(e rollout.Event) bool { return e.Name == name && e.Live == nil })
}

// deleteNow deletes an Application at its newest version.
func (r *run) deleteNow(name, uid string) {
	r.Helper()
	for range 20 {
		result := r.Do(r.ctx, rollout.Action{Verb: rollout.Delete, App: name, UID: uid, Version: r.latest(name).GetResourceVersion()})
		if result.Err != nil || result.NotFound {
			r.Fatalf("delete %s: %+v", name, result)
		}
		if !result.Conflict {
			return
		}
		r.until("the next state", func(rollout.Event) bool { return true })
	}
	r.Fatalf("the deletion of %s met a conflict 20 times", name)
}
