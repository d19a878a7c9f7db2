package appset

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// patchedSpec is the base spec with one element and a patch.
func patchedSpec(t testing.TB, patch string) map[string]any {
	spec := put(baseSpec(t), "generators.0.list.elements", []any{tree(t, "{name: a, env: dev, url: u, opts: [o1, o2], sure: true}")})
	put(spec, "template.metadata.annotations", map[string]any{"k": "v"})
	put(spec, "template.spec.syncPolicy", tree(t, "{automated: {prune: true}, syncOptions: [one, two]}"))
	return put(spec, "templatePatch", patch)
}

func TestAPatchIsMergedAsArgoCDDoes(t *testing.T) {
	for name, test := range map[string]struct {
		patch, path string
		want        any
	}{
		"an object is merged":                  {"spec: {source: {targetRevision: v1}}", "spec.source", map[string]any{"repoURL": "https://git/r.git", "path": "apps/a", "targetRevision": "v1"}},
		"it is rendered with the element":      {"spec: {source: {targetRevision: '{{.env}}'}}", "spec.source.targetRevision", "dev"},
		"JSON is read as well":                 {`{"spec": {"revisionHistoryLimit": {{len .opts}}}}`, "spec.revisionHistoryLimit", int64(2)},
		"other fields than texts are possible": {"spec:\n  syncPolicy:\n    automated:\n      selfHeal: {{.sure}}", "spec.syncPolicy.automated", map[string]any{"prune": true, "selfHeal": true}},
		"a loop makes a list":                  {"spec:\n  syncPolicy:\n    syncOptions:\n{{range .opts}}    - {{.}}=true\n{{end}}", "spec.syncPolicy.syncOptions", []any{"o1=true", "o2=true"}},
		"a list is replaced":                   {"spec: {syncPolicy: {syncOptions: [three]}}", "spec.syncPolicy.syncOptions", []any{"three"}},
		"null removes":                         {"spec: {syncPolicy: null}", "spec.syncPolicy", nil},
		"null removes a label":                 {"metadata: {labels: {env: null, new: v}}", "metadata.labels", map[string]any{"new": "v"}},
		"null of what is not there":            {"spec: {info: null}", "spec.info", nil},
		"finalizers are merged, the patch's first": {"metadata: {finalizers: [patch/fin]}", "metadata.finalizers",
			[]any{"patch/fin", ResourcesFinalizer}},
		"finalizers can be deleted":                        {`metadata: {$deleteFromPrimitiveList/finalizers: [` + ResourcesFinalizer + `]}`, "metadata.finalizers", nil},
		"finalizers can be removed":                        {"metadata: {finalizers: null}", "metadata.finalizers", nil},
		"an option can be deleted":                         {"spec: {syncPolicy: {$deleteFromPrimitiveList/syncOptions: [one]}}", "spec.syncPolicy.syncOptions", []any{"two"}},
		"an object is replaced":                            {"spec: {source: {$patch: replace, repoURL: r, chart: c, targetRevision: '1'}}", "spec.source", map[string]any{"repoURL": "r", "chart": "c", "targetRevision": "1"}},
		"a map is replaced":                                {"metadata: {labels: {$patch: replace, x: v}}", "metadata.labels", map[string]any{"x": "v"}},
		"a map is emptied":                                 {"metadata: {annotations: {$patch: delete}}", "metadata.annotations", nil},
		"the rest is dropped":                              {"spec: {syncPolicy: {$retainKeys: [syncOptions], syncOptions: [z]}}", "spec.syncPolicy", map[string]any{"syncOptions": []any{"z"}}},
		"what is replaced must be there, as in Kubernetes": {"spec: {source: {helm: {$patch: replace, version: v3}}}", "spec.source.helm", nil},
		"the destination always is":                        {"spec: {destination: {$patch: replace, name: c}}", "spec.destination", map[string]any{"name": "c"}},
		"a project cannot be changed":                      {"spec: {project: other}", "spec.project", "p"},
		"a project cannot be removed":                      {"spec: {project: null}", "spec.project", "p"},
		"the name can be changed":                          {"metadata: {name: 'x-{{.name}}'}", "metadata.name", "x-a"},
		"the namespace is that of the set":                 {"metadata: {namespace: elsewhere}", "metadata.namespace", "argocd"},
		"kind and version say nothing":                     {"apiVersion: v1\nkind: Pod", "kind", "Application"},
		"an object of valuesObject is added":               {"spec: {source: {helm: {valuesObject: {a: {b: 1}, big: 9007199254740993}}}}", "spec.source.helm.valuesObject", map[string]any{"a": map[string]any{"b": int64(1)}, "big": int64(9007199254740993)}},
		"an empty rendering is no change":                  {"{{if eq .env \"prod\"}}spec: {info: []}{{end}}", "spec.info", nil},
		"a comment is no change":                           {"# nothing", "spec.info", nil},
		"null is no change":                                {"null", "spec.project", "p"},
	} {
		t.Run(name, func(t *testing.T) {
			_, apps := render(t, patchedSpec(t, test.patch))
			if got := get(apps[0].Object, test.path); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s is %v, want %v", test.path, got, test.want)
			}
		})
	}
}

