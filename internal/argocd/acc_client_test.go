package argocd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestAccListAndGetTellWhoseAnApplicationIs(t *testing.T) {
	l := newLab(t, "acc-owner")
	l.commit("1", 0)
	apps := l.client.apps(l.owner.Namespace)
	create := func(name string, change func(*unstructured.Unstructured)) string {
		t.Helper()
		obj := (&Client{}).buildApplication(l.owner, name, l.rendered(name, nil), nil, "step 01", 0)
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
	found, err := l.client.Get(l.ctx, l.owner, names...)
	l.must(err)
	// The dry run of their creation finds the same, but for the one that is known.
	var objects []map[string]any
	for _, name := range names {
		objects = append(objects, l.rendered(name, nil))
	}
	problems, taken, err := l.client.Preflight(l.ctx, l.owner, objects, objs)
	l.must(err)
	if len(problems) > 0 {
		t.Errorf("the preflight has found %+v", problems)
	}
	for name, want := range map[string]Existing{
		"acc-owner-ours":      {Holder: HeldByUs, Labelled: true},
		"acc-owner-collision": {Holder: HeldByOtherSet, HolderName: "argocd/another", Labelled: true},
		"acc-owner-bare":      {Holder: HeldByNobody},
		"acc-owner-set":       {Holder: HeldByController, HolderName: "argocd/theirs"},
	} {
		for how, found := range map[string]map[string]Existing{"asked for": found, "in the preflight": taken} {
			got, ok := found[name]
			if !ok && (name == "acc-owner-set" || name == "acc-owner-ours" && how == "in the preflight") {
				continue // the garbage collector was faster: its owner does not exist
			}
			want.Name, want.UID, want.Version = name, got.UID, got.Version
			if got != want || got.UID == "" {
				t.Errorf("%s: %s is %+v, want %+v", how, name, got, want)
			}
		}
	}
	if _, ok := found["acc-owner-absent"]; ok || taken["acc-owner-absent"].Name != "" {
		t.Error("an Application that does not exist was found")
	}

	// One to adopt is seen though it does not carry our label, and carries it after the write.
	r := l.session(SessionOptions{Adopt: map[string]string{"acc-owner-bare": bare, "acc-owner-collision": "00000000-0000-0000-0000-000000000000"}},
		l.rendered("acc-owner-bare", map[string]any{"env": "dev"}), l.rendered("acc-owner-collision", nil), l.rendered("acc-owner-ours", nil))
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
	for name, want := range map[string]string{"acc-owner-collision": "belongs to argocd/another", "acc-owner-ours": ""} {
		result := r.Do(l.ctx, rollout.Action{Verb: rollout.Write, App: name, StepLabel: "x"})
		if want == "" && !result.Conflict || want != "" && (result.Err == nil || !strings.Contains(result.Err.Error(), want)) {
			t.Errorf("creating %s, which exists, gave %+v, want %q", name, result, want)
		}
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

	again.Payload = bigPayload(t, 2*recordPartSize+1000)
	l.must(l.client.SaveRecord(l.ctx, l.owner, again))
	if err := l.client.DeleteRecord(l.ctx, l.owner, loaded); !errors.Is(err, ErrConflict) {
		t.Errorf("deleting an old version gave %v, want a conflict", err)
	}
	if _, err := l.client.LoadRecord(l.ctx, l.owner); err != nil {
		t.Errorf("deleting an old version has damaged the new one: %v", err)
	}
	l.must(l.client.DeleteRecord(l.ctx, l.owner, again))
	l.must(l.client.DeleteRecord(l.ctx, l.owner, again))
	l.must(l.client.DeleteRecord(l.ctx, l.owner, nil))
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

	problems, _, err := l.client.Preflight(l.ctx, l.owner, []map[string]any{good, unknownField, noProject, noCluster, narrow}, nil)
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

// limited is a client whose credentials may do nothing but the verbs on Applications.
func (l *lab) limited(name string, verbs ...any) *Client {
	l.Helper()
	for resource, object := range map[string]map[string]any{
		"roles": {"kind": "Role", "rules": []any{map[string]any{"apiGroups": []any{"argoproj.io"}, "resources": []any{"applications"}, "verbs": verbs}}},
		"rolebindings": {"kind": "RoleBinding", "roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}}},
	} {
		object["apiVersion"], object["metadata"] = "rbac.authorization.k8s.io/v1", map[string]any{"name": name}
		rbac := l.client.dynamic.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}).Namespace(l.owner.Namespace)
		_, err := rbac.Create(l.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		l.must(err)
		l.Cleanup(func() { _ = rbac.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	config := l.cluster.RESTConfig()
	config.Impersonate.UserName = name
	client, err := New(config, l.cluster.ArgoNamespace())
	l.must(err)
	return client
}

func TestAccWhatMayNotBeReadIsSaidAndNotChecked(t *testing.T) {
	l := newLab(t, "acc-limited")
	l.commit("1", 0)
	app := l.rendered("acc-limited", nil)
	r := l.session(SessionOptions{}, app)
	r.ok(rollout.Action{Verb: rollout.Write, App: "acc-limited", StepLabel: "step 01"})
	c := l.limited("acc-limited", "get", "list", "watch", "create", "update")
	settles(t, "<nil>", func() string { _, _, err := c.List(l.ctx, l.owner); return fmt.Sprint(err) })

	if _, err := c.NamespaceUID(l.ctx); !errors.Is(err, ErrForbidden) {
		t.Errorf("reading the namespace gave %v, want forbidden", err)
	}
	if _, err := c.LoadRecord(l.ctx, l.owner); !errors.Is(err, ErrForbidden) {
		t.Errorf("reading the record gave %v, want forbidden", err)
	}
	if _, err := c.KnownDestinations(l.ctx, nil); !errors.Is(err, ErrForbidden) {
		t.Errorf("reading the clusters gave %v, want forbidden", err)
	}
	var request *RequestError
	if _, err := c.Refresh(l.ctx, l.owner, nil, []string{"acc-limited"}, patience); !errors.Is(err, ErrForbidden) || !errors.As(err, &request) ||
		request.Verb != "patch" || request.Resource != "applications.argoproj.io" || request.Name != "acc-limited" {
		t.Errorf("the refresh gave %v, want forbidden, with what was forbidden", err)
	}
	_, existing, err := c.List(l.ctx, l.owner)
	l.must(err)
	problems, _, err := c.Preflight(l.ctx, l.owner, []map[string]any{app, l.rendered("acc-limited-new", nil)}, existing)
	l.must(err)
	for _, p := range problems {
		if !p.Warning || p.Summary != SummaryNotChecked {
			t.Errorf("found %+v, want warnings that something was not checked", p)
		}
	}
	if len(problems) != 2 {
		t.Errorf("%d problems, want one for the clusters and one for the AppProject: %+v", len(problems), problems)
	}
	limited := c.Session(l.owner, map[string]map[string]any{"acc-limited": app}, SessionOptions{})
	limited.remember(l.get("acc-limited"))
	if result := limited.Do(l.ctx, rollout.Action{Verb: rollout.Mark, App: "acc-limited", StepLabel: "x"}); !errors.Is(result.Err, ErrForbidden) {
		t.Errorf("marking gave %+v, want forbidden", result)
	}
	r.untilLive("acc-limited", "is compared", func(l rollout.Live) bool { return len(l.Sync.Revisions) > 0 })
	r.remove("acc-limited")
}

func TestAccWrongCredentialsAreUnauthorized(t *testing.T) {
	l := newLab(t, "acc-token")
	config := rest.AnonymousClientConfig(l.cluster.RESTConfig())
	config.BearerToken = "expired-token"
	client, err := New(config, l.cluster.ArgoNamespace())
	l.must(err)
	_, _, err = client.List(l.ctx, l.owner)
	if !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "expired-token") {
		t.Errorf("listing gave %v, want unauthorized, without the token", err)
	}
}
