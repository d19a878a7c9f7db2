// Command testreport runs "go test -json" and prints what a person wants to see of it: a line
// for each package and for each slow test, the whole output of what failed, and at the end,
// alone on a line,
//
//	N passed, N failed, N skipped
//
//	testreport [-in DIR [-env NAME=VALUE]...]... GO-TEST-ARGUMENTS
//
// -in runs the tests of the module in DIR, and may be given more than once; the default is the
// current directory. -env adds to the environment of the module before it: a module may need
// another toolchain. The exit code is 1 when a test or a package failed, and when go test
// itself did.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	modules, args := arguments(os.Args[1:])
	r := newReport(os.Stdout)
	failed := false
	for _, m := range modules {
		if err := goTest(m, args, r); err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "testreport: %v\n", err)
		}
	}
	counts := r.finish()
	if counts.failed > 0 || failed {
		os.Exit(1)
	}
}

// module is a Go module whose tests are run, with what its environment has besides ours.
type module struct {
	dir string
	env []string
}

// arguments splits the leading options off.
func arguments(args []string) (modules []module, rest []string) {
	for len(args) >= 2 {
		switch {
		case args[0] == "-in":
			modules = append(modules, module{dir: args[1]})
		case args[0] == "-env" && len(modules) > 0:
			last := &modules[len(modules)-1]
			last.env = append(last.env, args[1])
		default:
			return orHere(modules), args
		}
		args = args[2:]
	}
	return orHere(modules), args
}

// orHere is the module of the current directory when none is given.
func orHere(modules []module) []module {
	if len(modules) == 0 {
		return []module{{dir: "."}}
	}
	return modules
}

// goTest streams the events of one module into the report. A failing test is no error of
// goTest's: the report counts it. Everything else that makes go test fail is.
func goTest(m module, args []string, r *report) error {
	command := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	command.Dir = m.dir
	command.Env = append(os.Environ(), m.env...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	before := r.counts.failed
	if err := r.read(out); err != nil {
		// The pipe must be empty, or go test never ends.
		_, _ = io.Copy(io.Discard, out)
		return errors.Join(err, command.Wait())
	}
	if err := command.Wait(); err != nil && r.counts.failed == before {
		return fmt.Errorf("go test in %s: %w", m.dir, err)
	}
	return nil
}
