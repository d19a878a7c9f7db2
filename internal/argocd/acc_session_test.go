package argocd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestAccWriteStartsTheOperationInTheSameRequest(t *testing.T) {
	l := newLab(t, "acc-write")
	first := l.commit("1", 0)
	r := l.session(SessionOptions{}, l.rendered("acc-write", map[string]any{"env": "dev"}))

	// Create: spec, marks and operation in one POST.
	r.ok(r.write("acc-write", "", "t-1", first))
	done := r.untilLive("acc-write", "has synced", ended("t-1"))
	if done.Operation.Phase != rollout.Succeeded || done.Operation.Target != done.Hash || done.Operation.Revisions[0] != first {
		t.Errorf("the operation ended as %+v, want Succeeded at %s", done.Operation, first)
	}
	done = r.untilLive("acc-write", "is Synced and Healthy at the commit, as compared with the spec", func(l rollout.Live) bool {
		return l.Sync.Status == rollout.Synced && l.Sync.OfSpec && l.Sync.Revisions[0] == first && l.Health.Type == rollout.Healthy
	})
	if d := done.Deployed; d.ID != 1 || !d.OfSpec || d.Target != done.Hash || d.Revisions[0] != first {
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

// Argo CD starts an operation with a JSON patch, which needs a status to be there; without one it would try
// again after a second, in every step that creates something. Nobody looks into this namespace, so what is
// stored stays as it was written.
func TestAccArgoCDCanStartTheOperationOfAnApplicationThatItHasNotSeen(t *testing.T) {
	l := newLab(t, "acc-unseen")
	l.owner.Namespace = metav1.NamespaceDefault
	r := l.session(SessionOptions{}, l.rendered("acc-unseen-1", nil), l.rendered("acc-unseen-2", nil))
	r.ok(r.write("acc-unseen-1", "", "t-1", "1"))
	alone := r.write("acc-unseen-2", "", "", "1")
	alone.Sync = nil
	written := r.ok(alone)
	r.ok(r.write("acc-unseen-2", written.Version, "t-2", "1"))
	for _, name := range []string{"acc-unseen-1", "acc-unseen-2"} {
		_, err := l.client.apps(l.owner.Namespace).Patch(l.ctx, name, types.JSONPatchType,
			[]byte(`[{"op":"add","path":"/status/operationState","value":{"phase":"Running","startedAt":"2026-01-01T00:00:00Z","operation":{}}}]`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Errorf("starting the operation of %s as Argo CD does: %v", name, err)
		}
	}
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
	r.again(rollout.Action{Verb: rollout.Terminate, App: "acc-running", Token: "t-0"})
	if now := Facts(l.get("acc-running"), nil); now.Operation.Phase != rollout.Running {
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
	refreshed, err := l.client.Refresh(l.ctx, l.owner, nil, []string{"acc-mark", "absent"}, patience)
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
			if old := r.Do(l.ctx, rollout.Action{Verb: rollout.Delete, App: name, UID: prepared.UID, Version: prepared.Version}); !old.Conflict {
				t.Errorf("the deletion of an old version gave %+v, want a conflict", old)
			}
			_, err := r.delete(l.ctx, rollout.Action{App: name, UID: prepared.UID, Version: prepared.Version})
			if !errors.Is(err, ErrConflict) {
				t.Errorf("the API server said %v to the deletion of an old version, want a conflict", err)
			}
			r.deleteNow(name, prepared.UID)
			gone := r.until("the end", func(e rollout.Event) bool { return e.Name == name && e.Live == nil })
			if gone.UID != prepared.UID {
				t.Errorf("gone is %s, want %s", gone.UID, prepared.UID)
			}
			if again := r.Do(l.ctx, rollout.Action{Verb: rollout.Delete, App: name, UID: prepared.UID}); !again.NotFound {
				t.Errorf("a second deletion gave %+v, want not found", again)
			}
			_, err = l.client.dynamic.Resource(configMaps).Namespace(name).Get(l.ctx, name, metav1.GetOptions{})
			if left := err == nil; left != (cascade == CascadeOrphan) {
				t.Errorf("the ConfigMap is left: %v (%v)", left, err)
			}
		})
	}
}

// A refresh may be under way when somebody puts another Application of the same name in the place of ours.
func TestAccRefreshOfAnApplicationThatWasReplacedTouchesNobodyElses(t *testing.T) {
	l := newLab(t, "acc-replaced")
	l.commit("1", 0)
	apps, app := l.client.apps(l.owner.Namespace), l.rendered("acc-replaced", nil)
	delete(dict(app, "metadata"), "finalizers")
	r := l.session(SessionOptions{}, app)
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-replaced", StepLabel: "step 01"})
	late := l.client.Session(l.owner, nil, SessionOptions{})
	late.remember(l.get("acc-replaced"))
	created := l.replace("acc-replaced", l.rendered("acc-replaced", nil))
	r.until("the end of ours", func(e rollout.Event) bool { return e.Name == "acc-replaced" && e.Live == nil })
	changes, err := apps.Watch(l.ctx, metav1.ListOptions{ResourceVersion: created.GetResourceVersion(), FieldSelector: "metadata.name=acc-replaced"})
	l.must(err)
	defer changes.Stop()
	ours := late.latest("acc-replaced")
	bare := ours.DeepCopy()
	bare.SetAnnotations(nil)
	for name, seen := range map[string]*unstructured.Unstructured{"with annotations": ours, "without annotations": bare} {
		late.remember(seen)
		if result := late.Do(l.ctx, rollout.Action{Verb: rollout.Refresh, App: "acc-replaced", RefreshID: newRefreshID()}); !result.NotFound {
			t.Errorf("the refresh of one %s gave %+v, want not found", name, result)
		}
	}
	_, err = apps.Patch(l.ctx, "acc-replaced", types.MergePatchType, []byte(`{"metadata":{"labels":{"all":"seen"}}}`), metav1.PatchOptions{})
	l.must(err)
	for change := range changes.ResultChan() {
		now := change.Object.(*unstructured.Unstructured)
		if now.GetLabels()["all"] != "" {
			return
		}
		if now.GetAnnotations()[refreshAnnotation] != "" {
			t.Fatalf("the Application of somebody else was asked to be compared: %v", now.GetAnnotations())
		}
	}
	t.Fatal("the watch has ended")
}

// Somebody may restore a backup of it, with everything that Argo CD had said of it, while a termination is under way.
func TestAccTerminationOfAnApplicationThatWasReplacedTouchesNobodyElses(t *testing.T) {
	l := newLab(t, "acc-restored")
	l.commit("1", 0)
	app := l.rendered("acc-restored", nil)
	delete(dict(app, "metadata"), "finalizers")
	dict(app, "metadata")["annotations"] = map[string]any{"argocd.argoproj.io/skip-reconcile": "true"}
	r := l.session(SessionOptions{}, app)
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-restored", StepLabel: "step 01"})
	_, err := l.client.apps(l.owner.Namespace).Patch(l.ctx, "acc-restored", types.MergePatchType, []byte(`{"status":{"operationState":{
		"phase":"Running","startedAt":"2026-01-01T00:00:00Z","operation":{"info":[{"name":"`+tokenInfo+`","value":"t-1"}]}}}}`), metav1.PatchOptions{})
	l.must(err)
	ours := l.get("acc-restored")
	late := l.client.Session(l.owner, nil, SessionOptions{})
	late.remember(ours)
	backup := ours.DeepCopy()
	backup.SetUID("")
	backup.SetResourceVersion("")
	l.replace("acc-restored", backup.Object)
	if result := late.Do(l.ctx, rollout.Action{Verb: rollout.Terminate, App: "acc-restored", Token: "t-1"}); !result.Conflict {
		t.Errorf("the termination gave %+v, want a conflict", result)
	}
	if phase := text(l.get("acc-restored").Object, "status", "operationState", "phase"); phase != rollout.Running {
		t.Errorf("the operation of somebody else's Application is %s, want Running", phase)
	}
}

// replace puts an Application of somebody else in the place of ours, which has no finalizers.
func (l *lab) replace(name string, theirs map[string]any) *unstructured.Unstructured {
	l.Helper()
	apps := l.client.apps(l.owner.Namespace)
	l.must(apps.Delete(l.ctx, name, metav1.DeleteOptions{}))
	theirs["apiVersion"], theirs["kind"] = "argoproj.io/v1alpha1", "Application"
	delete(dict(theirs, "metadata"), "finalizers")
	created, err := apps.Create(l.ctx, &unstructured.Unstructured{Object: theirs}, metav1.CreateOptions{})
	l.must(err)
	l.Cleanup(func() { _ = apps.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return created
}
