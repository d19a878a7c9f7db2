package appset

import (
	"fmt"
	"slices"
	"strings"
)

// generatorKinds are the kinds of Argo CD 3.6.
var generatorKinds = []string{
	"list", "clusters", "git", "scmProvider", "clusterDecisionResource",
	"pullRequest", "matrix", "merge", "plugin", "oci",
}

// paramSet is what one element gives to the template.
type paramSet struct {
	// at is the element, for messages: generators[0].list.elements[2].
	at Path
	// values is a map, or Unknown when nothing of the element is known.
	values any
}

func (s *Set) decodeGenerators(v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		s.Generators = []Generator{{Unknown: true}}
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
		if IsUnknown(entry) {
			s.Generators = append(s.Generators, Generator{Unknown: true})
			continue
		}
		tree, ok := entry.(map[string]any)
		if !ok {
			issues.fail(at.With(i), SummaryWrongType, fmt.Sprintf("%s must be an object, but is %s.", at.With(i), describe(entry)))
			continue
		}
		s.decodeGenerator(tree, at.With(i), issues)
	}
}

// decodeGenerator reads one entry. Argo CD allows several kinds in one entry;
// they follow each other in the order of its Go struct, which starts with list.
func (s *Set) decodeGenerator(tree map[string]any, at Path, issues *Issues) {
	tree = camelKeys(tree, at, issues)
	found := false
	for _, key := range sortedKeys(tree) {
		v := tree[key]
		if v == nil {
			continue
		}
		found = true
		switch {
		case key == "list":
			s.Generators = append(s.Generators, s.decodeListGenerator(v, at.With(key), issues))
		case key == "selector":
			issues.fail(at.With(key), SummaryUnsupportedField, fmt.Sprintf("%s is not supported: %s", at.With(key), notYet))
		case slices.Contains(generatorKinds, key):
			issues.fail(at.With(key), SummaryUnsupportedKind, fmt.Sprintf(
				"%s is a generator kind of Argo CD, but this version of the provider supports only the list generator.", at.With(key)))
		default:
			issues.fail(at.With(key), SummaryUnknownField, fmt.Sprintf("%s is not a generator kind of Argo CD 3.6.%s", at.With(key), didYouMean(key, generatorKinds)))
		}
	}
	if !found {
		issues.fail(at, SummaryMissingField, fmt.Sprintf("%s holds no generator. Give list.", at))
	}
}

// camelKeys renames snake_case keys of a structural object.
func camelKeys(m map[string]any, at Path, issues *Issues) map[string]any {
	out := make(map[string]any, len(m))
	for _, key := range sortedKeys(m) {
		camel := camelCase(key)
		if _, twice := out[camel]; twice && m[key] != nil {
			issues.fail(at.With(camel), SummaryUnknownField, fmt.Sprintf("%s is given twice, in both spellings.", at.With(camel)))
			continue
		}
		if m[key] != nil {
			out[camel] = m[key]
		}
	}
	return out
}

func camelCase(key string) string {
	if key == "repo_url" {
		return "repoURL"
	}
	parts := strings.Split(key, "_")
	for i, part := range parts {
		if i > 0 && part != "" {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}
