package acceptance

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAccAnApplicationThatLostItsLabelGetsItBack(t *testing.T) {
	f := newFixture(t)
	w, _, seen := f.rolledOut()
	before := f.uids()
	f.touch(f.app("prod"), func(o *unstructured.Unstructured) error {
		labels := o.GetLabels()
		delete(labels, setLabel)
		o.SetLabels(labels)
		return nil
	})
	seen.reset()
	w.changes(w.planOf(), f.app("prod"))
	w.apply()
	w.atRest()
	f.must(seen.operations(0, f.apps("dev", "staging", "prod")...))
	f.sameUIDs(before)
}

func TestAccApplicationsOfAnotherSetWithTheSameSpecChangeTheirOwner(t *testing.T) {
	f := newFixture(t)
	first, s, _ := f.rolledOut()
	second := f.workspace()
	before := f.uids()

	s.Name = f.name + "-b"
	s.Rollout = quick(obj{"adopt_existing": true})
	second.configure(s)
	second.apply()
	second.atRest()
	f.sameUIDs(before)
	for _, name := range f.apps("dev", "staging", "prod") {
		if owner := f.getApp(f.ctx(), name).GetAnnotations()[ownerAnnotation]; owner != argoNamespace+"/"+s.Name {
			t.Errorf("%s belongs to %q after it was taken over", name, owner)
		}
	}
	first.destroy()
	f.sameUIDs(before)
}

func TestAccATakeOverDeletesNothingThatItsPlanHasNotShown(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	w.loseState()

	s.Elements = []obj{f.element("dev"), f.element("staging")}
	s.Rollout = quick(obj{"adopt_existing": true, "max_deletions": "100%"})
	w.configure(s)
	r := w.apply()
	w.says(r, "Applications left over", f.app("prod"))
	w.lives(f.apps("dev", "staging", "prod")...)
	f.must(seen.operations(0, f.apps("dev", "staging", "prod")...))

	p := w.planOf()
	w.changes(p, f.app("prod"))
	if !strings.Contains(words(p.printed.out), "Applications will be deleted") {
		t.Errorf("the plan does not warn of the deletion:\n%s", p.printed.out)
	}
	w.apply()
	w.lives(f.apps("dev", "staging")...)
	w.atRest()
}
