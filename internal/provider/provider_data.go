package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
)

// The values of attributes that are not set.
const (
	defaultNamespace = "argocd"
	defaultRefresh   = true
	defaultQPS       = 100
	defaultBurst     = 300
)

// ProviderData is what Configure hands to resources: settings, and a lazy connection.
type ProviderData struct {
	// Namespace is Argo CD's own, and where Applications live unless a resource says otherwise. It is
	// empty while NamespaceUnknown.
	Namespace        string
	NamespaceUnknown bool
	// Refresh is false where plans must not ask Argo CD to look at git again.
	Refresh bool
	// UnknownAttributes names the provider attributes, sorted, whose values Terraform does not
	// know yet and without which no connection is possible, e.g. "kubernetes.host".
	UnknownAttributes []string

	settings kubeconfig.Settings
	options  kubeconfig.Options

	once   sync.Once
	config *rest.Config
	err    error

	generation generation
	progress   progressSettings
	version    versionCheck
}

// newProviderData reads the provider configuration; unknown values are remembered by name.
func newProviderData(ctx context.Context, m providerModel, agent string) (*ProviderData, diag.Diagnostics) {
	settings, unknown, diags := connectionSettings(ctx, m.Kubernetes)
	d := &ProviderData{
		Namespace:        defaultNamespace,
		NamespaceUnknown: m.Namespace.IsUnknown(),
		// Refreshing writes an annotation: with the value unknown, the plan stays read-only.
		Refresh:           !m.Refresh.IsUnknown() && (m.Refresh.IsNull() || m.Refresh.ValueBool()),
		UnknownAttributes: unknown,
		settings:          settings,
		options:           kubeconfig.Options{QPS: defaultQPS, Burst: defaultBurst, UserAgent: agent},
	}
	switch {
	case m.Namespace.IsUnknown():
		d.Namespace = ""
	case !m.Namespace.IsNull():
		d.Namespace = m.Namespace.ValueString()
	}
	// A limit that is not known yet is no reason not to connect.
	if known(m.QPS) {
		d.options.QPS = float32(rate(m.QPS))
	}
	if known(m.Burst) {
		d.options.Burst = int(rate(m.Burst))
	}
	var problems diag.Diagnostics
	d.progress, problems = readProgress(ctx, m.Progress)
	diags.Append(problems...)
	return d, diags
}

func known(v basetypes.NumberValue) bool { return !v.IsNull() && !v.IsUnknown() }

// rate is the value of qps or burst, which the schema has validated.
func rate(v basetypes.NumberValue) int64 {
	n, _ := v.ValueBigFloat().Int64()
	return n
}

// RESTConfig returns the connection, built on the first call and the same for all callers,
// with the client-side rate limit and the user agent set. It does not connect: that the
// cluster answers is proven by the first request.
//
// It fails where a value is not known yet, and where the settings name no cluster, contradict
// each other, or name a file or context that does not exist. The error says what to set and
// contains no credential.
func (d *ProviderData) RESTConfig() (*rest.Config, error) {
	d.once.Do(func() {
		if len(d.UnknownAttributes) > 0 {
			d.err = fmt.Errorf("the provider configuration depends on values that are known only after apply: %s. "+
				"Create what they depend on first (terraform apply -target=...), or set them to known values",
				strings.Join(d.UnknownAttributes, ", "))
			return
		}
		d.config, d.err = kubeconfig.Load(d.settings, d.options)
	})
	if d.err != nil {
		return nil, d.err
	}
	return rest.CopyConfig(d.config), nil
}

// client is one of Argo CD in the provider's namespace, by the same connection.
func (d *ProviderData) client() (*argocd.Client, error) {
	config, err := d.RESTConfig()
	if err != nil {
		return nil, err
	}
	return argocd.New(config, d.Namespace)
}

// ExplainUnauthorized returns the sentences to append to the detail of a diagnostic when err
// is a 401 of the API server, and "" for every other error.
func (d *ProviderData) ExplainUnauthorized(err error) string {
	return kubeconfig.ExplainUnauthorized(d.settings, err)
}

// providerDataFrom is for the Configure methods of resources and data sources: nil without a
// diagnostic where Terraform has not configured the provider yet (validation).
func providerDataFrom(raw any) (*ProviderData, error) {
	if raw == nil {
		return nil, nil
	}
	d, ok := raw.(*ProviderData)
	if !ok {
		return nil, errors.New("the provider handed over data of an unexpected type; this is a bug in the provider")
	}
	return d, nil
}
