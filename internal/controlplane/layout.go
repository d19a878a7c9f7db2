package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// The administrator's client must not be what a test waits for.
const (
	clientQPS   = 500
	clientBurst = 1000
)

// readyTimeout is far above what any component needs, for machines that are busy with other
// things at the same time.
const readyTimeout = 2 * time.Minute

// layout is where everything of one cluster listens and lies.
type layout struct {
	binaries    Binaries
	dir         string
	kubeconfig  string
	credentials credentials

	etcd, etcdPeer, apiServer, controllerManager, redis int
	repoServer, repoServerMetrics                       int
	applicationControllerMetrics                        int
	appSetMetrics, appSetProbe, appSetWebhook           int
}

func newLayout(binaries Binaries, dir, kubeconfig string, credentials credentials, ports *portSet) (*layout, error) {
	l := &layout{binaries: binaries, dir: dir, kubeconfig: kubeconfig, credentials: credentials}
	for _, port := range []*int{&l.etcd, &l.etcdPeer, &l.apiServer, &l.controllerManager, &l.redis, &l.repoServer,
		&l.repoServerMetrics, &l.applicationControllerMetrics, &l.appSetMetrics, &l.appSetProbe, &l.appSetWebhook} {
		taken, err := ports.take()
		if err != nil {
			return nil, err
		}
		*port = taken
	}
	for _, sub := range []string{"home", "tmp", "tls", "ssh", "gpg"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	// Repositories may belong to another user than the one who runs the repo server.
	gitConfig := "[safe]\n\tdirectory = *\n"
	return l, os.WriteFile(l.gitConfig(), []byte(gitConfig), 0o600)
}

func (l *layout) gitConfig() string { return filepath.Join(l.dir, "home", ".gitconfig") }

func (l *layout) restConfig() *rest.Config {
	return &rest.Config{
		Host:            "https://" + addr(l.apiServer),
		BearerToken:     l.credentials.adminToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: l.credentials.caPEM},
		QPS:             clientQPS,
		Burst:           clientBurst,
		// The API server warns of each finalizer that Argo CD itself uses.
		WarningHandler: rest.NoWarnings{},
	}
}

func (l *layout) components() []component {
	return []component{
		l.etcdComponent(), l.apiServerComponent(), l.controllerManagerComponent(), l.redisComponent(),
		l.repoServerComponent(), l.applicationControllerComponent(), l.applicationSetControllerComponent(),
	}
}

func (l *layout) etcdComponent() component {
	client, peer := "http://"+addr(l.etcd), "http://"+addr(l.etcdPeer)
	return component{
		name: Etcd, path: l.binaries.Path("etcd"), env: l.environment(), readyTimeout: readyTimeout,
		args: []string{
			"--data-dir=" + filepath.Join(l.dir, "etcd"),
			"--unsafe-no-fsync",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		},
		ready: func(ctx context.Context) error { return answersOK(ctx, http.DefaultTransport, client+"/health", "") },
	}
}

func (l *layout) apiServerComponent() component {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.credentials.caPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	c := l.credentials
	return component{
		name: APIServer, path: l.binaries.Path("kube-apiserver"), env: l.environment(), readyTimeout: readyTimeout,
		args: []string{
			"--etcd-servers=http://" + addr(l.etcd),
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(l.apiServer), "--advertise-address=127.0.0.1",
			"--cert-dir=" + filepath.Join(l.dir, "apiserver"),
			"--tls-cert-file=" + c.certFile, "--tls-private-key-file=" + c.keyFile,
			"--service-account-issuer=" + InClusterServer,
			"--service-account-signing-key-file=" + c.serviceAccountKeyFile,
			"--service-account-key-file=" + c.serviceAccountKeyFile,
			"--token-auth-file=" + c.tokenFile,
			"--authorization-mode=RBAC",
			"--service-cluster-ip-range=10.0.0.0/24",
			// Its endpoint must not be a loopback address, and nothing here goes through Services.
			"--endpoint-reconciler-type=none",
			// No controller makes tokens for Pods here, and no Pod ever runs.
			"--disable-admission-plugins=ServiceAccount",
		},
		ready: func(ctx context.Context) error {
			return answersOK(ctx, transport, "https://"+addr(l.apiServer)+"/readyz", c.adminToken)
		},
	}
}

