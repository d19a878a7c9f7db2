package inputs

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// TestMain leaves the acceptance tests out unless TF_ACC asks for them.
func TestMain(m *testing.M) {
	flag.Parse()
	if skip := flag.Lookup("test.skip").Value; os.Getenv("TF_ACC") == "" && skip.String() == "" {
		if err := skip.Set("^TestAcc"); err != nil {
			panic(err)
		}
	}
	os.Exit(cptest.Main(m))
}

// lab is a real control plane, with its administrator and an account that has what the example grants.
type lab struct {
	*testing.T
	ctx    context.Context
	admin  dynamic.Interface
	config *rest.Config
	user   string
}

const rbacGroup = "rbac.authorization.k8s.io"

var (
	roles    = schema.GroupVersionResource{Group: rbacGroup, Version: "v1", Resource: "roles"}
	bindings = schema.GroupVersionResource{Group: rbacGroup, Version: "v1", Resource: "rolebindings"}
	crds     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func newLab(t *testing.T) *lab {
	t.Helper()
	cluster := cptest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	admin, err := dynamic.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &lab{T: t, ctx: ctx, admin: admin, config: cluster.RESTConfig(), user: "acc-inputs-" + strings.ToLower(t.Name()[len("TestAcc"):])}
}

// create makes an object of Argo CD's namespace that is gone after the test.
func (l *lab) create(resource schema.GroupVersionResource, object map[string]any) {
	l.Helper()
	o := &unstructured.Unstructured{Object: object}
	at := l.admin.Resource(resource).Namespace(namespace)
	if _, err := at.Create(l.ctx, o, metav1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = at.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
}

func (l *lab) core(kind, name string, labels map[string]any, data map[string]any) {
	l.Helper()
	resource, field := configMaps, "data"
	if kind == "Secret" {
		resource, field = secrets, "stringData"
	}
	l.create(resource, map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "labels": labels}, field: data})
}

// account has the Roles of the example, without those that leave says, changed by change.
func (l *lab) account(change func(role *unstructured.Unstructured) bool) *Inputs {
	l.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", "rbac", "generators.yaml"))
	if err != nil {
		l.Fatal(err)
	}
	for _, text := range strings.Split(string(content), "\n---\n") {
		role := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &role.Object); err != nil {
			l.Fatal(err)
		}
		if role.GetKind() != "Role" || !change(role) {
			continue
		}
		name := l.user + strings.TrimPrefix(role.GetName(), "argocdprogressive-generators")
		role.SetName(name)
		l.create(roles, role.Object)
		l.create(bindings, map[string]any{
			"apiVersion": rbacGroup + "/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": name},
			"roleRef":  map[string]any{"apiGroup": rbacGroup, "kind": "Role", "name": name},
			"subjects": []any{map[string]any{"apiGroup": rbacGroup, "kind": "User", "name": l.user}},
		})
	}
	config := rest.CopyConfig(l.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: l.user}
	client, err := argocd.New(config, namespace)
	if err != nil {
		l.Fatal(err)
	}
	in := New(client, namespace)
	l.Cleanup(func() { _ = in.Close() })
	return in
}

// named writes the names of the test's own objects into the rules of the example.
func (l *lab) named(role *unstructured.Unstructured, plugin, placement string, resource schema.GroupVersionResource) {
	text, err := yaml.Marshal(role.Object)
	if err != nil {
		l.Fatal(err)
	}
	changed := strings.NewReplacer("my-plugin", plugin, "argocd-secret", plugin, "ocm-placement", placement,
		"cluster.open-cluster-management.io", resource.Group, "placementdecisions", resource.Resource).Replace(string(text))
	if err := yaml.Unmarshal([]byte(changed), &role.Object); err != nil {
		l.Fatal(err)
	}
}

