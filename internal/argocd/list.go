package argocd

import (
	"cmp"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Listing is the Applications of a set at one moment, and where a watch goes on from it.
type Listing struct {
	// Live are the Applications, sorted by name.
	Live []rollout.Live
	// Objects are the same as full objects, by name.
	Objects map[string]*unstructured.Unstructured
	// version is the resourceVersion of the list.
	version string
}

// Listing lists the Applications of a set. One that carries the set's label but names another
// owner is not one of them.
func (c *Client) Listing(ctx context.Context, owner Owner) (*Listing, error) {
	found, version, err := c.listObjects(ctx, owner.Namespace, selector(owner))
	if err != nil {
		return nil, err
	}
	l := &Listing{Live: []rollout.Live{}, Objects: map[string]*unstructured.Unstructured{}, version: version}
	for _, obj := range found {
		if owner.owns(obj) {
			l.Live = append(l.Live, c.facts(obj))
			l.Objects[obj.GetName()] = obj
		}
	}
	slices.SortFunc(l.Live, func(a, b rollout.Live) int { return cmp.Compare(a.Name, b.Name) })
	return l, nil
}

// List returns what Listing finds: the Applications of a set, sorted by name, and the same as full
// objects by name.
func (c *Client) List(ctx context.Context, owner Owner) ([]rollout.Live, map[string]*unstructured.Unstructured, error) {
	l, err := c.Listing(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	return l.Live, l.Objects, nil
}

// selector selects the Applications that carry the label of a set.
func selector(owner Owner) string { return SetLabel + "=" + owner.Hash() }

// listObjects lists Applications, and returns the resourceVersion to watch from.
func (c *Client) listObjects(ctx context.Context, namespace, selector string) ([]*unstructured.Unstructured, string, error) {
	return inPages(ctx, c, appRequest("list", namespace, ""), metav1.ListOptions{LabelSelector: selector}, c.apps(namespace).List,
		func(page *unstructured.UnstructuredList) []*unstructured.Unstructured {
			found := make([]*unstructured.Unstructured, len(page.Items))
			for i := range page.Items {
				found[i] = &page.Items[i]
			}
			return found
		})
}

// Holder tells whose an Application is that exists already.
type Holder string

const (
	// HeldByUs: it names the owner that was asked for.
	HeldByUs Holder = "ours"
	// HeldByOtherSet: it names another owner (Existing.HolderName) of this provider.
	HeldByOtherSet Holder = "other set"
	// HeldByController: an ApplicationSet in the cluster (Existing.HolderName) controls it.
	HeldByController Holder = "in-cluster ApplicationSet"
	// HeldByNobody: nothing claims it.
	HeldByNobody Holder = "nobody"
)

// Existing is an Application that exists already.
type Existing struct {
	Name, UID, Version string
	Holder             Holder
	// HolderName is "namespace/name" of the other owner or of the ApplicationSet.
	HolderName string
	// Labelled tells that it carries the set's label, so that List finds it.
	Labelled    bool
	Terminating bool
}

// fewNames is how many names are looked up one by one; for more of them, all Applications are listed.
const fewNames = 100

// Get tells which of names exist already in the owner's namespace, and whose they are. Names that
// do not exist are absent from the result.
func (c *Client) Get(ctx context.Context, owner Owner, names ...string) (map[string]Existing, error) {
	if len(names) > fewNames {
		return c.getListed(ctx, owner, names)
	}
	found := make([]*metav1.PartialObjectMetadata, len(names))
	err := parallel(len(names), func(i int) error {
		err := c.request(ctx, appRequest("get", owner.Namespace, names[i]), func() (err error) {
			found[i], err = c.metadata.Resource(applications).Namespace(owner.Namespace).Get(ctx, names[i], metav1.GetOptions{})
			return err
		})
		if apierrors.IsNotFound(err) {
			found[i], err = nil, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := map[string]Existing{}
	for i, obj := range found {
		if obj != nil {
			out[names[i]] = existing(owner, obj)
		}
	}
	return out, nil
}

// getListed is Get for many names.
func (c *Client) getListed(ctx context.Context, owner Owner, names []string) (map[string]Existing, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	found, err := c.listMetadata(ctx, owner.Namespace, func(obj *metav1.PartialObjectMetadata) bool { return wanted[obj.GetName()] })
	if err != nil {
		return nil, err
	}
	out := map[string]Existing{}
	for name, obj := range found {
		out[name] = existing(owner, obj)
	}
	return out, nil
}

// listMetadata lists the Applications of a namespace that keep says yes to, by name: their metadata, for the whole
// of them may be a hundred times as large.
func (c *Client) listMetadata(ctx context.Context, namespace string, keep func(*metav1.PartialObjectMetadata) bool) (map[string]*metav1.PartialObjectMetadata, error) {
	kept, _, err := inPages(ctx, c, appRequest("list", namespace, ""), metav1.ListOptions{}, c.metadata.Resource(applications).Namespace(namespace).List,
		func(page *metav1.PartialObjectMetadataList) []*metav1.PartialObjectMetadata {
			var kept []*metav1.PartialObjectMetadata
			for i := range page.Items {
				if keep(&page.Items[i]) {
					kept = append(kept, &page.Items[i])
				}
			}
			return kept
		})
	if err != nil {
		return nil, err
	}
	found := make(map[string]*metav1.PartialObjectMetadata, len(kept))
	for _, obj := range kept {
		found[obj.GetName()] = obj
	}
	return found, nil
}

func existing(owner Owner, obj metav1.Object) Existing {
	e := Existing{
		Name: obj.GetName(), UID: string(obj.GetUID()), Version: obj.GetResourceVersion(),
		Holder:      HeldByNobody,
		Labelled:    obj.GetLabels()[SetLabel] == owner.Hash(),
		Terminating: obj.GetDeletionTimestamp() != nil,
	}
	if named := obj.GetAnnotations()[OwnerAnnotation]; named == owner.String() {
		e.Holder = HeldByUs
	} else if named != "" {
		e.Holder, e.HolderName = HeldByOtherSet, named
	}
	if ref := metav1.GetControllerOf(obj); ref != nil && ref.Kind == "ApplicationSet" {
		e.Holder, e.HolderName = HeldByController, obj.GetNamespace()+"/"+ref.Name
	}
	return e
}

func compareNames(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) }
