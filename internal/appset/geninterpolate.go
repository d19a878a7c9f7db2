package appset

import (
	"fmt"
	"strings"
)

// interpolate puts the parameters of the first generator of a matrix into the second: into every
// text and every key, but not into its own selector, and into values only as far as they are there
// (RenderGeneratorParams in applicationset/utils, Argo CD 3.6.1). What is wrong is reported.
func (e *evaluation) interpolate(entry map[string]any, at Path) map[string]any {
	out := e.interpolateEntry(entry, at)
	if selector, given := entry["selector"]; given {
		out["selector"] = selector
	}
	return out
}

func (e *evaluation) interpolateEntry(entry map[string]any, at Path) map[string]any {
	out := make(map[string]any, len(entry))
	for _, kind := range sortedKeys(entry) {
		tree, ok := entry[kind].(map[string]any)
		switch {
		case !ok:
			out[kind] = entry[kind]
		case kind == "selector":
			out[kind] = e.interpolateTree(tree, at.With(kind))
		default:
			out[kind] = e.interpolateKind(kind, tree, at.With(kind))
		}
	}
	return out
}

func (e *evaluation) interpolateKind(kind string, tree map[string]any, at Path) map[string]any {
	out := make(map[string]any, len(tree))
	for _, key := range sortedKeys(tree) {
		v := tree[key]
		values, isMap := v.(map[string]any)
		children, isList := v.([]any)
		switch {
		case key == "values" && isMap && kind != "list":
			out[key] = e.interpolateValues(values, at.With(key))
		case key == "generators" && isList:
			rendered := make([]any, len(children))
			for i, child := range children {
				rendered[i] = child
				if entry, ok := child.(map[string]any); ok {
					rendered[i] = e.interpolateEntry(entry, at.With(key, i))
				}
			}
			out[key] = rendered
		default:
			out[key] = e.interpolateTree(v, at.With(key))
		}
	}
	return out
}

func (e *evaluation) interpolateValues(values map[string]any, at Path) map[string]any {
	out := make(map[string]any, len(values))
	for _, key := range sortedKeys(values) {
		text, ok := values[key].(string)
		if !ok {
			out[key] = values[key]
			continue
		}
		resolved, err := e.texts.preResolve(text, e.outer.values)
		if err != nil {
			e.fail(at.With(key), SummaryRenderFailed, "the template %s failed: %s.", quoteShort(text), err)
			continue
		}
		if result, _ := resolved.(string); e.bear(len(result), at.With(key)) {
			out[key] = resolved
		}
	}
	return out
}

// interpolateTree renders all texts and keys of a tree.
func (e *evaluation) interpolateTree(v any, at Path) any {
	if !holdsTag(v) {
		return v
	}
	switch v := v.(type) {
	case string:
		return e.interpolateText(v, at)
	case map[string]any:
		return e.interpolateMap(v, at)
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = e.interpolateTree(element, at.With(i))
		}
		return out
	}
	return v
}

func (e *evaluation) interpolateMap(m map[string]any, at Path) any {
	out := make(map[string]any, len(m))
	for _, key := range sortedKeys(m) {
		value := e.interpolateTree(m[key], at.With(key))
		rendered := e.interpolateText(key, at.With(key))
		name, known := rendered.(string)
		if !known {
			return Unknown
		}
		if _, twice := out[name]; twice {
			e.fail(at.With(key), SummaryRenderFailed, "two keys of %s render to %q; Argo CD would pick one at random.", at, name)
		}
		out[name] = value
	}
	return out
}

// interpolateText returns a string or Unknown; after an error as well.
func (e *evaluation) interpolateText(text string, at Path) any {
	out, err := e.texts.render(text, e.outer.values)
	if err != nil {
		e.fail(at, SummaryRenderFailed, "the template %s failed: %s.", quoteShort(text), err)
		return Unknown
	}
	result, ok := out.(string)
	if !e.bear(len(result), at) {
		return Unknown
	}
	if ok && strings.Contains(result, noValue) {
		e.fail(at, SummaryLeftover, "the template %s renders to %s: something in it has no value.", quoteShort(text), quoteShort(result))
		return Unknown
	}
	return out
}

// literal is a text of a question. It returns false when that is not known yet. A text that still
// holds "{{" is an error: Argo CD would take it as it is, and find nothing.
func literal(v any, at Path, issues *Issues) (string, bool) {
	text, known := v.(string)
	if !known {
		return "", v == nil
	}
	if isTemplated(text) {
		issues.fail(at, SummaryLeftover, fmt.Sprintf(
			"%s is %s, which still holds \"{{\": in generators, only the second one of a matrix is rendered, with the parameters of the first.", at, quoteShort(text)))
		return "", false
	}
	return text, true
}
