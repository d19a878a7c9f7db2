package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

// In the tests the provider is a ServiceAccount that may do what examples/rbac/apply.yaml grants
// and nothing else; the fixtures themselves are the administrator.

// applyAccount is the name in that file, of the ServiceAccount and the first Role.
const applyAccount = "argocdprogressive-apply"

// tokenLife is longer than any run of the tests.
const tokenLife = 24 * time.Hour

var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	roles           = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	roleBindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}

	rbacKinds = map[string]schema.GroupVersionResource{"ServiceAccount": serviceAccounts, "Role": roles, "RoleBinding": roleBindings}
)

// account is a ServiceAccount of the test cluster.
type account struct{ name, token string }

var applying struct {
	sync.Once
	account account
	err     error
}

// account is the one that the provider runs as unless a test says otherwise.
func (f *fixture) account() account {
	f.Helper()
	applying.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		applying.account, applying.err = newAccount(ctx, f.cluster, f.client, readRBAC("apply.yaml", applyAccount))
	})
	if applying.err != nil {
		f.Fatal(applying.err)
	}
	return applying.account
}

// accountOf makes an account of this test alone from a file of examples/rbac. change, if any, edits
// the rules of its Roles.
func (f *fixture) accountOf(file, name, suffix string, change func(role *unstructured.Unstructured)) account {
	f.Helper()
	objects := readRBAC(file, name)
	for _, o := range objects {
		text := strings.ReplaceAll(manifest(o.Object), name, f.name+"-"+suffix)
		*o = *parse(text)
		if change != nil && o.GetKind() == "Role" {
			change(o)
		}
	}
	return f.passingAccount(objects)
}

// passingAccount makes the account that the objects are, and removes them after the test.
func (f *fixture) passingAccount(objects []*unstructured.Unstructured) account {
	f.Helper()
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, o := range objects {
			err := f.client.Resource(rbacKinds[o.GetKind()]).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				f.Logf("removing %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	})
	a, err := newAccount(f.ctx(), f.cluster, f.client, objects)
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// readRBAC reads a file of examples/rbac, which is for the account of that name.
func readRBAC(file, name string) []*unstructured.Unstructured {
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", "rbac", file))
	if err != nil {
		panic(err) // a file of this repository
	}
	var objects []*unstructured.Unstructured
	for _, text := range strings.Split(string(content), "\n---\n") {
		o := parse(text)
		if !strings.HasPrefix(o.GetName(), name) {
			panic(fmt.Sprintf("%s %s in %s", o.GetKind(), o.GetName(), file))
		}
		objects = append(objects, o)
	}
	return objects
}

func parse(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err) // a file of this repository
	}
	return o
}

// newAccount creates the objects, or brings them up to date, and waits until they have effect.
func newAccount(ctx context.Context, cluster *controlplane.Cluster, client dynamic.Interface, objects []*unstructured.Unstructured) (account, error) {
	var a account
	for _, o := range objects {
		resource, known := rbacKinds[o.GetKind()]
		if !known {
			return a, fmt.Errorf("no resource is known for a %s", o.GetKind())
		}
		at := client.Resource(resource).Namespace(o.GetNamespace())
		_, err := at.Create(ctx, o, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = at.Update(ctx, o, metav1.UpdateOptions{})
		}
		if err != nil {
			return a, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "ServiceAccount" {
			a.name = o.GetName()
		}
	}
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int64(tokenLife.Seconds())},
	}}
	request.SetName(a.name)
	answer, err := client.Resource(serviceAccounts).Namespace(argoNamespace).Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return a, fmt.Errorf("a token for %s: %w", a.name, err)
	}
	a.token, _, _ = unstructured.NestedString(answer.Object, "status", "token")
	return a, a.await(ctx, cluster)
}

// await waits until the API server, which reads Roles from a cache, lets the account in.
func (a account) await(ctx context.Context, cluster *controlplane.Cluster) error {
	client, err := dynamic.NewForConfig(a.config(cluster))
	if err != nil {
		return err
	}
	for {
		_, listed := client.Resource(applications).Namespace(argoNamespace).List(ctx, metav1.ListOptions{Limit: 1})
		_, read := client.Resource(namespaces).Get(ctx, argoNamespace, metav1.GetOptions{})
		if listed == nil || read == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s is not let in: %w, %w", a.name, listed, read)
		}
	}
}

// config connects as the account.
func (a account) config(cluster *controlplane.Cluster) *rest.Config {
	config := rest.AnonymousClientConfig(cluster.RESTConfig())
	config.BearerToken = a.token
	return config
}

// kubeconfig is a kubeconfig file of the provider's account.
func (f *fixture) kubeconfig() string {
	f.Helper()
	if f.asAccount == "" {
		f.asAccount = f.kubeconfigOf(f.account())
	}
	return f.asAccount
}

// kubeconfigOf writes a kubeconfig file of an account.
func (f *fixture) kubeconfigOf(a account) string {
	f.Helper()
	config := a.config(f.cluster)
	if err := rest.LoadTLSFiles(config); err != nil {
		f.Fatal(err)
	}
	file := clientcmdapi.NewConfig()
	file.Clusters["test"] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData,
		InsecureSkipTLSVerify: config.Insecure, TLSServerName: config.ServerName,
	}
	file.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: a.token}
	file.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	file.CurrentContext = "test"
	path := filepath.Join(f.TempDir(), a.name+".kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		f.Fatal(err)
	}
	return path
}

// as are the provider's attributes for a connection as another account.
func (f *fixture) as(a account) obj {
	f.Helper()
	return obj{"kubernetes": obj{"config_path": f.kubeconfigOf(a)}}
}

// grant is one verb of a rule.
type grant struct{ group, resource, verb, name string }

func (g grant) String() string {
	text := g.verb + " " + schema.GroupResource{Group: g.group, Resource: g.resource}.String()
	if g.name != "" {
		text += "/" + g.name
	}
	return text
}

// eachGrant visits the verbs of a Role and removes those for which keep is false.
func eachGrant(role *unstructured.Unstructured, keep func(grant) bool) {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	texts := func(rule any, field string) []string {
		list, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), field)
		return list
	}
	var left []any
	for _, rule := range rules {
		groups, resources, names := texts(rule, "apiGroups"), texts(rule, "resources"), texts(rule, "resourceNames")
		if len(groups) != 1 || len(resources) != 1 || len(names) > 1 {
			panic(fmt.Sprintf("a rule of examples/rbac is about one resource: %v", rule))
		}
		verbs := slices.DeleteFunc(texts(rule, "verbs"), func(verb string) bool {
			return !keep(grant{groups[0], resources[0], verb, strings.Join(names, "")})
		})
		if len(verbs) > 0 {
			kept := make([]any, len(verbs))
			for i, v := range verbs {
				kept[i] = v
			}
			rule.(map[string]any)["verbs"] = kept
			left = append(left, rule)
		}
	}
	role.Object["rules"] = left
}
