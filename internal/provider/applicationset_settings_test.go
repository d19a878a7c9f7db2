package provider

import (
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

func TestASetThatPreservesResourcesLeavesThemUnlessItsRolloutSaysOtherwise(t *testing.T) {
	finalizers := func(names ...any) map[string]any {
		return map[string]any{"metadata": map[string]any{"finalizers": names}}
	}
	for name, c := range map[string]struct {
		set  *appset.Set
		s    settings
		want bool
	}{
		"a set that does not":           {&appset.Set{}, settings{}, false},
		"one that cannot be read":       {nil, settings{}, false},
		"one that does":                 {&appset.Set{PreserveResources: true, Template: map[string]any{}}, settings{}, true},
		"other finalizers":              {&appset.Set{PreserveResources: true, Template: finalizers("example.com/wait")}, settings{}, true},
		"a finalizer of the template":   {&appset.Set{PreserveResources: true, Template: finalizers("example.com/wait", "resources-finalizer.argocd.argoproj.io/background")}, settings{}, false},
		"cascade is given":              {&appset.Set{PreserveResources: true}, settings{deletionGiven: true}, false},
		"orphan is given":               {&appset.Set{Template: finalizers(appset.ResourcesFinalizer)}, settings{deletionGiven: true, orphan: true}, true},
		"orphan is given, and the same": {&appset.Set{PreserveResources: true, Template: finalizers(appset.ResourcesFinalizer)}, settings{deletionGiven: true, orphan: true}, true},
	} {
		if got := c.s.of(c.set).orphan; got != c.want {
			t.Errorf("%s: the resources are left: %t", name, got)
		}
	}
}
