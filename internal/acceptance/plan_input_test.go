package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
)

// offline is a fixture without a cluster: nobody listens where its kubeconfig points to. The plan
// of a new set needs none.
func offline(t *testing.T) *fixture {
	t.Helper()
	requireAcceptance(t)
	t.Parallel()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(nobody), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := controlplane.Attach(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.New(filepath.Join(dir, "deployments"))
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{T: t, cluster: cluster, repo: repo, name: "offline", asAccount: kubeconfig}
}

const nobody = `apiVersion: v1
kind: Config
current-context: nobody
clusters: [{name: nobody, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
users: [{name: nobody, user: {token: none}}]
`

func TestAccBadInputIsAnErrorAtPlanWithItsPath(t *testing.T) {
	f := offline(t)
	w := f.workspace()
	match := func(key, operator string, values ...string) step {
		return step{Match: list{obj{"key": key, "operator": operator, "values": append([]string{}, values...)}}}
	}
	maxUpdate := func(v any) func(*set) { return func(s *set) { s.Steps[1].MaxUpdate = v } }
	strategy := func(v obj) func(*set) { return func(s *set) { s.Spec = obj{"strategy": v} } }
	steps := func(s *set) list {
		return s.spec()["strategy"].(obj)["rolling_sync"].(obj)["steps"].(list)
	}
	template := func(change func(metadata, spec obj)) func(*set) {
		return func(s *set) {
			template := s.template()
			change(template["metadata"].(obj), template["spec"].(obj))
			s.Spec = obj{"template": template}
		}
	}
	name := func(n string) func(*set) { return func(s *set) { s.Elements[1]["name"] = n } }
	for _, test := range []struct {
		what   string
		change func(*set)
		// at is the path that the error names, summary and says what it tells.
		at, summary, says string
	}{
		{"an operator that does not exist", func(s *set) { s.Steps[1] = match("env", "in", "staging") },
			"spec.strategy.rolling_sync.steps[1].match_expressions[0].operator", "Invalid strategy", `"in" is not an operator`},
		{"an operator of Kubernetes", func(s *set) { s.Steps[1] = match("env", "Exists", "x") },
			"spec.strategy.rolling_sync.steps[1].match_expressions[0].operator", "Invalid strategy", `"Exists" is not an operator`},
		{"no values", func(s *set) { s.Steps[1] = match("env", "In") },
			"spec.strategy.rolling_sync.steps[1].match_expressions[0].values", "Invalid strategy", "values is empty"},
		{"an empty key", func(s *set) { s.Steps[1] = match("", "In", "x") },
			"spec.strategy.rolling_sync.steps[1].match_expressions[0].key", "Invalid strategy", "key is missing"},
		{"max_update in words", maxUpdate("abc"), "spec.strategy.rolling_sync.steps[1].max_update", "Invalid strategy", "abc"},
		{"max_update with a fraction", maxUpdate("12.5%"), "spec.strategy.rolling_sync.steps[1].max_update", "Invalid strategy", "12.5%"},
		{"max_update below zero", maxUpdate(-1), "spec.strategy.rolling_sync.steps[1].max_update", "Invalid strategy", "-1"},
		{"max_update above 100%", maxUpdate("101%"), "spec.strategy.rolling_sync.steps[1].max_update", "Invalid strategy", "101%"},
		{"a strategy that does not exist", strategy(obj{"type": "Rollingsync"}), "spec.strategy.type", "Invalid strategy", `"Rollingsync" is not a strategy type`},
		{"RollingSync without steps", strategy(obj{"type": "RollingSync"}), "spec.strategy", "Invalid strategy", "at least one step"},
		{"RollingSync with no steps in it", strategy(obj{"type": "RollingSync", "rolling_sync": obj{"steps": list{}}}),
			"spec.strategy.rolling_sync.steps", "Invalid strategy", "at least one step"},
		{"steps without a type", func(s *set) { s.Spec = obj{"strategy": obj{"rolling_sync": obj{"steps": steps(s)}}} },
			"spec.strategy", "Invalid strategy", "Set type to RollingSync"},
		{"Reverse without steps", strategy(obj{"deletion_order": "Reverse"}), "spec.strategy.deletion_order", "Invalid strategy", "needs type RollingSync"},
		{"a deletion order that does not exist", strategy(obj{"deletion_order": "reverse"}), "spec.strategy.deletion_order", "Invalid strategy", "not a deletion order"},
		{"a name that DNS does not allow", name("Staging_1"), "spec.template.metadata.name", "Invalid Application name", "Staging_1"},
		{"a name that is too long", name(strings.Repeat("x", 64)), "spec.template.metadata.name", "Invalid Application name", "64 characters"},
		{"an empty name", name(""), "spec.template.metadata.name", "Invalid Application name", "empty"},
		{"a name twice", name(f.app("dev")), "spec.template.metadata.name", "Duplicate Application name", f.app("dev")},
		{"a key that an element lacks", func(s *set) { delete(s.Elements[1], "env") }, "spec.template.metadata.labels", "Template failed", "env"},
		{"a label that is too long", func(s *set) { s.Elements[1]["env"] = strings.Repeat("x", 64) },
			"spec.template.metadata.labels", "Invalid label or annotation", "63"},
		{"a template that cannot be parsed", template(func(m, _ obj) { m["name"] = "{{.name" }), "spec.template.metadata.name", "Invalid template", "{{.name"},
		{"an option that templates do not have", func(s *set) { s.Spec = obj{"go_template_options": []string{"missingkey=eror"}} },
			"spec.go_template_options[0]", "Invalid template", "missingkey=eror"},
		{"no source", template(func(_, spec obj) { delete(spec, "source") }), "spec.template.spec", "Invalid Application spec", "no source"},
		{"a source that deploys nothing", template(func(_, spec obj) { spec["source"] = obj{"repo_url": f.repo.URL()} }),
			"spec.template.spec.source", "Invalid Application spec", "deploys nothing"},
		{"a chart without a version", template(func(_, spec obj) { spec["source"] = obj{"repo_url": f.repo.URL(), "chart": "x"} }),
			"spec.template.spec.source", "Invalid Application spec", "needs targetRevision"},
		{"server and name of the destination", template(func(_, spec obj) {
			spec["destination"] = obj{"server": inClusterServer, "name": "in-cluster", "namespace": "x"}
		}), "spec.template.spec.destination", "Invalid Application spec", "exactly one of"},
		{"no destination", template(func(_, spec obj) { spec["destination"] = obj{"namespace": "x"} }),
			"spec.template.spec.destination", "Invalid Application spec", "names no cluster"},
		{"an empty set", func(s *set) { s.Elements = nil }, "rollout.allow_empty", "Empty set", "allow_empty"},
		{"a generator that does not exist", func(s *set) { s.Spec = obj{"generators": list{obj{"lst": obj{}}}} },
			"spec.generators[0].lst", "", "lst"},
		{"a generator field that does not exist", func(s *set) {
			s.Spec = obj{"generators": list{obj{"list": obj{"element": list{}}}}}
		}, "spec.generators[0].list.element", "Unknown field", `Did you mean "elements"`},
		{"an element that is no object", func(s *set) { s.Spec = obj{"generators": list{obj{"list": obj{"elements": list{"dev"}}}}} },
			"spec.generators[0].list.elements[0]", "Invalid list element", "must be an object"},
		{"spec and manifest", func(s *set) { s.Extra = `manifest = "{}"` }, "manifest", "Two specifications", "exactly one"},
		{"neither spec nor manifest", func(s *set) { s.Manifest = raw("null") }, "", "Missing specification", "exactly one"},
		{"a manifest of another kind", func(s *set) { s.Manifest = "apiVersion: v1\nkind: ConfigMap\n" }, "manifest", "", "ApplicationSet"},
		{"a manifest that is no YAML", func(s *set) { s.Manifest = "a: [" }, "manifest", "", "manifest"},
		{"a duration in words", func(s *set) { s.Rollout = obj{"app_timeout": "soon"} }, "rollout.app_timeout", "Invalid duration", `"soon"`},
		{"an amount in words", func(s *set) { s.Rollout = obj{"max_deletions": "some"} }, "rollout.max_deletions", "Invalid amount", `"some"`},
		{"a deletion that does not exist", func(s *set) { s.Rollout = obj{"deletion": "Cascade"} }, "rollout.deletion", "", `"Cascade"`},
		{"a set name that DNS does not allow", func(s *set) { s.Name = "No_Name" }, "name", "", "No_Name"},
		{"a timeout in words", func(s *set) { s.Extra = `timeouts = { create = "soon" }` }, "", "", `"soon" must be a string`},
	} {
		s := f.threeSteps()
		test.change(s)
		w.configure(s)
		r := w.cli.run("plan")
		text := words(r.out)
		if r.code != exitFailed || !strings.Contains(text, "Error: "+test.summary) || !strings.Contains(text, test.at) || !strings.Contains(text, words(test.says)) {
			t.Errorf("%s: exit code %d\n%s", test.what, r.code, r.out)
		}
	}
}
