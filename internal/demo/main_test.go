package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Stand-ins for what takes minutes. go leaves what the real one does: the kubeconfig file of a cluster that runs, and the provider.
var standIns = map[string]string{
	"go": `case "$*" in
"run ./internal/controlplane/cmd/controlplane up --detach --dir "*) mkdir -p "$6/data" && echo cluster >"$6/data/kubeconfig" ;;
"run ./internal/controlplane/cmd/controlplane down --dir "*) echo "down $5" >>"$LOG" ;;
"build -o "*) : >"$3" ;;
*) echo "go $*?" >&2; exit 1 ;;
esac`,
	"terraform": `test -f main.tf && test -f terraform.tfvars || exit 1
echo "terraform $*" >>"$LOG"`,
	"kubectl": `echo "$(cat "$KUBECONFIG") kubectl $*" >>"$LOG"`,
}

func TestWhatDemoUpPrintsCanBePastedIntoAShell(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root, bin := t.TempDir(), t.TempDir()
	log := filepath.Join(bin, "log")
	for name, script := range standIns {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nset -eu\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(repository, "examples"), filepath.Join(root, "examples")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("LOG", log)

	printed := outputOf(t, "up")
	_, commands, found := strings.Cut(printed, "Try it:\n")
	commands, end, ended := strings.Cut(commands, "\nEnd it with: ")
	if !found || !ended {
		t.Fatalf("there are no commands in\n%s", printed)
	}
	if out, err := exec.Command("sh", "-euc", commands).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\nof\n%s", err, out, commands)
	}
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(ran)), "\n")
	if !strings.HasPrefix(got[0], "terraform init ") {
		t.Errorf("the configuration is not initialised, but %q", got[0])
	}
	if want := []string{"terraform plan", "terraform apply", "cluster kubectl -n argocd get applications", "terraform destroy"}; !slices.Equal(got[1:], want) {
		t.Errorf("what was run is %q, not %q", got[1:], want)
	}
	for _, name := range applications {
		out, err := exec.Command("git", "-C", filepath.Join(upDir, "repo"), "show", "main:envs/"+name+"/guestbook.yaml").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "version: v2") {
			t.Errorf("%s is not committed at version 2: %v\n%s", name, err, out)
		}
	}

	target, isMake := strings.CutPrefix(strings.TrimSpace(end), "make ")
	targets, err := os.ReadFile(filepath.Join(repository, "GNUmakefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !isMake || !strings.Contains(string(targets), "\n"+target+":") {
		t.Errorf("%q is no target of make", end)
	}
	outputOf(t, "down")
	if ran, err := os.ReadFile(log); err != nil || !strings.HasSuffix(string(ran), "\ndown "+filepath.Join(upDir, "cluster")+"\n") {
		t.Errorf("the cluster is not ended: %v\n%s", err, ran)
	}
	if _, err := os.Stat(upDir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", upDir, err)
	}
}

// outputOf runs a command of the demo and returns what it prints.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = file
	err = run(t.Context(), args)
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
