package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

func TestTheSetHasEqualStepsOfApplications(t *testing.T) {
	set := applicationSet("argocd", "file:///repo", setOptions{apps: 60, steps: 6, rolling: true})
	decoded, issues := appset.Decode(setName, "argocd", set["spec"].(map[string]any))
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	rendering, issues := decoded.Render(t.Context(), nil, appset.Answers{})
	apps := rendering.Apps
	if issues.HasErrors() || !rendering.Complete || len(apps) != 60 {
		t.Fatalf("%d Applications, complete %v: %v", len(apps), rendering.Complete, issues)
	}
	if !decoded.Strategy.ReverseDeletion {
		t.Error("the deletion is not in reverse")
	}
	sizes := map[string]int{}
	for _, app := range apps {
		labels := app.Object["metadata"].(map[string]any)["labels"].(map[string]any)
		sizes[labels[stepLabel].(string)]++
	}
	if len(sizes) != 6 {
		t.Errorf("steps are %v, want 6", sizes)
	}
	for step, size := range sizes {
		if size != 10 {
			t.Errorf("step %s has %d Applications, want 10", step, size)
		}
	}
}

func TestAttributesAreTheSameSetAsTheManifest(t *testing.T) {
	set := applicationSet("argocd", "file:///repo", setOptions{apps: 2, steps: 2, rolling: true, firstMaxUpdate: "50%"})
	config, err := configuration("http://127.0.0.1:1", "argocd", "0s")
	if err != nil {
		t.Fatal(err)
	}
	if config, err = withSpec(config, set); err != nil {
		t.Fatal(err)
	}
	text := string(config)
	for _, want := range []string{`"repo_url"`, `"target_revision"`, `"go_template_options"`, `"match_expressions"`, `"max_update": "50%"`,
		`"rolling_sync"`, `"deletion_order"`, `"sync_policy"`, `"min_healthy_time": "0s"`, `"{{.name}}"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "manifest") {
		t.Error("the manifest is still there")
	}
	var parsed map[string]any
	if err := json.Unmarshal(config, &parsed); err != nil {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"-steps", "0"}, {"-apps", "3", "-steps", "4"}, {"-steps", "100", "-apps", "200"}, {"-plan", "5"}, {"-large-apps", "5"}, {"-slow-apps", "2"}, {"-only", "controller,all"}, {"all"}, {"-fast"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
	o, err := parse([]string{"-apps", "12", "-steps", "3", "-plan", "100", "-only", "plan", "-out", "x.md"})
	if err != nil || o.scale != (scale{12, 3}) || o.slow.steps != 3 || o.planApps != 100 || len(o.only) != 1 || o.out != "x.md" {
		t.Errorf("options are %+v, %v", o, err)
	}
}
