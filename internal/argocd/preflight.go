package argocd

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Problem is a reason why Argo CD or the API server would not take an Application.
type Problem struct {
	// App is empty for what concerns all of them.
	App string
	// Summary is a short noun phrase.
	Summary string
	// Detail says what was found and what to do.
	Detail string
	// Warning is false for a reason to stop.
	Warning bool
}

// Preflight checks what is about to be written, before the first write. existing are the live
// Applications by name, as List gives them; names that are absent are to be created.
func (c *Client) Preflight(ctx context.Context, owner Owner, objects []map[string]any, existing map[string]*unstructured.Unstructured) ([]Problem, error) {
	return nil, nil
}

// KnownDestinations tells which Applications have a destination cluster that Argo CD does not
// know: name -> the cluster, for messages. ErrForbidden means that cluster Secrets are unreadable.
func (c *Client) KnownDestinations(ctx context.Context, apps []*unstructured.Unstructured) (unknown map[string]string, err error) {
	return nil, nil
}
