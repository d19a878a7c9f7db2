package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// later is a value that terraform knows only after apply, in a resource of its own.
func later(name, expression string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\ninput = %s\n}\n", name, expression)
}

// unknowns are the parts of waves that are known only after apply, sorted: "STEP" and "STEP NAME",
// where STEP is the beginning of a label, or "all".
func unknowns(w waves) []string {
	if w == nil {
		return []string{"all"}
	}
	var open []string
	for label, apps := range w {
		step, _, _ := strings.Cut(label, ":")
		for name, target := range apps {
			switch {
			case name == "?":
				open = append(open, step)
			case target == "?":
				open = append(open, step+" "+name)
			}
		}
	}
	slices.Sort(open)
	return open
}

func TestAccWhatIsUnknownAtPlanIsAsNarrowAsTerraformAllows(t *testing.T) {
	url := later("later", `"https://kubernetes.default.svc"`)
	for _, test := range []struct {
		name   string
		before string
		change func(f *fixture, s *set)
		// open are the unknown parts, with APP for the prefix of Applications.
		open []string
	}{
		{"an unknown url opens the leaf of its Application", url, func(_ *fixture, s *set) {
			s.AppSpec = obj{"destination": obj{"server": "{{.url}}", "namespace": s.f.name}}
			for _, e := range s.Elements {
				e["url"] = inClusterServer
			}
			s.Elements[2]["url"] = raw("terraform_data.later.output")
		}, []string{"step 03 APP-prod"}},
		{"an unknown label opens everything where it decides whether a step has an Application", later("later", `"prod"`), func(_ *fixture, s *set) {
			s.Elements[2]["env"] = raw("terraform_data.later.output")
		}, []string{"all"}},
		{"an unknown label opens the steps that it could match", later("later", `"prod"`), func(f *fixture, s *set) {
			s.Elements = append(s.Elements, f.element("more/prod"), f.element("loose/nowhere"))
			s.Elements[2]["env"] = raw("terraform_data.later.output")
			s.Elements[2]["tier"] = "live"
			for _, e := range s.Elements {
				if e["tier"] == nil {
					e["tier"] = "test"
				}
			}
			s.Labels = obj{"tier": "{{.tier}}"}
			s.Steps = []step{
				{Match: list{obj{"key": "env", "operator": "In", "values": list{"dev"}}, obj{"key": "tier", "operator": "In", "values": list{"test"}}}},
				in("staging"), in("prod"),
			}
		}, []string{"no step", "step 02", "step 03"}},
		{"an unknown name opens the step of its Application", later("later", "APP-prod"), func(_ *fixture, s *set) {
			s.Elements[2]["name"] = raw("terraform_data.later.output")
		}, []string{"step 03"}},
		{"unknown elements open everything", later("later", "ELEMENTS"), func(_ *fixture, s *set) {
			s.Spec = obj{"generators": list{obj{"list": obj{"elements": raw("terraform_data.later.output")}}}}
		}, []string{"all"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			w, s, seen := f.workspace(), f.threeSteps(), f.record()
			// A commit is a known target, so that nothing else is open.
			sha := f.release("1", "dev", "staging", "prod", "more", "loose")
			s.Source = obj{"repo_url": f.repo.URL(), "target_revision": sha, "path": "apps/{{.name}}"}
			elements := list{}
			for _, e := range s.Elements {
				elements = append(elements, maps.Clone(e))
			}
			s.Before = strings.NewReplacer("APP-prod", hcl(f.app("prod")), "ELEMENTS", hcl(elements)).Replace(test.before)
			test.change(f, s)
			w.configure(s)
			want := make([]string, len(test.open))
			for i, o := range test.open {
				want[i] = strings.ReplaceAll(o, "APP", f.name)
			}
			p := w.planOf()
			if got := unknowns(p.after); !slices.Equal(got, want) {
				t.Errorf("unknown are %q, not %q: %v", got, want, p.after)
			}
			w.apply("plan.bin")
			f.must(seen.inOrder(f.apps("dev"), f.apps("staging"), f.apps("prod")), f.deploys("1", "dev", "staging", "prod"))
			w.atRest()

			// The same on a set that exists: the value becomes unknown again, and then the same.
			seen.reset()
			s.Before = strings.Replace(s.Before, "input =", "triggers_replace = 2\ninput =", 1)
			w.configure(s)
			p = w.planOf()
			if got := unknowns(p.after); !slices.Equal(got, want) {
				t.Errorf("in an update, unknown are %q, not %q: %v", got, want, p.after)
			}
			w.apply("plan.bin")
			f.must(seen.onlyTouched())
			w.atRest()
		})
	}
}

func TestAccAnUnknownManifestIsPlannedAndApplied(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.newSet(nil), f.record()
	f.release("1", "dev", "prod")
	document := manifest(obj{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": obj{"name": f.name},
		"spec": obj{
			"goTemplate": true,
			"generators": list{obj{"list": obj{"elements": list{
				obj{"name": f.app("dev"), "env": "dev"}, obj{"name": f.app("prod"), "env": "prod"},
			}}}},
			"strategy": obj{"type": "RollingSync", "rollingSync": obj{"steps": list{
				obj{"matchExpressions": list{obj{"key": "env", "operator": "In", "values": list{"dev"}}}},
				obj{"matchExpressions": list{obj{"key": "env", "operator": "In", "values": list{"prod"}}}},
			}}},
			"template": obj{
				"metadata": obj{"name": "{{.name}}", "labels": obj{"env": "{{.env}}"}},
				"spec": obj{
					"project":     "default",
					"source":      obj{"repoURL": f.repo.URL(), "targetRevision": "main", "path": "apps/{{.name}}"},
					"destination": obj{"server": inClusterServer, "namespace": f.name},
					"syncPolicy":  obj{"syncOptions": list{"CreateNamespace=true"}},
				},
			},
		},
	})
	s.Before = later("later", hcl(document))
	s.Manifest = raw("terraform_data.later.output")
	w.configure(s)
	if p := w.planOf(); p.after != nil {
		t.Errorf("the waves of an unknown manifest are planned as %v", p.after)
	}
	w.apply("plan.bin")
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")))
	w.atRest()
}

func TestAccAnUnknownNamespaceOrNameOfAnExistingSetIsAnErrorNotAReplacement(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.workspace(), f.newSet([]string{"dev"}), f.record()
	f.release("1", "dev")
	s.Before = later("later", hcl(argoNamespace))
	s.Extra = "namespace = terraform_data.later.output"
	w.configure(s)
	w.apply()
	w.atRest()
	seen.reset()
	s.Before = strings.Replace(s.Before, "input =", "triggers_replace = 2\ninput =", 1)
	w.configure(s)
	w.failsToPlan("Unknown namespace", "Set it to a value that does not depend")
	s.Before, s.Extra = "", ""
	w.configure(s)
	w.apply()
	f.must(seen.onlyTouched())
	w.atRest()
}
