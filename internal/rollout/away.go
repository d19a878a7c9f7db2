package rollout

import (
	"fmt"
	"slices"
	"time"
)

// answerPatience is how long requests may go unanswered, which is longer than a client repeats one:
// what ends a run must not depend on an answer. Many that wait for each other are answered in turn; so
// it counts from the last answer to any.
const answerPatience = 4 * time.Minute

// away: the watch is interrupted. Until it has caught up nothing starts, and nothing is proven by
// what is not seen.
func (e *engine) away(now time.Time) {
	if e.listed {
		e.listed, e.since = false, now
	}
}

// back: everything that has happened until now has been seen. The time without a watch does not
// count as time of health, nor as silence of Argo CD.
func (e *engine) back(now time.Time) {
	lost := time.Duration(0)
	if !e.since.IsZero() {
		lost = now.Sub(e.since)
	}
	e.listed, e.since = true, time.Time{}
	if !e.soaking.IsZero() {
		e.soaking = e.soaking.Add(lost)
	}
	for _, apps := range slices.Concat([][]*app{e.noStep}, e.steps, e.groups) {
		for _, a := range apps {
			if !a.asked.IsZero() {
				a.asked = a.asked.Add(min(lost, now.Sub(a.asked)))
			}
			if !a.inFlight() {
				continue
			}
			if !a.healthy.IsZero() {
				a.healthy = a.healthy.Add(min(lost, now.Sub(a.healthy)))
			}
			e.look(a, now)
		}
	}
}

// unanswered gives up a request that is not answered at all, and with it the run: it must end in time
// whatever becomes of the request, which may have been carried out.
func (e *engine) unanswered(a *app, now time.Time) {
	since := a.sent
	if e.heard.After(since) && !e.halted() {
		since = e.heard
	}
	if at := since.Add(answerPatience); now.Before(at) {
		e.wakeAt(a, at)
		return
	}
	if a.abandoned {
		return
	}
	a.abandoned = true
	e.abandoned++
	e.refused(a, Result{
		Action: Action{App: a.name, Verb: a.verb}, Hopeless: true,
		Err: fmt.Errorf("the API server has not answered for %s", answerPatience),
	}, now)
}
