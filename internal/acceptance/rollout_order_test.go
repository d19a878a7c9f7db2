package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

func TestAccThreeStepsAreCreatedInOrder(t *testing.T) {
	f := newFixture(t)
	f.withoutNamespace()
	f.release("1", "dev", "qa", "prod-a", "prod-b")
	s := f.newSet([]string{"dev", "qa", "prod-a/prod", "prod-b/prod"}, "dev", "qa", "prod")
	s.Rollout = obj{} // the defaults
	dev, qa, prod := f.apps("dev"), f.apps("qa"), f.apps("prod-a", "prod-b")
	r := f.record()
	f.run(resource.TestStep{
		Config:           s.String(),
		ConfigPlanChecks: planned(plansAction(plancheck.ResourceActionCreate), plansWaves(dev, qa, prod)),
		Check: check(
			r.inOrder(dev, qa, prod),
			r.rests(5*time.Second, dev, qa, prod),
			r.historyInOrder(dev, qa, prod),
			r.operations(1, f.apps("dev", "qa", "prod-a", "prod-b")...),
			f.deploys("1", "dev", "qa", "prod-a", "prod-b"),
		),
	})
}

// The main job, as a person does it, with the exit codes that scripts rely on.
func TestAccACommitIsShownInThePlanAndRolledOutInOrder(t *testing.T) {
	f := newFixture(t)
	first := f.release("1", "dev", "qa", "prod-a", "prod-b")
	s := f.newSet([]string{"dev", "qa", "prod-a/prod", "prod-b/prod"}, "dev", "qa", "prod")
	tf := f.cli()
	tf.configure(s)
	tf.want(exitEmpty, "apply", "-auto-approve")
	tf.want(exitEmpty, "plan", "-detailed-exitcode")

	second := f.release("2", "qa", "prod-a")
	r := f.record()
	plan := tf.want(exitChanges, "plan", "-detailed-exitcode", "-out=saved")
	for _, app := range f.apps("qa", "prod-a") {
		line := `"` + app + `" = "main@` + first[:7] + ` #`
		if got := lineWith(plan.out, line); !strings.Contains(got, `-> "main@`+second[:7]+` #`) {
			t.Errorf("the plan does not show %s going from %s to %s, but %q:\n%s", app, first[:7], second[:7], got, plan.out)
		}
	}
	for _, app := range f.apps("dev", "prod-b") {
		if strings.Contains(plan.out, `"`+app+`"`) {
			t.Errorf("the plan shows %s, which the commit does not change:\n%s", app, plan.out)
		}
	}
	f.must(r.untouched(f.apps("dev", "qa", "prod-a", "prod-b")...))

	tf.want(exitEmpty, "apply", "saved")
	f.must(
		r.inOrder(f.apps("qa"), f.apps("prod-a")),
		r.onlyTouched(f.apps("qa", "prod-a")...),
		r.operations(1, f.apps("qa", "prod-a")...),
		r.at(second, f.apps("qa", "prod-a")...),
		r.at(first, f.apps("dev", "prod-b")...),
		f.deploys("2", "qa", "prod-a"),
		f.deploys("1", "dev", "prod-b"),
	)
	tf.want(exitEmpty, "plan", "-detailed-exitcode")

	f.writeFile("README.md", "nothing that an Application deploys")
	f.commit()
	r.reset()
	tf.want(exitEmpty, "plan", "-detailed-exitcode")
	tf.want(exitEmpty, "apply", "-auto-approve")
	f.must(r.onlyTouched())
}

// lineWith is the first line that contains the text, spaces in a row taken as one.
func lineWith(out, text string) string {
	for line := range strings.Lines(out) {
		if line = strings.Join(strings.Fields(line), " "); strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

func TestAccChangesOfTheSpecAloneAreRolledOutInOrder(t *testing.T) {
	f := newFixture(t)
	f.writeFile("chart/Chart.yaml", "apiVersion: v2\nname: guestbook\nversion: 1.0.0\n")
	f.writeFile("chart/values.yaml", "value: unset\n")
	f.writeFile("chart/templates/configmap.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  version: {{ .Values.value | quote }}
`)
	sha := f.commit()
	s := f.newSet([]string{"dev", "qa", "prod"}, "dev", "qa", "prod")
	s.Elements[0]["color"], s.Elements[1]["color"], s.Elements[2]["color"] = "red", "red", "red"
	source := func(value string) obj {
		return obj{
			"repo_url": f.repo.URL(), "target_revision": "main", "path": "chart",
			"helm": obj{"parameters": list{obj{"name": "value", "value": value}}},
		}
	}
	s.Source = source("one {{.color}}")
	dev, qa, prod, all := f.apps("dev"), f.apps("qa"), f.apps("prod"), f.apps("dev", "qa", "prod")
	r := f.record()
	created := s.String()
	s.Source = source("two {{.color}}")
	newValue := s.String()
	s.Labels = obj{"tier": "web"}
	newLabel := s.String()
	s.Elements[0]["color"], s.Elements[2]["color"] = "blue", "blue"
	newElements := s.String()

	f.run(
		resource.TestStep{Config: created, Check: check(f.deploys("one red", "dev", "qa", "prod"))},
		resource.TestStep{
			PreConfig:        r.reset,
			Config:           newValue,
			ConfigPlanChecks: planned(plansExactly(all...), plansRevision(sha, all...)),
			Check: check(r.inOrder(dev, qa, prod), r.operations(1, all...), r.historyInOrder(dev, qa, prod),
				r.at(sha, all...), f.deploys("two red", "dev", "qa", "prod")),
		},
		resource.TestStep{
			PreConfig:        r.reset,
			Config:           newLabel,
			ConfigPlanChecks: planned(plansExactly(all...), plansRevision(sha, all...)),
			Check:            check(r.inOrder(dev, qa, prod), r.operations(1, all...), r.labelled("tier", "web", all...)),
		},
		resource.TestStep{
			PreConfig:        r.reset,
			Config:           newElements,
			ConfigPlanChecks: planned(plansExactly(f.apps("dev", "prod")...)),
			Check: check(r.inOrder(dev, prod), r.onlyTouched(f.apps("dev", "prod")...),
				f.deploys("two blue", "dev", "prod"), f.deploys("two red", "qa")),
		},
	)
}
