package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var otherBranch = Source{RepoURL: "other", TargetRevision: "main"}

// unpinned is a plan whose revisions the run has to find out.
func unpinned(groups ...string) Plan {
	p := planOf(groups...)
	for i := range p.Apps {
		p.Apps[i].Revisions = nil
	}
	return p
}

func TestFindingOutRevisions(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"the first of a source leads: it is created without an operation, and all get what it finds": func(t *testing.T) {
			d := newDesk(t, unpinned("a b c"), deskOptions())
			d.listed()
			w := d.asked("a", Write)
			if w.Sync != nil {
				t.Fatalf("the leader is written by %+v", w)
			}
			d.quiet()
			d.accept(w)
			d.see("a", compared(OutOfSync, pinned), health(Missing))
			for _, name := range []string{"a", "b", "c"} {
				if w := d.asked(name, Write); w.Sync == nil || !slices.Equal(w.Sync.Revisions, []string{pinned}) {
					t.Fatalf("%s is written by %+v", name, w)
				}
			}
			if o := d.e.outcome(); o.Pins[mainBranch] != pinned || !slices.Equal(o.Revisions["c"], []string{pinned}) {
				t.Fatalf("pins %v, revisions %v", o.Pins, o.Revisions)
			}
		},
		"an existing leader is asked anew: its last comparison is old": func(t *testing.T) {
			d := newDesk(t, unpinned("a"), deskOptions())
			d.see("a", old)
			d.listed()
			d.accept(d.asked("a", Write), func(l *Live) { l.Sync.OfSpec = true })
			d.accept(d.asked("a", Refresh))
			d.pass(time.Second)
			d.quiet()
			d.answered("a", compared(OutOfSync, pinned))
			if w := d.asked("a", Write); w.Sync == nil || w.Sync.Revisions[0] != pinned {
				t.Fatalf("written by %+v", w)
			}
		},
		"a leader that is there already lets the others go on": func(t *testing.T) {
			d := newDesk(t, unpinned("a b"), deskOptions())
			d.see("a", there)
			d.listed()
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(Synced, pinned))
			d.asked("b", Write)
		},
		"a comparison asked for right after somebody's operation is no reason to sync again": func(t *testing.T) {
			d := newDesk(t, unpinned("a"), deskOptions())
			d.see("a", there, compared(OutOfSync, pinned))
			d.listed()
			d.accept(d.asked("a", Refresh))
			d.pass(freshDelay + time.Second)
			d.answered("a")
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(Synced, pinned))
			d.pass(5 * time.Second)
			d.over(true)
		},
		"each source is found out once, also with several sources": func(t *testing.T) {
			p := unpinned("a b c")
			p.Apps[1].Sources = []Source{mainBranch, otherBranch}
			p.Apps[2].Sources = []Source{otherBranch}
			d := newDesk(t, p, deskOptions())
			d.listed()
			leadA, leadC := d.asked("a", Write), d.asked("c", Write)
			d.quiet() // b waits for a
			d.accept(leadA)
			d.accept(leadC)
			d.see("a", compared(OutOfSync, sha(5)))
			d.asked("a", Write)
			d.quiet() // b waits for c
			d.see("c", compared(OutOfSync, sha(6)))
			d.asked("c", Write)
			if w := d.asked("b", Write); w.Sync == nil || !slices.Equal(w.Sync.Revisions, []string{sha(5), sha(6)}) {
				t.Fatalf("b is written by %+v", w)
			}
		},
		"one leader for several sources resolves all of them": func(t *testing.T) {
			p := unpinned("a")
			p.Apps[0].Sources = []Source{mainBranch, {RepoURL: "charts", Chart: "x", TargetRevision: "1.2.3"}, otherBranch}
			d := newDesk(t, p, deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			d.see("a", compared(OutOfSync, sha(5), "1.2.3", "main")) // one is a name still
			d.quiet()
			d.see("a", compared(OutOfSync, sha(5), "1.2.3", sha(6)))
			if w := d.asked("a", Write); !slices.Equal(w.Sync.Revisions, []string{sha(5), "1.2.3", sha(6)}) {
				t.Fatalf("written by %+v", w)
			}
		},
		"what the plan has pinned is not asked again": func(t *testing.T) {
			p := unpinned("a")
			p.Pins = Pins{mainBranch: pinned}
			d := newDesk(t, p, deskOptions())
			d.listed()
			if w := d.asked("a", Write); w.Sync == nil || w.Sync.Revisions[0] != pinned {
				t.Fatalf("written by %+v", w)
			}
		},
		"what the plan has pinned stays when another source of the Application is found out": func(t *testing.T) {
			p := unpinned("a")
			p.Pins, p.Apps[0].Sources = Pins{mainBranch: pinned}, []Source{mainBranch, otherBranch}
			d := newDesk(t, p, deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			d.see("a", compared(OutOfSync, sha(9), sha(6)))
			if w := d.asked("a", Write); !slices.Equal(w.Sync.Revisions, []string{pinned, sha(6)}) {
				t.Fatalf("written by %+v", w)
			}
		},
		"a pin stays when HEAD moves between two steps": func(t *testing.T) {
			d := newDesk(t, unpinned("a", "b"), deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			d.see("a", compared(OutOfSync, pinned))
			d.sync("a")
			d.see("a", succeeded, health(Healthy), compared(Synced, sha(9)))
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.pass(5 * time.Second)
			if w := d.asked("b", Write); w.Sync == nil || w.Sync.Revisions[0] != pinned {
				t.Fatalf("b is written by %+v", w)
			}
		},
		"a comparison that fails is the failure, after a second look": func(t *testing.T) {
			d := newDesk(t, unpinned("a b"), deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			d.see("a", compared(SyncUnknown, "main"), failsWith("ComparisonError", "unable to resolve 'main'"))
			d.pass(10 * time.Second)
			d.unfailed()
			d.accept(d.asked("a", Refresh))
			d.answered("a")
			d.failed("a", KindComparison, "unable to resolve")
			d.over(false)
		},
		"a comparison that failed for a moment is forgiven": func(t *testing.T) {
			d := newDesk(t, unpinned("a"), deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			d.see("a", compared(SyncUnknown, "main"), failsWith("ComparisonError", "repo server is starting"))
			d.pass(10 * time.Second)
			d.accept(d.asked("a", Refresh))
			d.answered("a", compared(OutOfSync, pinned), func(l *Live) { l.Errors = nil })
			d.asked("a", Write)
		},
		"a new leader that Argo CD does not look at by itself is asked for a comparison": func(t *testing.T) {
			d := newDesk(t, unpinned("a"), deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			d.pass(quietDelay)
			d.accept(d.asked("a", Refresh))
			d.pass(refreshTimeout)
			d.failed("a", KindSilent, "refresh")
		},
		"a leader that fails takes those that wait for it along, unwritten": func(t *testing.T) {
			d := newDesk(t, unpinned("a b c"), deskOptions())
			d.listed()
			d.accept(d.asked("a", Write))
			if r := d.e.apps["c"].reason; !strings.Contains(r, "until a has found out what revision \"main\" means") {
				t.Fatalf("c waits for %q", r)
			}
			d.vanish("a")
			d.failed("a", KindVanished, "")
			d.quiet()
			d.over(false)
		},
	} {
		t.Run(name, run)
	}
}
