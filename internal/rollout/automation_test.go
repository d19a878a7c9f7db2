package rollout

import (
	"testing"
	"time"
)

func automatic(l *Live) { l.AutomatedOn, l.Hash = true, l.Hash+" automated" }

// endedAt is an operation that ended so long after the beginning, by Argo CD's clock.
func endedAt(d time.Duration) func(*Live) {
	return func(l *Live) { l.Ended = simStart.Add(-time.Hour).Add(d) }
}

// switchedOff answers that automated sync is off, and the spec what it was before.
func (d *desk) switchedOff(name, hash string) {
	d.t.Helper()
	d.accept(d.asked(name, DisableAutomated), func(l *Live) { l.Hash = hash })
}

func TestAutomatedSyncThatIsSwitchedOnMeanwhile(t *testing.T) {
	begin := func(t *testing.T) *desk { return firstLanded(t, deskOptions()) }
	held := func(t *testing.T) *desk {
		p := planOf("a")
		p.Held = []string{"h"}
		d := newDesk(t, p, deskOptions())
		d.see("a", old)
		d.see("h", old)
		d.listed()
		return d
	}
	for name, test := range map[string]func(*testing.T){
		"is switched off again before the next step begins": func(t *testing.T) {
			d := begin(t)
			d.see("b", automatic)
			off := d.asked("b", DisableAutomated)
			d.pass(time.Minute)
			d.state("a", done)
			d.quiet()
			d.accept(off, func(l *Live) { l.Hash = "old" })
			d.land("b")
			d.pass(5 * time.Second)
			d.over(true)
		},
		"is switched off where the step has begun but not this Application": func(t *testing.T) {
			p := planOf("a b")
			p.Steps[0].Limit = 1
			d := newDesk(t, p, deskOptions())
			d.see("a", old)
			d.see("b", old)
			d.listed()
			d.land("a")
			d.see("b", automatic)
			d.pass(time.Minute)
			d.switchedOff("b", "old")
			d.asked("b", Write)
		},
		"is switched off where the Application is done": func(t *testing.T) {
			d := begin(t)
			d.pass(5 * time.Second)
			d.state("a", done)
			w := d.asked("b", Write)
			d.see("a", automatic)
			d.answer(Result{Action: w, Conflict: true})
			d.see("b")
			d.state("b", idle)
			d.switchedOff("a", "new")
			d.land("b")
			d.pass(5 * time.Second)
			d.over(true)
		},
		"is switched off where the Application is held back": func(t *testing.T) {
			d := held(t)
			d.see("h", automatic)
			d.switchedOff("h", "old")
			d.land("a")
			d.pass(5 * time.Second)
			d.over(true)
		},
		"is let be where the Application is held back and it comes back again and again": func(t *testing.T) {
			d := held(t)
			for range maxSwitchedOn {
				d.see("h", automatic)
				d.switchedOff("h", "old")
			}
			d.see("h", automatic)
			d.land("a")
			d.pass(5 * time.Second)
			d.over(true)
		},
		"lets nothing start where the Application is in flight and fails for it only when it is answered": func(t *testing.T) {
			p := planOf("a b c")
			p.Steps[0].Limit = 2
			d := newDesk(t, p, allowing(2))
			for _, name := range []string{"a", "b", "c"} {
				d.see(name, old)
			}
			d.listed()
			d.land("a")
			d.see("a", func(l *Live) { l.Sync.Revisions = []string{sha(2)} })
			d.land("b")
			d.pass(quietDelay)
			ask := d.asked("a", Refresh)
			d.see("a", automatic)
			d.pass(5 * time.Second)
			d.state("b", done)
			d.quiet()
			d.answer(Result{Action: ask, Live: d.lives["a"]})
			d.failed("a", KindChanged, "")
			d.switchedOff("a", "new")
			d.asked("c", Write)
		},
		"stops the rollout when it has begun to deploy before its turn": func(t *testing.T) {
			d := begin(t)
			d.see("b", automatic)
			d.accept(d.asked("b", DisableAutomated), func(l *Live) { l.Hash, l.Operation = "old", Operation{Pending: "?"} })
			d.failed("b", KindOvertaken, "")
			d.pass(5 * time.Second)
			d.quiet()
			d.over(false)
		},
		"and off again does not make what a person syncs later a fault": func(t *testing.T) {
			d := begin(t)
			d.see("a", health(Progressing))
			d.see("b", automatic)
			d.switchedOff("b", "old")
			d.pass(aftermath)
			d.see("b", func(l *Live) { l.Operation = Operation{Pending: "?"} })
			d.unfailed()
		},
		"stops the rollout when it comes back again and again": func(t *testing.T) {
			d := begin(t)
			for range maxSwitchedOn {
				d.see("b", automatic)
				d.switchedOff("b", "old")
			}
			d.see("b", automatic)
			d.failed("b", KindOvertaken, "4 times")
			d.pass(5 * time.Second)
			d.quiet()
			d.over(false)
		},
		"stops the rollout when it cannot be switched off, whatever has become of the Application": func(t *testing.T) {
			for name, have := range map[string]func(d *desk){
				"not begun": func(d *desk) {
					d.see("b", automatic)
					d.answer(Result{Action: d.asked("b", DisableAutomated), Err: errForbidden})
				},
				"done": func(d *desk) {
					d.pass(5 * time.Second)
					d.see("a", automatic)
					d.answer(Result{Action: d.asked("a", DisableAutomated), Err: errForbidden})
				},
				"failed": func(d *desk) {
					d.see("a", automatic)
					d.answer(Result{Action: d.asked("a", DisableAutomated), Err: errForbidden})
				},
			} {
				d := newDesk(t, planOf("a", "b"), allowing(5))
				d.see("a", old)
				d.see("b", old)
				d.listed()
				d.land("a")
				have(d)
				d.pending = nil
				d.pass(time.Minute)
				d.quiet()
				if len(d.e.failures) == 0 || !d.e.hopeless {
					t.Errorf("%s: the failures are %v", name, d.e.failures)
				}
			}
		},
		"is nobody's concern where all are rolled out at once": func(t *testing.T) {
			p := planOf("a", "b")
			p.DisableAutomated = false
			d := newDesk(t, p, deskOptions())
			d.see("a", old)
			d.see("b", old)
			d.listed()
			d.sync("a")
			d.see("b", automatic)
			d.quiet()
		},
	} {
		t.Run(name, test)
	}
}

func TestTheTimeToSwitchAutomatedSyncOffIsNotThatOfTheMark(t *testing.T) {
	opt := deskOptions()
	opt.SoakTime = 2 * opt.AppTimeout
	d := newDesk(t, planOf("a", "b"), opt)
	d.see("a", old)
	d.see("b", there, automatic, func(l *Live) { l.StepLabel = "step 07: y" })
	d.e.apps["b"].want.Proven = true
	d.listed()
	d.switchedOff("b", "new")
	d.land("a")
	d.pass(opt.MinHealthy + opt.SoakTime)
	d.accept(d.asked("b", Mark))
	d.unfailed()
	d.state("b", done)
}
