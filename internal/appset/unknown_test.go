package appset

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAnUnknownParameterMakesUnknownOnlyWhatRefersToIt(t *testing.T) {
	const params = "{url: UNKNOWN, name: a, m: {x: UNKNOWN, k: b}, l: [UNKNOWN, c], k: [1, 2]}"
	for text, want := range map[string]any{
		"{{.name}}":                              "a",
		"{{.m.k}}":                               "b",
		"{{.gone}}{{.name}}":                     "<no value>a",
		"{{.url}}":                               Unknown,
		"x{{.name}}{{.url}}":                     Unknown,
		"{{$.url}}":                              Unknown,
		"{{$.name}}":                             "a",
		"{{.m.x}}":                               Unknown,
		"{{.m}}":                                 Unknown,
		"{{.m.x.deeper}}":                        Unknown,
		`{{index .l 1}}`:                         Unknown,
		`{{index .m "k"}}`:                       Unknown,
		`{{(index .m "k").z}}`:                   Unknown,
		`{{if .url}}a{{end}}`:                    Unknown,
		`{{if .name}}a{{else}}{{.url}}{{end}}`:   Unknown,
		`{{if .name}}{{.m.k}}{{end}}`:            "b",
		`{{$x := .url}}{{$x}}`:                   Unknown,
		`{{$x := .name}}{{$x}}`:                  "a",
		`{{.name | printf "%s%s" .url}}`:         Unknown,
		`{{printf "%s" (upper .name)}}`:          "A",
		`{{toJson .}}`:                           Unknown,
		`{{get $ "name"}}`:                       Unknown,
		`{{range .l}}{{end}}`:                    Unknown,
		`{{range .k}}<{{.}}{{$.name}}>{{end}}`:   "<1a><2a>",
		`{{range .k}}{{$.url}}{{end}}`:           Unknown,
		`{{range .gone}}{{else}}{{.url}}{{end}}`: Unknown,
		`{{with .m}}{{.k}}{{end}}`:               Unknown,
		`{{with .name}}{{$.url}}{{end}}`:         Unknown,
		`{{with .name}}{{.}}{{end}}`:             "a",
		`{{define "t"}}{{.}}{{$}}{{end}}{{template "t" .name}}`: "aa",
		`{{define "t"}}{{.x}}{{end}}{{template "t" .m}}`:        Unknown,
		`{{define "t"}}{{.}}{{end}}{{template "t" .}}`:          Unknown,
		`{{block "t" .name}}{{.}}{{end}}`:                       "a",
		`{{tpl "{{.url}}" .}}`:                                  Unknown,
		`{{tpl "{{.}}" .name}}`:                                 "a",
		`{{tpl .url "x"}}`:                                      Unknown,
		`{{"constant"}}`:                                        "constant",
	} {
		got, err := renderText(t, text, params)
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	if got, err := renderText(t, `{{range $k, $v := .m}}{{$k}}{{$v}}{{end}}`, "{m: {a: b}}"); err != nil || got != "ab" {
		t.Errorf("without unknowns: %v, %v", got, err)
	}
}

func TestUnknownLeavesAreKeptApartPerField(t *testing.T) {
	spec := put(baseSpec(t), "generators.0.list.elements", []any{
		tree(t, "{name: a, env: dev, url: UNKNOWN}"),
		tree(t, "{name: b, env: UNKNOWN, url: u}"),
		tree(t, "{name: UNKNOWN, env: dev, url: u}"),
		Unknown,
	})
	_, apps := render(t, spec)
	if len(apps) != 4 {
		t.Fatalf("%d Applications", len(apps))
	}
	a, b, c, d := apps[0], apps[1], apps[2], apps[3]
	if a.Name != "a-app" || !a.HasUnknown || get(a.Object, "spec.destination.server") != any(Unknown) || a.Sources[0].Unknown {
		t.Errorf("unknown url: %+v", a)
	}
	if b.Name != "b-app" || b.LabelsUnknown || !reflect.DeepEqual(b.Labels, map[string]any{"env": Unknown}) {
		t.Errorf("unknown label: %+v", b)
	}
	if !c.NameUnknown || c.Name != "" || c.Labels["env"] != "dev" || !c.Sources[0].Unknown || c.Sources[0].Path != "" || c.Sources[0].RepoURL == "" {
		t.Errorf("unknown name: %+v", c)
	}
	if !d.NameUnknown || d.Origin != "generators[0].list.elements[3]" || get(d.Object, "spec.project") != "p" {
		t.Errorf("unknown element: %+v", d)
	}
	for _, app := range apps {
		if HashRendered(app.Object) != "" {
			t.Errorf("%s has a hash", app.Origin)
		}
	}
}

func TestAnUnknownKeyMakesItsMapUnknown(t *testing.T) {
	spec := put(baseSpec(t), "generators.0.list.elements.0.env", Unknown)
	put(spec, "template.metadata.labels", map[string]any{"{{.env}}": "x", "fixed": "y"})
	_, apps := render(t, spec)
	if app := apps[1]; !app.LabelsUnknown || app.Labels != nil || apps[0].LabelsUnknown {
		t.Errorf("labels %v", app.Labels)
	}
}

func TestWhatLeavesTheNumberOfApplicationsOpenIsReported(t *testing.T) {
	for _, path := range []string{
		"generators", "generators.0", "generators.0.list", "generators.0.list.elements", "generators.0.list.elementsYaml",
		"goTemplate", "goTemplateOptions", "template", "syncPolicy", "syncPolicy.applicationsSync",
		"preservedFields", "preservedFields.labels", "ignoreApplicationDifferences",
	} {
		set, issues := Decode("set", "argocd", put(baseSpec(t), path, Unknown))
		if len(issues) > 0 {
			t.Errorf("%s: %s", path, issues)
		}
		if got, issues := set.Render(t.Context(), nil, Answers{}); got.Complete || len(got.Apps) > 0 || len(issues) > 0 {
			t.Errorf("%s: complete %v, %d Applications, %s", path, got.Complete, len(got.Apps), issues)
		}
	}
}

func TestUnknownPartsOfTheTemplateAreNotValidated(t *testing.T) {
	for _, path := range []string{
		"template.metadata", "template.metadata.name", "template.metadata.labels", "template.spec", "template.spec.source",
		"template.spec.source.helm", "template.spec.source.repoURL", "template.spec.source.chart", "template.spec.sources",
		"template.spec.destination", "template.spec.destination.name", "template.spec.syncPolicy", "template.spec.project",
		"template.spec.revisionHistoryLimit", "strategy",
	} {
		_, apps := render(t, put(baseSpec(t), path, Unknown))
		if len(apps) != 2 || path != "strategy" && !apps[0].HasUnknown {
			t.Errorf("%s: %+v", path, apps)
		}
	}
}

func TestWithoutGoTemplateUnknownsAreFollowedByTag(t *testing.T) {
	spec := put(flatSpec(t), "generators.0.list.elements", []any{
		tree(t, "{name: a, env: dev, url: UNKNOWN, values: UNKNOWN}"),
		tree(t, "{name: b, env: dev, url: u, values: {k: UNKNOWN, l: x}}"),
		Unknown,
	})
	put(spec, "template.metadata.labels", map[string]any{"k": "{{values.k}}", "l": "{{values.l}}", "e": "{{env}}"})
	_, apps := render(t, spec)
	for i, want := range []map[string]any{
		{"k": Unknown, "l": Unknown, "e": "dev"},
		{"k": Unknown, "l": "x", "e": "dev"},
		{"k": Unknown, "l": Unknown, "e": Unknown},
	} {
		if !reflect.DeepEqual(apps[i].Labels, want) {
			t.Errorf("Application %d: labels %v, want %v", i, apps[i].Labels, want)
		}
	}
	if apps[0].Name != "a-app" || !apps[2].NameUnknown {
		t.Errorf("names %q, %q", apps[0].Name, apps[2].Name)
	}
}

func TestSourcesKeepWhatIsKnownOfThem(t *testing.T) {
	for text, want := range map[string]Source{
		"{repoURL: r, path: UNKNOWN}":                       {RepoURL: "r", TargetRevision: "HEAD", Unknown: true},
		"{repoURL: r, path: p, targetRevision: UNKNOWN}":    {RepoURL: "r", Path: "p", Unknown: true},
		"{repoURL: r, chart: UNKNOWN}":                      {RepoURL: "r", Unknown: true},
		"{repoURL: UNKNOWN, path: p}":                       {Path: "p", Unknown: true},
		"{repoURL: UNKNOWN, path: p, targetRevision: main}": {Path: "p", TargetRevision: "main", Unknown: true},
		"{repoURL: 'oci://r', path: p}":                     {RepoURL: "oci://r", Path: "p"},
		"{repoURL: r, ref: v, targetRevision: ''}":          {RepoURL: "r", Ref: "v", TargetRevision: "HEAD"},
		// Only a version is looked for among the tags with the prefix.
		"{repoURL: r, path: p, targetRevision: 1.x, tagPrefix: b/}":      {RepoURL: "r", Path: "p", TargetRevision: "1.x", TagPrefix: "b/"},
		"{repoURL: r, path: p, targetRevision: 1.2.3, tagPrefix: b/}":    {RepoURL: "r", Path: "p", TargetRevision: "1.2.3", TagPrefix: "b/"},
		"{repoURL: r, path: p, targetRevision: main, tagPrefix: b/}":     {RepoURL: "r", Path: "p", TargetRevision: "main"},
		"{repoURL: r, path: p, tagPrefix: b/}":                           {RepoURL: "r", Path: "p", TargetRevision: "HEAD"},
		"{repoURL: r, chart: c, targetRevision: 1.x, tagPrefix: b/}":     {RepoURL: "r", Chart: "c", TargetRevision: "1.x"},
		"{repoURL: r, path: p, targetRevision: 1.x, tagPrefix: UNKNOWN}": {RepoURL: "r", Path: "p", TargetRevision: "1.x", Unknown: true},
	} {
		if got := SourcesOf(map[string]any{"source": tree(t, text)}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if got := SourcesOf(map[string]any{"sources": []any{Unknown, map[string]any{"repoURL": "r"}}}); len(got) != 2 || !got[0].Unknown || got[1].Unknown {
		t.Errorf("an unknown entry: %+v", got)
	}
	if got := SourcesOf(nil); got != nil {
		t.Errorf("no source: %+v", got)
	}
}

// A value that is known at plan must be the one that apply computes, whatever
// the unknowns turn out to be.
func TestMakingAParameterUnknownNeverChangesWhatStaysKnown(t *testing.T) {
	parts := []string{
		"{{.name}}", "{{.a}}", "{{.b.c}}", "{{.b}}", "{{$.a}}", "x", `{{if .a}}{{.name}}{{end}}`, `{{with .b}}{{.c}}{{end}}`,
		`{{range $k, $v := .b}}{{$k}}{{$v}}{{end}}`, `{{toJson .}}`, `{{$x := .a}}{{$x}}`, `{{index .b "c"}}`, `{{tpl "{{.a}}" $}}`,
		`{{keys .b | join "-"}}`, `{{(get .b "c") | quote}}`, `{{define "t"}}{{.c}}{{$.d}}{{end}}{{template "t" .b}}`,
		`{{block "u" .}}{{.a}}{{end}}`, `{{range .b}}{{$.a}}{{.}}{{end}}`, `{{with .b.c}}{{.}}{{else}}{{.a}}{{end}}`,
		`{{$_ := set .b "c" .a}}{{.b.c}}`, `{{with $x := .b}}{{$x.c}}{{$.env}}{{end}}`, `{{define "v"}}{{$.c}}{{end}}{{with .b}}{{template "v" .}}{{end}}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprint(rapid.SliceOfNDistinct(rapid.SampledFrom(parts), 1, 3, rapid.ID).Draw(t, "parts"))
		})
		known := map[string]any{"name": "n", "env": "dev", "url": "u", "a": "A", "b": map[string]any{"c": "C", "d": "D"}}
		spec := put(baseSpec(t), "template.spec.source.helm.valuesObject", map[string]any{
			"one": text.Draw(rt, "one"), text.Draw(rt, "key"): text.Draw(rt, "two"),
		})
		put(spec, "template.spec.source.helm.values", text.Draw(rt, "values"))
		put(spec, "generators.0.list.elements", []any{known})
		_, full := render(t, spec)

		partly, _ := cloneTree(known).(map[string]any)
		hidden := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "b.c", "b.d", "url", "env"}), rapid.ID).Draw(rt, "hidden")
		slices.Sort(hidden)
		slices.Reverse(hidden) // b.c before b
		for _, path := range hidden {
			put(partly, path, Unknown)
		}
		put(spec, "generators.0.list.elements", []any{partly})
		_, less := render(t, spec)
		if !covers(less[0].Object, full[0].Object) {
			rt.Fatalf("with %v unknown:\n%v\nbut in full:\n%v", hidden, less[0].Object, full[0].Object)
		}
	})
}

// covers reports whether partly is full, with some parts Unknown.
func covers(partly, full any) bool {
	if IsUnknown(partly) {
		return true
	}
	switch p := partly.(type) {
	case map[string]any:
		f, ok := full.(map[string]any)
		if !ok || len(p) != len(f) {
			return false
		}
		for key, e := range p {
			if v, has := f[key]; !has || !covers(e, v) {
				return false
			}
		}
		return true
	case []any:
		f, ok := full.([]any)
		return ok && slices.EqualFunc(p, f, covers)
	}
	return reflect.DeepEqual(partly, full)
}
