package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// version is what the provider calls itself here; nothing is downloaded. Terraform takes 0.0.0 for none.
const version = "0.0.1"

// providerBinary is where `terraform init -plugin-dir` looks for the provider.
func providerBinary(plugins string) string {
	return filepath.Join(plugins, "registry.terraform.io", "argocdprogressive", "argocdprogressive", version,
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-argocdprogressive_v"+version)
}

// buildProvider builds the provider of this tree into a plugin directory.
func buildProvider(ctx context.Context, plugins string) error {
	if _, err := os.Stat("main.go"); err != nil {
		return fmt.Errorf("run this in the root of the repository: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", providerBinary(plugins), ".")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the provider: %w\n%s", err, out)
	}
	return nil
}

// workspace is a directory with a Terraform configuration.
type workspace struct {
	dir string
	env []string
}

// newWorkspace makes one and initialises it with the provider in plugins.
func newWorkspace(ctx context.Context, dir, plugins string, configuration []byte) (*workspace, error) {
	w := &workspace{dir: dir, env: cleanEnvironment(os.Environ())}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	if err := w.write("main.tf.json", configuration); err != nil {
		return nil, err
	}
	_, err := w.run(ctx, nil, "init", "-plugin-dir="+plugins)
	return w, err
}

func (w *workspace) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(w.dir, name), content, 0o644)
}

// writeSet stores the ApplicationSet that the configuration reads.
func (w *workspace) writeSet(set map[string]any) error {
	content, err := json.Marshal(set)
	if err != nil {
		return err
	}
	return w.write("appset.json", content)
}

// run runs terraform to its end. each is given every line that it prints, at once.
func (w *workspace) run(ctx context.Context, each func(line string), args ...string) (*os.ProcessState, error) {
	args = append(args, "-no-color", "-input=false")
	cmd := exec.CommandContext(ctx, "terraform", args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	interruptible(cmd)
	var said strings.Builder
	pipe, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer pipe.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, fmt.Errorf("terraform %s: %w", args[0], err)
	}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if each != nil {
			each(line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintf(&said, "(%v)\n", err)
			}
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("terraform %s: %w\n%s", strings.Join(args, " "), errors.Join(err, context.Cause(ctx)), said.String())
	}
	return cmd.ProcessState, nil
}

// interruptible lets Terraform end well when ctx ends. A terminal sends Ctrl-C to the whole
// process group, and Terraform takes two for "at once"; so it gets a group of its own.
func interruptible(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
}

// cleanEnvironment leaves out what a person has set up for other work.
func cleanEnvironment(environ []string) []string {
	var clean []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "TF_") && !strings.HasPrefix(entry, "KUBE_") {
			clean = append(clean, entry)
		}
	}
	return append(clean, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE="+os.DevNull)
}
