package acceptance

import (
	"fmt"
	"testing"
)

func TestAccDirectoriesAndFilesOfAPrivateArtifactAreApplications(t *testing.T) {
	f := newFixture(t)
	w, seen := f.workspace(), f.record()
	r := f.registry("a-password")
	push := func(suffixes ...string) {
		files := map[string]string{"sets/" + f.app("old") + "/x.txt": "x"}
		for _, suffix := range suffixes {
			files["sets/"+f.app(suffix)+"/x.txt"] = "x"
			files["config/"+suffix+"/app.json"] = fmt.Sprintf(`{"app": {"name": %q, "env": %q}}`, f.app(suffix), suffix)
		}
		r.push("stable", files)
	}
	f.release("1", "dev", "prod", "qa")
	push("dev", "prod")
	s := f.generated(list{obj{"oci": obj{"repo_url": r.URL(), "revision": "stable", "directories": list{
		obj{"path": "sets/*"}, obj{"path": "sets/" + f.app("old"), "exclude": true},
	}}}}, directoryEnv, "dev", "prod", "qa")
	s.Rollout = patient(obj{"max_deletions": 1})
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": "apps/{{.path.basename}}"}
	s.named(directoryName)
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")), f.deploys("1", "dev", "prod"))
	w.atRest()

	// What is added after the plan waits for the next one.
	seen.reset()
	push("dev", "prod", "qa")
	w.changes(w.planOf(), f.app("qa"))
	push("dev", "prod", "qa", "late")
	w.apply("plan.bin")
	f.must(seen.onlyTouched(f.app("qa")), f.deploys("1", "qa"))
	w.lives(f.apps("dev", "prod", "qa")...)
	push("dev", "prod", "qa")
	w.atRest()

	// The same Applications from files are the same.
	seen.reset()
	s.Spec["generators"] = list{obj{"oci": obj{"repo_url": r.URL(), "revision": "stable", "files": list{obj{"path": "config/*/app.json"}}}}}
	s.Labels["env"] = "{{.app.env}}"
	s.Source["path"] = "apps/{{.app.name}}"
	s.named("{{.app.name}}")
	w.configure(s)
	w.apply()
	f.must(seen.onlyTouched())
	w.atRest()

	// A registry that fails is no empty one.
	r.answers(false)
	w.says(w.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "Generators not evaluated", "generators[0].oci", "503", "no Application is deleted for this")
	w.says(w.apply(), "Generators not evaluated")
	f.must(seen.onlyTouched())
	r.answers(true)

	push("dev", "prod")
	w.changes(w.planOf(), f.app("qa"))
	w.apply("plan.bin")
	w.lives(f.apps("dev", "prod")...)
	w.atRest()
	w.destroy()
	w.lives()
}
