package rollout

import (
	"fmt"
	"testing"
	"time"
)

// crowd is a fleet in 20 steps on which everything happens at once: the worst for an engine that
// looks at all Applications where one would do.
type crowd struct {
	e     *engine
	now   time.Time
	lives map[string]*Live
	rank  uint64
}

func newCrowd(n int, source func(i int) Source) *crowd {
	const steps = 20
	p := Plan{NoStepLabel: NoStepLabel, DisableAutomated: true}
	for i := range steps {
		p.Steps = append(p.Steps, Step{Label: fmt.Sprintf("step %02d: x", i+1), Limit: -1})
	}
	for i := range n {
		p.Apps = append(p.Apps, Desired{Name: fmt.Sprintf("app-%05d", i), Step: i % steps, Mode: ModeSync, Hash: "new", Sources: []Source{source(i)}})
	}
	p.Removals = [][]string{nil}
	for i := range n / 10 {
		p.Removals[0] = append(p.Removals[0], fmt.Sprintf("gone-%05d", i))
	}
	opt := deskOptions()
	opt.Deadline = simStart.Add(24 * time.Hour)
	c := &crowd{now: simStart, lives: map[string]*Live{}}
	c.e = newEngine(p, opt, c.now)
	return c
}

func (c *crowd) see(name string, edit func(*Live)) *Live {
	l := Live{Name: name, UID: "u", Sources: nil}
	if old := c.lives[name]; old != nil {
		l = *old
	}
	edit(&l)
	c.rank++
	l.Rank, l.Version = c.rank, fmt.Sprint(c.rank)
	c.lives[name] = &l
	return &l
}

func (c *crowd) event(name string, edit func(*Live)) {
	c.e.observe(c.now, Event{Name: name, Live: c.see(name, edit)})
}

// run drives everything to its end: each request is answered, each operation succeeds, and every
// Application sends several events on the way.
func (c *crowd) run() Outcome {
	for i := range c.e.groups[0] {
		c.event(c.e.groups[0][i].name, old)
	}
	for i := range c.e.plan.Apps {
		c.event(c.e.plan.Apps[i].Name, func(l *Live) {
			old(l)
			l.Sources, l.AutomatedOn = c.e.plan.Apps[i].Sources, true
		})
	}
	c.e.observe(c.now, Event{Listed: true})
	for !c.e.over {
		actions := c.e.takeActions()
		if len(actions) == 0 {
			at, ok := c.e.nextWake()
			if !ok {
				panic("the run waits for nothing")
			}
			c.now = at
			c.e.tick(c.now)
			continue
		}
		c.now = c.now.Add(time.Millisecond)
		for _, a := range actions {
			c.answer(a)
		}
		for _, a := range actions {
			c.follow(a)
		}
	}
	return c.e.outcome()
}

func (c *crowd) answer(a Action) {
	if a.Verb == Delete {
		c.e.result(c.now, Result{Action: a})
		return
	}
	l := c.see(a.App, func(l *Live) {
		switch a.Verb {
		case DisableAutomated:
			l.AutomatedOn = false
		case Refresh, PrepareDelete:
			l.RefreshID = a.RefreshID
		case Write:
			l.Hash, l.StepLabel, l.Sync.Status = "new", a.StepLabel, OutOfSync
			if a.Sync != nil {
				l.Operation = Operation{Pending: a.Sync.Token, PendingTarget: "new", PendingRevisions: a.Sync.Revisions}
			}
		}
	})
	c.e.result(c.now, Result{Action: a, Live: l})
}

func (c *crowd) follow(a Action) {
	switch {
	case a.Verb == Refresh || a.Verb == PrepareDelete:
		c.event(a.App, func(l *Live) { l.RefreshID, l.Sync.Revisions = "", []string{pinned} })
	case a.Verb == Delete:
		c.e.observe(c.now, Event{Name: a.App, UID: "u"})
	case a.Sync != nil:
		c.event(a.App, running)
		c.event(a.App, succeeded)
		c.event(a.App, health(Progressing))
		c.event(a.App, compared(Synced, pinned))
		c.event(a.App, health(Healthy))
		c.event(a.App, health(Degraded))
		c.event(a.App, health(Healthy))
	}
}

var crowdSources = map[string]func(int) Source{
	"one source":        func(int) Source { return mainBranch },
	"a source for each": func(i int) Source { return Source{RepoURL: fmt.Sprint(i), TargetRevision: "main"} },
}

func BenchmarkEngine(b *testing.B) {
	for name, source := range crowdSources {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				began := cpuTime(b)
				for b.Loop() {
					if o := newCrowd(n, source).run(); !o.OK() {
						b.Fatalf("%+v", o.Failures)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N*n), "cpu-µs/app")
			})
		}
	}
}

// TestTheEngineIsLinear is a coarse guard for every run of the tests: what grows with the square
// would take ten times as long for each Application. The benchmark measures the budget of 1.5.
// Time is that of the processor, so that a busy machine does not matter.
func TestTheEngineIsLinear(t *testing.T) {
	for name, source := range crowdSources {
		t.Run(name, func(t *testing.T) {
			perApp := func(n int) time.Duration {
				best := time.Hour
				for range 2 {
					began := cpuTime(t)
					if o := newCrowd(n, source).run(); !o.OK() {
						t.Fatalf("%+v", o.Failures)
					}
					best = min(best, (cpuTime(t)-began)/time.Duration(n))
				}
				return best
			}
			small, large := perApp(300), perApp(3000)
			if large > 4*small {
				t.Fatalf("%s for each of 300 Applications, %s for each of 3000", small, large)
			}
		})
	}
}
