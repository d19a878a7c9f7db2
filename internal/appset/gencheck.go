package appset

import (
	"fmt"
	"slices"
	"strings"
)

// The fields of generators as in pkg/apis/application/v1alpha1/applicationset_types.go of Argo CD
// 3.6.1. requeueAfterSeconds says how often Argo CD looks again; it is accepted, and has no meaning
// where a plan looks whenever it is made.

var labelSelectorShape = object(fields{
	// Left out, a label that is null would widen the selector to every cluster.
	"matchLabels": mapOf(text()).withoutNulls(),
	"matchExpressions": list(object(fields{
		"key": text(), "operator": text(), "values": list(text()),
	}).requires("key", "operator")),
})

// repositoryShape is that of a generator for directories and files.
func repositoryShape(required ...string) *shape {
	items := func() *shape {
		return list(object(fields{"path": text(), "exclude": boolean().noTemplate()}).requires("path"))
	}
	return object(fields{
		"repoURL": text(), "revision": text(), "directories": items(), "files": items(), "pathParamPrefix": text(),
		"requeueAfterSeconds": integer().noTemplate(), "values": mapOf(text()), "template": templateShape,
	}).requires(required...)
}

// generatorShapes are those of the supported kinds. What list holds is checked by decodeElements.
var generatorShapes = map[string]*shape{
	"list": object(fields{"template": templateShape}),
	"clusters": object(fields{
		"selector": labelSelectorShape, "values": mapOf(text()), "flatList": boolean().noTemplate(), "template": templateShape,
	}),
	"git": repositoryShape("repoURL"),
	"oci": repositoryShape("repoURL", "revision"),
	"plugin": object(fields{
		"configMapRef": object(fields{"name": text()}).requires("name"), "input": object(fields{"parameters": free()}),
		"requeueAfterSeconds": integer().noTemplate(), "values": mapOf(text()), "template": templateShape,
	}).requires("configMapRef"),
	"clusterDecisionResource": object(fields{
		"configMapRef": text(), "name": text(), "labelSelector": labelSelectorShape,
		"requeueAfterSeconds": integer().noTemplate(), "values": mapOf(text()), "template": templateShape,
	}).requires("configMapRef"),
	"matrix": object(fields{"generators": free(), "template": templateShape}).requires("generators"),
	"merge":  object(fields{"generators": free(), "mergeKeys": list(text()), "template": templateShape}).requires("generators", "mergeKeys"),
}

// maxNesting: a matrix or merge may stand in a matrix or merge, which stands in spec.generators.
const maxNesting = 1

// checkGenerator checks the structure of an entry and returns a copy in the spelling of the CRD:
// user data is as it was. level is how deep in matrix and merge it stands.
func checkGenerator(v any, at Path, level int, issues *Issues) any {
	if IsUnknown(v) {
		return v
	}
	tree, ok := v.(map[string]any)
	if !ok {
		issues.fail(at, SummaryWrongType, fmt.Sprintf("%s must be an object, but is %s.", at, describe(v)))
		return nil
	}
	tree = camelKeys(tree, at, issues)
	out := make(map[string]any, len(tree))
	var kinds []string
	for _, key := range sortedKeys(tree) {
		v, place := tree[key], at.With(key)
		why, unsupported := unsupportedKinds[key]
		switch {
		case key == "selector":
			out[key] = labelSelectorShape.check(place, labelSelectorShape.camel(v, place, issues), issues)
			continue
		case unsupported:
			issues.fail(place, SummaryUnsupportedKind, fmt.Sprintf(
				"%s is a generator kind of Argo CD that this provider does not support: %s.", place, why))
		case generatorShapes[key] != nil:
			out[key] = checkKind(key, v, place, level, issues)
		default:
			issues.fail(place, SummaryUnknownField, fmt.Sprintf("%s is not a generator kind of Argo CD 3.6.%s", place, didYouMean(key, append([]string{"selector"}, generatorKinds...))))
		}
		kinds = append(kinds, key)
	}
	switch {
	case len(kinds) == 0:
		issues.fail(at, SummaryMissingField, fmt.Sprintf("%s holds no generator. Give one, for instance list.", at))
	case len(kinds) > 1 && level > 0:
		issues.fail(at, SummaryInvalidGenerator, fmt.Sprintf("%s holds several generators: %s. Inside of matrix and merge, Argo CD wants exactly one in each entry.", at, strings.Join(kinds, ", ")))
	}
	return out
}

// checkKind checks what stands under the name of a kind.
func checkKind(kind string, v any, at Path, level int, issues *Issues) any {
	tree, ok := v.(map[string]any)
	if !ok {
		if !IsUnknown(v) {
			issues.fail(at, SummaryWrongType, fmt.Sprintf("%s must be an object, but is %s.", at, describe(v)))
			return nil
		}
		return v
	}
	var elements, elementsYAML any
	if kind == "list" {
		tree = camelKeys(tree, at, issues)
		elements, elementsYAML = tree["elements"], tree["elementsYaml"]
		delete(tree, "elements")
		delete(tree, "elementsYaml")
	}
	before := len(*issues)
	out, _ := checkShape(kind, tree, at, issues).(map[string]any)
	if template, given := out["template"]; given && emptyTemplate(template) {
		delete(out, "template")
	} else if given && level > 0 {
		issues.fail(at.With("template"), SummaryUnsupportedField, fmt.Sprintf(
			"%s is not supported: Argo CD ignores the template of a generator inside of matrix or merge. Remove it, or give it to the generator outside.", at.With("template")))
	}
	switch {
	case kind == "list":
		checkList(out, elements, elementsYAML, at, issues)
	case (kind == "matrix" || kind == "merge") && out["generators"] != nil:
		checkCombination(kind, out, at, level, issues)
	}
	if len(*issues) > before && kind != "list" {
		return nil
	}
	return out
}

