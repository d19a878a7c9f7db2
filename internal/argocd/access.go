package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Purpose is what credentials are used for. Purposes are combined with |.
type Purpose uint

// The purposes.
const (
	// Plan reads a set; it writes nothing.
	Plan Purpose = 1 << iota
	// Refresh lets a plan ask Argo CD to look at git again.
	Refresh
	// Apply creates a set or changes it.
	Apply
	// Remove is an apply that deletes Applications.
	Remove
	// Destroy deletes a set.
	Destroy
	// Look reads the in-cluster ApplicationSet that is imported and not taken over yet.
	Look
	// TakingOver is an apply that takes it over.
	TakingOver
	// Standing reads where a set stands and what became of its rollouts; it writes nothing.
	Standing
)

// Permission is one verb on one resource, as a Role grants it.
type Permission struct {
	// Group is empty for the core group.
	Group, Resource, Verb string
	// Namespace that the Role is in.
	Namespace string
	// Name of the only object that it is needed for; empty for all.
	Name string
}

// need is a permission that some purposes need. examples/rbac grants exactly these.
type need struct {
	resource schema.GroupVersionResource
	verb     string
	purposes Purpose
	// argo: in Argo CD's own namespace, not in that of the Applications.
	argo bool
	// name is that of the only object; argoNamespaceName stands for Argo CD's namespace.
	name string
	// optional: something is not checked without it, and a warning says so where that matters.
	optional bool
}

const (
	argoConfigMap     = "argocd-cm"
	argoNamespaceName = "*argocd"
)

var (
	leases  = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	reviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
)

// needs is everything that this package asks of the API server.
var needs = []need{
	// Names that are to be written and may exist already, and what a conflict was about.
	{resource: applications, verb: "get", purposes: Plan | Apply | Destroy},
	{resource: applications, verb: "list", purposes: Plan | Standing | Apply | Destroy},
	{resource: applications, verb: "watch", purposes: Refresh | Apply | Destroy},
	{resource: applications, verb: "create", purposes: Apply},
	// An operation that Argo CD has not taken up is withdrawn by an update.
	{resource: applications, verb: "update", purposes: Apply | Destroy},
	// Marks, refreshes, and the end of an operation.
	{resource: applications, verb: "patch", purposes: Refresh | Apply | Destroy},
	{resource: applications, verb: "delete", purposes: Remove | Destroy},
	// The record.
	{resource: configMaps, verb: "get", purposes: Plan | Standing | Apply | Destroy},
	{resource: configMaps, verb: "create", purposes: Apply},
	{resource: configMaps, verb: "update", purposes: Apply},
	{resource: configMaps, verb: "list", purposes: Destroy},
	{resource: configMaps, verb: "delete", purposes: Destroy},
	// The lock. It also tells a rollout that runs from one whose process was killed.
	{resource: leases, verb: "get", purposes: Apply | Destroy},
	{resource: leases, verb: "get", purposes: Standing, optional: true},
	{resource: leases, verb: "create", purposes: Apply | Destroy},
	{resource: leases, verb: "update", purposes: Apply | Destroy},
	{resource: leases, verb: "delete", purposes: Destroy},
	{resource: applicationSets, verb: "get", purposes: Look | TakingOver},
	{resource: applicationSets, verb: "patch", purposes: TakingOver},
	{resource: applicationSets, verb: "delete", purposes: TakingOver},
	{resource: namespaces, verb: "get", purposes: Plan | Standing | Apply | Destroy, argo: true, name: argoNamespaceName, optional: true},
	// What an AppProject permits, and its sync windows.
	{resource: appProjects, verb: "get", purposes: Plan | Apply, argo: true, optional: true},
	{resource: configMaps, verb: "get", purposes: Plan | Apply, argo: true, name: argoConfigMap, optional: true},
	{resource: secrets, verb: "list", purposes: Apply | Destroy, argo: true, optional: true},
	// The version of Argo CD.
	{resource: statefulSets, verb: "list", purposes: Plan | Apply, argo: true, optional: true},
	{resource: deployments, verb: "list", purposes: Plan | Apply, argo: true, optional: true},
}

// permission is n for a set of owner.
func (n need) permission(owner Owner, argoNamespace string) Permission {
	p := Permission{Group: n.resource.Group, Resource: n.resource.Resource, Verb: n.verb, Namespace: owner.Namespace, Name: n.name}
	if n.argo {
		p.Namespace = argoNamespace
	}
	if p.Name == argoNamespaceName {
		p.Name = argoNamespace
	}
	return p
}

