package argocd

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

var movedSet = Owner{Namespace: "argocd", Name: "web"}

// inCluster is an ApplicationSet at rest.
func inCluster(edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": "web", "namespace": "argocd", "uid": "uid-1", "resourceVersion": "7"},
		"spec": map[string]any{
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{map[string]any{"name": "a"}}}}},
			"strategy":   map[string]any{"type": "RollingSync", "deletionOrder": "Reverse", "rollingSync": map[string]any{"steps": []any{map[string]any{}}}},
			"template":   map[string]any{"metadata": map[string]any{"name": "{{name}}"}, "spec": map[string]any{"project": "default"}},
		},
	}}
	for _, edit := range edits {
		edit(set)
	}
	return set
}

func condition(kind, status, message string) func(*unstructured.Unstructured) {
	return func(set *unstructured.Unstructured) {
		set.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status, "message": message}}}
	}
}

func frozen(operator string) func(*unstructured.Unstructured) {
	return func(set *unstructured.Unstructured) {
		spec := set.Object["spec"].(map[string]any)
		spec["generators"] = append([]any{freeze(operator, "")}, spec["generators"].([]any)...)
	}
}

func TestAManifestIsWhatSomebodyWouldWrite(t *testing.T) {
	clean := (&InCluster{inCluster()}).Manifest()
	empty := map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"project": "", "destination": map[string]any{}}}
	messy := (&InCluster{inCluster(condition("ErrorOccurred", "False", ""), func(set *unstructured.Unstructured) {
		set.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
		set.SetFinalizers([]string{resourcesFinalizer})
		set.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "argocd.argoproj.io/application-set-refresh": "true"})
		list := dict(objects(set.Object, "spec", "generators")[0], "list")
		list["template"] = empty
	})}).Manifest()
	if !reflect.DeepEqual(messy, clean) {
		t.Errorf("the manifest is %v, not %v", messy, clean)
	}
	if metadata := dict(clean, "metadata"); !reflect.DeepEqual(metadata, map[string]any{"name": "web", "namespace": "argocd"}) {
		t.Errorf("the metadata are %v", metadata)
	}
	kept := (&InCluster{inCluster(func(set *unstructured.Unstructured) {
		set.SetLabels(map[string]string{"team": "web"})
		dict(objects(set.Object, "spec", "generators")[0], "list")["template"] = map[string]any{"metadata": map[string]any{"name": "x"}}
	})}).Manifest()
	elements := (&InCluster{inCluster(func(set *unstructured.Unstructured) {
		list := dict(objects(set.Object, "spec", "generators")[0], "list")
		list["elements"], list["template"] = []any{map[string]any{"name": "a", "template": ""}}, empty
	})}).Manifest()
	if list := dict(objects(elements, "spec", "generators")[0], "list"); !reflect.DeepEqual(list, map[string]any{"elements": []any{map[string]any{"name": "a", "template": ""}}}) {
		t.Errorf("of the list is left %v", list)
	}
	if text(kept, "metadata", "labels", "team") != "web" || text(objects(kept, "spec", "generators")[0], "list", "template", "metadata", "name") != "x" {
		t.Errorf("the manifest has lost something: %v", kept)
	}
}

// moving is a client of a cluster that has these objects. tick is called whenever it waits.
func moving(tick func(*fake.FakeDynamicClient), objects ...runtime.Object) (*Client, *fake.FakeDynamicClient) {
	kinds := map[schema.GroupVersionResource]string{applications: "ApplicationList", applicationSets: "ApplicationSetList", secrets: "SecretList"}
	cluster := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	var clock atomic.Int64
	c := &Client{
		dynamic: cluster, metadata: metadataOf(cluster), namespace: "argocd", newRefreshID: func() string { return "1" },
		retry: retrier{
			now:    func() time.Time { return time.Unix(0, clock.Load()) },
			jitter: func(d time.Duration) time.Duration { return d },
			sleep: func(_ context.Context, d time.Duration) error {
				clock.Add(int64(d))
				tick(cluster)
				return nil
			},
		},
	}
	return c, cluster
}

