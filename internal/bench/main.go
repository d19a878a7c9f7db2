// Command bench compares this provider with Argo CD's own ApplicationSet controller: the same
// ApplicationSet, on the same local cluster, in one run, one after the other.
//
//	bench [-apps 60] [-steps 6] [-large-apps 300] [-large-steps 10] [-slow-apps 60] [-plan 10000]
//	      [-wait 5m] [-only ROWS] [-out FILE]
//
// It owns what is measured and how (rows.go has one function for each row), and what the figures are
// held against: the budgets (budgets.go), and the bar, which is the design's own figures (bar.go).
// The cluster is package controlplane. The provider's side is the real terraform binary with the
// provider built from this tree, so the command runs in the root of the repository. Nothing is left
// behind.
//
// A missed budget or row of the bar is told, and is no error: on a busy machine it says little. So
// each row waits until other work on the machine is low, and tells how much of it there was. A row
// that fails, or takes longer than its limit, is told at the end and makes the command fail; the
// others are measured nevertheless.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	scale, large, slow scale
	planApps           int
	wait               time.Duration
	only               []string
	out                string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	results, err := measureAll(ctx, o)
	if len(results) == 0 {
		return err
	}
	text := report(o, results, err)
	fmt.Print("\n" + text)
	if o.out != "" {
		err = errors.Join(err, os.WriteFile(o.out, []byte(text), 0o644))
	}
	return err
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.scale.apps, "apps", 60, "`number` of Applications")
	flags.IntVar(&o.scale.steps, "steps", 6, "`number` of steps, at most one for each Application")
	flags.IntVar(&o.large.apps, "large-apps", 300, "`number` of Applications in the row \"large\"")
	flags.IntVar(&o.large.steps, "large-steps", 10, "`number` of steps in the row \"large\"")
	flags.IntVar(&o.slow.apps, "slow-apps", 60, "`number` of Applications in the row \"slow\", whose steps are those of -steps")
	flags.IntVar(&o.planApps, "plan", 10000, "`number` of Applications in the plan that is measured")
	flags.DurationVar(&o.wait, "wait", 5*time.Minute, "how `long` a row waits at most for the machine to be quiet")
	var names []string
	for _, row := range rows() {
		names = append(names, row.name)
	}
	only := flags.String("only", strings.Join(names, ","), "the `rows` to measure")
	flags.StringVar(&o.out, "out", "", "`file` for the tables, in Markdown")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.only = strings.Split(*only, ",")
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			return o, fmt.Errorf("-only: there is no %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.slow.steps = o.scale.steps
	for _, s := range []scale{o.scale, o.large, o.slow, {o.planApps, o.scale.steps}} {
		if s.apps < 1 || s.steps < 1 || s.steps > min(s.apps, 99) {
			return o, fmt.Errorf("%d Applications in %d steps: at least one step, at most 99, and at most one for each Application", s.apps, s.steps)
		}
	}
	return o, nil
}

// measureAll sets up, measures row after row, and cleans up. What was measured before an error
// is returned with it.
func measureAll(ctx context.Context, o options) (_ []result, err error) {
	b, err := newBench(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, row := range rows() {
		if !slices.Contains(o.only, row.name) {
			continue
		}
		b.say("row %q", row.name)
		failure := row.measure(ctx, b)
		if ctx.Err() != nil {
			return b.results, errors.Join(append(b.failures, context.Cause(ctx))...)
		}
		if failure == nil {
			continue
		}
		if err := b.recover(ctx, row.name, failure); err != nil {
			return b.results, errors.Join(append(b.failures, err)...)
		}
	}
	return b.results, errors.Join(b.failures...)
}
