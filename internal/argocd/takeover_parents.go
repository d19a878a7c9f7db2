package argocd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trackingAnnotation is how Argo CD marks what its Applications deploy: "APPLICATION:GROUP/KIND:NAMESPACE/NAME", or
// a label that holds the Application's name (util/argo/resource_tracking.go, Argo CD 3.6.1).
const trackingAnnotation = "argocd.argoproj.io/tracking-id"

// instanceLabels are those labels: Argo CD's default, and the one that its documentation proposes instead.
var instanceLabels = []string{"argocd.argoproj.io/instance", "app.kubernetes.io/instance"}

// origins is what is known, beside the set itself, of where it comes from.
type origins struct {
	// label is Argo CD's application.instanceLabelKey; empty where it has none, or may not be read.
	label string
	// apps are the Applications, "namespace/name", that have deployed it, as their status says.
	apps []string
}

// origins asks Argo CD. What the credentials may not read is left out, but the Applications beside the set.
func (c *Client) origins(ctx context.Context, set *InCluster) (origins, error) {
	var from origins
	config, err := c.argoConfig(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrForbidden):
		return from, err
	case err == nil && config != nil:
		from.label = strings.TrimSpace(text(config.Object, "data", "application.instanceLabelKey"))
	}
	own := set.object.GetNamespace()
	for _, namespace := range slices.Compact([]string{own, c.namespace}) {
		found, _, err := c.listObjects(ctx, namespace, "")
		if namespace != own && errors.Is(err, ErrForbidden) {
			continue
		}
		if err != nil {
			return from, err
		}
		for _, app := range found {
			if !deploys(app, set.object) {
				continue
			}
			here, err := c.deploysHere(ctx, app)
			if err != nil {
				return from, err
			}
			if here {
				from.apps = append(from.apps, app.GetNamespace()+"/"+app.GetName())
			}
		}
	}
	slices.Sort(from.apps)
	return from, nil
}

// deploys tells that an Application lists the object among its resources.
func deploys(app, object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects(app.Object, "status", "resources"), func(r map[string]any) bool {
		return text(r, "group") == applicationSets.Group && text(r, "kind") == "ApplicationSet" &&
			text(r, "namespace") == object.GetNamespace() && text(r, "name") == object.GetName()
	})
}

// deploysHere tells that an Application deploys into the cluster of Argo CD, where the set is: what it lists is in
// its destination (spec.destination), and one in another cluster may have the name of the set. One without a destination
// counts, and so does the name that a Secret gives to Argo CD's own cluster, where Secrets may be read.
func (c *Client) deploysHere(ctx context.Context, app *unstructured.Unstructured) (bool, error) {
	destination := dict(app.Object, "spec", "destination")
	name, server := text(destination, "name"), strings.TrimRight(text(destination, "server"), "/")
	if server != "" || name == "" {
		return server == inClusterServer || server == "", nil
	}
	if name == inClusterName {
		return true, nil
	}
	known, err := c.destinations(ctx)
	if errors.Is(err, ErrForbidden) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(known, func(k cluster) bool { return k.Name == name && k.Server == inClusterServer }), nil
}

// parents are the things that would create the set again when it is deleted.
func (s *InCluster) parents(from origins) []Refusal {
	var out []Refusal
	refuse := func(what, how string) {
		out = append(out, Refusal{"ApplicationSet comes from somewhere else", fmt.Sprintf(
			"%s. It would create the set again as soon as it is taken over, and two would manage the same Applications. %s", what, how)})
	}
	s.ofArgoCD(from, refuse)
	s.ofOwners(refuse)
	s.ofHelm(refuse)
	s.ofFlux(refuse)
	return out
}