// metadataOf lists the metadata of the Applications of a cluster.
func metadataOf(cluster *fake.FakeDynamicClient) *metadatafake.FakeMetadataClient {
	m := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	m.PrependReactor("list", "applications", func(action clienttesting.Action) (bool, runtime.Object, error) {
		found, err := cluster.Resource(applications).Namespace(action.GetNamespace()).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return true, nil, err
		}
		list := &metav1.List{}
		for i := range found.Items {
			item := &metav1.PartialObjectMetadata{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Items[i].Object, item); err != nil {
				return true, nil, err
			}
			list.Items = append(list.Items, runtime.RawExtension{Object: item})
		}
		return true, list, nil
	})
	return m
}

// owned is an Application with these owners.
func owned(name string, refs ...metav1.OwnerReference) *unstructured.Unstructured {
	app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
	app.SetNamespace("argocd")
	app.SetName(name)
	app.SetUID(types.UID("uid-" + name))
	app.SetOwnerReferences(refs)
	return app
}

// bySet is what the controller puts on the Applications of the set.
func bySet() metav1.OwnerReference {
	controls := true
	return metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "web", UID: "uid-1", Controller: &controls}
}

// controller answers as Argo CD's does when it meets the generator that freezes a set, if it runs.
func controller(t *testing.T, runs bool) func(*fake.FakeDynamicClient) {
	return func(cluster *fake.FakeDynamicClient) {
		set, err := cluster.Resource(applicationSets).Namespace("argocd").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || !runs {
			return
		}
		if generator := objects(set.Object, "spec", "generators")[0]; isFreeze(generator) {
			condition("ErrorOccurred", "True", "error parsing label selector: \""+freezeOperator(generator)+"\" is not a valid pod selector operator")(set)
			if _, err := cluster.Resource(applicationSets).Namespace("argocd").Update(t.Context(), set, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
}

// wantWrites fails unless these, as "patch applications", are the writes of ApplicationSets and Applications, in their order.
func wantWrites(t *testing.T, cluster *fake.FakeDynamicClient, want ...string) {
	t.Helper()
	var out []string
	for _, a := range cluster.Actions() {
		if a.GetVerb() == "patch" || a.GetVerb() == "delete" {
			out = append(out, a.GetVerb()+" "+a.GetResource().Resource)
		}
	}
	if !slices.Equal(out, want) {
		t.Errorf("the writes were %q, not %q", out, want)
	}
}

func TestASetIsFrozenBeforeItIsDeleted(t *testing.T) {
	c, cluster := moving(controller(t, true), inCluster())
	taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{inCluster()}).Manifest()}
	var deleted *unstructured.Unstructured
	cluster.PrependReactor("delete", "applicationsets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		set, err := cluster.Tracker().Get(applicationSets, "argocd", "web") // the client waits for this reactor
		if err != nil {
			t.Error(err)
		}
		deleted, _ = set.(*unstructured.Unstructured)
		options := action.(clienttesting.DeleteActionImpl).DeleteOptions
		if *options.PropagationPolicy != metav1.DeletePropagationOrphan || *options.Preconditions.UID != "uid-1" || options.Preconditions.ResourceVersion == nil {
			t.Errorf("it is deleted with %v", options)
		}
		return false, nil, nil
	})
	if err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	wantWrites(t, cluster, "patch applicationsets", "delete applicationsets")
	strategy := dict(deleted.Object, "spec", "strategy")
	if text(strategy, "deletionOrder") != "AllAtOnce" || text(strategy, "type") != "RollingSync" || len(list(strategy, "rollingSync", "steps")) != 1 {
		t.Errorf("it was deleted with the strategy %v", strategy)
	}
}

