package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const everything = Plan | Refresh | Apply | Remove | Destroy

// granted are the permissions that a file of examples/rbac grants. They count only where a binding
// gives them to the ServiceAccount of the file.
func granted(t *testing.T, file string) []Permission {
	t.Helper()
	content, err := os.ReadFile("../../examples/rbac/" + file)
	if err != nil {
		t.Fatal(err)
	}
	type document struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Rules    []struct{ APIGroups, Resources, ResourceNames, Verbs []string }
		RoleRef  struct{ Kind, Name string }
		Subjects []struct{ Kind, Name, Namespace string }
	}
	var out []Permission
	account := ""
	roles, bound := map[string]bool{}, map[string]bool{}
	for _, text := range strings.Split(string(content), "\n---\n") {
		var d document
		if err := yaml.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if d.Metadata.Namespace != "argocd" {
			t.Errorf("%s %s is in namespace %q", d.Kind, d.Metadata.Name, d.Metadata.Namespace)
		}
		switch d.Kind {
		case "ServiceAccount":
			account = d.Metadata.Name
		case "Role":
			roles[d.Metadata.Name] = true
		case "RoleBinding":
			if s := d.Subjects; len(s) == 1 && s[0].Kind == "ServiceAccount" && s[0].Name == account && s[0].Namespace == "argocd" && d.RoleRef.Kind == "Role" {
				bound[d.RoleRef.Name] = true
			}
		default:
			t.Errorf("a %s", d.Kind)
		}
		for _, rule := range d.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						out = append(out, Permission{Group: group, Resource: resource, Verb: verb, Namespace: "argocd", Name: strings.Join(rule.ResourceNames, " ")})
					}
				}
			}
		}
	}
	if !maps.Equal(roles, bound) {
		t.Errorf("the Roles are %v, those that are bound to %q are %v", roles, account, bound)
	}
	return out
}

func TestTheExamplesGrantExactlyWhatIsNeeded(t *testing.T) {
	owner := Owner{Namespace: "argocd", Name: "set"}
	for file, purposes := range map[string]Purpose{"apply.yaml": everything, "plan.yaml": Plan | Standing} {
		var want []string
		for _, n := range needs {
			if n.purposes&purposes != 0 {
				want = append(want, fmt.Sprint(n.permission(owner, "argocd")))
			}
		}
		var got []string
		for _, p := range granted(t, file) {
			got = append(got, fmt.Sprint(p))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s grants\n%s\nneeded is\n%s", file, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// access is an API server that answers access reviews.
func access(t *testing.T, answer func(http.ResponseWriter, Permission)) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Spec struct{ ResourceAttributes Permission }
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		w.Header().Set("Content-Type", "application/json")
		answer(w, review.Spec.ResourceAttributes)
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL, QPS: -1}, "argo")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestMissingPermissionsAreToldAllAtOnce(t *testing.T) {
	owner := Owner{Namespace: "apps", Name: "set"}
	verdict := func(allowed bool) string {
		return fmt.Sprintf(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, allowed)
	}
	status := func(code int) func(http.ResponseWriter, Permission) {
		return func(w http.ResponseWriter, _ Permission) {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)
		}
	}
	deny := func(denied func(Permission) bool) func(http.ResponseWriter, Permission) {
		return func(w http.ResponseWriter, p Permission) { fmt.Fprint(w, verdict(!denied(p))) }
	}
	for _, c := range []struct {
		name     string
		answer   func(http.ResponseWriter, Permission)
		purposes Purpose
		want     []string
	}{
		{"nothing is missing", deny(func(Permission) bool { return false }), everything, nil},
		{"an apply without any permission", deny(func(Permission) bool { return true }), Apply, []string{
			"get applications", "list applications", "watch applications", "create applications", "update applications", "patch applications",
			"get configmaps", "create configmaps", "update configmaps", "get leases", "create leases", "update leases"}},
		{"an apply that removes nothing needs no deletion", deny(func(p Permission) bool { return p.Verb == "delete" }), Apply, nil},
		{"an apply that removes something does", deny(func(p Permission) bool { return p.Verb == "delete" }), Remove, []string{"delete applications"}},
		{"a destroy", deny(func(p Permission) bool { return p.Verb == "delete" || p.Verb == "create" }), Destroy, []string{
			"delete applications", "delete configmaps", "create leases", "delete leases"}},
		{"a plan", deny(func(Permission) bool { return true }), Plan, []string{"get applications", "list applications", "get configmaps"}},
		{"what is optional is not asked for", func(w http.ResponseWriter, p Permission) {
			if p.Namespace != "apps" {
				t.Errorf("asked for %+v", p)
			}
			fmt.Fprint(w, verdict(true))
		}, everything, nil},
		{"reviews are forbidden", status(http.StatusForbidden), everything, nil},
		{"reviews are not served", status(http.StatusNotFound), everything, nil},
		{"an answer without a verdict", func(w http.ResponseWriter, _ Permission) {
			fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1"}`)
		}, everything, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range access(t, c.answer).Missing(t.Context(), owner, c.purposes) {
				got = append(got, p.Verb+" "+p.Resource)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("missing are %q, not %q", got, c.want)
			}
		})
	}
}

