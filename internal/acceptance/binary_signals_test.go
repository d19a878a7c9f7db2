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

// TestAccBinary runs what only the real provider process can show: what becomes of it, and of the
// state, when signals reach the whole process group, as Ctrl-C in a terminal, "docker stop" and CI
// systems send them.
func TestAccBinary(t *testing.T) {
	requireAcceptance(t)
	dir := buildProvider(t)
	for _, test := range []struct {
		name   string
		signal syscall.Signal
	}{
		{"Ctrl-C names the step and how to resume", syscall.SIGINT},
		{"SIGTERM to the process group saves what was reached", syscall.SIGTERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			w, seen := f.held(dir)
			apply := w.startBinary("apply", "-auto-approve")
			w.awaitHeld(seen)
			apply.signal(test.signal)
			r := apply.wait()
			if r.code != exitFailed {
				t.Fatalf("exit code %d\n%s", r.code, r.out)
			}
			w.says(r, "Rollout interrupted", fmt.Sprintf("in %q", stepOf("02", "staging")), "terraform apply again", "terraform untaint", f.app("staging"))
			apply.gone()
			w.isTainted()
			values, _ := w.stored()
			if reached := wavesOf(values, nil); len(reached[stepOf("01", "dev")]) != 1 || len(reached[stepOf("02", "staging")]) != 1 {
				t.Errorf("the state has the waves %v", reached)
			}
			w.resumesHeld(seen)
		})
	}
	t.Run("a killed process loses nothing that the next apply does not find", func(t *testing.T) {
		f := newFixture(t)
		w, seen := f.held(dir)
		apply := w.startBinary("apply", "-auto-approve")
		w.awaitHeld(seen)
		apply.signal(syscall.SIGKILL)
		apply.wait()
		apply.gone()
		if values, _ := w.stored(); values != nil {
			t.Fatalf("a killed terraform has saved %v", values)
		}
		w.isState("creating")
		w.resumesHeld(seen)
	})
	t.Run("a second Ctrl-C ends at once and the next apply goes on", func(t *testing.T) {
		f := newFixture(t)
		w, seen := f.held(dir)
		apply := w.startBinary("apply", "-auto-approve")
		w.awaitHeld(seen)
		apply.signal(syscall.SIGINT)
		apply.signal(syscall.SIGINT)
		if r := apply.wait(); r.code != exitFailed {
			t.Fatalf("exit code %d\n%s", r.code, r.out)
		}
		apply.gone()
		w.resumesHeld(seen)
	})
}

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

// held is a set whose step 2 stays Progressing, so that its first apply stops there.
func (f *fixture) held(provider string) (*workspace, *recorder) {
	f.Helper()
	w, seen := f.workspace(), f.record()
	f.write("staging", map[string]string{"version": "1", "health": "Progressing"})
	f.release("1", "dev", "prod")
	w.configure(f.threeSteps())
	config := fmt.Sprintf("provider_installation {\n  dev_overrides { \"argocdprogressive/argocdprogressive\" = %q }\n}\n", provider)
	if err := os.WriteFile(filepath.Join(w.cli.dir, "cli.tfrc"), []byte(config), 0o600); err != nil {
		f.Fatal(err)
	}
	return w, seen
}

// awaitHeld waits until step 2 is deployed and Progressing.
func (w *workspace) awaitHeld(seen *recorder) {
	w.Helper()
	_, err := seen.await(w.ctx(), w.app("staging"), "is deployed and Progressing", func(s *appState) bool {
		return s != nil && !s.Pending && s.Phase == "Succeeded" && s.Health == "Progressing"
	})
	if err != nil {
		w.Fatal(err)
	}
}

// resumesHeld frees step 2 and applies again: nothing is deleted, step 1 is left alone.
func (w *workspace) resumesHeld(seen *recorder) {
	w.Helper()
	before := w.uids()
	w.must(seen.untouched(w.app("prod")))
	w.lives(w.apps("dev", "staging")...)
	w.release("2", "staging")
	seen.reset()
	w.apply()
	w.sameUIDs(before)
	w.must(seen.inOrder(w.apps("staging"), w.apps("prod")), seen.operations(0, w.app("dev")))
	w.atRest()
}

// groupCommand is terraform with the real provider, both in a process group of their own.
type groupCommand struct {
	f      *fixture
	cmd    *exec.Cmd
	cancel context.CancelFunc
	out    *bytes.Buffer
}

func (w *workspace) startBinary(args ...string) *groupCommand {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	c := &groupCommand{f: w.fixture, cancel: cancel, out: &bytes.Buffer{}}
	c.cmd = exec.CommandContext(ctx, "terraform", withFlags(args)...)
	c.cmd.Dir = w.cli.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") {
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	c.cmd.Env = append(c.cmd.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(w.cli.dir, "cli.tfrc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Cancel = func() error { return syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }
	c.cmd.WaitDelay = 5 * time.Second // a provider that outlives terraform keeps the output open
	if err := c.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return c
}

// signal reaches terraform and the provider.
func (c *groupCommand) signal(s syscall.Signal) {
	c.f.Helper()
	if err := syscall.Kill(-c.cmd.Process.Pid, s); err != nil {
		c.f.Fatal(err)
	}
}

func (c *groupCommand) wait() result {
	c.f.Helper()
	defer c.cancel()
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.f.Fatalf("terraform: %v\n%s", err, c.out)
	}
	return result{code: c.cmd.ProcessState.ExitCode(), out: c.out.String()}
}

// gone fails when processes of the group are left a while after its end.
func (c *groupCommand) gone() {
	c.f.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Kill(-c.cmd.Process.Pid, 0)
		switch {
		case errors.Is(err, syscall.ESRCH):
			return
		case time.Now().After(deadline):
			_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
			c.f.Fatal("processes of terraform or the provider are left")
		}
	}
}
