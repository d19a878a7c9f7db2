package rollout

import (
	"fmt"
	"slices"
	"time"
)

// checker watches one world over all its runs, and knows the truth. It judges what the engine
// does by the truth alone, never by the engine's own reasons.
type checker struct {
	w    *world
	plan Plan
	opt  Options
	srcs map[string]string
	// percent is the max_update of steps that have it as a percentage.
	percent map[int]int
	// lag is the longest time from a change of the truth until the engine can know of it.
	lag time.Duration
	// disturbed are Applications that somebody else works on: what is true of them may change.
	disturbed map[string]bool
	problems  []string

	session *session
	wants   map[string]*Desired
	seen    map[string]*Live // the newest state that the engine has been told
	gone    map[string]bool
	before  map[string]state
	entered map[string]bool
	writes  map[string]time.Time
	verbs   map[Verb]int
	halted  bool
	flying  map[string]bool // what was in flight when the run was halted
	synced  map[Source]string
	asked   map[string]string // refresh before a deletion,
	shown   map[string]bool   // and whether an earlier one was answered
	ours    map[string]string // token of this run
	// ops counts the operations of ours that Argo CD has begun, over all runs, by target.
	ops map[string]int

	// hopeless: something was answered after which nothing may begin, whatever may fail.
	hopeless bool
	closed   map[int]time.Time // when the last Application of a step was done, or had failed
	rested   map[int]bool      // steps whose soak has been judged
}

func (c *checker) fail(format string, args ...any) {
	at := c.w.now.Format("15:04:05.000")
	c.problems = append(c.problems, at+" "+fmt.Sprintf(format, args...))
}

func (c *checker) newRun(s *session, plan Plan, opt Options) {
	c.session, c.plan, c.opt = s, plan, opt
	c.wants, c.seen, c.before = map[string]*Desired{}, map[string]*Live{}, map[string]state{}
	c.entered, c.writes, c.verbs = map[string]bool{}, map[string]time.Time{}, map[Verb]int{}
	c.halted, c.flying, c.synced = false, map[string]bool{}, map[Source]string{}
	c.gone = map[string]bool{}
	c.asked, c.shown, c.ours = map[string]string{}, map[string]bool{}, map[string]string{}
	c.hopeless, c.closed, c.rested = false, map[int]time.Time{}, map[int]bool{}
	for i := range plan.Apps {
		c.wants[plan.Apps[i].Name] = &plan.Apps[i]
	}
}

// told keeps what the engine knows.
func (c *checker) told(name string, l *Live, uid string) {
	old := c.seen[name]
	switch {
	case l == nil:
		c.gone[uid] = true
		if old != nil && old.UID == uid {
			delete(c.seen, name)
		}
	case !c.gone[l.UID] && (old == nil || l.Rank >= old.Rank):
		c.seen[name] = l
	}
}

// sent judges a decision at the moment in which it is made.
func (c *checker) sent(action Action) {
	c.verbs[action.Verb]++
	a, want, seen := c.w.apps[action.App], c.wants[action.App], c.seen[action.App]
	if slices.Contains(c.plan.Held, a.name) && action.Verb != DisableAutomated {
		c.fail("%s is held back, but asked to %s", a.name, action.Verb)
	}
	switch action.Verb {
	case Write:
		c.write(a, want, seen, action)
	case DisableAutomated:
		if !c.plan.DisableAutomated || c.halted || seen == nil || !seen.AutomatedOn {
			c.fail("%s: automated sync switched off at a wrong time", a.name)
		}
	case Delete, PrepareDelete:
		c.deletion(a, seen, action)
	}
}

