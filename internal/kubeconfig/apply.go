package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// validate finds settings that exclude or need each other.
func (r resolved) validate() error {
	switch {
	case set(r.ConfigPath) && len(r.ConfigPaths) > 0:
		return errors.New("config_path and config_paths are both set: use one of them")
	case set(r.Token) && (set(r.Username) || set(r.Password)):
		return errors.New("token (KUBE_TOKEN) and username or password (KUBE_USER, KUBE_PASSWORD) are both set: use one of them")
	case set(r.Password) && !set(r.Username):
		return errors.New("password (KUBE_PASSWORD) is set without username (KUBE_USER)")
	case set(r.ClientCertificate) != set(r.ClientKey):
		return errors.New("client_certificate (KUBE_CLIENT_CERT_DATA) and client_key (KUBE_CLIENT_KEY_DATA) " +
			"need each other: only one of them is set")
	case set(r.ClusterCACertificate) && r.Insecure != nil && *r.Insecure:
		return errors.New("insecure (KUBE_INSECURE) is true and cluster_ca_certificate (KUBE_CLUSTER_CA_CERT_DATA) " +
			"is set: use one of them")
	case r.Exec != nil && r.Exec.Command == "":
		return errors.New("exec has no command")
	case r.Exec != nil && r.Exec.APIVersion == "":
		return errors.New("exec has no api_version, e.g. client.authentication.k8s.io/v1")
	}
	return r.validatePEM()
}

// validatePEM finds damaged certificates before the first connection does. None of the
// messages of crypto/tls and crypto/x509 quotes its input.
func (r resolved) validatePEM() error {
	const hint = "; it must be PEM (-----BEGIN ...), and the values in a kubeconfig file are base64: use base64decode()"
	if set(r.ClientCertificate) {
		if _, err := tls.X509KeyPair([]byte(*r.ClientCertificate), []byte(*r.ClientKey)); err != nil {
			return fmt.Errorf("client_certificate and client_key are no usable pair: %w%s", err, hint)
		}
	}
	if set(r.ClusterCACertificate) && !x509.NewCertPool().AppendCertsFromPEM([]byte(*r.ClusterCACertificate)) {
		return errors.New("cluster_ca_certificate contains no certificate" + hint)
	}
	return nil
}

// apply puts the settings over what the kubeconfig says.
func (r resolved) apply(t *target) error {
	t.cluster, t.user = t.cluster.DeepCopy(), t.user.DeepCopy()
	if r.hasCredentials() {
		r.replaceCredentials(t)
	}
	c := t.cluster
	if set(r.TLSServerName) {
		c.TLSServerName = *r.TLSServerName
	}
	if r.Insecure != nil {
		c.InsecureSkipTLSVerify = *r.Insecure
	}
	switch {
	case set(r.ClusterCACertificate):
		c.CertificateAuthority, c.CertificateAuthorityData = "", []byte(*r.ClusterCACertificate)
		c.InsecureSkipTLSVerify = false
	case c.InsecureSkipTLSVerify:
		// client-go refuses a CA together with insecure, even if it comes from the file.
		c.CertificateAuthority, c.CertificateAuthorityData = "", nil
	}
	if set(r.ProxyURL) {
		if err := checkProxy(*r.ProxyURL); err != nil {
			return err
		}
		c.ProxyURL = *r.ProxyURL
	}
	if set(r.Host) {
		return r.applyHost(t)
	}
	return nil
}

func (r resolved) hasCredentials() bool {
	return set(r.Token) || set(r.Username) || set(r.ClientCertificate) || r.Exec != nil
}

// replaceCredentials drops the user's own credentials first: with a client certificate left
// over from the file, the API server would authenticate that and never look at the token.
func (r resolved) replaceCredentials(t *target) {
	fresh := clientcmdapi.NewAuthInfo()
	fresh.Impersonate, fresh.ImpersonateUID = t.user.Impersonate, t.user.ImpersonateUID
	fresh.ImpersonateGroups, fresh.ImpersonateUserExtra = t.user.ImpersonateGroups, t.user.ImpersonateUserExtra
	fresh.Token, fresh.Username, fresh.Password = text(r.Token), text(r.Username), text(r.Password)
	if set(r.ClientCertificate) {
		fresh.ClientCertificateData, fresh.ClientKeyData = []byte(*r.ClientCertificate), []byte(*r.ClientKey)
	}
	if r.Exec != nil {
		fresh.Exec = &clientcmdapi.ExecConfig{
			APIVersion: r.Exec.APIVersion,
			Command:    r.Exec.Command,
			Args:       slices.Clone(r.Exec.Args),
			// A plugin may ask at a terminal, and must work in CI, where there is none.
			InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode,
		}
		for _, name := range slices.Sorted(maps.Keys(r.Exec.Env)) {
			fresh.Exec.Env = append(fresh.Exec.Env, clientcmdapi.ExecEnvVar{Name: name, Value: r.Exec.Env[name]})
		}
	}
	t.user = fresh
}

// applyHost completes the address. client-go adds a missing scheme too late for a kubeconfig
// cluster; and it takes plain http unless told otherwise, where it drops credentials silently.
func (r resolved) applyHost(t *target) error {
	c := t.cluster
	secure := r.hasCredentials() || c.InsecureSkipTLSVerify ||
		len(c.CertificateAuthorityData) > 0 || c.CertificateAuthority != ""
	u, _, err := rest.DefaultServerURL(*r.Host, "", schema.GroupVersion{}, secure)
	if err != nil || u.Host == "" {
		return errors.New("host (KUBE_HOST) is no address of an API server, e.g. https://10.0.0.1:6443")
	}
	c.Server = u.String()
	return nil
}

// checkProxy never quotes the URL: it may carry a password.
func checkProxy(proxy string) error {
	u, err := url.Parse(proxy)
	if err == nil && u.Host != "" && slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		return nil
	}
	return errors.New("proxy_url (KUBE_PROXY_URL) is no URL with the scheme http, https or socks5, e.g. http://proxy.example.com:3128")
}

// redact takes credentials out of a text of client-go's.
func (t *target) redact(s string) string {
	secrets := []string{t.user.Token, t.user.Password, string(t.user.ClientKeyData), t.cluster.ProxyURL}
	if t.user.Exec != nil {
		for _, e := range t.user.Exec.Env {
			secrets = append(secrets, e.Value)
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "(sensitive)")
		}
	}
	return s
}
