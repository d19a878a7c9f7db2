// Package kubeconfig turns the connection settings of the provider into a *rest.Config.
//
// It owns the names and the precedence of those settings: the attributes and the KUBE_*
// environment variables of the kubernetes provider, so that one habit serves both. It makes
// no connection and runs no credential plugin: a Config can be built before its cluster exists.
//
// It must not know Terraform, Argo CD, or what the connection is for. No text it returns
// contains a token, a password, a key, or a line of a kubeconfig file.
//
// # Precedence
//
// An explicit setting beats an environment variable, which beats the kubeconfig file. An
// explicitly empty setting means "not set", and the environment does not fill it. Some
// settings are alternatives of each other; there, an explicit one also silences the
// environment variables of its alternatives:
//
//   - host silences KUBE_CONFIG_PATH and KUBE_CONFIG_PATHS; config_path and config_paths
//     silence both and KUBE_HOST: what names a cluster explicitly is never redirected to
//     another one by the environment;
//   - of the four kinds of credentials (token, username and password, client certificate and key,
//     exec) an explicit one silences the variables of the others: an API server that is shown a
//     certificate, for one, never looks at the token;
//   - cluster_ca_certificate silences KUBE_INSECURE; insecure = true silences
//     KUBE_CLUSTER_CA_CERT_DATA.
//
// KUBECONFIG and ~/.kube/config are not read unless a setting names them: kubectl's current
// context is too easily another cluster than the one the configuration was written for.
// Without any setting, the service account of the surrounding pod is used.
package kubeconfig