func (c *checker) write(a *simApp, want *Desired, seen *Live, action Action) {
	switch {
	case want == nil:
		c.fail("%s is not of the plan, but written", a.name)
		return
	case c.halted:
		c.fail("%s written after the run was halted", a.name)
	case seen == nil && action.Version != "" || seen != nil && action.Version != seen.Version:
		c.fail("%s: decided on version %q, not on the newest known", a.name, action.Version)
	case seen != nil && seen.Operation.Active():
		c.fail("%s: written over a running operation", a.name)
	case seen != nil && seen.Terminating:
		c.fail("%s: written while it is being deleted", a.name)
	}
	c.automatedOff(a.name)
	c.entered[a.name] = true
	c.writes[a.name] = c.w.now
	for i := range c.plan.Apps {
		if w := &c.plan.Apps[i]; w.Step != NoStep && (want.Step == NoStep || w.Step < want.Step) {
			c.finished(c.w.apps[w.Name], w, "before "+a.name+" was written", want.Step != NoStep)
		}
	}
	c.soaked(want.Step, a.name+" was written")
	if action.Sync == nil {
		return
	}
	c.ours[a.name] = action.Sync.Token
	if want.Mode != ModeSync {
		c.fail("%s of mode %q synced by us", a.name, want.Mode)
	}
	for i, s := range want.Sources {
		r := action.Sync.Revisions[i]
		if before, ok := c.synced[s]; ok && before != r {
			c.fail("%s gets %s of %v, another got %s", a.name, r, s, before)
		}
		c.synced[s] = r
	}
}

// limit is how many of a step may be in flight, negative for no limit. A percentage is one of the step's own
// Applications, rounded down, but at least one.
func (c *checker) limit(step int) int {
	percent := c.percent[step]
	if percent == 0 {
		return c.plan.Steps[step].Limit
	}
	n := 0
	for _, want := range c.wants {
		if want.Step == step {
			n++
		}
	}
	return max(1, n*percent/100)
}

// flightLimit: never more than the limit of a step are in flight.
func (c *checker) flightLimit() {
	count := map[int]int{}
	for name := range c.entered {
		if s := c.session.engine.apps[name].state; s == done || s == failed || s == idle {
			delete(c.entered, name)
		} else {
			count[c.wants[name].Step]++
		}
	}
	for step, n := range count {
		if step == NoStep {
			continue
		}
		if limit := c.limit(step); limit >= 0 && n > limit {
			c.fail("%d Applications of step %d in flight, the limit is %d", n, step, limit)
		}
	}
}

// at tells what keeps the truth from being the target; empty if nothing does.
func (c *checker) at(a *simApp, want *Desired) string {
	if !a.exists || a.hash != want.Hash {
		return "its spec is not the target's"
	}
	revisions := c.session.engine.revisions(c.session.engine.apps[a.name])
	switch want.Mode {
	case ModeWrite:
		return ""
	case ModeAutomated:
		if c.before[a.name] == done || a.running() || c.w.now.Sub(a.opEnded) < c.lag {
			return "" // automated sync goes on by itself
		}
		revisions = c.seen[a.name].Sync.Revisions
		if n := len(a.history); n > 0 && c.w.broken(a, revisions) {
			revisions = a.history[n-1].revisions
		}
	case ModeManual:
		if _, written := c.writes[a.name]; !written && a.live().Deployed.ID > a.manualAfter {
			revisions = a.live().Deployed.Revisions // a manual step may keep what a person has chosen
		}
	}
	if revisions == nil {
		return "its revision is not resolved"
	}
	if a.truth.content != c.w.content(a, c.srcs[a.name], revisions) {
		return fmt.Sprintf("deployed is %q, not its target at %v", a.truth.content, revisions)
	}
	return ""
}

// finished checks an Application of an earlier step. Bad health holds later steps back, but not
// what comes after the last step.
func (c *checker) finished(a *simApp, want *Desired, when string, gated bool) {
	if c.disturbed[a.name] || c.meddled(a, want) || c.forgiven(a, when) {
		return
	}
	if what := c.at(a, want); what != "" {
		c.fail("%s not at its target %s: %s", a.name, when, what)
	}
	now := c.w.now
	if gated && !c.opt.IgnoreUnhealthyEarlier && !a.lately(c.well, now.Add(-2*c.lag), now) {
		c.fail("%s has been unhealthy for long %s: %v", a.name, when, a.spans)
	}
}

