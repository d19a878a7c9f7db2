package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// inputs answers from the world.
type inputs struct{ w *world }

// Clusters come in another order each time: it must not matter.
func (in inputs) Clusters(context.Context) ([]appset.Cluster, error) {
	var out []appset.Cluster
	for _, secret := range in.w.clusters() {
		out = append(out, appset.Cluster{
			Name: string(secret.Data["name"]), Server: string(secret.Data["server"]), Project: string(secret.Data["project"]),
			Labels: secret.Labels, Annotations: secret.Annotations,
		})
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

func (in inputs) Tree(_ context.Context, repoURL, revision, project string) (appset.Tree, error) {
	if project != "" && !in.w.hasProject(project) {
		return nil, fmt.Errorf("the project %q does not exist", project)
	}
	c, err := in.w.fetch(repoURL, revision)
	if err != nil {
		return nil, err
	}
	return c.tree()
}

// Artifact asks for no project: Argo CD does not either.
func (in inputs) Artifact(ctx context.Context, repoURL, revision, _ string) (appset.Artifact, error) {
	return in.w.fetchArtifact(ctx, repoURL, revision)
}

func (in inputs) Plugin(ctx context.Context, call appset.PluginCall) ([]map[string]any, error) {
	settings, err := configMaps{w: in.w, namespace: argoNamespace}.Get(ctx, call.ConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	token, err := in.token(settings.Data["token"])
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"applicationSetName": call.Set, "input": map[string]any{"parameters": call.Parameters}})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, settings.Data["baseUrl"]+"/api/v1/getparams.execute", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the plugin answered %s", response.Status)
	}
	var answer struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	return answer.Output.Parameters, json.Unmarshal(text, &answer)
}

// token is what a reference such as $secret:key or $key (of argocd-secret) stands for.
func (in inputs) token(reference string) (string, error) {
	if !strings.HasPrefix(reference, "$") {
		return "", errors.New("the token must be a reference to a Secret")
	}
	name, key, found := strings.Cut(reference[1:], ":")
	if !found {
		name, key = "argocd-secret", name
	}
	for _, secret := range in.w.secrets {
		if secret.Name == name && secret.Namespace == argoNamespace {
			return string(secret.Data[key]), nil
		}
	}
	return "", fmt.Errorf("there is no Secret %q", name)
}

func (in inputs) Decisions(ctx context.Context, query appset.DecisionQuery) (appset.Decisions, error) {
	none := appset.Decisions{}
	settings, err := configMaps{w: in.w, namespace: argoNamespace}.Get(ctx, query.ConfigMap, metav1.GetOptions{})
	if err != nil {
		return none, err
	}
	group, version, ok := strings.Cut(settings.Data["apiVersion"], "/")
	if !ok || group == "" || settings.Data["kind"] == "" {
		return none, errors.New("apiVersion and kind are needed")
	}
	selector, err := labelSelector(query.Labels)
	if err != nil {
		return none, err
	}
	resource := schema.GroupVersionResource{Group: group, Version: version, Resource: settings.Data["kind"]}
	items, known := in.w.decisionsOf(resource, argoNamespace)
	if !known {
		return none, apierrors.NewNotFound(resource.GroupResource(), "")
	}
	key := settings.Data["statusListKey"]
	if key == "" {
		key = "clusters"
	}
	out := appset.Decisions{MatchKey: settings.Data["matchKey"]}
	found := false
	for _, item := range items {
		if query.Name != "" && item.GetName() != query.Name || !selector.Matches(labels.Set(item.GetLabels())) {
			continue
		}
		found = true
		status, _ := item.Object["status"].(map[string]any)
		if len(status) == 0 {
			continue
		}
		entries, ok := status[key].([]any)
		if !ok {
			return none, fmt.Errorf("%s has no status.%s", item.GetName(), key)
		}
		for _, entry := range entries {
			out.Entries = append(out.Entries, entry.(map[string]any))
		}
	}
	if !found {
		return none, errors.New("no resource is selected")
	}
	return out, nil
}

func labelSelector(tree map[string]any) (labels.Selector, error) {
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	var selector metav1.LabelSelector
	if err := json.Unmarshal(text, &selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

// ourResult is what becomes of an ApplicationSet that is given to package appset.
type ourResult struct {
	apps   []v1alpha1.Application
	errors appset.Issues
	// defect is what must never be, whatever the set is.
	defect string
}

// renderOurs decodes and renders a manifest; and renders it again from the answers that the first
// time has kept, without asking the world.
func renderOurs(w *world, manifest []byte) ourResult {
	object, issues := appset.DecodeManifest(manifest)
	if issues.HasErrors() {
		return ourResult{errors: issues.Errors()}
	}
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	spec, _ := object["spec"].(map[string]any)
	set, issues := appset.Decode(name, namespace, spec)
	if issues.HasErrors() {
		return ourResult{errors: issues.Errors()}
	}
	rendering, issues := set.Render(context.Background(), inputs{w}, appset.Answers{})
	if issues.HasErrors() {
		return ourResult{errors: issues.Errors()}
	}
	out := ourResult{defect: replayDefect(set, rendering)}
	if !rendering.Complete {
		out.defect = "everything is known, but the rendering is not complete"
	}
	for _, app := range rendering.Apps {
		typed, err := typedApplication(app)
		if err != nil {
			out.defect = fmt.Sprintf("Argo CD's types do not hold the Application %s: %v", app.Name, err)
		}
		out.apps = append(out.apps, typed)
	}
	return out
}

// typedApplication reads an Application into Argo CD's own type, which must know every field.
func typedApplication(app appset.Application) (v1alpha1.Application, error) {
	var typed v1alpha1.Application
	text, err := json.Marshal(app.Object)
	if err != nil {
		return typed, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return typed, decoder.Decode(&typed)
}

// replayDefect renders from the recorded answers, as they are read from JSON, and compares.
func replayDefect(set *appset.Set, first appset.Rendering) string {
	text, err := json.Marshal(first.Answers)
	if err != nil {
		return "the answers cannot be written: " + err.Error()
	}
	var recorded appset.Answers
	if err := json.Unmarshal(text, &recorded); err != nil {
		return "the answers cannot be read: " + err.Error()
	}
	again, issues := set.Render(context.Background(), nil, recorded)
	if issues.HasErrors() {
		return "the recorded answers do not render: " + issues.String()
	}
	if !again.Complete {
		return "the recorded answers are not complete: " + string(text)
	}
	before, _ := json.Marshal(objectsOf(first.Apps)) // they hold nothing that JSON does not
	after, _ := json.Marshal(objectsOf(again.Apps))
	if !bytes.Equal(before, after) {
		return fmt.Sprintf("the recorded answers render something else:\n%s\n%s", before, after)
	}
	return ""
}

func objectsOf(apps []appset.Application) []any {
	out := []any{}
	for _, app := range apps {
		out = append(out, app.Object)
	}
	return out
}
