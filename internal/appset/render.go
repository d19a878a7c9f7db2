package appset

import (
	"fmt"
	"sort"
	"strings"
)

// renderer renders the template of a set for one parameter set after the other.
type renderer struct {
	set      *Set
	compiled map[string]*goTemplate
	tags     map[string]tagText
	issues   Issues
	// patches are rendered patches that have been read, patchesKept how long they are together.
	patches     map[string]patchText
	patchesKept int
	// rendered is what counts to maxRenderedTogether so far.
	rendered int

	// The element at hand, and the place below root, which is that of the template unless set.
	params paramSet
	root   Path
	place  []placePart
}

// placePart is a key, or an index when key is "" and isIndex.
type placePart struct {
	key     string
	index   int
	isIndex bool
}

// path is the place at hand as a Path, made only for messages.
func (r *renderer) path() Path {
	out := templatePath.With()
	if r.root != nil {
		out = r.root.With()
	}
	for _, part := range r.place {
		if part.isIndex {
			out = append(out, part.index)
		} else {
			out = append(out, part.key)
		}
	}
	return out
}

// bear counts what was rendered, in bytes about, and reports when it is too much.
func (r *renderer) bear(bytes int) bool {
	before := r.rendered
	if r.rendered += bytes; r.rendered <= maxRenderedTogether {
		return true
	}
	if before <= maxRenderedTogether {
		r.errorf(r.path(), SummaryRenderFailed, "the Applications up to here have more than %d MiB together. Shorten the template and its parameters, or split the ApplicationSet.", maxRenderedTogether>>20)
	}
	return false
}

// mapWeight is about what a map of n entries takes in memory, in bytes: at least that of eight.
func mapWeight(n int) int { return 64 + 48*max(n, 8) }

// full tells that too much was rendered already.
func (r *renderer) full() bool { return r.rendered > maxRenderedTogether }

// errorf reports an error of the element at hand.
func (r *renderer) errorf(path Path, summary, format string, args ...any) {
	r.issues.fail(path, summary, "In "+r.params.at.String()+": "+fmt.Sprintf(format, args...))
}

// failf reports an error at the place at hand. The format starts with what was
// rendered: the template and its field come first.
func (r *renderer) failf(summary, text, format string, args ...any) {
	path := r.path()
	r.errorf(path, summary, "the template %s of %s %s", quoteShort(text), path, fmt.Sprintf(format, args...))
}

// inside renders v one key further down.
func (r *renderer) inside(s *shape, key string, v any) any {
	r.place = append(r.place, placePart{key: key})
	out := r.value(s, v)
	r.place = r.place[:len(r.place)-1]
	return out
}

// at renders v at an index of a list.
func (r *renderer) at(s *shape, i int, v any) any {
	r.place = append(r.place, placePart{index: i, isIndex: true})
	out := r.value(s, v)
	r.place = r.place[:len(r.place)-1]
	return out
}

// value renders a tree that has the shape; the result has no null and no
// template in it. Parts that depend on an Unknown are Unknown.
func (r *renderer) value(s *shape, v any) any {
	switch v := v.(type) {
	case string:
		return r.leaf(s, v)
	case map[string]any:
		if s.kind != kindObject {
			return r.userMap(s, v)
		}
		if !r.bear(mapWeight(len(v))) {
			return Unknown
		}
		out := make(map[string]any, len(v))
		for key, e := range v {
			if rendered := r.inside(s.fields[key], key, e); rendered != nil {
				out[key] = rendered
			}
		}
		return out
	case []any:
		elem := s
		if s.kind == kindList {
			elem = s.elem
		}
		if !r.bear(entryWeight * len(v)) {
			return Unknown
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.at(elem, i, e)
		}
		return out
	}
	return v
}

