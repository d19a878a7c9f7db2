package acceptance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// The suite runs with another program than terraform on PATH, OpenTofu for example, by the variables of
// terraform-plugin-testing: TF_ACC_TERRAFORM_PATH, and TF_ACC_PROVIDER_HOST for the registry in which
// that program looks for a provider that is named without one.
var (
	terraformPath   = cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform")
	providerAddress = cmp.Or(os.Getenv(resource.EnvTfAccProviderHost), "registry.terraform.io") + "/argocdprogressive/argocdprogressive"
)

// Exit codes of `terraform plan -detailed-exitcode`.
const (
	exitEmpty   = 0
	exitFailed  = 1
	exitChanges = 2
)

// cli runs terraform by hand, for what terraform-plugin-testing has no words for: exit codes,
// -replace, untaint, signals, saved plans. The provider runs in this process.
type cli struct {
	f   *fixture
	dir string
	// env is added to the environment of the commands.
	env []string
	// stdin is what the commands read.
	stdin string
}

// result is how a command ended and what it printed, errors included.
type result struct {
	code int
	out  string
}

// cli makes an empty working directory. What is still in its state when the test ends is destroyed.
func (f *fixture) cli() *cli {
	f.Helper()
	c := &cli{f: f, dir: f.TempDir()}
	f.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(c.dir, "terraform.tfstate")); err != nil {
			return
		}
		if r := c.run("destroy", "-auto-approve"); r.code != 0 {
			f.Errorf("destroying what is left: exit code %d\n%s", r.code, r.out)
		}
	})
	return c
}

// configure writes the configuration and initialises the directory.
func (c *cli) configure(config fmt.Stringer) {
	c.f.Helper()
	const required = `terraform {
  required_providers {
    argocdprogressive = { source = "argocdprogressive/argocdprogressive" }
  }
}
`
	if err := os.WriteFile(filepath.Join(c.dir, "main.tf"), []byte(required+config.String()), 0o644); err != nil {
		c.f.Fatal(err)
	}
	if r := c.run("init"); r.code != 0 {
		c.f.Fatalf("terraform init: exit code %d\n%s", r.code, r.out)
	}
}

// run runs one terraform command to its end.
func (c *cli) run(args ...string) result {
	c.f.Helper()
	wait := c.start(args...).wait
	return wait()
}

// want runs one terraform command and ends the test unless it exits with that code.
func (c *cli) want(code int, args ...string) result {
	c.f.Helper()
	r := c.run(args...)
	if r.code != code {
		c.f.Fatalf("terraform %v: exit code %d, not %d\n%s", args, r.code, code, r.out)
	}
	return r
}

// command is a terraform command that runs.
type command struct {
	process *os.Process
	wait    func() result
}

// start starts a terraform command, for signals to its process. wait must be called.
func (c *cli) start(args ...string) *command {
	c.f.Helper()
	reattach, stop := c.serve()
	cmd := exec.Command(terraformPath, withFlags(args)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TF_REATTACH_PROVIDERS="+reattach, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_LOG=", "TF_CLI_CONFIG_FILE="+os.DevNull)
	cmd.Env = append(cmd.Env, c.env...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), &out, &out
	if err := cmd.Start(); err != nil {
		stop()
		c.f.Fatalf("terraform %v: %v", args, err)
	}
	return &command{process: cmd.Process, wait: func() result {
		defer stop()
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			c.f.Fatalf("terraform %v: %v", args, err)
		}
		return result{code: cmd.ProcessState.ExitCode(), out: out.String()}
	}}
}

// withFlags adds the flags that keep terraform from asking and from colours, to the commands that know them.
func withFlags(args []string) []string {
	flags := []string{"-no-color"}
	if slices.Contains([]string{"init", "plan", "apply", "destroy", "refresh"}, args[0]) {
		flags = append(flags, "-input=false")
	}
	if args[0] == "untaint" || args[0] == "taint" || args[0] == "state" || args[0] == "output" {
		flags = nil
	}
	return append([]string{args[0]}, append(flags, args[1:]...)...)
}

// serve starts the provider for one command, and returns the value of TF_REATTACH_PROVIDERS.
func (c *cli) serve() (reattach string, stop func()) {
	c.f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, closed := make(chan *plugin.ReattachConfig), make(chan struct{})
	go func() {
		err := tf6server.Serve(providerAddress, func() tfprotov6.ProviderServer {
			server, err := factories["argocdprogressive"]()
			if err != nil {
				panic(err) // the factory never fails
			}
			return server
		}, tf6server.WithDebug(ctx, configs, closed), tf6server.WithLoggingSink(c.f.T), tf6server.WithGoPluginLogger(hclog.NewNullLogger()))
		if err != nil {
			c.f.Errorf("serving the provider: %v", err)
		}
	}()
	config := <-configs
	text, err := json.Marshal(map[string]any{providerAddress: map[string]any{
		"Protocol": config.Protocol, "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": config.Test,
		"Addr": map[string]any{"Network": config.Addr.Network(), "String": config.Addr.String()},
	}})
	if err != nil {
		c.f.Fatal(err)
	}
	return string(text), func() {
		cancel()
		<-closed
	}
}
