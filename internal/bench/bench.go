package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
)

const (
	buildTimeout = time.Hour
	startTimeout = 4 * time.Minute
)

// scale is how many Applications a row works on.
type scale struct{ apps, steps int }

func (s scale) String() string { return fmt.Sprintf("%d in %d", s.apps, s.steps) }

// rowTimeout is how long one rollout or deletion may take, by either side.
func (s scale) rowTimeout() time.Duration {
	return 10*time.Minute + time.Duration(s.apps)*3*time.Second
}

// restTimeout is how long what follows a measured row may take.
func (s scale) restTimeout() time.Duration {
	return 3*time.Minute + time.Duration(s.apps)*time.Second
}

// bench is what all rows share.
type bench struct {
	options options
	// scale is that of the rows that are being measured.
	scale    scale
	progress io.Writer
	dir      string
	cluster  *controlplane.Cluster
	client   dynamic.Interface
	repo     *gitrepo.Repo
	commits  int
	// slow gives what Applications deploy a finalizer that is taken off late.
	slow     bool
	proxy    *proxy
	recorder *recorder
	scraper  *scraper
	stop     context.CancelFunc

	results []result
	// failures are the rows that could not be measured.
	failures []error
}

// newBench starts the cluster and builds the provider.
func newBench(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o, scale: o.scale, progress: os.Stderr}
	if b.dir, err = os.MkdirTemp("", "argocdprogressive-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if err := buildProvider(ctx, b.plugins()); err != nil {
		return nil, err
	}
	if err := b.startCluster(ctx); err != nil {
		return nil, err
	}
	config := b.cluster.RESTConfig()
	if b.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if b.scraper, err = newScraper(config); err != nil {
		return nil, err
	}
	if b.proxy, err = newProxy(config); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	if b.recorder, err = newRecorder(watching, b.client, b.namespace()); err != nil {
		return nil, err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": destination},
	}}
	if _, err := b.client.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("creating the namespace %s: %w", destination, err)
	}
	b.repo, err = gitrepo.New(filepath.Join(b.dir, "repo"))
	return b, err
}

func (b *bench) startCluster(ctx context.Context) error {
	build, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	binaries, err := controlplane.Build(build, b.progress)
	if err != nil {
		return err
	}
	start, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	b.cluster, err = controlplane.Start(start, controlplane.Options{
		Binaries: binaries, Dir: filepath.Join(b.dir, "cluster"), Progress: b.progress,
	})
	return err
}

func (b *bench) namespace() string { return b.cluster.ArgoNamespace() }
func (b *bench) plugins() string   { return filepath.Join(b.dir, "plugins") }

// close ends and removes everything.
func (b *bench) close() error {
	var errs []error
	if b.stop != nil {
		b.stop()
	}
	if b.proxy != nil {
		errs = append(errs, b.proxy.close())
	}
	if b.cluster != nil {
		errs = append(errs, b.cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// say tells what is going on, with the time.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "bench: %s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// commit is a commit that changes the files of these Applications.
func (b *bench) commit(apps ...int) commit {
	return func() (string, error) {
		b.commits++
		version := fmt.Sprintf("v%d", b.commits)
		for _, i := range apps {
			if err := b.repo.Write("apps/"+appName(i)+"/configmap.yaml", configMap(appName(i), version, b.slow)); err != nil {
				return "", err
			}
		}
		return b.repo.Commit(version)
	}
}

// commitAll is a commit that changes all Applications.
func (b *bench) commitAll() commit {
	apps := make([]int, b.scale.apps)
	for i := range apps {
		apps[i] = i
	}
	return b.commit(apps...)
}

// noCommit is none.
func (b *bench) noCommit() (string, error) { return b.repo.Head() }

// set is the ApplicationSet with the options of the command line.
func (b *bench) set(adjust func(*setOptions)) map[string]any {
	o := setOptions{apps: b.scale.apps, steps: b.scale.steps}
	adjust(&o)
	return applicationSet(b.namespace(), b.repo.URL(), o)
}

func rolling(o *setOptions)   { o.rolling = true }
func automated(o *setOptions) { o.automated = true }
func together(*setOptions)    {}
