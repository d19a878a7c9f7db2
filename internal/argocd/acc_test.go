package argocd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
		Sync: &rollout.SyncRequest{Token: token, Target: "target-" + token, Revisions: []string{sha}}}
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
	r.ok(rollout.Action{Verb: rollout.Delete, App: name, UID: l.UID})
	r.until(name+" is gone", func(e rollout.Event) bool { return e.Name == name && e.Live == nil })
}

func TestAccWriteStartsTheOperationInTheSameRequest(t *testing.T) {
	l := newLab(t, "acc-write")
	first := l.commit("1", 0)
	r := l.session(SessionOptions{}, l.rendered("acc-write", map[string]any{"env": "dev"}))

	// Create: spec, marks and operation in one POST.
	r.ok(r.write("acc-write", "", "t-1", first))
	done := r.untilLive("acc-write", "has synced", ended("t-1"))
	if done.Operation.Phase != rollout.Succeeded || done.Operation.Target != "target-t-1" || done.Operation.Revisions[0] != first {
		t.Errorf("the operation ended as %+v, want Succeeded at %s", done.Operation, first)
	}
	done = r.untilLive("acc-write", "is Synced and Healthy at the commit, as compared with the spec", func(l rollout.Live) bool {
		return l.Sync.Status == rollout.Synced && l.Sync.OfSpec && l.Sync.Revisions[0] == first && l.Health.Type == rollout.Healthy
	})
	if d := done.Deployed; d.ID != 1 || !d.OfSpec || d.Target != "target-t-1" || d.Revisions[0] != first {
		t.Errorf("the history says %+v, want the first entry, of the spec, at %s", d, first)
	}
	if done.StepLabel != "step 01" || len(done.Finalizers) != 1 {
		t.Errorf("step %q and finalizers %v, want step 01 and one finalizer", done.StepLabel, done.Finalizers)
	}

	// Created again, it exists already.
	if again := r.Do(l.ctx, r.write("acc-write", "", "t-x", first)); !again.Conflict {
		t.Errorf("a second creation gave %+v, want a conflict", again)
	}

	// Update: what others have put there survives, what is not rendered any more goes.
	_, err := l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-write", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"theirs":"1"},"annotations":{"theirs":"1"},"finalizers":["`+resourcesFinalizer+`","example.com/theirs"]}}`), metav1.PatchOptions{})
	l.must(err)
	r.desired["acc-write"] = l.rendered("acc-write", map[string]any{"tier": "web"})
	second := l.commit("2", 0)
	seen := r.untilLive("acc-write", "has the foreign finalizer", func(l rollout.Live) bool { return len(l.Finalizers) == 2 })
	written := r.again(r.write("acc-write", "", "t-2", second))
	if written.Operation.Pending != "t-2" || written.Operation.Phase != "" {
		t.Errorf("right after the write the operation is %+v, want pending and no state of before", written.Operation)
	}
	r.untilLive("acc-write", "has synced again", ended("t-2"))
	// Argo CD may still compare with the commit that it knew before.
	r.ok(rollout.Action{Verb: rollout.Refresh, App: "acc-write", RefreshID: newRefreshID()})
	done = r.untilLive("acc-write", "is Synced at the second commit", func(l rollout.Live) bool {
		return l.Sync.Status == rollout.Synced && l.Sync.Revisions[0] == second
	})
	if done.Deployed.ID != 2 || done.Deployed.Revisions[0] != second {
		t.Errorf("the history says %+v, want a second entry at %s", done.Deployed, second)
	}
	obj := l.get("acc-write")
	if labels := obj.GetLabels(); labels["theirs"] != "1" || labels["tier"] != "web" || labels["env"] != "" || obj.GetAnnotations()["theirs"] != "1" {
		t.Errorf("labels %v, annotations %v: foreign ones must survive, ours be replaced", labels, obj.GetAnnotations())
	}
	_, err = l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-write", types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+resourcesFinalizer+`"]}}`), metav1.PatchOptions{})
	l.must(err)
	r.untilLive("acc-write", "has lost the foreign finalizer", func(l rollout.Live) bool { return len(l.Finalizers) == 1 })

	// On an old version nothing is written.
	if stale := r.Do(l.ctx, r.write("acc-write", seen.Version, "t-3", second)); !stale.Conflict || stale.Live == nil {
		t.Errorf("a write on an old version gave %+v, want a conflict with the newer state", stale)
	}
	r.remove("acc-write")
}

// Argo CD writes what it has compared through Go structs; what says nothing vanishes there, and
// must not look like another spec. With several sources each has a revision of its own.
func TestAccComparisonAndHistoryAreOfTheSpec(t *testing.T) {
	l := newLab(t, "acc-of-spec")
	first := l.commit("1", 0)
	l.must(l.repo.Write("more/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"))
	second, err := l.repo.Commit("more")
	l.must(err)
	source := func(path string) map[string]any {
		return map[string]any{"repoURL": l.repo.URL(), "path": path, "targetRevision": "main", "ref": "",
			"directory": map[string]any{"recurse": false, "exclude": "", "jsonnet": map[string]any{"libs": []any{}}}}
	}
	single, several := l.rendered("acc-of-spec-1", nil), l.rendered("acc-of-spec-2", nil)
	dict(single, "spec")["source"] = source("app")
	dict(several, "spec")["sources"] = []any{source("app"), source("more")}
	delete(dict(several, "spec"), "source")
	for _, app := range []map[string]any{single, several} {
		spec := dict(app, "spec")
		spec["destination"] = map[string]any{"name": inClusterName, "namespace": nameOf(app), "server": ""}
		spec["ignoreDifferences"] = []any{map[string]any{"kind": "ConfigMap", "group": "", "jsonPointers": []any{"/data/ignored"}}}
		spec["info"] = []any{}
	}
	r := l.session(SessionOptions{}, single, several)
	pins := map[string][]string{"acc-of-spec-1": {first}, "acc-of-spec-2": {first, second}}
	for name, revisions := range pins {
		action := r.write(name, "", "t-"+name, "")
		action.Sync.Revisions = revisions
		r.ok(action)
		done := r.untilLive(name, "is Healthy, compared with the spec and deployed", func(l rollout.Live) bool {
			return l.Sync.OfSpec && l.Health.Type == rollout.Healthy && l.Deployed.ID > 0 && !l.Operation.Active()
		})
		for what, got := range map[string][]string{"operation": done.Operation.Revisions, "history": done.Deployed.Revisions} {
			if !slices.Equal(got, revisions) {
				t.Errorf("%s: the %s says %v, want the pins %v", name, what, got, revisions)
			}
		}
		if !done.Deployed.OfSpec || len(done.Sync.Revisions) != len(revisions) {
			t.Errorf("%s: deployed %+v, compared %+v", name, done.Deployed, done.Sync)
		}
	}

	// Another destination makes the comparison one of another spec, until it is made again.
	dict(single, "spec", "destination")["namespace"] = "acc-of-spec-3"
	if changed := r.again(rollout.Action{Verb: rollout.Write, App: "acc-of-spec-1", StepLabel: "step 01"}); changed.Sync.OfSpec {
		t.Error("right after a change of the destination the comparison counts as one of the spec")
	}
	r.untilLive("acc-of-spec-1", "is compared with the new destination", func(l rollout.Live) bool {
		return l.Sync.OfSpec && l.Sync.Status == rollout.OutOfSync
	})
	r.remove("acc-of-spec-1")
	r.remove("acc-of-spec-2")
}

func TestAccWriteOverARunningOperationIsRefused(t *testing.T) {
	l := newLab(t, "acc-running")
	sha := l.commit("1", 60)
	r := l.session(SessionOptions{}, l.rendered("acc-running", nil))
	r.ok(r.write("acc-running", "", "t-1", sha))
	running := r.untilLive("acc-running", "waits for its hook", func(l rollout.Live) bool {
		return l.Operation.Phase == rollout.Running && l.Operation.Token == "t-1" && strings.Contains(l.Operation.Message, "hook")
	})
	if second := r.Do(l.ctx, r.write("acc-running", running.Version, "t-2", sha)); !second.Conflict {
		t.Errorf("a write over a running operation gave %+v, want a conflict", second)
	}

	// Terminating another operation than the one that runs changes nothing.
	r.ok(rollout.Action{Verb: rollout.Terminate, App: "acc-running", Version: running.Version, Token: "t-0"})
	if now := Facts(l.get("acc-running")); now.Operation.Phase != rollout.Running {
		t.Errorf("the end of another operation was asked for, and the phase is %s", now.Operation.Phase)
	}
	// A patch on a token that does not run (any more) is refused by the API server itself.
	obj := r.latest("acc-running")
	if _, err := r.terminateRunning(l.ctx, obj, dict(obj.Object, "status", "operationState"), "t-0"); !errors.Is(err, ErrConflict) {
		t.Errorf("the patch with the wrong token gave %v, want a conflict", err)
	}
	r.again(rollout.Action{Verb: rollout.Terminate, App: "acc-running", Token: "t-1"})
	over := r.untilLive("acc-running", "has been terminated", ended("t-1"))
	if over.Operation.Phase != rollout.Failed || !strings.Contains(over.Operation.Message, "terminated") {
		t.Errorf("the operation ended as %s %q, want Failed, terminated", over.Operation.Phase, over.Operation.Message)
	}
	r.remove("acc-running")
}

func TestAccForeignOperationIsTerminatedAndOneNotPickedUpIsWithdrawn(t *testing.T) {
	l := newLab(t, "acc-foreign")
	sha := l.commit("1", 60)
	r := l.session(SessionOptions{}, l.rendered("acc-foreign", nil))
	created := r.ok(rollout.Action{Verb: rollout.Write, App: "acc-foreign", StepLabel: "step 01"})
	if created.Operation.Pending != "" {
		t.Fatalf("a write without an operation started %+v", created.Operation)
	}
	r.untilLive("acc-foreign", "is compared", func(l rollout.Live) bool { return len(l.Sync.Revisions) > 0 })
	_, err := l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-foreign", types.MergePatchType,
		[]byte(`{"operation":{"initiatedBy":{"username":"somebody"},"sync":{"revision":"`+sha+`","syncOptions":["CreateNamespace=true"]}}}`), metav1.PatchOptions{})
	l.must(err)
	r.untilLive("acc-foreign", "runs somebody's operation", func(l rollout.Live) bool {
		return l.Operation.Phase == rollout.Running && l.Operation.Token == foreign && l.Operation.Target == ""
	})
	r.again(rollout.Action{Verb: rollout.Terminate, App: "acc-foreign"})
	over := r.untilLive("acc-foreign", "has been terminated", func(l rollout.Live) bool { return l.Operation.Phase != "" && !l.Operation.Active() })

	// With the controller told to leave it alone, an operation stays where it is put.
	_, err = l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-foreign", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"argocd.argoproj.io/skip-reconcile":"true"}}}`), metav1.PatchOptions{})
	l.must(err)
	r.untilLive("acc-foreign", "is to be skipped", func(l rollout.Live) bool { return l.SkipReconcile && l.Rank > over.Rank })
	r.again(r.write("acc-foreign", "", "t-9", sha))
	withdrawn := r.again(rollout.Action{Verb: rollout.Terminate, App: "acc-foreign", Token: "t-9"})
	if withdrawn.Operation.Active() || withdrawn.Operation.Token == "t-9" {
		t.Errorf("after the withdrawal the operation is %+v", withdrawn.Operation)
	}
	_, err = l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-foreign", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"argocd.argoproj.io/skip-reconcile":null}}}`), metav1.PatchOptions{})
	l.must(err)
	r.untilLive("acc-foreign", "is reconciled again", func(l rollout.Live) bool { return !l.SkipReconcile })
	r.remove("acc-foreign")
}

