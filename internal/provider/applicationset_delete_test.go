package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestDeletionHandsOverOnlyToACreateOfTheSameSet(t *testing.T) {
	state := &applicationSetModel{
		ID: types.StringValue("argocd/guestbook"), Namespace: types.StringValue("argocd"), Name: types.StringValue("guestbook"),
	}
	for name, c := range map[string]struct {
		planned  phase
		handOver bool
		refused  bool
	}{
		"a tainted set is replaced by itself":                     {planned: phase{Op: opCreate, Namespace: "argocd", Name: "guestbook"}, handOver: true},
		"a tainted set is renamed":                                {planned: phase{Op: opCreate, Namespace: "argocd", Name: "other"}},
		"a tainted set moves to another namespace":                {planned: phase{Op: opCreate, Namespace: "other", Name: "guestbook"}},
		"what replaces a tainted set has no known name":           {planned: phase{Op: opCreate, Namespace: "argocd"}, refused: true},
		"a set that is not tainted is replaced":                   {planned: phase{Op: opForcedReplace, Namespace: "argocd", Name: "guestbook"}},
		"a destroy":                                               {planned: phase{Op: opDestroy}},
		"private state of a version that planned nothing of that": {planned: phase{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, diags := c.planned.handsOver(state)
			if got != c.handOver || diags.HasError() != c.refused {
				t.Errorf("hands over: %v, diagnostics: %v", got, diags)
			}
		})
	}
}
