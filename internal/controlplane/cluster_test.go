package controlplane_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/helmrepo"
)

func TestMain(m *testing.M) { os.Exit(cptest.Main(m)) }

func TestApplicationIsSyncedRefreshedAndDeleted(t *testing.T) {
	argo := newArgo(t, cptest.Shared(t))
	repo := newRepo(t, map[string]string{"app/config.yaml": configMap("life", "a: '1'")})
	first := commit(t, repo, "first")

	argo.create(application("life", "cp-life", controlplane.InClusterServer, source{"repoURL": repo.URL(), "path": "app", "targetRevision": "main"}))
	app := argo.await("life", "Synced and Healthy", syncedAndHealthy)
	if got := field(app, "status", "sync", "revision"); got != first {
		t.Errorf("synced to %s, want the commit %s", got, first)
	}
	if got := field(app, "status", "operationState", "phase"); got != "Succeeded" {
		t.Errorf("the operation is %s, want Succeeded", got)
	}
	if got := field(argo.configMap("cp-life", "life"), "data", "a"); got != "1" {
		t.Errorf("the ConfigMap has a = %q, want 1", got)
	}

	// A refresh must see a new commit at once, whatever the repo server has cached.
	for _, content := range []string{"a: '2'", "a: '3'", "a: '4'"} {
		write(t, repo, "app/config.yaml", configMap("life", content))
		next := commit(t, repo, content)
		argo.refresh("life")
		if app := argo.get("life"); field(app, "status", "sync", "revision") != next || field(app, "status", "sync", "status") != "OutOfSync" {
			t.Fatalf("after a refresh the status is %v, want OutOfSync at %s", app.Object["status"], next)
		}
	}

	argo.delete("life")
	if argo.configMap("cp-life", "life") != nil {
		t.Error("the ConfigMap outlives its Application")
	}
}

func TestHealthOfConfigMapsIsWhatTheySay(t *testing.T) {
	argo := newArgo(t, cptest.Shared(t))
	repo := newRepo(t, map[string]string{"app/config.yaml": configMap("sick", "health: Degraded", "message: out of order")})
	commit(t, repo, "sick")
	argo.create(application("sick", "cp-sick", controlplane.InClusterServer, source{"repoURL": repo.URL(), "path": "app", "targetRevision": "main"}))
	app := argo.await("sick", "Synced and Degraded", func(app object) bool {
		return field(app, "status", "sync", "status") == "Synced" && field(app, "status", "health", "status") == "Degraded"
	})
	if message := field(app, "status", "health", "message"); !strings.Contains(message, "sick") {
		t.Errorf("the message %q does not name the culprit", message)
	}
	argo.delete("sick")
}