func checkShape(kind string, tree map[string]any, at Path, issues *Issues) any {
	s := generatorShapes[kind]
	if kind != "list" {
		return s.check(at, s.camel(tree, at, issues), issues)
	}
	// The fields that are checked elsewhere are named in the error for another one all the same.
	for _, key := range sortedKeys(tree) {
		if s.fields[key] == nil {
			issues.fail(at.With(key), SummaryUnknownField, fmt.Sprintf("%s has no field %q in Argo CD 3.6.%s", at, key, didYouMean(key, []string{"elements", "elementsYaml", "template"})))
			delete(tree, key)
		}
	}
	return s.check(at, s.camel(tree, at, issues), issues)
}

func checkList(out map[string]any, elements, elementsYAML any, at Path, issues *Issues) {
	if elements == nil && elementsYAML == nil {
		issues.fail(at.With("elements"), SummaryMissingField, fmt.Sprintf("%s is missing: it lists the parameters of every Application. An empty list is allowed.", at.With("elements")))
	}
	switch elementsYAML.(type) {
	case nil:
	case string, unknown:
		out["elementsYaml"] = elementsYAML
	default:
		issues.fail(at.With("elementsYaml"), SummaryWrongType, fmt.Sprintf("%s must be a string of YAML, but is %s.", at.With("elementsYaml"), describe(elementsYAML)))
	}
	switch elements := elements.(type) {
	case nil:
	case []any, unknown:
		out["elements"] = elements
	default:
		issues.fail(at.With("elements"), SummaryWrongType, fmt.Sprintf("%s must be a list of objects, but is %s.", at.With("elements"), describe(elements)))
	}
}

// checkCombination checks the children of matrix and merge.
func checkCombination(kind string, out map[string]any, at Path, level int, issues *Issues) {
	if level > maxNesting {
		issues.fail(at, SummaryInvalidGenerator, fmt.Sprintf("%s is nested too deep: in Argo CD, matrix and merge may stand inside of one other matrix or merge, not of two.", at))
		return
	}
	place := at.With("generators")
	children, ok := out["generators"].([]any)
	if !ok {
		if !IsUnknown(out["generators"]) {
			issues.fail(place, SummaryWrongType, fmt.Sprintf("%s must be a list, but is %s.", place, describe(out["generators"])))
		}
		return
	}
	if kind == "matrix" && len(children) != 2 {
		issues.fail(place, SummaryInvalidGenerator, fmt.Sprintf("%s holds %d generators: a matrix is made of exactly two.", place, len(children)))
	}
	if kind == "merge" && len(children) < 2 {
		issues.fail(place, SummaryInvalidGenerator, fmt.Sprintf("%s holds %d generators: merge needs at least two.", place, len(children)))
	}
	if keys, ok := out["mergeKeys"].([]any); ok && len(keys) == 0 {
		issues.fail(at.With("mergeKeys"), SummaryInvalidGenerator, fmt.Sprintf("%s is empty: merge needs at least one parameter by which sets belong together.", at.With("mergeKeys")))
	}
	checked := make([]any, len(children))
	for i, child := range children {
		checked[i] = checkGenerator(child, place.With(i), level+1, issues)
	}
	out["generators"] = checked
}

// emptyTemplate reports a template that Argo CD itself writes where there is none. Any further field
// counts, even an empty one: syncPolicy: {} is not the same as no syncPolicy.
func emptyTemplate(v any) bool {
	template, ok := v.(map[string]any)
	if !ok {
		return emptyTree(v)
	}
	spec, _ := template["spec"].(map[string]any)
	for key := range spec {
		if key != "project" && key != "destination" {
			return false
		}
	}
	return emptyTree(v)
}

// emptyTree reports whether a tree says nothing.
func emptyTree(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for _, e := range v {
			if !emptyTree(e) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !emptyTree(e) })
	}
	return false
}

// camel returns a tree whose structural keys are in camelCase, whichever of the spellings they had.
func (s *shape) camel(v any, at Path, issues *Issues) any {
	switch s.kind {
	case kindObject:
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		m = camelKeys(m, at, issues)
		for key, e := range m {
			if field := s.fields[key]; field != nil {
				m[key] = field.camel(e, at.With(key), issues)
			}
		}
		return m
	case kindList:
		l, ok := v.([]any)
		if !ok {
			return v
		}
		out := make([]any, len(l))
		for i, e := range l {
			out[i] = s.elem.camel(e, at.With(i), issues)
		}
		return out
	}
	return v
}

// camelKeys renames snake_case keys of a structural object. What is null is left out.
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