func TestASetWhoseControllerDoesNotAnswerIsPutBack(t *testing.T) {
	c, cluster := moving(controller(t, false), inCluster())
	taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{inCluster()}).Manifest()}
	err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { return nil })
	if !errors.Is(err, ErrTakeOver) || !strings.Contains(err.Error(), "has not answered within 2m0s") || !strings.Contains(err.Error(), "--cascade=orphan") {
		t.Errorf("the error is %v", err)
	}
	set, err := c.InCluster(t.Context(), movedSet)
	if err != nil || set == nil || !reflect.DeepEqual(set.object.Object["spec"], inCluster().Object["spec"]) {
		t.Errorf("the set is %v (%v)", set, err)
	}
	wantWrites(t, cluster, "patch applicationsets", "patch applicationsets")
}

func TestTheApplicationsOfAFrozenSetAreLetGoBeforeItIsDeleted(t *testing.T) {
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-9"}
	ours, another := bySet(), bySet()
	another.Name, another.UID = "foreign", "uid-2"
	c, cluster := moving(controller(t, true), inCluster(), owned("a", theirs, ours), owned("b", ours), owned("foreign", another))
	taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{inCluster()}).Manifest()}
	saved := 0
	if err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { saved++; return nil }); err != nil {
		t.Fatal(err)
	}
	wantWrites(t, cluster, "patch applicationsets", "patch applications", "patch applications", "delete applicationsets")
	if saved != 1 || !reflect.DeepEqual(taken.Applications, map[string]string{"a": "uid-a", "b": "uid-b"}) {
		t.Errorf("saved %d times: %v", saved, taken.Applications)
	}
	for name, want := range map[string][]metav1.OwnerReference{"a": {theirs}, "b": nil, "foreign": {another}} {
		app, err := cluster.Resource(applications).Namespace("argocd").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || !reflect.DeepEqual(app.GetOwnerReferences(), want) && len(app.GetOwnerReferences())+len(want) > 0 {
			t.Errorf("%s is owned by %v (%v)", name, app.GetOwnerReferences(), err)
		}
	}
}

func TestPuttingASetBackKeepsWhatSomebodyHasChangedMeanwhile(t *testing.T) {
	edited := false
	c, _ := moving(func(cluster *fake.FakeDynamicClient) {
		if edited {
			return
		}
		edited = true
		patch := []byte(`{"spec":{"template":{"spec":{"project":"other"}}}}`)
		if _, err := cluster.Resource(applicationSets).Namespace("argocd").Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}, inCluster())
	taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{inCluster()}).Manifest()}
	if err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { return nil }); err == nil {
		t.Fatal("the controller has not answered")
	}
	want := inCluster()
	dict(want.Object, "spec", "template", "spec")["project"] = "other"
	if set, err := c.InCluster(t.Context(), movedSet); err != nil || !reflect.DeepEqual(set.object.Object["spec"], want.Object["spec"]) {
		t.Errorf("the set is %v (%v)", set, err)
	}
}

func TestASetWhoseDeletionIsRefusedIsPutBack(t *testing.T) {
	c, cluster := moving(controller(t, true), inCluster())
	cluster.PrependReactor("delete", "applicationsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(applicationSets.GroupResource(), "web", errors.New("a policy"))
	})
	taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{inCluster()}).Manifest()}
	if err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { return nil }); !errors.Is(err, ErrForbidden) {
		t.Errorf("the error is %v", err)
	}
	if set, err := c.InCluster(t.Context(), movedSet); err != nil || !reflect.DeepEqual(set.object.Object["spec"], inCluster().Object["spec"]) {
		t.Errorf("the set is %v (%v)", set, err)
	}
}

