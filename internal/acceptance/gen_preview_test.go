package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAccDataSourcesShowWhatGeneratorsGiveNow(t *testing.T) {
	f := newFixture(t)
	w := f.workspace()
	f.register("dev", "prod")
	f.release("1", "dev", "prod")
	s := f.generated(list{f.clusters()}, clusterEnv, "dev", "prod")
	config := f.provider(nil) +
		block(`data "argocdprogressive_parameters" "test"`, obj{"go_template": true, "generators": list{f.clusters()}}, "") +
		block(`data "argocdprogressive_applications" "test"`, obj{"name": f.name, "spec": s.spec()}, "") + `
output "servers" { value = { for p in data.argocdprogressive_parameters.test.parameters : p.name => p.server } }
output "waves" { value = data.argocdprogressive_applications.test.waves }
output "yaml" { value = data.argocdprogressive_applications.test.yaml }
`
	w.configure(text(config))
	w.apply()
	var got struct {
		Servers, YAML struct{ Value map[string]string }
		Waves         struct{ Value map[string][]string }
	}
	r := w.cli.want(exitEmpty, "output", "-json")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	if server := got.Servers.Value[f.app("dev")]; len(got.Servers.Value) != 2 || server != "https://127.0.0.1:1/"+f.app("dev") {
		t.Errorf("the parameters are %v", got.Servers.Value)
	}
	if !slices.Equal(got.Waves.Value[stepOf("01", "dev")], f.apps("dev")) || !slices.Equal(got.Waves.Value[stepOf("02", "prod")], f.apps("prod")) {
		t.Errorf("the waves are %v", got.Waves.Value)
	}
	if text := got.YAML.Value[f.app("prod")]; !strings.Contains(text, "path: apps/"+f.app("prod")) {
		t.Errorf("the YAML is %s", text)
	}
	w.lives()
}

func TestAccFunctionsPreviewAnApplicationSetInTheConsole(t *testing.T) {
	f := newFixture(t)
	w := f.workspace()
	w.configure(text(""))
	document := manifest(obj{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": obj{"name": "guestbook"},
		"spec": obj{
			"goTemplate": true,
			"generators": list{obj{"list": obj{"elements": list{obj{"env": "prod"}, obj{"env": "dev"}}}}},
			"strategy": obj{"type": "RollingSync", "rollingSync": obj{"steps": list{
				obj{"matchExpressions": list{obj{"key": "env", "operator": "In", "values": list{"dev"}}}},
			}}},
			"template": obj{
				"metadata": obj{"name": "{{.env}}-x", "labels": obj{"env": "{{.env}}"}},
				"spec": obj{
					"project": "default", "source": obj{"repoURL": "https://example.com/r.git", "path": "."}, "destination": obj{"name": "in-cluster"},
				},
			},
		},
	})
	if err := os.WriteFile(filepath.Join(w.cli.dir, "appset.yaml"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(expression string) string {
		t.Helper()
		w.cli.stdin = expression + "\n"
		return strings.TrimSpace(w.cli.want(exitEmpty, "console").out)
	}
	if got, want := ask(`jsonencode(provider::argocdprogressive::waves(file("appset.yaml")))`),
		`"{\"no step\":[\"prod-x\"],\"step 01: env in [dev]\":[\"dev-x\"]}"`; got != want {
		t.Errorf("waves gives %s, not %s", got, want)
	}
	if got, want := ask(`provider::argocdprogressive::render(file("appset.yaml"))[1].metadata.labels.env`), `"prod"`; got != want {
		t.Errorf("render gives %s, not %s", got, want)
	}
	w.cli.stdin = `provider::argocdprogressive::render(replace(file("appset.yaml"), "list:", "lisst:"))` + "\n"
	w.says(w.cli.run("console"), "lisst")
}
