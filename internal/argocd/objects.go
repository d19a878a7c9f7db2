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
	what := RequestError{Verb: "list", Resource: resource.GroupResource().String(), Namespace: namespace}
	found, _, err := inPages(ctx, c, what, options, c.dynamic.Resource(resource).Namespace(namespace).List,
		func(page *unstructured.UnstructuredList) []unstructured.Unstructured { return page.Items })
	return found, err
}

// inPages lists in pages, and collects what is taken from each. A list whose next page has expired is begun again, for what is there
// now may be something else. version is the resourceVersion to watch from.
func inPages[P metav1.ListInterface, T any](ctx context.Context, c *Client, what RequestError, options metav1.ListOptions,
	list func(context.Context, metav1.ListOptions) (P, error), take func(P) []T,
) (found []T, version string, err error) {
	options.Limit, options.Continue = pageSize, ""
	for {
		var page P
		err := c.request(ctx, what, func() (err error) {
			page, err = list(ctx, options)
			return err
		})
		if options.Continue != "" && expired(err) {
			found, options.Continue = nil, ""
			continue
		}
		if err != nil {
			return nil, "", err
		}
		found = append(found, take(page)...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, page.GetResourceVersion(), nil
		}
	}
}
