//go:build unix

package acceptance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// example is how one directory of examples/ is applied where it needs more than a provider.
type example struct {
	// with is added to the configuration.
	with string
	// replace are texts of the files, in pairs, and what stands there on the test cluster: URLs of
	// repositories and servers, and the names that are the fixture's.
	replace func(f *fixture) []string
	// before prepares what the configuration needs, and may set the environment of terraform.
	before func(f *fixture, w *workspace)
	// during is done by somebody while it is applied.
	during func(ctx context.Context, f *fixture, seen *recorder) error
	// binary runs the provider as users get it, with an environment of its own.
	binary bool
}

// examples are those directories that need something. The others are applied as they are.
var examples = map[string]example{
	"provider": {
		with: `
data "argocdprogressive_parameters" "default" { generators = [{ clusters = {} }] }
data "argocdprogressive_parameters" "eks" {
  provider   = argocdprogressive.eks
  generators = [{ clusters = {} }]
}
`,
		replace: func(f *fixture) []string {
			return []string{"https://ABCDEF.gr7.eu-central-1.eks.amazonaws.com", f.cluster.RESTConfig().Host}
		},
		before: (*fixture).prepareConnections,
		binary: true,
	},
	"resources/argocdprogressive_applicationset": {
		replace: func(f *fixture) []string {
			return append(f.exampleNames(), "engineering-", f.name+"-", "namespace = \"guestbook\"", "namespace = \""+f.name+"\"")
		},
		before: func(f *fixture, _ *workspace) {
			for _, env := range []string{"dev", "qa", "prod"} {
				f.writeChart(f.app(env), env)
			}
			f.commit()
		},
		during: func(ctx context.Context, f *fixture, seen *recorder) error {
			app := f.app("qa-guestbook")
			if _, err := seen.await(ctx, app, "is written", func(s *appState) bool { return s != nil && !s.Deleted }); err != nil {
				return err
			}
			return f.sync(ctx, app, "main")
		},
	},
	"data-sources/argocdprogressive_rollout": {
		replace: (*fixture).exampleNames,
		before: func(f *fixture, _ *workspace) {
			f.release("1", "dev", "prod")
			rolled := f.workspace()
			s := f.newSet([]string{"dev", "prod"}, "dev", "prod")
			s.Rollout = patient()
			rolled.configure(s)
			rolled.apply()
		},
	},
	"data-sources/argocdprogressive_parameters": {
		replace: func(f *fixture) []string {
			return append(f.exampleNames(), `key = "env", operator = "Exists"`, `key = "`+registered+`", operator = "In", values = ["`+f.name+`"]`,
				`namespace = "{{.path.basename}}"`, `namespace = "`+f.name+`"`)
		},
		before: func(f *fixture, _ *workspace) {
			for _, app := range []string{"web", "legacy"} {
				f.writeFile("apps/"+app+"/configmap.yaml", configMap(app, nil))
			}
			f.commit()
			f.deployTo("dev")
		},
	},
}

// TestAccEveryExampleIsApplied applies each directory of examples/ that has a configuration, finds nothing to do
// after it, and destroys. The one of guestbook is applied by the story of the documentation, see
// TestAccDocsShowWhatTerraformPrints.
func TestAccEveryExampleIsApplied(t *testing.T) {
	requireAcceptance(t)
	var dirs []string
	for _, file := range under(t, "examples", "") {
		dir := strings.TrimPrefix(path.Dir(file), "examples/")
		switch {
		case strings.HasPrefix(path.Base(file), "import") && !slices.Contains(importFiles, path.Base(file)):
			t.Errorf("%s is of a kind that no test runs", file)
		case path.Ext(file) == ".tf" && !slices.Contains(dirs, dir) && dir != "guestbook":
			dirs = append(dirs, dir)
		case !slices.Contains([]string{".tf", ".yaml", ".jq", ".sh"}, path.Ext(file)):
			t.Errorf("%s is of a kind that no test runs", file)
		}
	}
	for dir := range examples {
		if !slices.Contains(dirs, dir) {
			t.Errorf("examples/%s has no configuration any more", dir)
		}
	}
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			f := newFixture(t)
			w, e := f.workspace(), examples[dir]
			var pairs []string
			if e.replace != nil {
				pairs = e.replace(f)
			}
			f.copyExample(w, dir, pairs...)
			if e.before != nil {
				e.before(f, w)
			}
			f.complete(w, e.with)
			if e.binary {
				w.useBinary(buildProvider(t))
				for _, args := range [][]string{{"apply", "-auto-approve"}, {"plan", "-detailed-exitcode"}, {"destroy", "-auto-approve"}} {
					if r := w.startBinary(args...).wait(); r.code != 0 {
						t.Fatalf("terraform %v: exit code %d\n%s", args, r.code, r.out)
					}
				}
				w.loseState()
				return
			}
			w.cli.want(exitEmpty, "init")
			if e.during != nil {
				seen := f.record()
				person := f.actor(func(ctx context.Context) error { return e.during(ctx, f, seen) })
				person.Start()
				defer func() { f.must(person.Check) }()
			}
			w.apply()
			w.atRest()
			f.runImports(w, dir)
			w.destroy()
			if test := commentedTest(t, w.cli.dir); test != "" {
				writeTo(t, filepath.Join(w.cli.dir, "example.tftest.hcl"), test)
				w.says(w.cli.want(exitEmpty, "test"), "1 passed, 0 failed")
			}
		})
	}
}

