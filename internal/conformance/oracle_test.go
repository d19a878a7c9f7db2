package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	log "github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

func init() {
	// What Argo CD logs of a set that fails is the error that it returns.
	log.SetOutput(io.Discard)
	log.SetLevel(log.PanicLevel)
}

// oracle renders with Argo CD's code in one world.
type oracle struct {
	client     client.Client
	generators map[string]generators.Generator
	// seen is what the generators of the set at hand were asked, and the parameters that came out.
	seen *seen
}

// seen is what Argo CD did on its way to the Applications.
type seen struct {
	// questions are generators whose fields the parameters of another one have been put into.
	questions []*v1alpha1.ApplicationSetGenerator
	// between are parameter sets that a generator gave.
	between []map[string]any
	// params are the parameter sets that a template was rendered with, templates those templates, and
	// unpatched what that gave.
	params    []map[string]any
	templates []*v1alpha1.Application
	unpatched []*v1alpha1.Application
}

func newOracle(t testing.TB, w *world) *oracle {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for i := range w.secrets {
		builder = builder.WithObjects(w.secrets[i].DeepCopy())
	}
	for i := range w.configMaps {
		builder = builder.WithObjects(w.configMaps[i].DeepCopy())
	}
	for i := range w.projects {
		builder = builder.WithObjects(w.projects[i].DeepCopy())
	}
	o := &oracle{client: builder.Build()}
	o.generators = o.wire(t, w)
	return o
}

// wire makes the generators as GetGenerators in applicationset/generators, Argo CD 3.6.1, does, each
// with an observer around it.
func (o *oracle) wire(t testing.TB, w *world) map[string]generators.Generator {
	repos := repoService{w}
	// No provider is enabled: a set that asks one fails before it reaches for the network.
	scm := generators.NewSCMConfig("", nil, false, false, nil, true)
	terminal := map[string]generators.Generator{
		"List":                    generators.NewListGenerator(),
		"Clusters":                generators.NewClusterGenerator(o.client, argoNamespace),
		"Git":                     generators.NewGitGenerator(repos, argoNamespace),
		"SCMProvider":             generators.NewSCMProviderGenerator(o.client, scm),
		"ClusterDecisionResource": newDecisionGenerator(t, w),
		"PullRequest":             generators.NewPullRequestGenerator(o.client, scm),
		"Plugin":                  generators.NewPluginGenerator(o.client, argoNamespace),
		"Oci":                     generators.NewOciGenerator(repos),
	}
	for name, generator := range terminal {
		terminal[name] = observed{generator, o}
	}
	with := func(inner map[string]generators.Generator) map[string]generators.Generator {
		all := maps.Clone(terminal)
		all["Matrix"] = observed{generators.NewMatrixGenerator(inner), o}
		all["Merge"] = observed{generators.NewMergeGenerator(inner), o}
		return all
	}
	return with(with(terminal))
}

// observed notes what a generator is asked and answers.
type observed struct {
	generators.Generator
	oracle *oracle
}

func (g observed) GenerateParams(asked *v1alpha1.ApplicationSetGenerator, set *v1alpha1.ApplicationSet, c client.Client) ([]map[string]any, error) {
	params, err := g.Generator.GenerateParams(asked, set, c)
	if s := g.oracle.seen; s != nil {
		s.questions = append(s.questions, asked)
		s.between = append(s.between, params...)
	}
	return params, err
}

// observedRender notes the parameters that the template is rendered with.
type observedRender struct {
	utils.Render
	seen *seen
}

func (r *observedRender) RenderTemplateParams(tmpl *v1alpha1.Application, policy *v1alpha1.ApplicationSetSyncPolicy, params map[string]any, useGoTemplate bool, options []string) (*v1alpha1.Application, error) {
	app, err := r.Render.RenderTemplateParams(tmpl, policy, params, useGoTemplate, options)
	r.seen.params, r.seen.templates = append(r.seen.params, params), append(r.seen.templates, tmpl)
	if app != nil {
		r.seen.unpatched = append(r.seen.unpatched, app.DeepCopy())
	}
	return app, err
}

// oracleResult is what becomes of an ApplicationSet that is given to Argo CD.
type oracleResult struct {
	set *v1alpha1.ApplicationSet
	admission
	seen
	apps []v1alpha1.Application
	err  error
}

// render lets the API server admit the manifest and Argo CD generate its Applications. A panic is
// an error, as the controller recovers from it.
func (o *oracle) render(manifest map[string]any) (out oracleResult) {
	defer func() {
		if p := recover(); p != nil {
			out.apps, out.err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	var definition *crdSchema
	if definition, out.err = applicationSetSchema(); out.err != nil {
		panic(out.err)
	}
	var admitted map[string]any
	admitted, out.admission = definition.admit(manifest)
	if len(out.refused) > 0 {
		out.err = errors.New("the API server: " + strings.Join(out.refused, "; "))
		return out
	}
	if out.set, out.err = decodeSet(admitted); out.err != nil {
		return out
	}
	o.seen = &out.seen
	defer func() { o.seen = nil }()
	render := &observedRender{seen: &out.seen}
	out.apps, _, out.err = template.GenerateApplications(log.NewEntry(log.StandardLogger()), *out.set.DeepCopy(), o.generators, render, o.client)
	if out.err != nil {
		out.apps = nil
	}
	return out
}

func decodeSet(manifest map[string]any) (*v1alpha1.ApplicationSet, error) {
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	set := &v1alpha1.ApplicationSet{}
	return set, json.Unmarshal(text, set)
}

// repoService answers for Argo CD's repo server (applicationset/services).
type repoService struct{ w *world }

func (s repoService) GetFiles(_ context.Context, repoURL, revision, _, pattern string, _ bool, _ *v1alpha1.SourceIntegrity) (map[string][]byte, error) {
	c, err := s.w.fetch(repoURL, revision)
	if err != nil {
		return nil, err
	}
	if pattern == "" {
		pattern = "."
	}
	names, err := c.lsFiles(pattern)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(names))
	for _, name := range names {
		if out[name], err = c.readFile(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s repoService) GetDirectories(_ context.Context, repoURL, revision, _ string, _ bool, _ *v1alpha1.SourceIntegrity) ([]string, error) {
	c, err := s.w.fetch(repoURL, revision)
	if err != nil {
		return nil, err
	}
	return walkDirectories(c.root)
}

func (s repoService) GetOciFiles(_ context.Context, repoURL, revision, _, pattern string, _ bool) (map[string][]byte, error) {
	root, err := s.w.unpack(repoURL, revision)
	if err != nil {
		return nil, err
	}
	return globFiles(root, pattern)
}

func (s repoService) GetOciDirectories(_ context.Context, repoURL, revision, _ string, _ bool) ([]string, error) {
	root, err := s.w.unpack(repoURL, revision)
	if err != nil {
		return nil, err
	}
	return walkDirectories(root)
}
