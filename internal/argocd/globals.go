package argocd

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// globalProject is one entry of argocd-cm's globalProjects: projects that the selector matches
// inherit from another (GetGlobalProjects in util/argo/argo.go, Argo CD 3.6.1).
type globalProject struct {
	selector labels.Selector
	project  project
	// missing: there is no such project. One that should inherit from it does not inherit from what follows, either.
	missing bool
}

type globalProjects []globalProject

// apply adds to a project what it inherits.
func (g globalProjects) apply(object map[string]any) project {
	p := readProject(object)
	own := labels.Set{}
	for k, v := range dict(object, "metadata", "labels") {
		if s, ok := v.(string); ok {
			own[k] = s
		}
	}
	for _, global := range g {
		if global.project.name == p.name || !global.selector.Matches(own) {
			continue
		}
		if global.missing {
			break
		}
		p = p.with(global.project)
	}
	return p
}

// argoConfig is Argo CD's own configuration; nil where there is none.
func (c *Client) argoConfig(ctx context.Context) (*unstructured.Unstructured, error) {
	cm, err := c.Object(ctx, configMaps, c.namespace, argoConfigMap)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return cm, err
}

// globalProjects reads Argo CD's configuration; most have none.
func (c *Client) globalProjects(ctx context.Context) (globalProjects, error) {
	cm, err := c.argoConfig(ctx)
	if err != nil || cm == nil {
		return nil, err
	}
	var entries []struct {
		ProjectName   string               `json:"projectName"`
		LabelSelector metav1.LabelSelector `json:"labelSelector"`
	}
	if err := yaml.Unmarshal([]byte(text(cm.Object, "data", "globalProjects")), &entries); err != nil {
		return nil, fmt.Errorf("globalProjects in ConfigMap %s/%s cannot be read: %w", c.namespace, argoConfigMap, err)
	}
	var out globalProjects
	for _, e := range entries {
		selector, err := metav1.LabelSelectorAsSelector(&e.LabelSelector)
		if err != nil {
			return out, nil // Argo CD ignores this entry and all that follow.
		}
		object, err := c.project(ctx, e.ProjectName)
		if apierrors.IsNotFound(err) {
			out = append(out, globalProject{selector: selector, project: project{name: e.ProjectName}, missing: true})
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, globalProject{selector: selector, project: readProject(object)})
	}
	return out, nil
}

// project reads an AppProject of Argo CD's namespace.
func (c *Client) project(ctx context.Context, name string) (map[string]any, error) {
	var found *unstructured.Unstructured
	err := c.request(ctx, RequestError{Verb: "get", Resource: appProjects.GroupResource().String(), Namespace: c.namespace, Name: name}, func() (err error) {
		found, err = c.dynamic.Resource(appProjects).Namespace(c.namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	return found.Object, nil
}