// ofArgoCD finds Argo CD's Applications, by their marks and by what they say themselves.
func (s *InCluster) ofArgoCD(from origins, refuse func(what, how string)) {
	marked := map[string]bool{}
	if id := s.object.GetAnnotations()[trackingAnnotation]; id != "" {
		parent, _, _ := strings.Cut(id, ":")
		marked[parent] = true
		refuse(fmt.Sprintf("The Argo CD Application %q manages it (annotation %s: %s)", parent, trackingAnnotation, id), s.withoutMark("annotate", trackingAnnotation))
	}
	keys := instanceLabels
	if from.label != "" && !slices.Contains(keys, from.label) {
		keys = append(slices.Clone(keys), from.label)
	}
	for _, key := range keys {
		if value := s.object.GetLabels()[key]; value != "" {
			marked[value] = true
			refuse(fmt.Sprintf("The label %s: %s says that the Argo CD Application or the Helm release %q manages it", key, value, value), s.withoutMark("label", key))
		}
	}
	for _, app := range from.apps {
		namespace, name, _ := strings.Cut(app, "/")
		// One of another namespace than Argo CD's is marked as namespace_name (InstanceName in pkg/apis/application/v1alpha1, Argo CD 3.6.1).
		if !marked[name] && !marked[namespace+"_"+name] {
			refuse(fmt.Sprintf("The Argo CD Application %s manages it (its status lists it)", app), fmt.Sprintf(
				"%s. If git has lost it already, let Argo CD look again: kubectl -n %s annotate applications.argoproj.io %s argocd.argoproj.io/refresh=normal", outOfGit, namespace, name))
		}
	}
}

// outOfGit is how an Argo CD Application lets go of something.
const outOfGit = "Add the annotation argocd.argoproj.io/sync-options: Prune=false to the set in git and sync that, so that it is not deleted; remove the set from git and " +
	"sync once more; then remove the Application's mark, a label or an annotation, from the set"

// withoutMark is outOfGit, and the command that removes the mark.
func (s *InCluster) withoutMark(verb, key string) string {
	return fmt.Sprintf("%s: kubectl -n %s %s applicationsets.argoproj.io %s %s-", outOfGit, s.object.GetNamespace(), verb, s.object.GetName(), key)
}

// ofOwners finds the objects that own the set.
func (s *InCluster) ofOwners(refuse func(what, how string)) {
	for i, ref := range s.object.GetOwnerReferences() {
		refuse(fmt.Sprintf("The %s %q owns it (ownerReferences)", ref.Kind, ref.Name), "Make that let go of it first; then remove the reference:"+byHand(
			jsonPatch(applicationSets.GroupResource().String(), s.object.GetNamespace(), s.object.GetName(),
				removal(fmt.Sprintf("/metadata/ownerReferences/%d", i), "/uid", string(ref.UID))))+"It fails, and changes nothing, where another reference is in its place")
	}
}

// ofHelm finds a Helm release.
func (s *InCluster) ofHelm(refuse func(what, how string)) {
	ns, name, release := s.object.GetNamespace(), s.object.GetName(), s.object.GetAnnotations()["meta.helm.sh/release-name"]
	if release != "" || s.object.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" {
		refuse(fmt.Sprintf("The Helm release %q manages it", release),
			fmt.Sprintf("Add the annotation helm.sh/resource-policy: keep to the set in the chart and upgrade; remove the set from the chart and upgrade once more; then "+
				"remove Helm's marks: kubectl -n %s annotate applicationsets.argoproj.io %s meta.helm.sh/release-name- meta.helm.sh/release-namespace- "+
				"&& kubectl -n %s label applicationsets.argoproj.io %s app.kubernetes.io/managed-by-", ns, name, ns, name))
	}
}

// ofFlux finds what Flux applies.
func (s *InCluster) ofFlux(refuse func(what, how string)) {
	labels := s.object.GetLabels()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		kind, flux := strings.CutSuffix(key, ".toolkit.fluxcd.io/name")
		if !flux {
			continue
		}
		keep, from := "kustomize.toolkit.fluxcd.io/prune: disabled to the set in git", "git"
		if kind == "helm" { // Helm deletes what a chart has lost, whatever Flux's Kustomizations are told
			keep, from = "helm.sh/resource-policy: keep to the set in the chart", "the chart"
		}
		refuse(fmt.Sprintf("The Flux %s %q manages it (label %s)", kind, labels[key], key),
			fmt.Sprintf("Add the annotation %s and let Flux apply that; remove the set from %s, and let Flux apply that, too; then remove Flux's labels: "+
				"kubectl -n %s label applicationsets.argoproj.io %s %s- %s.toolkit.fluxcd.io/namespace-", keep, from, s.object.GetNamespace(), s.object.GetName(), key, kind))
	}
}
