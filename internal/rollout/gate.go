package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// sickness is what the health of a done Application means for the steps after it.
type sickness int

const (
	well     sickness = iota
	doubtful          // Progressing
	paused            // Suspended, and somebody is waited for who resumes it
	sick              // anything else, or gone
)

func (e *engine) sickness(a *app) sickness {
	switch {
	case a.live == nil:
		return sick
	case e.healthy(a.live):
		return well
	case a.live.Health.Type == Progressing:
		return doubtful
	case e.waitsSuspended(a.live):
		return paused
	}
	return sick
}

// waitsSuspended tells that the Application is Suspended, and that somebody is waited for who
// resumes it.
func (e *engine) waitsSuspended(l *Live) bool {
	return l.Health.Type == Suspended && (e.opt.Suspended == "" || e.opt.Suspended == SuspendedWait)
}

// checkup keeps the list of done Applications that may hold later steps back.
func (e *engine) checkup(a *app, now time.Time) {
	if a.want == nil || a.want.Step == NoStep {
		return
	}
	found := e.sickness(a)
	if found == a.sick {
		return
	}
	if a.sick == well {
		e.unwell[a] = true
		e.unwellIn[a.want.Step]++
	}
	a.sick, a.since = found, now
	if found == well {
		delete(e.unwell, a)
		e.unwellIn[a.want.Step]--
		return
	}
	if due := e.patience(a); due.Before(e.gateCheck) {
		e.gateCheck = due
		e.wakeAllAt(due)
	}
}

// forever is longer than any run.
const forever = 10 * 365 * 24 * time.Hour

// patience is until when the steps after this Application wait for its health: sick ones have
// DegradedGrace since they are, those in doubt AppTimeout since a step has begun to wait; but
// Suspended ones as long as the run may take.
func (e *engine) patience(a *app) time.Time {
	switch {
	case a.sick == sick:
		return a.since.Add(e.opt.DegradedGrace)
	case a.sick == paused:
		return a.since.Add(forever)
	}
	since := a.since
	if since.Before(e.gate) {
		since = e.gate
	}
	return since.Add(e.opt.AppTimeout)
}

// gateOpen tells whether all earlier steps are healthy. What is not healthy for too long stops the
// rollout.
func (e *engine) gateOpen(now time.Time) bool {
	if !e.listed || len(e.automated) > 0 {
		return false
	}
	if e.stage != stepping || e.opt.IgnoreUnhealthyEarlier || !e.unwellEarlier() {
		e.gate, e.gateCheck = time.Time{}, time.Time{}
		return true
	}
	earlier := func(a *app) bool { return a.want.Step < e.step }
	e.waitForHealth(earlier, "holds back the steps after it", KindUnhealthyEarlier, "starting "+e.stepLabel(), now)
	return false
}

// stepBack lets an Application whose turn it was wait for it again; nobody waits for what it was to
// find out.
func (e *engine) stepBack(a *app, now time.Time) {
	waiters := e.stopLeading(a)
	e.rest(a, idle)
	a.reason = e.closedFor()
	at, _ := slices.BinarySearchFunc(e.queue, a.name, func(q *app, name string) int { return strings.Compare(q.name, name) })
	e.queue = slices.Insert(e.queue, at, a)
	for _, other := range waiters {
		e.look(other, now)
	}
}

// closedFor says why nothing may start.
func (e *engine) closedFor() string {
	switch {
	case !e.listed:
		return "the watch is interrupted; waiting until it has caught up"
	case len(e.automated) > 0:
		return "automated sync was switched on meanwhile; waiting until it is off again"
	}
	return "an earlier step is not healthy"
}

// soaked tells whether the step, all of whose Applications are done, has been healthy for long
// enough. What is not healthy for too long stops the rollout; what recovers starts the time anew.
func (e *engine) soaked(now time.Time) bool {
	if !e.soaks {
		return true
	}
	if e.unwellIn[e.step] > 0 {
		e.soaking = time.Time{}
		ofStep := func(a *app) bool { return a.want.Step == e.step }
		e.waitForHealth(ofStep, "has its step soak again", KindUnsteady, "soaking "+e.stepLabel(), now)
		return false
	}
	e.gate, e.gateCheck = time.Time{}, time.Time{}
	if e.soaking.IsZero() {
		e.soaking = now
		e.sayStep(now, MomentSoaks, fmt.Sprintf("soaking: its Applications must stay healthy for %s", e.opt.SoakTime))
	}
	if until := e.soaking.Add(e.opt.SoakTime); now.Before(until) {
		e.wakeAllAt(until)
		return false
	}
	return true
}

// waitForHealth waits for the unwell Applications meant, and stops the rollout because of the first
// one whose time is over.
func (e *engine) waitForHealth(meant func(*app) bool, does string, kind Kind, doing string, now time.Time) {
	if now.Before(e.gateCheck) {
		e.wakeAllAt(e.gateCheck)
		return
	}
	first := e.gate.IsZero()
	if first {
		e.gate = now
	}
	var culprit *app
	var due time.Time
	for a := range e.unwell {
		if !meant(a) {
			continue
		}
		if d := e.patience(a); culprit == nil || d.Before(due) || d.Equal(due) && a.name < culprit.name {
			culprit, due = a, d
		}
	}
	if now.Before(due) {
		if first {
			e.say(now, culprit, "", does+": "+culprit.healthText())
		}
		e.gateCheck = due
		e.wakeAllAt(due)
		return
	}
	e.hopeless = true
	e.failures = append(e.failures, Failure{
		App: culprit.name, Step: culprit.label, Kind: kind, Revisions: e.revisions(culprit), Doing: doing, Said: culprit.healthText(),
	})
	e.say(now, culprit, PhaseFailed, string(kind))
	e.dropWaiting(now)
}

func (e *engine) unwellEarlier() bool {
	for _, n := range e.unwellIn[:e.step] {
		if n > 0 {
			return true
		}
	}
	return false
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
