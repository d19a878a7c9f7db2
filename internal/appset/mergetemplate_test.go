package appset

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestAGeneratorTemplateIsFilledUpFromTheTemplateOfTheSet(t *testing.T) {
	for name, test := range map[string]struct{ generator, set, want string }{
		"what the generator says wins":           {"metadata: {name: g}", "metadata: {name: s, namespace: n}", "metadata: {name: g, namespace: n}"},
		"an empty template changes nothing":      {"{metadata: {}, spec: {project: '', destination: {}}}", "{metadata: {name: s}, spec: {project: p, destination: {name: c}}}", "{metadata: {name: s}, spec: {project: p, destination: {name: c}}}"},
		"labels are merged by key":               {"metadata: {labels: {a: g, b: ''}}", "metadata: {labels: {a: s, b: s, c: s}}", "metadata: {labels: {a: g, b: s, c: s}}"},
		"an empty label is there if nobody says": {"metadata: {labels: {a: ''}}", "metadata: {labels: {c: ''}}", "metadata: {labels: {a: '', c: ''}}"},
		"objects are merged deeply":              {"spec: {source: {helm: {version: v3}}}", "spec: {source: {repoURL: r, helm: {version: v2, releaseName: x}}}", "spec: {source: {repoURL: r, helm: {version: v3, releaseName: x}}}"},
		"both ends of a destination are kept":    {"spec: {destination: {name: c}}", "spec: {destination: {server: u}}", "spec: {destination: {name: c, server: u}}"},
		"a list is taken as a whole":             {"spec: {syncPolicy: {syncOptions: [a]}}", "spec: {syncPolicy: {syncOptions: [b, c]}}", "spec: {syncPolicy: {syncOptions: [a]}}"},
		"an empty list gives way":                {"spec: {syncPolicy: {syncOptions: []}}", "spec: {syncPolicy: {syncOptions: [b, c]}}", "spec: {syncPolicy: {syncOptions: [b, c]}}"},
		"false cannot override":                  {"spec: {syncPolicy: {automated: {prune: false, enabled: false}}}", "spec: {syncPolicy: {automated: {prune: true, enabled: true}}}", "spec: {syncPolicy: {automated: {prune: true, enabled: true}}}"},
		"false stays where nothing is said":      {"spec: {syncPolicy: {automated: {enabled: false}}}", "spec: {syncPolicy: {automated: {}}}", "spec: {syncPolicy: {automated: {enabled: false}}}"},
		"zero cannot override":                   {"spec: {revisionHistoryLimit: 0}", "spec: {revisionHistoryLimit: 3}", "spec: {revisionHistoryLimit: 3}"},
		"zero fills up":                          {"spec: {project: p}", "spec: {revisionHistoryLimit: 0}", "spec: {project: p, revisionHistoryLimit: 0}"},
		"an empty object is merged":              {"spec: {syncPolicy: {}}", "spec: {syncPolicy: {syncOptions: [a]}}", "spec: {syncPolicy: {syncOptions: [a]}}"},
		"valuesObject is taken as a whole":       {"spec: {source: {helm: {valuesObject: {a: 1}}}}", "spec: {source: {helm: {valuesObject: {a: 2, b: 3}}}}", "spec: {source: {helm: {valuesObject: {a: 1}}}}"},
		"an empty valuesObject wins too":         {"spec: {source: {helm: {valuesObject: {}}}}", "spec: {source: {helm: {valuesObject: {a: 2}}}}", "spec: {source: {helm: {valuesObject: {}}}}"},
		"sources are not merged":                 {"spec: {sources: [{repoURL: g}]}", "spec: {sources: [{repoURL: s, path: p}, {repoURL: t}]}", "spec: {sources: [{repoURL: g}]}"},
		"an unknown could be anything":           {"spec: {project: UNKNOWN}", "spec: {project: p}", "spec: {project: UNKNOWN}"},
		"an unknown fills up":                    {"spec: {project: ''}", "spec: {project: UNKNOWN}", "spec: {project: UNKNOWN}"},
		"what is said wins over an unknown":      {"spec: {project: p}", "spec: {project: UNKNOWN}", "spec: {project: p}"},
		"unknown labels stay unknown":            {"metadata: {labels: {a: b}}", "metadata: {labels: UNKNOWN}", "metadata: {labels: UNKNOWN}"},
		"an unknown source stays unknown":        {"spec: {source: {path: p}}", "spec: {source: UNKNOWN}", "spec: {source: UNKNOWN}"},
	} {
		t.Run(name, func(t *testing.T) {
			checked := func(text string) map[string]any {
				var issues Issues
				return templateShape.check(nil, tree(t, text), &issues).(map[string]any)
			}
			if got, want := mergeTemplate(checked(test.generator), checked(test.set)), checked(test.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestMergingATemplateWithItselfOrWithNothingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := map[string]any{"spec": specTree().Draw(t, "spec")}
		before := cloneTree(template)
		for what, got := range map[string]map[string]any{
			"itself": mergeTemplate(template, template),
			"empty":  mergeTemplate(map[string]any{}, template),
			"filled": mergeTemplate(template, map[string]any{}),
		} {
			if !reflect.DeepEqual(got, template) {
				t.Fatalf("%s: got %v, want %v", what, got, template)
			}
		}
		mergeTemplate(template, map[string]any{"spec": specTree().Draw(t, "other")})
		if !reflect.DeepEqual(before, any(template)) {
			t.Fatalf("the template was changed to %v", template)
		}
	})
}

func TestTheTemplateOfAGeneratorIsForItsOwnElements(t *testing.T) {
	spec := put(baseSpec(t), "generators", []any{
		tree(t, "list: {elements: [{name: a, env: dev, url: u}], template: {metadata: {labels: {kind: list}}, spec: {source: {repoURL: r, path: 'other/{{.name}}'}}}}"),
		tree(t, "list: {elements: [{name: b, env: dev, url: u}]}"),
	})
	_, apps := render(t, spec)
	if got := get(apps[0].Object, "spec.source.path"); got != "other/a" || apps[0].Labels["kind"] != "list" || apps[0].Labels["env"] != "dev" {
		t.Errorf("with a template of its own: %v", apps[0].Object)
	}
	if got := get(apps[1].Object, "spec.source.path"); got != "apps/b" || apps[1].Labels["kind"] != nil {
		t.Errorf("without: %v", apps[1].Object)
	}
}

func TestTheNameMayComeFromAGenerator(t *testing.T) {
	spec := put(baseSpec(t), "template.metadata.name", nil)
	wantIssue(t, failures(t, spec), "spec.template.metadata.name", "missing")
	put(spec, "generators.0.list.template", tree(t, "{metadata: {name: 'own-{{.name}}'}, spec: {}}"))
	if _, apps := render(t, spec); apps[0].Name != "own-a" {
		t.Errorf("name %q", apps[0].Name)
	}
}
