package rollout

import (
	"testing"
	"time"
)

func TestUnhealthyEarlierSteps(t *testing.T) {
	proven := planOf("a", "b")
	proven.Apps[0].Proven = true
	for name, run := range map[string]func(t *testing.T){
		"a proven Application that is Degraded now holds back what comes after it, and fails it": func(t *testing.T) {
			d := newDesk(t, proven, deskOptions())
			d.see("a", there, func(l *Live) { l.Health = Condition{Type: Degraded, Message: "Pod x crashes"} })
			d.listed()
			d.pass(30*time.Second - 1)
			d.quiet()
			d.unfailed()
			d.pass(1)
			d.failed("a", KindUnhealthyEarlier, "Pod x crashes")
			d.over(false)
		},
		"it may recover": func(t *testing.T) {
			d := newDesk(t, proven, deskOptions())
			d.see("a", there, health(Degraded))
			d.listed()
			d.pass(29 * time.Second)
			d.see("a", health(Healthy))
			d.asked("b", Write)
		},
		"every trouble has its own grace": func(t *testing.T) {
			p := planOf("a", "b c")
			p.Apps[0].Proven, p.Steps[1].Limit = true, 1
			d := newDesk(t, p, deskOptions())
			d.see("a", there, health(Degraded))
			d.listed()
			d.pass(29 * time.Second)
			d.see("a", health(Healthy))
			d.land("b")
			d.pass(3 * time.Second)
			d.see("a", health(Degraded))
			d.pass(29 * time.Second)
			d.unfailed()
			d.quiet()
			d.pass(time.Second)
			d.failed("a", KindUnhealthyEarlier, "")
		},
		"Progressing is waited for much longer, and turning Degraded begins a new grace": func(t *testing.T) {
			d := newDesk(t, proven, deskOptions())
			d.see("a", there, health(Progressing))
			d.listed()
			d.pass(9 * time.Minute)
			d.unfailed()
			d.see("a", health(Degraded))
			d.pass(29 * time.Second)
			d.unfailed()
			d.pass(time.Second)
			d.failed("a", KindUnhealthyEarlier, "")
		},
		"Progressing for ever fails as well": func(t *testing.T) {
			d := newDesk(t, proven, deskOptions())
			d.see("a", there, health(Progressing))
			d.listed()
			d.pass(10 * time.Minute)
			d.failed("a", KindUnhealthyEarlier, Progressing)
		},
		"what has had its turn, but was not written yet, is held back as well, and keeps no slot": func(t *testing.T) {
			p := planOf("a", "b c")
			p.Steps[1].Limit, p.Apps[0].Proven = 1, true
			d := newDesk(t, p, deskOptions())
			d.see("a", there)
			d.see("b", old, func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })
			d.listed()
			d.state("b", entering)
			d.see("a", health(Degraded))
			d.see("b", failedWith("theirs"))
			d.quiet()
			d.state("b", idle)
			d.pass(29 * time.Second)
			d.see("a", health(Healthy))
			d.asked("b", Write)
			d.quiet()
		},
		"what may have been written already is not taken back": func(t *testing.T) {
			d := newDesk(t, proven, deskOptions())
			d.see("a", there)
			d.see("b", old)
			d.listed()
			w := d.asked("b", Write)
			d.answer(Result{Action: w, Conflict: true})
			d.see("a", health(Degraded))
			d.pass(2 * time.Second)
			d.state("b", entering)
			d.see("b", func(l *Live) { d.apply(w, l) })
			d.state("b", flying)
			d.quiet()
		},
		"it has all of app_timeout when its turn comes again": func(t *testing.T) {
			d := newDesk(t, proven, deskOptions())
			d.see("a", there)
			d.see("b", old, func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })
			d.listed()
			d.pass(9 * time.Minute)
			d.see("a", health(Suspended))
			d.see("b", failedWith("theirs"))
			d.pass(24 * time.Hour)
			d.see("a", health(Healthy))
			d.sync("b")
			d.pass(10*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("b", KindTimeout, "")
		},
		"what waits for the revision that it was to find out waits no longer": func(t *testing.T) {
			d := newDesk(t, unresolved(planOf("a", "b c")), deskOptions())
			d.e.pins[mainBranch] = ""
			d.e.plan.Apps[0].Revisions, d.e.plan.Apps[0].Proven = []string{pinned}, true
			d.see("a", there)
			d.see("b", old)
			d.see("c", old)
			d.listed()
			w := d.asked("b", Write)
			d.see("a", health(Degraded))
			d.answer(Result{Action: w, Conflict: true})
			d.see("b")
			d.quiet()
			d.state("b", idle)
			d.state("c", idle)
			d.see("a", health(Healthy))
			d.asked("b", Write)
			d.quiet()
		},
		"the gate can be overridden": func(t *testing.T) {
			opt := deskOptions()
			opt.IgnoreUnhealthyEarlier = true
			d := newDesk(t, proven, opt)
			d.see("a", there, health(Degraded))
			d.listed()
			d.asked("b", Write)
		},
		"nobody is held back where nothing is to roll out": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps[0].Proven, p.Apps[1].Proven = true, true
			d := newDesk(t, p, deskOptions())
			d.see("a", there, health(Degraded))
			d.see("b", there, func(l *Live) { l.StepLabel = "step 02: x" })
			d.listed()
			d.over(true)
		},
		"a later step holds nobody back": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps[1].Proven = true
			d := newDesk(t, p, deskOptions())
			d.see("b", there, health(Degraded))
			d.listed()
			d.asked("a", Write)
		},
		"what this rollout has brought up counts too, also when it vanishes": func(t *testing.T) {
			p := planOf("a", "b c")
			p.Steps[1].Limit = 1
			d := newDesk(t, p, deskOptions())
			d.listed()
			d.land("a")
			d.pass(5 * time.Second)
			d.land("b")
			d.vanish("a")
			d.pass(30 * time.Second)
			d.failed("a", KindUnhealthyEarlier, "gone")
			d.quiet()
		},
		"only earlier steps use up the patience": func(t *testing.T) {
			p := planOf("a", "b c")
			p.Apps[0].Proven, p.Apps[1].Proven = true, true
			d := newDesk(t, p, deskOptions())
			d.see("a", there, health(Progressing))
			d.see("b", there, health(Degraded), func(l *Live) { l.StepLabel = "step 02: x" })
			d.listed()
			d.pass(time.Minute)
			d.unfailed()
			d.see("a", health(Healthy))
			d.asked("c", Write)
		},
		"the step itself is not held back by its own": func(t *testing.T) {
			p := planOf("a b")
			p.Steps[0].Limit = 1
			d := newDesk(t, p, deskOptions())
			d.listed()
			d.land("a")
			d.pass(5 * time.Second)
			d.see("a", health(Degraded))
			d.asked("b", Write)
		},
	} {
		t.Run(name, run)
	}
}