func TestAccMarkDisableAndRefreshChangeNothingElse(t *testing.T) {
	l := newLab(t, "acc-mark")
	sha := l.commit("1", 0)
	app := l.rendered("acc-mark", map[string]any{"env": "dev"})
	dict(app, "spec", "syncPolicy")["automated"] = map[string]any{"selfHeal": true}
	r := l.session(SessionOptions{}, app)
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-mark", StepLabel: "step 01"})
	synced := r.untilLive("acc-mark", "has synced itself", func(l rollout.Live) bool {
		return l.AutomatedOn && l.Sync.Status == rollout.Synced && !l.Operation.Active() && l.Operation.Phase == rollout.Succeeded && l.Deployed.ID > 0
	})
	if synced.Operation.Token != foreign || synced.Operation.Revisions[0] != sha {
		t.Errorf("automated sync left %+v, want a foreign operation at %s", synced.Operation, sha)
	}
	hash := synced.Hash
	off := r.again(rollout.Action{Verb: rollout.DisableAutomated, App: "acc-mark"})
	spec := dict(l.get("acc-mark").Object, "spec")
	if off.AutomatedOn || !truth(spec, "syncPolicy", "automated", "selfHeal") || len(list(spec, "syncPolicy", "syncOptions")) != 1 {
		t.Errorf("after switching off, spec.syncPolicy is %v", spec["syncPolicy"])
	}
	marked := r.again(rollout.Action{Verb: rollout.Mark, App: "acc-mark", StepLabel: "step 02"})
	if marked.StepLabel != "step 02" || marked.Hash == hash {
		t.Errorf("marked as %q with hash %s (before the switch %s)", marked.StepLabel, marked.Hash, hash)
	}
	next := l.commit("2", 0)
	asked := r.again(rollout.Action{Verb: rollout.Refresh, App: "acc-mark", RefreshID: "2026-01-01T00:00:00.5Z"})
	if asked.RefreshID != "2026-01-01T00:00:00.5Z" {
		t.Errorf("asked for a refresh, outstanding is %q", asked.RefreshID)
	}
	answered := r.untilLive("acc-mark", "is compared", func(l rollout.Live) bool { return l.RefreshID == "" && l.Rank > asked.Rank })
	if answered.Sync.Revisions[0] != next || answered.Sync.Status != rollout.OutOfSync {
		t.Errorf("after the refresh the comparison is %+v, want OutOfSync at %s", answered.Sync, next)
	}

	// The same for Read, from the client.
	third := l.commit("3", 0)
	refreshed, err := l.client.Refresh(l.ctx, l.owner, []string{"acc-mark", "absent"}, patience)
	l.must(err)
	if got := refreshed.Live["acc-mark"]; len(got.Sync.Revisions) != 1 || got.Sync.Revisions[0] != third || len(refreshed.Unanswered) != 1 {
		t.Errorf("refreshed to %+v, unanswered %v; want %s, and only the absent one", got.Sync, refreshed.Unanswered, third)
	}
	r.untilLive("acc-mark", "is as refreshed", func(l rollout.Live) bool { return l.Rank >= refreshed.Live["acc-mark"].Rank })
	r.remove("acc-mark")
}

