package rollout

import (
	"container/heap"
	"time"
)

// timers wakes Applications up: a heap of times, one entry for each request. An entry that is no
// longer needed does no harm, the Application just looks again.
type timers []timer

type timer struct {
	at  time.Time
	app *app
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)        { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}

// wakeAt asks for a look at the Application at this time.
func (e *engine) wakeAt(a *app, at time.Time) {
	if !a.wake.IsZero() && !a.wake.After(at) {
		return
	}
	a.wake = at
	heap.Push(&e.timers, timer{at, a})
}

// wakeAllAt asks for a look at the whole run; an earlier wish for the same is replaced.
func (e *engine) wakeAllAt(at time.Time) { e.wake = at }

// nextWake is the earliest time at which tick has something to do.
func (e *engine) nextWake() (time.Time, bool) {
	if e.over {
		return time.Time{}, false
	}
	next := e.wake
	if len(e.timers) > 0 && (next.IsZero() || e.timers[0].at.Before(next)) {
		next = e.timers[0].at
	}
	if d := e.opt.Deadline; e.stop == StopNone && !d.IsZero() && (next.IsZero() || d.Before(next)) {
		next = d
	}
	if p := e.nextPulse(); !p.IsZero() && (next.IsZero() || p.Before(next)) {
		next = p
	}
	return next, !next.IsZero()
}

// tick looks at everything whose time has come.
func (e *engine) tick(now time.Time) {
	for len(e.timers) > 0 && !e.timers[0].at.After(now) {
		t := heap.Pop(&e.timers).(timer)
		if !t.app.wake.After(now) {
			t.app.wake = time.Time{}
		}
		e.look(t.app, now)
	}
	if !e.wake.After(now) {
		e.wake = time.Time{}
	}
	e.pump(now)
	e.pulse(now)
}