func TestAPatchedApplicationIsSeenAsItIsWritten(t *testing.T) {
	patch := "metadata: {name: other, labels: {env: prod}}\nspec: {source: {repoURL: r2, path: p2}, syncPolicy: {automated: {enabled: true}}}"
	_, apps := render(t, patchedSpec(t, patch))
	app := apps[0]
	if app.Name != "other" || app.Labels["env"] != "prod" || app.Sources[0].RepoURL != "r2" || !app.Automated {
		t.Errorf("%+v", app)
	}
	spec := put(patchedSpec(t, patch), "strategy", tree(t, "{type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: env, operator: In, values: [prod]}]}]}}"))
	if _, apps = render(t, spec); !apps[0].AutomatedSwitchedOff || get(apps[0].Object, "spec.syncPolicy.automated.enabled") != false {
		t.Errorf("with RollingSync: %+v", apps[0])
	}
}

func TestAPatchWithoutGoTemplateReplacesTags(t *testing.T) {
	spec := put(flatSpec(t), "templatePatch", "spec: {source: {targetRevision: '{{env}}'}}")
	if _, apps := render(t, spec); get(apps[0].Object, "spec.source.targetRevision") != "dev" {
		t.Errorf("%v", apps[0].Object)
	}
	issues := failures(t, put(spec, "templatePatch", "spec: {source: {targetRevision: '{{gone}}'}}"))
	if len(issues) == 0 || !strings.Contains(issues[0].String(), "{{gone}} has no parameter") {
		t.Errorf("%s", issues)
	}
}

func TestAPatchThatDoesNotFitIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		words []string
	}{
		"an unknown field":             {"spec: {sourc: {}}", []string{"Unknown field", "spec.sourc", `Did you mean "source"?`}},
		"another case":                 {"Spec: {}", []string{"Unknown field", `"spec"`}},
		"an unknown field deep inside": {"spec: {source: {helm: {skipCRDs: true}}}", []string{"spec.source.helm.skipCRDs", `"skipCrds"`}},
		"a number for a text":          {"spec: {source: {targetRevision: 1.0}}", []string{"Wrong type", "spec.source.targetRevision", "a string", "quotes"}},
		"a text for a bool":            {"spec: {syncPolicy: {automated: {prune: 'true'}}}", []string{"spec.syncPolicy.automated.prune", "a bool"}},
		"a text for a number":          {"spec: {revisionHistoryLimit: '3'}", []string{"an integer"}},
		"a list for an object":         {"spec: []", []string{"spec", "must be an object", "a list"}},
		"a label that is no text":      {"metadata: {labels: {a: true}}", []string{"metadata.labels.a", "a string"}},
		"null in a list":               {"spec: {syncPolicy: {syncOptions: [null]}}", []string{"syncOptions[0]", "null"}},
		"a directive in a list":        {"spec: {sources: [{$patch: replace}, {repoURL: r, path: p}]}", []string{"sources[0]", "directive"}},
		"an unknown directive":         {"spec: {source: {$patch: merge}}", []string{"Invalid templatePatch", "replace or delete"}},
		"an order of no list":          {"metadata: {$setElementOrder/name: []}", []string{"Unknown field"}},
		"a directive with a map in it": {"spec: {source: {$retainKeys: [{a: b}], path: p}}", []string{"Invalid templatePatch", "directive"}},
		"a list":                       {"[]", []string{"must be an object"}},
		"a text":                       {"hello", []string{"must be an object", "hello"}},
		"broken YAML":                  {"a: [", []string{"not valid YAML"}},
		"YAML that looks like JSON":    {"{spec: {}}", []string{"read as JSON"}},
		"two documents":                {"spec: {}\n---\nspec: {}", []string{"2 YAML documents"}},
		"an operation":                 {"operation: {sync: {}}", []string{"operation", "not supported"}},
		"a status":                     {"status: {}", []string{"status", "not supported"}},
		"an owner":                     {"metadata: {ownerReferences: []}", []string{"metadata.ownerReferences"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, patch := range []string{test.patch, "{{/* templated */}}" + test.patch} {
				issues := failures(t, patchedSpec(t, patch))
				if len(issues) == 0 {
					t.Fatalf("%s: no error", patch)
				}
				for _, word := range test.words {
					if !strings.Contains(issues.String(), word) || issues[0].Path.String() != "spec.templatePatch" {
						t.Errorf("%s: no %q in: %s", patch, word, issues)
					}
				}
			}
		})
	}
}

func TestWhatAPatchMakesIsChecked(t *testing.T) {
	for name, test := range map[string]struct{ patch, path, words string }{
		"a source without a repository": {"spec: {source: {$patch: replace, path: x}}", "spec.templatePatch", "spec.source.repoURL is missing"},
		"no name":                       {"metadata: null", "spec.template.metadata.name", "is empty"},
		"a name that is not possible":   {"metadata: {name: A_B}", "spec.template.metadata.name", "A_B"},
		"two ends":                      {"spec: {destination: {name: c}}", "spec.template.spec.destination", "both"},
		"what is left of a template":    {"spec: {info: [{name: n, value: '{{.gone}}'}]}", "spec.templatePatch", "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(patchedSpec(t, test.patch), "goTemplateOptions", nil)
			wantIssue(t, failures(t, spec), test.path, test.words)
		})
	}
}

func TestObjectsInsideOfValuesObjectCannotBeMerged(t *testing.T) {
	spec := put(patchedSpec(t, "spec: {source: {helm: {valuesObject: {image: {tag: x}}}}}"), "template.spec.source.helm", tree(t, "valuesObject: {image: {name: n}}"))
	wantIssue(t, failures(t, spec), "spec.templatePatch", `"image"`, "valuesObject")
	put(spec, "templatePatch", "spec: {source: {helm: {valuesObject: {$patch: replace, image: {tag: x}}}}}")
	if _, apps := render(t, spec); !reflect.DeepEqual(get(apps[0].Object, "spec.source.helm.valuesObject"), map[string]any{"image": map[string]any{"tag": "x"}}) {
		t.Errorf("%v", apps[0].Object)
	}
}

func TestAPatchIsCheckedWithoutAnyElement(t *testing.T) {
	for patch, words := range map[string]string{
		"{{ .a":                      "unclosed action",
		"spec: {x: '{{ uuidv4 }}'}":  "uuidv4",
		"spec: {x: '{{ nothing }}'}": "nothing",
		"spec: {sourc: {}}":          "spec.sourc",
	} {
		spec := put(patchedSpec(t, patch), "generators.0.list.elements", []any{})
		wantIssue(t, failures(t, spec), "spec.templatePatch", words)
	}
}

