package rollout

import "time"

// checkup keeps the list of done Applications that may hold later steps back.
func (e *engine) checkup(a *app) {
	if a.want == nil || a.want.Step == NoStep {
		return
	}
	if a.live != nil && a.live.Health.Type == Healthy {
		delete(e.unwell, a.name)
	} else {
		e.unwell[a.name] = a
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
