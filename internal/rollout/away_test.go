package rollout

import (
	"context"
	"sync"
	"testing"
	"time"
)

func (d *desk) away() {
	d.e.observe(d.now, Event{Away: true})
	d.collect()
}

// silentButForTheTimeAway demands that an Application which Argo CD owes an answer fails when refreshTimeout is over, without
// the time in which the watch was away.
func (d *desk) silentButForTheTimeAway(name string) {
	d.t.Helper()
	d.pass(refreshTimeout / 2)
	d.away()
	d.pass(5 * time.Minute)
	d.unfailed()
	d.listed()
	d.pass(refreshTimeout/2 - 1)
	d.unfailed()
	d.pass(1)
	d.failed(name, KindSilent, "")
}

func TestNothingIsProvenWhileTheWatchIsAway(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"the time without a watch is no time of health": func(t *testing.T) {
			d := firstLanded(t, deskOptions())
			d.pass(3 * time.Second)
			d.away()
			d.pass(time.Minute)
			d.state("a", verifying)
			d.listed()
			d.pass(2*time.Second - 1)
			d.state("a", verifying)
			d.pass(1)
			d.state("a", done)
			d.asked("b", Write)
		},
		"what has turned bad meanwhile is not done": func(t *testing.T) {
			d := firstLanded(t, deskOptions())
			d.pass(3 * time.Second)
			d.away()
			d.pass(time.Minute)
			d.see("a", health(Degraded))
			d.listed()
			d.pass(20 * time.Second)
			d.state("a", verifying)
			d.quiet()
		},
		"the time without a watch is no time of soaking": func(t *testing.T) {
			opt := deskOptions()
			opt.SoakTime = time.Minute
			d := firstLanded(t, opt)
			d.pass(5*time.Second + 30*time.Second)
			d.away()
			d.pass(time.Hour)
			d.listed()
			d.pass(30*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"the time without a watch is no silence of Argo CD": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			w := d.asked("a", Write)
			d.accept(w)
			d.silentButForTheTimeAway("a")
		},
		"nor where a refresh is not answered": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			d.sync("a")
			d.see("a", succeeded)
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.silentButForTheTimeAway("a")
		},
		"nothing starts": func(t *testing.T) {
			p := planOf("a b")
			p.Steps[0].Limit = 1
			opt := deskOptions()
			opt.MaxFailures = 1
			d := newDesk(t, p, opt)
			d.see("a", old)
			d.see("b", old)
			d.listed()
			d.sync("a")
			d.away()
			d.see("a", func(l *Live) { l.Operation.Pending, l.Operation.Phase = "", Failed })
			d.failed("a", KindSyncFailed, "")
			d.pass(time.Minute)
			d.state("b", idle)
			d.quiet()
			d.listed()
			d.asked("b", Write)
		},
		"a write that met a conflict is not repeated": func(t *testing.T) {
			d := newDesk(t, planOf("a"), deskOptions())
			d.see("a", old)
			d.listed()
			w := d.asked("a", Write)
			d.away()
			d.answer(Result{Action: w, Conflict: true})
			d.pass(time.Minute)
			d.state("a", idle)
			d.quiet()
			d.listed()
			d.asked("a", Write)
		},
		"the deadline ends the run all the same": func(t *testing.T) {
			opt := deskOptions()
			opt.Deadline = simStart.Add(20 * time.Minute)
			d := firstLanded(t, opt)
			d.away()
			d.pass(time.Hour)
			d.over(false)
		},
	} {
		t.Run(name, test)
	}
}

