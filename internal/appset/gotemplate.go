package appset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// goTemplate is a parsed text with what it refers to. It must not be rendered by two goroutines at a time.
type goTemplate struct {
	template *template.Template
	refs     references
	meter    *meter
}

// maxTplDepth is how deep tpl may call itself (applicationset/utils, Argo CD 3.6.1).
const maxTplDepth = 3

// maxTemplate is how long the text of a Go template may be, in bytes. Blocks nested in such a text
// are read by functions nested as deep.
const maxTemplate = 512 << 10

// compileGoTemplate parses a text as Argo CD does with goTemplate on.
func compileGoTemplate(text string, options []string) (out *goTemplate, err error) {
	defer recoverInto(&err)
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("it is longer than %d bytes", maxTemplate)
	}
	t := template.New("template").Option(options...).Funcs(goTemplateFuncs)
	m, done := &meter{}, instrumented{}
	t.Funcs(template.FuncMap{"tpl": tplFunc(t, m, done)})
	if t, err = t.Parse(text); err != nil {
		return nil, plainTemplateError(err)
	}
	refs := referencesOf(t)
	if err := done.instrument(done.fresh(t), m, refs); err != nil {
		return nil, err
	}
	t.Funcs(m.funcs(refs.functions))
	return &goTemplate{template: t, refs: refs, meter: m}, nil
}

// checkGoTemplate reports why a text cannot be used as a template.
func checkGoTemplate(text string, options []string) error {
	t, err := compileGoTemplate(text, options)
	if err != nil {
		return err
	}
	for _, name := range t.refs.functions {
		if _, refused := refusedFuncs[name]; refused {
			return refusal(name)
		}
	}
	return nil
}

// render returns a string, or Unknown when the template refers to anything that
// is Unknown.
func (t *goTemplate) render(params any) (out any, err error) {
	defer recoverInto(&err)
	if t.refs.anyUnknown(params) {
		return Unknown, nil
	}
	values, _ := params.(map[string]any)
	if t.refs.mutates {
		values, _ = cloneTree(values).(map[string]any)
	}
	t.meter.reset()
	if t.meter.comparisons > 0 || t.refs.calls {
		t.meter.largest = longestString(values)
	}
	var b boundedBuilder
	if err := t.template.Execute(&b, values); err != nil {
		return nil, plainTemplateError(err)
	}
	return b.String(), nil
}

// longestString is the length of the longest string in a tree.
func longestString(v any) int {
	longest := 0
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		for key, e := range v {
			longest = max(longest, len(key), longestString(e))
		}
	case map[string]string:
		for key, e := range v {
			longest = max(longest, len(key), len(e))
		}
	case []any:
		for _, e := range v {
			longest = max(longest, longestString(e))
		}
	}
	return longest
}

// tplFunc is the function tpl: it renders a template text with data, and drops
// what is missing.
func tplFunc(parent *template.Template, m *meter, done instrumented) func(string, any) (string, error) {
	depth := 0
	return func(text string, data any) (string, error) {
		if depth++; depth > maxTplDepth {
			depth--
			return "", fmt.Errorf("tpl may call itself at most %d deep", maxTplDepth)
		}
		defer func() { depth-- }()
		if err := m.charge(100 + len(text)/8); err != nil {
			return "", err
		}
		if len(text) > maxTemplate {
			return "", fmt.Errorf("its text is longer than %d bytes", maxTemplate)
		}
		t, err := parent.Clone()
		if err != nil {
			return "", err
		}
		if t, err = t.New(parent.Name()).Parse(text); err != nil {
			return "", plainTemplateError(err)
		}
		fresh := done.fresh(t)
		defer done.forget(fresh, m, m.comparisons)
		if err := done.instrument(fresh, m, referencesIn(fresh)); err != nil {
			return "", err
		}
		var b boundedBuilder
		if err := t.Execute(&b, data); err != nil {
			return "", plainTemplateError(err)
		}
		return strings.ReplaceAll(b.String(), noValue, ""), nil
	}
}

// noValue is what text/template prints for a missing key.
const noValue = "<no value>"

var templatePosition = regexp.MustCompile(`^template: template:([0-9:]+: )?(executing "template" )?`)

// plainTemplateError drops the name that text/template puts before its message.
func plainTemplateError(err error) error {
	if l := (*limitError)(nil); errors.As(err, &l) {
		return l
	}
	return errors.New(templatePosition.ReplaceAllString(err.Error(), ""))
}

func recoverInto(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the template panicked: %v", p)
	}
}
