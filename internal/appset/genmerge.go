package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
)

// mergeSource gives the sets of its first child, changed by those of the others that have the same
// values of the merge keys.
type mergeSource struct {
	at       Path
	children []Generator
	keys     []string
}

func (m *mergeSource) pure() bool {
	for _, child := range m.children {
		if !pureGenerator(child) {
			return false
		}
	}
	return true
}

func (s *Set) buildMerge(tree map[string]any, at Path, issues *Issues) source {
	m := &mergeSource{at: at, children: s.buildChildren(tree, at, math.MaxInt, issues)}
	keys, known := tree["mergeKeys"].([]any)
	for i, key := range keys {
		text, ok := literal(key, at.With("mergeKeys", i), issues)
		known = known && ok
		m.keys = append(m.keys, text)
	}
	if !known || len(m.children) == 0 {
		return unknownSource{}
	}
	return m
}

// params follows MergeGenerator.GenerateParams in applicationset/generators/merge.go, Argo CD 3.6.1,
// but for the order: there it is random, here it is that of the first child.
func (m *mergeSource) params(e *evaluation) ([]paramSet, bool) {
	all := make([][]paramSet, len(m.children))
	known := true
	for i, child := range m.children {
		sets, ok := e.generate(child)
		all[i], known = sets, known && ok
	}
	if !known {
		return nil, false
	}
	var base []paramSet
	var baseKeys []string
	for i, sets := range all {
		keys, byKey, ok := m.byKey(e, sets)
		if !ok {
			return nil, false
		}
		if i == 0 {
			base, baseKeys = append(base, sets...), keys
			continue
		}
		for j, key := range baseKeys {
			if k, found := byKey[key]; found {
				known = m.override(e, &base[j], sets[k]) && known
			}
		}
	}
	return base, known
}

// byKey returns the key of every set, and the sets by key: no two may have the same.
func (m *mergeSource) byKey(e *evaluation, sets []paramSet) ([]string, map[string]int, bool) {
	keys, byKey := make([]string, len(sets)), make(map[string]int, len(sets))
	for i, set := range sets {
		values, ok := set.values.(map[string]any)
		if !ok {
			return nil, nil, false
		}
		picked := make(map[string]any, len(m.keys))
		missing := ""
		for _, key := range m.keys {
			if picked[key] = values[key]; values[key] == nil {
				missing = key
			}
		}
		if ContainsUnknown(picked) {
			return nil, nil, false
		}
		text, err := json.Marshal(picked)
		if err != nil {
			e.fail(m.at, SummaryGeneratorFailed, "%s: the merge keys cannot be compared: %s.", set.at, err)
			return nil, nil, false
		}
		keys[i] = string(text)
		if other, twice := byKey[keys[i]]; twice {
			hint := ""
			if missing != "" {
				hint = fmt.Sprintf(" Neither has the parameter %q.", missing)
				if e.set.GoTemplate {
					hint += " With goTemplate, merge keys are parameters at the top, not paths into them."
				}
			}
			e.fail(m.at.With("mergeKeys"), SummaryGeneratorFailed, "%s and %s of one generator have the same merge keys; they must be unique.%s", sets[other].at, set.at, hint)
			return nil, nil, false
		}
		byKey[keys[i]] = i
	}
	return keys, byKey, true
}

// override changes base: deeply with Go templates, else parameter by parameter.
func (m *mergeSource) override(e *evaluation, base *paramSet, other paramSet) bool {
	base.at = with{base.at, other.at}
	first, second := base.values.(map[string]any), other.values.(map[string]any)
	if !e.set.GoTemplate {
		merged := maps.Clone(first)
		maps.Copy(merged, second)
		base.values = merged
		return true
	}
	merged, err := mergeParams(first, second)
	if err != nil {
		e.fail(m.at, SummaryGeneratorFailed, "%s: %s.", base.at, err)
		return false
	}
	base.values = merged
	return true
}

// mergeParams returns under with over merged into it, as mergo v1.0.2 does with WithOverride: objects
// are merged deeply, whatever else is replaced, by an empty value too. Neither is changed.
func mergeParams(under, over map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(under)+len(over))
	maps.Copy(out, under)
	for key, v := range over {
		merged, err := mergeParam(out[key], v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = merged
	}
	return out, nil
}

func mergeParam(under, over any) (any, error) {
	switch {
	case !isObject(over):
		return over, nil
	case IsUnknown(under):
		return Unknown, nil // it may turn out to be an object that is merged with this one
	case !isObject(under), len(asTree(under)) == 0 && len(asTree(over)) == 0:
		return over, nil
	}
	if u, ok := under.(map[string]any); ok {
		return mergeParams(u, asTree(over))
	}
	texts, ok := over.(map[string]string)
	if !ok && len(asTree(over)) > 0 {
		return nil, errors.New("in one generator it holds texts only, as values, labels and annotations do, and cannot take what the other has; Argo CD panics there")
	}
	out := maps.Clone(under.(map[string]string))
	maps.Copy(out, texts)
	return out, nil
}

func isObject(v any) bool {
	switch v.(type) {
	case map[string]any, map[string]string:
		return true
	}
	return false
}

// asTree is any object as map[string]any.
func asTree(v any) map[string]any {
	texts, ok := v.(map[string]string)
	if !ok {
		tree, _ := v.(map[string]any)
		return tree
	}
	out := make(map[string]any, len(texts))
	for key, text := range texts {
		out[key] = text
	}
	return out
}
