package appset

import (
	"fmt"
	"slices"
	"strings"
)

// generatorKinds are the kinds of Argo CD 3.6, in the order of its Go struct: those of one entry
// follow each other so (GetRelevantGenerators in applicationset/generators, Argo CD 3.6.1).
var generatorKinds = []string{
	"list", "clusters", "git", "scmProvider", "clusterDecisionResource",
	"pullRequest", "matrix", "merge", "plugin", "oci",
}

// unsupportedKinds say why a kind of Argo CD is refused.
var unsupportedKinds = map[string]string{
	"scmProvider": "it lists the repositories of a source code host",
	"pullRequest": "its Applications come and go with pull requests",
}

// Generator is one entry of spec.generators, or one child of matrix or merge.
type Generator struct {
	at Path
	// unknown is true when Terraform does not know yet what stands here.
	unknown bool
	// entry is the whole entry, checked, in the spelling of the CRD.
	entry    map[string]any
	parts    []part
	selector paramSelector
	// deferred: the entry is, or is in, the second child of a matrix and holds "{{". Its parts can be
	// made only when the parameters of the first child are in their place.
	deferred bool
}

// part is one generator kind of an entry.
type part struct {
	source source
	// template overrides fields of spec.template; nil when there is none.
	template map[string]any
}

// source gives parameter sets.
type source interface {
	// params returns false when they cannot be known (yet), or after an error.
	params(e *evaluation) ([]paramSet, bool)
	// pure: nothing outside of the set is asked.
	pure() bool
}

// paramSet is what one element gives to the template.
type paramSet struct {
	// at tells where it comes from, for messages: generators[0].list.elements[2].
	at fmt.Stringer
	// values is a map, or Unknown when nothing of the element is known. With goTemplate off it is
	// flat, and what is not a string cannot be used.
	values any
	// template is that of the set, changed by the one of the generator; nil for that of the set.
	template map[string]any
}

// with is where a parameter set comes from that several generators have made together.
type with []fmt.Stringer

func (w with) String() string {
	parts := make([]string, len(w))
	for i, part := range w {
		parts[i] = part.String()
	}
	return strings.Join(parts, " with ")
}

// named is an element that has a name rather than an index.
type named struct {
	at         Path
	kind, name string
}

func (n named) String() string { return fmt.Sprintf("%s (%s %s)", n.at, n.kind, quoteShort(n.name)) }

// unknownSource stands for a generator of which something is not known yet.
type unknownSource struct{}

func (unknownSource) params(*evaluation) ([]paramSet, bool) { return nil, false }
func (unknownSource) pure() bool                            { return true }

func (s *Set) decodeGenerators(v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		s.Generators = []Generator{{unknown: true}}
		return
	}
	if v == nil {
		issues.fail(at, SummaryMissingField, "spec.generators is missing: it says which Applications there are.")
		return
	}
	entries, ok := v.([]any)
	if !ok {
		issues.fail(at, SummaryWrongType, fmt.Sprintf("%s must be a list, but is %s.", at, describe(v)))
		return
	}
	for i, entry := range entries {
		checked := checkGenerator(entry, at.With(i), 0, issues)
		s.Generators = append(s.Generators, s.buildGenerator(checked, at.With(i), false, issues))
	}
}

// buildGenerator makes a checked entry ready to be evaluated. In a templated one, "{{" stands for
// parameters of another generator that are not there yet.
func (s *Set) buildGenerator(checked any, at Path, templated bool, issues *Issues) Generator {
	entry, ok := checked.(map[string]any)
	if !ok {
		return Generator{at: at, unknown: true}
	}
	g := Generator{at: at, entry: entry}
	g.selector = decodeParamSelector(entry["selector"], at.With("selector"), issues)
	if templated && entryHoldsTag(entry) {
		g.deferred = true
		if !s.unknown {
			s.checkEntryTemplates(at, entry, issues)
		}
		return g
	}
	for _, kind := range generatorKinds {
		switch v := entry[kind].(type) {
		case nil:
		case map[string]any:
			g.parts = append(g.parts, s.buildPart(kind, v, at.With(kind), issues))
		default:
			g.parts = append(g.parts, part{source: unknownSource{}})
		}
	}
	return g
}

func (s *Set) buildPart(kind string, tree map[string]any, at Path, issues *Issues) part {
	out := part{}
	switch template := tree["template"].(type) {
	case map[string]any:
		out.template = template
		if !s.unknown {
			s.checkTemplates(at.With("template"), template, issues)
		}
	case unknown:
		return part{source: unknownSource{}}
	}
	switch kind {
	case "list":
		out.source = s.buildList(tree, at, issues)
	case "clusters":
		out.source = s.buildClusters(tree, at, issues)
	case "git", "oci":
		out.source = s.buildGit(kind, tree, at, issues)
	case "clusterDecisionResource":
		out.source = s.buildDecisions(tree, at, issues)
	case "plugin":
		out.source = s.buildPlugin(tree, at, issues)
	case "matrix":
		out.source = s.buildMatrix(tree, at, issues)
	case "merge":
		out.source = s.buildMerge(tree, at, issues)
	}
	return out
}

// buildChildren makes the children of matrix or merge; from the given index on they are templated.
func (s *Set) buildChildren(tree map[string]any, at Path, templatedFrom int, issues *Issues) []Generator {
	entries, _ := tree["generators"].([]any)
	out := make([]Generator, len(entries))
	for i, entry := range entries {
		out[i] = s.buildGenerator(entry, at.With("generators", i), i >= templatedFrom, issues)
	}
	return out
}

// checkEntryTemplates parses the templates of an entry that is rendered as a whole, but for its selector.
func (s *Set) checkEntryTemplates(at Path, entry map[string]any, issues *Issues) {
	for _, key := range sortedKeys(entry) {
		if key != "selector" {
			s.checkTemplates(at.With(key), entry[key], issues)
		}
	}
}

func entryHoldsTag(entry map[string]any) bool {
	for key, v := range entry {
		if key != "selector" && holdsTag(v) {
			return true
		}
	}
	return false
}

// holdsTag reports whether any text or key of a tree could change when it is rendered.
func holdsTag(v any) bool {
	switch v := v.(type) {
	case string:
		return isTemplated(v)
	case map[string]any:
		for key, e := range v {
			if isTemplated(key) || holdsTag(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsTag)
	}
	return false
}

// pureGenerator reports whether nothing in the entry asks the world outside.
func pureGenerator(g Generator) bool {
	if g.deferred {
		return pureEntry(g.entry)
	}
	return !slices.ContainsFunc(g.parts, func(p part) bool { return !p.source.pure() })
}

// pureEntry is pureGenerator for an entry whose parts are not made yet.
func pureEntry(entry map[string]any) bool {
	for _, kind := range []string{"clusters", "git", "oci", "plugin", "clusterDecisionResource"} {
		if entry[kind] != nil {
			return false
		}
	}
	for _, kind := range []string{"matrix", "merge"} {
		tree, _ := entry[kind].(map[string]any)
		children, _ := tree["generators"].([]any)
		for _, child := range children {
			if m, ok := child.(map[string]any); ok && !pureEntry(m) {
				return false
			}
		}
	}
	return true
}
