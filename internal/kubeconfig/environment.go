package kubeconfig

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// LookupEnv has the signature of os.LookupEnv.
type LookupEnv func(string) (string, bool)

// resolved are settings whose gaps are filled from the environment.
type resolved struct {
	Settings
	// paths are the kubeconfig files, home directory expanded, in order.
	paths []string
}

// withEnvironment fills what is not set, by the precedence in the package comment. An empty
// variable counts as absent.
func (s Settings) withEnvironment(lookup LookupEnv) (resolved, error) {
	explicit := s // the caller's settings: which alternatives were chosen explicitly
	files := set(explicit.ConfigPath) || len(explicit.ConfigPaths) > 0
	token, exec := set(explicit.Token), explicit.Exec != nil
	basic := set(explicit.Username) || set(explicit.Password)
	certificate := set(explicit.ClientCertificate) || set(explicit.ClientKey)

	fill := func(field **string, name string, silenced bool) {
		if *field != nil || silenced {
			return
		}
		if v, ok := lookup(name); ok && v != "" {
			*field = &v
		}
	}
	fill(&s.Host, "KUBE_HOST", files)
	fill(&s.Username, "KUBE_USER", token || certificate || exec)
	fill(&s.Password, "KUBE_PASSWORD", token || certificate || exec)
	fill(&s.Token, "KUBE_TOKEN", basic || certificate || exec)
	fill(&s.TLSServerName, "KUBE_TLS_SERVER_NAME", false)
	fill(&s.ClientCertificate, "KUBE_CLIENT_CERT_DATA", token || basic || exec)
	fill(&s.ClientKey, "KUBE_CLIENT_KEY_DATA", token || basic || exec)
	fill(&s.ClusterCACertificate, "KUBE_CLUSTER_CA_CERT_DATA", explicit.Insecure != nil && *explicit.Insecure)
	fill(&s.ProxyURL, "KUBE_PROXY_URL", false)
	if err := s.fillInsecure(lookup, set(explicit.ClusterCACertificate)); err != nil {
		return resolved{}, err
	}

	// An empty list, like an empty string, keeps the environment out.
	noPaths := explicit.ConfigPaths == nil
	fill(&s.ConfigPath, "KUBE_CONFIG_PATH", !noPaths || set(explicit.Host))
	if noPaths && explicit.ConfigPath == nil && !set(explicit.Host) {
		if v, ok := lookup("KUBE_CONFIG_PATHS"); ok && v != "" {
			// As in the kubernetes provider, the list is the stronger of the two variables.
			s.ConfigPath, s.ConfigPaths = nil, filepath.SplitList(v)
		}
	}
	paths, err := s.expandPaths()
	if err != nil {
		return resolved{}, err
	}

	// A context from the environment means nothing without a file; an explicit one is an error
	// that Load reports.
	fill(&s.ConfigContext, "KUBE_CTX", len(paths) == 0)
	fill(&s.ConfigContextAuthInfo, "KUBE_CTX_AUTH_INFO", len(paths) == 0)
	fill(&s.ConfigContextCluster, "KUBE_CTX_CLUSTER", len(paths) == 0)
	return resolved{Settings: s, paths: paths}, nil
}

func (s *Settings) fillInsecure(lookup LookupEnv, silenced bool) error {
	if s.Insecure != nil || silenced {
		return nil
	}
	v, ok := lookup("KUBE_INSECURE")
	if !ok || v == "" {
		return nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("the environment variable KUBE_INSECURE must be true or false, not %q", v)
	}
	s.Insecure = &b
	return nil
}

// set says whether an optional string is there and not empty.
func set(s *string) bool { return text(s) != "" }
