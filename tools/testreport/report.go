package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slow is when a test gets a line of its own, so that a long run shows that it moves.
const slow = 5 * time.Second

// note begins a line of a package's own output that is printed also when all of its tests pass.
const note = "note: "

// event is one line of go test -json; see "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Elapsed    float64
	Output     string
}

type counts struct{ passed, failed, skipped int }

// report turns events into text and counts. A test that has subtests is not counted itself,
// unless it fails where none of them did.
type report struct {
	out    io.Writer
	counts counts
	pkgs   map[string]*pkg
}

// pkg is a package whose tests are running.
type pkg struct {
	counts counts
	// output is kept until it is known whether its test failed; "" is the package itself.
	output map[string][]string
	// parents have subtests; running have started and not ended.
	parents, running map[string]bool
	failed           []string
}

func newReport(out io.Writer) *report {
	return &report{out: out, pkgs: map[string]*pkg{}}
}

// read consumes the events of one go test command.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		// A test binary can write past the framework; nothing of it may be lost.
		fmt.Fprintf(r.out, "%s", line)
		return
	}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Package == "":
	case e.Test == "":
		r.packageEvent(e)
	default:
		r.testEvent(e)
	}
}

func (r *report) of(name string) *pkg {
	p := r.pkgs[name]
	if p == nil {
		p = &pkg{output: map[string][]string{}, parents: map[string]bool{}, running: map[string]bool{}}
		r.pkgs[name] = p
	}
	return p
}

func (r *report) testEvent(e event) {
	p := r.of(e.Package)
	switch e.Action {
	case "run":
		p.running[e.Test] = true
		if i := strings.LastIndex(e.Test, "/"); i >= 0 {
			p.parents[e.Test[:i]] = true
		}
		return
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	delete(p.running, e.Test)
	took := time.Duration(e.Elapsed * float64(time.Second))
	if took >= slow && !strings.Contains(e.Test, "/") {
		fmt.Fprintf(r.out, "     %s %s (%s)\n", e.Action, e.Test, took.Round(100*time.Millisecond))
	}
	switch {
	case e.Action == "fail":
		p.fail(e.Test)
		if !strings.Contains(e.Test, "/") {
			r.explain(p, e.Test) // now, and not when the rest of a long package has run
		}
	case p.parents[e.Test]:
		delete(p.output, e.Test)
	case e.Action == "skip":
		p.counts.skipped++
	default:
		p.counts.passed++
		delete(p.output, e.Test)
	}
}

// fail counts a failed test, unless it failed only because one below it did.
func (p *pkg) fail(test string) {
	below := slices.ContainsFunc(p.failed, func(f string) bool { return strings.HasPrefix(f, test+"/") })
	p.failed = append(p.failed, test)
	if !below {
		p.counts.failed++
	}
}

func (r *report) packageEvent(e event) {
	p := r.of(e.Package)
	switch e.Action {
	case "output":
		p.output[""] = append(p.output[""], e.Output)
	case "pass", "skip", "fail":
		r.close(e, p)
	}
}

// close prints the line of a package, and everything of what failed.
func (r *report) close(e event, p *pkg) {
	delete(r.pkgs, e.Package)
	for test := range p.running {
		// The binary died (a panic, os.Exit, the timeout) before the test could end.
		if !p.parents[test] {
			p.fail(test)
		}
	}
	if e.Action == "fail" && p.counts.failed == 0 {
		p.counts.failed++ // it does not build, or TestMain failed
	}
	verdict := map[bool]string{false: "ok  ", true: "FAIL"}[p.counts.failed > 0]
	total := p.counts.passed + p.counts.failed + p.counts.skipped
	if total > 0 {
		fmt.Fprintf(r.out, "%s %s (%d tests, %.1f s)\n", verdict, e.Package, total, e.Elapsed)
	}
	if p.counts.failed > 0 {
		r.explain(p, "")
	}
	for _, o := range p.output[""] { // none are left where something failed: all was printed
		if strings.HasPrefix(o, note) {
			fmt.Fprint(r.out, "     ", strings.TrimPrefix(o, note))
		}
	}
	r.counts.passed += p.counts.passed
	r.counts.failed += p.counts.failed
	r.counts.skipped += p.counts.skipped
}

// explain prints, once, what a test and those below it that failed had to say; "" is the
// package and all of its tests.
func (r *report) explain(p *pkg, test string) {
	slices.Sort(p.failed)
	for _, f := range append(slices.Clone(p.failed), "") {
		if test != "" && f != test && !strings.HasPrefix(f, test+"/") {
			continue
		}
		for _, o := range p.output[f] {
			fmt.Fprint(r.out, "     ", o)
		}
		delete(p.output, f)
	}
}

// finish closes what go test left open and prints the counts.
func (r *report) finish() counts {
	for name, p := range r.pkgs {
		r.close(event{Package: name, Action: "fail"}, p)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.counts.passed, r.counts.failed, r.counts.skipped)
	return r.counts
}
