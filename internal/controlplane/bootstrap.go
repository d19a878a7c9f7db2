package controlplane

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const crdTimeout = time.Minute

var (
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

	// resources of every kind that bootstrap creates.
	resources = map[string]schema.GroupVersionResource{
		"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		"Namespace":                {Version: "v1", Resource: "namespaces"},
		"ConfigMap":                {Version: "v1", Resource: "configmaps"},
		"Secret":                   secrets,
		"AppProject":               {Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"},
		"StatefulSet":              {Group: "apps", Version: "v1", Resource: "statefulsets"},
	}
)

// configMapHealth is the health of ConfigMaps in this Argo CD: what data.health says, with
// data.message; without it Healthy, as in any Argo CD. So a test can have every health state
// without a node.
const configMapHealth = `hs = {status = "Healthy", message = ""}
if obj.data ~= nil and obj.data.health ~= nil and obj.data.health ~= "" then
  hs.status = obj.data.health
  hs.message = obj.data.message or ""
end
return hs
`

// configMapHealthKey is where argocd-cm has it.
const configMapHealthKey = "resource.customizations.health.ConfigMap"

// setConfigMapHealth gives it to an Argo CD that is installed already, which reads its settings again
// when they change.
func setConfigMapHealth(ctx context.Context, client dynamic.Interface) error {
	patch, err := json.Marshal(map[string]any{"data": map[string]any{configMapHealthKey: configMapHealth}})
	if err != nil {
		return err
	}
	_, err = client.Resource(resources["ConfigMap"]).Namespace(argoNamespace).Patch(ctx, "argocd-cm", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("setting the health of ConfigMaps in argocd-cm: %w", err)
	}
	return nil
}

// bootstrap creates what Argo CD needs to run: its CustomResourceDefinitions first, then its
// namespace and configuration, and the AppProject "default", which only Argo CD's API server
// would make.
func bootstrap(ctx context.Context, config *rest.Config, client dynamic.Interface, binaries Binaries) error {
	definitions, err := readManifests(filepath.Join(binaries.Dir, "crds"))
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := create(ctx, client, definition); err != nil {
			return err
		}
	}
	namespace := object("v1", "Namespace", argoNamespace, nil)
	namespace.SetNamespace("")
	if err := create(ctx, client, namespace); err != nil {
		return err
	}
	configuration, err := argoConfiguration(binaries)
	if err != nil {
		return err
	}
	for _, object := range configuration {
		if err := create(ctx, client, object); err != nil {
			return err
		}
	}
	if err := create(ctx, client, controllerWorkload(binaries)); err != nil {
		return err
	}
	if err := waitServed(ctx, client); err != nil {
		return err
	}
	project := object("argoproj.io/v1alpha1", "AppProject", "default", map[string]any{
		"spec": map[string]any{
			"sourceRepos":                []any{"*"},
			"destinations":               []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist":   []any{map[string]any{"group": "*", "kind": "*"}},
			"namespaceResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
		},
	})
	if err := create(ctx, client, project); err != nil {
		return err
	}
	return waitOpenAPI(ctx, config)
}

// argoConfiguration is Argo CD's own default configuration, plus the health of ConfigMaps and
// the Secret for its Redis.
func argoConfiguration(binaries Binaries) ([]*unstructured.Unstructured, error) {
	objects, err := readManifests(filepath.Join(binaries.Dir, "config"))
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		o.SetNamespace(argoNamespace)
		var err error
		switch o.GetName() {
		case "argocd-cm":
			err = unstructured.SetNestedField(o.Object, configMapHealth, "data", configMapHealthKey)
		case "argocd-secret":
			// Argo CD's API server would make it. The other parts only ask whether it is there.
			err = unstructured.SetNestedField(o.Object, rand.Text(), "stringData", "server.secretkey")
		}
		if err != nil {
			return nil, fmt.Errorf("completing Argo CD's %s: %w", o.GetName(), err)
		}
	}
	return append(objects, object("v1", "Secret", "argocd-redis", map[string]any{
		"stringData": map[string]any{"auth": ""},
	})), nil
}

// controllerWorkload is what an installed Argo CD shows of its application controller, and so of its
// version. Here the controller is no Pod, so it has no replicas.
func controllerWorkload(binaries Binaries) *unstructured.Unstructured {
	const name = ApplicationController
	labels := func() map[string]any { return map[string]any{"app.kubernetes.io/name": name} }
	workload := object("apps/v1", "StatefulSet", name, map[string]any{"spec": map[string]any{
		"replicas": int64(0), "serviceName": name,
		"selector": map[string]any{"matchLabels": labels()},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels()},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": name, "image": "quay.io/argoproj/argocd:v" + binaries.argoCD().version,
			}}},
		},
	}})
	workload.SetLabels(map[string]string{
		"app.kubernetes.io/name":      name,
		"app.kubernetes.io/part-of":   "argocd",
		"app.kubernetes.io/component": "application-controller",
	})
	return workload
}

// waitServed waits until the API server serves the new resources.
func waitServed(ctx context.Context, client dynamic.Interface) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, readyPoll, crdTimeout, true, func(ctx context.Context) (bool, error) {
		for _, resource := range []schema.GroupVersionResource{applications, resources["AppProject"]} {
			if _, err := client.Resource(resource).Namespace(argoNamespace).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				last = fmt.Errorf("listing %s: %w", resource.Resource, err)
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("kube-apiserver does not serve Argo CD's resources %s after their definitions were created: %w", crdTimeout, last)
	}
	return nil
}

// waitOpenAPI waits until the API server describes the new resources. It puts the description
// together when it is first asked for, which on a busy machine takes longer than Argo CD's
// application controller waits: the first Application would get a ComparisonError.
func waitOpenAPI(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	last := errors.New("not asked yet")
	err = wait.PollUntilContextTimeout(ctx, readyPoll, 2*crdTimeout, true, func(ctx context.Context) (bool, error) {
		document, err := openAPI(ctx, client, config.Host)
		if err != nil {
			last = err
			return false, nil
		}
		for _, definition := range []string{"ApplicationList", "ApplicationSetList", "AppProjectList"} {
			if !bytes.Contains(document, []byte("io.argoproj.v1alpha1."+definition)) {
				last = fmt.Errorf("%s is not described yet", definition)
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("kube-apiserver does not describe Argo CD's resources in its OpenAPI document: %w", last)
	}
	return nil
}

// openAPI is the API server's OpenAPI document in the encoding that client-go, and so Argo CD,
// asks for. Each encoding is put together, and cached, on its own.
func openAPI(ctx context.Context, client *http.Client, host string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/openapi/v2", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	return io.ReadAll(response.Body)
}

// create creates an object. One that exists already is left as it is.
func create(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	resource, ok := resources[o.GetKind()]
	if !ok {
		return fmt.Errorf("creating %s %s: no resource is known for this kind", o.GetKind(), o.GetName())
	}
	_, err := client.Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// object is an object in Argo CD's namespace with further top-level fields.
func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		o.Object[field] = value
	}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	o.SetNamespace(argoNamespace)
	return o
}

// readManifests reads a directory of YAML files with one object each.
func readManifests(dir string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("reading Argo CD's manifests: none in %s", dir)
	}
	sort.Strings(paths)
	objects := make([]*unstructured.Unstructured, 0, len(paths))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading Argo CD's manifests: %w", err)
		}
		encoded, err := yaml.YAMLToJSON(content)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(encoded); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}
