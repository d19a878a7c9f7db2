package kubeconfig

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Options are what the caller decides about the client.
type Options struct {
	// QPS and Burst limit the requests per second of one client; zero means client-go's own
	// defaults (5 and 10).
	QPS   float32
	Burst int
	// UserAgent is what the API server's audit log shows.
	UserAgent string
	// LookupEnv reads environment variables; nil means os.LookupEnv.
	LookupEnv LookupEnv

	// inCluster finds the service account of the pod; nil means rest.InClusterConfig.
	inCluster func() (*rest.Config, error)
}

// Load fills the gaps of s from the environment and returns the client configuration. It
// reads files, and connects to nothing.
//
// It fails when nothing names a cluster, when settings exclude each other, and when a file, a
// context, a cluster or a user that is named does not exist. The error says which, and what
// to set.
func Load(s Settings, o Options) (*rest.Config, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.inCluster == nil {
		o.inCluster = rest.InClusterConfig
	}
	r, err := s.withEnvironment(o.LookupEnv)
	if err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	t, err := r.base(o)
	if err != nil {
		return nil, err
	}
	if err := r.apply(t); err != nil {
		return nil, err
	}
	cfg, err := t.restConfig(r.paths)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst, cfg.UserAgent = o.QPS, o.Burst, o.UserAgent
	return cfg, nil
}

// target is one cluster and one user: what is left of a kubeconfig once a context is chosen.
type target struct {
	cluster *clientcmdapi.Cluster
	user    *clientcmdapi.AuthInfo
}

// base is what the settings are applied to: a context of the files, nothing but a host, or
// the pod we run in.
func (r resolved) base(o Options) (*target, error) {
	if len(r.paths) > 0 {
		return r.fromFiles()
	}
	for _, c := range []struct {
		name  string
		value *string
	}{
		{"config_context", r.ConfigContext},
		{"config_context_auth_info", r.ConfigContextAuthInfo},
		{"config_context_cluster", r.ConfigContextCluster},
	} {
		if set(c.value) {
			return nil, fmt.Errorf("%s is %q, but no kubeconfig file is named: set config_path or config_paths "+
				"(or KUBE_CONFIG_PATH) as well", c.name, *c.value)
		}
	}
	if set(r.Host) {
		return &target{cluster: clientcmdapi.NewCluster(), user: clientcmdapi.NewAuthInfo()}, nil
	}
	pod, err := o.inCluster()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, errors.New("nothing names a cluster: set config_path (and config_context) or host in the " +
			"provider's kubernetes = {...}, or one of the environment variables KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS " +
			"and KUBE_HOST. KUBECONFIG and ~/.kube/config are not read by themselves, and Terraform does not run in a pod")
	case err != nil:
		return nil, fmt.Errorf("nothing names a cluster, and the service account of the pod cannot be used: %w", err)
	}
	t := &target{cluster: clientcmdapi.NewCluster(), user: clientcmdapi.NewAuthInfo()}
	t.cluster.Server = pod.Host
	t.cluster.CertificateAuthority = pod.CAFile
	t.user.TokenFile = pod.BearerTokenFile
	return t, nil
}

// restConfig hands the one context that is left to client-go. The files are passed on for
// auth providers that store renewed tokens.
func (t *target) restConfig(paths []string) (*rest.Config, error) {
	const name = "provider"
	one := clientcmdapi.NewConfig()
	one.Clusters[name] = t.cluster
	one.AuthInfos[name] = t.user
	one.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	one.CurrentContext = name

	access := &clientcmd.ClientConfigLoadingRules{Precedence: paths}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*one, name, &clientcmd.ConfigOverrides{}, access).ClientConfig()
	if err != nil {
		return nil, errors.New(t.redact(err.Error()))
	}
	return cfg, nil
}
