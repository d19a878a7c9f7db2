package acceptance

import (
	"fmt"
	"testing"
)

func TestAccDirectoriesAndFilesOfAPrivateRepositoryAreApplications(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	repo := f.privateRepo("a-password")
	f.release("1", "dev", "prod", "qa")
	repo.put(f, map[string]string{
		"sets/" + f.app("dev") + "/x.txt": "x", "sets/" + f.app("prod") + "/x.txt": "x", "sets/" + f.app("old") + "/x.txt": "x",
	})
	directories := obj{"git": obj{"repo_url": repo.url, "revision": "HEAD", "directories": list{
		obj{"path": "sets/*"}, obj{"path": "sets/" + f.app("old"), "exclude": true},
	}}}
	s := f.generated(list{directories}, directoryEnv, "dev", "prod", "qa").named(directoryName)
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "apps/{{.path.basename}}"}
	s.named(directoryName)
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")), f.deploys("1", "dev", "prod"))
	w.atRest()

	seen.reset()
	repo.put(f, map[string]string{"sets/" + f.app("qa") + "/x.txt": "x"})
	p := w.planOf()
	w.changes(p, f.app("qa"))
	w.apply("plan.bin")
	f.must(seen.onlyTouched(f.app("qa")))
	w.atRest()

	// The same Applications from files are the same.
	seen.reset()
	files := map[string]string{}
	for _, suffix := range []string{"dev", "prod", "qa"} {
		files["config/"+suffix+"/app.json"] = fmt.Sprintf(`{"app": {"name": %q, "env": %q}}`, f.app(suffix), suffix)
	}
	repo.put(f, files)
	s = f.generated(list{obj{"git": obj{"repo_url": repo.url, "revision": "HEAD", "files": list{obj{"path": "config/**/app.json"}}}}},
		"{{.app.env}}", "dev", "prod", "qa")
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "apps/{{.app.name}}"}
	s.named("{{.app.name}}")
	w.configure(s)
	w.apply()
	f.must(seen.onlyTouched())
	w.atRest()
}

func TestAccMatrixAndMergeCombineClustersAndGit(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	f.register("dev", "prod")
	f.release("1", "dev-web", "dev-api", "prod-web", "prod-api")
	for _, app := range []string{"web", "api"} {
		f.writeFile("teams/"+app+"/team.txt", "x")
	}
	f.commit()
	teams := obj{"git": obj{"repo_url": f.repo.URL(), "revision": "main", "directories": list{obj{"path": "teams/*"}}}}
	matrix := obj{"matrix": obj{"generators": list{f.clusters(), teams}}}
	s := f.generated(list{matrix}, clusterEnv, "dev", "prod")
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "apps/{{.name}}-{{.path.basename}}"}
	s.named("{{.name}}-{{.path.basename}}")
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(f.apps("dev-web", "dev-api"), f.apps("prod-web", "prod-api")), f.deploys("1", "dev-web", "dev-api", "prod-web", "prod-api"))
	w.atRest()

	// merge changes the label tier of one of them.
	seen.reset()
	merge := obj{"merge": obj{"merge_keys": list{"name"}, "generators": list{
		f.clusters(),
		obj{"list": obj{"elements": list{obj{"name": f.app("prod"), "tier": "gold"}}}},
	}}}
	s.Spec["generators"] = list{obj{"matrix": obj{"generators": list{merge, teams}}}}
	s.Labels["tier"] = `{{if hasKey . "tier"}}{{.tier}}{{else}}silver{{end}}`
	s.Rollout = patient(obj{"max_deletions": 0})
	s.named("{{.name}}-{{.path.basename}}")
	w.configure(s)
	w.apply()
	for name, tier := range map[string]string{"dev-web": "silver", "dev-api": "silver", "prod-web": "gold", "prod-api": "gold"} {
		if got := f.getApp(f.ctx(), f.app(name)).GetLabels()["tier"]; got != tier {
			t.Errorf("%s is %q, not %q", name, got, tier)
		}
	}
	w.atRest()
	w.destroy()
}

func TestAccADirectoryThatIsAddedAfterThePlanWaitsForTheNextOne(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.generated(list{f.directories()}, directoryEnv, "dev", "prod", "qa").named(directoryName)
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "{{.path.path}}"}
	s.named(directoryName)
	f.release("1", "dev", "prod")
	w.configure(s)
	w.apply()
	w.atRest()

	seen.reset()
	f.release("2", "dev", "prod")
	w.changes(w.planOf(), f.apps("dev", "prod")...)
	f.release("2", "qa")
	w.apply("plan.bin")
	f.must(seen.historyInOrder(f.apps("dev"), f.apps("prod")), seen.absent(f.app("qa")), f.deploys("2", "dev", "prod"))
	seen.reset()
	w.changes(w.planOf(), f.app("qa"))
	w.apply("plan.bin")
	f.must(seen.onlyTouched(f.app("qa")), f.deploys("2", "qa"))
	w.atRest()
}

