// Package cptest gives the tests of a package one control plane between them: started when
// the first test asks for it, stopped when all have run. Tests that stop or pause its parts have
// another one, see Fragile.
//
//	func TestMain(m *testing.M) { os.Exit(cptest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		cluster := cptest.Shared(t)
//		...
//	}
package cptest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/helmrepo"
)

// KubeconfigEnv names the kubeconfig file of a cluster to test on, with Argo CD in its
// namespace argocd, instead of starting one.
const KubeconfigEnv = "ARGOCDPROGRESSIVE_TEST_KUBECONFIG"

// AddressEnv is an address of this machine at which the Pods of that cluster reach it. Where it is
// set, Argo CD runs in these Pods, and reads its repositories from there.
const AddressEnv = "ARGOCDPROGRESSIVE_TEST_ADDRESS"

// A cold build takes about ten minutes on two idle cores, a start ten seconds.
const (
	buildTimeout = 45 * time.Minute
	startTimeout = 4 * time.Minute
)

var shared = sync.OnceValues(start)

var started bool // set by start, read by Main when no test runs any more

// Shared is this test process's cluster. The first call starts it, and fails the test when
// that fails; so do all later calls then. Its first call ever on a machine builds the control
// plane, which takes longer than go test allows: run "go run
// ./internal/controlplane/cmd/controlplane build" before.
//
// Tests share the cluster, so they choose names of their own for whatever they create.
func Shared(t testing.TB) *controlplane.Cluster {
	t.Helper()
	cluster, err := shared()
	if err != nil {
		t.Fatalf("no control plane to test on: %v", err)
	}
	return cluster
}

// Repo makes a git repository in dir that Argo CD can read: over HTTP where it cannot see dir.
func Repo(t testing.TB, dir string) *gitrepo.Repo {
	t.Helper()
	repo, err := gitrepo.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if address := os.Getenv(AddressEnv); address != "" {
		stop, err := repo.Serve(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	return repo
}

// Charts serves a Helm repository that Argo CD can read.
func Charts(t testing.TB, charts ...helmrepo.Chart) *helmrepo.Server {
	t.Helper()
	server, err := helmrepo.StartOn(cmp.Or(os.Getenv(AddressEnv), "127.0.0.1"), charts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// Serve answers what Argo CD asks over HTTP, until the test ends.
func Serve(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	if address := os.Getenv(AddressEnv); address != "" {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		server.Listener.Close()
		server.Listener = listener
	}
	server.Start()
	t.Cleanup(server.Close)
	return server
}

var fragile struct {
	sync.Mutex
	cluster *controlplane.Cluster
}

// Fragile is a cluster whose parts may be stopped, for one test at a time: others wait until it has
// ended, and all must leave it whole. It is a second one beside Shared, and a local one always.
func Fragile(t testing.TB) *controlplane.Cluster {
	t.Helper()
	fragile.Lock()
	t.Cleanup(fragile.Unlock)
	if fragile.cluster == nil {
		cluster, err := startLocal()
		if err != nil {
			t.Fatalf("no control plane to break: %v", err)
		}
		fragile.cluster = cluster
	}
	return fragile.cluster
}

// Main runs the tests of a package and stops their clusters. Its result is the exit code.
// When a test has failed, the logs of the clusters' components are kept, and where is printed.
func Main(m *testing.M) (code int) {
	defer func() {
		var clusters []*controlplane.Cluster
		if fragile.cluster != nil {
			clusters = append(clusters, fragile.cluster)
		}
		if started {
			if cluster, err := shared(); err == nil { // otherwise start has cleaned up
				clusters = append(clusters, cluster)
			}
		}
		for _, cluster := range clusters {
			if code != 0 {
				keepLogs(cluster)
			}
			if err := cluster.Stop(); err != nil {
				fmt.Fprintf(os.Stderr, "controlplane: stopping: %v\n", err)
				code = max(code, 1)
			}
		}
	}()
	return m.Run()
}

func start() (*controlplane.Cluster, error) {
	if kubeconfig := os.Getenv(KubeconfigEnv); kubeconfig != "" {
		if os.Getenv(AddressEnv) != "" {
			ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
			defer cancel()
			return controlplane.AttachInstalled(ctx, kubeconfig)
		}
		return controlplane.Attach(kubeconfig)
	}
	cluster, err := startLocal()
	started = err == nil
	return cluster, err
}

func startLocal() (*controlplane.Cluster, error) {
	build, cancelBuild := context.WithTimeout(context.Background(), buildTimeout)
	defer cancelBuild()
	binaries, err := controlplane.Build(build, os.Stderr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return controlplane.Start(ctx, controlplane.Options{Binaries: binaries})
}

func keepLogs(cluster *controlplane.Cluster) {
	dir, err := cluster.KeepLogs()
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		return
	}
	fmt.Fprintf(os.Stderr, "controlplane: the logs of its components are kept in %s\n", dir)
}