func TestAPatchThatIsNotKnownMakesTheApplicationUnknown(t *testing.T) {
	for _, patch := range []any{Unknown, "spec: {source: {targetRevision: '{{.name}}-{{.rev}}'}}"} {
		spec := put(patchedSpec(t, ""), "templatePatch", patch)
		put(spec, "generators.0.list.elements.0.rev", Unknown)
		_, apps := render(t, spec)
		if app := apps[0]; !app.NameUnknown || !app.LabelsUnknown || !app.HasUnknown || !app.Sources[0].Unknown {
			t.Errorf("%v: %+v", patch, app)
		}
	}
}

func TestAPatchMergesWithWhatIsNotKnown(t *testing.T) {
	for name, test := range map[string]struct {
		unknown, patch, path string
		want                 any
	}{
		"a text is replaced":             {"template.spec.source.path", "spec: {source: {path: x}}", "spec.source.path", "x"},
		"another stays":                  {"template.spec.source.path", "spec: {source: {targetRevision: x}}", "spec.source", map[string]any{"repoURL": "https://git/r.git", "path": Unknown, "targetRevision": "x"}},
		"an object stays unknown":        {"template.spec.source", "spec: {source: {path: x}}", "spec.source", Unknown},
		"an object is removed":           {"template.spec.syncPolicy", "spec: {syncPolicy: null}", "spec.syncPolicy", nil},
		"a list is replaced":             {"template.spec.syncPolicy.syncOptions", "spec: {syncPolicy: {syncOptions: [x]}}", "spec.syncPolicy.syncOptions", []any{"x"}},
		"finalizers stay unknown":        {"template.metadata.finalizers", "metadata: {finalizers: [x/y]}", "metadata.finalizers", Unknown},
		"labels stay unknown":            {"template.metadata.labels", "metadata: {labels: {a: b}}", "metadata.labels", Unknown},
		"the spec stays unknown":         {"template.spec", "spec: {info: []}", "spec", Unknown},
		"a list loses what is not known": {"template.spec.syncPolicy.syncOptions.0", "spec: {syncPolicy: {$deleteFromPrimitiveList/syncOptions: [two]}}", "spec.syncPolicy.syncOptions", Unknown},
		"all is replaced":                {"template.spec.source", "spec: {$patch: replace, source: {repoURL: r, path: q}, destination: {name: c}}", "spec.source.path", "q"},
	} {
		t.Run(name, func(t *testing.T) {
			_, apps := render(t, put(patchedSpec(t, test.patch), test.unknown, Unknown))
			if got := get(apps[0].Object, test.path); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s is %v, want %v", test.path, got, test.want)
			}
		})
	}
}

func TestAPatchOfWhatIsThereAlreadyChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specTree().Draw(t, "spec")
		for _, source := range []any{spec["source"], fieldOf(spec["sourceHydrator"], "drySource")} {
			delete(asObject(fieldOf(source, "helm")), "valuesObject")
		}
		original := map[string]any{"metadata": map[string]any{"name": "a"}, "spec": spec}
		want := HashRendered(original)
		patch, _ := cloneTree(map[string]any{"spec": spec}).(map[string]any)
		merged, err := mergePatch(original, patch)
		if err != nil {
			t.Fatal(err)
		}
		if got := HashRendered(merged); got != want {
			t.Fatalf("merged with itself: %v", merged)
		}
	})
}

func BenchmarkTemplatePatch(b *testing.B) {
	spec := baseSpec(b)
	elements := make([]any, 10_000)
	for i := range elements {
		elements[i] = map[string]any{"name": fmt.Sprintf("app-%d", i), "env": "dev", "url": "https://x"}
	}
	put(spec, "generators.0.list.elements", elements)
	put(spec, "templatePatch", "metadata:\n  labels:\n    name: '{{.name}}'\nspec:\n  syncPolicy:\n    automated: {prune: {{eq .env \"dev\"}}}\n    syncOptions: [CreateNamespace=true]\n")
	set, issues := Decode("set", "argocd", spec)
	if len(issues) > 0 {
		b.Fatal(issues)
	}
	for b.Loop() {
		if got := rendered(b, set); len(got) != len(elements) {
			b.Fatal(len(got))
		}
	}
}
