package inputs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// Decisions follows GenerateParams of applicationset/generators/duck_type.go (Argo CD 3.6.1). A status that
// is not a list of objects is an error here; Argo CD panics. So is a ConfigMap without matchKey; Argo CD
// generates nothing.
func (in *Inputs) Decisions(ctx context.Context, query appset.DecisionQuery) (appset.Decisions, error) {
	key, err := json.Marshal(query)
	if err != nil {
		return appset.Decisions{}, fmt.Errorf("the label selector cannot be read: %w", err)
	}
	return in.decisions.get(ctx, string(key), func() (appset.Decisions, error) { return in.decide(ctx, query) })
}

func (in *Inputs) decide(ctx context.Context, query appset.DecisionQuery) (appset.Decisions, error) {
	data, err := in.description(ctx, "decision resource", query.ConfigMap)
	if err != nil {
		return appset.Decisions{}, err
	}
	resource, err := decisionResource(data)
	if err != nil {
		return appset.Decisions{}, fmt.Errorf("ConfigMap %s/%s, which describes the decision resource: %w", in.namespace, query.ConfigMap, err)
	}
	options, err := decisionOptions(query)
	if err != nil {
		return appset.Decisions{}, err
	}
	found, err := in.list(ctx, resource, options)
	name := resource.GroupResource().String()
	if apierrors.IsNotFound(err) {
		return appset.Decisions{}, fmt.Errorf("the cluster does not know the resource %s of version %s, which ConfigMap %s/%s names: kind must be the plural name, in lower case: %w",
			name, resource.Version, in.namespace, query.ConfigMap, err)
	}
	if err != nil {
		return appset.Decisions{}, refusal(fmt.Sprintf("listing the decision resources %s in namespace %s", name, in.namespace), err)
	}
	if len(found) == 0 {
		return appset.Decisions{}, fmt.Errorf("no %s in namespace %s is selected by %s", name, in.namespace, selected(options))
	}
	slices.SortFunc(found, func(a, b unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	decisions := appset.Decisions{MatchKey: data["matchKey"]}
	list := cmp.Or(data["statusListKey"], "clusters")
	for _, object := range found {
		entries, err := statusList(object, list)
		if err != nil {
			return appset.Decisions{}, fmt.Errorf("%s %s/%s: %w", name, in.namespace, object.GetName(), err)
		}
		decisions.Entries = append(decisions.Entries, entries...)
	}
	return decisions, nil
}

// decisionResource is the kind of resource that a ConfigMap describes.
func decisionResource(data map[string]string) (schema.GroupVersionResource, error) {
	group, version, _ := strings.Cut(data["apiVersion"], "/")
	switch {
	case group == "" || version == "":
		return schema.GroupVersionResource{}, fmt.Errorf("apiVersion must be group/version, not %q", short(data["apiVersion"]))
	case data["kind"] == "":
		return schema.GroupVersionResource{}, errors.New("kind is missing: the plural name of the resource, in lower case")
	case strings.ContainsAny(data["apiVersion"]+data["kind"], " ?#%\n\t") || strings.Contains(version+data["kind"], "/") || strings.Contains(data["apiVersion"]+data["kind"], ".."):
		return schema.GroupVersionResource{}, errors.New("apiVersion and kind must be names")
	case data["matchKey"] == "":
		return schema.GroupVersionResource{}, errors.New("matchKey is missing: the key whose value is the name of a cluster")
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: data["kind"]}, nil
}

// decisionOptions selects by name or by labels.
func decisionOptions(query appset.DecisionQuery) (metav1.ListOptions, error) {
	if query.Name != "" {
		if len(query.Labels) > 0 {
			return metav1.ListOptions{}, errors.New("a decision resource is selected by name or by labelSelector, not by both")
		}
		return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", query.Name).String()}, nil
	}
	var selector metav1.LabelSelector
	text, err := json.Marshal(query.Labels)
	if err == nil {
		err = json.Unmarshal(text, &selector)
	}
	if err != nil {
		return metav1.ListOptions{}, fmt.Errorf("labelSelector: %s", short(err.Error()))
	}
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return metav1.ListOptions{}, errors.New("a decision resource is selected by name or by labelSelector, and there is neither")
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return metav1.ListOptions{}, fmt.Errorf("labelSelector: %s", short(err.Error()))
	}
	return metav1.ListOptions{LabelSelector: parsed.String()}, nil
}

func selected(options metav1.ListOptions) string {
	return cmp.Or(options.FieldSelector, options.LabelSelector)
}

// statusList is a list of the status; none if there is no status yet.
func statusList(object unstructured.Unstructured, key string) ([]map[string]any, error) {
	status, ok := object.Object["status"]
	if !ok || status == nil {
		return nil, nil
	}
	all, ok := status.(map[string]any)
	if !ok {
		return nil, errors.New("its status is no object")
	}
	if len(all) == 0 {
		return nil, nil
	}
	list, ok := all[key].([]any)
	if !ok {
		return nil, fmt.Errorf("status.%s is no list; statusListKey of the ConfigMap says which list is meant", key)
	}
	entries := make([]map[string]any, 0, len(list))
	for i, item := range list {
		entry, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("status.%s[%d] is no object", key, i)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}
