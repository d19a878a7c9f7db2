package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Names of the components, for StartComponent, StopComponent and their like.
const (
	Etcd                     = "etcd"
	APIServer                = "kube-apiserver"
	ControllerManager        = "kube-controller-manager"
	Redis                    = "redis"
	RepoServer               = "argocd-repo-server"
	ApplicationController    = "argocd-application-controller"
	ApplicationSetController = "argocd-applicationset-controller"
)

const (
	argoNamespace = "argocd"
	contextName   = "controlplane"

	// TeamNamespaces are the namespaces beside its own in which Argo CD looks for Applications and ApplicationSets.
	TeamNamespaces = "team-*"

	// InClusterServer is the destination that every Argo CD knows: its own cluster.
	InClusterServer = "https://kubernetes.default.svc"
)

// Options say how a cluster is started. Only Binaries is required.
type Options struct {
	Binaries Binaries
	// Dir keeps the cluster's data. Default: a new temporary directory. Stop removes it.
	Dir string
	// LogDir receives the log of each component and survives Stop. Default: logs lie in Dir,
	// and are copied to a directory that the error names when Start fails.
	LogDir string
	// Progress is told what is being started. Default: nothing is told.
	Progress io.Writer
}

// Cluster is a running control plane, or (see Attach) somebody else's.
type Cluster struct {
	dir, logDir string
	kubeconfig  string
	config      *rest.Config
	dynamic     dynamic.Interface
	// argoInside tells that Argo CD runs in Pods of the cluster.
	argoInside bool

	unlockDir  func()
	ports      portSet
	components map[string]component

	mu        sync.Mutex
	processes map[string]*process // those that StartComponent has started
	stopped   bool
}

// Start starts a control plane with Argo CD in it and returns when it serves: after about ten
// seconds, or some more on a busy machine. The ApplicationSet controller is not started (see StartApplicationSetController).
//
// Every wait inside is bounded. An error names the component that is not ready, shows the end
// of its log, and says where all logs are kept; nothing is left running.
//
// All processes end with Stop, and on Linux also when this process dies without it.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	c, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx, options); err != nil {
		kept := c.logDir
		if options.LogDir == "" {
			if copied, copyErr := c.KeepLogs(); copyErr == nil {
				kept = copied
			}
		}
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w\nAll logs are kept in %s", err, kept), c.Stop())
	}
	return c, nil
}

func newCluster(options Options) (_ *Cluster, err error) {
	c := &Cluster{processes: map[string]*process{}, logDir: options.LogDir}
	if c.dir, c.unlockDir, err = dataDir(options.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.logDir == "" {
		c.logDir = filepath.Join(c.dir, "logs")
	}
	if err := os.MkdirAll(c.logDir, 0o755); err != nil {
		return nil, err
	}
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	credentials, err := newCredentials(filepath.Join(c.dir, "credentials"))
	if err != nil {
		return nil, err
	}
	layout, err := newLayout(options.Binaries, c.dir, c.kubeconfig, credentials, &c.ports)
	if err != nil {
		return nil, err
	}
	c.components = map[string]component{}
	for _, component := range layout.components() {
		component.logFile = filepath.Join(c.logDir, component.name+".log")
		c.components[component.name] = component
	}
	c.config = layout.restConfig()
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		return nil, err
	}
	return c, writeKubeconfig(c.kubeconfig, c.config)
}

// start brings the components up in the order in which they need each other.
func (c *Cluster) start(ctx context.Context, options Options) error {
	progress := options.Progress
	fmt.Fprintln(progress, "controlplane: starting etcd and kube-apiserver")
	if err := c.StartComponent(ctx, Etcd); err != nil {
		return err
	}
	if err := c.StartComponent(ctx, APIServer); err != nil {
		return err
	}
	fmt.Fprintln(progress, "controlplane: installing and starting Argo CD")
	group, groupCtx := errgroup.WithContext(ctx)
	for _, name := range []string{ControllerManager, Redis, RepoServer} {
		group.Go(func() error { return c.StartComponent(groupCtx, name) })
	}
	group.Go(func() error { return bootstrap(groupCtx, c.config, c.dynamic, options.Binaries) })
	if err := group.Wait(); err != nil {
		return err
	}
	// Last, because it caches which API resources exist when it starts.
	return c.StartComponent(ctx, ApplicationController)
}

// AttachInstalled is Attach for a cluster in which Argo CD runs as it is usually installed, in Pods:
// it does not reach what listens on this machine's loopback addresses. Its settings get the health of
// ConfigMaps (see bootstrap.go).
func AttachInstalled(ctx context.Context, kubeconfig string) (*Cluster, error) {
	c, err := Attach(kubeconfig)
	if err != nil {
		return nil, err
	}
	c.argoInside = true
	return c, setConfigMapHealth(ctx, c.dynamic)
}

// Attach wraps a cluster that runs already and has an Argo CD beside it, which another process has
// started on this machine. Its components cannot be started or stopped, and Stop does nothing.
func Attach(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting as %s says: %w", kubeconfig, err)
	}
	return &Cluster{kubeconfig: kubeconfig, config: config, dynamic: client}, nil
}

