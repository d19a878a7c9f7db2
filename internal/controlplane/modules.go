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

const (
	argoCDModule  = "github.com/argoproj/argo-cd/v3"
	argoCDVersion = "3.6.1"
)

// Without a version in it, kube-apiserver calls itself v0.0.0 and Helm charts with a
// kubeVersion constraint cannot be rendered.
const kubernetesLDFlags = "-X k8s.io/component-base/version.gitVersion=v1.36.3" +
	" -X k8s.io/component-base/version.gitMajor=1" +
	" -X k8s.io/component-base/version.gitMinor=36"

func programs() []program {
	return []program{
		{name: "etcd", module: "etcd", pkg: "go.etcd.io/etcd/server/v3", cold: 30 * time.Second},
		{name: "redis", module: "etcd", pkg: "./redis", cold: 5 * time.Second},
		{name: "kube-apiserver", module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver",
			ldflags: kubernetesLDFlags, cold: 180 * time.Second},
		{name: "kube-controller-manager", module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager",
			ldflags: kubernetesLDFlags, cold: 60 * time.Second},
		{name: "argocd", module: "argocd", pkg: argoCDModule + "/cmd", cold: 240 * time.Second,
			ldflags: "-X " + argoCDModule + "/common.version=" + argoCDVersion,
			links: []string{"argocd-application-controller", "argocd-repo-server",
				"argocd-applicationset-controller", "argocd-git-ask-pass"}},
		{name: "helm", module: "render", pkg: "helm.sh/helm/v4/cmd/helm", cold: 60 * time.Second},
		{name: "kustomize", module: "render", pkg: "sigs.k8s.io/kustomize/kustomize/v5", cold: 10 * time.Second},
	}
}

// key names the cache entry of this exact set of programs: it changes with every module file,
// every build flag, and the platform.
func key(modules fs.FS, programs []program) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s/%s\n%q\n", runtime.GOOS, runtime.GOARCH, buildFlags)
	for _, p := range programs {
		fmt.Fprintf(h, "%q %q %q %q %q\n", p.name, p.module, p.pkg, p.links, p.ldflags)
	}
	err := fs.WalkDir(modules, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
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

// writeModules writes the modules below dir under their real names.
func writeModules(modules fs.FS, dir string) error {
	return fs.WalkDir(modules, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
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
