package appset

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// patience is how long one input may take; the bound on the work is far below.
const patience = 20 * time.Second

// FuzzTemplate renders any template with any parameters, with both engines.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"{{.name}}", "{{ name }}{{", "{{range until 5}}{{.}}{{end}}", `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`,
		`{{tpl .name .}}`, `{{$d := dict}}{{$_ := set $d "a" $d}}{{$d}}`, `{{printf "%*d" 9 .n}}`, `{{index .l 0 | toYaml}}`,
		`{{regexReplaceAll "(a|b)*" .name "$1"}}`, `{{.name | slugify 5 | repeat 3 | indent 2}}`, `{{merge .m (dict "a" .)}}`,
	} {
		f.Add(text, `{"name": "{{.n}}", "n": 3, "l": [{"a": null}], "m": {"k": "v"}}`)
	}
	f.Fuzz(func(t *testing.T, text, params string) {
		var values map[string]any
		if json.Unmarshal([]byte(params), &values) != nil {
			values = map[string]any{"name": params}
		}
		before, start := cloneTree(values), time.Now()
		if compiled, err := compileGoTemplate(text, []string{"missingkey=default"}); err == nil {
			once, err := compiled.render(values)
			again, errAgain := compiled.render(values)
			if _, refused := refusedIn(compiled); !refused && (once != again || (err == nil) != (errAgain == nil)) {
				t.Fatalf("rendered %v, %v, then %v, %v", once, err, again, errAgain)
			}
		}
		if tags, err := parseTags(text); err == nil {
			if out, err := tags.render(values); err == nil && out != Unknown && !strings.Contains(text, "{{") && out != text {
				t.Fatalf("a text without tags became %v", out)
			}
		}
		if took := time.Since(start); took > patience {
			t.Fatalf("it took %s", took)
		}
		if !equalTrees(before, values) {
			t.Fatalf("the parameters were changed to %v", values)
		}
	})
}

func refusedIn(t *goTemplate) (string, bool) {
	for _, name := range t.refs.functions {
		if _, refused := refusedFuncs[name]; refused {
			return name, true
		}
	}
	return "", false
}

func equalTrees(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// FuzzTemplatePatch applies any patch to an Application.
func FuzzTemplatePatch(f *testing.F) {
	for _, patch := range []string{
		"", "spec: {source: {path: x}}", `{"spec": {"project": "{{.env}}"}}`, "metadata: {labels: null, finalizers: [a/b]}",
		"spec: {$patch: replace, source: {}}", "metadata: {$setElementOrder/finalizers: [a], finalizers: [a]}",
		"spec: {syncPolicy: {$retainKeys: [{}], $deleteFromPrimitiveList/syncOptions: [{}]}}", "a: &a [*a]", "spec: {sources: [{$patch: delete}]}",
		"spec: {source: {helm: {valuesObject: {a: {b: [null]}}}}}", "---\n...\n---\nspec: {}",
	} {
		f.Add(patch, "dev")
	}
	f.Fuzz(func(t *testing.T, patch, env string) {
		spec := put(baseSpec(t), "generators.0.list.elements.0.env", env)
		put(spec, "template.spec.source.helm", tree(t, "{valuesObject: {a: {b: [1]}}}"))
		put(spec, "template.spec.syncPolicy", tree(t, "{syncOptions: [x, y]}"))
		set, issues := Decode("set", "argocd", put(spec, "templatePatch", patch))
		if issues.HasErrors() {
			return
		}
		start := time.Now()
		rendering, issues := set.Render(t.Context(), nil, Answers{})
		if took := time.Since(start); took > patience {
			t.Fatalf("it took %s", took)
		}
		if issues.HasErrors() {
			return
		}
		for _, app := range rendering.Apps {
			if _, err := json.Marshal(app.Object); err != nil {
				t.Fatalf("%v: %s", app.Object, err)
			}
			var left Issues
			checked := object(fields{"apiVersion": text(), "kind": text(), "metadata": templateShape.fields["metadata"], "spec": specShape})
			checked.check(nil, app.Object, &left)
			if len(left) > 0 || get(app.Object, "spec.project") != "p" {
				t.Fatalf("%v: %s", app.Object, left)
			}
		}
	})
}
