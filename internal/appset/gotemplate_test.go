package appset

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/sprig/v3"
)

// renderText renders one text with parameters in YAML.
func renderText(t testing.TB, text, params string, options ...string) (any, error) {
	t.Helper()
	compiled, err := compileGoTemplate(text, options)
	if err != nil {
		return nil, err
	}
	return compiled.render(asJSON(tree(t, params)))
}

func TestGoTemplatesPrintWhatArgoCDPrints(t *testing.T) {
	const params = `
num: 1000000
big: 12345678
small: 999999
yes: true
m: {b: 2, a: x}
l: [1, a]
s: 'Ünï_Code Name'
`
	for text, want := range map[string]string{
		`{{.num}} {{.big}} {{.small}}`:                     "1e+06 1.2345678e+07 999999",
		`{{.num | int}} {{printf "%.0f" .num}}`:            "1000000 1000000",
		`{{.num | toJson}}`:                                "1000000",
		`{{.true}}{{.m}} {{.l}}`:                           "truemap[a:x b:2] [1 a]",
		`{{normalize .s}}`:                                 "n--code-name",
		`{{slugify .s}}`:                                   "n-code-name",
		`{{slugify 6 .s}} {{slugify 6 false .s}}`:          "n-code n-cod",
		`{{toYaml .m}}`:                                    "a: x\nb: 2",
		`{{(fromYaml "a: on").a}}`:                         "true",
		`{{index (fromYamlArray "[p, q]") 1}}`:             "q",
		`{{tpl "{{.m.a}}{{.gone}}" .}}`:                    "x",
		`{{keys .m | join ","}} {{values .m | join ","}}`:  "a,b x,2",
		`{{.gone}}{{.gone.deeper}}`:                        "<no value><no value>",
		`{{range .l}}<{{.}}>{{end}}`:                       "<1><a>",
		`{{define "t"}}[{{.a}}]{{end}}{{template "t" .m}}`: "[x]",
		`{{with .m}}{{.a}}{{end}}{{$.num | int}}`:          "x1000000",
	} {
		if got, err := renderText(t, text, params); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestNumbersOfAnElementPrintTheSameHoweverTheyAreHeld(t *testing.T) {
	for _, n := range []any{int64(1000000), float64(1000000), 1000000} {
		spec := put(baseSpec(t), "generators.0.list.elements", []any{map[string]any{"name": "a", "env": "dev", "url": "u", "deep": []any{n}}})
		_, apps := render(t, put(spec, "template.spec.source.helm.values", "{{index .deep 0}} {{index .deep 0 | int}}"))
		if got := get(apps[0].Object, "spec.source.helm.values"); got != "1e+06 1000000" {
			t.Errorf("%T: %v", n, got)
		}
	}
}

func TestMissingKeysFollowTheOption(t *testing.T) {
	for _, c := range []struct{ option, want, err string }{
		{"missingkey=default", "<no value>", ""},
		{"missingkey=zero", "<no value>", ""},
		{"missingkey=error", "", `map has no entry for key "gone"`},
	} {
		got, err := renderText(t, "{{.gone}}", "a: b", c.option)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %v", c.option, got, err)
		}
	}
	if _, err := renderText(t, "{{.s.x}}", "s: text"); err == nil {
		t.Error("a field of a string was selected")
	}
}

func TestTheFunctionsAreThoseOfArgoCD(t *testing.T) {
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		if _, ok := goTemplateFuncs[name]; ok {
			t.Errorf("%s reads the environment and is there", name)
		}
		if err := checkGoTemplate("{{"+name+` "x"}}`, nil); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"normalize", "slugify", "toYaml", "fromYaml", "fromYamlArray"} {
		if _, ok := goTemplateFuncs[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range sprig.GenericFuncMap() {
		if _, ok := goTemplateFuncs[name]; !ok && name != "env" && name != "expandenv" && name != "getHostByName" {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestFunctionsThatGiveAnotherResultEachTimeAreRefusedWithTheirName(t *testing.T) {
	for name := range refusedFuncs {
		if _, ok := sprig.GenericFuncMap()[name]; !ok {
			t.Errorf("%s is not a function of Sprig", name)
		}
		for _, text := range []string{
			"{{" + name + "}}",
			"{{if true}}{{range .l}}{{with $x := " + name + "}}{{end}}{{end}}{{end}}",
			`{{define "t"}}{{(` + name + `)}}{{end}}`,
			`{{"a" | ` + name + `}}`,
		} {
			if err := checkGoTemplate(text, nil); err == nil || !strings.Contains(err.Error(), "function "+name+" is not allowed") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	// Hidden in a parameter, it fails when it is called.
	if _, err := renderText(t, "{{tpl .t .}}", "t: '{{now}}'"); err == nil || !strings.Contains(err.Error(), "function now is not allowed") {
		t.Errorf("now inside tpl: %v", err)
	}
}

func TestFaultyTemplatesAreErrorsAndNeverPanics(t *testing.T) {
	for text, want := range map[string]string{
		"{{.a":                          "unclosed action",
		"{{nosuch .a}}":                 `function "nosuch" not defined`,
		"{{div 1 0}}":                   "divide by zero",
		`{{slugify 1 2 .a}}`:            "argument 2 of slugify",
		`{{slugify -1 .a}}`:             "negative",
		`{{slugify 1 true "x" "y"}}`:    "at most 3",
		`{{fail "because"}}`:            "because",
		`{{fromYaml "a: b: c"}}`:        "mapping values",
		`{{tpl .loop .}}`:               "at most 3 deep",
		`{{template "nosuch"}}`:         "nosuch",
		`{{index .l 7}}`:                "out of range",
		`{{mustToJson (dict "f" tpl)}}`: "",
	} {
		got, err := renderText(t, text, `{a: x, l: [], loop: '{{tpl .loop .}}'}`)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "template: template") {
			t.Errorf("%s: the message starts with internals: %v", text, err)
		}
	}
	if _, err := compileGoTemplate("x", []string{"nosuch=option"}); err == nil {
		t.Error("an unknown option was accepted")
	}
}

func TestATemplateCannotChangeTheParametersOfTheNext(t *testing.T) {
	spec := put(baseSpec(t), "template.metadata.labels", map[string]any{
		"a": `{{ $_ := set . "name" "changed" }}{{.name}}`,
		"b": `{{ $_ := unset . "env" }}x`,
		"c": `{{.name}}-{{.env}}`,
	})
	_, apps := render(t, spec)
	if got := apps[0].Labels; got["a"] != "changed" || got["c"] != "a-dev" || apps[0].Name != "a-app" {
		t.Errorf("labels %v, name %s", got, apps[0].Name)
	}
}

func TestSlugifyIsSafeForConcurrentUse(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			size := 3 + i%4
			want := "aaaaaaaaaa"[:size]
			for range 200 {
				if got, err := slugify(size, false, "aaaaaaaaaa"); err != nil || got != want {
					t.Errorf("size %d: %q, %v", size, got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestLeftoversNameElementFieldAndWhatIsMissing(t *testing.T) {
	one := func(element string) []any { return []any{tree(t, element)} }
	for name, c := range map[string]struct {
		element, text, options string
		words                  []string
	}{
		"missing key with missingkey=error":   {"{name: a}", "{{.cluster}}", "missingkey=error", []string{"no entry for key", "no .cluster"}},
		"missing key by default":              {"{name: a}", "x{{.cluster}}", "missingkey=default", []string{"x<no value>", "no .cluster"}},
		"missing key on the way":              {"{name: a}", "x{{.a.b}}", "missingkey=default", []string{"no .a.b"}},
		"a null parameter":                    {"{name: null}", "x{{.name}}", "missingkey=default", []string{"x<no value>"}},
		"a parameter that looks like a templ": {"{name: '{{x}}'}", "{{.name}}", "missingkey=error", []string{"{{x}}", "comes from a parameter"}},
		"a literal <no value>":                {"{name: a}", "<no value>", "missingkey=error", []string{"<no value>"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(baseSpec(t), "generators.0.list.elements", one(c.element))
			put(spec, "goTemplateOptions", []any{c.options})
			put(spec, "template.metadata", map[string]any{"name": "fixed"})
			put(spec, "template.spec.source.path", c.text)
			put(spec, "template.spec.destination.server", "s")
			wantIssue(t, failures(t, spec), "spec.template.spec.source.path", append(c.words, "generators[0].list.elements[0]")...)
		})
	}
}

func TestBracesThatTheTemplateQuotesAreMeantToStay(t *testing.T) {
	spec := put(baseSpec(t), "template.spec.source.helm.values", "alert: '{{`{{ $labels.instance }}`}} on {{.name}}'")
	_, apps := render(t, spec)
	if got := get(apps[0].Object, "spec.source.helm.values"); got != "alert: '{{ $labels.instance }} on a'" {
		t.Errorf("got %q", got)
	}
}

func TestTemplateErrorsAreFoundAtDecodeWithTheirPath(t *testing.T) {
	for path, text := range map[string]string{
		"template.metadata.name":              "{{.name",
		"template.spec.source.path":           "{{ nosuch .name }}",
		"template.spec.source.kustomize":      "",
		"template.spec.destination.server":    "{{ now }}",
		"template.metadata.labels":            "",
		"template.spec.source.targetRevision": "{{ .a | randAlpha }}",
	} {
		spec := baseSpec(t)
		switch {
		case strings.HasSuffix(path, "kustomize"):
			put(spec, path, map[string]any{"images": []any{"ok", "{{ uuidv4 }}"}})
			path += ".images[1]"
		case strings.HasSuffix(path, "labels"):
			put(spec, path, map[string]any{"{{": "x"})
			path += `["{{"]`
		default:
			put(spec, path, text)
		}
		_, issues := Decode("set", "argocd", spec)
		wantIssue(t, issues, "spec."+path, SummaryInvalidTemplate)
	}
	spec := put(baseSpec(t), "goTemplateOptions", []any{"missingkey=error", "missingkey=none"})
	wantIssue(t, failures(t, spec), "spec.goTemplateOptions[1]", "missingkey=none")
}

func ExampleStep_Label() {
	step := Step{Match: []MatchExpression{{Key: "envLabel", Operator: OperatorIn, Values: []string{"env-dev"}}}}
	fmt.Println(step.Label(0))
	// Output: step 01: envLabel in [env-dev]
}
