package argocd

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Retaining returns the client for the Applications of a set that lets others change what is
// retained: it makes no difference to their hash, and writes keep its live values. Nil retains nothing.
func (c *Client) Retaining(retained *appset.Retained) *Client {
	out := *c
	out.retained = retained
	return &out
}

func (c *Client) facts(obj *unstructured.Unstructured) rollout.Live { return Facts(obj, c.retained) }

// given leaves out the keys that are preserved: a template that does not set one any more does not
// take it away.
func (c *Client) given(had managedKeys) managedKeys {
	if c.retained == nil {
		return had
	}
	drop := func(keys, preserved []string) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(preserved, key) })
	}
	return managedKeys{Labels: drop(had.Labels, c.retained.Labels), Annotations: drop(had.Annotations, c.retained.Annotations)}
}
