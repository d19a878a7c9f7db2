// Package inputs answers what generators ask of the outside from a live Argo CD: its clusters, git
// repositories and OCI artifacts with the credentials that Argo CD has for them, plugins, and decision resources.
//
// It owns how Argo CD describes these things in Secrets and ConfigMaps. It must not know generators,
// templates or rollouts, nor Terraform. Whatever it reads it reads once, and only when it is asked for
// something that needs it. Of Secrets nothing is ever returned but what appset.Cluster has, and no
// error contains a credential.
package inputs

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/ocisource"
)

// Reader reads objects through the Kubernetes API; *argocd.Client is one. Its errors are of the type
// *argocd.RequestError.
type Reader interface {
	Object(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error)
	Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error)
}

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// readTimeout is how long one question to the API server may take, all pages and repetitions included.
const readTimeout = 3 * time.Minute

// Inputs implements appset.Inputs. Every answer is remembered until Close, so that all generators of a
// run see the same; errors as well, unless the context was cancelled. Of OCI artifacts, which are large, as
// many as artifactsHeld allows; of the others the digest, by which they are fetched again.
type Inputs struct {
	cluster Reader
	// namespace is Argo CD's own.
	namespace string
	git       *gitsource.Store
	plugins   *http.Client
	sleep     func(context.Context, time.Duration) error

	clusters    memo[struct{}, []appset.Cluster]
	credentials memo[struct{}, []credentialSecret]
	settings    memo[string, map[string]string]
	tokens      memo[string, string]
	answers     memo[string, []map[string]any]
	decisions   memo[string, appset.Decisions]
	artifacts   artifacts
	hidden      hidden
}

var (
	_ appset.Inputs   = (*Inputs)(nil)
	_ appset.Redactor = (*Inputs)(nil)
)

// New returns the inputs of the Argo CD in namespace. It asks for nothing yet.
func New(cluster Reader, namespace string) *Inputs {
	return &Inputs{
		cluster: cluster, namespace: namespace, git: gitsource.NewStore(), plugins: pluginClient(), sleep: sleep,
		artifacts: artifacts{trees: memo[artifactQuestion, *ocisource.Tree]{size: (*ocisource.Tree).Size, limit: artifactsHeld}},
	}
}

// Close frees what was fetched. Trees of git that were returned cannot be read any more, and neither git nor
// artifacts can be asked for.
func (in *Inputs) Close() error {
	in.plugins.CloseIdleConnections()
	in.artifacts.trees.close()
	return in.git.Close()
}

// errTooSlow is why a question to the API server was given up.
var errTooSlow = errors.New("the API server did not answer within " + readTimeout.String())

// list reads objects of Argo CD's namespace.
func (in *Inputs) list(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errTooSlow)
	defer cancel()
	found, err := in.cluster.Objects(ctx, resource, in.namespace, options)
	return found, withCause(ctx, err)
}

// get reads an object of Argo CD's namespace.
func (in *Inputs) get(ctx context.Context, resource schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errTooSlow)
	defer cancel()
	found, err := in.cluster.Object(ctx, resource, in.namespace, name)
	return found, withCause(ctx, err)
}

// withCause is err, or what is meant by the end of ctx.
func withCause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooSlow) {
		return errTooSlow
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
