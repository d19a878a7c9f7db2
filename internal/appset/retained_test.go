package appset

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// retainedBy decodes what a set says about the changes of others.
func retainedBy(t testing.TB, text string) *Retained {
	t.Helper()
	spec := baseSpec(t)
	for key, v := range tree(t, text) {
		spec[key] = v
	}
	set, issues := Decode("set", "argocd", spec)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	return set.Retained
}

const retainedLive = `
metadata: {name: a, namespace: argocd, labels: {env: dev, k: live}, annotations: {note: live}}
spec:
  project: p
  source: {repoURL: r, path: x, targetRevision: live, helm: {parameters: [{name: image, value: live}, {name: b, value: '1'}]}}
  destination: {name: c}
`

const retainedWanted = `
metadata: {name: a, namespace: argocd, labels: {env: prod, k: new}, annotations: {note: new, more: new}}
spec:
  project: p
  source: {repoURL: r, path: z, targetRevision: new, helm: {parameters: [{name: image, value: new}, {name: b, value: '2'}]}}
  destination: {name: c}
  syncPolicy: {automated: {prune: true}, syncOptions: [a]}
`

func TestWhatIsRetainedKeepsItsLiveValue(t *testing.T) {
	for name, test := range map[string]struct {
		rules, path string
		want        any
	}{
		"a preserved label":               {"preservedFields: {labels: [k]}", "metadata.labels", map[string]any{"env": "prod", "k": "live"}},
		"a preserved annotation":          {"preservedFields: {annotations: [note, more]}", "metadata.annotations", map[string]any{"note": "live", "more": "new"}},
		"another label":                   {"preservedFields: {annotations: [k]}", "metadata.labels.k", "new"},
		"a field by its pointer":          {"ignoreApplicationDifferences: [{jsonPointers: [/spec/source/targetRevision]}]", "spec.source.targetRevision", "live"},
		"the fields beside it are new":    {"ignoreApplicationDifferences: [{jsonPointers: [/spec/source/targetRevision]}]", "spec.source.path", "z"},
		"of this Application":             {"ignoreApplicationDifferences: [{name: a, jsonPointers: [/spec/source/targetRevision]}]", "spec.source.targetRevision", "live"},
		"of another Application":          {"ignoreApplicationDifferences: [{name: b, jsonPointers: [/spec/source/targetRevision]}]", "spec.source.targetRevision", "new"},
		"a field by its path":             {"ignoreApplicationDifferences: [{jqPathExpressions: [.spec.source.targetRevision]}]", "spec.source.targetRevision", "live"},
		"an object":                       {"ignoreApplicationDifferences: [{jsonPointers: [/spec/source]}]", "spec.source.path", "x"},
		"an ignored label":                {"ignoreApplicationDifferences: [{jsonPointers: [/metadata/labels/k]}]", "metadata.labels", map[string]any{"env": "prod", "k": "live"}},
		"an ignored annotation not there": {"ignoreApplicationDifferences: [{jsonPointers: [/metadata/annotations/more]}]", "metadata.annotations", map[string]any{"note": "new"}},
		"an escaped key":                  {"ignoreApplicationDifferences: [{jsonPointers: [/metadata/labels/a~1b, /metadata/labels/k]}]", "metadata.labels.k", "live"},
		"an entry of a list": {"ignoreApplicationDifferences: [{jqPathExpressions: ['.spec.source.helm.parameters[] | select(.name == \"image\") | .value']}]", "spec.source.helm.parameters",
			[]any{map[string]any{"name": "image", "value": "live"}, map[string]any{"name": "b", "value": "2"}}},
		"an entry by its index":           {"ignoreApplicationDifferences: [{jsonPointers: [/spec/source/helm/parameters/0/value]}]", "spec.source.helm.parameters.0.value", "live"},
		"what is not there":               {"ignoreApplicationDifferences: [{jsonPointers: [/spec/sources/0/path, /spec/x/y], jqPathExpressions: ['.spec.sources[].path']}]", "spec.source.path", "z"},
		"what is ignored in a new object": {"ignoreApplicationDifferences: [{jsonPointers: [/spec/syncPolicy/automated]}]", "spec.syncPolicy", map[string]any{"syncOptions": []any{"a"}}},
		"everything":                      {"ignoreApplicationDifferences: [{jsonPointers: [/spec]}]", "spec.source.targetRevision", "live"},
	} {
		t.Run(name, func(t *testing.T) {
			live, wanted := tree(t, retainedLive), tree(t, retainedWanted)
			got := retainedBy(t, test.rules).Effective(live, wanted)
			if v := get(got, test.path); !reflect.DeepEqual(v, test.want) {
				t.Errorf("%s is %v, want %v", test.path, v, test.want)
			}
			if !reflect.DeepEqual(live, tree(t, retainedLive)) || !reflect.DeepEqual(wanted, tree(t, retainedWanted)) {
				t.Error("an argument was changed")
			}
		})
	}
}

