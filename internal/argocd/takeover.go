package argocd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// StateTakingOver says that an in-cluster ApplicationSet is on its way to become a set of this provider
// (Payload.TakeOver). Its Applications may not carry our marks yet.
const StateTakingOver State = "taking over"

var applicationSets = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}

// TakeOver is what the record holds of an in-cluster ApplicationSet from before the first change of
// it until its Applications carry our marks. It is a stored format.
type TakeOver struct {
	// UID is that of the ApplicationSet; one of the same name that replaced it is another one.
	UID string `json:"uid"`
	// ApplicationSet as it was before it was changed.
	ApplicationSet map[string]any `json:"applicationSet"`
	// Applications are those that it controls: name -> UID.
	Applications map[string]string `json:"applications"`
}

// InCluster is an ApplicationSet in the cluster, with what its controller has said of it.
type InCluster struct{ object *unstructured.Unstructured }

// InCluster reads the ApplicationSet of an owner's name; nil when there is none.
func (c *Client) InCluster(ctx context.Context, owner Owner) (*InCluster, error) {
	object, err := c.Object(ctx, applicationSets, owner.Namespace, owner.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &InCluster{object}, nil
}

// UID is that of the object.
func (s *InCluster) UID() string { return string(s.object.GetUID()) }

// Frozen tells that a take-over has begun to change it.
func (s *InCluster) Frozen() bool {
	return slices.ContainsFunc(objects(s.object.Object, "spec", "generators"), isFreeze)
}

// Manifest is the ApplicationSet as somebody would write it: without what the API server and the
// controller have added.
func (s *InCluster) Manifest() map[string]any {
	metadata := map[string]any{"name": s.object.GetName(), "namespace": s.object.GetNamespace()}
	annotations := s.object.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	delete(annotations, "argocd.argoproj.io/application-set-refresh")
	for key, values := range map[string]map[string]string{"labels": s.object.GetLabels(), "annotations": annotations} {
		if len(values) > 0 {
			copied := map[string]any{}
			for k, v := range values {
				copied[k] = v
			}
			metadata[key] = copied
		}
	}
	spec := cloneDict(dict(s.object.Object, "spec"))
	withoutEmptyTemplates(spec["generators"])
	if template := dict(spec, "template"); len(dict(template, "metadata")) == 0 {
		delete(template, "metadata")
	}
	return map[string]any{"apiVersion": appset.APIVersion, "kind": "ApplicationSet", "metadata": metadata, "spec": spec}
}

// withoutEmptyTemplates removes the empty template that Argo CD's own types write into every
// generator (ApplicationSetTemplate in applicationset_types.go, 3.6.1), and nothing that somebody has written.
func withoutEmptyTemplates(generators any) {
	all, _ := generators.([]any)
	for _, g := range all {
		kinds, _ := g.(map[string]any)
		for kind, block := range kinds {
			inner, ok := block.(map[string]any)
			if !ok || kind == "selector" {
				continue
			}
			if isEmpty(inner["template"]) {
				delete(inner, "template")
			}
			withoutEmptyTemplates(inner["generators"])
		}
	}
}

// isEmpty tells that a tree of objects holds nothing but empty texts.
func isEmpty(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return v == ""
	}
	for _, inner := range m {
		if !isEmpty(inner) {
			return false
		}
	}
	return true
}

// Refusal is a reason why a set is not taken over, with what to do.
type Refusal struct{ Summary, Detail string }

// Refusals are the reasons why the set is not taken over as it is now. Of one that a take-over has
// changed already, only those are asked about that would undo it.
func (c *Client) Refusals(ctx context.Context, set *InCluster) ([]Refusal, error) {
	from, err := c.origins(ctx, set)
	if err != nil {
		return nil, err
	}
	return set.refusals(from), nil
}

func (s *InCluster) refusals(from origins) []Refusal {
	out := s.parents(from)
	if s.Frozen() {
		return out
	}
	if s.object.GetDeletionTimestamp() != nil {
		out = append(out, Refusal{"ApplicationSet is being deleted", fmt.Sprintf(
			"It has a deletionTimestamp, and the finalizers %s. Wait until it is gone: kubectl -n %s get applicationsets.argoproj.io %s",
			orNothing(s.object.GetFinalizers()), s.object.GetNamespace(), s.object.GetName())})
	}
	if message, failing := s.condition("ErrorOccurred"); failing {
		out = append(out, Refusal{"ApplicationSet fails", fmt.Sprintf(
			"Its controller cannot generate or write its Applications, so it is not known which belong to it. The controller says: %s. "+
				"Correct it first; see kubectl -n %s describe applicationsets.argoproj.io %s", strings.TrimSuffix(message, "."), s.object.GetNamespace(), s.object.GetName())})
	}
	if message, rolling := s.condition("RolloutProgressing"); rolling {
		out = append(out, Refusal{"Rollout in the cluster is running", fmt.Sprintf(
			"The controller rolls the set out right now, and to take it over would leave that half done. The controller says: %s. Wait until it is done, and run terraform again; "+
				"if it hangs, correct that first: kubectl -n %s get applicationsets.argoproj.io %s -o jsonpath='{.status.applicationStatus}'",
			strings.TrimSuffix(message, "."), s.object.GetNamespace(), s.object.GetName())})
	}
	return out
}

// condition tells whether a condition of the set is true, and its message.
func (s *InCluster) condition(kind string) (message string, is bool) {
	for _, c := range objects(s.object.Object, "status", "conditions") {
		if text(c, "type") == kind && text(c, "status") == "True" {
			return said(c, "message"), true
		}
	}
	return "", false
}

// TakeOverListing lists the Applications of a set that is being taken over: those that the
// ApplicationSet with the UID of t controls, those that t names, and those that carry our marks. What
// the controller has put on them counts as managed: the keys that rendered says, name -> the Application as
// the ApplicationSet renders it. The list is for reading: nobody can watch from it by our label.
func (c *Client) TakeOverListing(ctx context.Context, owner Owner, t TakeOver, rendered map[string]map[string]any) (*Listing, error) {
	found, _, err := c.listObjects(ctx, owner.Namespace, "")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, compareNames)
	l := &Listing{Live: []rollout.Live{}, Objects: map[string]*unstructured.Unstructured{}}
	for _, obj := range found {
		switch {
		case t.has(obj):
			asManaged(obj, rendered[obj.GetName()])
		case !owner.owns(obj):
			continue
		}
		l.Live = append(l.Live, c.facts(obj))
		l.Objects[obj.GetName()] = obj
	}
	return l, nil
}

// has tells that an Application belongs to the ApplicationSet, and does not carry our marks yet.
func (t TakeOver) has(obj metav1.Object) bool {
	if controlledBy(obj, t.UID) {
		return true
	}
	return t.Applications[obj.GetName()] == string(obj.GetUID()) && metav1.GetControllerOf(obj) == nil && obj.GetAnnotations()[OwnerAnnotation] == ""
}

func controlledBy(obj metav1.Object, uid string) bool {
	ref := metav1.GetControllerOf(obj)
	return ref != nil && string(ref.UID) == uid
}

// asManaged notes on an Application what the controller manages of it, as our marks do: it replaces
// all labels and annotations by the rendered ones. Where it is not known what it renders, that is all.
func asManaged(obj *unstructured.Unstructured, rendered map[string]any) {
	managed := managedOf(rendered)
	if rendered == nil {
		managed = managedOf(obj.Object)
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ManagedAnnotation] = managed.String()
	obj.SetAnnotations(annotations)
}
