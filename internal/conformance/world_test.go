package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

const (
	// argoNamespace is where Argo CD, its Secrets and ConfigMaps are.
	argoNamespace = "argocd"
	// pluginToken is what the plugin of a world wants to see, and what the objects call $PLUGIN_TOKEN.
	pluginToken = "conformance-token"
)

// world is everything that a generator can ask for. It does not change.
type world struct {
	secrets    []corev1.Secret
	configMaps []corev1.ConfigMap
	projects   []v1alpha1.AppProject
	// decisions are resources that a clusterDecisionResource generator selects.
	decisions []unstructured.Unstructured
	// repository answers for every repoURL that does not hold the word "missing".
	repository *checkout
	// artifact has the same content, and answers likewise for an oci generator.
	artifact  *artifact
	pluginURL string

	oracle *oracle
}

// loadWorld reads clusters.yaml, objects.yaml, repo/ and plugin.json of the first of the
// directories that has them.
func loadWorld(t testing.TB, dirs ...string) *world {
	t.Helper()
	if _, err := applicationSetSchema(); err != nil {
		t.Fatal(err)
	}
	w := &world{pluginURL: startPlugin(t, readFirst(t, "plugin.json", dirs))}
	for _, name := range []string{"clusters.yaml", "objects.yaml"} {
		w.addObjects(t, readFirst(t, name, dirs))
	}
	for _, dir := range dirs {
		repo := filepath.Join(dir, "repo")
		if _, err := os.Stat(repo); err == nil {
			w.repository, w.artifact = checkoutOf(t, repo), artifactOf(t, repo)
			break
		}
	}
	w.oracle = newOracle(t, w)
	return w
}

func readFirst(t testing.TB, name string, dirs []string) []byte {
	t.Helper()
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			return text
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return nil
}

func (w *world) addObjects(t testing.TB, text []byte) {
	t.Helper()
	text = bytes.ReplaceAll(text, []byte("$PLUGIN_TOKEN"), []byte(pluginToken))
	text = bytes.ReplaceAll(text, []byte("$PLUGIN_URL"), []byte(w.pluginURL))
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object := map[string]any{}
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatalf("objects of the world: %v\n%s", err, document)
		}
		if len(object) == 0 {
			continue
		}
		// As clients read objects: whole numbers are int64.
		u := unstructured.Unstructured{}
		if err := u.UnmarshalJSON(mustJSON(object)); err != nil {
			t.Fatalf("objects of the world: %v\n%s", err, document)
		}
		if u.GetNamespace() == "" {
			u.SetNamespace(argoNamespace)
		}
		w.addObject(t, u)
	}
}

func (w *world) addObject(t testing.TB, u unstructured.Unstructured) {
	t.Helper()
	var err error
	convert := func(into any) {
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, into, true)
	}
	switch u.GetKind() {
	case "Secret":
		secret := corev1.Secret{}
		convert(&secret)
		secret.Data = map[string][]byte{}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
		w.secrets = append(w.secrets, secret)
	case "ConfigMap":
		configMap := corev1.ConfigMap{}
		convert(&configMap)
		w.configMaps = append(w.configMaps, configMap)
	case "AppProject":
		project := v1alpha1.AppProject{}
		convert(&project)
		w.projects = append(w.projects, project)
	default:
		w.decisions = append(w.decisions, u)
	}
	if err != nil {
		t.Fatalf("objects of the world: %s %s: %v", u.GetKind(), u.GetName(), err)
	}
}

// withClusters is the same world with other cluster Secrets.
func (w *world) withClusters(t testing.TB, keep func(corev1.Secret) bool) *world {
	t.Helper()
	out := &world{configMaps: w.configMaps, projects: w.projects, decisions: w.decisions, repository: w.repository, artifact: w.artifact, pluginURL: w.pluginURL}
	for _, secret := range w.secrets {
		if secret.Labels[clusterLabel] != "cluster" || keep(secret) {
			out.secrets = append(out.secrets, secret)
		}
	}
	out.oracle = newOracle(t, out)
	return out
}

const clusterLabel = "argocd.argoproj.io/secret-type"

// clusterSecret makes the Secret of a cluster.
func clusterSecret(name, server string, labels map[string]string) corev1.Secret {
	all := map[string]string{clusterLabel: "cluster"}
	for key, value := range labels {
		all[key] = value
	}
	return corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-" + name, Namespace: argoNamespace, Labels: all},
		Data:       map[string][]byte{"name": []byte(name), "server": []byte(server)},
	}
}

// clusters are the Secrets that describe clusters.
func (w *world) clusters() []corev1.Secret {
	var out []corev1.Secret
	for _, secret := range w.secrets {
		if secret.Labels[clusterLabel] == "cluster" && secret.Namespace == argoNamespace {
			out = append(out, secret)
		}
	}
	return out
}

func (w *world) hasProject(name string) bool {
	for _, project := range w.projects {
		if project.Name == name {
			return true
		}
	}
	return false
}

// fetch is the repository, as both sides ask for it.
func (w *world) fetch(repoURL, revision string) (*checkout, error) {
	if strings.Contains(repoURL, "missing") || repoURL == "" || w.repository == nil {
		return nil, fmt.Errorf("repository %q not found", repoURL)
	}
	switch revision {
	case "", "HEAD", "main", "refs/heads/main":
		return w.repository, nil
	}
	return nil, fmt.Errorf("revision %q not found", revision)
}

// startPlugin serves the answer of plugin.json to whoever has the token. An answer may hold
// "status", the HTTP status to answer with; "echo": true answers one parameter set that is the
// request's input.parameters.
func startPlugin(t testing.TB, answer []byte) string {
	t.Helper()
	settings := struct {
		Status int
		Echo   bool
	}{Status: http.StatusOK}
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &settings); err != nil {
			t.Fatalf("plugin.json: %v", err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/getparams.execute":
			out.WriteHeader(http.StatusNotFound)
		case r.Header.Get("Authorization") != "Bearer "+pluginToken:
			out.WriteHeader(http.StatusForbidden)
		case settings.Echo:
			out.Header().Set("Content-Type", "application/json")
			writeEcho(out, body)
		default:
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(settings.Status)
			_, _ = out.Write(answer)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func writeEcho(out io.Writer, body []byte) {
	var request struct {
		Input struct {
			Parameters map[string]any `json:"parameters"`
		} `json:"input"`
	}
	_ = json.Unmarshal(body, &request) // an empty answer fails the test
	answer := map[string]any{"output": map[string]any{"parameters": []any{request.Input.Parameters}}}
	_ = json.NewEncoder(out).Encode(answer)
}
