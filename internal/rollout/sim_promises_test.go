package rollout

import (
	"slices"
	"time"
)

// well tells whether this health is good enough.
func (c *checker) well(health string) bool {
	return health == Healthy || health == Suspended && c.opt.Suspended == SuspendedAccept
}

// answered keeps what must end the run whatever is allowed to fail.
func (c *checker) answered(r Result) {
	s := c.session.engine.apps[r.Action.App].state
	if r.Err != nil && r.Action.Verb == DisableAutomated {
		c.hopeless = true
	}
	if r.Err != nil && s != done && s != failed && s != givingUp {
		c.hopeless = c.hopeless || r.Hopeless
	}
}

// mustHalt tells, from the failures and the plan alone, that nothing new may begin.
func (c *checker) mustHalt() bool {
	e := c.session.engine
	if c.hopeless || e.stop != StopNone || len(e.failures) > c.opt.MaxFailures {
		return true
	}
	return slices.ContainsFunc(e.failures, func(f Failure) bool {
		return c.wants[f.App] == nil || e.apps[f.App].state == done // a deletion, or what was done and turned bad
	})
}

// forgiven tells that an Application has failed, and that this is allowed; its operation must have
// ended before anything of a later step begins.
func (c *checker) forgiven(a *simApp, when string) bool {
	if c.session.engine.apps[a.name].state != failed {
		return false
	}
	if n := len(c.session.engine.failures); n > c.opt.MaxFailures {
		c.fail("%d Applications had failed %s, the limit is %d", n, when, c.opt.MaxFailures)
	}
	if c.runs(a) {
		c.fail("the operation of %s, which has failed, was running %s", a.name, when)
	}
	return true
}

// runs tells that the operation that this run has started is active.
func (c *checker) runs(a *simApp) bool {
	token := c.ours[a.name]
	return a.exists && token != "" && (a.pending != nil && a.pending.token == token || a.state != nil && !a.state.ended && a.state.token == token)
}

// automatedOff: where automated sync is switched off, it is so everywhere before the first write.
func (c *checker) automatedOff(writes string) {
	for name, l := range c.seen {
		concerned := c.wants[name] != nil || slices.Contains(c.plan.Held, name)
		if c.plan.DisableAutomated && concerned && l.AutomatedOn && !l.Terminating {
			c.fail("%s written while automated sync of %s is on", writes, name)
		}
	}
}

// soaked judges the steps before this one, the first time that anything after them happens: each
// that was rolled out, or is not proven, has been well for SoakTime since its last Application was
// done.
func (c *checker) soaked(step int, when string) {
	for r := range c.plan.Steps {
		if c.opt.SoakTime == 0 || step != NoStep && r >= step || c.rested[r] {
			continue
		}
		c.rested[r] = true
		var apps []*simApp
		soaks := false
		for name, want := range c.wants {
			if want.Step != r {
				continue
			}
			_, rolled := c.writes[name]
			soaks = soaks || rolled || !want.Proven
			if c.disturbed[name] {
				soaks = false
				break
			}
			if c.session.engine.apps[name].state == done {
				apps = append(apps, c.w.apps[name])
			}
		}
		if longest := c.calm(apps, c.closed[r]); soaks && longest < c.opt.SoakTime-c.lag {
			c.fail("step %d was well for %s only before %s, not for %s", r, longest, when, c.opt.SoakTime)
		}
	}
}

// calm is the longest time in which all were well, from then until now.
func (c *checker) calm(apps []*simApp, since time.Time) time.Duration {
	var troubles []period
	for _, a := range apps {
		troubles = append(troubles, a.ill(c.well, since, c.w.now, c.lag)...)
	}
	slices.SortFunc(troubles, func(x, y period) int { return x.from.Compare(y.from) })
	longest := time.Duration(0)
	for _, p := range append(troubles, period{from: c.w.now}) {
		longest = max(longest, p.from.Sub(since))
		if p.to.After(since) {
			since = p.to
		}
	}
	return longest
}

// overslept: an operation of ours that has failed is a failure as soon as the engine can know of it.
func (c *checker) overslept() {
	for name, token := range c.ours {
		a := c.w.apps[name]
		unknown := c.w.now.Sub(c.w.interrupted) < c.lag+time.Second
		if o := a.state; o == nil || !o.ended || o.token != token || o.phase == Succeeded || c.disturbed[name] || unknown {
			continue
		}
		if late := c.w.now.Sub(a.opEnded); late > c.lag+time.Second && c.session.engine.apps[name].state == flying {
			c.fail("the operation of %s failed %s ago, and it is still waited for", name, late)
		}
	}
}
