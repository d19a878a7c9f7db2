package controlplane

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// moduleFiles holds the Go modules that pin and build the programs. Their files end in .txt,
// because a directory with a real go.mod would be a module of its own, and go:embed does not
// look into those; .go files would in turn belong to this module.
//
//go:embed modules
var moduleFiles embed.FS

// program is one binary to build.
type program struct {
	name    string
	module  string // directory below modules/
	pkg     string
	links   []string // further names of the same binary
	ldflags string
	cold    time.Duration // build time on two cores with an empty Go build cache
}

const argoCDModule = "github.com/argoproj/argo-cd/v3"

// ArgoCDEnv names the Argo CD that Build builds, as BuildArgoCD takes it. Default: the newest.
const ArgoCDEnv = "ARGOCDPROGRESSIVE_ARGOCD"

// argoCD is an Argo CD that can be run.
type argoCD struct {
	minor, version string
	module         string // directory below modules/
	// repoServerFlags are those that others do not know.
	repoServerFlags []string
}

// argoCDs are the newest and the oldest Argo CD that the provider is for; the newest first. 3.2.12 does not
// compile: its controller/cache calls a function that its util/settings does not have.
var argoCDs = []*argoCD{
	// Without TLS it refuses to start with the path that is its default.
	{minor: "3.6", version: "3.6.1", module: "argocd", repoServerFlags: []string{"--client-ca-path="}},
	{minor: "3.2", version: "3.2.11", module: "argocd-3.2"},
}

// argoCDNamed finds an Argo CD by its minor version, or by its whole version; the newest has the
// empty name, too.
func argoCDNamed(name string) (*argoCD, error) {
	var known []string
	for _, a := range argoCDs {
		if name == "" || name == a.minor || name == a.version {
			return a, nil
		}
		known = append(known, a.minor)
	}
	return nil, fmt.Errorf("there is no Argo CD %s here, only %s", name, strings.Join(known, " and "))
}

// Without a version in it, kube-apiserver calls itself v0.0.0 and Helm charts with a
// kubeVersion constraint cannot be rendered.
const kubernetesLDFlags = "-X k8s.io/component-base/version.gitVersion=v1.36.3" +
	" -X k8s.io/component-base/version.gitMajor=1" +
	" -X k8s.io/component-base/version.gitMinor=36"

// programs are those of a control plane with this Argo CD.
func programs(argo *argoCD) []program {
	return []program{
		{name: "etcd", module: "etcd", pkg: "go.etcd.io/etcd/server/v3", cold: 30 * time.Second},
		{name: "redis", module: "etcd", pkg: "./redis", cold: 5 * time.Second},
		{name: "kube-apiserver", module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver",
			ldflags: kubernetesLDFlags, cold: 180 * time.Second},
		{name: "kube-controller-manager", module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager",
			ldflags: kubernetesLDFlags, cold: 60 * time.Second},
		{name: "argocd", module: argo.module, pkg: argoCDModule + "/cmd", cold: 240 * time.Second,
			ldflags: "-X " + argoCDModule + "/common.version=" + argo.version,
			links: []string{"argocd-application-controller", "argocd-repo-server",
				"argocd-applicationset-controller", "argocd-git-ask-pass"}},
		{name: "helm", module: "render", pkg: "helm.sh/helm/v4/cmd/helm", cold: 60 * time.Second},
		{name: "kustomize", module: "render", pkg: "sigs.k8s.io/kustomize/kustomize/v5", cold: 10 * time.Second},
	}
}

// openTofu is the program that OpenTofu consists of. It calls itself a development version
// unless it is told otherwise.
var openTofu = program{name: "tofu", module: "opentofu", pkg: "github.com/opentofu/opentofu/cmd/tofu",
	ldflags: "-X github.com/opentofu/opentofu/version.dev=no", cold: 300 * time.Second}

// key names the cache entry of this exact set of programs: it changes with every file of their
// modules, every build flag, and the platform.
func key(modules fs.FS, programs []program) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s/%s\n%q\n", runtime.GOOS, runtime.GOARCH, buildFlags)
	for _, p := range programs {
		fmt.Fprintf(h, "%q %q %q %q %q\n", p.name, p.module, p.pkg, p.links, p.ldflags)
	}
	err := walkModules(modules, programs, func(path string, d fs.DirEntry) error {
		if d.IsDir() {
			return nil
		}
		content, err := fs.ReadFile(modules, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", path, len(content))
		h.Write(content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hashing the control plane's module files: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// writeModules writes the programs' modules below dir under their real names.
func writeModules(modules fs.FS, programs []program, dir string) error {
	return walkModules(modules, programs, func(path string, d fs.DirEntry) error {
		target := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(path, ".txt")))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(modules, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// walkModules visits the files and directories of the programs' modules in a fixed order.
func walkModules(modules fs.FS, programs []program, visit func(path string, d fs.DirEntry) error) error {
	var used []string
	for _, p := range programs {
		used = append(used, p.module)
	}
	slices.Sort(used)
	for _, module := range slices.Compact(used) {
		err := fs.WalkDir(modules, module, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return visit(path, d)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
