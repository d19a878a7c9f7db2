package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// CacheEnv overrides the directory that holds the built programs. Default:
// terraform-provider-argocdprogressive/controlplane in the user's cache directory.
const CacheEnv = "ARGOCDPROGRESSIVE_CONTROLPLANE_DIR"

const progressInterval = 15 * time.Second

var buildFlags = []string{"-mod=readonly", "-trimpath", "-buildvcs=false"}

// Binaries are the programs of the control plane, built and complete.
type Binaries struct {
	// Dir holds bin/ (the programs and Argo CD's helper scripts), crds/ (Argo CD's
	// CustomResourceDefinitions) and config/ (its own ConfigMaps and Secrets).
	Dir string
	// argo is the Argo CD among them; nil means the newest.
	argo *argoCD
}

// Path is the program called name.
func (b Binaries) Path(name string) string { return filepath.Join(b.BinDir(), name) }

// BinDir is the directory of all programs. The repo server needs it on its PATH.
func (b Binaries) BinDir() string { return filepath.Join(b.Dir, "bin") }

// argoCD is the Argo CD among the programs.
func (b Binaries) argoCD() *argoCD {
	if b.argo == nil {
		return argoCDs[0]
	}
	return b.argo
}

// Build returns the programs, building them first when this machine does not have them: about
// ten minutes on two cores, when nothing is in Go's build cache. What is being built, and for
// how long already, goes to progress. Of several processes that call Build at the same time
// one builds, the others wait for it. An interrupted build leaves no half-made entry.
//
// It needs the go command, and the Go module proxy when the modules are not downloaded yet. The
// Argo CD is the one that ArgoCDEnv names.
func Build(ctx context.Context, progress io.Writer) (Binaries, error) {
	return BuildArgoCD(ctx, os.Getenv(ArgoCDEnv), progress)
}

// BuildArgoCD is Build with the Argo CD of a minor version, e.g. "3.2"; empty for the newest.
func BuildArgoCD(ctx context.Context, minor string, progress io.Writer) (Binaries, error) {
	argo, err := argoCDNamed(minor)
	if err != nil {
		return Binaries{}, err
	}
	b, err := newBuilder(programs(argo), progress)
	if err != nil {
		return Binaries{}, err
	}
	b.assets = func(ctx context.Context, src, entry string) error {
		return copyArgoCDAssets(ctx, filepath.Join(src, argo.module), entry)
	}
	binaries, err := b.build(ctx)
	binaries.argo = argo
	return binaries, err
}

// BuildOpenTofu returns the path of OpenTofu's program, built as Build does.
func BuildOpenTofu(ctx context.Context, progress io.Writer) (string, error) {
	b, err := newBuilder([]program{openTofu}, progress)
	if err != nil {
		return "", err
	}
	binaries, err := b.build(ctx)
	return binaries.Path(openTofu.name), err
}

func newBuilder(programs []program, progress io.Writer) (builder, error) {
	modules, err := fs.Sub(moduleFiles, "modules")
	if err != nil {
		return builder{}, err
	}
	root, err := cacheRoot()
	return builder{modules: modules, programs: programs, root: root, progress: progress,
		assets: func(context.Context, string, string) error { return nil }}, err
}

func cacheRoot() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the control plane's programs (set %s to choose one): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "terraform-provider-argocdprogressive", "controlplane"), nil
}

type builder struct {
	modules  fs.FS
	programs []program
	root     string
	progress io.Writer
	// assets copies what comes with the modules besides programs into an entry. src is where
	// the modules were written to.
	assets func(ctx context.Context, src, entry string) error
}

func (b builder) build(ctx context.Context) (Binaries, error) {
	name, err := key(b.modules, b.programs)
	if err != nil {
		return Binaries{}, err
	}
	entry := filepath.Join(b.root, name)
	if isDir(entry) {
		return Binaries{Dir: entry}, nil
	}
	if err := os.MkdirAll(b.root, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("creating the control plane's cache: %w", err)
	}
	unlock, err := lockFile(ctx, entry+".lock", func() {
		fmt.Fprintf(b.progress, "controlplane: another process builds the control plane, waiting for it\n")
	})
	if err != nil {
		return Binaries{}, fmt.Errorf("waiting for the lock of %s: %w", entry, err)
	}
	defer unlock()
	if isDir(entry) {
		return Binaries{Dir: entry}, nil
	}
	if err := b.buildEntry(ctx, entry); err != nil {
		return Binaries{}, err
	}
	return Binaries{Dir: entry}, nil
}

