package acceptance

import (
	"strings"
	"testing"
)

// What every Terraform, OpenTofu and Argo CD that the provider is for must do; "make test-compat" runs
// it with the older ones.
func TestAccSmoke(t *testing.T) {
	f := newFixture(t)
	first := f.release("1", "dev", "qa", "prod-a", "prod-b")
	s := f.newSet([]string{"dev", "qa", "prod-a/prod", "prod-b/prod"}, "dev", "qa", "prod")
	s.Reverse = true
	all := f.apps("dev", "qa", "prod-a", "prod-b")
	r := f.record()
	tf := f.cli()
	tf.configure(s)

	created := tf.want(exitEmpty, "apply", "-auto-approve")
	if strings.Contains(created.out, "Warning:") {
		t.Errorf("a create warns:\n%s", created.out)
	}
	f.must(
		r.inOrder(f.apps("dev"), f.apps("qa"), f.apps("prod-a", "prod-b")),
		r.operations(1, all...),
		r.at(first, all...),
		f.deploys("1", "dev", "qa", "prod-a", "prod-b"),
	)
	r.reset()
	tf.want(exitEmpty, "plan", "-detailed-exitcode")
	f.must(r.onlyTouched())

	second := f.release("2", "qa", "prod-a")
	plan := tf.want(exitChanges, "plan", "-detailed-exitcode", "-out=saved")
	for _, app := range f.apps("qa", "prod-a") {
		if line := lineWith(plan.out, `"`+app+`" = "main@`+first[:7]); !strings.Contains(line, `-> "main@`+second[:7]) {
			t.Errorf("the plan does not show that %s changes:\n%s", app, plan.out)
		}
	}
	tf.want(exitEmpty, "apply", "saved")
	f.must(
		r.inOrder(f.apps("qa"), f.apps("prod-a")),
		r.onlyTouched(f.apps("qa", "prod-a")...),
		f.deploys("2", "qa", "prod-a"),
	)
	tf.want(exitEmpty, "plan", "-detailed-exitcode")

	r.reset()
	tf.want(exitEmpty, "destroy", "-auto-approve")
	f.must(r.deletedInOrder(f.apps("prod-a", "prod-b"), f.apps("qa"), f.apps("dev")))
}