// Missing are the permissions that the purposes need and the credentials do not have, in the order
// of examples/rbac: asked before the first write, so that a rollout does not stop half-way for the
// lack of one. Where the API server does not answer such questions, nothing is missing: the request
// itself will tell.
func (c *Client) Missing(ctx context.Context, owner Owner, purposes Purpose) []Permission {
	var asked []Permission
	for _, n := range needs {
		if n.purposes&purposes != 0 && !n.optional {
			asked = append(asked, n.permission(owner, c.namespace))
		}
	}
	missing := c.deniedOf(ctx, asked)
	for range secondLooks {
		if len(missing) == 0 || sleep(ctx, time.Second) != nil {
			return missing
		}
		missing = c.deniedOf(ctx, missing)
	}
	return missing
}

// secondLooks is how often, a second apart, a denial is asked about again: an API server that has
// just been started denies everything until it has read the roles.
const secondLooks = 2

// deniedOf are the permissions that the API server says are missing.
func (c *Client) deniedOf(ctx context.Context, asked []Permission) []Permission {
	denied := make([]bool, len(asked))
	_ = parallel(len(asked), func(i int) error { // f returns no errors
		denied[i] = c.denied(ctx, asked[i])
		return nil
	})
	var missing []Permission
	for i, p := range asked {
		if denied[i] {
			missing = append(missing, p)
		}
	}
	return missing
}

// denied asks the API server whether it would refuse a request of these credentials.
func (c *Client) denied(ctx context.Context, p Permission) bool {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": reviews.GroupVersion().String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"group": p.Group, "resource": p.Resource, "verb": p.Verb, "namespace": p.Namespace, "name": p.Name,
		}},
	}}
	var answer *unstructured.Unstructured
	what := RequestError{Verb: "create", Resource: reviews.GroupResource().String()}
	err := c.requestWithin(ctx, firstPatience, what, func() (err error) {
		answer, err = c.dynamic.Resource(reviews).Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false
	}
	allowed, said := at(answer.Object, "status", "allowed").(bool)
	return said && !allowed
}

// ExplainForbidden says what to grant after a request that was forbidden (403), as Grant does;
// empty for any other error.
func ExplainForbidden(err error) string {
	var request *RequestError
	if !errors.Is(err, ErrForbidden) || !errors.As(err, &request) {
		return ""
	}
	resource, group, _ := strings.Cut(request.Resource, ".")
	p := Permission{Group: group, Resource: resource, Verb: request.Verb, Namespace: request.Namespace}
	if resource == namespaces.Resource {
		// A Role in a namespace may grant to read that namespace itself.
		p.Namespace, p.Name = request.Name, request.Name
	}
	return Grant(p)
}

// Grant says what to add to the Roles of the provider's credentials, as YAML, and how to check it.
func Grant(missing ...Permission) string {
	byNamespace := func(a, b Permission) int { return cmp.Compare(a.Namespace, b.Namespace) }
	missing = slices.Clone(missing)
	slices.SortStableFunc(missing, byNamespace)
	var paragraphs []string
	for len(missing) > 0 {
		n := 1
		for n < len(missing) && byNamespace(missing[0], missing[n]) == 0 {
			n++
		}
		paragraphs = append(paragraphs, grantIn(missing[:n]))
		missing = missing[n:]
	}
	return strings.Join(paragraphs, "\n\n")
}

// grantIn is Grant for one namespace. Lines that begin with blanks are printed by Terraform as they are.
func grantIn(missing []Permission) string {
	namespace := missing[0].Namespace
	var rules, checks strings.Builder
	for len(missing) > 0 {
		first := missing[0]
		same := func(p Permission) bool {
			return p.Group == first.Group && p.Resource == first.Resource && p.Name == first.Name
		}
		var verbs []string
		for _, p := range missing {
			if same(p) {
				verbs = append(verbs, p.Verb)
				fmt.Fprintf(&checks, "\n  kubectl -n %s auth can-i %s %s", namespace, p.Verb, p.target())
			}
		}
		missing = slices.DeleteFunc(slices.Clone(missing), same)
		fmt.Fprintf(&rules, "\n  - apiGroups: [%q]\n    resources: [%q]\n", first.Group, first.Resource)
		if first.Name != "" {
			fmt.Fprintf(&rules, "    resourceNames: [%q]\n", first.Name)
		}
		fmt.Fprintf(&rules, "    verbs: [\"%s\"]", strings.Join(verbs, `", "`))
	}
	return fmt.Sprintf("Add to the rules of a Role in namespace %q that is bound to the provider's credentials "+
		"(examples/rbac of the provider has everything that it needs):%s\nCheck with the same credentials:%s", namespace, &rules, &checks)
}

// target is how kubectl names what a permission is about.
func (p Permission) target() string {
	resource := schema.GroupResource{Group: p.Group, Resource: p.Resource}.String()
	return sentence("/", resource, p.Name)
}
