// Command demo shows the provider on a real Argo CD on this machine.
//
//	demo        plan, apply, a commit, plan, apply, destroy; then everything is gone again
//	demo up     the same cluster and configuration, left for trying by hand
//	demo down   end what "demo up" has started
//
// It owns the story that is told; the cluster is package controlplane, the configuration is
// examples/guestbook.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

// upDir is where "demo up" keeps its things, below the root of the repository.
const upDir = "bin/demo"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return demo(ctx)
	case len(args) == 1 && args[0] == "up":
		return up(ctx)
	case len(args) == 1 && args[0] == "down":
		return down(ctx)
	}
	return errors.New("usage: demo [up | down]")
}

// demo tells the whole story on a cluster of its own.
func demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "argocdprogressive-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	say("A real Argo CD on this machine: etcd, kube-apiserver and Argo CD, built from their sources once")
	binaries, err := controlplane.Build(ctx, os.Stderr)
	if err != nil {
		return err
	}
	cluster, err := controlplane.Start(ctx, controlplane.Options{
		Binaries: binaries, Dir: filepath.Join(dir, "cluster"), Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, cluster.Stop())
		if err == nil {
			say("Everything has been stopped and removed")
		}
	}()
	s, err := newStage(ctx, dir, cluster.Kubeconfig())
	if err != nil {
		return err
	}
	return s.story(ctx)
}

// up starts the cluster in the background.
func up(ctx context.Context) error {
	if err := command(ctx, ".", "go", "run", "./internal/controlplane/cmd/controlplane", "up", "--detach", "--dir", filepath.Join(upDir, "cluster")).Run(); err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	dir, err := filepath.Abs(upDir)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "cluster", "data", "kubeconfig")
	if _, err := newStage(ctx, dir, kubeconfig); err != nil {
		return err
	}
	fmt.Printf(`
The cluster runs. Try it:

  cd %s
  terraform plan
  terraform apply

  # what is deployed, and how Argo CD sees it
  export KUBECONFIG=%s
  kubectl -n argocd get applications

  # a commit, then plan and apply again
  perl -pi -e 's/version: v1/version: v2/' %s/envs/*/guestbook.yaml
  git -C %s -c user.name=demo -c user.email=demo@example.com commit -qam "Version 2"

  terraform destroy

End it with: make demo-down
`, filepath.Join(dir, "terraform"), kubeconfig, filepath.Join(dir, "repo"), filepath.Join(dir, "repo"))
	return nil
}

// down ends what up has started. Twice is as good as once.
func down(ctx context.Context) error {
	if err := command(ctx, ".", "go", "run", "./internal/controlplane/cmd/controlplane", "down", "--dir", filepath.Join(upDir, "cluster")).Run(); err != nil {
		return fmt.Errorf("ending the control plane: %w", err)
	}
	return os.RemoveAll(upDir)
}