func TestAccDeletionTakesTheResourcesOrLeavesThem(t *testing.T) {
	for _, cascade := range []Cascade{CascadeDelete, CascadeOrphan} {
		t.Run(string(cascade), func(t *testing.T) {
			name := "acc-delete-" + string(cascade)
			l := newLab(t, name)
			sha := l.commit("1", 0)
			r := l.session(SessionOptions{Cascade: cascade}, l.rendered(name, nil))
			r.ok(r.write(name, "", "t-1", sha))
			r.untilLive(name, "is Synced", func(l rollout.Live) bool { return l.Sync.Status == rollout.Synced && !l.Operation.Active() })
			prepared := r.again(rollout.Action{Verb: rollout.PrepareDelete, App: name, RefreshID: newRefreshID()})
			if has := len(prepared.Finalizers) > 0; has != (cascade == CascadeDelete) {
				t.Errorf("prepared with finalizers %v", prepared.Finalizers)
			}
			r.untilLive(name, "is compared", func(l rollout.Live) bool { return l.RefreshID == "" && l.Rank > prepared.Rank })
			if other := r.Do(l.ctx, rollout.Action{Verb: rollout.Delete, App: name, UID: "00000000-0000-0000-0000-000000000000"}); !other.NotFound {
				t.Errorf("the deletion of another UID gave %+v, want not found", other)
			}
			r.ok(rollout.Action{Verb: rollout.Delete, App: name, UID: prepared.UID})
			gone := r.until("the end", func(e rollout.Event) bool { return e.Name == name && e.Live == nil })
			if gone.UID != prepared.UID {
				t.Errorf("gone is %s, want %s", gone.UID, prepared.UID)
			}
			if again := r.Do(l.ctx, rollout.Action{Verb: rollout.Delete, App: name, UID: prepared.UID}); !again.NotFound {
				t.Errorf("a second deletion gave %+v, want not found", again)
			}
			_, err := l.client.dynamic.Resource(configMaps).Namespace(name).Get(l.ctx, name, metav1.GetOptions{})
			if left := err == nil; left != (cascade == CascadeOrphan) {
				t.Errorf("the ConfigMap is left: %v (%v)", left, err)
			}
		})
	}
}