// commentedTest is a test for "terraform test" that the comments of an example show, indented; empty for none.
func commentedTest(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if shown, ok := strings.CutPrefix(line, "#   "); ok {
				lines = append(lines, shown)
			}
		}
	}
	if test := strings.Join(lines, ""); strings.HasPrefix(test, "run ") {
		return test
	}
	return ""
}

// TestAccTheRolesOfTheExamplesAreAccepted creates everything in examples/rbac for the API server to judge.
func TestAccTheRolesOfTheExamplesAreAccepted(t *testing.T) {
	f := newFixture(t)
	files := under(t, "examples/rbac", ".yaml")
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(content), "\n---\n") {
			o := parse(document)
			kind, known := rbacKinds[o.GetKind()]
			if !known {
				t.Fatalf("%s has a %s", file, o.GetKind())
			}
			o.SetName(f.name + "-" + o.GetName())
			_, err := f.client.Resource(kind).Namespace(o.GetNamespace()).Create(f.ctx(), o, metav1.CreateOptions{
				DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
			})
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if len(files) < 3 {
		t.Errorf("only %v were found", files)
	}
}

// copyExample copies the files of a directory of examples/ with texts replaced.
func (f *fixture) copyExample(w *workspace, dir string, pairs ...string) {
	f.Helper()
	files, err := os.ReadDir(filepath.Join(root, "examples", dir))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if file.IsDir() || strings.HasPrefix(file.Name(), "import") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, "examples", dir, file.Name()))
		if err != nil {
			f.Fatal(err)
		}
		writeTo(f.T, filepath.Join(w.cli.dir, file.Name()), strings.NewReplacer(pairs...).Replace(string(content)))
	}
}

// complete adds what the files of an example leave out: the provider, and its source.
func (f *fixture) complete(w *workspace, more string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(w.cli.dir, "*.tf"))
	if err != nil {
		f.Fatal(err)
	}
	all := ""
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		all += string(content)
	}
	if !strings.Contains(all, "required_providers") {
		more += requiredProviders
	}
	if !strings.Contains(all, `provider "argocdprogressive"`) {
		more += f.provider(nil)
	}
	writeTo(f.T, filepath.Join(w.cli.dir, "zz_test.tf"), more)
}

// exampleNames are the replacements that all examples with a repository need.
func (f *fixture) exampleNames() []string {
	return []string{
		"https://github.com/infra-team/cluster-deployments.git", f.repo.URL(),
		"https://1.2.3.4", inClusterServer, "https://2.4.6.8", inClusterServer, "https://9.8.7.6/", inClusterServer,
		`name = "guestbook"`, `name = "` + f.name + `"`, `name = "apps"`, `name = "` + f.name + `"`,
	}
}

// writeChart writes a Helm chart with a ConfigMap.
func (f *fixture) writeChart(app, env string) {
	f.Helper()
	dir := "guestbook/" + app + "/"
	f.writeFile(dir+"Chart.yaml", "apiVersion: v2\nname: guestbook\nversion: 0.1.0\n")
	f.writeFile(dir+"values.yaml", "replicaCount: 1\nenv: none\n")
	f.writeFile(dir+"values-env-"+env+".yaml", "env: "+env+"\n")
	f.writeFile(dir+"templates/configmap.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n"+
		"  replicas: {{ .Values.replicaCount | quote }}\n  env: {{ .Values.env }}\n")
}

// deployTo registers the cluster itself once more, under a name and with the label env.
func (f *fixture) deployTo(env string) {
	f.Helper()
	name := f.app(env)
	if err := f.cluster.AddCluster(f.ctx(), name, f.ownServer()); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := f.cluster.RemoveCluster(f.ctx(), name); err != nil {
			f.Error(err)
		}
	})
	patch := fmt.Sprintf(`{"metadata": {"labels": {"env": %q, %q: %q}}}`, env, registered, f.name)
	if _, err := f.client.Resource(secrets).Namespace(argoNamespace).Patch(f.ctx(), "cluster-"+name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		f.Fatal(err)
	}
}

// prepareConnections gives terraform a home with the kubeconfig file, and an "aws" that prints credentials.
func (f *fixture) prepareConnections(w *workspace) {
	f.Helper()
	config, err := clientcmd.LoadFromFile(f.kubeconfig())
	if err != nil {
		f.Fatal(err)
	}
	context := config.Contexts[config.CurrentContext]
	config.Contexts = map[string]*clientcmdapi.Context{"prod-hub": context}
	config.CurrentContext = ""
	if err := clientcmd.WriteToFile(*config, filepath.Join(w.cli.dir, "home", ".kube", "config")); err != nil {
		f.Fatal(err)
	}
	user := config.AuthInfos[context.AuthInfo]
	credential, err := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": map[string]any{"token": user.Token},
	})
	if err != nil {
		f.Fatal(err)
	}
	aws := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = \"eks get-token --cluster-name hub\" ] && echo %s | base64 -d\n", base64.StdEncoding.EncodeToString(credential))
	writeTo(f.T, filepath.Join(w.cli.dir, "home", "bin", "aws"), aws)
	if err := os.Chmod(filepath.Join(w.cli.dir, "home", "bin", "aws"), 0o700); err != nil {
		f.Fatal(err)
	}
	writeTo(f.T, filepath.Join(w.cli.dir, "hub-ca.pem"), string(f.cluster.RESTConfig().CAData))
	w.cli.env = []string{"HOME=" + filepath.Join(w.cli.dir, "home"), "PATH=" + filepath.Join(w.cli.dir, "home", "bin") + ":" + os.Getenv("PATH")}
}
