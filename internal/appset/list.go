package appset

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// ListGenerator gives one parameter set per element.
type ListGenerator struct {
	params []paramSet
	// unknown: the number of elements is not known yet.
	unknown bool
}

// decodeListGenerator reads a list generator with the rules of
// applicationset/generators/list.go, Argo CD 3.6.1: elements first, then those
// of elementsYaml.
func (s *Set) decodeListGenerator(v any, at Path, issues *Issues) Generator {
	if IsUnknown(v) {
		return Generator{Unknown: true}
	}
	out := &ListGenerator{}
	tree, ok := v.(map[string]any)
	if !ok {
		issues.fail(at, SummaryWrongType, fmt.Sprintf("%s must be an object, but is %s.", at, describe(v)))
		return Generator{List: out}
	}
	tree = camelKeys(tree, at, issues)
	for _, key := range sortedKeys(tree) {
		switch key {
		case "elements", "elementsYaml":
		case "template":
			issues.fail(at.With(key), SummaryUnsupportedField, fmt.Sprintf("%s is not supported: %s", at.With(key), notYet))
		default:
			issues.fail(at.With(key), SummaryUnknownField, fmt.Sprintf("%s has no field %q in Argo CD 3.6.%s", at, key, didYouMean(key, []string{"elements", "elementsYaml"})))
		}
	}
	if tree["elements"] == nil && tree["elementsYaml"] == nil {
		issues.fail(at.With("elements"), SummaryMissingField, fmt.Sprintf("%s is missing: it lists the parameters of every Application. An empty list is allowed.", at.With("elements")))
	}
	s.decodeElements(out, tree["elements"], at.With("elements"), issues)
	decodeElementsYAML(out, tree["elementsYaml"], at.With("elementsYaml"), issues)
	return Generator{List: out}
}

func (s *Set) decodeElements(out *ListGenerator, v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		out.unknown = true
		return
	}
	elements, ok := v.([]any)
	if !ok {
		if v != nil {
			issues.fail(at, SummaryWrongType, fmt.Sprintf("%s must be a list of objects, but is %s.", at, describe(v)))
		}
		return
	}
	for i, element := range elements {
		values, ok := s.elementParams(element, at.With(i), issues)
		if ok {
			out.params = append(out.params, paramSet{at: at.With(i)[1:], values: values})
		}
	}
}

// elementParams turns an element into parameters. With Go templates they are
// the element as JSON has it: every number is a float64. Without, they are
// strings, and those of values are called values.KEY.
func (s *Set) elementParams(element any, at Path, issues *Issues) (any, bool) {
	if IsUnknown(element) {
		return element, true
	}
	tree, ok := element.(map[string]any)
	if !ok {
		issues.fail(at, SummaryInvalidElement, fmt.Sprintf("%s must be an object, but is %s.", at, describe(element)))
		return nil, false
	}
	if s.GoTemplate || s.unknown {
		return asJSON(tree), true
	}
	out := make(map[string]any, len(tree))
	for _, key := range sortedKeys(tree) {
		if key != "values" || IsUnknown(tree[key]) {
			flatParam(out, key, tree[key], at.With(key), issues)
			continue
		}
		values, ok := tree[key].(map[string]any)
		if !ok {
			issues.fail(at.With(key), SummaryInvalidElement, fmt.Sprintf(
				"%s is %s: with goTemplate off, values must be an object of strings.", at.With(key), describe(tree[key])))
			continue
		}
		for _, name := range sortedKeys(values) {
			flatParam(out, "values."+name, values[name], at.With(key, name), issues)
		}
	}
	return out, true
}

func flatParam(out map[string]any, name string, v any, at Path, issues *Issues) {
	if _, ok := v.(string); ok || IsUnknown(v) {
		out[name] = v
		return
	}
	issues.fail(at, SummaryInvalidElement, fmt.Sprintf(
		"%s is %s: with goTemplate off, every parameter of a list element must be a string. Write it in quotes, or set goTemplate to true.", at, describe(v)))
}

// decodeElementsYAML appends the elements of a YAML text. They are used as they
// are: with goTemplate off, what is not a string cannot be referred to.
func decodeElementsYAML(out *ListGenerator, v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		out.unknown = true
		return
	}
	text, ok := v.(string)
	if !ok {
		if v != nil {
			issues.fail(at, SummaryWrongType, fmt.Sprintf("%s must be a string of YAML, but is %s.", at, describe(v)))
		}
		return
	}
	var elements []map[string]any
	if err := yaml.Unmarshal([]byte(text), &elements); err != nil {
		issues.fail(at, SummaryInvalidElement, fmt.Sprintf("%s must be a YAML list of objects: %s.", at, err))
		return
	}
	for i, element := range elements {
		if element == nil {
			issues.fail(at.With(i), SummaryInvalidElement, fmt.Sprintf("%s is null: every element must be an object.", at.With(i)))
			continue
		}
		out.params = append(out.params, paramSet{at: at.With(i)[1:], values: asJSON(element)})
	}
}

// asJSON copies a tree as it looks after a trip through JSON: numbers are float64.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = asJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = asJSON(e)
		}
		return out
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return v
}
