package rollout

import (
	"fmt"
	"slices"
	"time"
)

// pump moves the run on as far as it goes: stage by stage, step by step.
func (e *engine) pump(now time.Time) {
	for !e.over && e.advance(now) {
	}
}

// advance does what can be done in the current stage; true means that the stage has changed.
func (e *engine) advance(now time.Time) bool {
	if !e.listed {
		return false
	}
	if e.stop == StopNone && !e.opt.Deadline.IsZero() && !now.Before(e.opt.Deadline) {
		e.outOfTime(now)
	}
	if e.halted() {
		e.over = e.flight == 0 && e.outstanding == 0
		return false
	}
	switch e.stage {
	case listing:
		e.stage = disabling
		e.beginDisabling(now)
		return true
	case disabling:
		return len(e.automated) == 0 && e.enter(stepping, now)
	case stepping:
		return e.advanceStep(now)
	case writing:
		e.open(e.noStep, now)
		e.start(-1, now)
		return e.left == 0 && e.enter(deleting, now)
	case deleting:
		return e.advanceDeletion(now)
	}
	e.over = e.outstanding == 0
	return false
}

// halted tells that nothing new may start.
func (e *engine) halted() bool { return len(e.failures) > 0 || e.stop != StopNone }

func (e *engine) enter(s stage, _ time.Time) bool {
	e.stage, e.step, e.opened = s, 0, false
	return true
}

// beginDisabling switches automated sync off wherever it is on, before anything else: without it
// later steps would sync themselves while the first one rolls.
func (e *engine) beginDisabling(now time.Time) {
	e.automated = map[string]*app{}
	if !e.plan.DisableAutomated {
		return
	}
	for i := range e.plan.Apps {
		a := e.apps[e.plan.Apps[i].Name]
		if a.live != nil && a.live.AutomatedOn && !a.live.Terminating {
			e.automated[a.name] = a
			a.deadline = now.Add(e.opt.AppTimeout)
		}
	}
	if n := len(e.automated); n > 0 {
		e.say(now, nil, "", fmt.Sprintf("switching automated sync off on %d Applications", n))
	}
	for i := range e.plan.Apps {
		if a := e.automated[e.plan.Apps[i].Name]; a != nil {
			e.disable(a, now)
		}
	}
}

func (e *engine) disable(a *app, now time.Time) {
	switch {
	case e.automated[a.name] == nil || a.busy:
	case a.live == nil || !a.live.AutomatedOn || a.live.Terminating:
		delete(e.automated, a.name)
	case !now.Before(a.deadline):
		e.begin(a, entering)
		e.failWith(a, Failure{Kind: KindTimeout, Doing: string(DisableAutomated), Said: "the Application changed again and again"}, now)
	case !e.halted():
		e.do(a, Action{Verb: DisableAutomated, Version: a.live.Version})
	}
}

func (e *engine) advanceStep(now time.Time) bool {
	if e.step >= len(e.steps) {
		return e.enter(writing, now)
	}
	e.open(e.steps[e.step], now)
	e.start(e.plan.Steps[e.step].Limit, now)
	if e.left > 0 || e.halted() {
		return false
	}
	if e.rolls {
		e.say(now, nil, "", fmt.Sprintf("done: all %d Applications are at their target", len(e.steps[e.step])))
	}
	e.step, e.opened = e.step+1, false
	return true
}

// open looks at all Applications of a step once: those at their target already are done without
// a write, the others queue up by name.
func (e *engine) open(apps []*app, now time.Time) {
	if e.opened {
		return
	}
	e.opened, e.queue, e.left = true, nil, len(apps)
	for _, a := range apps {
		switch {
		case !e.settled(a):
			e.queue = append(e.queue, a)
		case a.live.StepLabel != a.label:
			e.begin(a, marking)
			e.look(a, now)
		default:
			a.state = done
			e.left--
			e.checkup(a)
		}
	}
	if e.rolls = len(e.queue) > 0; e.rolls {
		e.say(now, nil, "", fmt.Sprintf("begins: %d of %d Applications to roll out", len(e.queue), len(apps)))
	}
}