// look judges what the engine has concluded since the last look.
func (c *checker) look() {
	e := c.session.engine
	c.flightLimit()
	c.overslept()
	for name, x := range e.apps {
		was := c.before[name]
		if x.state == was {
			continue
		}
		if x.state == done {
			c.concluded(c.w.apps[name], x, was)
		}
		if want := c.wants[name]; want != nil && (x.state == done || x.state == failed) {
			c.closed[want.Step] = c.w.now
		}
		c.before[name] = x.state
	}
	if c.mustHalt() && !c.halted {
		c.halted = true
		for name, x := range e.apps {
			c.flying[name] = x.state != idle
		}
	}
}

// concluded: the engine says that this Application is done.
func (c *checker) concluded(a *simApp, x *app, was state) {
	want, now := c.wants[a.name], c.w.now
	if slices.Contains(c.plan.Held, a.name) {
		c.fail("%s is held back, but counts as done", a.name)
		return
	}
	if want == nil {
		if a.exists && a.uid == x.uid {
			c.fail("%s counts as deleted, but is there", a.name)
		}
		return
	}
	if c.disturbed[a.name] {
		return
	}
	settled := was == idle || was == marking
	if settled && c.meddled(a, want) {
		c.disturbed[a.name] = true
		return
	}
	if what := c.at(a, want); what != "" {
		c.fail("%s counts as done: %s", a.name, what)
		return
	}
	if a.nature.outOfSync && !c.opt.AcceptOutOfSync && want.Mode == ModeSync {
		c.fail("%s counts as done, but is out of sync", a.name)
	}
	if a.step != x.label {
		c.fail("%s counts as done, but its step is stored as %q", a.name, a.step)
	}
	switch {
	case want.Mode == ModeAutomated && (a.running() || now.Sub(a.opEnded) < c.lag):
	case want.Mode == ModeWrite || settled && want.Proven:
	case settled:
		if !a.lately(c.well, now.Add(-2*c.lag), now) {
			c.fail("%s counts as done already, but is not healthy: %v", a.name, a.spans)
		}
		if longest := c.calm([]*simApp{a}, a.opEnded); want.Mode == ModeSync && longest < c.opt.MinHealthy-c.lag-time.Second {
			c.fail("%s counts as done already, but was not healthy for %s: %v", a.name, c.opt.MinHealthy, a.spans)
		}
	case !a.healthyFor(c.well, now.Add(-c.opt.MinHealthy), now.Add(-c.lag), c.lag):
		c.fail("%s counts as done, but was not healthy for %s: %v", a.name, c.opt.MinHealthy, a.spans)
	case !a.lately(c.well, now.Add(-c.lag), now):
		c.fail("%s counts as done, but is not healthy: %v", a.name, a.spans)
	}
	if written, ok := c.writes[a.name]; ok && want.Mode == ModeManual {
		n := len(a.history)
		if n == 0 || a.history[n-1].at.Before(written) || !slices.Equal(a.history[n-1].revisions, c.session.engine.revisions(x)) {
			c.fail("%s of a manual step counts as done without a full sync to the pin after the write", a.name)
		}
	}
}

// meddled tells that somebody's sync of a manual step, which may be a partial one, ended as the run began:
// nothing tells it yet.
func (c *checker) meddled(a *simApp, want *Desired) bool {
	_, written := c.writes[a.name]
	return want.Mode == ModeManual && !written && c.w.now.Sub(a.opEnded) < c.lag
}