func TestAccListAndGetTellWhoseAnApplicationIs(t *testing.T) {
	l := newLab(t, "acc-owner")
	l.commit("1", 0)
	apps := l.client.apps(l.owner.Namespace)
	create := func(name string, change func(*unstructured.Unstructured)) string {
		t.Helper()
		obj := buildApplication(l.owner, name, l.rendered(name, nil), nil, "step 01", 0)
		obj.SetFinalizers(nil)
		change(obj)
		created, err := apps.Create(l.ctx, obj, metav1.CreateOptions{})
		l.must(err)
		t.Cleanup(func() { _ = apps.Delete(context.Background(), name, metav1.DeleteOptions{}) })
		return string(created.GetUID())
	}
	create("acc-owner-ours", func(*unstructured.Unstructured) {})
	create("acc-owner-collision", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{OwnerAnnotation: "argocd/another"})
	})
	bare := create("acc-owner-bare", func(o *unstructured.Unstructured) { o.SetLabels(nil); o.SetAnnotations(nil) })
	create("acc-owner-set", func(o *unstructured.Unstructured) {
		o.SetLabels(nil)
		o.SetAnnotations(nil)
		controller := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "theirs", UID: "11111111-0000-0000-0000-000000000000", Controller: &controller}})
	})

	live, objs, err := l.client.List(l.ctx, l.owner)
	l.must(err)
	if len(live) != 1 || live[0].Name != "acc-owner-ours" || len(objs) != 1 {
		t.Errorf("the set has %+v, want acc-owner-ours alone", live)
	}
	names := []string{"acc-owner-ours", "acc-owner-collision", "acc-owner-bare", "acc-owner-set", "acc-owner-absent"}
	many := names
	for i := range fewNames {
		many = append(many, fmt.Sprintf("acc-owner-absent-%d", i))
	}
	for _, asked := range [][]string{names, many} {
		found, err := l.client.Get(l.ctx, l.owner, asked...)
		l.must(err)
		for name, want := range map[string]Existing{
			"acc-owner-ours":      {Holder: HeldByUs, Labelled: true},
			"acc-owner-collision": {Holder: HeldByOtherSet, HolderName: "argocd/another", Labelled: true},
			"acc-owner-bare":      {Holder: HeldByNobody},
			"acc-owner-set":       {Holder: HeldByController, HolderName: "argocd/theirs"},
		} {
			got, ok := found[name]
			if !ok && name == "acc-owner-set" {
				continue // the garbage collector was faster: its owner does not exist
			}
			want.Name, want.UID, want.Version = name, got.UID, got.Version
			if got != want || got.UID == "" {
				t.Errorf("asking for %d names: %s is %+v, want %+v", len(asked), name, got, want)
			}
		}
		if _, ok := found["acc-owner-absent"]; ok {
			t.Error("an Application that does not exist was found")
		}
	}

	// One to adopt is seen though it does not carry our label, and carries it after the write.
	r := l.session(SessionOptions{Adopt: map[string]string{"acc-owner-bare": bare, "acc-owner-collision": "00000000-0000-0000-0000-000000000000"}},
		l.rendered("acc-owner-bare", map[string]any{"env": "dev"}))
	if len(r.live) != 2 || r.live["acc-owner-bare"] == nil {
		t.Fatalf("the session sees %v, want ours and the one to adopt", r.live)
	}
	r.again(rollout.Action{Verb: rollout.Write, App: "acc-owner-bare", StepLabel: "step 01"})
	live, _, err = l.client.List(l.ctx, l.owner)
	l.must(err)
	if len(live) != 2 {
		t.Errorf("after the adoption the set has %+v, want two", live)
	}

	// Another set's Application, and one that was replaced, are not touched.
	if result := r.Do(l.ctx, rollout.Action{Verb: rollout.Mark, App: "acc-owner-collision", StepLabel: "x"}); !result.NotFound {
		t.Errorf("marking another set's Application gave %+v, want not found", result)
	}
}

