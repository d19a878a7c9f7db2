package argocd

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// clusterSecretLabel selects the Secrets that make clusters known to Argo CD.
	clusterSecretLabel = "argocd.argoproj.io/secret-type=cluster"
	inClusterServer    = "https://kubernetes.default.svc"
	inClusterName      = "in-cluster"
)

// cluster is a destination cluster as Argo CD knows it. Of its Secret, nothing but these three
// values is ever kept, returned or printed.
type cluster struct {
	Name, Server string
	// project that the cluster is scoped to; empty for none.
	project string
}

// destinations are the clusters that Argo CD knows.
type destinations []cluster

// destinations reads the cluster Secrets. Argo CD's own cluster is always among them.
func (c *Client) destinations(ctx context.Context) (destinations, error) {
	what := RequestError{Verb: "list", Resource: "secrets", Namespace: c.namespace}
	options := metav1.ListOptions{LabelSelector: clusterSecretLabel}
	found, _, err := inPages(ctx, c, what, options, c.dynamic.Resource(secrets).Namespace(c.namespace).List, readClusters)
	if err != nil {
		return nil, err
	}
	return destinations(found).withOwn(), nil
}

func readClusters(page *unstructured.UnstructuredList) []cluster {
	found := make([]cluster, len(page.Items))
	for i, secret := range page.Items {
		found[i] = readCluster(secret.Object)
	}
	return found
}

// readCluster follows SecretToCluster (util/db/cluster.go, Argo CD 3.6.1).
func readCluster(secret map[string]any) cluster {
	value := func(key string) string {
		decoded, err := base64.StdEncoding.DecodeString(text(secret, "data", key))
		if err != nil {
			return ""
		}
		return string(decoded)
	}
	return cluster{Name: value("name"), Server: strings.TrimRight(value("server"), "/"), project: value("project")}
}

func (d destinations) withOwn() destinations {
	for _, c := range d {
		if c.Server == inClusterServer {
			return d
		}
	}
	return append(d, cluster{Name: inClusterName, Server: inClusterServer})
}

// find follows GetDestinationCluster (util/argo/argo.go, Argo CD 3.6.1). The error says what is
// wrong with the destination.
func (d destinations) find(destination map[string]any) (cluster, error) {
	name, server := text(destination, "name"), strings.TrimRight(text(destination, "server"), "/")
	switch {
	case name == "" && server == "":
		return cluster{}, fmt.Errorf("the destination names no cluster: set either spec.destination.server or spec.destination.name")
	case name != "" && server != "":
		return cluster{}, fmt.Errorf("the destination names a cluster by server (%s) and by name (%s): set only one of them", server, name)
	}
	var found destinations
	for _, c := range d {
		if server != "" && c.Server == server || name != "" && c.Name == name {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 0 && name == inClusterName:
		return d.find(map[string]any{"server": inClusterServer})
	case len(found) == 0:
		return cluster{}, fmt.Errorf("Argo CD knows no cluster %s: register it (argocd cluster add, or a Secret with label %s)", server+name, clusterSecretLabel)
	case len(found) > 1 && name != "":
		return cluster{}, fmt.Errorf("%d clusters have the name %s: set spec.destination.server instead", len(found), name)
	}
	return found[0], nil
}

// KnownDestinations tells which Applications have a destination cluster that Argo CD does not
// know (any more): name -> what is wrong with it. Argo CD deletes such an Application without
// deleting its resources, and says nothing. ErrForbidden means that cluster Secrets are unreadable.
func (c *Client) KnownDestinations(ctx context.Context, apps []*unstructured.Unstructured) (unknown map[string]string, err error) {
	known, err := c.destinations(ctx)
	if err != nil {
		return nil, err
	}
	unknown = map[string]string{}
	for _, app := range apps {
		if _, err := known.find(dict(app.Object, "spec", "destination")); err != nil {
			unknown[app.GetName()] = err.Error()
		}
	}
	return unknown, nil
}
