package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A CI runner sends SIGTERM to the provider as well as to Terraform; the provider must live on
// until Terraform ends it, or the state of a rollout is lost.
func TestTheProviderServesOnAfterSIGTERM(t *testing.T) {
	dir := t.TempDir()
	provider, reattach := serve(t, buildBinary(t))
	if err := provider.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	configuration := "terraform {\n  required_providers {\n    argocdprogressive = { source = \"argocdprogressive/argocdprogressive\" }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	terraform := exec.Command("terraform", "-chdir="+dir, "providers", "schema", "-json")
	terraform.Env = append(os.Environ(), "TF_REATTACH_PROVIDERS="+reattach, "CHECKPOINT_DISABLE=1")
	out, err := terraform.CombinedOutput()
	if err != nil || !strings.Contains(string(out), address) {
		t.Errorf("terraform providers schema: %v\n%s", err, out)
	}

	if err := provider.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := provider.Wait(); err != nil {
		t.Errorf("the provider ended with: %v", err)
	}
}

// serve starts the provider with -debug and returns what Terraform needs to find it.
func serve(t *testing.T, binary string) (provider *exec.Cmd, reattach string) {
	t.Helper()
	provider = exec.CommandContext(t.Context(), binary, "-debug")
	out, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	const variable = "TF_REATTACH_PROVIDERS='"
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, value, found := strings.Cut(lines.Text(), variable); found {
			return provider, strings.TrimSuffix(value, "'")
		}
	}
	t.Fatal("the provider ended without printing TF_REATTACH_PROVIDERS")
	return nil, ""
}

func buildBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "provider")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}
