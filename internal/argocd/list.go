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

// List returns the Applications of a set, sorted by name, and the same as full objects by name.
// One that carries the set's label but names another owner is not one of them.
func (c *Client) List(ctx context.Context, owner Owner) ([]rollout.Live, map[string]*unstructured.Unstructured, error) {
	found, _, err := c.listObjects(ctx, owner.Namespace, SetLabel+"="+owner.Hash())
	if err != nil {
		return nil, nil, err
	}
	live, byName := []rollout.Live{}, map[string]*unstructured.Unstructured{}
	for _, obj := range found {
		if owner.owns(obj) {
			live = append(live, Facts(obj))
			byName[obj.GetName()] = obj
		}
	}
	slices.SortFunc(live, func(a, b rollout.Live) int { return cmp.Compare(a.Name, b.Name) })
	return live, byName, nil
}

// listObjects lists Applications in pages, and returns the resourceVersion to watch from. A list
// whose next page has expired is begun again.
func (c *Client) listObjects(ctx context.Context, namespace, selector string) ([]*unstructured.Unstructured, string, error) {
	var found []*unstructured.Unstructured
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		var page *unstructured.UnstructuredList
		err := c.request(ctx, appRequest("list", namespace, ""), func() (err error) {
			page, err = c.apps(namespace).List(ctx, options)
			return err
		})
		if options.Continue != "" && apierrors.IsResourceExpired(err) {
			found, options.Continue = nil, ""
			continue
		}
		if err != nil {
			return nil, "", err
		}
		for i := range page.Items {
			found = append(found, &page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, page.GetResourceVersion(), nil
		}
	}
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

// fewNames is up to how many names are asked for one by one, rather than by listing all.
const fewNames = 10

// Get tells which of names exist already in the owner's namespace, and whose they are. Names that
// do not exist are absent from the result.
func (c *Client) Get(ctx context.Context, owner Owner, names ...string) (map[string]Existing, error) {
	out := map[string]Existing{}
	if len(names) > fewNames {
		return out, c.getByList(ctx, owner, names, out)
	}
	for _, name := range sortedCopy(names) {
		var obj *metav1.PartialObjectMetadata
		err := c.request(ctx, appRequest("get", owner.Namespace, name), func() (err error) {
			obj, err = c.metadata.Resource(applications).Namespace(owner.Namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = existing(owner, obj)
	}
	return out, nil
}

func (c *Client) getByList(ctx context.Context, owner Owner, names []string, out map[string]Existing) error {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		var page *metav1.PartialObjectMetadataList
		err := c.request(ctx, appRequest("list", owner.Namespace, ""), func() (err error) {
			page, err = c.metadata.Resource(applications).Namespace(owner.Namespace).List(ctx, options)
			return err
		})
		if options.Continue != "" && apierrors.IsResourceExpired(err) {
			clear(out)
			options.Continue = ""
			continue
		}
		if err != nil {
			return err
		}
		for i := range page.Items {
			if obj := &page.Items[i]; wanted[obj.Name] {
				out[obj.Name] = existing(owner, obj)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
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
