package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawLive is any Application that could be found with the spec that the plan wants.
func drawLive(t *rapid.T, mode Mode) *Live {
	revisions := func(what string) []string {
		return rapid.SampledFrom([][]string{{pinned}, {strings.Repeat("2", 40)}, {strings.Repeat("9", 40)}, nil, {"main"}}).Draw(t, what)
	}
	l := &Live{
		Name: "a", UID: "u", Version: "1", Rank: 1, Hash: "new", StepLabel: "step 01: x", Sources: []Source{mainBranch},
		AutomatedOn: mode == ModeAutomated,
		ManualAfter: int64(rapid.IntRange(0, 3).Draw(t, "manual after")),
	}
	l.Terminating = rapid.IntRange(0, 9).Draw(t, "terminating") == 0
	l.Health.Type = rapid.SampledFrom([]string{Healthy, Healthy, Degraded, Progressing, Suspended, Missing, HealthUnknown, ""}).Draw(t, "health")
	l.Sync.Status = rapid.SampledFrom([]string{Synced, OutOfSync, SyncUnknown, ""}).Draw(t, "sync")
	l.Sync.Revisions, l.Sync.OfSpec = revisions("compared"), rapid.Bool().Draw(t, "of spec")
	l.Operation.Phase = rapid.SampledFrom([]string{"", Succeeded, Succeeded, Failed, Error, Running}).Draw(t, "phase")
	if l.Operation.Phase != "" {
		l.Operation.Token, l.Operation.Started, l.Operation.Revisions = "?", "t0", revisions("synced")
	}
	l.Operation.Pending = rapid.SampledFrom([]string{"", "", "", "?"}).Draw(t, "pending")
	if id := rapid.IntRange(0, 3).Draw(t, "history"); id > 0 {
		l.Deployed = Deployed{ID: int64(id), Revisions: revisions("deployed"), OfSpec: rapid.IntRange(0, 3).Draw(t, "deployed of spec") > 0}
	}
	return l
}

// TestTheEngineWritesNothingThatThePlanDoesNotShow: where the leaf of what is live is the planned
// one, Terraform shows no change, and the engine must find nothing to write either.
func TestTheEngineWritesNothingThatThePlanDoesNotShow(t *testing.T) {
	same := 0
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]Mode{ModeSync, ModeManual, ModeAutomated, ModeWrite}).Draw(t, "mode")
		live := drawLive(t, mode)
		pins := Pins{}
		if r := rapid.SampledFrom([]string{pinned, strings.Repeat("9", 40), ""}).Draw(t, "pin"); r != "" {
			pins[mainBranch] = r
		}
		proven := ""
		if rapid.Bool().Draw(t, "proven") {
			proven = BaseLeaf(live, mode)
		}
		p := planOf("a")
		p.Pins, p.DisableAutomated = pins, mode != ModeAutomated
		want := &p.Apps[0]
		want.Mode, want.Revisions = mode, nil
		leaf := Leaf(nil, nil, want.Hash)
		switch mode {
		case ModeSync:
			if r := TargetRevisions(live, pins); r != nil {
				want.Revisions = DesiredRevisions(want.Sources, want.Hash, &KnownTarget{live.Hash, r}, pins)
			}
			if want.Revisions == nil {
				return // the leaf is not known: the plan shows a change
			}
			leaf = Leaf(want.Sources, want.Revisions, want.Hash)
		case ModeWrite:
			want.Step, live.StepLabel = NoStep, NoStepLabel
		}
		if LiveLeaf(live, mode, proven, false) != leaf {
			return
		}
		same++
		want.Proven = leaf == proven
		writes(t, p, live)
	})
	if same == 0 {
		t.Fatal("no leaf was ever the planned one")
	}
}

// writes fails the test if the engine writes the Application while nothing happens to it but that
// refreshes find the same as before.
func writes(t *rapid.T, p Plan, live *Live) {
	e := newEngine(p, deskOptions(), simStart)
	now, rank := simStart, live.Rank
	e.observe(now, Event{Name: live.Name, Live: live})
	e.observe(now, Event{Listed: true})
	for range 100 {
		for _, a := range e.takeActions() {
			if !slices.Contains([]Verb{Refresh, Mark}, a.Verb) {
				t.Fatalf("the plan shows nothing, the engine does %+v on %+v", a, *live)
			}
			asked, answered := *live, *live
			rank += 2
			asked.Rank, asked.Version, asked.RefreshID = rank-1, fmt.Sprint(rank-1), a.RefreshID
			answered.Rank, answered.Version = rank, fmt.Sprint(rank)
			e.result(now, Result{Action: a, Live: &asked})
			now = now.Add(time.Millisecond)
			e.observe(now, Event{Name: live.Name, Live: &answered})
		}
		at, ok := e.nextWake()
		if e.over || !ok {
			return
		}
		now = at
		e.tick(now)
	}
}