func TestAccGeneratorsThatWereChangedAreTheSameInPlanAndApplyOrNothingHappens(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	live := list{f.directories()}
	s := f.generated(live, directoryEnv, "dev", "prod").named(directoryName)
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "{{.path.path}}"}
	s.named(directoryName)
	f.release("1", "dev")
	w.configure(s)
	w.planOf()
	f.release("1", "prod")
	r := w.cli.want(exitFailed, "apply", "plan.bin")
	w.says(r, "inconsistent final plan")
	f.must(seen.onlyTouched())
	w.lives()

	// As parameters of a data source they are a part of the plan.
	s.Before = block(`data "argocdprogressive_parameters" "frozen"`, obj{"go_template": true, "generators": live}, "")
	s.Spec["generators"] = list{obj{"list": obj{"elements": raw("data.argocdprogressive_parameters.frozen.parameters")}}}
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "prod")...)
	f.release("1", "dev-late")
	w.apply("plan.bin")
	w.lives(f.apps("dev", "prod")...)
	f.must(f.deploys("1", "dev", "prod"))
	w.changes(w.planOf(), f.app("dev-late"))
}

func TestAccAGeneratorThatFailsKeepsThePlanAndDeletesNothing(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	s := f.generated(list{f.directories()}, directoryEnv, "dev", "prod").named(directoryName)
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "{{.path.path}}"}
	s.Rollout = patient(obj{"allow_empty": true, "max_deletions": "100%"})
	s.named(directoryName)
	f.release("1", "dev", "prod")
	w.configure(s)
	w.apply()
	seen.reset()

	f.must(f.loseGit)
	r := w.cli.want(exitEmpty, "plan", "-detailed-exitcode")
	w.says(r, "Generators not evaluated", "generators[0].git", "no Application is deleted for this")
	w.says(w.apply(), "Generators not evaluated")
	// What has no recorded answer is an error.
	s.Spec["generators"] = list{obj{"git": obj{"repo_url": f.repo.URL(), "revision": "main", "directories": list{obj{"path": "app*/*"}}}}}
	w.configure(s)
	w.failsToPlan("Generator failed", "generators[0].git")
	w.failsToApply("Generator failed")
	f.must(f.findGit, seen.onlyTouched())
	w.lives(f.apps("dev", "prod")...)
	s.Spec["generators"] = list{f.directories()}
	w.configure(s)
	w.atRest()

	// Destroy asks no generator.
	f.must(f.loseGit)
	w.destroy("-refresh=false")
	w.lives()
	f.must(f.findGit)
}

func TestAccAPluginThatFailsKeepsThePlanAndDeletesNothing(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	p := f.plugin("a-token")
	s := f.generated(list{obj{"plugin": obj{"config_map_ref": obj{"name": f.name + "-plugin"}, "input": obj{"parameters": obj{"tier": "gold"}}}}}, "{{.env}}", "dev", "prod")
	s.Provider = f.getsSecrets()
	s.Labels["tier"] = `{{toJson .generator.input.parameters.tier | trimAll "\""}}`
	s.named("{{.name}}")
	f.release("1", "dev", "prod", "more")
	w.configure(s)
	w.failsToPlan("Generator failed", "generators[0].plugin", "500")

	p.says(`{"output": {"parameters": [{"name": %q, "env": "dev"}, {"name": %q, "env": "prod"}]}}`, f.app("dev"), f.app("prod"))
	w.apply()
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")), f.deploys("1", "dev", "prod"))
	if tier := f.getApp(f.ctx(), f.app("dev")).GetLabels()["tier"]; tier != "gold" {
		t.Errorf("dev has the tier %q", tier)
	}
	w.atRest()
	seen.reset()
	for _, broken := range []string{"", `{"output": {}}`, "<html>"} {
		p.says("%s", broken)
		r := w.cli.want(exitEmpty, "plan", "-detailed-exitcode")
		w.says(r, "Generators not evaluated", "generators[0].plugin")
	}
	f.must(seen.onlyTouched())
	p.says(`{"output": {"parameters": [{"name": %q, "env": "dev"}, {"name": %q, "env": "prod"}, {"name": %q, "env": "prod"}]}}`, f.app("dev"), f.app("prod"), f.app("more"))
	w.changes(w.planOf(), f.app("more"))
	w.destroy()
}
