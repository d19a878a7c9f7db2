package controlplane

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterSecretLabel marks the Secrets in which Argo CD keeps its destination clusters
// (docs/operator-manual/declarative-setup.md, Argo CD 3.6.1).
const clusterSecretLabel = "argocd.argoproj.io/secret-type"

// AddCluster registers a destination cluster with Argo CD, beside InClusterServer. It is this
// same API server under another URL: server is Server(), or the same with "localhost" for
// 127.0.0.1 (see LocalhostServer). Argo CD takes clusters with different URLs for different ones.
// A cluster of that name is an error.
func (c *Cluster) AddCluster(ctx context.Context, name, server string) error {
	tls := map[string]any{}
	if c.config.Insecure {
		tls["insecure"] = true
	}
	for field, data := range map[string][]byte{
		"caData": c.config.CAData, "certData": c.config.CertData, "keyData": c.config.KeyData,
	} {
		if len(data) > 0 {
			tls[field] = data // encoded as base64, which is what Argo CD expects
		}
	}
	config := map[string]any{"tlsClientConfig": tls}
	if c.config.BearerToken != "" {
		config["bearerToken"] = c.config.BearerToken
	}
	content, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("registering the cluster %s: %w", name, err)
	}
	secret := object("v1", "Secret", clusterSecretName(name), map[string]any{
		"type": "Opaque",
		"stringData": map[string]any{
			"name": name, "server": server, "config": string(content),
		},
	})
	secret.SetLabels(map[string]string{clusterSecretLabel: "cluster"})
	if _, err := c.dynamic.Resource(secrets).Namespace(argoNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering the cluster %s: %w", name, err)
	}
	return nil
}

// RemoveCluster undoes AddCluster. A cluster that is not registered is no error. Argo CD
// forgets the resources of Applications in a removed cluster without deleting them: delete
// those Applications first.
func (c *Cluster) RemoveCluster(ctx context.Context, name string) error {
	err := c.dynamic.Resource(secrets).Namespace(argoNamespace).Delete(ctx, clusterSecretName(name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the cluster %s: %w", name, err)
	}
	return nil
}

func clusterSecretName(name string) string { return "cluster-" + name }
