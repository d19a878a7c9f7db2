package appset

import (
	"errors"
	"fmt"
)

// decisionsSource gives one parameter set per cluster that a resource has decided for.
type decisionsSource struct {
	at     Path
	query  DecisionQuery
	values map[string]any
}

func (*decisionsSource) pure() bool { return false }

func (s *Set) buildDecisions(tree map[string]any, at Path, issues *Issues) source {
	configMap, configMapKnown := literal(tree["configMapRef"], at.With("configMapRef"), issues)
	name, nameKnown := literal(tree["name"], at.With("name"), issues)
	if configMapKnown && configMap == "" {
		issues.fail(at.With("configMapRef"), SummaryMissingField, fmt.Sprintf("%s is empty.", at.With("configMapRef")))
	}
	selects := tree["labelSelector"] != nil && (IsUnknown(tree["labelSelector"]) || !emptyTree(tree["labelSelector"]))
	known := configMapKnown && nameKnown
	if known && (name != "") == selects {
		issues.fail(at, SummaryInvalidGenerator, fmt.Sprintf("%s must have exactly one of name and labelSelector.", at))
	}
	d := &decisionsSource{at: at, query: DecisionQuery{ConfigMap: configMap, Name: name}}
	if selects {
		if labelSelector(tree["labelSelector"], at.With("labelSelector"), issues) == nil {
			return unknownSource{}
		}
		d.query.Labels, _ = tree["labelSelector"].(map[string]any)
	}
	d.values, _ = tree["values"].(map[string]any)
	if !known || IsUnknown(tree["values"]) {
		return unknownSource{}
	}
	return d
}

// params follows DuckTypeGenerator.GenerateParams in applicationset/generators/duck_type.go, Argo CD
// 3.6.1. Its values are not rendered.
func (d *decisionsSource) params(e *evaluation) ([]paramSet, bool) {
	q := decisionsQuestion{d.query}
	a, ok := e.ask(d.at, question{Decisions: &q}, func() (answer, error) { return d.fetch(e) })
	if !ok {
		return nil, false
	}
	sets := make([]paramSet, len(a.Decisions))
	for i, decision := range a.Decisions {
		params := make(map[string]any, len(decision)+1)
		for key, text := range decision {
			params[key] = text
		}
		sets[i] = paramSet{at: named{d.at[1:], "cluster", decision["name"]}, values: params}
		if _, twice := params["values"]; twice && len(d.values) > 0 && e.set.GoTemplate {
			e.fail(d.at.With("values"), SummaryGeneratorFailed, "%s: the entry of the resource has a key \"values\" itself; Argo CD panics there.", sets[i].at)
			return nil, false
		}
		if len(d.values) > 0 {
			addValues(d.values, params, e.set.GoTemplate)
		}
	}
	return sets, true
}

func (d *decisionsSource) fetch(e *evaluation) (answer, error) {
	decisions, err := e.inputs.Decisions(e.ctx, d.query)
	if err != nil {
		return answer{}, err
	}
	if decisions.MatchKey == "" {
		return answer{}, fmt.Errorf("the ConfigMap %q has no matchKey: Argo CD would find no cluster, and delete every Application", d.query.ConfigMap)
	}
	servers, err := e.serversByName()
	if err != nil {
		return answer{}, err
	}
	out := answer{}
	for _, entry := range decisions.Entries {
		name := ""
		if v := entry[decisions.MatchKey]; v != nil {
			name = fmt.Sprintf("%v", v)
		}
		found := servers[name]
		switch {
		case name == "" || len(found) == 0:
			continue // Argo CD leaves out clusters that it does not know
		case len(found) > 1:
			return answer{}, fmt.Errorf("two clusters are called %q. Argo CD would use one of them at random; give them different names", name)
		case len(out.Decisions) == maxParamSets:
			return answer{}, errors.New("the resources decide for too many clusters")
		}
		params := map[string]string{"name": name, "server": found[0]}
		for key, v := range entry {
			params[key] = fmt.Sprintf("%v", v)
		}
		out.Decisions = append(out.Decisions, params)
	}
	return out, nil
}

// serversByName are the addresses of all clusters, with Argo CD's own.
func (e *evaluation) serversByName() (map[string][]string, error) {
	all, err := e.clusters()
	if err != nil {
		return nil, err
	}
	out := make(map[string][]string, len(all)+1)
	hasInCluster := false
	for _, cluster := range all {
		out[cluster.Name] = append(out[cluster.Name], cluster.Server)
		hasInCluster = hasInCluster || cluster.Server == inClusterServer
	}
	if !hasInCluster {
		out[inClusterName] = append(out[inClusterName], inClusterServer)
	}
	return out, nil
}
