package appset

import (
	"fmt"
	"strings"
)

// checkPatch reports what a patch says that does not fit an Application. Unlike in a template, null
// is allowed, since it removes a field, and a text is never read as something else. v is not changed.
func checkPatch(s *shape, at Path, v any, issues *Issues) {
	switch v := v.(type) {
	case nil:
		return
	case map[string]any:
		switch s.kind {
		case kindObject:
			checkPatchFields(s, at, v, issues)
			return
		case kindMap:
			for _, key := range sortedKeys(v) {
				if key == directive {
					checkDirective(at.With(key), v[key], issues)
					continue
				}
				checkPatch(s.elem, at.With(key), v[key], issues)
			}
			return
		}
	case []any:
		if s.kind == kindList {
			checkPatchList(s, at, v, issues)
			return
		}
	case string:
		if s.kind == kindText || s.kind == kindIntOrText {
			return
		}
	case bool:
		if s.kind == kindBool {
			return
		}
	case int64, float64:
		if _, whole := wholeNumber(v); whole && (s.kind == kindInt || s.kind == kindIntOrText) {
			return
		}
	}
	if s.kind == kindFree {
		return
	}
	issues.fail(at, SummaryWrongType, fmt.Sprintf("must be %s, but is %s.%s", s, describe(v), s.typeHint(v)))
}

func checkPatchFields(s *shape, at Path, m map[string]any, issues *Issues) {
	for _, key := range sortedKeys(m) {
		list, isListDirective := listDirective(key)
		field, known := s.fields[list]
		_, refused := s.refused[key]
		switch {
		case key == directive:
			checkDirective(at.With(key), m[key], issues)
		case key == retainDirective, isListDirective && known && field.kind == kindList:
			if _, ok := m[key].([]any); !ok {
				issues.fail(at.With(key), SummaryWrongType, fmt.Sprintf("must be a list, but is %s.", describe(m[key])))
			}
		case refused:
			issues.fail(at.With(key), SummaryUnsupportedField, "is not supported: "+s.refused[key])
		case !known || isListDirective:
			issues.fail(at.With(key), SummaryUnknownField, fmt.Sprintf("is not a field of an Application that Argo CD 3.6 takes from a patch.%s", didYouMean(list, sortedKeys(s.fields))))
		default:
			checkPatch(field, at.With(key), m[key], issues)
		}
	}
}

// checkPatchList: lists are replaced, so that nothing in them can be removed from something.
func checkPatchList(s *shape, at Path, l []any, issues *Issues) {
	for i, element := range l {
		if element == nil {
			issues.fail(at.With(i), SummaryWrongType, fmt.Sprintf("must be %s, but is null.", s.elem))
			continue
		}
		if m, ok := element.(map[string]any); ok && s.elem.kind == kindObject {
			for _, key := range sortedKeys(m) {
				if strings.HasPrefix(key, "$") {
					issues.fail(at.With(i, key), SummaryUnknownField, "Argo CD replaces this list, so that a directive inside of it has no meaning.")
					return
				}
			}
		}
		checkPatch(s.elem, at.With(i), element, issues)
	}
}

func checkDirective(at Path, v any, issues *Issues) {
	if v != "replace" && v != "delete" {
		issues.fail(at, SummaryInvalidPatch, fmt.Sprintf("must be replace or delete, but is %s.", describe(v)))
	}
}

// missingFields are the required fields that are not there, in the order of the fields. Nulls are
// taken out of objects on the way: a list of a patch may hold them.
func missingFields(s *shape, at Path, v any) []Path {
	var out []Path
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if e == nil && s.kind != kindFree && (s.kind != kindMap || s.elem.kind != kindFree) {
				delete(v, key)
			}
		}
		if s.kind != kindObject {
			return nil
		}
		for _, key := range sortedKeys(v) {
			if field := s.fields[key]; field != nil && (field.kind == kindObject || field.kind == kindList) {
				out = append(out, missingFields(field, at.With(key), v[key])...)
			}
		}
		for _, key := range s.required {
			if v[key] == nil {
				out = append(out, at.With(key))
			}
		}
	case []any:
		if s.kind == kindList && s.elem.kind == kindObject {
			for i, e := range v {
				out = append(out, missingFields(s.elem, at.With(i), e)...)
			}
		}
	}
	return out
}
