package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// fakeClock is a clock that jumps to the earliest time waited for when everybody waits.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []alarm
}

type alarm struct {
	at time.Time
	c  chan time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := alarm{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		a.c <- c.now
	} else {
		c.alarms = append(c.alarms, a)
	}
	return a.c
}

// pass lets d go by.
func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	var later []alarm
	for _, a := range c.alarms {
		if a.at.After(c.now) {
			later = append(later, a)
		} else {
			a.c <- c.now
		}
	}
	c.alarms = later
}

// fakeCluster lets a test see each request and answer it.
type fakeCluster struct {
	events   chan Event
	asked    chan Action
	answers  map[string]chan Result
	watchErr error
	err      error
	attended []string
}

func newFakeCluster(names ...string) *fakeCluster {
	c := &fakeCluster{events: make(chan Event), asked: make(chan Action, 100), answers: map[string]chan Result{}}
	for _, name := range names {
		c.answers[name] = make(chan Result, 1)
	}
	return c
}

func (c *fakeCluster) Watch(context.Context) (<-chan Event, error) { return c.events, c.watchErr }
func (c *fakeCluster) Err() error                                  { return c.err }
func (c *fakeCluster) Attend(names []string)                       { c.attended = names }
func (c *fakeCluster) Do(ctx context.Context, a Action) Result {
	c.asked <- a
	select {
	case r := <-c.answers[a.App]:
		r.Action = a
		return r
	case <-ctx.Done():
		return Result{Action: a, Err: ctx.Err()}
	}
}

// began runs the plan beside the test.
func began(ctx context.Context, c *fakeCluster, clock *fakeClock, p Plan) <-chan Outcome {
	out := make(chan Outcome, 1)
	go func() { out <- Run(ctx, c, clock, p, deskOptions()) }()
	return out
}

// patience is how long a test waits for what must come; it is never waited for in vain.
const patience = 30 * time.Second

func soon[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing happens")
		panic("unreachable")
	}
}

func liveAs(name string, rank uint64, edits ...func(*Live)) *Live {
	l := &Live{Name: name, UID: "uid-" + name, Rank: rank, Version: fmt.Sprint(rank)}
	for _, e := range edits {
		e(l)
	}
	return l
}

func TestRunRollsOut(t *testing.T) {
	clock := &fakeClock{now: simStart}
	c := newFakeCluster("a", "b")
	out := began(context.Background(), c, clock, planOf("a b"))
	c.events <- Event{Listed: true}
	first, second := soon(t, c.asked), soon(t, c.asked) // both are under way at once
	for _, w := range []Action{second, first} {
		c.answers[w.App] <- Result{Live: liveAs(w.App, 1, func(l *Live) {
			l.Hash, l.StepLabel, l.Sources = "new", w.StepLabel, []Source{mainBranch}
			l.Operation = Operation{Pending: w.Sync.Token, PendingTarget: "new", PendingRevisions: w.Sync.Revisions}
		})}
	}
	for _, w := range []Action{first, second} {
		c.events <- Event{Name: w.App, Live: liveAs(w.App, 2, there, func(l *Live) {
			l.Operation = Operation{Token: w.Sync.Token, Phase: Succeeded, Revisions: w.Sync.Revisions, Started: "t1"}
		})}
	}
	for {
		select {
		case o := <-out:
			if !o.OK() || len(o.Done) != 2 || !slices.Equal(c.attended, []string{"a", "b"}) {
				t.Fatalf("outcome %+v of %v", o, c.attended)
			}
			return
		case a := <-c.asked: // a refresh, where the answer came after the event
			c.answers[a.App] <- Result{}
			c.events <- Event{Name: a.App, Live: liveAs(a.App, 9, there)}
		case <-time.After(time.Millisecond):
			clock.pass(time.Second)
		}
	}
}

func TestRunReturnsAtOnceWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := newFakeCluster("a")
	out := began(ctx, c, &fakeClock{now: simStart}, planOf("a", "b"))
	c.events <- Event{Listed: true}
	soon(t, c.asked) // a request that is never answered
	cancel()
	o := soon(t, out)
	if o.Stop != StopCancelled || o.OK() || len(o.Open) != 2 || o.Step != "step 01: x" {
		t.Fatalf("outcome %+v", o)
	}
}

// slowClock lets something happen before the loop looks at what has happened.
type slowClock struct {
	*fakeClock
	before func()
}

