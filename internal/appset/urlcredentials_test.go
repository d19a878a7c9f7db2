package appset_test

import (
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

func TestAPasswordInTheURLOfARepositoryIsAnError(t *testing.T) {
	const pure = `[{list: {elements: [{url: 'https://me:hunter2@git/r.git'}]}}]`
	for name, c := range map[string]struct{ source, generators, path string }{
		"in a source":         {`{source: {repoURL: 'https://me:hunter2@git/r.git', path: p}}`, pure, "spec.template.spec.source.repoURL"},
		"from a parameter":    {`{source: {repoURL: '{{.url}}', path: p}}`, pure, "spec.template.spec.source.repoURL"},
		"in one of several":   {`{sources: [{repoURL: 'https://git/r.git', path: p}, {repoURL: 'http://me:hunter2@git/r.git', path: p}]}`, pure, "spec.template.spec.sources[1].repoURL"},
		"for ssh":             {`{source: {repoURL: 'ssh://git:hunter2@git/r.git', path: p}}`, pure, "spec.template.spec.source.repoURL"},
		"as scp has it":       {`{source: {repoURL: 'git:hunter2@git:r.git', path: p}}`, pure, "spec.template.spec.source.repoURL"},
		"with odd characters": {`{source: {repoURL: 'https://:hunter2%40:@@git/r.git', path: p}}`, pure, "spec.template.spec.source.repoURL"},
		"in a generator": {`{source: {repoURL: 'https://git/r.git', path: p}}`,
			`[{git: {repoURL: 'https://me:hunter2@git/r.git', directories: [{path: '*'}]}}]`, "spec.generators[0].git.repoURL"},
		"in a generator, from another": {`{source: {repoURL: 'https://git/r.git', path: p}}`,
			`[{matrix: {generators: [{list: {elements: [{url: 'https://me:hunter2@git/r.git'}]}}, {git: {repoURL: '{{.url}}', directories: [{path: '*'}]}}]}}]`,
			"spec.generators[0].matrix.generators[1].git.repoURL"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, true, c.generators)
			template := yamlOf(t, c.source).(map[string]any)
			template["project"], template["destination"] = "p", map[string]any{"name": "in-cluster"}
			spec["template"].(map[string]any)["spec"] = template
			set, issues := appset.Decode("s", "argocd", spec)
			if !issues.HasErrors() {
				_, issues = set.Render(t.Context(), world(), appset.Answers{})
			}
			found := false
			for _, issue := range issues {
				found = found || issue.Summary == appset.SummaryCredentials && issue.Path.String() == c.path
			}
			if text := issues.String(); !found || strings.Contains(text, "hunter2") || !strings.Contains(text, "argocd repo add") {
				t.Errorf("the issues are %s", text)
			}
		})
	}
}

func TestTheNameOfAnAccountInAURLIsNoPassword(t *testing.T) {
	for _, address := range []string{
		"https://git/r.git", "https://org@dev.azure.com/org/project/_git/r", "ssh://git@git:2222/r.git", "git@git:r.git", "https://git:8443/a@b", "oci://registry:5000/r",
		"file:///srv/a:b@c",
	} {
		spec := specOf(t, true, `[{list: {elements: [{a: b}]}}]`)
		spec["template"].(map[string]any)["spec"].(map[string]any)["source"] = map[string]any{"repoURL": address, "path": "p"}
		set, issues := appset.Decode("s", "argocd", spec)
		if !issues.HasErrors() {
			_, issues = set.Render(t.Context(), nil, appset.Answers{})
		}
		if len(issues) > 0 {
			t.Errorf("%s: %s", address, issues)
		}
	}
}

// Values of parameters stand in many errors.
func TestAPasswordInAURLIsNotPrinted(t *testing.T) {
	spec := specOf(t, true, `[{list: {elements: [{url: 'https://me:hunter2@git/r.git'}]}}]`)
	spec["template"].(map[string]any)["metadata"] = map[string]any{"name": "{{.url}}"}
	set, issues := appset.Decode("s", "argocd", spec)
	if issues.HasErrors() {
		t.Fatal(issues)
	}
	_, issues = set.Render(t.Context(), nil, appset.Answers{})
	if text := issues.String(); !strings.Contains(text, "https://(hidden)@git/r.git") || strings.Contains(text, "hunter2") {
		t.Errorf("the issues are %s", text)
	}
}
