// Command controlplane runs a local Argo CD control plane by hand, and for "make demo-up", "make
// demo-down" and the targets that test.
//
//	controlplane build               build the programs, if this machine does not have them
//	controlplane opentofu            build OpenTofu in the same way, and print where it is
//	controlplane up [--dir DIR]      run until interrupted
//	controlplane up --detach --dir DIR   run in the background
//	controlplane down --dir DIR      end what runs in DIR
//
// build and up take --argocd VERSION for another Argo CD than the newest.
//
// It owns the command line and the background process; everything else is package controlplane.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

const usage = `usage:
  controlplane build                   build the programs, if this machine does not have them
  controlplane opentofu                build OpenTofu in the same way, and print where it is
  controlplane up [--dir DIR]          run a control plane until interrupted
  controlplane up --detach --dir DIR   run a control plane in the background
  controlplane down --dir DIR          end the control plane that runs in DIR

build and up take --argocd VERSION (3.6, 3.2); default: ARGOCDPROGRESSIVE_ARGOCD, else the newest.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1) // stop has nothing to release that the end of the process does not
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	dir := flags.String("dir", "", "directory of the control plane's data")
	detach := flags.Bool("detach", false, "run in the background")
	argoCD := flags.String("argocd", os.Getenv(controlplane.ArgoCDEnv), "version of Argo CD")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch command := args[0]; {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), usage)
	case command == "build":
		return build(ctx, *argoCD)
	case command == "opentofu":
		return openTofu(ctx)
	case command == "up" && *detach && *dir == "", command == "down" && *dir == "":
		return fmt.Errorf("%s needs --dir here\n%s", command, usage)
	case command == "up" && *detach:
		return upDetached(ctx, *dir, *argoCD)
	case command == "up":
		return up(ctx, *dir, *argoCD)
	case command == "down":
		return down(ctx, *dir)
	default:
		return fmt.Errorf("unknown command %q\n%s", command, usage)
	}
}

func build(ctx context.Context, argoCD string) error {
	binaries, err := controlplane.BuildArgoCD(ctx, argoCD, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(binaries.Dir)
	return nil
}

func openTofu(ctx context.Context) error {
	path, err := controlplane.BuildOpenTofu(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}

// up runs a control plane until ctx ends. With a directory, others find it there.
func up(ctx context.Context, dir, argoCD string) (err error) {
	options := controlplane.Options{Progress: os.Stderr}
	var s *session
	if dir != "" {
		if s, err = openSession(dir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		options.Dir = s.data()
	}
	if options.Binaries, err = controlplane.BuildArgoCD(ctx, argoCD, os.Stderr); err != nil {
		return err
	}
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if s != nil {
		if err := s.announce(cluster.Kubeconfig()); err != nil {
			return err
		}
	}
	fmt.Printf("Argo CD runs in the namespace %s of %s\nexport KUBECONFIG=%s\n",
		cluster.ArgoNamespace(), cluster.Server(), cluster.Kubeconfig())
	fmt.Fprintln(os.Stderr, "controlplane: interrupt (Ctrl-C) to end it")
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "controlplane: stopping")
	return nil
}