func (c slowClock) After(d time.Duration) <-chan time.Time {
	c.before()
	return c.fakeClock.After(d)
}

func TestRequestsThatEndWithTheRunAreNoFailures(t *testing.T) {
	for range 20 { // which of the two is seen first is a matter of chance
		ctx, cancel := context.WithCancel(context.Background())
		c := newFakeCluster("a")
		clock := slowClock{&fakeClock{now: simStart}, func() {
			select {
			case <-c.asked:
				cancel()
				time.Sleep(2 * time.Millisecond) // the request ends meanwhile
			case <-time.After(2 * time.Millisecond):
			}
		}}
		out := make(chan Outcome, 1)
		opt := deskOptions()
		opt.Deadline = simStart.Add(time.Hour)
		go func() { out <- Run(ctx, c, clock, planOf("a"), opt) }()
		c.events <- Event{Listed: true}
		if o := soon(t, out); o.Stop != StopCancelled || len(o.Failures) > 0 {
			t.Fatalf("outcome %+v", o)
		}
	}
}

func TestRunEndsWhenTheWatchIsLost(t *testing.T) {
	lost := errors.New("the API server is gone")
	c := newFakeCluster("a")
	c.err = lost
	out := began(context.Background(), c, &fakeClock{now: simStart}, planOf("a"))
	c.events <- Event{Listed: true}
	soon(t, c.asked)
	close(c.events)
	if o := soon(t, out); o.Stop != StopWatch || !errors.Is(o.Err, lost) || o.OK() {
		t.Fatalf("outcome %+v", o)
	}
}

func TestRunEndsWhenThereIsNoWatch(t *testing.T) {
	refused := errors.New("forbidden")
	c := newFakeCluster("a")
	c.watchErr = refused
	if o := soon(t, began(context.Background(), c, &fakeClock{now: simStart}, planOf("a"))); o.Stop != StopWatch || !errors.Is(o.Err, refused) {
		t.Fatalf("outcome %+v", o)
	}
}

func TestRunThatIsCancelledBeforeTheWatchIsLostWasCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := newFakeCluster("a")
	cancel()
	close(c.events)
	if o := soon(t, began(ctx, c, &fakeClock{now: simStart}, planOf("a"))); o.Stop != StopCancelled {
		t.Fatalf("outcome %+v", o)
	}
}

func TestRunKeepsTheDeadline(t *testing.T) {
	clock := &fakeClock{now: simStart}
	opt := deskOptions()
	opt.Deadline = simStart.Add(time.Minute)
	c := newFakeCluster("a")
	out := make(chan Outcome, 1)
	go func() { out <- Run(context.Background(), c, clock, planOf("a"), opt) }()
	c.events <- Event{Name: "a", Live: liveAs("a", 1, old, func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })}
	c.events <- Event{Listed: true}
	for {
		select {
		case o := <-out:
			if o.Stop != StopDeadline || len(o.Failures) != 1 || o.Failures[0].Kind != KindOccupied {
				t.Fatalf("outcome %+v", o)
			}
			return
		case <-time.After(time.Millisecond):
			clock.pass(10 * time.Second)
		}
	}
}

func TestRunOfManyKeepsTheNumberOfRequestsDown(t *testing.T) {
	var names []string
	all := ""
	for i := range 3 * maxRequests {
		names = append(names, fmt.Sprintf("app-%03d", i))
		all += " " + names[i]
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := newFakeCluster(names...)
	out := began(ctx, c, &fakeClock{now: simStart}, planOf(all))
	c.events <- Event{Listed: true}
	for range maxRequests {
		soon(t, c.asked)
	}
	select {
	case a := <-c.asked:
		t.Fatalf("one too many: %+v", a)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	soon(t, out)
}

func TestNotes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, n := range map[string]Note{
		"03:04:05 a (step 01: x) Healthy: synced and healthy": {At: at, App: "a", Step: "step 01: x", Phase: PhaseHealthy, Text: "synced and healthy"},
		"03:04:05 step 01: x: begins":                         {At: at, Step: "step 01: x", Text: "begins"},
	} {
		if got := n.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var heard []Note
	opt := deskOptions()
	opt.Notes = func(n Note) { heard = append(heard, n) }
	d := newDesk(t, planOf("a"), opt)
	d.listed()
	if len(heard) != 2 || len(d.e.outcome().Log) != 2 {
		t.Fatalf("heard %v", heard)
	}
}
