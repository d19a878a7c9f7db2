package main

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestSettingsForOtherWorkDoNotReachTerraform(t *testing.T) {
	clean := cleanEnvironment([]string{"PATH=/bin", "KUBE_TOKEN=x", "TF_LOG=trace", "KUBECONFIG=y"})
	for _, entry := range []string{"KUBE_TOKEN=x", "TF_LOG=trace"} {
		if slices.Contains(clean, entry) {
			t.Errorf("%s is still there", entry)
		}
	}
	for _, entry := range []string{"PATH=/bin", "KUBECONFIG=y", "CHECKPOINT_DISABLE=1"} {
		if !slices.Contains(clean, entry) {
			t.Errorf("%s is missing", entry)
		}
	}
}

func TestTheControllerIsAtRestWhenAllApplicationsAreHealthy(t *testing.T) {
	set := func(statuses ...string) *unstructured.Unstructured {
		var entries []any
		for _, status := range statuses {
			entries = append(entries, map[string]any{"status": status})
		}
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"applicationStatus": entries}}}
	}
	for name, test := range map[string]struct {
		set  *unstructured.Unstructured
		want bool
	}{
		"all Healthy":     {set("Healthy", "Healthy"), true},
		"one Progressing": {set("Healthy", "Progressing"), false},
		"one is missing":  {set("Healthy"), false},
		"no status":       {set(), false},
	} {
		if got := atRest(test.set, 2); got != test.want {
			t.Errorf("%s: at rest is %v", name, got)
		}
	}
}
