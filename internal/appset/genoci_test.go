package appset_test

import (
	"errors"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

func TestOCIGivesTheParametersOfArgoCD(t *testing.T) {
	for name, c := range map[string]struct {
		goTemplate bool
		oci, want  string
	}{
		"directories: as those of git": {true, `{directories: [{path: 'apps/*'}, {path: apps/a, exclude: true}], values: {v: '{{.path.basename}}'}}`, `
- {path: {path: apps/B_2, basename: B_2, basenameNormalized: b-2, segments: [apps, B_2]}, values: {v: B_2}}
- {path: {path: apps/b, basename: b, basenameNormalized: b, segments: [apps, b]}, values: {v: b}}`},
		"directories: flat with a prefix": {false, `{path_param_prefix: g, directories: [{path: envs}]}`, `
- {g.path: envs, g.path.basename: envs, g.path.basenameNormalized: envs, 'g.path[0]': envs}`},
		"files: a star does not cross a slash": {true, `files: [{path: '*.yaml'}, {path: bad.yaml, exclude: true}]`, `
- {name: root, path: {path: ., basename: ., basenameNormalized: '', filename: root.yaml, filenameNormalized: root.yaml, segments: [.]}}`},
		"files: two stars do, and path overrides a key": {true, `files: [{path: 'apps/**/*.json'}]`, `
- {name: b, path: {path: apps/b, basename: b, basenameNormalized: b, filename: config.json, filenameNormalized: config.json, segments: [apps, b]}}`},
		"files: the name of a directory is none of a file": {true, `files: [{path: apps/a}]`, `[]`},
		"files: exclude wins, whatever the order": {true, `files: [{path: 'envs/e*', exclude: true}, {path: 'envs/*'}]`, `
- {name: one, path: {path: envs, basename: envs, basenameNormalized: envs, filename: many.yaml, filenameNormalized: many.yaml, segments: [envs]}}
- {name: two, path: {path: envs, basename: envs, basenameNormalized: envs, filename: many.yaml, filenameNormalized: many.yaml, segments: [envs]}}`},
		"files: flat with goTemplate off": {false, `files: [{path: '{root,none}.yaml'}]`, `
- {name: root, path: ., path.basename: ., path.basenameNormalized: '', path.filename: root.yaml, path.filenameNormalized: root.yaml, 'path[0]': .}`},
		"files: what is only excluded is nothing": {true, `files: [{path: root.yaml, exclude: true}]`, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.goTemplate, `[{oci: {repoURL: 'oci://registry/r', revision: '1'}}]`)
			oci := spec["generators"].([]any)[0].(map[string]any)["oci"].(map[string]any)
			for key, v := range yamlOf(t, c.oci).(map[string]any) {
				oci[key] = v
			}
			sets, issues, complete := evaluated(t, spec, world())
			if len(issues) > 0 || !complete {
				t.Fatalf("%v %s", complete, issues)
			}
			wantParameters(t, sets, c.want)
		})
	}
}

func TestAnArtifactIsAskedForWithTheProjectOfTheTemplate(t *testing.T) {
	fake := world()
	spec := specOf(t, true, `[{oci: {repoURL: 'oci://registry/r', revision: '1', directories: [{path: x}]}}]`)
	if _, issues, _ := evaluated(t, spec, fake); len(issues) > 0 || len(fake.Asked()) != 1 || fake.Asked()[0] != "oci oci://registry/r 1 p" {
		t.Errorf("asked %q, %s", fake.Asked(), issues)
	}
}

func TestAnArtifactIsAskedForInTheSecondGeneratorOfAMatrix(t *testing.T) {
	wantParameters(t, parameters(t, true, `[{matrix: {generators: [
  {list: {elements: [{version: '1', app: a}]}},
  {oci: {repoURL: 'oci://registry/r', revision: '{{.version}}', directories: [{path: 'apps/{{.app}}'}]}}]}}]`), `
- {version: '1', app: a, path: {path: apps/a, basename: a, basenameNormalized: a, segments: [apps, a]}}`)
}

func TestArtifactsThatFailAreErrorsAndNeverEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		generator string
		path      string
		words     []string
	}{
		"no such revision":                {`{repoURL: 'oci://registry/r', revision: '2', directories: [{path: '*'}]}`, "", []string{"Generator failed", "no revision", "never one that gives nothing"}},
		"a file of another kind":          {`{repoURL: 'oci://registry/r', revision: '1', files: [{path: bad.yaml}]}`, "", []string{"Generator failed", "oci://registry/r at sha256:", `"bad.yaml"`, "an object or a list of objects"}},
		"no revision":                     {`{repoURL: 'oci://registry/r', directories: [{path: '*'}]}`, ".revision", []string{"Missing field"}},
		"no repoURL":                      {`{revision: '1', directories: [{path: '*'}]}`, ".repoURL", []string{"Missing field"}},
		"a password":                      {`{repoURL: 'oci://me:canary@registry/r', revision: '1', directories: [{path: '*'}]}`, ".repoURL", []string{"oci"}},
		"nothing is asked":                {`{repoURL: 'oci://registry/r', revision: '1'}`, "", []string{"Give directories or files"}},
		"both":                            {`{repoURL: 'oci://registry/r', revision: '1', directories: [{path: x}], files: [{path: x}]}`, ".files", []string{"Argo CD ignores files then"}},
		"a broken pattern of files":       {`{repoURL: 'oci://registry/r', revision: '1', files: [{path: 'a{'}]}`, ".files[0].path", []string{"is not a pattern of files"}},
		"a broken pattern of directories": {`{repoURL: 'oci://registry/r', revision: '1', directories: [{path: 'a['}]}`, ".directories[0].path", []string{"is not a pattern of paths"}},
	} {
		t.Run(name, func(t *testing.T) {
			sets, issues, complete := evaluated(t, specOf(t, true, `[{oci: `+c.generator+`}]`), world())
			wantIssue(t, issues, "spec.generators[0].oci"+c.path, c.words...)
			if complete || len(sets) > 0 {
				t.Errorf("complete %v, %v", complete, sets)
			}
		})
	}
	fake := &appsettest.Fake{Err: errors.New("gone")}
	set := decodeSet(t, `[{oci: {repoURL: 'oci://registry/r', revision: '1', directories: [{path: '*'}]}}]`)
	if rendering, issues := set.Render(t.Context(), fake, appset.Answers{}); rendering.Complete || !issues.HasErrors() {
		t.Errorf("complete %v, %s", rendering.Complete, issues)
	}
}
