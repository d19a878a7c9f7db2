package kubeconfig

// Settings says how to reach a cluster. A nil pointer means "not set": an environment
// variable may fill it. A pointer to an empty string means "not set, whatever the environment
// says".
type Settings struct {
	// Host is the address of the API server: URL, host:port or host. KUBE_HOST.
	Host *string
	// Username and Password are basic authentication. KUBE_USER, KUBE_PASSWORD.
	Username *string
	Password *string
	// Insecure switches the verification of the server's certificate off. KUBE_INSECURE.
	Insecure *bool
	// TLSServerName is the name the server's certificate is verified against, where it differs
	// from the host. KUBE_TLS_SERVER_NAME.
	TLSServerName *string
	// ClientCertificate and ClientKey are PEM. KUBE_CLIENT_CERT_DATA, KUBE_CLIENT_KEY_DATA.
	ClientCertificate *string
	ClientKey         *string
	// ClusterCACertificate is the PEM bundle that signs the server. KUBE_CLUSTER_CA_CERT_DATA.
	ClusterCACertificate *string
	// ConfigPath is one kubeconfig file, ConfigPaths are several, merged as kubectl does; a
	// leading ~/ is the home directory. Every file must exist. KUBE_CONFIG_PATH,
	// KUBE_CONFIG_PATHS (separated as PATH is).
	ConfigPath  *string
	ConfigPaths []string
	// ConfigContext, and the user and the cluster to use in place of the context's own.
	// KUBE_CTX, KUBE_CTX_AUTH_INFO, KUBE_CTX_CLUSTER.
	ConfigContext         *string
	ConfigContextAuthInfo *string
	ConfigContextCluster  *string
	// Token is a bearer token. KUBE_TOKEN.
	Token *string
	// ProxyURL is an http, https or socks5 proxy for all requests. KUBE_PROXY_URL.
	ProxyURL *string
	// Exec is a command that prints credentials and is run again when they expire.
	Exec *Exec
}

// Exec is a client-go credential plugin, e.g. "aws eks get-token".
type Exec struct {
	// APIVersion is the version the plugin speaks, e.g. client.authentication.k8s.io/v1.
	APIVersion string
	Command    string
	Args       []string
	// Env is added to the environment of the provider.
	Env map[string]string
}

// text is the value of an optional string, empty when it is not set.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
