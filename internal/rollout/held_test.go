package rollout

import (
	"testing"
	"time"
)

func heldPlan(groups ...string) Plan {
	p := planOf(groups...)
	p.Held = []string{"h"}
	return p
}

func automatedOn(l *Live) { l.AutomatedOn = true }

func TestHeldBack(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"its automated sync is switched off before the first write, and nothing else": func(t *testing.T) {
			d := newDesk(t, heldPlan("a"), deskOptions())
			d.see("a", old)
			d.see("h", old, automatedOn)
			d.listed()
			off := d.asked("h", DisableAutomated)
			if off.Version != d.lives["h"].Version {
				t.Fatalf("switched off by %+v", off)
			}
			d.quiet()
			d.accept(off)
			d.land("a")
			d.pass(5 * time.Second)
			d.quiet()
			if o := d.over(true); len(o.Done) != 1 || len(o.Deleted) != 0 || o.Revisions["h"] != nil {
				t.Fatalf("outcome %+v", o)
			}
		},
		"without automated sync it is not touched at all": func(t *testing.T) {
			d := newDesk(t, heldPlan("a"), deskOptions())
			d.see("h", old)
			d.see("a", there)
			d.listed()
			d.pass(5 * time.Second)
			d.quiet()
			d.over(true)
		},
		"where automated sync stays on everywhere it is not touched either": func(t *testing.T) {
			p := heldPlan("a")
			p.DisableAutomated = false
			d := newDesk(t, p, deskOptions())
			d.see("h", old, automatedOn)
			d.see("a", there)
			d.listed()
			d.pass(5 * time.Second)
			d.quiet()
			d.over(true)
		},
		"what is not there, or on its way out, is left alone": func(t *testing.T) {
			p := heldPlan("a")
			p.Held = []string{"h", "i"}
			d := newDesk(t, p, deskOptions())
			d.see("h", old, automatedOn, func(l *Live) { l.Terminating = true })
			d.listed()
			d.asked("a", Write)
			d.quiet()
		},
		"whatever happens to it later does not matter": func(t *testing.T) {
			p := heldPlan("a", "b")
			p.Removals = [][]string{{"z"}}
			d := newDesk(t, p, soaking(time.Minute))
			d.see("h", old)
			d.see("z", old)
			d.listed()
			d.see("h", health(Degraded))
			d.land("a")
			d.pass(5 * time.Second)
			d.see("h", automatedOn) // somebody switches it on again
			d.accept(d.asked("h", DisableAutomated))
			d.pass(time.Minute)
			d.see("h", func(l *Live) { l.Operation = Operation{Pending: "?", Token: "?", Phase: Running} })
			d.land("b")
			d.pass(5 * time.Second)
			d.see("h", func(l *Live) { l.UID = "another" })
			d.pass(time.Minute)
			d.vanish("h")
			d.deleted("z")
			d.unfailed()
			d.over(true)
		},
		"while others are deleted it is not": func(t *testing.T) {
			p := removal([]string{"z"}, []string{"y"})
			p.Held = []string{"h"}
			d := newDesk(t, p, deskOptions())
			for _, name := range []string{"h", "y", "z"} {
				d.see(name, old)
			}
			d.listed()
			d.pass(deleteSettle)
			d.see("h")
			d.accept(d.asked("y", PrepareDelete))
			d.answered("y")
			d.deleted("z")
			d.answer(Result{Action: d.asked("y", Delete)})
			d.see("h", health(Degraded))
			d.vanish("y")
			d.quiet()
			d.over(true)
		},
		"a conflict is tried again on the newer state": func(t *testing.T) {
			d := newDesk(t, heldPlan("a"), deskOptions())
			d.see("h", old, automatedOn)
			d.listed()
			d.answer(Result{Action: d.asked("h", DisableAutomated), Conflict: true})
			d.quiet()
			d.see("h")
			d.accept(d.asked("h", DisableAutomated))
			d.asked("a", Write)
		},
		"one that vanishes meanwhile holds nobody up": func(t *testing.T) {
			d := newDesk(t, heldPlan("a"), deskOptions())
			d.see("h", old, automatedOn)
			d.listed()
			d.answer(Result{Action: d.asked("h", DisableAutomated), NotFound: true})
			d.asked("a", Write)
			d.quiet()
		},
		"one that cannot be switched off ends everything before the first write": func(t *testing.T) {
			d := newDesk(t, heldPlan("a"), allowing(5))
			d.see("h", old, automatedOn)
			d.listed()
			d.answer(Result{Action: d.asked("h", DisableAutomated), Err: errForbidden})
			d.quiet()
			d.failed("h", KindRequest, "forbidden")
			if o := d.over(false); len(o.Open) != 2 || o.Open[1].Step != heldLabel {
				t.Fatalf("outcome %+v", o)
			}
		},
		"one that changes again and again ends everything at app_timeout": func(t *testing.T) {
			d := newDesk(t, heldPlan("a"), allowing(5))
			d.see("h", old, automatedOn)
			d.listed()
			for range 599 {
				d.answer(Result{Action: d.asked("h", DisableAutomated), Conflict: true})
				d.pass(time.Second)
			}
			d.unfailed()
			d.answer(Result{Action: d.asked("h", DisableAutomated), Conflict: true})
			d.pass(time.Second)
			d.quiet()
			d.failed("h", KindTimeout, "again and again")
			d.over(false)
		},
	} {
		t.Run(name, run)
	}
}