// settled tells that nothing is to be done for an Application of the plan.
func (e *engine) settled(a *app) bool {
	l := a.live
	if l == nil || l.Terminating || l.Hash != a.want.Hash {
		return false
	}
	switch a.want.Mode {
	case ModeWrite:
		return true
	case ModeAutomated:
		well := l.Sync.Status == Synced && l.Sync.OfSpec && l.Health.Type == Healthy
		return !l.Operation.Active() && (well || a.want.Proven)
	}
	return e.atTarget(a) && (l.Health.Type == Healthy || a.want.Proven)
}

// atTarget tells, from live facts alone, that the target is deployed already: the spec is ours,
// and the newest full sync deployed the target revisions from it.
func (e *engine) atTarget(a *app) bool {
	l, revisions := a.live, e.revisions(a)
	switch {
	case l == nil || revisions == nil || l.Hash != a.want.Hash || l.Operation.Active():
		return false
	case !a.want.Proven && (l.Operation.Phase == Failed || l.Operation.Phase == Error):
		return false
	case l.Deployed.ID != 0 && (!l.Deployed.OfSpec || l.Deployed.ID <= l.ManualAfter):
		return false
	case l.Sync.Status == OutOfSync && l.Sync.at(revisions):
		return false
	}
	return slices.Equal(l.deployedRevisions(), revisions)
}

// revisions are the target of the Application, nil while they are not resolved.
func (e *engine) revisions(a *app) []string {
	if a.want.Revisions != nil {
		return a.want.Revisions
	}
	return e.pins.revisions(a.want.Sources)
}

// start takes Applications from the queue while there are free slots.
func (e *engine) start(limit int, now time.Time) {
	for len(e.queue) > 0 && (limit < 0 || e.flight < limit) && !e.halted() && e.gateOpen(now) {
		a := e.queue[0]
		e.queue = e.queue[1:]
		e.begin(a, entering)
		a.deadline = now.Add(e.opt.AppTimeout)
		e.look(a, now)
	}
}

// gateOpen tells whether all earlier steps are healthy. Bad health has DegradedGrace to recover,
// health in doubt (Progressing, Suspended) AppTimeout; then the rollout stops.
func (e *engine) gateOpen(now time.Time) bool {
	if e.stage != stepping || e.opt.IgnoreUnhealthyEarlier || len(e.unwell) == 0 {
		return true
	}
	var bad, doubtful *app
	for _, a := range e.unwell {
		switch {
		case a.want.Step >= e.step:
		case a.live != nil && (a.live.Health.Type == Progressing || a.live.Health.Type == Suspended):
			doubtful = first(doubtful, a)
		default:
			bad = first(bad, a)
		}
	}
	culprit, grace := bad, e.opt.DegradedGrace
	if bad == nil {
		culprit, grace = doubtful, e.opt.AppTimeout
	}
	if culprit == nil {
		e.gate = time.Time{}
		return true
	}
	if e.gate.IsZero() {
		e.gate = now
		e.say(now, culprit, "", "holds back the steps after it: "+culprit.healthText())
	}
	if now.Sub(e.gate) < grace {
		e.wakeAt(nil, e.gate.Add(grace))
		return false
	}
	e.failures = append(e.failures, Failure{
		App: culprit.name, Step: culprit.label, Kind: KindUnhealthyEarlier, Revisions: e.revisions(culprit),
		Doing: "starting " + e.stepLabel(), Said: culprit.healthText(),
	})
	e.say(now, culprit, PhaseFailed, string(KindUnhealthyEarlier))
	e.dropWaiting()
	return false
}

func first(x, y *app) *app {
	if x == nil || y.name < x.name {
		return y
	}
	return x
}

// healthText is the health as Argo CD reports it.
func (a *app) healthText() string {
	if a.live == nil {
		return "the Application is gone"
	}
	text := "health " + orUnknown(a.live.Health.Type)
	if a.live.Health.Message != "" {
		text += ": " + a.live.Health.Message
	}
	return text
}

// begin takes an Application into flight.
func (e *engine) begin(a *app, s state) {
	if !a.inFlight() {
		e.flight++
	}
	a.state = s
	if s == entering {
		a.reason = "it is its turn"
	}
}

