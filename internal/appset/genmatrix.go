package appset

import "fmt"

// matrixSource gives every combination of the sets of two generators. The second one may refer to
// the parameters of the first.
type matrixSource struct {
	at            Path
	first, second Generator
}

func (m *matrixSource) pure() bool { return pureGenerator(m.first) && pureGenerator(m.second) }

func (s *Set) buildMatrix(tree map[string]any, at Path, issues *Issues) source {
	children := s.buildChildren(tree, at, 1, issues)
	if len(children) != 2 {
		return unknownSource{}
	}
	return &matrixSource{at: at, first: children[0], second: children[1]}
}

// params follows MatrixGenerator.GenerateParams in applicationset/generators/matrix.go, Argo CD 3.6.1:
// without parameters of the first there is nothing to combine, and the second is not asked.
func (m *matrixSource) params(e *evaluation) ([]paramSet, bool) {
	first, ok := e.generate(m.first)
	if !ok || len(first) == 0 {
		return nil, ok
	}
	var second []paramSet
	if !m.second.deferred {
		if second, ok = e.generate(m.second); !ok || !e.fits(len(first)*len(second), m.at) {
			return nil, false
		}
		second = m.prepare(e, second)
	}
	out := make([]paramSet, 0, len(first)*len(second))
	known := true
	for i, a := range m.prepare(e, first) {
		if m.second.deferred {
			if second, ok = e.generateWith(m.second, first[i]); !ok {
				if known = false; len(e.issues) > maxIssues {
					break
				}
				continue
			}
			second = m.prepare(e, second)
		}
		if !e.fits(len(out)+len(second), m.at) {
			return nil, false
		}
		for _, b := range second {
			combined, ok := m.combine(e, a, b)
			values, _ := combined.values.(map[string]any)
			if !e.bear(valueWeight*len(values), m.at) {
				return nil, false
			}
			known = known && ok
			out = append(out, combined)
		}
	}
	return out, known
}

// prepare makes texts of all parameters with goTemplate off, as Argo CD does when it combines them.
func (m *matrixSource) prepare(e *evaluation, sets []paramSet) []paramSet {
	if e.set.GoTemplate {
		return sets
	}
	out := make([]paramSet, len(sets))
	for i, set := range sets {
		out[i] = set
		values, ok := set.values.(map[string]any)
		if !ok {
			continue
		}
		flat := make(map[string]any, len(values))
		for key, v := range values {
			flat[key] = flatText(v)
		}
		out[i].values = flat
	}
	return out
}

// flatText is a parameter as a text, or Unknown when it depends on anything Unknown.
func flatText(v any) any {
	if text, ok := v.(string); ok {
		return text
	}
	if ContainsUnknown(v) {
		return Unknown
	}
	return fmt.Sprintf("%v", v)
}

// combine lets the first set override the second with Go templates; without, they must not
// contradict each other (CombineStringMaps in applicationset/utils, Argo CD 3.6.1).
func (m *matrixSource) combine(e *evaluation, a, b paramSet) (paramSet, bool) {
	out := paramSet{at: with{a.at, b.at}, values: Unknown}
	first, firstKnown := a.values.(map[string]any)
	second, secondKnown := b.values.(map[string]any)
	if !firstKnown || !secondKnown {
		return out, true
	}
	if e.set.GoTemplate {
		merged, err := mergeParams(second, first)
		if err != nil {
			e.fail(m.at, SummaryGeneratorFailed, "%s: %s.", out.at, err)
			return out, false
		}
		out.values = merged
		return out, true
	}
	merged := make(map[string]any, len(first)+len(second))
	for key, v := range first {
		merged[key] = v
	}
	for key, v := range second {
		other, twice := merged[key]
		switch {
		case twice && (IsUnknown(v) || IsUnknown(other)):
			merged[key] = Unknown
		case twice && v != other:
			e.fail(m.at, SummaryGeneratorFailed, "%s: both generators have the parameter %q, with different values. With goTemplate off, Argo CD cannot choose: rename one of them, or set goTemplate to true.", out.at, key)
			return out, false
		default:
			merged[key] = v
		}
	}
	out.values = merged
	return out, true
}
