package rollout

import "time"

// sickness is what the health of a done Application means for the steps after it.
type sickness int

const (
	well     sickness = iota
	doubtful          // Progressing or Suspended
	sick              // anything else, or gone
)

func (a *app) sickness() sickness {
	switch {
	case a.live == nil:
		return sick
	case a.live.Health.Type == Healthy:
		return well
	case a.live.Health.Type == Progressing || a.live.Health.Type == Suspended:
		return doubtful
	}
	return sick
}

// checkup keeps the list of done Applications that may hold later steps back.
func (e *engine) checkup(a *app, now time.Time) {
	if a.want == nil || a.want.Step == NoStep {
		return
	}
	found := a.sickness()
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

// patience is until when the steps after this Application wait for its health: sick ones have
// DegradedGrace since they are, those in doubt AppTimeout since a step has begun to wait.
func (e *engine) patience(a *app) time.Time {
	if a.sick == sick {
		return a.since.Add(e.opt.DegradedGrace)
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
	if e.stage != stepping || e.opt.IgnoreUnhealthyEarlier || !e.unwellEarlier() {
		e.gate, e.gateCheck = time.Time{}, time.Time{}
		return true
	}
	if now.Before(e.gateCheck) {
		return false
	}
	first := e.gate.IsZero()
	if first {
		e.gate = now
	}
	var culprit *app
	var due time.Time
	for a := range e.unwell {
		if a.want.Step >= e.step {
			continue
		}
		if d := e.patience(a); culprit == nil || d.Before(due) || d.Equal(due) && a.name < culprit.name {
			culprit, due = a, d
		}
	}
	if now.Before(due) {
		if first {
			e.say(now, culprit, "", "holds back the steps after it: "+culprit.healthText())
		}
		e.gateCheck = due
		e.wakeAllAt(due)
		return false
	}
	e.failures = append(e.failures, Failure{
		App: culprit.name, Step: culprit.label, Kind: KindUnhealthyEarlier, Revisions: e.revisions(culprit),
		Doing: "starting " + e.stepLabel(), Said: culprit.healthText(),
	})
	e.say(now, culprit, PhaseFailed, string(KindUnhealthyEarlier))
	e.dropWaiting(now)
	return false
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
