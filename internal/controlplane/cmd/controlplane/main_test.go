package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

// TestMain lets this test binary be the background process, too: upDetached starts the program
// that it runs in.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "up" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestUpDetachedRunsUntilDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	if err := run(t.Context(), []string{"up", "--detach", "--dir", dir}); err != nil {
		t.Fatal(err)
	}
	defer down(t.Context(), dir) // checked below

	s := session{dir: dir}
	content, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := controlplane.Attach(content.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.AddCluster(t.Context(), "probe", cluster.Server()); err != nil {
		t.Errorf("the control plane does not work: %v", err)
	}
	for _, args := range [][]string{{"up", "--dir", dir}, {"up", "--detach", "--dir", dir}} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), "runs in "+dir+" already") {
			t.Errorf("%v beside it gives %v, want a refusal", args, err)
		}
	}

	if err := run(t.Context(), []string{"down", "--dir", dir}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.RemoveCluster(t.Context(), "probe"); err == nil {
		t.Error("the API server answers after down")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("down has left %s behind: %v", dir, err)
	}
	if err := run(t.Context(), []string{"down", "--dir", dir}); err != nil {
		t.Errorf("down of nothing gives %v", err)
	}
}

func TestDownKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "notes.txt")
	for _, path := range []string{foreign, session{dir: dir}.logFile()} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := down(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "notes.txt" {
		t.Errorf("left are %v, %v; want notes.txt alone", left, err)
	}
}

func TestWrongCommandLinesAreExplained(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"nothing":                        {nil, "usage:"},
		"an unknown command":             {[]string{"start"}, `unknown command "start"`},
		"an argument":                    {[]string{"build", "all"}, `unexpected argument "all"`},
		"detached without a directory":   {[]string{"up", "--detach"}, "up needs --dir"},
		"down without a directory":       {[]string{"down"}, "down needs --dir"},
		"an Argo CD that is not known":   {[]string{"build", "--argocd", "2.14"}, "there is no Argo CD 2.14 here"},
		"a flag that does not exist":     {[]string{"up", "--daemon"}, "-daemon"},
		"down of a name that is no path": {[]string{"down", "--dir", "main_test.go/x"}, "not a directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), test.args); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q in it", err, test.want)
			}
		})
	}
}
