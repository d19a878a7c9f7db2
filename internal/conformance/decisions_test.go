package conformance

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/settings"
)

// newDecisionGenerator makes Argo CD's clusterDecisionResource generator, with clients that know
// the few requests it makes, and with the clusters of the world in its informer.
func newDecisionGenerator(t testing.TB, w *world) generators.Generator {
	t.Helper()
	clients := coreClients{w: w}
	informer, err := settings.NewClusterInformer(clients, argoNamespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range w.clusters() {
		cluster, err := db.SecretToCluster(secret.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		cluster.Name, cluster.ObjectMeta.Name, cluster.Namespace = string(secret.Data["name"]), secret.Name, secret.Namespace
		if err := informer.GetIndexer().Add(cluster); err != nil {
			t.Fatal(err)
		}
	}
	return generators.NewDuckTypeGenerator(context.Background(), dynamicClient{w: w}, clients, argoNamespace, informer)
}

// coreClients reads ConfigMaps; a request of any other kind panics.
type coreClients struct {
	kubernetes.Interface
	w *world
}

func (c coreClients) CoreV1() typedcorev1.CoreV1Interface { return coreV1{w: c.w} }

type coreV1 struct {
	typedcorev1.CoreV1Interface
	w *world
}

func (c coreV1) ConfigMaps(namespace string) typedcorev1.ConfigMapInterface {
	return configMaps{w: c.w, namespace: namespace}
}

type configMaps struct {
	typedcorev1.ConfigMapInterface
	w         *world
	namespace string
}

func (c configMaps) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	for _, configMap := range c.w.configMaps {
		if configMap.Name == name && configMap.Namespace == c.namespace {
			return configMap.DeepCopy(), nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

// dynamicClient lists the decision resources; a request of any other kind panics.
type dynamicClient struct {
	dynamic.Interface
	w *world
}

func (c dynamicClient) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return decisionClient{w: c.w, resource: gvr}
}

type decisionClient struct {
	dynamic.NamespaceableResourceInterface
	w         *world
	resource  schema.GroupVersionResource
	namespace string
}

func (c decisionClient) Namespace(namespace string) dynamic.ResourceInterface {
	c.namespace = namespace
	return c
}

func (c decisionClient) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	byLabel, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return nil, err
	}
	items, known := c.w.decisionsOf(c.resource, c.namespace)
	if !known {
		return nil, apierrors.NewNotFound(c.resource.GroupResource(), "")
	}
	out := &unstructured.UnstructuredList{}
	for _, item := range items {
		if byLabel.Matches(labels.Set(item.GetLabels())) && byField.Matches(fields.Set{"metadata.name": item.GetName()}) {
			out.Items = append(out.Items, *item.DeepCopy())
		}
	}
	return out, nil
}

// decisionsOf are the resources of a kind, sorted by name as the API server lists them; known is
// false when there is no such kind.
func (w *world) decisionsOf(resource schema.GroupVersionResource, namespace string) (items []unstructured.Unstructured, known bool) {
	for _, item := range w.decisions {
		gvk := item.GroupVersionKind()
		if gvk.GroupVersion() != resource.GroupVersion() || strings.ToLower(gvk.Kind)+"s" != resource.Resource {
			continue
		}
		known = true
		if item.GetNamespace() == namespace {
			items = append(items, item)
		}
	}
	return items, known
}