// settled asks until the API server has read the Roles.
func settled[V any](l *lab, ask func() (V, error)) V {
	l.Helper()
	for {
		value, err := ask()
		if err == nil {
			return value
		}
		if l.ctx.Err() != nil || argocd.ExplainForbidden(err) == "" {
			l.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAccGeneratorsNeedWhatTheExampleGrants(t *testing.T) {
	l := newLab(t)
	resource := schema.GroupVersionResource{Group: "inputs.example.com", Version: "v1", Resource: "accdecisions"}
	l.definition(resource)
	l.core("Secret", "acc-inputs-cluster", map[string]any{secretType: "cluster", "acc": "inputs"}, map[string]any{
		"name": "acc-inputs", "server": "https://acc-inputs.example.com", "project": "team", "config": `{"bearerToken": "canary"}`,
	})
	plain, _ := refuser(t, false)
	l.core("Secret", "acc-inputs-repo", map[string]any{secretType: "repository"}, map[string]any{"url": plain, "username": "me", "password": "canary"})
	address := servePlugin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"output": {"parameters": [{"a": "b"}]}}`)
	})
	l.core("Secret", "acc-inputs-plugin", nil, map[string]any{"token": "canary"})
	l.core("ConfigMap", "acc-inputs-plugin", nil, map[string]any{"baseUrl": address, "token": "$acc-inputs-plugin:token"})
	l.core("ConfigMap", "acc-inputs-placement", nil, map[string]any{"apiVersion": "inputs.example.com/v1", "kind": "accdecisions", "matchKey": "clusterName", "statusListKey": "decisions"})
	l.create(resource, map[string]any{
		"apiVersion": "inputs.example.com/v1", "kind": "AccDecision", "metadata": map[string]any{"name": "one", "labels": map[string]any{"acc": "inputs"}},
		"status": map[string]any{"decisions": []any{map[string]any{"clusterName": "acc-inputs", "weight": int64(3)}}},
	})
	nothing := l.account(func(*unstructured.Unstructured) bool { return false })
	call := appset.PluginCall{ConfigMap: "acc-inputs-plugin", Set: "s"}
	query := appset.DecisionQuery{ConfigMap: "acc-inputs-placement", Labels: map[string]any{"matchLabels": map[string]any{"acc": "inputs"}}}

	_, err := nothing.Clusters(l.ctx)
	says(t, err, "forbidden", `resources: ["secrets"]`, `verbs: ["list"]`)
	_, err = nothing.Tree(l.ctx, plain, "main", "")
	says(t, err, "wants credentials (401)", "no credentials were used", `resources: ["secrets"]`)
	_, err = nothing.Plugin(l.ctx, call)
	says(t, err, "acc-inputs-plugin", "forbidden", `resources: ["configmaps"]`, `verbs: ["get"]`)
	_, err = nothing.Decisions(l.ctx, query)
	says(t, err, "acc-inputs-placement", "forbidden", `resources: ["configmaps"]`)
	_, err = nothing.Tree(l.ctx, "git@localhost:repo", "main", "")
	says(t, err, "SSH host keys", "forbidden", `resources: ["configmaps"]`)

	first := l.account(func(role *unstructured.Unstructured) bool {
		l.named(role, "acc-inputs-plugin", "acc-inputs-placement", resource)
		return true
	})
	fresh := func() *Inputs { return New(first.cluster, namespace) }
	clusters := settled(l, func() ([]appset.Cluster, error) { return fresh().Clusters(l.ctx) })
	want := appset.Cluster{Name: "acc-inputs", Server: "https://acc-inputs.example.com", Project: "team", Labels: map[string]string{secretType: "cluster", "acc": "inputs"}}
	if !slices.ContainsFunc(clusters, func(c appset.Cluster) bool { return fmt.Sprint(c) == fmt.Sprint(want) }) {
		t.Errorf("the clusters are %+v, and not %+v among them", clusters, want)
	}
	if found := settled(l, func() ([]map[string]any, error) { return fresh().Plugin(l.ctx, call) }); len(found) != 1 || found[0]["a"] != "b" {
		t.Errorf("the plugin gave %v", found)
	}
	decisions := settled(l, func() (appset.Decisions, error) { return fresh().Decisions(l.ctx, query) })
	if decisions.MatchKey != "clusterName" || len(decisions.Entries) != 1 || fmt.Sprint(decisions.Entries[0]) != "map[clusterName:acc-inputs weight:3]" {
		t.Errorf("the decisions are %+v", decisions)
	}
	_, err = fresh().Tree(l.ctx, plain, "main", "")
	says(t, err, "does not accept the credentials", "those of Secret acc-inputs-repo")
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the error has the credentials: %v", err)
	}
	if _, err := fresh().hostKeys(l.ctx); err != nil {
		t.Error(err)
	}
	if _, missed, err := fresh().certificates(l.ctx, "git.example.com"); missed != nil || err != nil {
		t.Error(missed, err)
	}
}

// definition is that of a kind of resource that decides.
func (l *lab) definition(resource schema.GroupVersionResource) {
	l.Helper()
	name := resource.Resource + "." + resource.Group
	object := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": resource.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": resource.Resource, "singular": "accdecision", "kind": "AccDecision", "listKind": "AccDecisionList"},
			"versions": []any{map[string]any{"name": resource.Version, "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}
	if _, err := l.admin.Resource(crds).Create(l.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = l.admin.Resource(crds).Delete(context.Background(), name, metav1.DeleteOptions{}) })
	for {
		_, err := l.admin.Resource(resource).Namespace(namespace).List(l.ctx, metav1.ListOptions{})
		if err == nil {
			return
		}
		if l.ctx.Err() != nil {
			l.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
