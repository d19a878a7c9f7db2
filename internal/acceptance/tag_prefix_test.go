package acceptance

import "testing"

func TestAccARangeMeansTheHighestTagWithThePrefixOfEachApplication(t *testing.T) {
	f := newFixture(t)
	tag := func(version string, tags ...string) string {
		sha := f.release(version, "web-dev", "api-dev", "web-prod", "api-prod")
		for _, name := range tags {
			f.must(func() error { return f.repo.Tag(name) })
		}
		return sha
	}
	web := tag("1", "web/1.0.0")
	api := tag("2", "api/1.1.0")
	tag("3", "1.9.0", "other/1.9.0", "web/2.0.0")
	s := f.newSet([]string{"web-dev/dev", "api-dev/dev", "web-prod/prod", "api-prod/prod"}, "dev", "prod")
	for i, component := range []string{"web", "api", "web", "api"} {
		s.Elements[i]["component"] = component
	}
	s.Source = obj{"repo_url": f.repo.URL(), "path": "apps/{{.name}}", "target_revision": "1.x", "tag_prefix": "{{.component}}/"}
	w, seen := f.workspace(), f.record()
	w.configure(s)
	w.apply()
	f.must(
		seen.inOrder(f.apps("web-dev", "api-dev"), f.apps("web-prod", "api-prod")),
		seen.at(web, f.apps("web-dev", "web-prod")...), f.deploys("1", "web-dev", "web-prod"),
		seen.at(api, f.apps("api-dev", "api-prod")...), f.deploys("2", "api-dev", "api-prod"),
	)
	w.atRest()

	seen.reset()
	next := tag("4", "web/1.2.0")
	w.says(w.plan(), "1.x@"+web[:7], "1.x@"+next[:7])
	w.apply()
	f.must(
		seen.at(next, f.apps("web-dev", "web-prod")...), f.deploys("4", "web-dev", "web-prod"),
		seen.untouched(f.apps("api-dev", "api-prod")...), f.deploys("2", "api-dev", "api-prod"),
	)
	w.atRest()
	w.destroy()
	w.lives()
}
