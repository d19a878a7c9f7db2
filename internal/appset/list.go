package appset

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// listSource gives one parameter set per element.
type listSource struct {
	sets []paramSet
	// weight is that of elementsYaml.
	weight int
	at     Path
	// unknown: the number of elements is not known yet.
	unknown bool
}

func (l *listSource) pure() bool { return true }

func (l *listSource) params(e *evaluation) ([]paramSet, bool) {
	return l.sets, !l.unknown && e.bear(l.weight, l.at)
}

// buildList reads a list generator with the rules of applicationset/generators/list.go, Argo CD
// 3.6.1: elements first, then those of elementsYaml.
func (s *Set) buildList(tree map[string]any, at Path, issues *Issues) source {
	out := &listSource{at: at}
	s.buildElements(out, tree["elements"], at.With("elements"), issues)
	buildElementsYAML(out, tree["elementsYaml"], at.With("elementsYaml"), issues)
	return out
}

func (s *Set) buildElements(out *listSource, v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		out.unknown = true
		return
	}
	elements, _ := v.([]any)
	for i, element := range elements {
		values, ok := s.elementParams(element, at.With(i), issues)
		if ok {
			out.sets = append(out.sets, paramSet{at: at.With(i)[1:], values: values})
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

// buildElementsYAML appends the elements of a YAML text. They are used as they
// are: with goTemplate off, what is not a string cannot be referred to.
func buildElementsYAML(out *listSource, v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		out.unknown = true
		return
	}
	text, _ := v.(string)
	if text == "" {
		return
	}
	var elements []map[string]any
	var err error
	if out.weight, err = weighYAML([]byte(text)); err == nil {
		err = yaml.Unmarshal([]byte(text), &elements)
	}
	if err != nil {
		issues.fail(at, SummaryInvalidElement, fmt.Sprintf("%s must be a YAML list of objects: %s.", at, err))
		return
	}
	for i, element := range elements {
		if element == nil {
			issues.fail(at.With(i), SummaryInvalidElement, fmt.Sprintf("%s is null: every element must be an object.", at.With(i)))
			continue
		}
		out.sets = append(out.sets, paramSet{at: at.With(i)[1:], values: asJSON(element)})
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
