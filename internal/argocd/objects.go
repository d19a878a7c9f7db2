package argocd

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object reads one object of a namespace. Its error is a RequestError.
func (c *Client) Object(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	what := RequestError{Verb: "get", Resource: resource.GroupResource().String(), Namespace: namespace, Name: name}
	err := c.request(ctx, what, func() (err error) {
		found, err = c.dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return found, err
}

// Objects lists the objects of a namespace that options select, in pages, whatever limit they say. Its
// error is a RequestError.
func (c *Client) Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	options.Limit, options.Continue = pageSize, ""
	what := RequestError{Verb: "list", Resource: resource.GroupResource().String(), Namespace: namespace}
	for {
		var page *unstructured.UnstructuredList
		err := c.request(ctx, what, func() (err error) {
			page, err = c.dynamic.Resource(resource).Namespace(namespace).List(ctx, options)
			return err
		})
		if options.Continue != "" && expired(err) {
			found, options.Continue = nil, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}
