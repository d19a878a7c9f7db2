package appset

import (
	"strings"
	"testing"
)

func TestATemplateThatWouldFillTheMemoryIsAnError(t *testing.T) {
	tests := map[string]string{
		"a long list":               `{{ range until 1000000000 }}x{{ end }}`,
		"a long list downwards":     `{{ range until -1000000000 }}x{{ end }}`,
		"a list with a step":        `{{ range untilStep 0 1000000000 1 }}x{{ end }}`,
		"a sequence":                `{{ seq 1000000000 }}`,
		"a repeated text":           `{{ repeat 1000000000 "x" }}`,
		"repeated repetition":       `{{ repeat 2000 (repeat 2000 "x") }}`,
		"a deep indent":             `{{ indent 1000000000 "x" }}`,
		"a deep indent on its line": `{{ nindent 1000000000 "x" }}`,
		"loops in loops":            `{{ range until 90000 }}{{ range until 90000 }}x{{ end }}{{ end }}`,
		"a template without end":    `{{ define "a" }}x{{ template "a" }}{{ end }}{{ template "a" }}`,
		"tpl with loops":            `{{ tpl "{{ range until 90000 }}{{ range until 90000 }}x{{ end }}{{ end }}" . }}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileGoTemplate(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := compiled.render(map[string]any{}); err == nil {
				t.Errorf("rendered %T of %d bytes, want an error", out, len(out.(string)))
			}
		})
	}
}

func TestOrdinarySizesStayAllowed(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"until":     {`{{ range until 3 }}{{ . }}{{ end }}`, "012"},
		"untilStep": {`{{ range untilStep 0 6 2 }}{{ . }}{{ end }}`, "024"},
		"seq":       {`{{ seq 3 }}`, "1 2 3"},
		"repeat":    {`{{ repeat 3 "ab" }}`, "ababab"},
		"indent":    {`{{ indent 2 "a" }}`, "  a"},
		"nindent":   {`{{ nindent 1 "a" }}`, "\n a"},
		"long text": {`{{ repeat 100000 "x" }}`, strings.Repeat("x", 100000)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileGoTemplate(test.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := compiled.render(map[string]any{}); err != nil || out != test.want {
				t.Errorf("rendered %.40q, %v; want %.40q", out, err, test.want)
			}
		})
	}
}
