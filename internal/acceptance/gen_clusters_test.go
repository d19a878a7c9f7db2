package acceptance

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const clusterEnv = "{{.metadata.labels.env}}"

func TestAccARegisteredClusterIsANewApplicationInItsWave(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.generated(list{f.clusters()}, clusterEnv, "dev", "prod")
	f.release("1", "dev", "prod-a", "prod-b")
	f.register("dev", "prod-a/prod")
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod-a")), f.deploys("1", "dev", "prod-a"))
	w.atRest()

	seen.reset()
	f.register("prod-b/prod")
	p := w.planOf()
	w.changes(p, f.app("prod-b"))
	if _, ok := p.after[stepOf("02", "prod")][f.app("prod-b")]; !ok {
		t.Errorf("the new cluster is not in its step: %v", p.after)
	}
	w.apply("plan.bin")
	f.must(seen.onlyTouched(f.app("prod-b")), f.deploys("1", "prod-b"))
	w.atRest()

	// One of three may go, two may not.
	seen.reset()
	f.unregister("prod-a")
	p = w.planOf()
	w.changes(p, f.app("prod-a"))
	w.says(p.printed, "Applications will be deleted", f.app("prod-a"))
	f.unregister("prod-b")
	w.failsToPlan("Too many deletions", f.app("prod-a")+", "+f.app("prod-b"))
	f.unregister("dev")
	w.failsToPlan("Empty set", "rollout.allow_empty = true")
	w.failsToApply("Empty set")
	f.must(seen.onlyTouched())
	f.register("dev", "prod-b/prod")
	w.apply()
	w.lives(f.apps("dev", "prod-b")...)
	w.atRest()

	// All clusters are gone, and so is to be the set. Terraform plans before it destroys, unless told not to.
	f.unregister("dev", "prod-b")
	w.fails([]string{"destroy", "-auto-approve"}, "Empty set", "terraform destroy -refresh=false")
	w.destroy("-refresh=false")
	w.lives()
}

func TestAccSecretsThatCannotBeReadAreNotTakenForNoClusters(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.generated(list{f.clusters()}, clusterEnv, "dev", "prod")
	s.Rollout = patient(obj{"allow_empty": true, "max_deletions": "100%"})
	f.release("1", "dev", "prod", "more")
	f.register("dev", "prod")
	w.configure(s)
	w.apply()
	seen.reset()

	blind := f.as(f.accountOf("apply.yaml", applyAccount, "blind", func(role *unstructured.Unstructured) {
		eachGrant(role, func(g grant) bool { return g.resource != "secrets" })
	}))
	s.Provider = blind
	w.configure(s)
	r := w.cli.want(exitEmpty, "plan", "-detailed-exitcode")
	w.says(r, "Generators not evaluated", "secrets", "no Application is deleted for this")
	w.apply()
	// Another question has no recorded answer.
	s.Spec["generators"] = list{f.clusters(obj{"values": obj{"x": "y"}}), obj{"clusters": obj{"selector": obj{"match_labels": obj{"env": "prod", registered: f.name + "-x"}}}}}
	w.configure(s)
	w.failsToPlan("Generator failed", "secrets", "generators[1].clusters")
	w.failsToApply("Generator failed")
	f.must(seen.onlyTouched())

	s.Provider = nil
	s.Spec["generators"] = list{f.clusters()}
	w.configure(s)
	w.atRest()
	w.destroy()
}

// Labels of the template that a cluster lacks are an error at plan, whoever added the cluster.
func TestAccAClusterThatTheTemplateCannotUseIsAnErrorAtPlan(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.generated(list{f.clusters()}, "{{.metadata.labels.tier}}", "dev")
	f.release("1", "dev")
	f.register("dev")
	w.configure(s)
	w.failsToPlan("Template failed", "metadata.labels.tier")
	s.Labels = obj{"env": clusterEnv}
	w.configure(s)
	w.apply()
	seen.reset()
	f.create(secrets, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "cluster-" + f.app("bare"), "labels": map[string]any{
			"argocd.argoproj.io/secret-type": "cluster", registered: f.name,
		}},
		"stringData": map[string]any{"name": f.app("bare"), "server": "https://127.0.0.1:1/" + f.app("bare"), "config": "{}"},
	})
	w.failsToPlan("Template failed", "env")
	f.must(seen.onlyTouched())
	f.unregister("bare")
	w.atRest()
	w.destroy()
}

func TestAccAClusterThatIsGoneLeavesItsApplicationWhereThePolicySaysSo(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.generated(list{f.clusters()}, clusterEnv, "dev", "prod")
	s.Spec["sync_policy"] = obj{"applications_sync": "create-update"}
	f.release("1", "dev", "prod")
	f.register("dev", "prod")
	w.configure(s)
	w.apply()
	seen.reset()
	f.unregister("prod")
	r := w.cli.want(exitEmpty, "plan", "-detailed-exitcode")
	w.says(r, "Applications left alone", f.app("prod"), "create-update")
	w.apply()
	f.must(seen.onlyTouched())
	f.register("prod")
	w.saysNot(w.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "Applications left alone")
	w.destroy()
}
