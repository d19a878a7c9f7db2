package appset

import (
	"fmt"
	"slices"
	"strings"
)

// Render generates the Applications, sorted by name; those whose name is not
// known yet come last, in the order of their elements. Errors are complete:
// everything that is wrong, in every element.
//
// allKnown is false when not even the number of Applications is known, because
// the generators or the way to render are Unknown; there are no Applications then.
func (s *Set) Render() (apps []Application, issues Issues, allKnown bool) {
	if s.unknown {
		return nil, nil, false
	}
	for _, g := range s.Generators {
		if g.Unknown || g.List.unknown {
			return nil, nil, false
		}
	}
	r := renderer{set: s, compiled: map[string]*goTemplate{}, tags: map[string]tagText{}}
	var params []paramSet
	for _, g := range s.Generators {
		params = append(params, g.List.params...)
	}
	for _, p := range params {
		apps = append(apps, r.application(p))
	}
	r.checkDuplicates(apps, params)
	slices.SortStableFunc(apps, func(a, b Application) int {
		if a.NameUnknown != b.NameUnknown {
			if a.NameUnknown {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return apps, abridge(r.issues.sorted()), true
}

// renderer renders the template of a set for one parameter set after the other.
type renderer struct {
	set      *Set
	compiled map[string]*goTemplate
	tags     map[string]tagText
	issues   Issues

	// The element at hand.
	params paramSet
}

// errorf reports an error of the element at hand.
func (r *renderer) errorf(path Path, summary, format string, args ...any) {
	r.issues.errorf(path, summary, "In "+r.params.at.String()+": "+fmt.Sprintf(format, args...))
}

// value renders a tree that has the shape; the result has no null and no
// template in it. Parts that depend on an Unknown are Unknown.
func (r *renderer) value(s *shape, path Path, v any) any {
	switch v := v.(type) {
	case string:
		return r.leaf(s, path, v)
	case map[string]any:
		if s.kind == kindObject {
			out := make(map[string]any, len(v))
			for _, key := range sortedKeys(v) {
				if rendered := r.value(s.fields[key], path.With(key), v[key]); rendered != nil {
					out[key] = rendered
				}
			}
			return out
		}
		return r.userMap(s, path, v)
	case []any:
		elem := s
		if s.kind == kindList {
			elem = s.elem
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.value(elem, path.With(i), e)
		}
		return out
	}
	return v
}

// userMap renders a map whose keys are user data, and so templates as well.
// Entries that are null are dropped, as Argo CD does.
func (r *renderer) userMap(s *shape, path Path, m map[string]any) any {
	elem := s
	if s.kind == kindMap {
		elem = s.elem
	}
	out := make(map[string]any, len(m))
	from := make(map[string]string, len(m))
	keyUnknown := false
	for _, key := range sortedKeys(m) {
		if m[key] == nil {
			continue
		}
		at := path.With(key)
		value := r.value(elem, at, m[key])
		rendered := r.text(at, key)
		name, known := rendered.(string)
		if !known {
			keyUnknown = keyUnknown || IsUnknown(rendered)
			continue
		}
		if other, twice := from[name]; twice {
			r.errorf(at, SummaryRenderFailed, "the keys %q and %q of %s both render to %q; Argo CD would pick one at random.", other, key, path, name)
			continue
		}
		from[name], out[name] = key, value
	}
	if keyUnknown {
		return Unknown
	}
	return out
}

// leaf renders a text and reads the result as the kind the field wants.
func (r *renderer) leaf(s *shape, path Path, text string) any {
	rendered := r.text(path, text)
	result, ok := rendered.(string)
	if !ok || s.kind == kindText || s.kind == kindFree || s.kind == kindIntOrText {
		return rendered
	}
	parsed, ok := s.parse(result)
	if !ok {
		r.errorf(path, SummaryWrongType, "%s must be %s, but its template %s renders to %s.", path, s, quoteShort(text), quoteShort(result))
		return nil
	}
	return parsed
}

// text renders one text: a string, Unknown, or nil after an error.
func (r *renderer) text(path Path, text string) any {
	if !isTemplated(text) && !strings.Contains(text, noValue) {
		return text
	}
	if !r.set.GoTemplate {
		return r.tagText(path, text)
	}
	t, err := r.compile(text)
	if err != nil {
		r.errorf(path, SummaryInvalidTemplate, "the template %s of %s cannot be used: %s.", quoteShort(text), path, err)
		return nil
	}
	out, err := t.render(r.params.values)
	if err != nil {
		r.errorf(path, SummaryRenderFailed, "the template %s of %s failed: %s.%s", quoteShort(text), path, err, r.missing(t))
		return nil
	}
	result, ok := out.(string)
	if !ok {
		return out
	}
	if strings.Contains(result, noValue) {
		r.errorf(path, SummaryLeftover, "the template %s of %s renders to %s: something in it has no value.%s", quoteShort(text), path, quoteShort(result), r.missing(t))
		return nil
	}
	if isTemplated(result) && !t.refs.quotesBraces {
		r.errorf(path, SummaryLeftover, "the template %s of %s renders to %s, which still holds \"{{\".", quoteShort(text), path, quoteShort(result))
		return nil
	}
	return result
}

func (r *renderer) missing(t *goTemplate) string {
	names := t.refs.missing(r.params.values)
	if len(names) == 0 {
		return ""
	}
	return " The element has no " + strings.Join(names, ", ") + "."
}

func (r *renderer) compile(text string) (*goTemplate, error) {
	if t, ok := r.compiled[text]; ok {
		return t, nil
	}
	t, err := compileGoTemplate(text, r.set.GoTemplateOptions)
	if err == nil {
		r.compiled[text] = t
	}
	return t, err
}

func (r *renderer) tagText(path Path, text string) any {
	t, ok := r.tags[text]
	if !ok {
		var err error
		if t, err = parseTags(text); err != nil {
			r.errorf(path, SummaryInvalidTemplate, "the template %s of %s cannot be used: %s.", quoteShort(text), path, err)
			return nil
		}
		r.tags[text] = t
	}
	out, err := t.render(r.params.values)
	if err != nil {
		r.errorf(path, SummaryLeftover, "the template %s of %s cannot be replaced: %s.", quoteShort(text), path, err)
		return nil
	}
	if result, ok := out.(string); ok && (isTemplated(result) || strings.Contains(result, noValue)) {
		r.errorf(path, SummaryLeftover, "the template %s of %s renders to %s, which still holds \"{{\" or \"<no value>\".", quoteShort(text), path, quoteShort(result))
		return nil
	}
	return out
}

// mostRepeats is how many errors of one kind at one field are shown.
const mostRepeats = 5

// abridge keeps the first errors of each kind at each field and says how many
// more elements have it: a typo must not print ten thousand errors.
func abridge(issues Issues) Issues {
	var out Issues
	for start := 0; start < len(issues); {
		end := start
		for end < len(issues) && issues[end].Summary == issues[start].Summary && comparePaths(issues[end].Path, issues[start].Path) == 0 {
			end++
		}
		shown := min(end, start+mostRepeats)
		out = append(out, issues[start:shown]...)
		if more := end - shown; more > 0 {
			out[len(out)-1].Detail += fmt.Sprintf("\nThe same is wrong %d more times.", more)
		}
		start = end
	}
	return out
}
