package appset

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type kind int

const (
	kindText kind = iota
	kindBool
	kindInt
	kindIntOrText
	kindObject
	kindList
	kindMap
	kindFree
)

// shape is what the CRD says about one place of a tree: which kind of value
// stands there, and whether its zero value says something (a pointer field of
// Argo CD's Go structs) or is the same as absent (omitempty).
type shape struct {
	kind kind
	// fields of an object; refused says of fields that a patch could set why it must not.
	fields  fields
	refused map[string]string
	// elem is the shape of what a list or map holds.
	elem *shape
	// required fields of an object.
	required []string
	// keepZero: the zero value is not the same as absent.
	keepZero bool
	// literal: a template makes no sense here.
	literal bool
	// noNulls: a key of a map that has no value is a mistake; without it, the map would mean something else.
	noNulls bool
}

type fields map[string]*shape

func text() *shape                  { return &shape{kind: kindText} }
func boolean() *shape               { return &shape{kind: kindBool} }
func integer() *shape               { return &shape{kind: kindInt} }
func intOrText() *shape             { return &shape{kind: kindIntOrText} }
func free() *shape                  { return &shape{kind: kindFree} }
func object(f fields) *shape        { return &shape{kind: kindObject, fields: f} }
func list(elem *shape) *shape       { return &shape{kind: kindList, elem: elem} }
func mapOf(elem *shape) *shape      { return &shape{kind: kindMap, elem: elem} }
func (s *shape) withZero() *shape   { s.keepZero = true; return s }
func (s *shape) noTemplate() *shape { s.literal = true; return s }
func (s *shape) withoutNulls() *shape {
	s.noNulls = true
	return s
}

func (s *shape) requires(names ...string) *shape {
	s.required = names
	return s
}

func (s *shape) refusing(refused map[string]string) *shape {
	s.refused = refused
	return s
}

func (s *shape) String() string {
	switch s.kind {
	case kindText:
		return "a string"
	case kindBool:
		return "a bool"
	case kindInt:
		return "an integer"
	case kindIntOrText:
		return "an integer or a string"
	case kindList:
		return "a list"
	}
	return "an object"
}

// isTemplated reports whether a text could change when it is rendered.
func isTemplated(text string) bool { return strings.Contains(text, "{{") }

// check compares a tree with the shape and returns a copy in which nulls are
// gone, integers are int64, and a text that stands for a bool or an integer is
// one. A template string is let through in such a field: what it renders to is
// parsed after rendering. Unknown is allowed everywhere.
func (s *shape) check(path Path, v any, issues *Issues) any {
	if IsUnknown(v) {
		return v
	}
	switch s.kind {
	case kindObject:
		if m, ok := v.(map[string]any); ok {
			return s.checkObject(path, m, issues)
		}
	case kindMap:
		if m, ok := v.(map[string]any); ok {
			out := make(map[string]any, len(m))
			for _, key := range sortedKeys(m) {
				if m[key] != nil || s.noNulls {
					out[key] = s.elem.check(path.With(key), m[key], issues)
				}
			}
			return out
		}
	case kindList:
		if l, ok := v.([]any); ok {
			out := make([]any, len(l))
			for i, e := range l {
				out[i] = s.elem.check(path.With(i), e, issues)
			}
			return out
		}
	case kindFree:
		return checkFree(path, v, issues)
	default:
		if leaf, ok := s.leaf(v); ok {
			return leaf
		}
	}
	issues.fail(path, SummaryWrongType, fmt.Sprintf("%s must be %s, but is %s.%s", path, s, describe(v), s.typeHint(v)))
	return nil
}

func (s *shape) checkObject(path Path, m map[string]any, issues *Issues) map[string]any {
	out := make(map[string]any, len(m))
	for _, key := range sortedKeys(m) {
		field, known := s.fields[key]
		switch {
		case !known:
			s.unknownField(path, key, issues)
		case m[key] != nil:
			out[key] = field.check(path.With(key), m[key], issues)
		}
	}
	for _, key := range s.required {
		if m[key] == nil {
			issues.fail(path.With(key), SummaryMissingField, fmt.Sprintf("%s is missing.", path.With(key)))
		}
	}
	return out
}

func (s *shape) unknownField(path Path, key string, issues *Issues) {
	issues.fail(path.With(key), SummaryUnknownField, fmt.Sprintf("%s has no field %q in Argo CD 3.6.%s", path, key, didYouMean(key, sortedKeys(s.fields))))
}

// leaf converts v to the kind of a scalar shape; ok is false when it does not fit.
func (s *shape) leaf(v any) (any, bool) {
	text, isText := v.(string)
	switch s.kind {
	case kindText:
		return v, isText
	case kindBool:
		if _, ok := v.(bool); ok {
			return v, true
		}
	case kindInt:
		if n, ok := wholeNumber(v); ok {
			return n, true
		}
	case kindIntOrText:
		if n, ok := wholeNumber(v); ok {
			return n, true
		}
		return v, isText
	}
	if isText && isTemplated(text) && !s.literal {
		return v, true
	}
	if isText {
		return s.parse(text)
	}
	return nil, false
}

// parse reads a rendered text as the bool or integer that the field wants. Argo
// CD prints large numbers of an element as 1e+06, so that is an integer too.
func (s *shape) parse(text string) (any, bool) {
	text = strings.TrimSpace(text)
	switch s.kind {
	case kindBool:
		switch text {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	case kindInt:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			n, ok := wholeNumber(f)
			return n, ok
		}
	default:
		return text, true
	}
	return nil, false
}

func (s *shape) typeHint(v any) string {
	_, isBool := v.(bool)
	if s.kind == kindText && (isBool || isNumber(v)) {
		return " Write it in quotes."
	}
	return ""
}

// checkFree copies a free tree and refuses what JSON cannot hold.
func checkFree(path Path, v any, issues *Issues) any {
	out, problem := copyFree(v)
	if problem != nil {
		at := append(path.With(), problem.at...)
		issues.fail(at, SummaryWrongType, fmt.Sprintf("%s is %s, which JSON cannot hold.", at, describe(problem.value)))
		return nil
	}
	return out
}

// maxExact is the largest whole number up to which a float64 holds each one.
const maxExact = 1 << 53

// misfit is a value that JSON cannot hold, and where it stands.
type misfit struct {
	at    Path
	value any
}

// copyFree copies a free tree. Argo CD renders it as JSON whose numbers are all float64, so that a
// whole number beyond 2^53 is the nearest of those here too. The path of a
// misfit is put together on the way back only: there are thousands of elements,
// and hardly ever a misfit.
func copyFree(v any) (any, *misfit) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			copied, problem := copyFree(e)
			if problem != nil {
				return nil, &misfit{append(Path{key}, problem.at...), problem.value}
			}
			out[key] = copied
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			copied, problem := copyFree(e)
			if problem != nil {
				return nil, &misfit{append(Path{i}, problem.at...), problem.value}
			}
			out[i] = copied
		}
		return out, nil
	case int64, int:
		n, _ := wholeNumber(v)
		if n > maxExact || n < -maxExact {
			return canonicalNumber(float64(n)), nil
		}
		return n, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &misfit{value: v}
		}
		return v, nil
	case nil, bool, string, unknown:
		return v, nil
	}
	return nil, &misfit{value: v}
}
