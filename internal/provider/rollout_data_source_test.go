package provider

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

var threeOClock = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func atSecond(seconds int) time.Time { return threeOClock.Add(time.Duration(seconds) * time.Second) }

// oldEntry is one of a version that recorded neither result nor times of steps.
func oldEntry(id string, outcomes ...string) argocd.Rollout {
	r := argocd.Rollout{ID: id, Started: atSecond(0), Ended: atSecond(60), Actor: "anna@laptop"}
	for _, o := range outcomes {
		r.Outcomes = append(r.Outcomes, argocd.Outcome{Step: "step 01: env in [dev]", Outcome: o})
	}
	return r
}

func newEntry() argocd.Rollout {
	return argocd.Rollout{
		ID: "new", Started: atSecond(100), Ended: atSecond(200), Actor: "ci@runner", Result: argocd.ResultFailed, Reason: "qa|1: degraded",
		Pins: []argocd.Pin{
			{RepoURL: "https://user:pass@git/x", TargetRevision: "main", Revision: "1f3a9c2"},
			{RepoURL: "https://user:pass@git/x", TargetRevision: "1.x", TagPrefix: "web/", Revision: "2b4c6d8"},
			{RepoURL: "https://user:pass@git/x", TargetRevision: "1.x", TagPrefix: "api/", Revision: "3c5d7e9"},
		},
		Outcomes: []argocd.Outcome{
			{Step: "step 01: env in [dev]", Outcome: stepDone, Started: atSecond(100), Ended: atSecond(120), Done: 2, Applications: 2},
			{Step: "step 02: env in [qa]", Outcome: stepFailed, Started: atSecond(120), Ended: atSecond(200), Done: 1, Applications: 2},
			{Step: "step 03: env in [prod]", Outcome: stepOpen, Applications: 4},
		},
	}
}

func recordWith(rollouts ...argocd.Rollout) *argocd.Record {
	return &argocd.Record{Payload: argocd.Payload{Rollouts: rollouts}}
}

