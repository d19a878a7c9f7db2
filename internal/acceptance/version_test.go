package acceptance

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}

// controllerOf is the workload of an application controller, with the labels of Argo CD's manifests. No Pod runs.
func controllerOf(image string) *unstructured.Unstructured {
	labels := obj{
		"app.kubernetes.io/name": "argocd-application-controller", "app.kubernetes.io/part-of": "argocd",
		"app.kubernetes.io/component": "application-controller",
	}
	return &unstructured.Unstructured{Object: obj{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": obj{"name": "argocd-application-controller", "labels": labels},
		"spec": obj{
			"replicas": int64(0), "serviceName": "argocd-application-controller",
			"selector": obj{"matchLabels": labels},
			"template": obj{"metadata": obj{"labels": labels}, "spec": obj{"containers": list{obj{"name": "controller", "image": image}}}},
		},
	}}
}

func TestAccAPlanWarnsOnceOfAnArgoCDThatIsNotTested(t *testing.T) {
	f := newFixture(t)
	// Argo CD's own namespace is that of all other tests.
	argo := f.name + "-argocd"
	namespace := &unstructured.Unstructured{Object: obj{"apiVersion": "v1", "kind": "Namespace", "metadata": obj{"name": argo}}}
	_, err := f.client.Resource(namespaces).Create(f.ctx(), namespace, metav1.CreateOptions{})
	f.must(func() error { return err })
	f.Cleanup(func() {
		if err := f.client.Resource(namespaces).Delete(context.Background(), argo, metav1.DeleteOptions{}); err != nil {
			f.Logf("removing namespace %s: %v", argo, err)
		}
	})
	first, second := f.newSet([]string{"dev"}, "dev"), f.newSet([]string{"prod"}, "prod")
	second.Name, second.Address = f.name+"-second", "second"
	w := f.workspace()
	w.configure(text(f.provider(obj{"namespace": argo, "kubernetes": obj{"config_path": f.cluster.Kubeconfig()}}) + first.Resource() + second.Resource()))
	for _, test := range []struct {
		image string
		warns bool
	}{
		{"quay.io/argoproj/argocd:v4.0.0", true},
		{"quay.io/argoproj/argocd:v3.6.1", false},
	} {
		at := f.client.Resource(statefulSets).Namespace(argo)
		if _, err := at.Create(f.ctx(), controllerOf(test.image), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		const title = "Argo CD version not tested"
		r := w.plan()
		if test.warns {
			w.says(r, title, `The Argo CD in namespace "`+argo+`" is v4.0.0.`)
			w.saysNot(r, "similar warning")
			if n := strings.Count(words(r.out), title); n != 1 {
				t.Errorf("two sets of one provider have the warning %d times:\n%s", n, r.out)
			}
		} else {
			w.saysNot(r, title)
		}
		f.must(func() error { return at.Delete(f.ctx(), "argocd-application-controller", metav1.DeleteOptions{}) })
	}
}
