//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// pluginEnvironment is what Terraform sets for its plugins.
func pluginEnvironment() []string {
	return append(os.Environ(),
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=6")
}

// A Terraform that is killed while its plugin starts is not its parent any more when the plugin first
// looks: then the pipes that Terraform read from have no other end.
func TestTheProviderEndsWhenTerraformWasKilledBeforeItsStart(t *testing.T) {
	binary := buildBinary(t) // not on the provider's time: a cold build takes longer than that
	ctx, cancel := context.WithTimeout(t.Context(), orphanGrace+20*time.Second)
	defer cancel()
	provider := exec.CommandContext(ctx, binary)
	provider.Env = pluginEnvironment()
	for _, pipe := range []func() (io.ReadCloser, error){provider.StdoutPipe, provider.StderrPipe} {
		end, err := pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	if _ = provider.Wait(); ctx.Err() != nil {
		t.Fatal("the provider still runs")
	}
	if code := provider.ProcessState.ExitCode(); code != 1 {
		t.Errorf("the provider ended with %s", provider.ProcessState)
	}
}

// A killed Terraform does not end its plugins, so they have to see it themselves.
func TestTheProviderEndsAfterAKilledTerraform(t *testing.T) {
	binary := buildBinary(t)
	ended, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// The shell becomes the sleep, which stands for Terraform: the provider's parent.
	terraform := exec.CommandContext(ctx, "sh", "-c", `"$0" & exec sleep 60 >&-`, binary)
	terraform.Env = pluginEnvironment()
	terraform.ExtraFiles = []*os.File{held}
	started, err := terraform.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := terraform.Start(); err != nil {
		t.Fatal(err)
	}
	// Only the children hold it from now on: its end is theirs.
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	handshake := make([]byte, 200)
	if n, err := started.Read(handshake); err != nil || !strings.HasPrefix(string(handshake[:n]), "1|6|") {
		t.Fatalf("the provider began with %q (%v)", handshake[:n], err)
	}
	killed := time.Now()
	if err := terraform.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = terraform.Wait() // it was killed
	if err := ended.SetReadDeadline(time.Now().Add(orphanGrace + 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(ended); err != nil {
		t.Fatalf("the provider still runs: %v", err)
	}
	if took := time.Since(killed); took < orphanGrace {
		t.Errorf("the provider ended after %s, before the calls at hand had their %s", took, orphanGrace)
	}
}