// rest takes an Application out of flight.
func (e *engine) rest(a *app, s state) {
	if a.inFlight() {
		e.flight--
	}
	a.state = s
	for s, leader := range e.leaders {
		if leader == a {
			delete(e.leaders, s)
		}
	}
}

func (a *app) inFlight() bool { return a.state != idle && a.state != done && a.state != failed }

// finish proves an Application done.
func (e *engine) finish(a *app, now time.Time, how string) {
	e.rest(a, done)
	e.left--
	a.reason = ""
	e.say(now, a, a.phaseOf(), how)
	e.checkup(a)
}

// failWith stops the rollout because of this Application. An operation of ours that still runs is
// terminated, or it would deploy minutes after the apply has failed.
func (e *engine) failWith(a *app, f Failure, now time.Time) {
	f.App, f.Step = a.name, a.label
	if a.want != nil {
		f.Revisions = e.revisions(a)
	}
	if f.Doing == "" {
		f.Doing = e.doing(a)
	}
	e.failures = append(e.failures, f)
	a.reason = string(f.Kind)
	e.say(now, a, PhaseFailed, joinNonEmpty(string(f.Kind), f.Said))
	if a.ours() && !a.busy {
		e.begin(a, givingUp)
		a.deadline = now.Add(terminateTimeout)
		e.do(a, Action{Verb: Terminate, Token: a.token, Version: a.live.Version})
	} else {
		e.rest(a, failed)
	}
	e.dropWaiting()
}

// ours tells whether an operation that this run started (or took over) is still active.
func (a *app) ours() bool {
	if a.live == nil || a.token == "" || a.want == nil {
		return false
	}
	o := a.live.Operation
	return o.Pending == a.token || (o.Token == a.token && (o.Phase == Running || o.Phase == Terminating))
}

// dropWaiting sends back to idle what has its turn but waits for something that nobody must wait
// for any more.
func (e *engine) dropWaiting() {
	for _, a := range e.apps {
		if !a.busy && (a.state == entering || a.state == resolving || a.state == awaiting && a.want.Mode == ModeManual) {
			e.rest(a, idle)
		}
	}
}

// giveUp waits for the end of an operation that was terminated.
func (e *engine) giveUp(a *app, now time.Time) {
	switch {
	case !a.ours() || !now.Before(a.deadline):
		e.giveUpEnded(a, now)
	case a.terminated != a.operationKey() && a.live.Operation.Phase != Terminating:
		e.do(a, Action{Verb: Terminate, Token: a.token, Version: a.live.Version})
	}
	e.wakeAt(a, a.deadline)
}

func (e *engine) giveUpEnded(a *app, now time.Time) {
	if a.ours() {
		e.say(now, a, PhaseFailed, "its operation could not be terminated and may still run")
	} else {
		e.say(now, a, PhaseFailed, "its operation has ended")
	}
	e.rest(a, failed)
}

// outOfTime ends the run at its deadline: what is in flight fails with what it was waiting for.
func (e *engine) outOfTime(now time.Time) {
	e.stop = StopDeadline
	for i := range e.plan.Apps {
		e.expire(e.apps[e.plan.Apps[i].Name], now)
	}
	for _, group := range e.groups {
		for _, a := range group {
			e.expire(a, now)
		}
	}
}

func (e *engine) expire(a *app, now time.Time) {
	if a.inFlight() && a.state != givingUp && !a.busy {
		e.timedOut(a, now)
	}
}

// timedOut fails an Application with what it was waiting for.
func (e *engine) timedOut(a *app, now time.Time) {
	kind := KindTimeout
	said := a.reason
	if a.want == nil {
		kind = KindDeletion
	}
	if a.live != nil {
		said = joinNonEmpty(said, a.remains())
	}
	e.failWith(a, Failure{Kind: kind, Said: said}, now)
}

// cancel ends the run at once; running operations go on in Argo CD and are found again by the next run.
func (e *engine) cancel(stop Stop, err error) {
	e.stop, e.stopErr, e.over = stop, err, true
}
