package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// obj and list are HCL values; see hcl.
type (
	obj  = map[string]any
	list = []any
	// raw is an HCL expression, printed as it is: a reference, a function call.
	raw string
)

// hcl prints a Go value as an HCL expression.
func hcl(v any) string {
	switch v := v.(type) {
	case raw:
		return string(v)
	case string:
		quoted := strconv.Quote(v)
		quoted = strings.ReplaceAll(quoted, "${", "$${")
		return strings.ReplaceAll(quoted, "%{", "%%{")
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = hcl(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case list:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = hcl(item)
		}
		return "[" + strings.Join(items, ",\n") + "]"
	case obj:
		var b strings.Builder
		b.WriteString("{\n")
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(&b, "%s = %s\n", strconv.Quote(k), hcl(v[k]))
		}
		b.WriteString("}")
		return b.String()
	case nil:
		return "null"
	}
	return fmt.Sprint(v) // numbers and bools
}

// manifest prints a Kubernetes object as YAML.
func manifest(o map[string]any) string {
	text, err := yaml.Marshal(o)
	if err != nil {
		panic(err) // literals of tests
	}
	return string(text)
}

// set is the configuration of one ApplicationSet resource, with the provider's. Zero values are
// what most tests want; any field may be changed between two calls of String.
type set struct {
	f *fixture
	// Name of the set; NewSet takes the fixture's.
	Name string
	// Address is the second label of the resource block.
	Address string
	// Elements of the list generator. Each needs "name" (of the Application) and "env" (its label).
	Elements []obj
	// Steps of RollingSync; nil means AllAtOnce.
	Steps []step
	// Reverse deletes in reverse order.
	Reverse bool
	// Labels of the template, beside env.
	Labels obj
	// Source of the template; default: the folder of the Application in the fixture's repository.
	Source obj
	// SyncPolicy of the template; default: the destination namespace is created.
	SyncPolicy obj
	// AppSpec holds further fields of the template's spec.
	AppSpec obj
	// Spec holds further fields of spec.
	Spec obj
	// Manifest replaces spec.
	Manifest any
	// Rollout holds the rollout settings. Nil means min_healthy_time = "0s", for speed, and
	// app_timeout = "2m", so that what is broken ends soon; empty means the defaults.
	Rollout obj
	// Extra is HCL inside of the resource block, Before is HCL in front of it.
	Extra, Before string
	// Provider holds further attributes of the provider block.
	Provider obj
}

// step is one step: an Application belongs to it when its label env is in Envs.
type step struct {
	Envs []string
	// MaxUpdate is max_update; nil leaves it out.
	MaxUpdate any
	// Match replaces Envs.
	Match list
}

// in is a step of these environments.
func in(envs ...string) step { return step{Envs: envs} }

// newSet is a set with one Application for each suffix, "SUFFIX" or "SUFFIX/ENV"; the environment is
// the suffix unless given. Steps are one for each of envs, or AllAtOnce when there are none.
func (f *fixture) newSet(suffixes []string, envs ...string) *set {
	s := &set{f: f, Name: f.name, Address: "test"}
	for _, suffix := range suffixes {
		s.Elements = append(s.Elements, f.element(suffix))
	}
	for _, env := range envs {
		s.Steps = append(s.Steps, in(env))
	}
	return s
}

// element is the generator element of an Application; see newSet.
func (f *fixture) element(suffix string) obj {
	suffix, env, ok := strings.Cut(suffix, "/")
	if !ok {
		env = suffix
	}
	return obj{"name": f.app(suffix), "env": env}
}

// String is the whole configuration.
func (s *set) String() string { return s.f.provider(s.Provider) + s.Before + "\n" + s.Resource() }

// provider is the provider block; extra holds further attributes.
func (f *fixture) provider(extra obj) string {
	attributes := obj{"namespace": argoNamespace, "kubernetes": obj{"config_path": f.kubeconfig()}}
	maps.Copy(attributes, extra)
	return block(`provider "argocdprogressive"`, attributes, "")
}

// Resource is the resource block alone, for configurations with several.
func (s *set) Resource() string {
	attributes := obj{"name": s.Name}
	if s.Manifest != nil {
		attributes["manifest"] = s.Manifest
	} else {
		attributes["spec"] = s.spec()
	}
	rollout := s.Rollout
	if rollout == nil {
		rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m"}
	}
	if len(rollout) > 0 {
		attributes["rollout"] = rollout
	}
	return block(fmt.Sprintf("resource %q %q", resourceType, s.Address), attributes, s.Extra)
}

func block(header string, attributes obj, extra string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s {\n", header)
	for _, k := range slices.Sorted(maps.Keys(attributes)) {
		fmt.Fprintf(&b, "%s = %s\n", k, hcl(attributes[k]))
	}
	fmt.Fprintf(&b, "%s\n}\n", extra)
	return b.String()
}

func (s *set) spec() obj {
	elements := list{}
	for _, e := range s.Elements {
		elements = append(elements, e)
	}
	spec := obj{
		"go_template":         true,
		"go_template_options": []string{"missingkey=error"},
		"generators":          list{obj{"list": obj{"elements": elements}}},
		"template":            s.template(),
	}
	if s.Steps != nil {
		steps := list{}
		for _, st := range s.Steps {
			steps = append(steps, st.hcl())
		}
		strategy := obj{"type": "RollingSync", "rolling_sync": obj{"steps": steps}}
		if s.Reverse {
			strategy["deletion_order"] = "Reverse"
		}
		spec["strategy"] = strategy
	}
	maps.Copy(spec, s.Spec)
	return spec
}

func (s *set) template() obj {
	labels := obj{"env": "{{.env}}"}
	maps.Copy(labels, s.Labels)
	source := s.Source
	if source == nil {
		source = obj{"repo_url": s.f.repo.URL(), "target_revision": "main", "path": "apps/{{.name}}"}
	}
	policy := s.SyncPolicy
	if policy == nil {
		policy = obj{"sync_options": []string{"CreateNamespace=true"}}
	}
	app := obj{
		"project":     "default",
		"source":      source,
		"destination": obj{"server": inClusterServer, "namespace": s.f.name},
		"sync_policy": policy,
	}
	maps.Copy(app, s.AppSpec)
	if _, ok := s.AppSpec["sources"]; ok {
		delete(app, "source")
	}
	return obj{"metadata": obj{"name": "{{.name}}", "labels": labels}, "spec": app}
}

func (s step) hcl() obj {
	match := s.Match
	if match == nil {
		match = list{obj{"key": "env", "operator": "In", "values": s.Envs}}
	}
	o := obj{"match_expressions": match}
	if s.MaxUpdate != nil {
		o["max_update"] = s.MaxUpdate
	}
	return o
}
