package acceptance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/provider"
)

func TestAccEveryOptionalAttributeAbsentNullEmptyAndSetComesToRest(t *testing.T) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			f := newFixture(t)
			w := f.workspace()
			f.record()
			suffixes := []string{"dev", "prod"}
			for _, suffix := range suffixes {
				if g.files == nil {
					f.write(suffix, map[string]string{"version": "1"})
				}
				for name, content := range g.files {
					f.writeFile(f.path(suffix)+"/"+name, strings.ReplaceAll(content, "APP", f.app(suffix)))
				}
			}
			f.commit()
			variants := g.variants
			if variants == nil {
				variants = []string{"absent", "set", "empty", "nulls", "set", "null", "absent"}
			}
			for _, variant := range variants {
				w.configure(g.variant(f, variant))
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

// variant is the configuration of one variant: "null" sets the outermost optional value to null,
// "nulls" the innermost.
func (g group) variant(f *fixture, variant string) text {
	s := f.newSet([]string{"dev", "prod"})
	root := obj{"name": s.Name, "spec": s.spec()}
	root["rollout"] = obj{"min_healthy_time": "0s"}
	if g.name == "Kustomize" {
		root["rollout"].(obj)["prune"] = true // names change
	}
	spec := dig(root, "spec.template.spec")
	switch g.name {
	case "plugin":
		nobody := list{obj{"match_expressions": list{obj{"key": "env", "operator": "In", "values": list{"nobody"}}}}}
		put(root, "spec.strategy", obj{"type": "RollingSync", "rolling_sync": obj{"steps": nobody}})
	case "several sources":
		delete(spec, "source")
		spec["sources"] = list{
			obj{"repo_url": f.repo.URL(), "path": "apps/{{.name}}"},
			obj{"repo_url": f.repo.URL(), "ref": "values"},
		}
	case "source hydrator":
		delete(spec, "source")
		spec["source_hydrator"] = obj{
			"dry_source":  obj{"repo_url": f.repo.URL(), "path": "apps/{{.name}}", "target_revision": "main"},
			"sync_source": obj{"path": "apps/{{.name}}", "target_branch": "main"},
		}
	}
	if source, ok := spec["source"].(obj); ok {
		delete(source, "target_revision")
	}
	for _, o := range g.optionals {
		switch variant {
		case "set":
			if o.set != nil {
				put(root, o.path, fill(f, o.set))
			}
		case "empty":
			if o.empty != nil {
				put(root, o.path, o.empty)
			}
		case "nulls":
			if o.empty != nil || o.set != nil && !needed(root, o.path) {
				put(root, o.path, raw("null"))
			}
		case "null":
			if at := outermost(root, o.path); at != "" {
				put(root, at, raw("null"))
			}
		}
	}
	return text(f.provider(nil) + block(fmt.Sprintf("resource %q %q", resourceType, s.Address), root, ""))
}

// fill replaces the place holders in a value.
func fill(f *fixture, v any) any {
	switch v := v.(type) {
	case string:
		return strings.NewReplacer("NAMESPACE", f.name, "APP", "{{.name}}", "REPO", f.repo.URL()).Replace(v)
	case list:
		out := list{}
		for _, e := range v {
			out = append(out, fill(f, e))
		}
		return out
	case obj:
		out := obj{}
		for k, e := range v {
			out[k] = fill(f, e)
		}
		return out
	}
	return v
}

// needed tells that the base configuration of a variant has this attribute and cannot do without.
func needed(root obj, path string) bool {
	return slices.Contains([]string{"spec.go_template", inSpec + "sync_policy.sync_options", inSpec + "sources.1.ref", "rollout.min_healthy_time",
		"spec.strategy.rolling_sync.steps"}, path) // steps need a type
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

func TestTheTableOfOptionalAttributesIsComplete(t *testing.T) {
	tried := map[string]bool{}
	for _, g := range groups {
		for _, o := range g.optionals {
			tried[strings.NewReplacer(".0.", ".", ".1.", ".").Replace(o.path)] = true
			// What stands in a list of objects is tried with the list.
			if entries, ok := o.set.(list); ok {
				for _, e := range entries {
					if m, ok := e.(obj); ok {
						for k := range m {
							tried[o.path+"."+k] = true
						}
					}
				}
			}
		}
	}
	// Without these nothing can be deployed; all tests set them.
	for _, always := range []string{
		"manifest", "spec.template.spec.source.path", "spec.template.spec.destination.server", "spec.template.spec.destination.namespace",
		"spec.template.spec.source.repo_url", "spec.strategy.rolling_sync.steps.match_expressions",
	} {
		tried[always] = true
	}
	for _, path := range optionalPaths() {
		// The attributes of one source are those of each of several, and of one that is hydrated;
		// those are tried above.
		path = strings.NewReplacer(".sources.", ".source.", ".source_hydrator.dry_source.", ".source.").Replace(path)
		if !tried[path] && !strings.Contains(path, "kustomize.patches.target.") {
			t.Errorf("the optional attribute %s is not in the table", path)
		}
	}
}

// optionalPaths are all optional attributes that hold no further attributes, sorted.
func optionalPaths() []string {
	var resp resource.SchemaResponse
	provider.NewApplicationSetResource().Schema(context.Background(), resource.SchemaRequest{}, &resp)
	found := map[string]bool{}
	var walk func(at string, attributes map[string]schema.Attribute)
	walk = func(at string, attributes map[string]schema.Attribute) {
		for name, a := range attributes {
			path := strings.TrimPrefix(at+"."+name, ".")
			switch a := a.(type) {
			case schema.SingleNestedAttribute:
				walk(path, a.Attributes)
			case schema.ListNestedAttribute:
				walk(path, a.NestedObject.Attributes)
			default:
				if a.IsOptional() {
					found[path] = true
				}
			}
		}
	}
	walk("", resp.Schema.Attributes)
	return slices.Sorted(maps.Keys(found))
}
