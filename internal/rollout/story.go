package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// story is what a run has told so far.
type story struct {
	log []Note
	// told is when the last note was given out, and done how many Applications are done.
	told time.Time
	done int
}

// say adds a line to the story.
func (e *engine) say(now time.Time, a *app, phase Phase, text string) {
	n := Note{Phase: phase, Text: text}
	if a != nil {
		n.App, n.Step = a.name, a.label
		if a.live != nil {
			n.UID = a.live.UID
		}
	}
	e.log = append(e.log, e.tell(now, n))
}

// sayStep adds a line about the current step to the story.
func (e *engine) sayStep(now time.Time, moment Moment, text string) {
	e.log = append(e.log, e.tell(now, Note{Moment: moment, Text: text}))
}

// tell gives a note out, and returns it with what all notes have.
func (e *engine) tell(now time.Time, n Note) Note {
	n.At, n.Done, e.told = now, e.done, now
	if n.Step == "" {
		n.Step = e.stepLabel()
	}
	if e.opt.Notes != nil {
		e.opt.Notes(n)
	}
	return n
}

// nextPulse is when the run has been silent for long enough; zero for never.
func (e *engine) nextPulse() time.Time {
	if e.opt.Pulse <= 0 || e.opt.Notes == nil || e.over {
		return time.Time{}
	}
	return e.told.Add(e.opt.Pulse)
}

// pulse tells what is waited for when nothing else was told for a while. It decides nothing.
func (e *engine) pulse(now time.Time) {
	if at := e.nextPulse(); !at.IsZero() && !now.Before(at) {
		e.tell(now, Note{Moment: MomentWaiting, Text: e.waitingFor(now)})
	}
}

// maxWaiting is how many Applications a pulse names.
const maxWaiting = 3

// waitingFor says what the run waits for.
func (e *engine) waitingFor(now time.Time) string {
	var first []*app
	more := 0
	for _, a := range e.current() {
		switch {
		case !a.inFlight() && e.automated[a.name] == nil:
		case len(first) < maxWaiting:
			first = append(first, a)
		default:
			more++
		}
	}
	switch {
	case !e.listed:
		return "waiting for the list of Applications"
	case len(first) > 0:
		return "waiting for " + namedReasons(first, more)
	case !e.soaking.IsZero():
		return fmt.Sprintf("soaking: its Applications must stay healthy for another %s", e.soaking.Add(e.opt.SoakTime).Sub(now).Round(time.Second))
	case len(e.unwell) > 0:
		return "waiting for the health of " + strings.Join(e.unwellNames(), ", ")
	}
	return "waiting for the API server"
}

// current are the Applications of the current stage, by name.
func (e *engine) current() []*app {
	switch e.stage {
	case disabling:
		return slices.SortedFunc(maps.Values(e.automated), byName)
	case stepping:
		return at(e.steps, e.step)
	case writing:
		return e.noStep
	case deleting:
		return at(e.groups, e.step)
	}
	return nil
}

func at(groups [][]*app, i int) []*app {
	if i < len(groups) {
		return groups[i]
	}
	return nil
}

func byName(a, b *app) int { return strings.Compare(a.name, b.name) }

func namedReasons(first []*app, more int) string {
	parts := make([]string, len(first))
	for i, a := range first {
		parts[i] = a.name
		if a.reason != "" {
			parts[i] += " (" + a.reason + ")"
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// unwellNames are the first of the done Applications that may hold back what comes next.
func (e *engine) unwellNames() []string {
	apps := slices.SortedFunc(maps.Keys(e.unwell), byName)
	names := make([]string, 0, maxWaiting)
	for _, a := range apps[:min(len(apps), maxWaiting)] {
		names = append(names, a.name+" ("+a.healthText()+")")
	}
	return names
}

// heldLabel is the step of an Application that is held back, in the story.
const heldLabel = "held back"

func (e *engine) stepLabel() string {
	switch e.stage {
	case stepping:
		if e.step < len(e.plan.Steps) {
			return e.plan.Steps[e.step].Label
		}
	case writing:
		return e.plan.NoStepLabel
	case deleting:
		return "deletion"
	case disabling:
		return "switching automated sync off"
	}
	return "start"
}

// phaseOf names the state as Argo CD's progressive syncs do.
func (a *app) phaseOf() Phase {
	switch a.state {
	case idle:
		return PhaseWaiting
	case entering:
		return PhasePending
	case done:
		if a.want == nil {
			return PhaseDeleted
		}
		return PhaseHealthy
	case failed, givingUp:
		return PhaseFailed
	case removing:
		return PhaseDeleting
	}
	return PhaseProgressing
}

// outcome sums the run up.
func (e *engine) outcome() Outcome {
	o := Outcome{
		Failures: e.failures, Stop: e.stop, Err: e.stopErr, Step: e.stepLabel(), Log: e.log,
		Pins: e.pins, Revisions: map[string][]string{},
	}
	if e.stage == stepping && e.soaks && e.opened && e.step < len(e.steps) {
		o.Soaking = e.plan.Steps[e.step].Label
	}
	for name, a := range e.apps {
		if a.aside && a.state == idle {
			continue
		}
		if a.want != nil {
			if revisions := e.revisions(a); revisions != nil {
				o.Revisions[name] = revisions
			}
		}
		switch {
		case a.state == done && a.want == nil:
			o.Deleted = append(o.Deleted, name)
		case a.state == done:
			o.Done = append(o.Done, name)
		default:
			o.Open = append(o.Open, OpenApp{Name: name, Step: a.label, Phase: a.phaseOf(), Reason: a.reason})
		}
	}
	slices.Sort(o.Done)
	slices.Sort(o.Deleted)
	slices.SortFunc(o.Open, func(x, y OpenApp) int { return strings.Compare(x.Name, y.Name) })
	return o
}
