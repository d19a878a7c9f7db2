package appset

import (
	"reflect"
	"slices"
	"testing"
)

// hydrated is a spec whose Applications are hydrated.
func hydrated(t *testing.T) map[string]any {
	return put(put(baseSpec(t), "template.spec.source", nil), "template.spec.sourceHydrator", tree(t, `
drySource: {repoURL: https://git/r.git, path: 'apps/{{.name}}', targetRevision: main, kustomize: {namePrefix: '{{.env}}-'}}
syncSource: {path: 'apps/{{.name}}', targetBranch: 'env/{{.env}}'}
`))
}

func TestTheSourceOfAHydratedApplicationIsTheBranchThatTheHydratorWritesTo(t *testing.T) {
	_, apps := render(t, hydrated(t))
	want := tree(t, `
drySource: {repoURL: https://git/r.git, path: apps/a, targetRevision: main, kustomize: {namePrefix: dev-}}
syncSource: {path: apps/a, targetBranch: env/dev}
`)
	if got := get(apps[0].Object, "spec.sourceHydrator"); !reflect.DeepEqual(got, want) {
		t.Errorf("rendered: %v", got)
	}
	if want := []Source{{RepoURL: "https://git/r.git", Path: "apps/a", TargetRevision: "env/dev"}}; !slices.Equal(apps[0].Sources, want) {
		t.Errorf("sources: %v", apps[0].Sources)
	}
	spec := hydrated(t)
	put(spec, "template.spec.sourceHydrator.syncSource.repoURL", "https://git/hydrated.git")
	put(spec, "template.spec.sourceHydrator.hydrateTo", map[string]any{"targetBranch": "staging"})
	if _, apps = render(t, spec); apps[0].Sources[0].RepoURL != "https://git/hydrated.git" || apps[0].Sources[0].TargetRevision != "env/dev" {
		t.Errorf("sources with a repository of their own: %v", apps[0].Sources)
	}
	for _, later := range []string{"template.spec.sourceHydrator", "template.spec.sourceHydrator.syncSource", "template.spec.sourceHydrator.syncSource.targetBranch"} {
		if _, apps = render(t, put(hydrated(t), later, Unknown)); !apps[0].Sources[0].Unknown {
			t.Errorf("%s is not known, its source is %v", later, apps[0].Sources)
		}
	}
}

func TestAHydratedApplicationIsCheckedAsByArgoCD(t *testing.T) {
	const at = "template.spec.sourceHydrator"
	for name, c := range map[string]struct {
		change func(map[string]any)
		path   string
		words  []string
	}{
		"an empty repository":     {func(s map[string]any) { put(s, at+".drySource.repoURL", "") }, at + ".drySource.repoURL", []string{"is empty"}},
		"an empty branch":         {func(s map[string]any) { put(s, at+".syncSource.targetBranch", "") }, at + ".syncSource.targetBranch", []string{"is empty"}},
		"an empty staging branch": {func(s map[string]any) { put(s, at+".hydrateTo.targetBranch", "") }, at + ".hydrateTo.targetBranch", []string{"is empty"}},
		"a source beside it": {
			func(s map[string]any) { put(s, "template.spec.source", map[string]any{"repoURL": "r", "path": "p"}) },
			at, []string{"exactly one of the three"},
		},
		"steps": {
			func(s map[string]any) {
				put(s, "strategy", map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": []any{map[string]any{}}}})
			},
			at, []string{SummaryUnsupportedField, "step by step", "without RollingSync"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := hydrated(t)
			put(spec, "generators.0.list.elements", []any{map[string]any{"name": "a", "env": "dev", "url": "u"}})
			c.change(spec)
			wantIssue(t, failures(t, spec), "spec."+c.path, c.words...)
		})
	}
}

func TestSourcesThatArePartlyIgnoredAreThoseThatLive(t *testing.T) {
	spec := hydrated(t)
	put(spec, "ignoreApplicationDifferences", []any{map[string]any{"jsonPointers": []any{"/spec/sourceHydrator/syncSource/targetBranch"}}})
	set, apps := render(t, spec)
	live := []Source{{RepoURL: "https://git/r.git", TargetRevision: "elsewhere"}}
	if got := set.Retained.Sources(apps[0].Object, live); got[0].TargetRevision != "elsewhere" {
		t.Errorf("the branch that somebody else has set is not kept: %v", got)
	}
}

func TestANamespaceInTheTemplateIsIgnoredWithAWarning(t *testing.T) {
	for namespace, warned := range map[string]bool{"elsewhere": true, "argocd": false, "": false} {
		spec := put(baseSpec(t), "template.metadata.namespace", namespace)
		set, issues := Decode("set", "argocd", spec)
		if issues.HasErrors() || (len(issues.Warnings()) == 1) != warned {
			t.Errorf("%q: %s", namespace, issues)
		}
		if got := get(rendered(t, set)[0].Object, "metadata.namespace"); got != "argocd" {
			t.Errorf("%q: the Application lives in %v", namespace, got)
		}
	}
}
