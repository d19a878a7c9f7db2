package argocd

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

var (
	applications    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	appProjects     = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	applicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

// pageSize is how many objects one LIST request returns at most.
const pageSize = 500

// Client reaches one Argo CD through the Kubernetes API. It may be used concurrently.
type Client struct {
	dynamic  dynamic.Interface
	metadata metadata.Interface
	// namespace is Argo CD's own: AppProjects and cluster Secrets are there.
	namespace    string
	retry        retrier
	outages      *outages
	newRefreshID func() string
	clock        rollout.Clock
	// leases has no rate limit: renewals cannot wait behind the requests of a rollout.
	leases dynamic.Interface
	// retained is what others may change on Applications. See Retaining.
	retained *appset.Retained
	// say is told what a take-over does; nil for nobody. See Telling.
	say func(what string)
}

// New returns a client for the Argo CD in namespace. It connects to nothing yet. All requests of
// the client share the rate limit of cfg (QPS, Burst).
func New(cfg *rest.Config, namespace string) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	// The API server's deprecation warnings would go to the provider's stderr.
	cfg.WarningHandler = rest.NoWarnings{}
	if cfg.RateLimiter == nil && cfg.QPS > 0 {
		cfg.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(cfg.QPS, max(cfg.Burst, 1))
	}
	o := &outages{now: time.Now}
	cfg.Wrap(o.limit)
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes client cannot be configured: %w", err)
	}
	m, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes client cannot be configured: %w", err)
	}
	unlimited := rest.CopyConfig(cfg)
	unlimited.RateLimiter, unlimited.QPS = nil, -1
	leases, err := dynamic.NewForConfig(unlimited)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes client cannot be configured: %w", err)
	}
	return &Client{
		dynamic: d, metadata: m, leases: leases, namespace: namespace,
		retry: newRetrier(o), outages: o, newRefreshID: newRefreshID, clock: rollout.RealClock{},
	}, nil
}

// NamespaceUID is the UID of Argo CD's namespace: what tells one cluster from another of the same
// name. Credentials that may not read namespaces get ErrForbidden; that is worth a warning only.
// It is the first request of everything, so a cluster that is not there is told soon.
func (c *Client) NamespaceUID(ctx context.Context) (string, error) {
	var ns *unstructured.Unstructured
	err := c.requestWithin(ctx, firstPatience, RequestError{Verb: "get", Resource: "namespaces", Name: c.namespace}, func() (err error) {
		ns, err = c.dynamic.Resource(namespaces).Get(ctx, c.namespace, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return "", err
	}
	return string(ns.GetUID()), nil
}

// request runs one request, retries transient failures, and says in the error what it was.
func (c *Client) request(ctx context.Context, what RequestError, do func() error) error {
	return c.requestWithin(ctx, requestPatience, what, do)
}

// requestWithin is request with another bound on the retries.
func (c *Client) requestWithin(ctx context.Context, patience time.Duration, what RequestError, do func() error) error {
	err := c.retry.do(ctx, patience, do)
	if err == nil || isStale(err) { // that tells of another request, the one for the lease
		return err
	}
	what.Err = err
	return &what
}

// apps is the Applications of a namespace.
func (c *Client) apps(namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(applications).Namespace(namespace)
}

// appRequest names a request about one Application, or about all when name is empty.
func appRequest(verb, namespace, name string) RequestError {
	return RequestError{Verb: verb, Resource: applications.GroupResource().String(), Namespace: namespace, Name: name}
}
