package appset

import (
	"fmt"
	"slices"
	"strings"
)

// texts replaces templates in the texts of generators. There Argo CD goes on with what it could not
// replace: a tag without a parameter stays as it is, and "<no value>" is a text like any other.
type texts struct {
	set *Set
	// strictOptions are those of the set, with missingkey=error.
	strictOptions    []string
	compiled, strict map[string]*goTemplate
}

func newTexts(s *Set) *texts {
	t := &texts{set: s, compiled: map[string]*goTemplate{}, strict: map[string]*goTemplate{}}
	for _, option := range s.GoTemplateOptions {
		if !strings.HasPrefix(option, "missingkey=") {
			t.strictOptions = append(t.strictOptions, option)
		}
	}
	t.strictOptions = append(t.strictOptions, "missingkey=error")
	return t
}

// render returns a string, or Unknown when it depends on anything Unknown.
func (t *texts) render(text string, params any) (any, error) {
	if !isTemplated(text) {
		return text, nil
	}
	if !t.set.GoTemplate {
		return replaceTags(text, params)
	}
	compiled, err := t.compile(t.compiled, text, t.set.GoTemplateOptions)
	if err != nil {
		return nil, err
	}
	return compiled.render(params)
}

// preResolve renders one of the values of a generator with the parameters of another generator. What
// needs more than those is left for the generator itself (RenderGeneratorParams in
// applicationset/utils, Argo CD 3.6.1).
func (t *texts) preResolve(text string, params any) (any, error) {
	if !isTemplated(text) {
		return text, nil
	}
	if !t.set.GoTemplate {
		return replaceTags(text, params)
	}
	compiled, err := t.compile(t.strict, text, t.strictOptions)
	if err != nil {
		return nil, err
	}
	out, err := compiled.render(params)
	if err != nil && (strings.Contains(err.Error(), "map has no entry for key") || strings.Contains(err.Error(), "can't evaluate field")) {
		return text, nil
	}
	return out, err
}

func (t *texts) compile(cache map[string]*goTemplate, text string, options []string) (*goTemplate, error) {
	if compiled, ok := cache[text]; ok {
		return compiled, nil
	}
	compiled, err := compileGoTemplate(text, options)
	if err == nil {
		cache[text] = compiled
	}
	return compiled, err
}

// replaceTags replaces the tags that have a parameter and leaves the others as they are written.
func replaceTags(text string, params any) (any, error) {
	if !hasTag.MatchString(text) {
		return text, nil
	}
	var b strings.Builder
	isUnknown := false
	for {
		literal, rest, found := strings.Cut(text, "{{")
		b.WriteString(literal)
		if !found {
			break
		}
		tag, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("the {{ before %s is never closed", quoteShort(rest))
		}
		switch v := tagValue(params, strings.TrimSpace(tag)).(type) {
		case string:
			b.WriteString(v)
		case unknown:
			isUnknown = true
		default:
			b.WriteString("{{" + tag + "}}")
		}
		text = after
	}
	if isUnknown {
		return Unknown, nil
	}
	return b.String(), nil
}

// appendValues renders the values of a generator with the parameters of one of its sets and adds
// them: as values with Go templates, else as values.KEY. They do not see each other
// (appendTemplatedValues in applicationset/generators, Argo CD 3.6.1).
func (e *evaluation) appendValues(at Path, values map[string]any, params map[string]any, origin fmt.Stringer) bool {
	if len(values) == 0 {
		return true
	}
	rendered := make(map[string]any, len(values))
	for _, key := range sortedKeys(values) {
		text, known := values[key].(string)
		if !known {
			rendered[key] = values[key]
			continue
		}
		out, err := e.texts.render(text, params)
		if result, _ := out.(string); err != nil || strings.Contains(result, noValue) {
			if name := e.mixed(text, params); name != "" {
				e.fail(at.With(key), SummaryRenderFailed,
					"%s: %s needs parameters of its own generator, and %s of the first generator of the matrix. Argo CD renders such a value with one of them only. Make two values of it.",
					origin, quoteShort(text), name)
				return false
			}
		}
		if err != nil {
			e.fail(at.With(key), SummaryRenderFailed, "%s: the template %s failed: %s.", origin, quoteShort(text), err)
			return false
		}
		if result, _ := out.(string); !e.bear(len(result), at.With(key)) {
			return false
		}
		rendered[key] = out
	}
	addValues(rendered, params, e.set.GoTemplate)
	return true
}

// addValues adds values under the names that templates use.
func addValues(values, params map[string]any, goTemplate bool) {
	if !goTemplate {
		for key, v := range values {
			params["values."+key] = v
		}
		return
	}
	plain := make(map[string]string, len(values))
	for key, v := range values {
		text, known := v.(string)
		if !known {
			params["values"] = values
			return
		}
		plain[key] = text
	}
	params["values"] = plain
}

// mixed names a parameter of the first generator of a matrix that a value refers to and its own
// generator does not have.
func (e *evaluation) mixed(text string, own map[string]any) string {
	if e.outer == nil || !e.set.GoTemplate {
		return ""
	}
	compiled, err := e.texts.compile(e.texts.compiled, text, e.set.GoTemplateOptions)
	if err != nil {
		return ""
	}
	missingOutside := compiled.refs.missing(e.outer.values)
	for _, name := range compiled.refs.missing(own) {
		if !slices.Contains(missingOutside, name) {
			return name
		}
	}
	return ""
}
