package acceptance

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
)

// generated is a set whose Applications come from these generators instead of elements; env is the
// template of their label env, on which the steps select.
func (f *fixture) generated(generators any, env string, envs ...string) *set {
	s := f.newSet(nil, envs...)
	s.Spec = obj{"generators": generators}
	s.Labels = obj{"env": env}
	s.Rollout = patient()
	return s
}

// patient are rollout settings that are quick but for what Argo CD tries again after 10 s: the first of several
// Applications that create the same namespace at once wins.
func patient(more ...obj) obj {
	return quick(append([]obj{{"error_grace": "15s"}}, more...)...)
}

// named changes the template's name.
func (s *set) named(name string) *set {
	template := s.template()
	template["metadata"].(obj)["name"] = name
	s.Spec["template"] = template
	return s
}

// registered is the label that the clusters of a fixture have.
const registered = "example.com/fixture"

// clusters is a clusters generator for those that the fixture has registered.
func (f *fixture) clusters(more ...obj) obj {
	generator := obj{"selector": obj{"match_labels": obj{registered: f.name}}}
	for _, m := range more {
		maps.Copy(generator, m)
	}
	return obj{"clusters": generator}
}

// register makes clusters known to Argo CD, "SUFFIX" or "SUFFIX/ENV" as in newSet. Nothing is deployed to them.
func (f *fixture) register(suffixes ...string) {
	f.Helper()
	for _, suffix := range suffixes {
		element := f.element(suffix)
		f.create(secrets, argoNamespace, map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"name": "cluster-" + element["name"].(string), "labels": map[string]any{
				"argocd.argoproj.io/secret-type": "cluster", registered: f.name, "env": element["env"],
			}},
			"stringData": map[string]any{"name": element["name"], "server": "https://127.0.0.1:1/" + element["name"].(string), "config": "{}"},
		})
	}
}

// unregister is the opposite.
func (f *fixture) unregister(suffixes ...string) {
	f.Helper()
	for _, suffix := range suffixes {
		err := f.client.Resource(secrets).Namespace(argoNamespace).Delete(f.ctx(), "cluster-"+f.app(suffix), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			f.Fatal(err)
		}
	}
}

// directories is a git generator for the directories of the fixture's Applications, apps/*. Their
// environment is what follows the fixture's name, up to the next "-": see directoryEnv.
func (f *fixture) directories() obj {
	return obj{"git": obj{"repo_url": f.repo.URL(), "revision": "main", "directories": list{obj{"path": "apps/*"}}}}
}

// The name and the environment of an Application that directories gives.
const (
	directoryName = "{{.path.basename}}"
	directoryEnv  = `{{index (splitList "-" .path.basename) 1}}`
)

// private is a git repository behind HTTP that lets nobody in but who knows the password.
type private struct {
	*gitrepo.Repo
	url, password string
}

// privateRepo serves one, with the Secret that lets Argo CD in.
func (f *fixture) privateRepo(password string) *private {
	f.Helper()
	root := f.TempDir()
	repo, err := gitrepo.New(filepath.Join(root, "private"))
	if err != nil {
		f.Fatal(err)
	}
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		f.Fatal(err)
	}
	git := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
		InheritEnv: []string{"GIT_PROTOCOL"},
	}
	server := cptest.Serve(f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); user != "reader" || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	}))
	p := &private{Repo: repo, url: server.URL + "/private/.git", password: password}
	f.create(secrets, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": f.name + "-private", "labels": map[string]any{"argocd.argoproj.io/secret-type": "repository"}},
		"stringData": map[string]any{"type": "git", "url": p.url, "username": "reader", "password": password},
	})
	return p
}

// put writes files, path -> content, and commits them.
func (p *private) put(f *fixture, files map[string]string) {
	f.Helper()
	for path, content := range files {
		if err := p.Write(path, content); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := p.Commit("change"); err != nil {
		f.Fatal(err)
	}
}

// getsSecrets are the provider's attributes for an account that may also get the Secret that holds the
// token of a plugin.
func (f *fixture) getsSecrets() obj {
	f.Helper()
	return f.as(f.accountOf("apply.yaml", applyAccount, "plugin", func(role *unstructured.Unstructured) {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		rules = append(rules, map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "resourceNames": []any{f.name + "-plugin"}, "verbs": []any{"get"}})
		role.Object["rules"] = rules
	}))
}

// pluginService is a plugin: a service that gives parameters.
type pluginService struct {
	mu sync.Mutex
	// answer is what it says; empty means the status 500.
	answer string
}

// plugin serves one with that token, described by the ConfigMap "NAME-plugin".
func (f *fixture) plugin(token string) *pluginService {
	f.Helper()
	p := &pluginService{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token || r.URL.Path != "/api/v1/getparams.execute":
			http.Error(w, "who are you?", http.StatusForbidden)
		case p.answer == "":
			http.Error(w, "out of order", http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, p.answer)
		}
	}))
	f.Cleanup(server.Close)
	f.create(secrets, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": f.name + "-plugin", "labels": map[string]any{"app.kubernetes.io/part-of": "argocd"}},
		"stringData": map[string]any{"token": token},
	})
	f.create(configMaps, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": f.name + "-plugin"},
		"data": map[string]any{"baseUrl": server.URL, "token": "$" + f.name + "-plugin:token"},
	})
	return p
}

// says changes what the plugin answers.
func (p *pluginService) says(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = fmt.Sprintf(format, args...)
}