// deletion judges PrepareDelete and Delete.
func (c *checker) deletion(a *simApp, seen *Live, action Action) {
	for i := range c.plan.Apps {
		name := c.plan.Apps[i].Name
		if c.session.engine.apps[name].state == failed {
			c.fail("deletion of %s begun although %s has failed", a.name, name)
		}
		c.finished(c.w.apps[name], &c.plan.Apps[i], "before "+a.name+" was deleted", false)
	}
	c.soaked(NoStep, a.name+" was deleted")
	if c.halted && !c.flying[a.name] {
		c.fail("deletion of %s begun after the run was halted", a.name)
	}
	if action.Verb == PrepareDelete {
		c.shown[a.name] = c.shown[a.name] || c.asked[a.name] != "" && a.refresh != c.asked[a.name]
		c.asked[a.name] = action.RefreshID
		return
	}
	for _, group := range c.plan.Removals {
		if slices.Contains(group, a.name) {
			break
		}
		for _, name := range group {
			if c.w.apps[name].exists && !c.disturbed[name] {
				c.fail("deletion of %s begun while %s of an earlier group is there", a.name, name)
			}
		}
	}
	known := seen != nil && a.state != nil && seen.Operation.Token == a.state.token && seen.Operation.Started == a.state.started
	switch {
	case seen == nil || seen.UID != action.UID:
		c.fail("%s deleted by a UID that was not seen", a.name)
	case seen.Operation.Active():
		c.fail("%s deleted while an operation is active", a.name)
	case seen.whole() && seen.rested() && seen.Version == action.Version:
		// No more is to be shown; the cache of the simulated Argo CD tells whether that is true.
	case seen.wholeSince() && seen.Version == action.Version && slices.Equal(seen.Sync.Revisions, seen.Operation.Revisions) && !(known && c.w.now.Sub(a.opEnded) < time.Second):
		// As well: what was compared is what the operation deployed, and that is in the cache by then. After another
		// operation, which was not seen, the version refuses the deletion.
	case seen.rested() && c.shown[a.name]:
		// The one that is asked for by now came too late to be needed: what was asked for early has been
		// compared a second after the operation.
	case c.asked[a.name] == "" || seen.RefreshID == c.asked[a.name] || a.uid == action.UID && a.refresh == c.asked[a.name]:
		c.fail("%s deleted without an answered refresh", a.name)
	case known && c.w.now.Sub(a.opEnded) < time.Second:
		c.fail("%s deleted %s after an operation", a.name, c.w.now.Sub(a.opEnded))
	}
}

// wrote is called when the API server accepts a write.
func (c *checker) wrote(a *simApp, action Action) {
	if action.Sync != nil && a.state != nil && !a.state.ended {
		c.fail("%s: an operation was written over a running one", a.name)
	}
}

// started is called when Argo CD begins an operation.
func (c *checker) started(a *simApp, op *simOp) {
	if op.token != "?" {
		c.ops[a.name+" "+op.target+" "+join(op.revisions)]++
	}
}

// over judges the end of a run.
func (c *checker) over(o Outcome) {
	for name, token := range c.ours {
		a := c.w.apps[name]
		active := a.exists && (a.pending != nil && a.pending.token == token || a.state != nil && !a.state.ended && a.state.token == token)
		if active && o.Stop != StopCancelled && !c.disturbed[name] {
			c.fail("the operation of %s is left running", name)
		}
	}
	if !o.OK() {
		return
	}
	c.soaked(NoStep, "the run has succeeded")
	for i := range c.plan.Apps {
		want := &c.plan.Apps[i]
		if a := c.w.apps[want.Name]; !c.disturbed[a.name] {
			if what := c.at(a, want); what != "" {
				c.fail("the run has succeeded, but %s is not at its target: %s", a.name, what)
			}
		}
	}
	for _, group := range c.plan.Removals {
		for _, name := range group {
			if a := c.w.apps[name]; a.exists && !c.disturbed[name] {
				c.fail("the run has succeeded, but %s is there", name)
			}
		}
	}
}
