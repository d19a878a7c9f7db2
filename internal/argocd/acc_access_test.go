package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// granted is a client that may do exactly these things, by real Roles.
func (l *lab) granted(user string, permissions []Permission) *Client {
	l.Helper()
	var rules []any
	for _, p := range permissions {
		rule := map[string]any{"apiGroups": []any{p.Group}, "resources": []any{p.Resource}, "verbs": []any{p.Verb}}
		if p.Name != "" {
			rule["resourceNames"] = []any{p.Name}
		}
		rules = append(rules, rule)
	}
	const rbac = "rbac.authorization.k8s.io"
	for _, o := range []struct {
		kind, resource string
		fields         map[string]any
	}{
		{"Role", "roles", map[string]any{"rules": rules}},
		{"RoleBinding", "rolebindings", map[string]any{
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": "Role", "name": user},
			"subjects": []any{map[string]any{"apiGroup": rbac, "kind": "User", "name": user}},
		}},
	} {
		obj := &unstructured.Unstructured{Object: o.fields}
		obj.SetAPIVersion(rbac + "/v1")
		obj.SetKind(o.kind)
		obj.SetName(user)
		at := l.client.dynamic.Resource(schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: o.resource}).Namespace(l.owner.Namespace)
		_, err := at.Create(l.ctx, obj, metav1.CreateOptions{})
		l.must(err)
		l.Cleanup(func() { _ = at.Delete(context.Background(), user, metav1.DeleteOptions{}) })
	}
	config := l.cluster.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := New(config, l.cluster.ArgoNamespace())
	l.must(err)
	return client
}

// settles asks until the answer is the wanted one: the API server reads Roles from a cache.
func settles(t *testing.T, want string, ask func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := ask()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the answer is %q, not %q", got, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAccEveryVerbOfTheExampleIsMissed(t *testing.T) {
	l := newLab(t, "acc-access")
	all := granted(t, "apply.yaml")
	app := l.rendered("acc-access", nil)
	full := l.granted("acc-access-full", all)
	settles(t, "[]", func() string { return fmt.Sprint(full.Missing(l.ctx, l.owner, everything)) })
	for i, removed := range all {
		t.Run(fmt.Sprintf("%s %s %s", removed.Verb, removed.Resource, removed.Name), func(t *testing.T) {
			c := l.granted(fmt.Sprintf("acc-access-%d", i), slices.Delete(slices.Clone(all), i, i+1))
			optional := !slices.ContainsFunc(needs, func(n need) bool { return !n.optional && n.permission(l.owner, "argocd") == removed })
			if !optional {
				settles(t, fmt.Sprint([]Permission{removed}), func() string { return fmt.Sprint(c.Missing(l.ctx, l.owner, everything)) })
				return
			}
			settles(t, "[]", func() string { return fmt.Sprint(c.Missing(l.ctx, l.owner, everything)) })
			if _, err := c.NamespaceUID(l.ctx); (err != nil) != (removed.Resource == "namespaces") || err != nil && !errors.Is(err, ErrForbidden) {
				t.Errorf("reading the namespace gave %v", err)
			}
			_, problems, err := c.rules(l.ctx, []map[string]any{app})
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, p := range problems {
				said = append(said, fmt.Sprint(p.Summary, p.Warning))
			}
			want := ""
			if removed.Resource == "secrets" || removed.Resource == "appprojects" {
				want = SummaryNotChecked + "true"
			}
			if got := fmt.Sprint(said); got != fmt.Sprintf("[%s]", want) {
				t.Errorf("the preflight would say %s, want [%s]: %+v", got, want, problems)
			}
		})
	}
}
