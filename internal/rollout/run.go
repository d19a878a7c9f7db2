package rollout

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxRequests is how many requests are under way at once; the client's rate limit is below it.
const maxRequests = 32

// RealClock is the time of day.
type RealClock struct{}

// Now is time.Now.
func (RealClock) Now() time.Time { return time.Now() }

// After is time.After.
func (RealClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Run drives the plan to its end and returns what was reached. It returns when everything is done,
// when something has failed and what was in flight has ended, at Options.Deadline, or at once when
// ctx ends. The same plan may be run again at any time: what is done already is found to be so.
func Run(ctx context.Context, cluster Cluster, clock Clock, plan Plan, opt Options) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	r := runner{
		ctx: ctx, cluster: cluster, clock: clock, engine: newEngine(plan, opt, clock.Now()),
		slots: make(chan struct{}, maxRequests),
	}
	r.results = make(chan Result, len(r.engine.apps)) // one action of each at a time: never blocks
	if attendant, ok := cluster.(Attendant); ok {
		attendant.Attend(slices.Sorted(maps.Keys(r.engine.apps)))
	}
	events, err := cluster.Watch(ctx)
	if err != nil {
		r.engine.cancel(StopWatch, err)
	} else {
		r.loop(events)
	}
	cancel()
	r.workers.Wait()
	return r.engine.outcome()
}

type runner struct {
	ctx     context.Context
	cluster Cluster
	clock   Clock
	engine  *engine
	results chan Result
	slots   chan struct{}
	workers sync.WaitGroup
}

func (r *runner) loop(events <-chan Event) {
	for {
		for _, action := range r.engine.takeActions() {
			r.start(action)
		}
		if r.engine.over {
			return
		}
		var wake <-chan time.Time
		if at, ok := r.engine.nextWake(); ok {
			wake = r.clock.After(at.Sub(r.clock.Now()))
		}
		select {
		case ev, ok := <-events:
			if !ok {
				r.lost()
				continue
			}
			r.engine.observe(r.clock.Now(), ev)
		case result := <-r.results:
			if r.ctx.Err() != nil {
				// Requests fail because of the end; that is not what the run ended for.
				r.engine.cancel(StopCancelled, nil)
				continue
			}
			r.engine.result(r.clock.Now(), result)
		case <-wake:
			r.engine.tick(r.clock.Now())
		case <-r.ctx.Done():
			r.engine.cancel(StopCancelled, nil)
		}
	}
}

// lost ends the run because the watch has ended.
func (r *runner) lost() {
	if r.ctx.Err() != nil {
		r.engine.cancel(StopCancelled, nil)
		return
	}
	r.engine.cancel(StopWatch, r.cluster.Err())
}

// start carries an action out beside the loop.
func (r *runner) start(action Action) {
	r.workers.Add(1)
	go func() {
		defer r.workers.Done()
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
			r.results <- r.cluster.Do(r.ctx, action)
		case <-r.ctx.Done():
		}
	}()
}
