// Command bench compares this provider with Argo CD's own ApplicationSet controller: the same
// ApplicationSet, on the same local cluster, in one run, one after the other.
//
//	bench [-apps 60] [-steps 6] [-plan 10000] [-wait 5m] [-only ROWS] [-out FILE]
//
// It owns what is measured and how (rows.go has one function for each row), and the budgets that
// the figures are held against (budgets.go). The cluster is package controlplane. The provider's
// side is the real terraform binary with the provider built from this tree, so the command runs
// in the root of the repository. Nothing is left behind.
//
// A missed budget is told, and is no error: on a busy machine it says little. So each row waits
// until other work on the machine is low, and tells how much of it there was.
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
	apps, steps int
	planApps    int
	wait        time.Duration
	only        []string
	out         string
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
	text := report(o, results)
	fmt.Print("\n" + text)
	if o.out != "" {
		err = errors.Join(err, os.WriteFile(o.out, []byte(text), 0o644))
	}
	return err
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.apps, "apps", 60, "`number` of Applications")
	flags.IntVar(&o.steps, "steps", 6, "`number` of steps, at most one for each Application")
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
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.apps < 1 || o.steps < 1 || o.steps > min(o.apps, 99) || o.planApps < o.steps:
		return o, fmt.Errorf("-apps %d, -steps %d, -plan %d: at least one step, at most 99, and at most one for each Application",
			o.apps, o.steps, o.planApps)
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
		if err := row.measure(ctx, b); err != nil {
			return b.results, err
		}
	}
	return b.results, nil
}
