package kubeconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// pointer is for settings in tables.
func pointer[T any](v T) *T { return &v }

// env is an environment of exactly these variables.
func env(kv ...string) LookupEnv {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

// notInPod keeps tests independent of where they run.
func notInPod() (*rest.Config, error) { return nil, rest.ErrNotInCluster }

// load is Load outside of a pod.
func load(s Settings, lookup LookupEnv) (*rest.Config, error) {
	return Load(s, Options{LookupEnv: lookup, inCluster: notInPod})
}

// mustLoad fails the test on an error.
func mustLoad(t *testing.T, s Settings, lookup LookupEnv) *rest.Config {
	t.Helper()
	cfg, err := load(s, lookup)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

// write stores a file and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hub is a kubeconfig file with two contexts, each with its own cluster and user.
const hub = `apiVersion: v1
kind: Config
current-context: dev
contexts:
- {name: dev, context: {cluster: dev-cluster, user: dev-user}}
- {name: prod, context: {cluster: prod-cluster, user: prod-user}}
clusters:
- {name: dev-cluster, cluster: {server: "https://dev.example.com:6443", insecure-skip-tls-verify: true}}
- {name: prod-cluster, cluster: {server: "https://prod.example.com:6443", tls-server-name: prod.internal}}
users:
- {name: dev-user, user: {token: dev-file-token}}
- {name: prod-user, user: {token: prod-file-token}}
`

// pair returns a self-signed certificate and its key in PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(4102444800, 0), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// everySetting lists, for each string attribute, its variable, a value, and where the value
// must be found in the client configuration.
func everySetting(t *testing.T) []everyCase {
	certificate, key := pair(t)
	kubeconfig := write(t, "config", hub)
	https := Settings{Host: pointer("https://api.example.com"), Token: pointer("t")}
	anonymous := Settings{Host: pointer("https://api.example.com")}
	file := Settings{ConfigPath: &kubeconfig}
	server := func(c *rest.Config) string { return c.Host }
	return []everyCase{
		{"host", "KUBE_HOST", Settings{}, func(s *Settings) **string { return &s.Host }, "https://api.example.com:6443", server, "https://api.example.com:6443"},
		{"username", "KUBE_USER", anonymous, func(s *Settings) **string { return &s.Username }, "admin",
			func(c *rest.Config) string { return c.Username }, "admin"},
		{"password", "KUBE_PASSWORD", Settings{Host: anonymous.Host, Username: pointer("admin")},
			func(s *Settings) **string { return &s.Password }, "pw", func(c *rest.Config) string { return c.Password }, "pw"},
		{"tls_server_name", "KUBE_TLS_SERVER_NAME", https, func(s *Settings) **string { return &s.TLSServerName }, "api.internal",
			func(c *rest.Config) string { return c.ServerName }, "api.internal"},
		{"client_certificate", "KUBE_CLIENT_CERT_DATA", Settings{Host: anonymous.Host, ClientKey: &key},
			func(s *Settings) **string { return &s.ClientCertificate }, certificate,
			func(c *rest.Config) string { return string(c.CertData) }, certificate},
		{"client_key", "KUBE_CLIENT_KEY_DATA", Settings{Host: anonymous.Host, ClientCertificate: &certificate},
			func(s *Settings) **string { return &s.ClientKey }, key,
			func(c *rest.Config) string { return string(c.KeyData) }, key},
		{"cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA", https,
			func(s *Settings) **string { return &s.ClusterCACertificate }, certificate,
			func(c *rest.Config) string { return string(c.CAData) }, certificate},
		{"config_path", "KUBE_CONFIG_PATH", Settings{}, func(s *Settings) **string { return &s.ConfigPath }, kubeconfig,
			server, "https://dev.example.com:6443"},
		{"config_context", "KUBE_CTX", file, func(s *Settings) **string { return &s.ConfigContext }, "prod",
			server, "https://prod.example.com:6443"},
		{"config_context_auth_info", "KUBE_CTX_AUTH_INFO", file,
			func(s *Settings) **string { return &s.ConfigContextAuthInfo }, "prod-user",
			func(c *rest.Config) string { return c.Host + " " + c.BearerToken }, "https://dev.example.com:6443 prod-file-token"},
		{"config_context_cluster", "KUBE_CTX_CLUSTER", file,
			func(s *Settings) **string { return &s.ConfigContextCluster }, "prod-cluster",
			func(c *rest.Config) string { return c.Host + " " + c.BearerToken }, "https://prod.example.com:6443 dev-file-token"},
		{"token", "KUBE_TOKEN", anonymous, func(s *Settings) **string { return &s.Token }, "tok",
			func(c *rest.Config) string { return c.BearerToken }, "tok"},
		{"proxy_url", "KUBE_PROXY_URL", https, func(s *Settings) **string { return &s.ProxyURL }, "socks5://127.0.0.1:1080", proxyOf, "socks5://127.0.0.1:1080"},
	}
}

type everyCase struct {
	attribute, variable string
	base                Settings
	field               func(*Settings) **string
	value               string
	got                 func(*rest.Config) string
	want                string
}

func proxyOf(c *rest.Config) string {
	if c.Proxy == nil {
		return ""
	}
	u, err := c.Proxy(nil)
	if err != nil {
		return err.Error()
	}
	return u.String()
}