func TestAccLostMarksEndTheRun(t *testing.T) {
	l := newLab(t, "acc-lost")
	l.commit("1", 0)
	app := l.rendered("acc-lost", nil)
	delete(dict(app, "metadata"), "finalizers")
	r := l.session(SessionOptions{}, app)
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-lost", StepLabel: "step 01"})
	t.Cleanup(func() {
		_ = l.client.apps(l.owner.Namespace).Delete(context.Background(), "acc-lost", metav1.DeleteOptions{})
	})
	_, err := l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-lost", types.MergePatchType, []byte(`{"metadata":{"labels":{"`+SetLabel+`":null}}}`), metav1.PatchOptions{})
	l.must(err)
	timeout := time.After(patience)
	for open := true; open; {
		select {
		case _, open = <-r.events:
		case <-timeout:
			t.Fatal("the run goes on with an Application that is not marked as ours any more")
		}
	}
	if err := r.Session.Err(); !errors.Is(err, ErrWatchLost) || !strings.Contains(err.Error(), "acc-lost") {
		t.Errorf("the run ended with %v, want the Application's name", err)
	}
}

func TestAccRecordIsGuardedSplitAndDeleted(t *testing.T) {
	l := newLab(t, "acc-record")
	if r, err := l.client.LoadRecord(l.ctx, l.owner); r != nil || err != nil {
		t.Fatalf("before the first: %v, %v", r, err)
	}
	first := &Record{Token: "token", State: StateCreating, Payload: bigPayload(t, 2*recordPartSize+1000)}
	l.must(l.client.SaveRecord(l.ctx, l.owner, first))
	loaded, err := l.client.LoadRecord(l.ctx, l.owner)
	l.must(err)
	if loaded.Token != "token" || loaded.State != StateCreating || len(loaded.Proven) != len(first.Proven) || loaded.parts != 2 {
		t.Errorf("loaded %s, %s, %d proven in %d parts", loaded.Token, loaded.State, len(loaded.Proven), loaded.parts)
	}

	loaded.State, loaded.Proven = StateComplete, map[string]string{"dev": "main@1f3a9c2 #5be0"}
	l.must(l.client.SaveRecord(l.ctx, l.owner, loaded))
	if err := l.client.SaveRecord(l.ctx, l.owner, first); !errors.Is(err, ErrConflict) {
		t.Errorf("saving on an old version gave %v, want a conflict", err)
	}
	if err := l.client.SaveRecord(l.ctx, l.owner, &Record{Token: "other"}); !errors.Is(err, ErrConflict) {
		t.Errorf("a second new record gave %v, want a conflict", err)
	}
	again, err := l.client.LoadRecord(l.ctx, l.owner)
	l.must(err)
	if again.State != StateComplete || again.Proven["dev"] != "main@1f3a9c2 #5be0" || again.parts != 0 {
		t.Errorf("loaded again: %+v", again)
	}
	l.must(l.client.SaveRecord(l.ctx, l.owner, again))

	l.must(l.client.DeleteRecord(l.ctx, l.owner))
	l.must(l.client.DeleteRecord(l.ctx, l.owner))
	left, err := l.client.dynamic.Resource(configMaps).Namespace(l.owner.Namespace).List(l.ctx, metav1.ListOptions{LabelSelector: SetLabel + "=" + l.owner.Hash()})
	l.must(err)
	if len(left.Items) != 0 {
		t.Errorf("%d ConfigMaps are left", len(left.Items))
	}
}