func TestWhatToGrantCanBePasted(t *testing.T) {
	got := Grant(
		Permission{Group: "argoproj.io", Resource: "applications", Verb: "create", Namespace: "apps"},
		Permission{Resource: "namespaces", Verb: "get", Namespace: "argo", Name: "argo"},
		Permission{Resource: "configmaps", Verb: "get", Namespace: "apps"},
		Permission{Group: "argoproj.io", Resource: "applications", Verb: "patch", Namespace: "apps"},
	)
	want := `Add to the rules of a Role in namespace "apps" that is bound to the provider's credentials (examples/rbac of the provider has everything that it needs):
  - apiGroups: ["argoproj.io"]
    resources: ["applications"]
    verbs: ["create", "patch"]
  - apiGroups: [""]
    resources: ["configmaps"]
    verbs: ["get"]
Check with the same credentials:
  kubectl -n apps auth can-i create applications.argoproj.io
  kubectl -n apps auth can-i patch applications.argoproj.io
  kubectl -n apps auth can-i get configmaps

Add to the rules of a Role in namespace "argo" that is bound to the provider's credentials (examples/rbac of the provider has everything that it needs):
  - apiGroups: [""]
    resources: ["namespaces"]
    resourceNames: ["argo"]
    verbs: ["get"]
Check with the same credentials:
  kubectl -n argo auth can-i get namespaces/argo`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAForbiddenRequestSaysWhatToGrant(t *testing.T) {
	forbidden := apierrors.NewForbidden(applications.GroupResource(), "a", errors.New("RBAC"))
	for _, c := range []struct {
		name string
		err  error
		want Permission
	}{
		{"a verb on all Applications", &RequestError{Verb: "patch", Resource: "applications.argoproj.io", Namespace: "apps", Name: "a", Err: forbidden},
			Permission{Group: "argoproj.io", Resource: "applications", Verb: "patch", Namespace: "apps"}},
		{"wrapped", fmt.Errorf("while at it: %w", &RequestError{Verb: "list", Resource: "secrets", Namespace: "argo", Err: forbidden}),
			Permission{Resource: "secrets", Verb: "list", Namespace: "argo"}},
		{"the namespace itself", &RequestError{Verb: "get", Resource: "namespaces", Name: "argo", Err: forbidden},
			Permission{Resource: "namespaces", Verb: "get", Namespace: "argo", Name: "argo"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := ExplainForbidden(c.err), Grant(c.want); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	for name, err := range map[string]error{
		"no error":      nil,
		"another error": &RequestError{Verb: "get", Resource: "secrets", Err: apierrors.NewUnauthorized("expired")},
		"no request":    forbidden,
	} {
		if got := ExplainForbidden(err); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMessagesOfArgoCDAreTakenWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		`Get "https://token:***@git/x/info/refs": refused`:      `Get "https://git/x/info/refs": refused`,
		"https://token@git/x and ssh://git:p@host/y are broken": "https://git/x and ssh://host/y are broken",
		"https://git/x, mail to a@b":                            "https://git/x, mail to a@b",
		"https://git mail to a@b":                               "https://git mail to a@b",
		"nothing":                                               "nothing",
	} {
		message := map[string]any{"health": map[string]any{"message": text}}
		if got := said(message, "health", "message"); got != want {
			t.Errorf("%s is said as %s", text, got)
		}
	}
	app := map[string]any{"status": map[string]any{
		"health":         map[string]any{"status": "Degraded", "message": "https://secret@a"},
		"conditions":     []any{map[string]any{"type": "ComparisonError", "message": "https://secret@b"}},
		"operationState": map[string]any{"phase": "Failed", "message": "https://secret@c", "syncResult": map[string]any{"resources": []any{map[string]any{"kind": "ConfigMap", "name": "x", "status": "SyncFailed", "message": "https://secret@d"}}}},
	}}
	if got := fmt.Sprintf("%+v", Facts(&unstructured.Unstructured{Object: app}, nil)); strings.Contains(got, "secret") || !strings.Contains(got, "https://d") {
		t.Errorf("the facts are %s", got)
	}
}
