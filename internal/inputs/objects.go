package inputs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// refusal tells what could not be read, and what to grant where that is the reason.
func refusal(doing string, err error) error {
	switch advice := argocd.ExplainForbidden(err); {
	case advice != "":
		return fmt.Errorf("%s: %w\n\n%s", doing, err, advice)
	case errors.Is(err, argocd.ErrUnauthorized):
		return fmt.Errorf("%s: %w: the API server does not accept the provider's credentials", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// secretData are the values of a Secret.
func secretData(object unstructured.Unstructured) (map[string]string, error) {
	encoded, _, err := unstructured.NestedStringMap(object.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s has data that are no texts", object.GetNamespace(), object.GetName())
	}
	data := make(map[string]string, len(encoded))
	for key, value := range encoded {
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("Secret %s/%s has a value of %q that is not in base64", object.GetNamespace(), object.GetName(), key)
		}
		data[key] = string(decoded)
	}
	return data, nil
}

// configMap are the data of a ConfigMap, read once. What does not exist is an error.
func (in *Inputs) configMap(ctx context.Context, name string) (map[string]string, error) {
	return in.settings.get(ctx, name, func() (map[string]string, error) {
		object, err := in.get(ctx, configMaps, name)
		if err != nil {
			return nil, err
		}
		data, _, err := unstructured.NestedStringMap(object.Object, "data")
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s has data that are no texts", in.namespace, name)
		}
		return data, nil
	})
}

// description is the ConfigMap that a generator refers to.
func (in *Inputs) description(ctx context.Context, what, name string) (map[string]string, error) {
	if name == "" {
		return nil, fmt.Errorf("the %s names no ConfigMap", what)
	}
	data, err := in.configMap(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no ConfigMap %s/%s, which describes the %s: %w", in.namespace, name, what, err)
	}
	if err != nil {
		return nil, refusal(fmt.Sprintf("reading ConfigMap %s/%s, which describes the %s", in.namespace, name, what), err)
	}
	return data, nil
}

// insideCluster tells that a host has a name that is known in a cluster only.
func insideCluster(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if name, _, ok := strings.Cut(host, ":"); ok && !strings.HasPrefix(host, "[") {
		host = name
	}
	return host != "" && host != "localhost" && (!strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local"))
}

// fromInside says why a host is not found.
func fromInside(host string) string {
	return fmt.Sprintf("%s looks like a name that is known inside of the cluster only, and Terraform runs outside: "+
		"use a name that both Argo CD and Terraform can reach, or run Terraform in the cluster", host)
}
