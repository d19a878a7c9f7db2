//go:build unix

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// buildProvider builds the provider as users get it, and returns its directory.
func buildProvider(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "terraform-provider-argocdprogressive"), ".")
	build.Dir = filepath.Join("..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the provider: %v\n%s", err, said)
	}
	return dir
}

// useBinary makes startBinary find the provider in a directory of buildProvider.
func (w *workspace) useBinary(dir string) {
	w.Helper()
	config := fmt.Sprintf("provider_installation {\n  dev_overrides { \"argocdprogressive/argocdprogressive\" = %q }\n}\n", dir)
	if err := os.WriteFile(filepath.Join(w.cli.dir, "cli.tfrc"), []byte(config), 0o600); err != nil {
		w.Fatal(err)
	}
}

// groupCommand is terraform with the real provider, both in a process group of their own.
type groupCommand struct {
	f   *fixture
	cmd *exec.Cmd
	// over is closed when terraform has ended; err is what waiting for it returned.
	over chan struct{}
	err  error
	out  *bytes.Buffer
}

func (w *workspace) startBinary(args ...string) *groupCommand {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	c := &groupCommand{f: w.fixture, over: make(chan struct{}), out: &bytes.Buffer{}}
	c.cmd = exec.CommandContext(ctx, terraformPath, withFlags(args)...)
	c.cmd.Dir = w.cli.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") {
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	c.cmd.Env = append(c.cmd.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(w.cli.dir, "cli.tfrc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	c.cmd.Env = append(c.cmd.Env, w.cli.env...)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Cancel = func() error { return syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }
	c.cmd.WaitDelay = 5 * time.Second // a provider that outlives terraform may keep the output open
	if err := c.cmd.Start(); err != nil {
		cancel()
		w.Fatal(err)
	}
	go func() {
		defer cancel()
		c.err = c.cmd.Wait()
		close(c.over)
	}()
	return c
}

// signal reaches terraform and the provider.
func (c *groupCommand) signal(s syscall.Signal) {
	c.f.Helper()
	if err := syscall.Kill(-c.cmd.Process.Pid, s); err != nil {
		c.f.Fatal(err)
	}
}

// wait waits for the end of terraform.
func (c *groupCommand) wait() result {
	c.f.Helper()
	<-c.over
	var exit *exec.ExitError
	if c.err != nil && !errors.As(c.err, &exit) && !errors.Is(c.err, exec.ErrWaitDelay) {
		c.f.Fatalf("terraform: %v\n%s", c.err, c.out)
	}
	return result{code: c.cmd.ProcessState.ExitCode(), out: c.out.String()}
}

// gone fails when processes of the group are left a while after its end, and returns how long they
// were.
func (c *groupCommand) gone(limit time.Duration) time.Duration {
	c.f.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Kill(-c.cmd.Process.Pid, 0)
		switch {
		case errors.Is(err, syscall.ESRCH):
			return time.Since(began)
		case time.Since(began) > limit:
			_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
			c.f.Errorf("processes of terraform or the provider are left after %s", limit)
			return time.Since(began)
		}
	}
}

// orphanLimit is how long a provider may live on after its terraform: it must not go on rolling out.
const orphanLimit = 15 * time.Second
