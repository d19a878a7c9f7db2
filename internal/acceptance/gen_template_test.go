package acceptance

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAccATemplatePatchIsAppliedAndAtRest(t *testing.T) {
	f := newFixture(t)
	w, s, _ := f.rolledOut(func(s *set) {
		s.Spec = obj{"template_patch": "{{if eq .env \"prod\"}}\nmetadata:\n  annotations:\n    tier: gold\nspec:\n  revisionHistoryLimit: 3\n{{end}}"}
	})
	w.atRest()
	for suffix, want := range map[string]int64{"dev": 0, "prod": 3} {
		app := f.getApp(f.ctx(), f.app(suffix))
		if got, _, _ := unstructured.NestedInt64(app.Object, "spec", "revisionHistoryLimit"); got != want {
			t.Errorf("%s has the revisionHistoryLimit %d, not %d", suffix, got, want)
		}
		if got := app.GetAnnotations()["tier"]; (got == "gold") != (suffix == "prod") {
			t.Errorf("%s has the annotation tier = %q", suffix, got)
		}
	}
	s.Spec = obj{"template_patch": "spec: {{.nothing}}"}
	w.configure(s)
	w.failsToPlan("Template failed", "spec.template_patch", "nothing")
	s.Spec = nil
	w.configure(s)
	w.changes(w.planOf(), f.app("prod"))
}

func TestAccApplicationsSyncSaysWhatAnApplyMayDo(t *testing.T) {
	for _, test := range []struct {
		policy          string
		updates, delete bool
	}{{"create-only", false, false}, {"create-update", true, false}, {"create-delete", false, true}, {"sync", true, true}} {
		t.Run(test.policy, func(t *testing.T) {
			f := newFixture(t)
			w, seen := f.workspace(), f.record()
			s := f.newSet([]string{"dev", "old/dev", "prod"}, "dev", "prod")
			s.Spec = obj{"sync_policy": obj{"applications_sync": test.policy}}
			s.Rollout = patient()
			f.release("1", "dev", "old", "prod", "new")
			w.configure(s)
			w.apply()
			f.must(seen.inOrder(f.apps("dev", "old"), f.apps("prod")))
			w.atRest()

			// A new commit, a new label, one that goes and one that comes.
			seen.reset()
			f.release("2", "dev", "old", "prod", "new")
			s.Labels = obj{"tier": "gold"}
			s.Elements = []obj{f.element("dev"), f.element("prod"), f.element("new/prod")}
			w.configure(s)
			p := w.planOf()
			if left := strings.Contains(p.printed.out, "Applications left alone"); left == test.delete {
				t.Errorf("the plan warns of Applications left alone: %v\n%s", left, p.printed.out)
			}
			w.apply("plan.bin")
			touched, live := f.apps("new"), f.apps("dev", "prod", "new")
			if test.updates {
				touched = append(touched, f.apps("dev", "prod")...)
			}
			if test.delete {
				touched = append(touched, f.app("old"))
			} else {
				live = append(live, f.app("old"))
			}
			f.must(seen.onlyTouched(touched...), f.deploys("2", "new"))
			w.lives(live...)
			if version := map[bool]string{true: "2", false: "1"}[test.updates]; true {
				f.must(f.deploys(version, "dev", "prod"))
			}
			w.atRest()
			// Destroy deletes them all.
			w.destroy()
			w.lives()
		})
	}
}

func TestAccACreateOnlySetFinishesWhatItHasBegun(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.newSet([]string{"dev", "prod"}, "dev", "prod")
	s.Spec = obj{"sync_policy": obj{"applications_sync": "create-only"}}
	s.Rollout = quick()
	f.release("1", "dev", "more", "other")
	s.Elements = s.Elements[:1]
	w.configure(s)
	w.apply()
	s.Elements = []obj{f.element("dev"), f.element("prod"), f.element("more/prod")}
	w.configure(s)
	w.failsToApply(f.app("prod"), "app path does not exist")
	seen.reset()
	f.release("1", "prod")
	w.apply()
	f.must(f.deploys("1", "prod", "more"), seen.untouched(f.app("dev")))
	w.atRest()
}

func TestAccPreservedFieldsAndIgnoredDifferencesAreLeftToOthers(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) {
		s.Spec = obj{
			"preserved_fields": obj{"annotations": list{"example.com/owner"}, "labels": list{"team"}},
			"ignore_application_differences": list{
				obj{"json_pointers": list{"/spec/info"}},
				obj{"name": f.app("prod"), "jq_path_expressions": list{".spec.revisionHistoryLimit"}},
			},
		}
	})
	w.atRest()
	f.touch(f.app("prod"), func(o *unstructured.Unstructured) error {
		o.SetLabels(with(o.GetLabels(), "team", "web"))
		o.SetAnnotations(with(o.GetAnnotations(), "example.com/owner", "web"))
		if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "a", "value": "b"}}, "spec", "info"); err != nil {
			return err
		}
		return unstructured.SetNestedField(o.Object, int64(3), "spec", "revisionHistoryLimit")
	})
	w.atRest()
	seen.reset()
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.apply()
	app := f.getApp(f.ctx(), f.app("prod"))
	info, _, _ := unstructured.NestedSlice(app.Object, "spec", "info")
	limit, _, _ := unstructured.NestedInt64(app.Object, "spec", "revisionHistoryLimit")
	if app.GetLabels()["team"] != "web" || app.GetAnnotations()["example.com/owner"] != "web" || len(info) != 1 || limit != 3 || app.GetLabels()["tier"] != "gold" {
		t.Errorf("what others have set is not there any more, or what we set is not:\n%s", written(app))
	}
	w.atRest()
	// What is not ignored is drift.
	f.touch(f.app("dev"), func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, int64(3), "spec", "revisionHistoryLimit")
	})
	w.changes(w.planOf(), f.app("dev"))
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
