package provider

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// asked are inputs that answer nothing.
type asked struct{ appset.Inputs }

var errAsked = errors.New("no answer")

func (asked) Clusters(context.Context) ([]appset.Cluster, error) { return nil, errAsked }

func (asked) Tree(context.Context, string, string, string) (appset.Tree, error) { return nil, errAsked }

func (asked) Artifact(context.Context, string, string, string) (appset.Artifact, error) {
	return nil, errAsked
}

func (asked) Plugin(context.Context, appset.PluginCall) ([]map[string]any, error) {
	return nil, errAsked
}

func (asked) Decisions(context.Context, appset.DecisionQuery) (appset.Decisions, error) {
	return appset.Decisions{}, errAsked
}

func (asked) Redact(text string) string { return strings.ReplaceAll(text, "secret", "***") }

func TestWhatGeneratorsAskIsInTheLog(t *testing.T) {
	var out bytes.Buffer
	ctx := tflogtest.RootLogger(t.Context(), &out)
	l := logged{asked{}}
	_, errs := l.Clusters(ctx)
	_, err := l.Tree(ctx, "https://user:secret@git.example.com/a.git", "main", "default")
	errs = errors.Join(errs, err)
	_, err = l.Plugin(ctx, appset.PluginCall{ConfigMap: "preview", Set: "web", Parameters: map[string]any{"token": "secret"}})
	errs = errors.Join(errs, err)
	_, err = l.Decisions(ctx, appset.DecisionQuery{ConfigMap: "placement"})
	errs = errors.Join(errs, err)
	_, err = l.Artifact(ctx, "oci://user:secret@registry.example.com/a", "1.0.0", "default")
	if errs = errors.Join(errs, err); strings.Count(errs.Error(), "no answer") != 5 {
		t.Errorf("the errors are %v", errs)
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("the log has a secret: %s", out.String())
	}
	lines, err := tflogtest.MultilineJSONDecode(&out)
	if err != nil || len(lines) != 10 {
		t.Fatalf("%d lines (%v)", len(lines), err)
	}
	for i, want := range []string{"a generator asks for the clusters", "a generator asks for a repository", "a generator asks a plugin", "a generator asks for decisions about clusters", "a generator asks for an artifact"} {
		begins, ends := lines[2*i], lines[2*i+1]
		if begins["@message"] != want || begins["@level"] != "info" || ends["@message"] != want+": ended" || ends["seconds"] == nil {
			t.Errorf("it says %v and %v, not %q", begins, ends, want)
		}
	}
	if repository, _ := lines[2]["repository"].(string); !strings.Contains(repository, "git.example.com/a.git") || lines[2]["revision"] != "main" {
		t.Errorf("of a repository it says %v", lines[2])
	}
	if repository, _ := lines[8]["repository"].(string); !strings.Contains(repository, "registry.example.com/a") || lines[8]["revision"] != "1.0.0" {
		t.Errorf("of an artifact it says %v", lines[8])
	}
	if lines[4]["configmap"] != "preview" || lines[6]["configmap"] != "placement" {
		t.Errorf("it says %v and %v", lines[4], lines[6])
	}
	if got := l.Redact("a secret"); got != "a ***" {
		t.Errorf("it hides nothing: %s", got)
	}
	if got := (logged{asked{}.Inputs}).Redact("a secret"); got != "a secret" {
		t.Errorf("without anything to hide it is %s", got)
	}
}
