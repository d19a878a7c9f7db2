package acceptance

import (
	"testing"
)

func TestAccAnOCIArtifactIsPinnedToItsDigest(t *testing.T) {
	f := newFixture(t)
	r := f.registry("")
	push := func(version string) string {
		files := map[string]string{}
		for _, suffix := range []string{"dev", "prod"} {
			files[f.app(suffix)+"/configmap.yaml"] = configMap(f.app(suffix), map[string]string{"version": version})
		}
		return r.push("stable", files)
	}
	first := push("1")
	s := f.newSet([]string{"dev", "prod"}, "dev", "prod")
	s.Source = obj{"repo_url": r.URL(), "path": "{{.name}}", "target_revision": "stable"}
	w, seen := f.workspace(), f.record()
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")), seen.at(first, f.apps("dev", "prod")...), f.deploys("1", "dev", "prod"))
	w.atRest()

	seen.reset()
	second := push("2")
	w.says(w.cli.want(exitChanges, "plan", "-detailed-exitcode"), "stable@"+first[:14], "stable@"+second[:14])
	w.apply()
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")), seen.at(second, f.apps("dev", "prod")...), f.deploys("2", "dev", "prod"))
	w.atRest()
	w.destroy()
	w.lives()
}

func TestAccAHydratedBranchIsDeployedAllAtOnceAndRefusedInSteps(t *testing.T) {
	f := newFixture(t)
	f.release("dry", "dev")
	if err := f.repo.Branch("hydrated"); err != nil {
		t.Fatal(err)
	}
	sha := f.release("1", "dev")
	s := f.newSet([]string{"dev"}, "dev")
	s.AppSpec = obj{"source": nil, "source_hydrator": obj{
		"dry_source":  obj{"repo_url": f.repo.URL(), "path": "apps/{{.name}}", "target_revision": "main", "helm": obj{"values_object": obj{"replicaCount": 2}}},
		"sync_source": obj{"path": "apps/{{.name}}", "target_branch": "hydrated"},
		"hydrate_to":  obj{"target_branch": "hydrated-next"},
	}}
	w, seen := f.workspace(), f.record()
	w.configure(s)
	w.failsToPlan("source_hydrator", "cannot be rolled out step by step")
	s.Steps = nil
	w.configure(s)
	w.apply()
	f.must(seen.at(sha, f.app("dev")), f.deploys("1", "dev"))
	w.atRest()
	s.AppSpec["source"] = obj{"repo_url": f.repo.URL(), "path": "x"}
	w.configure(s)
	w.failsToPlan("Give exactly one of the three")
	s.AppSpec["source"] = nil
	w.configure(s)
	w.destroy()
	w.lives()
}
