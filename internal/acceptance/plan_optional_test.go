package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/helmrepo"
)

func TestAccEveryOptionalAttributeAbsentNullEmptyAndSetComesToRest(t *testing.T) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			f := newFixture(t)
			charts := cptest.Charts(t, helmrepo.Chart{Name: "demo", Version: "1.0.0"})
			places := strings.NewReplacer("NAMESPACE", f.name, "APP", "{{.name}}", "REPO", f.repo.URL(), "CHARTS", charts.URL())
			w := f.workspace()
			f.record()
			g.write(f)
			variants := g.variants
			if variants == nil {
				variants = []string{"absent", "set", "empty", "nulls", "set", "null", "absent"}
			}
			for _, variant := range variants {
				w.configure(g.variant(f, places, variant))
				w.apply()
				if r := w.cli.run("plan", "-detailed-exitcode"); r.code != exitEmpty {
					t.Fatalf("%s: the second plan is not empty: exit code %d\n%s", variant, r.code, r.out)
				}
			}
			w.destroy()
			w.lives()
		})
	}
}

// suffixes are those of the Applications of a part.
func suffixes(part int) []string {
	return []string{fmt.Sprintf("dev-%d", part), fmt.Sprintf("prod-%d", part)}
}

// write commits what all Applications deploy, with a tag for each: its name and a version.
func (g group) write(f *fixture) {
	f.Helper()
	for i, p := range g.parts {
		for _, suffix := range suffixes(i) {
			if p.files == nil {
				f.write(suffix, map[string]string{"version": "1"})
			}
			for name, content := range p.files {
				f.writeFile(f.path(suffix)+"/"+name, strings.ReplaceAll(content, "APP", f.app(suffix)))
			}
		}
	}
	f.commit()
	for i := range g.parts {
		for _, suffix := range suffixes(i) {
			f.must(func() error { return f.repo.Tag(f.app(suffix) + "/1.0.0") })
		}
	}
}

// variant is the configuration of one variant: "null" sets the outermost optional value to null,
// "nulls" the innermost.
func (g group) variant(f *fixture, places *strings.Replacer, variant string) text {
	config := f.provider(nil)
	for i, p := range g.parts {
		s := f.newSet(nil)
		s.Name = fmt.Sprintf("%s-%d", f.name, i)
		for j, suffix := range suffixes(i) {
			s.Elements = append(s.Elements, f.element(suffix+"/"+[]string{"dev", "prod"}[j]))
		}
		root := p.root(s, places)
		if g.prune {
			root["rollout"].(obj)["prune"] = true
		}
		p.set(root, places, variant)
		config += block(fmt.Sprintf("resource %q \"part_%d\"", resourceType, i), root, "")
	}
	return text(config)
}

// root is what a set always has.
func (p part) root(s *set, places *strings.Replacer) obj {
	root := obj{"name": s.Name, "spec": s.spec(), "rollout": obj{"min_healthy_time": "0s"}}
	spec := dig(root, "spec.template.spec")
	delete(spec["source"].(obj), "target_revision")
	for _, kind := range []string{"sources", "source_hydrator"} {
		if p.base[kind] != nil {
			delete(spec, "source")
		}
	}
	maps.Copy(spec, fill(places, p.base).(obj))
	if p.fast {
		delete(root["spec"].(obj), "go_template")
		delete(root["spec"].(obj), "go_template_options")
		root = fill(strings.NewReplacer("{{.", "{{"), root).(obj)
	}
	if p.written {
		root["rollout"] = obj{}
		nobody := list{obj{"match_expressions": list{obj{"key": "env", "operator": "In", "values": list{"nobody"}}}}}
		put(root, "spec.strategy", obj{"type": "RollingSync", "rolling_sync": obj{"steps": nobody}})
	}
	return root
}

// set sets the optional attributes of one variant.
func (p part) set(root obj, places *strings.Replacer, variant string) {
	for _, o := range p.optionals {
		switch variant {
		case "set":
			if o.set != nil {
				put(root, o.path, fill(places, o.set))
			}
		case "empty":
			if o.empty != nil {
				put(root, o.path, o.empty)
			}
		case "nulls":
			if !slices.Contains(p.kept, o.path) {
				put(root, o.path, raw("null"))
			}
		case "null":
			if at := outermost(root, o.path); at != "" {
				put(root, at, raw("null"))
			}
		}
	}
}

// fill replaces the place holders in a copy of a value.
func fill(places *strings.Replacer, v any) any {
	switch v := v.(type) {
	case string:
		return places.Replace(v)
	case list:
		out := list{}
		for _, e := range v {
			out = append(out, fill(places, e))
		}
		return out
	case obj:
		out := obj{}
		for k, e := range v {
			out[k] = fill(places, e)
		}
		return out
	}
	return v
}

// outermost is the longest beginning of a path that the base configuration does not have; "" when
// it has all of it.
func outermost(root obj, path string) string {
	parts := strings.Split(path, ".")
	for i := range parts {
		at := strings.Join(parts[:i+1], ".")
		if !has(root, parts[:i+1]) {
			return at
		}
	}
	return ""
}

func has(v any, parts []string) bool {
	if len(parts) == 0 {
		return true
	}
	switch v := v.(type) {
	case obj:
		e, ok := v[parts[0]]
		return ok && has(e, parts[1:])
	case list:
		return has(v[int(parts[0][0]-'0')], parts[1:])
	}
	return false
}

// dig is the object at a path; it must be there.
func dig(root obj, path string) obj {
	for _, part := range strings.Split(path, ".") {
		root = root[part].(obj)
	}
	return root
}

// put sets the attribute at a path and makes the objects above it, unless one of them is null.
func put(root obj, path string, value any) {
	parts := strings.Split(path, ".")
	var at any = root
	for _, part := range parts[:len(parts)-1] {
		switch v := at.(type) {
		case obj:
			if v[part] == nil {
				v[part] = obj{}
			}
			at = v[part]
		case list:
			at = v[int(part[0]-'0')]
		case raw:
			return
		}
	}
	if o, ok := at.(obj); ok {
		o[parts[len(parts)-1]] = value
	}
}