func TestASetThatSomebodyDeletesWithItsApplicationsIsNotWaitedFor(t *testing.T) {
	c, cluster := moving(func(*fake.FakeDynamicClient) {}, inCluster(frozen("f-1"), deletionAsked), owned("a", bySet()))
	err := c.ReleaseApplications(t.Context(), movedSet, &TakeOver{UID: "uid-1"}, func() error { return nil })
	if !errors.Is(err, ErrTakeOver) || !strings.Contains(err.Error(), "together with its Applications: a.") {
		t.Errorf("the error is %v", err)
	}
	wantWrites(t, cluster)
}

func TestASetThatSomebodyChangesBackIsNotDeleted(t *testing.T) {
	c, cluster := moving(func(*fake.FakeDynamicClient) {}, inCluster())
	if err := c.deleteFrozen(t.Context(), movedSet, "uid-1"); !errors.Is(err, ErrTakeOver) || !strings.Contains(err.Error(), "changed the ApplicationSet argocd/web back") {
		t.Errorf("the error is %v", err)
	}
	wantWrites(t, cluster)
}

func TestAnotherSetOfTheSameNameIsLeftAlone(t *testing.T) {
	c, cluster := moving(controller(t, true), inCluster())
	err := c.ReleaseApplications(t.Context(), movedSet, &TakeOver{UID: "uid-0"}, func() error { return nil })
	if !errors.Is(err, ErrTakeOver) || !strings.Contains(err.Error(), "another ApplicationSet argocd/web has been created") {
		t.Errorf("the error is %v", err)
	}
	wantWrites(t, cluster)
}

func TestApplicationsAreMarkedWithWhatTheControllerManaged(t *testing.T) {
	app := func(name string, uid types.UID, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
		obj.SetNamespace("argocd")
		obj.SetName(name)
		obj.SetUID(uid)
		obj.SetLabels(map[string]string{"env": "dev", "kept": "by others"})
		for _, edit := range edits {
			edit(obj)
		}
		return obj
	}
	c, cluster := moving(func(*fake.FakeDynamicClient) {},
		app("a", "1"), app("again", "3"), app("foreign", "4"),
		app("other", "5", func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{OwnerAnnotation: "argocd/other"})
		}))
	taken := TakeOver{UID: "uid-1", Applications: map[string]string{"a": "1", "again": "2", "other": "5"}}
	rendered := map[string]map[string]any{"a": {"metadata": map[string]any{"labels": map[string]any{"env": "dev"}}}}
	if err := c.MarkTakenOver(t.Context(), movedSet, taken, map[string]string{"a": "step 01"}, rendered); err != nil {
		t.Fatal(err)
	}
	wantWrites(t, cluster, "patch applications") // one that is not the one that was recorded, or belongs to somebody else, is not ours
	marked, err := c.fetch(t.Context(), movedSet, "a")
	if err != nil {
		t.Fatal(err)
	}
	annotations := marked.GetAnnotations()
	if annotations[OwnerAnnotation] != "argocd/web" || annotations[StepAnnotation] != "step 01" || annotations[ManagedAnnotation] != `{"labels":["env"],"annotations":[]}` || marked.GetLabels()[SetLabel] != movedSet.Hash() {
		t.Errorf("the marks are %v, %v", annotations, marked.GetLabels())
	}
}

func TestTheExampleOfATakeOverGrantsExactlyWhatItTakes(t *testing.T) {
	content, err := os.ReadFile("../../examples/rbac/takeover.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role struct {
		Metadata struct{ Namespace string }
		Rules    []struct{ APIGroups, Resources, Verbs []string }
	}
	if err := yaml.Unmarshal([]byte(strings.Split(string(content), "\n---\n")[0]), &role); err != nil {
		t.Fatal(err)
	}
	var got, want []Permission
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			got = append(got, Permission{Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: verb, Namespace: role.Metadata.Namespace})
		}
	}
	for _, n := range needs {
		if n.purposes&TakingOver != 0 {
			want = append(want, n.permission(movedSet, "argocd"))
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it grants %v, needed is %v", got, want)
	}
}