// userMap renders a map whose keys are user data, and so templates as well.
// Entries that are null are dropped, as Argo CD does.
func (r *renderer) userMap(s *shape, m map[string]any) any {
	elem := s
	if s.kind == kindMap {
		elem = s.elem
	}
	if !r.bear(mapWeight(len(m))) {
		return Unknown
	}
	out := make(map[string]any, len(m))
	var templated []string
	for key, v := range m {
		switch {
		case v == nil:
		case isTemplated(key):
			templated = append(templated, key)
		default:
			out[key] = r.inside(elem, key, v)
		}
	}
	if len(templated) == 0 {
		return out
	}
	return r.templatedKeys(elem, out, templated, m)
}

// templatedKeys adds the entries of m whose keys are templates.
func (r *renderer) templatedKeys(elem *shape, out map[string]any, templated []string, m map[string]any) any {
	sort.Strings(templated)
	from := make(map[string]string, len(m))
	keyUnknown := false
	for _, key := range templated {
		value := r.inside(elem, key, m[key])
		name, known := r.text(key).(string)
		if !known {
			keyUnknown = true
			continue
		}
		if _, twice := out[name]; twice {
			other, isTemplate := from[name]
			if !isTemplate {
				other = name
			}
			r.failf(SummaryRenderFailed, key, "has keys %q and %q that both render to %q; Argo CD would pick one at random.", other, key, name)
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
func (r *renderer) leaf(s *shape, text string) any {
	rendered := r.text(text)
	result, ok := rendered.(string)
	if !ok || s.kind == kindText || s.kind == kindFree || s.kind == kindIntOrText {
		return rendered
	}
	parsed, ok := s.parse(result)
	if !ok {
		r.failf(SummaryWrongType, text, "must render to %s, but renders to %s.", s, quoteShort(result))
		return Unknown
	}
	return parsed
}

// text renders one text to a string or to Unknown. It is Unknown after an error
// too, so that no check complains about what is only missing for that reason.
func (r *renderer) text(text string) any {
	if !isTemplated(text) && !strings.Contains(text, noValue) {
		return text
	}
	if r.full() {
		return Unknown
	}
	out := r.templateText(text)
	if rendered, ok := out.(string); ok && !r.bear(len(rendered)) {
		return Unknown
	}
	return out
}

// templateText renders a text that has a template in it.
func (r *renderer) templateText(text string) any {
	if !r.set.GoTemplate {
		return r.tagText(text)
	}
	t, err := r.compile(text)
	if err != nil {
		r.failf(SummaryInvalidTemplate, text, "cannot be used: %s.", err)
		return Unknown
	}
	out, err := t.render(r.params.values)
	if err != nil {
		r.failf(SummaryRenderFailed, text, "failed: %s.%s", err, r.missing(t))
		return Unknown
	}
	result, ok := out.(string)
	if !ok {
		return out
	}
	if strings.Contains(result, noValue) {
		r.failf(SummaryLeftover, text, "renders to %s: something in it has no value.%s", quoteShort(result), r.missing(t))
		return Unknown
	}
	if isTemplated(result) && !t.refs.quotesBraces {
		r.failf(SummaryLeftover, text, "renders to %s, which still holds \"{{\": it comes from a parameter.", quoteShort(result))
		return Unknown
	}
	return result
}

// missing names what the template refers to and the element lacks, if that is certain.
func (r *renderer) missing(t *goTemplate) string {
	names := t.refs.missing(r.params.values)
	if len(names) == 0 || t.refs.everything {
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

func (r *renderer) tagText(text string) any {
	t, ok := r.tags[text]
	if !ok {
		var err error
		if t, err = parseTags(text); err != nil {
			r.failf(SummaryInvalidTemplate, text, "cannot be used: %s.", err)
			return Unknown
		}
		r.tags[text] = t
	}
	out, err := t.render(r.params.values)
	if err != nil {
		r.failf(SummaryLeftover, text, "cannot be replaced: %s.", err)
		return Unknown
	}
	if result, ok := out.(string); ok && (isTemplated(result) || strings.Contains(result, noValue)) {
		r.failf(SummaryLeftover, text, "renders to %s, which still holds \"{{\" or %q.", quoteShort(result), noValue)
		return Unknown
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
