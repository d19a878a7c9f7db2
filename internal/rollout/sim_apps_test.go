package rollout

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

func (sc *scenario) drawApp(t *rapid.T, tr traits, name string) *simApp {
	a := &simApp{name: name}
	d := Desired{Name: name, Mode: ModeSync, Hash: "target"}
	d.Step = rapid.IntRange(-1, len(sc.plan.Steps)-1).Draw(t, "step")
	switch {
	case tr.atOnce:
		d.Step = 0
		if rapid.Bool().Draw(t, "automated") {
			d.Mode, d.Hash = ModeAutomated, "target+auto"
		}
	case d.Step == NoStep:
		d.Mode = ModeWrite
	case sc.plan.Steps[d.Step].Limit == -2:
		d.Mode = ModeManual
	}
	d.Sources = []Source{simSources[rapid.IntRange(0, 2).Draw(t, "source")]}
	if rapid.IntRange(0, 3).Draw(t, "several") == 0 {
		d.Sources = simSources[:2]
	}
	a.sources = d.Sources
	a.nature = sc.drawNature(t, tr, d.Mode)
	sc.plan.Apps = append(sc.plan.Apps, d)
	sc.w.add(a)
	return a
}

// suspendedFor is how long an Application may be Suspended without that being a failure.
func (sc *scenario) suspendedFor(t *rapid.T) time.Duration {
	switch {
	case sc.opt.Suspended == SuspendedFail || rapid.Bool().Draw(t, "shortly suspended"):
		return 5 * time.Second
	case sc.opt.Suspended == SuspendedAccept:
		return 1000 * time.Hour
	}
	return longest
}

func (sc *scenario) drawNature(t *rapid.T, tr traits, mode Mode) nature {
	n := nature{
		opTime:   time.Duration(rapid.SampledFrom([]int{30, 200, 3000}).Draw(t, "op ms")) * time.Millisecond,
		progress: time.Duration(rapid.SampledFrom([]int{0, 50, 1000, 8000}).Draw(t, "progress ms")) * time.Millisecond,
		limit:    5, retryAfter: 2 * time.Second,
	}
	n.naive = sc.opt.MinHealthy > 0 && rapid.Bool().Draw(t, "naive")
	if !tr.trouble {
		return n
	}
	switch rapid.IntRange(0, 12).Draw(t, "trouble") {
	case 0:
		n.fails = 1
		if sc.opt.AllRetries {
			n.fails, n.retryAfter = rapid.IntRange(1, 3).Draw(t, "fails"), 15*time.Second
		}
	case 1:
		n.lose = rapid.IntRange(1, maxSubmits-1).Draw(t, "lost")
	case 2:
		n.blip, n.blipAfter = 5*time.Second, time.Duration(rapid.IntRange(0, 25).Draw(t, "blip after"))*time.Second
	case 3:
		n.windowBlip = true
	case 4:
		n.silent = simStart.Add(20 * time.Second)
	case 5:
		n.hooksOnly = true
	case 6:
		n.pause = sc.suspendedFor(t)
	case 7:
		n.blip, n.blipAfter, n.blipAs = sc.suspendedFor(t), time.Duration(rapid.IntRange(0, 25).Draw(t, "suspended after"))*time.Second, Suspended
	case 8:
		if sc.opt.WaitForWindow && mode != ModeAutomated {
			n.window = simStart.Add(time.Duration(rapid.SampledFrom([]int{20, 300, 1200}).Draw(t, "window")) * time.Second)
		}
	case 9:
		n.outOfSync = sc.opt.AcceptOutOfSync && mode == ModeSync
	case 10:
		n.forgets = mode != ModeAutomated // that waits for the next comparison, minutes later, like anybody else
	}
	return n
}

// place puts an Application into the state in which the run finds it.
func (sc *scenario) place(t *rapid.T, a *simApp) {
	w := sc.w
	a.src = rapid.SampledFrom([]string{"new", "same"}).Draw(t, "src")
	w.check.srcs[a.name] = a.src
	w.undeploy(a)
	head := w.head(a.sources)
	switch rapid.IntRange(0, 5).Draw(t, "found") {
	case 0, 1:
		return
	case 2:
		w.rest(a, "old", "same", head)
	case 3:
		w.rest(a, "old+auto", "same", head)
		a.auto = true
	case 4:
		for i, s := range a.sources {
			if b := w.branches[s]; len(b) > 0 {
				head[i] = b[0].sha
			}
		}
		w.rest(a, "old", "same", head)
	case 5:
		hash := "target"
		for _, d := range sc.plan.Apps {
			if d.Name == a.name {
				hash = d.Hash
			}
		}
		w.rest(a, hash, w.check.srcs[a.name], head)
		a.auto = strings.HasSuffix(hash, "+auto")
		for i := range sc.plan.Apps {
			if d := &sc.plan.Apps[i]; d.Name == a.name && d.Step != NoStep {
				a.step = sc.plan.Steps[d.Step].Label
			}
		}
	}
}

// rest makes an Application that was synced long ago.
func (w *world) rest(a *simApp, hash, src string, revisions []string) {
	w.rank++
	a.exists, a.uid, a.version, a.hash, a.src = true, fmt.Sprintf("uid-%d", w.rank), w.rank, hash, src
	a.truth = deployed{w.content(a, src, revisions), Healthy}
	a.cache = a.truth
	a.spans = []healthSpan{{w.now.Add(-time.Hour), Healthy}}
	a.compared, a.ofSrc, a.health, a.status = w.head(a.sources), src, Healthy, Synced
	if a.truth.content != w.content(a, src, a.compared) {
		a.status = OutOfSync
	}
	a.lastID = 3
	a.history = []simEntry{{3, revisions, src, hash, w.now.Add(-time.Hour)}}
	a.state = &simOp{token: "old", phase: Succeeded, ended: true, revisions: revisions, src: src, started: "07:00:00"}
	a.opEnded, a.looked = w.now.Add(-time.Hour), w.now.Add(-time.Hour)
}