func TestAccPreflightFindsWhatTheAPIServerAndArgoCDWouldRefuse(t *testing.T) {
	l := newLab(t, "acc-preflight")
	good := l.rendered("acc-preflight-good", nil)
	unknownField := l.rendered("acc-preflight-field", nil)
	dict(unknownField, "spec", "source")["pathh"] = "x"
	noProject := l.rendered("acc-preflight-project", nil)
	dict(noProject, "spec")["project"] = "absent"
	noCluster := l.rendered("acc-preflight-cluster", nil)
	dict(noCluster, "spec")["destination"] = map[string]any{"name": "absent", "namespace": "x"}
	narrow := l.rendered("acc-preflight-narrow", nil)
	dict(narrow, "spec")["project"] = "acc-narrow"
	projects := l.client.dynamic.Resource(appProjects).Namespace(l.cluster.ArgoNamespace())
	_, err := projects.Create(l.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": map[string]any{"name": "acc-narrow"},
		"spec": map[string]any{"sourceRepos": []any{"https://git.example.com/*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "team-*"}}},
	}}, metav1.CreateOptions{})
	l.must(err)
	t.Cleanup(func() { _ = projects.Delete(context.Background(), "acc-narrow", metav1.DeleteOptions{}) })

	problems, err := l.client.Preflight(l.ctx, l.owner, []map[string]any{good, unknownField, noProject, noCluster, narrow}, nil)
	l.must(err)
	var got []string
	for _, p := range problems {
		got = append(got, p.App+": "+p.Summary)
		if p.Warning {
			t.Errorf("%+v is only a warning", p)
		}
	}
	want := []string{
		"acc-preflight-cluster: " + SummaryDestination,
		"acc-preflight-field: " + SummaryRefused,
		"acc-preflight-narrow: " + SummaryNotPermitted,
		"acc-preflight-narrow: " + SummaryNotPermitted,
		"acc-preflight-project: " + SummaryNoProject,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found:\n%+v\nwant:\n%s", problems, strings.Join(want, "\n"))
	}
	if !strings.Contains(fmt.Sprint(problems), "spec.source.pathh") {
		t.Errorf("the unknown field is not named in %+v", problems)
	}
	if _, err := l.client.apps(l.owner.Namespace).Get(l.ctx, "acc-preflight-good", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run created an Application: %v", err)
	}

	unknown, err := l.client.KnownDestinations(l.ctx, []*unstructured.Unstructured{{Object: good}, {Object: noCluster}})
	l.must(err)
	if len(unknown) != 1 || !strings.Contains(unknown["acc-preflight-cluster"], "absent") {
		t.Errorf("unknown destinations: %v", unknown)
	}
}

func TestAccNamespaceUID(t *testing.T) {
	l := newLab(t, "acc-uid")
	uid, err := l.client.NamespaceUID(l.ctx)
	l.must(err)
	if len(uid) != 36 {
		t.Errorf("the UID is %q", uid)
	}
}
