package rollout

import (
	"strings"
	"testing"
	"time"
)

func soaking(d time.Duration) Options {
	opt := deskOptions()
	opt.SoakTime = d
	return opt
}

// soakDesk has a just done, in the first of two steps that soak for a minute.
func soakDesk(t *testing.T, edits ...func(*Options)) *desk {
	opt := soaking(time.Minute)
	for _, edit := range edits {
		edit(&opt)
	}
	d := newDesk(t, planOf("a", "b"), opt)
	d.listed()
	d.land("a")
	d.pass(5 * time.Second)
	d.state("a", done)
	d.quiet()
	return d
}

func TestSoaking(t *testing.T) {
	suspended := func(p SuspendedPolicy) func(*Options) { return func(o *Options) { o.Suspended = p } }
	for name, run := range map[string]func(t *testing.T){
		"the next step begins when the last one has stayed healthy for soak_time": func(t *testing.T) {
			d := soakDesk(t)
			d.pass(time.Minute - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"it begins when the last Application of the step is done": func(t *testing.T) {
			d := newDesk(t, planOf("a b", "c"), soaking(time.Minute))
			d.listed()
			d.land("a")
			d.pass(50 * time.Second)
			d.land("b")
			d.pass(65*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.asked("c", Write)
		},
		"every step soaks, also the last, before Applications of no step and deletions": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps = append(p.Apps, Desired{Name: "n", Step: NoStep, Mode: ModeWrite, Hash: "new", Sources: []Source{mainBranch}})
			d := newDesk(t, p, soaking(time.Minute))
			d.listed()
			d.land("a")
			d.pass(65 * time.Second)
			d.land("b")
			d.pass(65*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.accept(d.asked("n", Write))
			if o := d.over(true); o.Soaking != "" {
				t.Fatalf("soaking is %q", o.Soaking)
			}
		},
		"a dip starts the time anew, each one": func(t *testing.T) {
			d := soakDesk(t)
			for range 3 {
				d.pass(59 * time.Second)
				d.see("a", health(Degraded))
				d.pass(29 * time.Second)
				d.see("a", health(Healthy))
			}
			d.pass(time.Minute - 1)
			d.quiet()
			d.unfailed()
			d.pass(1)
			d.asked("b", Write)
			if n := strings.Count(d.story(), "has its step soak again: health Degraded"); n != 3 {
				t.Fatalf("%d of 3 dips are told:\n%s", n, d.story())
			}
		},
		"Degraded for its grace ends the rollout, whatever is allowed to fail": func(t *testing.T) {
			d := soakDesk(t, func(o *Options) { o.MaxFailures = 5 })
			d.pass(10 * time.Second)
			d.see("a", func(l *Live) { l.Health = Condition{Type: Degraded, Message: "Pod x crashes"} })
			d.pass(30*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindUnsteady, "Pod x crashes")
			d.quiet()
			if o := d.over(false); o.Soaking != "step 01: x" || o.Step != "step 01: x" {
				t.Fatalf("outcome %+v", o)
			}
		},
		"what vanishes while its step soaks is not healthy": func(t *testing.T) {
			d := soakDesk(t)
			d.vanish("a")
			d.pass(30 * time.Second)
			d.failed("a", KindUnsteady, "gone")
		},
		"Progressing has app_timeout": func(t *testing.T) {
			d := soakDesk(t)
			d.see("a", health(Progressing))
			d.pass(10*time.Minute - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindUnsteady, Progressing)
		},
		"the patience with one trouble is not that with an earlier one": func(t *testing.T) {
			d := soakDesk(t)
			d.see("a", health(Progressing))
			d.pass(9 * time.Minute)
			d.see("a", health(Healthy))
			d.pass(30 * time.Second)
			d.see("a", health(Progressing))
			d.pass(9 * time.Minute)
			d.unfailed()
			d.quiet()
		},
		"it is the step that soaks, not those before it": func(t *testing.T) {
			d := soakDesk(t)
			d.pass(time.Minute)
			d.land("b")
			d.pass(5 * time.Second)
			d.see("a", health(Degraded))
			d.pass(time.Minute)
			d.unfailed()
			d.over(true)
		},
		"the culprit is of the step that soaks": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b", "c"), soaking(time.Minute))
			d.listed()
			d.land("a")
			d.pass(65 * time.Second)
			d.land("b")
			d.pass(5 * time.Second)
			d.see("a", health(Degraded))
			d.pass(10 * time.Second)
			d.see("b", health(Degraded))
			d.pass(30*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.failed("b", KindUnsteady, "")
		},
		"a run that was killed soaks again: what it brought up is not proven": func(t *testing.T) {
			d := newDesk(t, planOf("a", "b"), soaking(time.Minute))
			d.see("a", there)
			d.listed()
			d.pass(5*time.Second + time.Minute - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"what is proven and at its target does not soak": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps[0].Proven = true
			d := newDesk(t, p, soaking(time.Minute))
			d.see("a", there)
			d.listed()
			d.asked("b", Write)
		},
		"what is proven, but gets its mark only, does not soak": func(t *testing.T) {
			p := planOf("a", "b")
			p.Apps[0].Proven = true
			d := newDesk(t, p, soaking(time.Minute))
			d.see("a", there, func(l *Live) { l.StepLabel = "step 09: y" })
			d.listed()
			d.accept(d.asked("a", Mark))
			d.asked("b", Write)
		},
		"one Application rolled out lets the whole step soak": func(t *testing.T) {
			p := planOf("a b", "c")
			p.Apps[0].Proven, p.Apps[1].Proven = true, true
			d := newDesk(t, p, soaking(time.Minute))
			d.see("a", there)
			d.see("b", old)
			d.listed()
			d.land("b")
			d.pass(5 * time.Second)
			d.see("a", health(Degraded))
			d.pass(time.Second)
			d.see("a", health(Healthy))
			d.pass(time.Minute - 1)
			d.quiet()
			d.pass(1)
			d.asked("c", Write)
		},
		"the steps before that are proven do not soak with it": func(t *testing.T) {
			p := planOf("a", "b", "c")
			p.Apps[0].Proven, p.Apps[2].Proven = true, true
			d := newDesk(t, p, soaking(time.Minute))
			d.see("a", there)
			d.see("c", there, func(l *Live) { l.StepLabel = "step 03: x" })
			d.listed()
			d.land("b")
			d.pass(65*time.Second - 1)
			if d.e.over {
				t.Fatal("over before b has soaked")
			}
			d.pass(1)
			d.over(true)
		},
		"a failed one does not hold the soak back": func(t *testing.T) {
			d := newDesk(t, planOf("a b", "c"), soaking(time.Minute))
			d.e.opt.MaxFailures = 1
			d.listed()
			d.fail("a")
			d.land("b")
			d.pass(65*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.asked("c", Write)
		},
		"the deadline ends a soak without a failure, and the outcome names the step": func(t *testing.T) {
			d := soakDesk(t, func(o *Options) { o.Deadline = simStart.Add(30 * time.Second) })
			d.pass(25 * time.Second)
			d.unfailed()
			if o := d.over(false); o.Stop != StopDeadline || o.Soaking != "step 01: x" || len(o.Open) != 1 || o.Open[0].Name != "b" {
				t.Fatalf("outcome %+v", o)
			}
		},
		"cancelled while soaking: the outcome names the step": func(t *testing.T) {
			d := soakDesk(t)
			d.e.cancel(StopCancelled, nil)
			if o := d.over(false); o.Soaking != "step 01: x" {
				t.Fatalf("outcome %+v", o)
			}
		},
		"cancelled in the last step while it soaks: all is done, and yet it is no success": func(t *testing.T) {
			d := newDesk(t, planOf("a"), soaking(time.Minute))
			d.listed()
			d.land("a")
			d.pass(30 * time.Second)
			d.e.cancel(StopCancelled, nil)
			if o := d.over(false); o.Soaking != "step 01: x" || len(o.Open) != 0 {
				t.Fatalf("outcome %+v", o)
			}
		},
		"Suspended, where somebody is waited for, stops the clock of the soak as long as it takes": func(t *testing.T) {
			d := soakDesk(t)
			d.pass(50 * time.Second)
			d.see("a", health(Suspended))
			d.pass(48 * time.Hour)
			d.unfailed()
			d.quiet()
			d.see("a", health(Healthy))
			d.pass(time.Minute - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"Suspended, where that is accepted, soaks on": func(t *testing.T) {
			d := soakDesk(t, suspended(SuspendedAccept))
			d.pass(50 * time.Second)
			d.see("a", health(Suspended))
			d.pass(10*time.Second - 1)
			d.quiet()
			d.pass(1)
			d.asked("b", Write)
		},
		"Suspended, where that is a failure, has the grace of Degraded": func(t *testing.T) {
			d := soakDesk(t, suspended(SuspendedFail))
			d.see("a", health(Suspended))
			d.pass(30*time.Second - 1)
			d.unfailed()
			d.pass(1)
			d.failed("a", KindUnsteady, Suspended)
		},
	} {
		t.Run(name, run)
	}
}
