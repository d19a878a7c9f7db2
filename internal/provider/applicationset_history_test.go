package provider

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestTheRecordTellsHowLongEachStepTook(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 0, seconds, 0, time.UTC) }
	a := &apply{connected: &connected{}, plan: rollout.Plan{
		Steps: []rollout.Step{{Label: "step 01"}, {Label: "step 02"}, {Label: "step 03"}},
		Apps: []rollout.Desired{
			{Name: "a", Step: 0, Mode: rollout.ModeSync, Hash: "h"}, {Name: "b", Step: 1, Mode: rollout.ModeSync, Hash: "h"},
			{Name: "c", Step: 1, Mode: rollout.ModeManual, Hash: "h"}, {Name: "d", Step: rollout.NoStep, Mode: rollout.ModeWrite, Hash: "h"},
		},
	}}
	a.plan.NoStepLabel = rollout.NoStepLabel
	a.outcome = rollout.Outcome{
		Done: []string{"a", "b"}, Open: []rollout.OpenApp{{Name: "c", Step: "step 02"}}, Stop: rollout.StopDeadline, Revisions: map[string][]string{"a": {"r"}},
		Log: []rollout.Note{
			{At: at(1), Step: "step 01", Moment: rollout.MomentBegins}, {At: at(9), Step: "step 01", Moment: rollout.MomentEnds},
			{At: at(9), Step: "step 02", Moment: rollout.MomentBegins},
		},
	}
	var entry argocd.Rollout
	a.ended(&entry, at(30))
	want := []argocd.Outcome{
		{Step: "step 01", Outcome: stepDone, Started: at(1), Ended: at(9), Done: 1, Applications: 1},
		{Step: "step 02", Outcome: stepOpen, Started: at(9), Ended: at(30), Done: 1, Applications: 2},
		{Step: "step 03", Outcome: stepDone},
	}
	if entry.Result != argocd.ResultTimedOut || !strings.HasPrefix(entry.Reason, "its time was over") || len(entry.Outcomes) != len(want) {
		t.Fatalf("the entry is %+v", entry)
	}
	for i, o := range entry.Outcomes {
		if o != want[i] {
			t.Errorf("a step is recorded as %+v, not %+v", o, want[i])
		}
	}
	a.settings.acceptOutOfSync, a.settings.suspended = true, rollout.SuspendedAccept
	targets := recordedTargets(a.plan, a.settings, a.outcome)
	if got := targets["a"]; got.Step != "step 01" || got.Mode != "sync" || len(got.Revisions) != 1 || !got.AcceptOutOfSync || !got.AcceptSuspended {
		t.Errorf("the target is recorded as %+v", got)
	}
	if got := targets["d"]; got.Step != rollout.NoStepLabel || got.Mode != "write" {
		t.Errorf("the target of one in no step is recorded as %+v", got)
	}
}

func TestTheTimesOfStepsAreToldByTheStory(t *testing.T) {
	log := []rollout.Note{
		{At: atSecond(1), Step: "step 01", Moment: rollout.MomentBegins},
		{At: atSecond(9), Step: "step 01", Moment: rollout.MomentEnds},
		{At: atSecond(9), Step: "step 03", Moment: rollout.MomentBegins},
		{At: atSecond(11), Step: "step 01", App: "a", Text: "holds back the steps after it"},
	}
	want := map[string]span{"step 01": {atSecond(1), atSecond(9)}, "step 03": {atSecond(9), atSecond(20)}}
	if got := spansOf(log, atSecond(20)); !reflect.DeepEqual(got, want) {
		t.Errorf("the spans are %v, not %v", got, want)
	}
}