func TestWhatIsRetainedMakesNoDifference(t *testing.T) {
	const all = `{
preservedFields: {labels: [k], annotations: [note, more]},
ignoreApplicationDifferences: [{jsonPointers: [/spec/source/targetRevision, /spec/source/path, /spec/syncPolicy, /metadata/labels/env], jqPathExpressions: ['.spec.source.helm']}]}`
	r := retainedBy(t, all)
	live, wanted := tree(t, retainedLive), tree(t, retainedWanted)
	labels, annotations := []string{"env", "k"}, []string{"more", "note"}
	if a, b := r.Hash(live, labels, annotations), r.HashRendered(wanted); a != b || a == "" {
		t.Errorf("live %s, rendered %s", a, b)
	}
	if a, b := Hash(live, labels, annotations), HashRendered(wanted); a == b {
		t.Errorf("without rules both are %s", a)
	}
	put(wanted, "spec.source.repoURL", "other")
	if a, b := r.Hash(live, labels, annotations), r.HashRendered(wanted); a == b {
		t.Error("another repository makes no difference")
	}
	if got := r.HashRendered(put(wanted, "spec.source.path", Unknown)); got != "" {
		t.Errorf("with an Unknown the hash is %q", got)
	}
}

func TestWhatOnlyOthersSetIsKept(t *testing.T) {
	r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/source/kustomize/images, /spec/syncPolicy/automated, /spec/project]}]")
	live := tree(t, retainedLive)
	put(live, "spec.source.kustomize", map[string]any{"images": []any{"a:1"}})
	put(live, "spec.syncPolicy", map[string]any{"automated": map[string]any{"prune": true}})
	put(live, "spec.project", "theirs")
	wanted := tree(t, retainedWanted)
	put(wanted, "spec.syncPolicy", nil)
	got := r.Effective(live, wanted)
	for path, want := range map[string]any{
		"spec.source.kustomize": map[string]any{"images": []any{"a:1"}}, "spec.source.path": "z",
		"spec.syncPolicy": map[string]any{"automated": map[string]any{"prune": true}}, "spec.project": "theirs",
	} {
		if v := get(got, path); !reflect.DeepEqual(v, want) {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
}

func TestObjectsWithNothingButIgnoredFieldsAreMergedAllTheSame(t *testing.T) {
	r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/source/helm/releaseName, /spec/syncPolicy/automated]}]")
	live, wanted := tree(t, retainedLive), tree(t, retainedWanted)
	put(live, "spec.source.helm", map[string]any{"releaseName": "theirs", "values": "gone"})
	put(wanted, "spec.source.helm", map[string]any{"releaseName": "ours"})
	put(live, "spec.syncPolicy", map[string]any{"automated": map[string]any{}})
	got := r.Effective(live, wanted)
	for path, want := range map[string]any{
		"spec.source.helm": map[string]any{"releaseName": "theirs"},
		"spec.syncPolicy":  map[string]any{"automated": map[string]any{}, "syncOptions": []any{"a"}},
	} {
		if v := get(got, path); !reflect.DeepEqual(v, want) {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
}

func TestAListOfAnotherLengthIsAsRendered(t *testing.T) {
	r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/source/helm/parameters/0/value]}]")
	wanted := put(tree(t, retainedWanted), "spec.source.helm.parameters", []any{map[string]any{"name": "image", "value": "new"}})
	if got := get(r.Effective(tree(t, retainedLive), wanted), "spec.source.helm.parameters.0.value"); got != "new" {
		t.Errorf("got %v", got)
	}
}

func TestANewApplicationIsAsRendered(t *testing.T) {
	r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/source/targetRevision]}]")
	wanted := tree(t, retainedWanted)
	if got := r.Effective(nil, wanted); !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %v", got)
	}
}

func TestWithoutRulesTheHashIsTheStoredOne(t *testing.T) {
	// A stored format: these stand on Applications.
	const want = "46c41a89"
	object := tree(t, retainedLive)
	var none *Retained
	for what, got := range map[string]string{
		"no rules":   none.HashRendered(object),
		"plain":      HashRendered(object),
		"live":       none.Hash(object, []string{"env", "k"}, []string{"note"}),
		"other rule": retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/info]}]").HashRendered(object),
	} {
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if r := retainedBy(t, "{preservedFields: {}, ignoreApplicationDifferences: [{name: a}]}"); r != nil {
		t.Errorf("rules that say nothing: %+v", r)
	}
}

