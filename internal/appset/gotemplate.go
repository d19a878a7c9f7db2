package appset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// goTemplate is a parsed text with what it refers to.
type goTemplate struct {
	template *template.Template
	refs     references
}

// maxTplDepth is how deep tpl may call itself (applicationset/utils, Argo CD 3.6.1).
const maxTplDepth = 3

// compileGoTemplate parses a text as Argo CD does with goTemplate on.
func compileGoTemplate(text string, options []string) (out *goTemplate, err error) {
	defer recoverInto(&err)
	t := template.New("template").Option(options...).Funcs(goTemplateFuncs)
	t.Funcs(template.FuncMap{"tpl": tplFunc(t)})
	if t, err = t.Parse(text); err != nil {
		return nil, plainTemplateError(err)
	}
	return &goTemplate{template: t, refs: referencesOf(t)}, nil
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
	var b boundedBuilder
	if err := t.template.Execute(&b, values); err != nil {
		return nil, plainTemplateError(err)
	}
	return b.String(), nil
}

// tplFunc is the function tpl: it renders a template text with data, and drops
// what is missing.
func tplFunc(parent *template.Template) func(string, any) (string, error) {
	depth := 0
	return func(text string, data any) (string, error) {
		if depth++; depth > maxTplDepth {
			depth--
			return "", fmt.Errorf("tpl may call itself at most %d deep", maxTplDepth)
		}
		defer func() { depth-- }()
		t, err := parent.Clone()
		if err != nil {
			return "", err
		}
		if t, err = t.New(parent.Name()).Parse(text); err != nil {
			return "", plainTemplateError(err)
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
	return errors.New(templatePosition.ReplaceAllString(err.Error(), ""))
}

func recoverInto(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the template panicked: %v", p)
	}
}