func TestAddedClusterIsADestination(t *testing.T) {
	cluster := cptest.Shared(t)
	argo := newArgo(t, cluster)
	for name, server := range map[string]string{"by-address": cluster.Server(), "by-name": cluster.LocalhostServer()} {
		if err := cluster.AddCluster(t.Context(), name, server); err != nil {
			t.Fatal(err)
		}
		if err := cluster.AddCluster(t.Context(), name, server); err == nil {
			t.Errorf("the cluster %s can be added twice", name)
		}
		repo := newRepo(t, map[string]string{"app/config.yaml": configMap(name)})
		commit(t, repo, "config")
		argo.create(application(name, "cp-"+name, server, source{"repoURL": repo.URL(), "path": "app", "targetRevision": "main"}))
		argo.await(name, "Synced and Healthy", syncedAndHealthy)
		if argo.configMap("cp-"+name, name) == nil {
			t.Errorf("the Application in %s has deployed nothing", server)
		}
		argo.delete(name)
		if argo.configMap("cp-"+name, name) != nil {
			t.Errorf("the Application in %s has left its ConfigMap", server)
		}
		for range 2 { // the second time it is gone already
			if err := cluster.RemoveCluster(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestHelmAndKustomizeSourcesAreRendered(t *testing.T) {
	argo := newArgo(t, cptest.Shared(t))
	charts, err := helmrepo.Start(
		helmrepo.Chart{Name: "one", Version: "1.0.0"}, helmrepo.Chart{Name: "one", Version: "1.1.0"}, helmrepo.Chart{Name: "two", Version: "1.7.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer charts.Close()
	repo := newRepo(t, map[string]string{
		"app/kustomization.yaml": "resources: [config.yaml]\nnamePrefix: pre-\n",
		"app/config.yaml":        configMap("kustomized", "version: '1'"),
	})
	commit(t, repo, "kustomize")
	chart := func(name string) source {
		return source{"repoURL": charts.URL(), "chart": name, "targetRevision": "1.*",
			"helm": map[string]any{"valuesObject": map[string]any{"value": "mine"}}}
	}
	tests := []struct {
		name, configMap, version string
		source                   source
	}{
		{"chart-one", "chart-one", "1.1.0", chart("one")},
		{"chart-two", "chart-two", "1.7.0", chart("two")},
		{"kustomized", "pre-kustomized", "1", source{"repoURL": repo.URL(), "path": "app", "targetRevision": "main"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			argo := newArgo(t, argo.cluster)
			argo.create(application(test.name, "cp-render", controlplane.InClusterServer, test.source))
			argo.await(test.name, "Synced and Healthy", syncedAndHealthy)
			if got := field(argo.configMap("cp-render", test.configMap), "data", "version"); got != test.version {
				t.Errorf("the ConfigMap says version %q, want %q", got, test.version)
			}
			argo.delete(test.name)
		})
	}
}

func TestComponentsCanBeStoppedAndStarted(t *testing.T) {
	cluster := cptest.Shared(t)
	argo := newArgo(t, cluster)
	if err := cluster.StopComponent(controlplane.ApplicationController); err != nil {
		t.Fatal(err)
	}
	if _, runs := cluster.ProcessGroups()[controlplane.ApplicationController]; runs {
		t.Error("a stopped component runs")
	}
	if err := cluster.StopComponent(controlplane.ApplicationController); err != nil {
		t.Errorf("stopping what does not run: %v", err)
	}
	repo := newRepo(t, map[string]string{"app/config.yaml": configMap("waiting")})
	commit(t, repo, "waiting")
	argo.create(application("waiting", "cp-waiting", controlplane.InClusterServer, source{"repoURL": repo.URL(), "path": "app", "targetRevision": "main"}))
	if err := cluster.StartComponent(t.Context(), controlplane.ApplicationController); err != nil {
		t.Fatal(err)
	}
	if err := cluster.StartComponent(t.Context(), controlplane.ApplicationController); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("starting what runs: %v, want a refusal", err)
	}
	argo.await("waiting", "Synced and Healthy", syncedAndHealthy)
	argo.delete("waiting")
	if tail := cluster.LogTail(controlplane.ApplicationController); !strings.Contains(tail, "waiting") {
		t.Errorf("the log's tail does not speak of the Application:\n%s", tail)
	}
	if err := cluster.StartComponent(t.Context(), "kubelet"); err == nil || !strings.Contains(err.Error(), "etcd, kube-apiserver") {
		t.Errorf("an unknown component gives %v, want the known ones", err)
	}
}

func TestApplicationSetControllerRunsOnRequest(t *testing.T) {
	cluster := cptest.Shared(t)
	argo := newArgo(t, cluster)
	if err := cluster.StartApplicationSetController(t.Context()); err != nil {
		t.Fatal(err)
	}
	set := argo.createApplicationSet("in-cluster", "from-the-controller")
	argo.await("from-the-controller", "created", func(object) bool { return true })
	argo.deleteApplicationSet(set)
	argo.awaitGone("from-the-controller")
	if err := cluster.StopApplicationSetController(); err != nil {
		t.Fatal(err)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	cptest.Shared(t) // two clusters at a time do not disturb each other
	binaries, err := controlplane.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := controlplane.Start(t.Context(), controlplane.Options{Binaries: binaries})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop() // checked below
	groups, dir := cluster.ProcessGroups(), cluster.Dir()
	if len(groups) != 6 {
		t.Errorf("%d components run, want 6: %v", len(groups), groups)
	}
	wantKubeconfigWorks(t, cluster.Kubeconfig())
	logs, err := cluster.KeepLogs()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(logs)

	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, group := range groups {
		if !controlplane.GroupEnds(group) {
			t.Errorf("%s runs on after Stop", name)
		}
		if _, err := os.Stat(filepath.Join(logs, name+".log")); err != nil {
			t.Errorf("the log of %s is not kept: %v", name, err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data is still there: %v", err)
	}
	if err := cluster.Stop(); err != nil {
		t.Errorf("a second Stop gives %v", err)
	}
	if err := cluster.StartComponent(t.Context(), controlplane.Etcd); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a component of a stopped cluster starts: %v", err)
	}
}

func TestStartThatFailsSaysWhyAndKeepsTheLogs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	binaries := controlplane.Binaries{Dir: filepath.Join(dir, "binaries")}
	if err := os.MkdirAll(binaries.BinDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binaries.Path("etcd"), []byte("#!/bin/sh\necho the disk is full\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{Binaries: binaries})
	if err == nil || !strings.Contains(err.Error(), "etcd ended before it was ready") || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("error is %v, want the component and its log", err)
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "argocdprogressive-controlplane-logs-*"))
	if len(logs) != 1 || !strings.Contains(err.Error(), logs[0]) {
		t.Errorf("logs are kept in %v, and the error is %v", logs, err)
	}
	data, _ := filepath.Glob(filepath.Join(dir, "argocdprogressive-controlplane-[0-9]*"))
	if len(data) != 0 {
		t.Errorf("data is left behind: %v", data)
	}
}

func wantKubeconfigWorks(t *testing.T, path string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := client.Resource(applications).Namespace("argocd").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("the kubeconfig file does not work: %v", err)
	}
}

func newRepo(t *testing.T, files map[string]string) *gitrepo.Repo {
	t.Helper()
	repo, err := gitrepo.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range files {
		write(t, repo, path, content)
	}
	return repo
}

func write(t *testing.T, repo *gitrepo.Repo, path, content string) {
	t.Helper()
	if err := repo.Write(path, content); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, repo *gitrepo.Repo, message string) string {
	t.Helper()
	sha, err := repo.Commit(message)
	if err != nil {
		t.Fatal(err)
	}
	return sha
}

func TestAttachedClusterIsNotOursToStop(t *testing.T) {
	ours := cptest.Shared(t)
	attached, err := controlplane.Attach(ours.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := attached.Stop(); err != nil {
		t.Errorf("Stop gives %v, want nothing done", err)
	}
	wantKubeconfigWorks(t, attached.Kubeconfig())
	if err := attached.StopComponent(controlplane.Etcd); err == nil || !strings.Contains(err.Error(), ours.Kubeconfig()) {
		t.Errorf("StopComponent gives %v, want where the cluster comes from", err)
	}
	if _, err := attached.KeepLogs(); err == nil {
		t.Error("logs are kept of components that this process does not run")
	}
}
