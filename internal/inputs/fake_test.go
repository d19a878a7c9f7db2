package inputs

import (
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

const namespace = "argocd"

// fakeCluster holds objects of one namespace, and answers as *argocd.Client would.
type fakeCluster struct {
	mu      sync.Mutex
	objects map[string]map[string]*unstructured.Unstructured
	// refuse are the verbs and resources that fail: "list secrets" -> error.
	refuse map[string]error
	asked  []string
}

func newCluster() *fakeCluster {
	return &fakeCluster{objects: map[string]map[string]*unstructured.Unstructured{}, refuse: map[string]error{}}
}

func (c *fakeCluster) add(resource schema.GroupVersionResource, name string, labels map[string]string, content map[string]any) {
	object := &unstructured.Unstructured{Object: content}
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(labels)
	key := resource.GroupResource().String()
	if c.objects[key] == nil {
		c.objects[key] = map[string]*unstructured.Unstructured{}
	}
	c.objects[key][name] = object
}

// secret adds a Secret of a type of Argo CD's, or a plain one.
func (c *fakeCluster) secret(name, kind string, data map[string]string) *unstructured.Unstructured {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	label := map[string]string{}
	if kind != "" {
		label[secretType] = kind
	}
	c.add(secrets, name, label, map[string]any{"data": encoded})
	return c.objects["secrets"][name]
}

func (c *fakeCluster) configMap(name string, data map[string]string) {
	values := map[string]any{}
	for key, value := range data {
		values[key] = value
	}
	c.add(configMaps, name, nil, map[string]any{"data": values})
}

// forbid refuses a verb on a resource.
func (c *fakeCluster) forbid(verb, resource string) {
	group := schema.ParseGroupResource(resource)
	c.refuse[verb+" "+resource] = apierrors.NewForbidden(group, "", nil)
}

func (c *fakeCluster) ask(verb string, resource schema.GroupVersionResource, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := verb + " " + resource.GroupResource().String()
	c.asked = append(c.asked, strings.TrimSpace(key+" "+name))
	return c.refuse[key]
}

func (c *fakeCluster) Object(_ context.Context, resource schema.GroupVersionResource, in, name string) (*unstructured.Unstructured, error) {
	what := &argocd.RequestError{Verb: "get", Resource: resource.GroupResource().String(), Namespace: in, Name: name}
	if what.Err = c.ask("get", resource, name); what.Err != nil {
		return nil, what
	}
	found, ok := c.objects[what.Resource][name]
	if !ok || in != namespace {
		what.Err = apierrors.NewNotFound(resource.GroupResource(), name)
		return nil, what
	}
	return found, nil
}

func (c *fakeCluster) Objects(_ context.Context, resource schema.GroupVersionResource, in string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	what := &argocd.RequestError{Verb: "list", Resource: resource.GroupResource().String(), Namespace: in}
	if what.Err = c.ask("list", resource, ""); what.Err != nil {
		return nil, what
	}
	byLabel, err := labels.Parse(options.LabelSelector)
	if err != nil {
		what.Err = err
		return nil, what
	}
	byField := fields.ParseSelectorOrDie(options.FieldSelector)
	all, ok := c.objects[what.Resource]
	if !ok && resource.Group != "" {
		what.Err = apierrors.NewNotFound(resource.GroupResource(), "")
		return nil, what
	}
	var found []unstructured.Unstructured
	for name, object := range all {
		if in == namespace && byLabel.Matches(labels.Set(object.GetLabels())) && byField.Matches(fields.Set{"metadata.name": name}) {
			found = append(found, *object)
		}
	}
	return found, nil
}

// inputsOf are those of a cluster; they wait for nothing.
func inputsOf(t testing.TB, c *fakeCluster) *Inputs {
	t.Helper()
	in := New(c, namespace)
	in.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	return in
}

// says fails if err does not contain all parts.
func says(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error, want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}
