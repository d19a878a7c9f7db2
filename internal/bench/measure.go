package main

import (
	"context"
	"fmt"
	"time"
)

// The sides that are compared.
const (
	controller      = "ApplicationSet controller"
	providerZero    = "provider, min_healthy_time 0s"
	providerDefault = "provider, defaults"
)

// What is done to the set.
const (
	create      = "create"
	change      = "git change of all"
	changeOne   = "git change of one"
	changeLimit = "max_update changed"
	remove      = "delete, reverse"
	removeSlow  = "delete, reverse, what takes its time"

	createTogether = "create, all at once"
	changeTogether = "git change, all at once"
	removeTogether = "delete, all at once"
)

// result is one measured row.
type result struct {
	what, side string
	// scale is zero for the rows that need no cluster.
	scale  scale
	course course
	// began and ended are those of the whole: for the provider of the terraform command; the
	// controller has ended when the last Application was done or gone.
	began, ended time.Time
	// planned is when Terraform had planned; zero for the controller.
	planned time.Time
	// plan and apply are the provider's requests before and after that; nil for the controller.
	plan, apply *tally
	// counted is what the servers have counted from beginning to end, countedApply from planned.
	counted, countedApply counters
	// left are the Applications and ConfigMaps that a destroy has left behind; negative if it was none.
	left int
	// others is how many cores other work used meanwhile, negative if unknown.
	others float64
	// cost is set for the rows that need no cluster.
	cost *cost
}

func (r result) wall() time.Duration { return r.ended.Sub(r.began) }

// rollout is from the first write to the last Application done or gone.
func (r result) rollout() time.Duration {
	if r.course.Changed == 0 {
		return 0
	}
	return r.course.Last.Sub(r.course.First)
}

// commit makes a commit, or none, and returns the one at which Applications are done.
type commit func() (string, error)

// measure waits for a quiet machine, makes the commit and measures act, which completes the result.
// The commit is made no earlier: Argo CD looks for new ones by itself every two minutes.
func (b *bench) measure(ctx context.Context, what, side string, commit commit, act func(ctx context.Context, r *result) error) error {
	if err := awaitQuiet(ctx, b.options.wait, b.progress); err != nil {
		return err
	}
	b.say("%s of %s: %s", what, b.scale, side)
	ctx, cancel := within(ctx, b.scale.rowTimeout(), what+" of "+b.scale.String()+" by "+side)
	defer cancel()
	before, err := b.scraper.read(ctx)
	if err != nil {
		return err
	}
	target, err := commit()
	if err != nil {
		return err
	}
	b.recorder.reset(target)
	b.proxy.take()
	cpuBefore, known := readCPU()
	r := result{what: what, side: side, scale: b.scale, left: -1, others: -1, began: time.Now()}
	if err := act(ctx, &r); err != nil {
		return fmt.Errorf("%s of %s, %s: %w", what, b.scale, side, err)
	}
	if cpuAfter, ok := readCPU(); ok && known {
		r.others = cpuAfter.others(cpuBefore)
	}
	r.course = b.recorder.course(r.apply)
	if r.ended.IsZero() {
		r.ended = r.course.Last
	}
	after, err := b.scraper.read(ctx)
	if err != nil {
		return err
	}
	r.countedApply = after.minus(r.countedApply)
	r.counted = after.minus(before)
	b.results = append(b.results, r)
	b.say("  %.1f s", r.wall().Seconds())
	return nil
}

// within bounds something; the end of its time is told with what it was.
func within(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not done within %s", what, limit))
}
