package appset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

const (
	// inClusterName and inClusterServer are Argo CD's own cluster, which needs no Secret.
	inClusterName   = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
	// secretTypeLabel is on every Secret of a cluster; Argo CD puts it into the selector itself.
	secretTypeLabel = "argocd.argoproj.io/secret-type"
)

// hiddenAnnotations of a cluster Secret are no parameters (excludedClusterAnnotations in
// applicationset/generators/cluster.go, Argo CD 3.6.1): they are Argo CD's own state, or hold a copy of the Secret.
var hiddenAnnotations = []string{
	"argocd.argoproj.io/refresh", "argocd.argoproj.io/refresh-timestamp",
	"argocd.argoproj.io/hydrate", "argocd.argoproj.io/hydrate-timestamp",
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id",
	"kubectl.kubernetes.io/last-applied-configuration",
}

// clustersSource gives one parameter set per cluster, or one with all of them.
type clustersSource struct {
	at       Path
	question clustersQuestion
	selector labels.Selector
	// selects: the selector is not empty; then a cluster without a Secret is never meant.
	selects bool
	values  map[string]any
	flat    bool
}

func (*clustersSource) pure() bool { return false }

func (s *Set) buildClusters(tree map[string]any, at Path, issues *Issues) source {
	selector, _ := withoutSecretType(tree["selector"]).(map[string]any)
	out := &clustersSource{at: at, question: clustersQuestion{Selector: selector}}
	out.selector = labelSelector(orUnknown(tree["selector"], selector), at.With("selector"), issues)
	if out.selector == nil {
		return unknownSource{}
	}
	given, _ := tree["selector"].(map[string]any)
	out.selects = !emptyTree(given["matchLabels"]) || !emptyTree(given["matchExpressions"])
	out.flat, _ = tree["flatList"].(bool)
	var known bool
	if out.values, known = s.buildValues(tree["values"], at.With("values"), issues); !known || IsUnknown(tree["flatList"]) {
		return unknownSource{}
	}
	return out
}

// orUnknown is v, or Unknown when the whole is.
func orUnknown(whole any, v any) any {
	if IsUnknown(whole) {
		return whole
	}
	return v
}

// withoutSecretType drops the label that every cluster has from what a selector wants.
func withoutSecretType(v any) any {
	tree, ok := v.(map[string]any)
	matchLabels, _ := tree["matchLabels"].(map[string]any)
	if _, has := matchLabels[secretTypeLabel]; !ok || !has {
		return v
	}
	tree, matchLabels = maps.Clone(tree), maps.Clone(matchLabels)
	delete(matchLabels, secretTypeLabel)
	tree["matchLabels"] = matchLabels
	return tree
}

// buildValues reads the values of a generator, and parses them. It returns false when they are not known as a whole.
func (s *Set) buildValues(v any, at Path, issues *Issues) (map[string]any, bool) {
	values, ok := v.(map[string]any)
	if !s.unknown {
		for _, key := range sortedKeys(values) {
			if text, ok := values[key].(string); ok {
				s.checkTemplate(at.With(key), text, issues)
			}
		}
	}
	return values, ok || v == nil
}

func (c *clustersSource) params(e *evaluation) ([]paramSet, bool) {
	a, ok := e.ask(c.at, question{Clusters: &c.question}, func() (answer, error) { return c.fetch(e) })
	if !ok {
		return nil, false
	}
	sets := make([]paramSet, 0, len(a.Clusters)+1)
	hasInCluster := false
	for _, cluster := range a.Clusters {
		sets = append(sets, paramSet{at: cluster.named(c.at[1:]), values: cluster.params(e.set.GoTemplate)})
		hasInCluster = hasInCluster || cluster.Server == inClusterServer
	}
	if !c.selects && !hasInCluster {
		sets = append(sets, paramSet{at: named{c.at[1:], "cluster", inClusterName}, values: map[string]any{
			"name": inClusterName, "nameNormalized": inClusterName, "server": inClusterServer, "project": "",
		}})
	}
	for _, set := range sets {
		ok = e.appendValues(c.at.With("values"), c.values, set.values.(map[string]any), set.at) && ok
	}
	if c.flat && ok {
		return []paramSet{{at: c.at[1:], values: map[string]any{"clusters": clusterList(sets)}}}, true
	}
	return sets, ok
}

// fetch gets the clusters that match. Of two with one name Argo CD would take one at random.
func (c *clustersSource) fetch(e *evaluation) (answer, error) {
	all, err := e.clusters()
	if err != nil {
		return answer{}, err
	}
	out := answer{}
	for _, cluster := range all {
		if c.selector.Matches(labels.Set(cluster.Labels)) {
			out.Clusters = append(out.Clusters, knownClusterOf(cluster))
		}
	}
	slices.SortFunc(out.Clusters, func(a, b knownCluster) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Server, b.Server))
	})
	for i := range out.Clusters {
		if i > 0 && out.Clusters[i].Name == out.Clusters[i-1].Name {
			return answer{}, fmt.Errorf("two clusters are called %q: %s and %s. Argo CD would use one of them at random; give them different names",
				out.Clusters[i].Name, out.Clusters[i-1].address(), out.Clusters[i].address())
		}
	}
	return out, nil
}

func knownClusterOf(c Cluster) knownCluster {
	out := knownCluster{Name: c.Name, Server: c.Server, Project: c.Project, Labels: c.Labels, Secret: c.Secret}
	if len(c.Annotations) > 0 {
		out.Annotations = map[string]string{}
		for key, value := range c.Annotations {
			if !slices.Contains(hiddenAnnotations, key) {
				out.Annotations[key] = value
			}
		}
	}
	return out
}

// named tells which cluster is meant.
func (c knownCluster) named(at Path) named {
	switch {
	case c.Secret == "":
		return named{at, "cluster", c.Name}
	case c.Name == "":
		return named{at, "cluster without a name, of Secret", c.Secret}
	}
	return named{at, "cluster without a server, of Secret", c.Secret}
}

// address is that of the cluster, or where it should stand.
func (c knownCluster) address() string {
	if c.Secret != "" {
		return "that of Secret " + c.Secret
	}
	return redactURL(c.Server)
}

// params are those of getClusterParameters in applicationset/generators/cluster.go, Argo CD 3.6.1.
func (c knownCluster) params(goTemplate bool) map[string]any {
	out := map[string]any{
		"name": c.Name, "nameNormalized": normalizeName(c.Name), "server": c.Server, "project": c.Project,
	}
	if !goTemplate {
		for key, value := range c.Annotations {
			out["metadata.annotations."+key] = value
		}
		for key, value := range c.Labels {
			out["metadata.labels."+key] = value
		}
		return out
	}
	metadata := map[string]any{}
	if c.Annotations != nil {
		metadata["annotations"] = c.Annotations
	}
	if len(c.Labels) > 0 {
		metadata["labels"] = c.Labels
	}
	out["metadata"] = metadata
	return out
}

// clusterList is what flatList makes of the clusters: of the type that Argo CD has there, or one
// that may hold an Unknown.
func clusterList(sets []paramSet) any {
	var plain []map[string]any
	var mixed []any
	isUnknown := false
	for _, set := range sets {
		values := set.values.(map[string]any)
		plain, mixed = append(plain, values), append(mixed, values)
		isUnknown = isUnknown || ContainsUnknown(values)
	}
	if isUnknown {
		return mixed
	}
	return plain
}
