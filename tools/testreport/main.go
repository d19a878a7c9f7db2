// Command testreport runs "go test -json" and prints what a person wants to see of it: a line
// for each package and for each slow test, the whole output of what failed, and at the end,
// alone on a line,
//
//	N passed, N failed, N skipped
//
//	testreport [-in DIR]... GO-TEST-ARGUMENTS
//
// -in runs the tests of the module in DIR, and may be given more than once; the default is the
// current directory. The exit code is 1 when a test or a package failed, and when go test
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
	dirs, args := arguments(os.Args[1:])
	r := newReport(os.Stdout)
	failed := false
	for _, dir := range dirs {
		if err := goTest(dir, args, r); err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "testreport: %v\n", err)
		}
	}
	counts := r.finish()
	if counts.failed > 0 || failed {
		os.Exit(1)
	}
}

// arguments splits the leading -in options off.
func arguments(args []string) (dirs, rest []string) {
	for len(args) >= 2 && args[0] == "-in" {
		dirs, args = append(dirs, args[1]), args[2:]
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	return dirs, args
}

// goTest streams the events of one module into the report. A failing test is no error of
// goTest's: the report counts it. Everything else that makes go test fail is.
func goTest(dir string, args []string, r *report) error {
	command := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	command.Dir = dir
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
		return fmt.Errorf("go test in %s: %w", dir, err)
	}
	return nil
}
