package appset

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRenderedApplicationIsWhatArgoCDWouldWrite(t *testing.T) {
	spec := put(baseSpec(t), "template.metadata.namespace", "argocd")
	put(spec, "template.metadata.annotations", map[string]any{"{{.env}}/note": "{{.name}}"})
	put(spec, "template.spec.project", "")
	_, apps := render(t, spec)
	if len(apps) != 2 || apps[0].Name != "a-app" || apps[1].Name != "b-app" {
		t.Fatalf("Applications are not sorted by name: %+v", apps)
	}
	want := tree(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: a-app
  namespace: argocd
  labels: {env: dev}
  annotations: {dev/note: a}
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  project: default
  source: {repoURL: https://git/r.git, path: apps/a}
  destination: {server: https://a, namespace: ns}
`)
	if !reflect.DeepEqual(apps[0].Object, want) {
		t.Errorf("got  %v\nwant %v", apps[0].Object, want)
	}
	if app := apps[0]; app.HasUnknown || app.NameUnknown || app.Automated || app.Origin != "generators[0].list.elements[1]" ||
		!reflect.DeepEqual(app.Labels, map[string]any{"env": "dev"}) ||
		!slices.Equal(app.Sources, []Source{{RepoURL: "https://git/r.git", Path: "apps/a", TargetRevision: "HEAD"}}) {
		t.Errorf("got %+v", app)
	}
}

func TestFinalizersOfTheTemplateAndPreservedResourcesAreRespected(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		v    any
		want any
	}{
		"a template with a finalizer keeps its own":    {"template.metadata.finalizers", []any{"x/{{.name}}"}, []any{"x/a"}},
		"an empty list counts as none":                 {"template.metadata.finalizers", []any{}, []any{ResourcesFinalizer}},
		"preserved resources get no finalizer":         {"syncPolicy.preserveResourcesOnDeletion", true, nil},
		"preserve false is the default":                {"syncPolicy.preserveResourcesOnDeletion", false, []any{ResourcesFinalizer}},
		"an unknown preserve makes finalizers unknown": {"syncPolicy.preserveResourcesOnDeletion", Unknown, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			_, apps := render(t, put(baseSpec(t), c.path, c.v))
			if got := get(apps[0].Object, "metadata.finalizers"); !reflect.DeepEqual(got, c.want) {
				t.Errorf("finalizers %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnElementWithoutParametersIsRefusedBecauseArgoCDWouldNotRenderIt(t *testing.T) {
	spec := put(baseSpec(t), "generators", []any{map[string]any{"list": map[string]any{"elements": []any{map[string]any{}}}}})
	put(spec, "template.metadata", map[string]any{"name": "fixed"})
	put(spec, "template.spec.source.path", "p")
	put(spec, "template.spec.destination", map[string]any{"name": "in-cluster"})
	wantIssue(t, failures(t, spec), "spec.generators", "generators[0].list.elements[0] has no parameter", "no finalizer")
}

func TestRollingSyncSwitchesAutomatedSyncOffAndAllAtOnceLeavesIt(t *testing.T) {
	rolling := tree(t, "{type: RollingSync, rollingSync: {steps: [{}]}}")
	for name, c := range map[string]struct {
		automated        any
		strategy         any
		wantEnabled      any
		automatic, taken bool
	}{
		"rolling, block":                {map[string]any{"prune": true}, rolling, false, false, true},
		"rolling, empty block":          {map[string]any{}, rolling, false, false, true},
		"rolling, off already":          {map[string]any{"enabled": false}, rolling, false, false, false},
		"rolling, on explicitly":        {map[string]any{"enabled": true}, rolling, false, false, true},
		"all at once, block":            {map[string]any{"prune": true}, nil, nil, true, false},
		"all at once, off":              {map[string]any{"enabled": false}, nil, false, false, false},
		"unknown strategy":              {map[string]any{}, Unknown, Unknown, false, false},
		"all at once, enabled unknown":  {map[string]any{"enabled": Unknown}, nil, Unknown, false, false},
		"rolling, enabled by parameter": {map[string]any{"enabled": `{{ eq .env "dev" }}`}, rolling, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(baseSpec(t), "template.spec.syncPolicy.automated", c.automated)
			_, apps := render(t, put(spec, "strategy", c.strategy))
			app := apps[0]
			if got := get(app.Object, "spec.syncPolicy.automated.enabled"); got != c.wantEnabled {
				t.Errorf("enabled %v, want %v", got, c.wantEnabled)
			}
			if app.Automated != c.automatic || app.AutomatedSwitchedOff != c.taken {
				t.Errorf("automated %v, switched off %v", app.Automated, app.AutomatedSwitchedOff)
			}
		})
	}
	_, apps := render(t, put(baseSpec(t), "strategy", rolling))
	if got := get(apps[0].Object, "spec.syncPolicy"); got != nil || apps[0].AutomatedSwitchedOff {
		t.Errorf("no automated block was there, and one appeared: %v", got)
	}
}

func TestTemplatesInBoolAndIntegerFieldsAreParsedAfterRendering(t *testing.T) {
	spec := put(baseSpec(t), "generators.0.list.elements", []any{map[string]any{
		"name": "a", "env": "dev", "url": "u", "prune": false, "limit": float64(1000000), "text": "maybe",
	}})
	put(spec, "template.spec.syncPolicy.automated", map[string]any{"prune": "{{.prune}}", "selfHeal": "true"})
	put(spec, "template.spec.revisionHistoryLimit", "{{.limit}}")
	_, apps := render(t, spec)
	for path, want := range map[string]any{"prune": false, "selfHeal": true} {
		if got := get(apps[0].Object, "spec.syncPolicy.automated."+path); got != want {
			t.Errorf("%s: %#v", path, got)
		}
	}
	if got := get(apps[0].Object, "spec.revisionHistoryLimit"); got != int64(1000000) {
		t.Errorf("limit: %#v", got)
	}
	wantIssue(t, failures(t, put(spec, "template.spec.revisionHistoryLimit", "{{.text}}")), "spec.template.spec.revisionHistoryLimit", "an integer", `"maybe"`, "elements[0]")
	put(spec, "template.spec.revisionHistoryLimit", nil)
	wantIssue(t, failures(t, put(spec, "template.spec.syncPolicy.automated.prune", "{{.text}}")), "spec.template.spec.syncPolicy.automated.prune", "a bool", `"maybe"`)
}

func TestKeysOfUserMapsAreTemplatesToo(t *testing.T) {
	spec := put(baseSpec(t), "template.spec.source.helm.valuesObject", tree(t, `
'{{.env}}': {'x-{{.name}}': ['{{.url}}', 1, null]}
plain: true
empty: null
`))
	_, apps := render(t, spec)
	want := tree(t, "{dev: {x-a: [https://a, 1, null]}, plain: true}")
	if got := get(apps[0].Object, "spec.source.helm.valuesObject"); !reflect.DeepEqual(got, any(want)) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTwoKeysThatRenderToOneTextAreAnError(t *testing.T) {
	for name, labels := range map[string]map[string]any{
		"two templates":             {"{{.env}}": "1", "{{ .env }}": "2"},
		"a template and plain text": {"{{.env}}": "1", "dev": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(baseSpec(t), "template.metadata.labels", labels)
			put(spec, "generators.0.list.elements", []any{map[string]any{"name": "a", "env": "dev", "url": "u"}})
			wantIssue(t, failures(t, spec), "spec.template.metadata.labels", "both render to \"dev\"", "random")
		})
	}
}

func TestWhatArgoCDOrKubernetesWouldRefuseIsAnErrorAtPlan(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	const template, metadata, source = "spec.template", "spec.template.metadata", "spec.template.spec.source"
	for name, c := range map[string]struct {
		path string
		v    any
		at   string
		word string
	}{
		"an upper-case name":           {"template.metadata.name", "Bad_{{.name}}", metadata + ".name", "Bad_a"},
		"an empty name":                {"template.metadata.name", `{{ "" }}`, metadata + ".name", "empty"},
		"a name of 64":                 {"template.metadata.name", "{{.name}}" + long(63), metadata + ".name", "64 characters"},
		"a label value of 64":          {"template.metadata.labels", map[string]any{"x": "{{.name}}" + long(63)}, metadata + ".labels.x", "63"},
		"a label value with a blank":   {"template.metadata.labels", map[string]any{"x": "a b"}, metadata + ".labels.x", "a b"},
		"a label key with a blank":     {"template.metadata.labels", map[string]any{"a b": "x"}, metadata + `.labels["a b"]`, "key of a label"},
		"an annotation key":            {"template.metadata.annotations", map[string]any{"a b": "x"}, metadata + `.annotations["a b"]`, "key of an annotation"},
		"a label of the provider":      {"template.metadata.labels", map[string]any{"argocdprogressive.io/set": "x"}, metadata + `.labels["argocdprogressive.io/set"]`, "sets itself"},
		"an annotation of its own":     {"template.metadata.annotations", map[string]any{"argocdprogressive.io/owner": "x"}, metadata + `.annotations["argocdprogressive.io/owner"]`, "sets it itself"},
		"a refresh that never ends":    {"template.metadata.annotations", map[string]any{"argocd.argoproj.io/refresh": "hard"}, metadata + `.annotations["argocd.argoproj.io/refresh"]`, "a request"},
		"reconciliation switched off":  {"template.metadata.annotations", map[string]any{"argocd.argoproj.io/skip-reconcile": "true"}, metadata + `.annotations["argocd.argoproj.io/skip-reconcile"]`, "leaves such an Application alone"},
		"no destination":               {"template.spec.destination", nil, template + ".spec.destination", "exactly one"},
		"server and name":              {"template.spec.destination.name", "x", template + ".spec.destination", "both"},
		"a namespace in upper case":    {"template.spec.destination.namespace", "NS", template + ".spec.destination.namespace", "NS"},
		"no source":                    {"template.spec.source", nil, source, "no source"},
		"source and sources":           {"template.spec.sources", []any{map[string]any{"repoURL": "r", "path": "p"}}, template + ".spec.sources", "exactly one"},
		"neither path nor chart":       {"template.spec.source", map[string]any{"repoURL": "r"}, source, "path (a directory in git) or chart"},
		"ref alone in a single source": {"template.spec.source", map[string]any{"repoURL": "r", "ref": "x"}, source, "path"},
		"a chart without a version":    {"template.spec.source", map[string]any{"repoURL": "r", "chart": "c"}, source + ".targetRevision", "version of the chart"},
		"an empty repoURL":             {"template.spec.source.repoURL", `{{ "" }}`, source + ".repoURL", "repoURL"},
		"a release name of 54":         {"template.spec.source.helm.releaseName", long(54), source + ".helm.releaseName", "53"},
		"a name too long for Helm": {"template", map[string]any{
			"metadata": map[string]any{"name": "{{.name}}" + long(53)},
			"spec":     map[string]any{"source": map[string]any{"repoURL": "r", "chart": "c", "targetRevision": "1"}, "destination": map[string]any{"name": "x"}},
		}, metadata + ".name", "Helm allows 53"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(baseSpec(t), "generators.0.list.elements", []any{map[string]any{"name": "a", "env": "dev", "url": "u"}})
			issues := failures(t, put(spec, c.path, c.v))
			wantIssue(t, issues, c.at, c.word, "generators[0].list.elements[0]")
		})
	}
}

func TestWhatIsJustShortEnoughIsFine(t *testing.T) {
	spec := put(baseSpec(t), "template.metadata.name", "{{.name}}"+strings.Repeat("a", 62))
	render(t, spec)
	put(spec, "template.spec.source.helm", map[string]any{"releaseName": "{{.name}}" + strings.Repeat("b", 52)})
	render(t, spec)
	put(spec, "template.spec.source", nil)
	put(spec, "template.spec.sources", []any{
		map[string]any{"repoURL": "r", "ref": "values"},
		map[string]any{"repoURL": "r", "chart": "c", "targetRevision": "1.x", "helm": map[string]any{"releaseName": "x"}},
	})
	_, apps := render(t, spec)
	want := []Source{{RepoURL: "r", Ref: "values", TargetRevision: "HEAD"}, {RepoURL: "r", Chart: "c", TargetRevision: "1.x"}}
	if !slices.Equal(apps[0].Sources, want) {
		t.Errorf("sources %+v", apps[0].Sources)
	}
}

func TestDuplicateNamesShowBothElementsWithoutTheirValues(t *testing.T) {
	spec := put(baseSpec(t), "template.metadata.name", "same")
	put(spec, "generators.0.list.elements", []any{
		map[string]any{"env": "prod", "name": "n", "auth": map[string]any{"token": "s3cr3t", "user": "u"}, "url": "https://a", "only": "here"},
		map[string]any{"env": "dev", "name": "n", "auth": map[string]any{"token": "0th3r", "user": "u"}, "url": "https://a", "later": Unknown},
	})
	issues := failures(t, spec)
	wantIssue(t, issues, "spec.template.metadata.name", `"same"`,
		"generators[0].list.elements[0]", "generators[0].list.elements[1]", "in which they differ: auth.token, env, later, only.")
	for _, issue := range issues {
		for _, value := range []string{"s3cr3t", "0th3r"} {
			if strings.Contains(issue.Detail, value) {
				t.Errorf("%s is printed: %s", value, issue.Detail)
			}
		}
	}
}

func TestOneMistakeInManyElementsPrintsAFewErrors(t *testing.T) {
	elements := make([]any, 100)
	for i := range elements {
		elements[i] = map[string]any{"name": "a", "env": "dev"}
	}
	spec := put(baseSpec(t), "generators.0.list.elements", elements)
	put(spec, "template.metadata.name", "{{.nam}}")
	put(spec, "template.spec.destination.server", "s")
	issues := failures(t, spec)
	if len(issues) != mostRepeats || !strings.Contains(issues[len(issues)-1].Detail, "95 more times") {
		t.Errorf("issues: %s", issues)
	}
}

func TestErrorsOfEveryElementAndFieldAreReportedTogether(t *testing.T) {
	spec := put(baseSpec(t), "generators.0.list.elements", []any{
		map[string]any{"name": "A", "env": "dev", "url": "u"},
		map[string]any{"name": "b", "env": "x y", "url": "u"},
		map[string]any{"name": "c", "env": "dev"},
	})
	var paths []string
	for _, issue := range failures(t, spec) {
		paths = append(paths, issue.Path.String())
	}
	want := []string{"spec.template.metadata.labels.env", "spec.template.metadata.name", "spec.template.spec.destination.server"}
	if !slices.Equal(paths, want) {
		t.Errorf("paths %q", paths)
	}
}

func TestRenderIsTheSameFromRunToRunAndSorted(t *testing.T) {
	name := rapid.StringMatching(`[a-z]{1,6}`)
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfDistinct(name, rapid.ID).Draw(rt, "names")
		elements := make([]any, len(names))
		for i, n := range names {
			elements[i] = map[string]any{"name": n, "env": "dev", "url": "u"}
		}
		spec := put(baseSpec(t), "generators.0.list.elements", elements)
		_, one := render(t, spec)
		_, two := render(t, spec)
		if !reflect.DeepEqual(one, two) {
			rt.Fatalf("two runs differ")
		}
		slices.Sort(names)
		for i, app := range one {
			if app.Name != names[i]+"-app" {
				rt.Fatalf("Application %d is %s, want %s-app", i, app.Name, names[i])
			}
		}
	})
}

func TestRenderedApplicationsShareNothing(t *testing.T) {
	spec := put(baseSpec(t), "template.spec.syncPolicy", map[string]any{"syncOptions": []any{"a=b"}})
	put(spec, "template.spec.source.helm.valuesObject", map[string]any{"x": map[string]any{"y": "z"}})
	set, apps := render(t, spec)
	scribble(apps[0].Object)
	fresh := rendered(t, set)
	if reflect.DeepEqual(apps[0].Object, fresh[0].Object) || !reflect.DeepEqual(apps[1].Object, fresh[1].Object) {
		t.Errorf("a change to one Application reached another")
	}
}

func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			scribble(e)
			if _, isText := e.(string); isText {
				v[key] = "scribble"
			}
		}
	case []any:
		for i, e := range v {
			scribble(e)
			if _, isText := e.(string); isText {
				v[i] = "scribble"
			}
		}
	}
}