// RESTConfig is a copy of the connection settings of a cluster administrator.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig is the path of a kubeconfig file with the same settings.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Server is the URL under which Argo CD reaches the API server, beside InClusterServer.
func (c *Cluster) Server() string {
	if c.argoInside {
		return InClusterServer + ".cluster.local"
	}
	return c.config.Host
}

// LocalhostServer is Server with another name for the same address: another destination to
// Argo CD, on the same API server.
func (c *Cluster) LocalhostServer() string {
	if c.argoInside {
		return strings.TrimSuffix(InClusterServer, ".svc")
	}
	return strings.Replace(c.config.Host, "127.0.0.1", "localhost", 1)
}

// ArgoNamespace is the namespace in which Argo CD runs and looks for Applications.
func (c *Cluster) ArgoNamespace() string { return argoNamespace }

// LogDir holds one log per component, called as the component with .log behind it.
func (c *Cluster) LogDir() string { return c.logDir }

// LogTail is the end of a component's log, at most 40 lines.
func (c *Cluster) LogTail(name string) string {
	component, ok := c.components[name]
	if !ok {
		return "(" + c.unknownComponent(name).Error() + ")"
	}
	return component.logTail()
}

// KeepLogs copies the logs to a new temporary directory, where they survive Stop, and returns
// its path.
func (c *Cluster) KeepLogs() (string, error) {
	if c.components == nil {
		return "", fmt.Errorf("keeping logs: the components of %s are not run by this process", c.kubeconfig)
	}
	dir, err := os.MkdirTemp("", "argocdprogressive-controlplane-logs-")
	if err != nil {
		return "", err
	}
	if err := copyFiles(filepath.Join(c.logDir, "*.log"), dir, 0o644); err != nil {
		return "", fmt.Errorf("keeping the control plane's logs: %w", err)
	}
	return dir, nil
}

// StartComponent starts a component that does not run, and returns when it is ready.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	component, ok := c.components[name]
	if !ok {
		return c.unknownComponent(name)
	}
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return fmt.Errorf("starting %s: the cluster is stopped", name)
	}
	if p := c.processes[name]; p != nil && p.running() {
		c.mu.Unlock()
		return fmt.Errorf("starting %s: it runs already", name)
	}
	p, err := startProcess(component)
	if err == nil {
		c.processes[name] = p
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return p.waitReady(ctx)
}

// StopComponent ends a component, with SIGTERM first and SIGKILL five seconds later, and
// returns when it is gone. A component that does not run is no error.
func (c *Cluster) StopComponent(name string) error { return c.stopComponent(name, stopGrace) }

func (c *Cluster) stopComponent(name string, grace time.Duration) error {
	if _, ok := c.components[name]; !ok {
		return c.unknownComponent(name)
	}
	c.mu.Lock()
	p := c.processes[name]
	delete(c.processes, name)
	c.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.stop(grace)
}

// PauseComponent stops all processes of a component in the middle of what they do, until
// ResumeComponent: connections stay open, and nothing is answered.
func (c *Cluster) PauseComponent(name string) error { return c.signal(name, (*process).pause) }

// ResumeComponent undoes PauseComponent.
func (c *Cluster) ResumeComponent(name string) error { return c.signal(name, (*process).resume) }

func (c *Cluster) signal(name string, send func(*process) error) error {
	if _, ok := c.components[name]; !ok {
		return c.unknownComponent(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[name]
	if p == nil || !p.running() {
		return fmt.Errorf("%s does not run", name)
	}
	return send(p)
}

// KillComponent ends a component without grace, as a machine does that loses its power.
func (c *Cluster) KillComponent(name string) error { return c.stopComponent(name, 0) }

// StartApplicationSetController starts Argo CD's own ApplicationSet controller with
// progressive syncs enabled. Only comparisons need it.
func (c *Cluster) StartApplicationSetController(ctx context.Context) error {
	return c.StartComponent(ctx, ApplicationSetController)
}

// StopApplicationSetController undoes StartApplicationSetController.
func (c *Cluster) StopApplicationSetController() error {
	return c.StopComponent(ApplicationSetController)
}

// Stop ends all components at once, without grace, and removes the cluster's data. It may be
// called more than once.
func (c *Cluster) Stop() error {
	if c.dir == "" {
		return nil // attached
	}
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil
	}
	c.stopped = true
	processes := c.processes
	c.mu.Unlock()
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, p := range processes {
		wait.Go(func() {
			if err := p.stop(0); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wait.Wait()
	c.ports.release()
	c.unlockDir()
	if err := os.RemoveAll(c.dir); err != nil {
		errs = append(errs, fmt.Errorf("removing the control plane's data: %w", err))
	}
	return errors.Join(errs...)
}

func (c *Cluster) unknownComponent(name string) error {
	if c.components == nil {
		return fmt.Errorf("%s is not run by this process: the cluster comes from %s", name, c.kubeconfig)
	}
	names := make([]string, 0, len(c.components))
	for name := range c.components {
		names = append(names, name)
	}
	sort.Strings(names)
	return fmt.Errorf("no component is called %q; there are %s", name, strings.Join(names, ", "))
}

func writeKubeconfig(path string, config *rest.Config) error {
	k := clientcmdapi.NewConfig()
	k.Clusters[contextName] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	k.AuthInfos[contextName] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	k.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName, Namespace: argoNamespace}
	k.CurrentContext = contextName
	return clientcmd.WriteToFile(*k, path)
}