func TestARuleThatFindsNothingLeavesTheHash(t *testing.T) {
	r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/nothing/here], jqPathExpressions: ['.spec.nothing[].x', '.spec.source | select(.path == \"nowhere\") | .path']}]")
	rapid.Check(t, func(t *rapid.T) {
		object := objectOf(specTree().Draw(t, "spec"))
		if got, want := r.HashRendered(object), HashRendered(object); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func TestWritingTheEffectiveApplicationSettlesIt(t *testing.T) {
	r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: [/spec/source/path, /spec/sources/0/path, /spec/info/0], jqPathExpressions: ['.spec.source.helm.parameters[]?.value', '.spec.syncPolicy.automated']}]")
	rapid.Check(t, func(t *rapid.T) {
		live, rendered := objectOf(specTree().Draw(t, "live")), objectOf(specTree().Draw(t, "rendered"))
		effective := r.Effective(live, rendered)
		again := r.Effective(effective, rendered)
		if r.HashRendered(effective) != r.HashRendered(again) {
			t.Fatalf("written %v, then %v", effective, again)
		}
	})
}

func TestPolicies(t *testing.T) {
	for policy, want := range map[ApplicationsSync][2]bool{
		"": {true, true}, Sync: {true, true}, CreateOnly: {false, false}, CreateUpdate: {true, false}, CreateDelete: {false, true},
	} {
		set, issues := Decode("set", "argocd", put(baseSpec(t), "syncPolicy.applicationsSync", string(policy)))
		if len(issues) > 0 || set.ApplicationsSync != policy {
			t.Errorf("%q: %q, %s", policy, set.ApplicationsSync, issues)
		}
		if got := [2]bool{policy.Updates(), policy.Deletes()}; got != want {
			t.Errorf("%q: updates and deletes %v, want %v", policy, got, want)
		}
	}
}

func TestTheSourcesOfAnApplicationAreThoseThatAreKept(t *testing.T) {
	const one = "{metadata: {name: a}, spec: {source: {repoURL: r, path: x}}}"
	const two = "{metadata: {name: a}, spec: {sources: [{repoURL: r, path: x, targetRevision: v1}, {repoURL: c, chart: d, targetRevision: v2}]}}"
	for name, test := range map[string]struct {
		rules, object string
		live, want    []Source
	}{
		"a branch that is ignored":  {"/spec/source/targetRevision", one, []Source{{RepoURL: "old", TargetRevision: "branch"}}, []Source{{RepoURL: "r", Path: "x", TargetRevision: "branch"}}},
		"a repository":              {"/spec/source/repoURL", one, []Source{{RepoURL: "fork", TargetRevision: "branch"}}, []Source{{RepoURL: "fork", Path: "x", TargetRevision: "HEAD"}}},
		"something else is ignored": {"/spec/source/path", one, []Source{{RepoURL: "old", TargetRevision: "branch"}}, []Source{{RepoURL: "r", Path: "x", TargetRevision: "HEAD"}}},
		"one of two": {"/spec/sources/1/targetRevision", two, []Source{{RepoURL: "r", TargetRevision: "v0"}, {RepoURL: "c", Chart: "d", TargetRevision: "v0"}},
			[]Source{{RepoURL: "r", Path: "x", TargetRevision: "v1"}, {RepoURL: "c", Chart: "d", TargetRevision: "v0"}}},
		"a prefix of tags": {"/spec/source/tagPrefix", "{metadata: {name: a}, spec: {source: {repoURL: r, path: x, targetRevision: 1.x, tagPrefix: a/}}}",
			[]Source{{RepoURL: "r", TargetRevision: "1.x", TagPrefix: "b/"}}, []Source{{RepoURL: "r", Path: "x", TargetRevision: "1.x", TagPrefix: "b/"}}},
		"another number of them": {"/spec/sources/1/targetRevision", two, []Source{{RepoURL: "r"}},
			[]Source{{RepoURL: "r", Path: "x", TargetRevision: "v1"}, {RepoURL: "c", Chart: "d", TargetRevision: "v2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := retainedBy(t, "ignoreApplicationDifferences: [{jsonPointers: ["+test.rules+"]}]")
			if got := r.Sources(tree(t, test.object), test.live); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
