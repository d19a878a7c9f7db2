package inputs

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

var placements = schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "placements"}

func decisionCluster() *fakeCluster {
	c := newCluster()
	c.configMap("placement", map[string]string{"apiVersion": "example.com/v1beta1", "kind": "placements", "matchKey": "clusterName", "statusListKey": "decisions"})
	status := func(items ...any) map[string]any { return map[string]any{"status": map[string]any{"decisions": items}} }
	c.add(placements, "b", map[string]string{"team": "x"}, status(map[string]any{"clusterName": "prod", "weight": int64(3)}))
	c.add(placements, "a", map[string]string{"team": "x"}, status(map[string]any{"clusterName": "dev"}, map[string]any{"clusterName": "staging"}))
	c.add(placements, "new", map[string]string{"team": "x"}, map[string]any{})
	c.add(placements, "nolist", map[string]string{"team": "y"}, map[string]any{"status": map[string]any{"other": []any{}}})
	c.add(placements, "texts", map[string]string{"team": "z"}, status("dev"))
	c.add(placements, "nostatus", map[string]string{"team": "z"}, map[string]any{"status": "text"})
	return c
}

func TestDecisionsAreThoseOfTheStatusLists(t *testing.T) {
	c := decisionCluster()
	in := inputsOf(t, c)
	query := appset.DecisionQuery{ConfigMap: "placement", Labels: map[string]any{"matchLabels": map[string]any{"team": "x"}}}
	want := appset.Decisions{MatchKey: "clusterName", Entries: []map[string]any{
		{"clusterName": "dev"}, {"clusterName": "staging"}, {"clusterName": "prod", "weight": int64(3)},
	}}
	for range 2 {
		if got, err := in.Decisions(t.Context(), query); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Decisions() = %v, %v; want %v", got, err, want)
		}
	}
	if asked := []string{"get configmaps placement", "list placements.example.com"}; !slices.Equal(c.asked, asked) {
		t.Errorf("the cluster was asked to %v, want %v", c.asked, asked)
	}
	want.Entries = want.Entries[2:]
	query.Labels = map[string]any{"matchExpressions": []any{map[string]any{"key": "team", "operator": "In", "values": []any{"x"}}}}
	if got, err := in.Decisions(t.Context(), query); err != nil || len(got.Entries) != 3 {
		t.Errorf("Decisions() by an expression = %v, %v", got, err)
	}
	if got, err := in.Decisions(t.Context(), appset.DecisionQuery{ConfigMap: "placement", Name: "b"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Decisions() of one = %v, %v; want %v", got, err, want)
	}
	if got, err := in.Decisions(t.Context(), appset.DecisionQuery{ConfigMap: "placement", Name: "new"}); err != nil || len(got.Entries) != 0 {
		t.Errorf("Decisions() of one without a status = %v, %v", got, err)
	}
}

func TestDecisionsThatAreWrong(t *testing.T) {
	c := decisionCluster()
	good := map[string]string{"apiVersion": "example.com/v1beta1", "kind": "placements", "matchKey": "clusterName"}
	with := func(key, value string) map[string]string {
		changed := map[string]string{key: value}
		for k, v := range good {
			if k != key {
				changed[k] = v
			}
		}
		return changed
	}
	c.configMap("core", with("apiVersion", "v1"))
	c.configMap("nokind", with("kind", ""))
	c.configMap("nomatch", with("matchKey", ""))
	c.configMap("path", with("kind", "../secrets"))
	c.configMap("unknown", with("kind", "Placement"))
	c.configMap("clusters", good)
	all := map[string]any{"matchLabels": map[string]any{"team": "x"}}
	for said, query := range map[string]appset.DecisionQuery{
		"names no ConfigMap":                             {Name: "a"},
		"there is no ConfigMap argocd/none":              {ConfigMap: "none", Name: "a"},
		`apiVersion must be group/version, not "v1"`:     {ConfigMap: "core", Name: "a"},
		"kind is missing":                                {ConfigMap: "nokind", Name: "a"},
		"matchKey is missing":                            {ConfigMap: "nomatch", Name: "a"},
		"must be names":                                  {ConfigMap: "path", Name: "a"},
		"kind must be the plural name":                   {ConfigMap: "unknown", Name: "a"},
		"status.clusters is no list":                     {ConfigMap: "clusters", Name: "a"},
		"by name or by labelSelector, not by both":       {ConfigMap: "placement", Name: "a", Labels: all},
		"and there is neither":                           {ConfigMap: "placement"},
		"labelSelector: ":                                {ConfigMap: "placement", Labels: map[string]any{"matchExpressions": []any{map[string]any{"key": "team", "operator": "Like"}}}},
		"is selected by metadata.name=none":              {ConfigMap: "placement", Name: "none"},
		"is selected by team=none":                       {ConfigMap: "placement", Labels: map[string]any{"matchLabels": map[string]any{"team": "none"}}},
		"argocd/nolist: status.decisions is no list":     {ConfigMap: "placement", Name: "nolist"},
		"argocd/texts: status.decisions[0] is no object": {ConfigMap: "placement", Name: "texts"},
		"argocd/nostatus: its status is no object":       {ConfigMap: "placement", Name: "nostatus"},
	} {
		_, err := inputsOf(t, c).Decisions(t.Context(), query)
		says(t, err, said)
	}
	c.forbid("list", "placements.example.com")
	_, err := inputsOf(t, c).Decisions(t.Context(), appset.DecisionQuery{ConfigMap: "placement", Labels: all})
	says(t, err, "listing the decision resources placements.example.com in namespace argocd", `apiGroups: ["example.com"]`, `resources: ["placements"]`, `verbs: ["list"]`)
}
