package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
)

// version is what the provider calls itself in the demo; nothing is downloaded.
const version = "0.1.0"

var applications = []string{"dev", "staging", "prod-eu", "prod-us"}

// stage is a directory with a git repository, the provider and a Terraform configuration.
type stage struct {
	dir  string
	repo *gitrepo.Repo
}

func newStage(ctx context.Context, dir, kubeconfig string) (*stage, error) {
	s := &stage{dir: dir}
	for _, part := range []string{s.terraformDir(), filepath.Join(dir, "repo"), filepath.Join(dir, "plugins")} {
		if err := os.RemoveAll(part); err != nil {
			return nil, err
		}
	}
	var err error
	if s.repo, err = gitrepo.New(filepath.Join(dir, "repo")); err != nil {
		return nil, err
	}
	if err := s.commit("v1", "Version 1", applications...); err != nil {
		return nil, err
	}
	say("Building the provider")
	if err := s.buildProvider(ctx); err != nil {
		return nil, err
	}
	return s, s.configure(ctx, kubeconfig)
}

func (s *stage) terraformDir() string { return filepath.Join(s.dir, "terraform") }

// buildProvider puts the provider where `terraform init -plugin-dir` looks for it.
func (s *stage) buildProvider(ctx context.Context) error {
	dir := filepath.Join(s.dir, "plugins", "registry.terraform.io", "argocdprogressive", "argocdprogressive", version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	binary := filepath.Join(dir, "terraform-provider-argocdprogressive_v"+version)
	if err := command(ctx, ".", "go", "build", "-o", binary, ".").Run(); err != nil {
		return fmt.Errorf("building the provider: %w", err)
	}
	return nil
}

// configure copies examples/guestbook and initialises it.
func (s *stage) configure(ctx context.Context, kubeconfig string) error {
	if err := os.MkdirAll(s.terraformDir(), 0o755); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join("examples", "guestbook", "main.tf"))
	if err != nil {
		return fmt.Errorf("run this in the root of the repository: %w", err)
	}
	variables := fmt.Sprintf("kubeconfig = %q\nrepo_url   = %q\n", kubeconfig, s.repo.URL())
	for name, content := range map[string]string{"main.tf": string(config), "terraform.tfvars": variables} {
		if err := os.WriteFile(filepath.Join(s.terraformDir(), name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	init := command(ctx, s.terraformDir(), "terraform", "init", "-input=false", "-no-color", "-plugin-dir="+filepath.Join(s.dir, "plugins"))
	init.Stdout = nil
	if err := init.Run(); err != nil {
		return fmt.Errorf("terraform init: %w", err)
	}
	return nil
}

// commit writes a version of some Applications.
func (s *stage) commit(version, message string, names ...string) error {
	for _, name := range names {
		manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: guestbook\ndata:\n  version: %s\n", version)
		if err := s.repo.Write("envs/"+name+"/guestbook.yaml", manifest); err != nil {
			return err
		}
	}
	sha, err := s.repo.Commit(message)
	if err != nil {
		return err
	}
	say(fmt.Sprintf("Committed %q to main: %s, for %s", message, sha[:7], strings.Join(names, ", ")))
	return nil
}

// scene is one Terraform command, or, without arguments, the commit.
type scene struct {
	title string
	args  []string
}

// arguments puts the flags where they belong: before the name of a saved plan.
func (s scene) arguments() []string {
	return append([]string{s.args[0], "-input=false", "-no-color"}, s.args[1:]...)
}

// story is what the demo shows.
func (s *stage) story(ctx context.Context) error {
	scenes := []scene{
		{"terraform plan: four Applications in three waves", []string{"plan", "-out=plan"}},
		{"terraform apply: dev, then staging, then prod one by one", []string{"apply", "plan"}},
		{"", nil},
		{"terraform plan: exactly what the commit changes, wave by wave", []string{"plan", "-out=plan"}},
		{"terraform apply: the commit rolls", []string{"apply", "plan"}},
		{"terraform plan: at rest", []string{"plan"}},
		{"terraform destroy: prod first, dev last", []string{"destroy", "-auto-approve"}},
	}
	for _, scene := range scenes {
		if scene.args == nil {
			if err := s.commit("v2", "Version 2", "dev", "staging", "prod-us"); err != nil {
				return err
			}
			continue
		}
		say(scene.title)
		began := time.Now()
		if err := command(ctx, s.terraformDir(), "terraform", scene.arguments()...).Run(); err != nil {
			return fmt.Errorf("terraform %s: %w", strings.Join(scene.args, " "), err)
		}
		fmt.Printf("\n(%.1f s)\n", time.Since(began).Seconds())
	}
	return nil
}

func say(text string) { fmt.Printf("\n==> %s\n", text) }

// command runs in dir with the output shown. It is free of what a person has set up for other
// work, and on Ctrl-C gets the interrupt itself and the time to end well.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_CLI_ARGS=", "TF_WORKSPACE=")
	// A terminal sends Ctrl-C to the whole process group; Terraform takes two for "at once".
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}
