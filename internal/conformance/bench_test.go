package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	log "github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// mostOfArgoCD is our time at most, as a part of Argo CD's.
const mostOfArgoCD = 0.5

// speedCase is an input that both render, with the number of Applications that must come out.
type speedCase struct {
	name     string
	world    *world
	manifest map[string]any
	count    int
}

func speedCases(b *testing.B) []speedCase {
	b.Helper()
	dir := b.TempDir()
	write := func(name string) {
		path := filepath.Join(dir, "repo", "apps", name, "config.yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("app: "+name+"\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 10 {
		write(fmt.Sprintf("app-%d", i))
	}
	w := loadWorld(b, dir, defaultWorld).withClusters(b, func(corev1.Secret) bool { return false })
	for i := range 1_000 {
		labels := map[string]string{"env": "dev", "bench": "yes"}
		w.secrets = append(w.secrets, clusterSecret(fmt.Sprintf("cluster-%04d", i), fmt.Sprintf("https://c%04d.example.com", i), labels))
	}
	w.oracle = newOracle(b, w)
	cached := &cachedClient{Client: w.oracle.client}
	w.oracle.client = cached
	w.oracle.generators = w.oracle.wire(b, w)
	return []speedCase{
		{"matrix 100 x 100, Go templates", w, benchManifest(b, true, matrixOfLists(100)), 10_000},
		{"matrix 100 x 100, goTemplate off", w, benchManifest(b, false, matrixOfLists(100)), 10_000},
		{"1000 clusters x 10 directories, Go templates", w, benchManifest(b, true, clustersTimesDirectories), 10_000},
		{"1000 clusters x 10 directories, goTemplate off", w, benchManifest(b, false, clustersTimesDirectories), 10_000},
	}
}

// cachedClient lists Secrets as controller-runtime's cache does: from memory, copied. The fake client
// would take most of the time.
type cachedClient struct {
	client.Client
	secrets *corev1.SecretList
}

func (c *cachedClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	into, ok := list.(*corev1.SecretList)
	if !ok {
		return c.Client.List(ctx, list, options...)
	}
	if c.secrets == nil {
		c.secrets = &corev1.SecretList{}
		if err := c.Client.List(ctx, c.secrets, options...); err != nil {
			return err
		}
	}
	c.secrets.DeepCopyInto(into)
	return nil
}

func matrixOfLists(n int) string {
	text := "- matrix:\n    generators:\n"
	for _, key := range []string{"cluster", "app"} {
		text += "    - list:\n        elements:\n"
		for i := range n {
			text += fmt.Sprintf("        - {%s: %s-%d, %sURL: 'https://%s-%d.example.com', %sEnv: env-%d}\n", key, key, i, key, key, i, key, i%3)
		}
	}
	return text
}

const clustersTimesDirectories = `- matrix:
    generators:
    - clusters: {selector: {matchLabels: {bench: 'yes'}}}
    - git: {repoURL: 'https://git.example.com/apps.git', revision: main, directories: [{path: apps/*}]}
`

func benchManifest(b *testing.B, goTemplate bool, generators string) map[string]any {
	b.Helper()
	name, app, server, env := "{{cluster}}", "{{app}}", "{{clusterURL}}", "{{clusterEnv}}"
	if generators == clustersTimesDirectories {
		name, app, server, env = "{{name}}", "{{path.basename}}", "{{server}}", "{{metadata.labels.env}}"
	}
	if goTemplate {
		for _, text := range []*string{&name, &app, &server, &env} {
			*text = "{{." + (*text)[2:]
		}
	}
	text := `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: bench, namespace: argocd}
spec:
  goTemplate: ` + fmt.Sprint(goTemplate) + `
  template:
    metadata:
      name: '` + name + `-` + app + `'
      labels: {cluster: '` + name + `', app: '` + app + `', env: '` + env + `'}
    spec:
      project: default
      source:
        repoURL: https://git.example.com/apps.git
        targetRevision: HEAD
        path: apps/` + app + `
        helm: {releaseName: r, valueFiles: [values.yaml, 'values-` + env + `.yaml'], parameters: [{name: cluster, value: '` + name + `'}]}
      destination: {server: '` + server + `', namespace: '` + app + `'}
      syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}
`
	manifest, extra := map[string]any{}, []any{}
	if err := yaml.Unmarshal([]byte(text), &manifest); err != nil {
		b.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(generators), &extra); err != nil {
		b.Fatal(err)
	}
	manifest["spec"].(map[string]any)["generators"] = extra
	return manifest
}

// byArgoCD renders with Argo CD's code alone, without the observers, the API server's part and logs.
func (c speedCase) byArgoCD(b *testing.B) int {
	set, err := decodeSet(c.manifest)
	if err != nil {
		b.Fatal(err)
	}
	o := c.world.oracle
	apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), *set, o.generators, &utils.Render{}, o.client)
	if err != nil {
		b.Fatal(err)
	}
	return len(apps)
}

func (c speedCase) byOurs(b *testing.B) int {
	set, issues := appset.Decode("bench", argoNamespace, c.manifest["spec"].(map[string]any))
	if issues.HasErrors() {
		b.Fatal(issues)
	}
	rendering, issues := set.Render(context.Background(), inputs{c.world}, appset.Answers{})
	if issues.HasErrors() {
		b.Fatal(issues)
	}
	return len(rendering.Apps)
}

// BenchmarkAgainstArgoCD renders the same with both, and fails when we take more than half of Argo
// CD's time.
func BenchmarkAgainstArgoCD(b *testing.B) {
	for _, c := range speedCases(b) {
		b.Run(c.name, func(b *testing.B) {
			var theirs, ours []time.Duration
			for b.Loop() {
				theirs = append(theirs, timed(b, c, c.byArgoCD))
				ours = append(ours, timed(b, c, c.byOurs))
			}
			slices.Sort(theirs)
			slices.Sort(ours)
			argoCD, own := theirs[len(theirs)/2], ours[len(ours)/2]
			ratio := own.Seconds() / argoCD.Seconds()
			b.ReportMetric(ratio, "ours/argocd")
			b.ReportMetric(float64(argoCD.Milliseconds()), "argocd-ms")
			b.ReportMetric(float64(own.Milliseconds()), "ours-ms")
			if ratio > mostOfArgoCD {
				b.Errorf("%s: ours takes %v, Argo CD's %v (medians of %d): %.2f of it, at most %.2f are wanted", c.name, own, argoCD, len(ours), ratio, mostOfArgoCD)
			}
		})
	}
}

func timed(b *testing.B, c speedCase, render func(*testing.B) int) time.Duration {
	start := time.Now()
	got := render(b)
	took := time.Since(start)
	if got != c.count {
		b.Fatalf("%s: %d Applications, want %d", c.name, got, c.count)
	}
	return took
}