func (l *layout) controllerManagerComponent() component {
	// Its certificate is self-signed, and /healthz has nothing to protect.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // see above
	return component{
		name: ControllerManager, path: l.binaries.Path("kube-controller-manager"), env: l.environment(), readyTimeout: readyTimeout,
		args: []string{
			"--kubeconfig=" + l.kubeconfig,
			"--authorization-kubeconfig=" + l.kubeconfig, "--authentication-skip-lookup",
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(l.controllerManager),
			"--cert-dir=" + filepath.Join(l.dir, "controller-manager"),
			"--leader-elect=false",
			"--root-ca-file=" + l.credentials.caFile,
			"--service-account-private-key-file=" + l.credentials.serviceAccountKeyFile,
			// Without nodes, these only log that there are none.
			"--controllers=*,-node-ipam-controller,-node-lifecycle-controller,-node-route-controller," +
				"-cloud-node-lifecycle-controller,-taint-eviction-controller",
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
		ready: func(ctx context.Context) error {
			return answersOK(ctx, transport, "https://"+addr(l.controllerManager)+"/healthz", "")
		},
	}
}

func (l *layout) redisComponent() component {
	return component{
		name: Redis, path: l.binaries.Path("redis"), env: l.environment(), readyTimeout: readyTimeout,
		args:  []string{addr(l.redis)},
		ready: func(ctx context.Context) error { return accepts(ctx, l.redis) },
	}
}

func (l *layout) repoServerComponent() component {
	args := []string{
		"--redis=" + addr(l.redis), "--disable-tls",
		"--address=127.0.0.1", "--port=" + strconv.Itoa(l.repoServer),
		"--metrics-address=127.0.0.1", "--metrics-port=" + strconv.Itoa(l.repoServerMetrics),
		"--logformat=text",
	}
	return component{
		name: RepoServer, path: l.binaries.Path(RepoServer), env: l.environment(), readyTimeout: readyTimeout,
		args: append(args, l.binaries.argoCD().repoServerFlags...),
		ready: func(ctx context.Context) error {
			return answersOK(ctx, http.DefaultTransport, "http://"+addr(l.repoServerMetrics)+"/healthz?full=true", "")
		},
	}
}

func (l *layout) applicationControllerComponent() component {
	return component{
		name: ApplicationController, path: l.binaries.Path(ApplicationController), env: l.environment(), readyTimeout: readyTimeout,
		args: []string{
			"--kubeconfig=" + l.kubeconfig, "--namespace=" + argoNamespace,
			"--application-namespaces=" + TeamNamespaces,
			"--redis=" + addr(l.redis),
			"--repo-server=" + addr(l.repoServer), "--repo-server-plaintext",
			"--metrics-port=" + strconv.Itoa(l.applicationControllerMetrics),
			"--logformat=text",
		},
		ready: func(ctx context.Context) error {
			return answersOK(ctx, http.DefaultTransport, "http://"+addr(l.applicationControllerMetrics)+"/healthz", "")
		},
	}
}

func (l *layout) applicationSetControllerComponent() component {
	return component{
		name: ApplicationSetController, path: l.binaries.Path(ApplicationSetController), env: l.environment(), readyTimeout: readyTimeout,
		args: []string{
			"--kubeconfig=" + l.kubeconfig, "--namespace=" + argoNamespace,
			"--argocd-repo-server=" + addr(l.repoServer), "--repo-server-plaintext",
			"--enable-progressive-syncs",
			"--applicationset-namespaces=" + TeamNamespaces,
			// Or it refuses to look into other namespaces: a team could have tokens sent to any host.
			"--enable-scm-providers=false",
			"--metrics-addr=" + addr(l.appSetMetrics), "--probe-addr=" + addr(l.appSetProbe), "--webhook-addr=" + addr(l.appSetWebhook),
			"--logformat=text",
		},
		ready: func(ctx context.Context) error {
			// It registers no check with its probe server, which therefore knows no path.
			return answersOK(ctx, http.DefaultTransport, "http://"+addr(l.appSetMetrics)+"/metrics", "")
		},
	}
}

// environment is all that a component sees of this machine: its user's credentials, proxies
// and git settings must not change what a test does.
func (l *layout) environment() []string {
	in := func(name string) string { return filepath.Join(l.dir, name) }
	return []string{
		"PATH=" + l.binaries.BinDir() + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + in("home"),
		"TMPDIR=" + in("tmp"),
		"LANG=C.UTF-8",
		// The heaps are small and made anew all the time: without this, collecting them costs as much as the tests do.
		"GOGC=400", "GOMEMLIMIT=2GiB",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + l.gitConfig(),
		// Argo CD reaches the destination InClusterServer through KUBECONFIG then
		// (pkg/apis/application/v1alpha1/types.go, rawRestConfig, Argo CD 3.6.1).
		"ARGOCD_FAKE_IN_CLUSTER=true",
		"KUBECONFIG=" + l.kubeconfig,
		"ARGOCD_GPG_ENABLED=false",
		"ARGOCD_TLS_DATA_PATH=" + in("tls"),
		"ARGOCD_SSH_DATA_PATH=" + in("ssh"),
		"ARGOCD_GNUPGHOME=" + in("gpg"),
	}
}

func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// answersOK returns nil if a GET of url is answered with 200.
func answersOK(ctx context.Context, transport http.RoundTripper, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s answers %s: %s", url, response.Status, body)))
	}
	return nil
}

func accepts(ctx context.Context, port int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr(port))
	if err != nil {
		return err
	}
	return conn.Close()
}