func TestARequestThatIsNeverAnswered(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(d *desk)
		fails string
	}{
		"a write":                      {func(d *desk) { d.see("a", old); d.listed(); d.asked("a", Write) }, "a"},
		"switching automated sync off": {func(d *desk) { d.see("b", old, automatic); d.listed(); d.asked("b", DisableAutomated) }, "b"},
		"the preparation of a deletion": {func(d *desk) {
			d.see("a", there)
			d.see("x", old)
			d.listed()
			d.pass(time.Minute)
			d.asked("x", PrepareDelete)
		}, "x"},
	} {
		t.Run(name+" ends the run", func(t *testing.T) {
			p := planOf("a")
			if test.fails == "b" {
				p = planOf("a", "b")
			}
			p.Removals = [][]string{{"x"}}
			d := newDesk(t, p, deskOptions())
			test.begin(d)
			d.pass(answerPatience)
			d.failed(test.fails, KindRequest, "has not answered")
			d.over(false)
		})
	}
	t.Run("the end of an operation that is not confirmed ends the run", func(t *testing.T) {
		opt := deskOptions()
		opt.Deadline = simStart.Add(time.Minute)
		d := newDesk(t, planOf("a"), opt)
		d.see("a", old)
		d.listed()
		d.sync("a")
		d.pass(time.Minute)
		d.asked("a", Terminate)
		d.pass(answerPatience)
		d.over(false)
	})
	t.Run("while others are answered is waited for", func(t *testing.T) {
		d := newDesk(t, planOf("a b"), deskOptions())
		d.see("a", old)
		d.see("b", old)
		d.listed()
		d.asked("a", Write)
		d.pass(answerPatience - 1)
		d.accept(d.asked("b", Write))
		d.pass(time.Minute)
		d.unfailed()
	})
	t.Run("an answer that comes late is taken in", func(t *testing.T) {
		opt := deskOptions()
		opt.MaxFailures = 1
		d := newDesk(t, planOf("a b"), opt)
		d.see("a", old)
		d.see("b", old)
		d.listed()
		w := d.asked("a", Write)
		d.sync("b")
		d.pass(answerPatience)
		d.failed("a", KindRequest, "has not answered")
		d.accept(w)
		d.asked("a", Terminate)
	})
}

func TestARefusedWriteThatMayHaveBeenAccepted(t *testing.T) {
	begin := func(t *testing.T) (*desk, Action) {
		d := newDesk(t, planOf("a"), deskOptions())
		d.see("a", old)
		d.listed()
		w := d.asked("a", Write)
		d.answer(Result{Action: w, Err: errForbidden, Unsure: true})
		d.failed("a", KindRequest, "")
		d.quiet()
		return d, w
	}
	t.Run("and was has its operation ended", func(t *testing.T) {
		d, w := begin(t)
		d.see("a", func(l *Live) { d.apply(w, l) })
		d.accept(d.asked("a", Terminate))
		d.over(false)
	})
	t.Run("is waited for until the watch is back", func(t *testing.T) {
		d, w := begin(t)
		d.away()
		d.pass(time.Minute)
		if d.e.over {
			t.Fatal("over, though nobody knows whether its operation runs")
		}
		d.see("a", func(l *Live) { d.apply(w, l) })
		d.listed()
		d.accept(d.asked("a", Terminate))
		d.over(false)
	})
	t.Run("and was not ends soon", func(t *testing.T) {
		d, _ := begin(t)
		d.pass(unsureDelay)
		d.over(false)
	})
}

// deafCluster never answers a request, until the run has ended.
type deafCluster struct {
	events chan Event
	asked  chan struct{}
}

func (c *deafCluster) Watch(context.Context) (<-chan Event, error) { return c.events, nil }
func (c *deafCluster) Err() error                                  { return nil }
func (c *deafCluster) Do(ctx context.Context, action Action) Result {
	close(c.asked)
	<-ctx.Done()
	return Result{Action: action, Err: ctx.Err()}
}

// hastyClock stands still until something was asked; from then on every wait is over at once.
type hastyClock struct {
	mu    sync.Mutex
	now   time.Time
	asked chan struct{}
}

func (c *hastyClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *hastyClock) After(d time.Duration) <-chan time.Time {
	until, out := c.Now().Add(d), make(chan time.Time, 1)
	go func() {
		<-c.asked
		c.mu.Lock()
		defer c.mu.Unlock()
		if until.After(c.now) {
			c.now = until
		}
		out <- c.now
	}()
	return out
}

func TestARunEndsThoughNoRequestIsEverAnswered(t *testing.T) {
	opt, asked := deskOptions(), make(chan struct{})
	opt.Deadline = simStart.Add(time.Minute)
	c, clock := &deafCluster{make(chan Event, 1), asked}, &hastyClock{now: simStart, asked: asked}
	c.events <- Event{Listed: true}
	o := Run(context.Background(), c, clock, planOf("a"), opt)
	if len(o.Failures) != 1 || clock.Now().After(opt.Deadline.Add(answerPatience)) {
		t.Fatalf("ended at %s: %+v", clock.Now(), o)
	}
}
