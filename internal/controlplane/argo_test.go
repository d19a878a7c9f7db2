package controlplane_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

const argoTimeout = 60 * time.Second

var (
	applications    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	applicationSets = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

type (
	object = *unstructured.Unstructured
	source map[string]any
)

// argo drives Applications for one test.
type argo struct {
	t       *testing.T
	cluster *controlplane.Cluster
	client  dynamic.Interface
}

func newArgo(t *testing.T, cluster *controlplane.Cluster) argo {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return argo{t: t, cluster: cluster, client: client}
}

func (a argo) apps() dynamic.ResourceInterface {
	return a.client.Resource(applications).Namespace(a.cluster.ArgoNamespace())
}

func (a argo) create(app object) {
	a.t.Helper()
	if _, err := a.apps().Create(a.t.Context(), app, metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

func (a argo) get(name string) object {
	a.t.Helper()
	app, err := a.apps().Get(a.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return app
}

// await waits until an Application exists and is as wanted.
func (a argo) await(name, what string, wanted func(object) bool) object {
	a.t.Helper()
	var app object
	err := wait.PollUntilContextTimeout(a.t.Context(), 20*time.Millisecond, argoTimeout, true, func(ctx context.Context) (bool, error) {
		got, err := a.apps().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		app = got
		return err == nil && wanted(app), err
	})
	if err != nil {
		a.t.Fatalf("the Application %s is not %s (%v): %s\n%s", name, what, err, asJSON(app), a.cluster.LogTail(controlplane.ApplicationController))
	}
	return app
}

// refresh has Argo CD compare an Application anew, and returns when it has.
func (a argo) refresh(name string) {
	a.t.Helper()
	const annotation = "argocd.argoproj.io/refresh"
	patch := `{"metadata":{"annotations":{"` + annotation + `":"normal"}}}`
	if _, err := a.apps().Patch(a.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		a.t.Fatal(err)
	}
	a.await(name, "refreshed", func(app object) bool {
		_, stands := app.GetAnnotations()[annotation]
		return !stands
	})
}

// delete deletes an Application and waits until it, and so what it deployed, is gone.
func (a argo) delete(name string) {
	a.t.Helper()
	a.refresh(name) // Argo CD must know what it deployed before it can delete it
	if err := a.apps().Delete(a.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		a.t.Fatal(err)
	}
	a.awaitGone(name)
}

func (a argo) awaitGone(name string) {
	a.t.Helper()
	var app object
	err := wait.PollUntilContextTimeout(a.t.Context(), 20*time.Millisecond, argoTimeout, true, func(ctx context.Context) (bool, error) {
		got, err := a.apps().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		app = got
		return false, err
	})
	if err != nil {
		a.t.Fatalf("the Application %s does not go (%v): %s\n%s", name, err, asJSON(app), a.cluster.LogTail(controlplane.ApplicationController))
	}
}

// configMap is nil if there is none.
func (a argo) configMap(namespace, name string) object {
	a.t.Helper()
	found, err := a.client.Resource(configMaps).Namespace(namespace).Get(a.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return found
}

func (a argo) createApplicationSet(name, application string) object {
	a.t.Helper()
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"goTemplate": true,
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{map[string]any{"name": application}}}}},
			"template": map[string]any{
				"metadata": map[string]any{"name": "{{.name}}"},
				"spec": map[string]any{
					"project":     "default",
					"source":      map[string]any{"repoURL": "file:///nowhere", "path": "."},
					"destination": map[string]any{"server": controlplane.InClusterServer, "namespace": "default"},
				},
			},
		},
	}}
	created, err := a.client.Resource(applicationSets).Namespace(a.cluster.ArgoNamespace()).Create(a.t.Context(), set, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return created
}

func (a argo) deleteApplicationSet(set object) {
	a.t.Helper()
	err := a.client.Resource(applicationSets).Namespace(set.GetNamespace()).Delete(a.t.Context(), set.GetName(), metav1.DeleteOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
}

// application is an Application that syncs itself once, by the operation it is created with.
func application(name, namespace, server string, source source) object {
	options := []any{"CreateNamespace=true"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{
			"name":       name,
			"finalizers": []any{"resources-finalizer.argocd.argoproj.io"},
		},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any(source),
			"destination": map[string]any{"server": server, "namespace": namespace},
			"syncPolicy":  map[string]any{"syncOptions": options},
		},
		"operation": map[string]any{"sync": map[string]any{"syncOptions": options}},
	}}
}

func syncedAndHealthy(app object) bool {
	return field(app, "status", "sync", "status") == "Synced" && field(app, "status", "health", "status") == "Healthy"
}

// configMap is the manifest of a ConfigMap with lines of data.
func configMap(name string, data ...string) string {
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	if len(data) > 0 {
		manifest += "data:\n  " + strings.Join(data, "\n  ") + "\n"
	}
	return manifest
}

// field is a string inside an object, empty if either is absent.
func field(o object, path ...string) string {
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

func asJSON(o object) string {
	if o == nil {
		return "none"
	}
	encoded, err := json.Marshal(o.Object)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
