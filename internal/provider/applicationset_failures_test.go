package provider

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// kinds are all kinds of failure that the engine declares.
func kinds(t *testing.T) []rollout.Kind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../rollout/outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []rollout.Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Kind" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rollout.Kind(value))
		return true
	})
	if len(out) < 20 {
		t.Fatalf("only %d kinds found in the engine", len(out))
	}
	return out
}

func TestEveryKindOfFailureIsNamedAndSaysWhatToDoNextInTheErrorAndInTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	r := testReport()
	for _, k := range kinds(t) {
		text, ok := failureTexts[k]
		if !ok {
			t.Errorf("%q has neither a summary nor advice", k)
			continue
		}
		advice := r.advice(rollout.Failure{App: "dev-1", Kind: k})
		for _, left := range []string{"GET", "APP", "NS ", "NAME", "ARGOCD"} {
			if strings.Contains(advice, left) {
				t.Errorf("the advice for %q still has %s: %s", k, left, advice)
			}
		}
		if advice == "" {
			t.Errorf("%q has no advice", k)
		}
		if !strings.Contains(string(guide), "| "+text.summary+" |") {
			t.Errorf("the guide templates/guides/failures.md does not list %q", text.summary)
		}
	}
	if len(failureTexts) != len(kinds(t)) {
		t.Errorf("there are texts for %d kinds, the engine has %d", len(failureTexts), len(kinds(t)))
	}
}

func TestAdviceCanBePasted(t *testing.T) {
	r := testReport()
	for kind, want := range map[rollout.Kind]string{
		rollout.KindDegraded:      "argocd app get apps/dev-1, or kubectl -n apps get applications.argoproj.io dev-1 -o yaml",
		rollout.KindProject:       "kubectl -n argocd get appprojects.argoproj.io",
		rollout.KindSkipReconcile: "kubectl -n apps annotate applications.argoproj.io dev-1 argocd.argoproj.io/skip-reconcile-",
		rollout.KindOccupied:      "argocd app terminate-op apps/dev-1",
	} {
		r.namespace = "apps"
		if got := r.advice(rollout.Failure{App: "dev-1", Kind: kind}); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q: %s", kind, want, got)
		}
	}
	pruning := r.advice(rollout.Failure{App: "dev-1", Kind: rollout.KindOutOfSync, Said: "ConfigMap dev/old: needs pruning"})
	if !strings.Contains(pruning, "rollout.prune = true") {
		t.Errorf("what only pruning cures is not said: %s", pruning)
	}
}
