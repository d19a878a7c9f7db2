//go:build unix

package acceptance

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAccSecretsOfGeneratorsAreNeverRepeated is TestAccSecretsAreNeverRepeated for what generators need to
// be let in: credentials of a repository, of a registry, of clusters, and the token of a plugin.
func TestAccSecretsOfGeneratorsAreNeverRepeated(t *testing.T) {
	f := newFixture(t)
	w := f.workspace()
	c := newCanaries(w, "TF_LOG=TRACE")

	repo := f.privateRepo(c.plant("the password of a repository"))
	repo.put(f, map[string]string{"sets/" + f.app("git") + "/x.txt": "x"})
	registry := f.registry(c.plant("the password of a registry"))
	registry.push("stable", map[string]string{"sets/" + f.app("oci") + "/x.txt": "x"})
	f.create(secrets, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "cluster-" + f.app("cluster"), "labels": map[string]any{
			"argocd.argoproj.io/secret-type": "cluster", registered: f.name,
		}},
		"stringData": map[string]any{
			"name": f.app("cluster"), "server": "https://127.0.0.1:1/" + f.name,
			"config": fmt.Sprintf(`{"bearerToken":%q,"password":%q}`, c.plant("a cluster's token"), c.plant("a cluster's password")),
		},
	})
	f.plugin(c.plant("the token of a plugin")).says(`{"output":{"parameters":[{"name":%q}]}}`, f.app("plugin"))

	s := f.generated(list{
		f.clusters(),
		obj{"git": obj{"repo_url": repo.url, "directories": list{obj{"path": "sets/*"}}, "values": obj{"x": "y"}}},
		obj{"oci": obj{"repo_url": registry.URL(), "revision": "stable", "directories": list{obj{"path": "sets/*"}}}},
		obj{"plugin": obj{"config_map_ref": obj{"name": f.name + "-plugin"}}},
	}, "all", "all")
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": "main", "path": `apps/{{if hasKey . "path"}}{{.path.basename}}{{else}}{{.name}}{{end}}`}
	s.named(`{{if hasKey . "path"}}{{.path.basename}}{{else}}{{.name}}{{end}}`)
	s.Provider = f.getsSecrets()
	s.Before = block(`data "argocdprogressive_parameters" "test"`, obj{"go_template": true, "generators": s.Spec["generators"]}, "")
	f.release("1", "git", "oci", "cluster", "plugin")
	w.configure(s)
	c.run(exitEmpty, "plan", "-out=plan.bin")
	c.run(exitEmpty, "show", "-json", "plan.bin")
	c.run(exitEmpty, "apply", "plan.bin")
	f.must(f.deploys("1", "git", "oci", "cluster", "plugin"))
	c.run(exitEmpty, "plan", "-out=plan.bin")
	c.run(exitEmpty, "apply", "plan.bin")
	c.absentFromCluster()
	c.absentFromDirectory()

	// Credentials that are refused.
	s.Before = ""
	w.configure(s)
	for _, name := range []string{f.name + "-private", f.app("oci")} {
		secret, err := f.client.Resource(secrets).Namespace(argoNamespace).Get(f.ctx(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedStringMap(secret.Object, map[string]string{"password": c.plant("a wrong password in " + name)}, "stringData"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.client.Resource(secrets).Namespace(argoNamespace).Update(f.ctx(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.says(c.run(exitEmpty, "plan"), "Generators not evaluated", repo.url, registry.URL())
	c.run(exitEmpty, "destroy", "-auto-approve")
	c.absentFromDirectory()
	c.searched(map[string]int{
		"the output of plan": 1000, "the output of show": 1000, "the output of apply": 1000, "trace.log": 100_000,
		"terraform.tfstate.backup": 1000, "plan.bin tfplan": 500, "plan.bin tfstate": 100, "applications": 3000,
	})
}