// buildEntry builds into a directory beside entry and renames it, so that an entry is complete
// or absent. The caller holds the lock, so leftovers of a killed build are nobody's.
func (b builder) buildEntry(ctx context.Context, entry string) error {
	tmp := entry + ".building"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	src := filepath.Join(tmp, "src")
	if err := writeModules(b.modules, b.programs, src); err != nil {
		return fmt.Errorf("writing the control plane's module files: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(tmp, "bin"), 0o755); err != nil {
		return err
	}
	var cold time.Duration
	for _, p := range b.programs {
		cold += p.cold
	}
	start := time.Now()
	for i, p := range b.programs {
		stop := b.report(start, fmt.Sprintf("building %s (%d of %d)", p.name, i+1, len(b.programs)), cold)
		err := buildProgram(ctx, src, filepath.Join(tmp, "bin"), p)
		stop()
		if err != nil {
			return err
		}
	}
	if err := b.assets(ctx, src, tmp); err != nil {
		return err
	}
	if err := os.RemoveAll(src); err != nil {
		return err
	}
	if err := os.Rename(tmp, entry); err != nil {
		return fmt.Errorf("storing the built control plane: %w", err)
	}
	fmt.Fprintf(b.progress, "controlplane: built in %s into %s\n", time.Since(start).Round(time.Second), entry)
	return nil
}

// report prints what is being done now and every progressInterval until stop is called.
func (b builder) report(start time.Time, what string, cold time.Duration) (stop func()) {
	line := func() {
		fmt.Fprintf(b.progress, "controlplane: %s, %s so far, about %s in all when nothing is cached\n",
			what, time.Since(start).Round(time.Second), cold.Round(time.Minute))
	}
	line()
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				line()
			}
		}
	}()
	return func() { close(done); <-finished }
}

func buildProgram(ctx context.Context, src, bin string, p program) error {
	args := append([]string{"build"}, buildFlags...)
	args = append(args, "-ldflags", strings.TrimSpace("-s -w "+p.ldflags), "-o", filepath.Join(bin, p.name), p.pkg)
	if _, err := runGo(ctx, filepath.Join(src, p.module), args...); err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	for _, link := range p.links {
		if err := os.Symlink(p.name, filepath.Join(bin, link)); err != nil {
			return fmt.Errorf("linking %s: %w", link, err)
		}
	}
	return nil
}

// runGo runs the go command in one of the modules and returns its standard output. The
// environment of the caller must not change what is built: `go test -race` and cross builds
// export flags that would. GOTOOLCHAIN=auto lets a module name a newer Go than the one here.
func runGo(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=auto", "GOOS=", "GOARCH=",
		"PWD="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, tail(stderr.String(), 30))
	}
	return stdout.Bytes(), nil
}

// copyArgoCDAssets copies what Argo CD needs beside its binary out of its module: the
// CustomResourceDefinitions, its default configuration, and the scripts that its repo server
// calls (from the module's hack directory; the container image has them on its PATH too). module is
// the directory of the module that builds it.
func copyArgoCDAssets(ctx context.Context, module, entry string) error {
	out, err := runGo(ctx, module, "mod", "download", "-json", argoCDModule)
	if err != nil {
		return fmt.Errorf("finding Argo CD's manifests: %w", err)
	}
	var download struct{ Dir, Error string }
	if err := json.Unmarshal(out, &download); err != nil {
		return fmt.Errorf("finding Argo CD's manifests: %w", err)
	}
	if download.Dir == "" {
		return fmt.Errorf("finding Argo CD's manifests: go mod download names no directory: %s", download.Error)
	}
	copies := []struct {
		pattern, to string
		mode        fs.FileMode
	}{
		{"manifests/crds/*-crd.yaml", "crds", 0o644},
		{"manifests/base/config/argocd-*.yaml", "config", 0o644},
		{"hack/git-verify-wrapper.sh", "bin", 0o755},
		{"hack/gpg-wrapper.sh", "bin", 0o755},
		{"hack/git-ask-pass.sh", "bin", 0o755},
	}
	for _, c := range copies {
		if err := copyFiles(filepath.Join(download.Dir, filepath.FromSlash(c.pattern)), filepath.Join(entry, c.to), c.mode); err != nil {
			return fmt.Errorf("copying %s of %s: %w", c.pattern, argoCDModule, err)
		}
	}
	return nil
}

func copyFiles(pattern, dir string, mode fs.FileMode) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New("no such file")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, mode); err != nil {
			return err
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
