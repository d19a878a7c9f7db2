package controlplane

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
)

func tinyModules() fstest.MapFS {
	return fstest.MapFS{
		"tiny/go.mod.txt":        {Data: []byte("module tiny\n\ngo 1.26.0\n")},
		"tiny/hello/main.go.txt": {Data: []byte("package main\n\nvar version = \"none\"\n\nfunc main() { print(\"hello \", version) }\n")},
	}
}

func tinyBuilder(t *testing.T, modules fs.FS) builder {
	return builder{
		modules:  modules,
		programs: []program{{name: "hello", module: "tiny", pkg: "./hello", links: []string{"hi"}, ldflags: "-X main.version=7", cold: time.Minute}},
		root:     t.TempDir(),
		progress: &bytes.Buffer{},
		assets:   func(context.Context, string, string) error { return nil },
	}
}

func TestBuildMakesProgramsThatRunUnderEveryName(t *testing.T) {
	b := tinyBuilder(t, tinyModules())
	binaries, err := b.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hello", "hi"} {
		out, err := exec.Command(binaries.Path(name)).CombinedOutput()
		if err != nil || string(out) != "hello 7" {
			t.Errorf("%s prints %q, %v; want \"hello 7\"", name, out, err)
		}
	}
	progress := b.progress.(*bytes.Buffer).String()
	if !strings.Contains(progress, "building hello (1 of 1), 0s so far, about 1m0s in all") {
		t.Errorf("progress does not say what is being built:\n%s", progress)
	}
	entries, err := os.ReadDir(binaries.Dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the entry holds %v, %v; want bin alone", entries, err)
	}
}

func TestBuildIsNotRepeated(t *testing.T) {
	b := tinyBuilder(t, tinyModules())
	first, err := b.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.assets = func(context.Context, string, string) error { return errors.New("built twice") }
	second, err := b.build(t.Context())
	if err != nil || first != second {
		t.Errorf("the second Build gives %v, %v; want %v", second, err, first)
	}
}

func TestConcurrentBuildsBuildOnce(t *testing.T) {
	b := tinyBuilder(t, tinyModules())
	var built atomic.Int32
	b.assets = func(context.Context, string, string) error { built.Add(1); return nil }
	var wait sync.WaitGroup
	for range 4 {
		mine := b
		mine.progress = &bytes.Buffer{}
		wait.Go(func() {
			binaries, err := mine.build(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(binaries.Path("hello")); err != nil {
				t.Errorf("Build returned before its program was there: %v", err)
			}
		})
	}
	wait.Wait()
	if built.Load() != 1 {
		t.Errorf("built %d times, want once", built.Load())
	}
}

func TestBuildThatFailsSaysWhyAndLeavesNoEntry(t *testing.T) {
	modules := tinyModules()
	modules["tiny/hello/main.go.txt"].Data = []byte("package main\n\nfunc main() { undefinedThing() }\n")
	b := tinyBuilder(t, modules)
	_, err := b.build(t.Context())
	if err == nil || !strings.Contains(err.Error(), "building hello") || !strings.Contains(err.Error(), "undefined: undefinedThing") {
		t.Errorf("error is %v, want the compiler's words", err)
	}
	wantNoEntry(t, b.root)
}

func TestBuildThatIsInterruptedLeavesNoEntry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := tinyBuilder(t, tinyModules())
	b.assets = func(ctx context.Context, _, _ string) error { cancel(); return ctx.Err() }
	if _, err := b.build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that of the context", err)
	}
	wantNoEntry(t, b.root)
}

func wantNoEntry(t *testing.T, root string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			t.Errorf("%s is left behind", entry.Name())
		}
	}
}

func TestKeyChangesWithWhatIsBuilt(t *testing.T) {
	base := tinyBuilder(t, tinyModules())
	want, err := key(base.modules, base.programs)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := key(tinyModules(), base.programs); again != want {
		t.Errorf("the key of the same files is %s once and %s then", want, again)
	}
	tests := map[string]func(modules fstest.MapFS, programs []program){
		"a source file":  func(m fstest.MapFS, _ []program) { m["tiny/hello/main.go.txt"].Data = []byte("package main\n") },
		"a further file": func(m fstest.MapFS, _ []program) { m["tiny/go.sum.txt"] = &fstest.MapFile{} },
		"a moved byte": func(m fstest.MapFS, _ []program) {
			m["tiny/go.mod.txt"].Data, m["tiny/hello/main.go.txt"].Data = m["tiny/hello/main.go.txt"].Data, m["tiny/go.mod.txt"].Data
		},
		"a linker flag":  func(_ fstest.MapFS, p []program) { p[0].ldflags = "-X main.version=8" },
		"a package":      func(_ fstest.MapFS, p []program) { p[0].pkg = "./other" },
		"a further link": func(_ fstest.MapFS, p []program) { p[0].links = append(p[0].links, "hey") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			modules, programs := tinyModules(), tinyBuilder(t, nil).programs
			change(modules, programs)
			got, err := key(modules, programs)
			if err != nil || got == want {
				t.Errorf("the key is still %s (%v)", got, err)
			}
		})
	}
}

func TestEmbeddedModulesAreWrittenUnderTheirRealNames(t *testing.T) {
	modules, err := fs.Sub(moduleFiles, "modules")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all := []program{openTofu}
	for _, argo := range argoCDs {
		all = append(all, programs(argo)...)
	}
	if err := writeModules(modules, all, dir); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, file := range []string{"go.mod", "go.sum"} {
			if _, err := os.Stat(filepath.Join(dir, p.module, file)); err != nil {
				t.Errorf("the module of %s: %v", p.name, err)
			}
		}
	}
}

func TestArgoCDIsChosenByItsMinorOrWholeVersion(t *testing.T) {
	for name, want := range map[string]string{"": "3.6.1", "3.6": "3.6.1", "3.6.1": "3.6.1", "3.2": "3.2.11", "3.2.11": "3.2.11"} {
		if got, err := argoCDNamed(name); err != nil || got.version != want {
			t.Errorf("%q is %v, %v; want %s", name, got, err, want)
		}
	}
	if _, err := argoCDNamed("2.14"); err == nil || err.Error() != "there is no Argo CD 2.14 here, only 3.6 and 3.2" {
		t.Errorf("2.14: %v", err)
	}
}

func TestKeyDependsOnTheModulesOfItsProgramsAlone(t *testing.T) {
	modules := tinyModules()
	programs := tinyBuilder(t, nil).programs
	before, err := key(modules, programs)
	if err != nil {
		t.Fatal(err)
	}
	modules["other/go.mod.txt"] = &fstest.MapFile{Data: []byte("module other\n")}
	after, err := key(modules, programs)
	if err != nil || before != after {
		t.Errorf("the key was %s and is %s, %v", before, after, err)
	}
}