func TestTheStateOfASet(t *testing.T) {
	begun := argocd.Rollout{ID: "begun", Started: atSecond(300)}
	for _, c := range []struct {
		name    string
		record  *argocd.Record
		running bool
		apps    int
		want    string
	}{
		{"nothing is there", nil, false, 0, stateAbsent},
		{"its record was lost", nil, false, 3, stateIncomplete},
		{"it is created right now, before the record", nil, true, 0, stateRunning},
		{"it is rolled out right now", recordWith(begun), true, 3, stateRunning},
		{"the process was killed", recordWith(begun), false, 3, stateInterrupted},
		{"something has failed", recordWith(oldEntry("1", stepDone), newEntry()), false, 3, stateIncomplete},
		{"all is done", recordWith(newEntry(), oldEntry("2", stepDone)), false, 3, stateComplete},
		{"a step is held back", recordWith(oldEntry("1", stepDone, stepHeld)), false, 3, stateIncomplete},
	} {
		if got := standsAt(c.record, c.running, c.apps); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

func TestTheHistoryHasTheNewestFirstAndReadsOldEntries(t *testing.T) {
	now := standing{state: stateInterrupted, record: *recordWith(
		oldEntry("good", stepDone), oldEntry("bad", stepDone, stepFailed), newEntry(), argocd.Rollout{ID: "killed", Started: atSecond(300)})}
	got := historyModels(now)
	var outcomes []string
	for _, m := range got {
		outcomes = append(outcomes, m.ID.ValueString()+" "+m.Outcome.ValueString())
	}
	if want := []string{"killed interrupted", "new failed", "bad failed", "good succeeded"}; !reflect.DeepEqual(outcomes, want) {
		t.Fatalf("the history is %v, not %v", outcomes, want)
	}
	if m := got[0]; !m.Ended.IsNull() || !m.DurationSeconds.IsNull() || len(m.Steps) != 0 {
		t.Errorf("the one that was killed: %+v", m)
	}
	m := got[1]
	if m.DurationSeconds.ValueInt64() != 100 || m.Reason.ValueString() != "qa|1: degraded" || m.Pins[0].RepoURL.ValueString() != "https://git/x" || !m.Pins[0].Chart.IsNull() {
		t.Errorf("the failed one: %+v", m)
	}
	var pins []string
	for _, p := range m.Pins {
		pins = append(pins, p.TagPrefix.ValueString()+p.TargetRevision.ValueString()+" "+p.Revision.ValueString())
	}
	if want := []string{"api/1.x 3c5d7e9", "web/1.x 2b4c6d8", "main 1f3a9c2"}; !reflect.DeepEqual(pins, want) || !m.Pins[2].TagPrefix.IsNull() {
		t.Errorf("its pins are %q, not %q", pins, want)
	}
	want := stepModel{
		Step: types.StringValue("step 02: env in [qa]"), Outcome: types.StringValue(stepFailed), Started: types.StringValue("2026-01-02T03:02:00Z"),
		Ended: types.StringValue("2026-01-02T03:03:20Z"), DurationSeconds: types.Int64Value(80), Done: types.Int64Value(1), Applications: types.Int64Value(2),
	}
	if m.Steps[1] != want {
		t.Errorf("its second step is %+v, not %+v", m.Steps[1], want)
	}
	if s := m.Steps[2]; !s.Started.IsNull() || !s.DurationSeconds.IsNull() || s.Applications.ValueInt64() != 4 {
		t.Errorf("its third step, which never began, is %+v", s)
	}
	if s := got[2].Steps[0]; !s.Started.IsNull() || !s.Done.IsNull() || !s.Applications.IsNull() {
		t.Errorf("a step of an old entry is %+v", s)
	}
	late := newEntry()
	late.Result, late.Outcomes[2].Outcome = argocd.ResultTimedOut, stepHeld
	of := standing{state: stateIncomplete, record: *recordWith(late)}
	if m := historyModels(of)[0]; m.Outcome.ValueString() != "timed_out" || m.Steps[2].Outcome.ValueString() != "held_back" {
		t.Errorf("one that was too late, with a step that is held back: %+v", m)
	}
	// Values are for programs; people read words.
	if text := summary(of); !strings.Contains(text, "### Last rollout: timed out\n") || !strings.Contains(text, "| held back |") || strings.Contains(text, "_") {
		t.Errorf("its summary is\n%s", text)
	}
	now.state = stateRunning
	if got := historyModels(now)[0].Outcome.ValueString(); got != stateRunning {
		t.Errorf("one that runs is %q", got)
	}
}

func TestWhatIsStillToBeCreatedIsWaiting(t *testing.T) {
	live := []rollout.Live{{
		Name: "dev", Hash: "h1", StepLabel: "step 01", Health: rollout.Condition{Type: rollout.Healthy},
		Sync:     rollout.Comparison{Status: rollout.Synced, Revisions: []string{"r"}, OfSpec: true},
		Deployed: rollout.Deployed{ID: 1, Revisions: []string{"r"}, OfSpec: true},
	}}
	got := appStandings(live, map[string]argocd.Target{
		"dev": {Step: "step 01", Mode: "sync", Hash: "h1", Revisions: []string{"r"}}, "prod": {Step: "step 02", Mode: "sync", Hash: "h2"},
	})
	want := map[string]appStanding{
		"dev":  {step: "step 01", status: "Healthy", sync: "Synced", health: "Healthy", revision: "r"},
		"prod": {step: "step 02", status: "Waiting", message: "it does not exist yet"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheSummaryIsMarkdownWithATimeline(t *testing.T) {
	now := standing{
		owner: argocd.Owner{Namespace: "argocd", Name: "shop"}, state: stateIncomplete, record: *recordWith(oldEntry("1", stepDone), newEntry()),
		apps: map[string]appStanding{
			"dev-1": {step: "step 01: env in [dev]", status: "Healthy"},
			"qa-1":  {step: "step 02: env in [qa]", status: "Failed", sync: "Synced", health: "Degraded", message: "health Degraded: a|b\n<script>"},
		},
	}
	text := summary(now)
	for _, want := range []string{
		"## Rollout of `argocd/shop`: incomplete\n",
		"\n2 Applications: 1 Healthy, 1 Failed.\n",
		"| qa-1 | step 02: env in \\[qa\\] | Failed | Synced | Degraded | health Degraded: a\\|b &lt;script&gt; |\n",
		"### Last rollout: failed\n\nBegun 2026-01-02T03:01:40Z by ci&#64;runner, took 1m40s.\n\nqa\\|1: degraded\n",
		"\n- `api/1.x` of `https://git/x`: `3c5d7e9`\n- `web/1.x` of `https://git/x`: `2b4c6d8`\n- `main` of `https://git/x`: `1f3a9c2`\n",
		"\n```mermaid\ngantt\n    title Timeline, in your own time zone\n    dateFormat x\n    axisFormat %H:%M:%S\n" +
			"    section step 01 env in [dev]\n    2 of 2 done :done, 1767322900000, 20s\n" +
			"    section step 02 env in [qa]\n    1 of 2 failed :crit, 1767322920000, 80s\n```\n",
		"| step 02: env in \\[qa\\] | failed | 1 of 2 | 1m20s |\n| step 03: env in \\[prod\\] | open | 0 of 4 |  |\n",
		"| 2026-01-02 03:01:40 | failed | 1m40s | ci&#64;runner |\n| 2026-01-02 03:00:00 | succeeded | 1m0s | anna&#64;laptop |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks\n%s\n", want)
		}
	}
	if strings.Contains(text, "pass") || strings.Contains(text, "| dev-1") {
		t.Error("the summary has what it should not have")
	}
	if t.Failed() {
		t.Log(text)
	}
	if got := summary(standing{owner: now.owner, state: stateAbsent}); got != "## Rollout of `argocd/shop`: absent\n" {
		t.Errorf("of a set that is not there: %s", got)
	}
	// An old record has no times to draw.
	if got := summary(standing{owner: now.owner, state: stateComplete, record: *recordWith(oldEntry("1", stepDone))}); strings.Contains(got, "mermaid") || !strings.Contains(got, "| done |  |  |") {
		t.Errorf("of an old record:\n%s", got)
	}
}

func TestTheApplicationSetCanBeAppliedByKubectl(t *testing.T) {
	given := map[string]any{"spec": map[string]any{"goTemplate": true}, "metadata": map[string]any{"labels": map[string]any{"a": "b"}}}
	got := named(argocd.Owner{Namespace: "argocd", Name: "shop"}, given)
	want := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "spec": map[string]any{"goTemplate": true},
		"metadata": map[string]any{"labels": map[string]any{"a": "b"}, "name": "shop", "namespace": "argocd"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if len(given["metadata"].(map[string]any)) != 1 {
		t.Error("what is in the record was changed")
	}
}
