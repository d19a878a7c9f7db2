package provider

import (
	"maps"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestOnlyWhatIsDoneOrUntouchedStaysProven(t *testing.T) {
	a := &apply{connected: &connected{}, provenBefore: map[string]string{"begun": "#old", "done": "#old", "failed": "#old", "gone": "#old", "waiting": "#old"}}
	for _, name := range []string{"begun", "done", "failed", "new", "waiting"} {
		a.plan.Apps = append(a.plan.Apps, rollout.Desired{Name: name, Mode: rollout.ModeManual, Hash: "new"})
	}
	a.outcome = rollout.Outcome{
		Done: []string{"done"},
		Open: []rollout.OpenApp{
			{Name: "begun", Phase: rollout.PhaseProgressing}, {Name: "failed", Phase: rollout.PhaseFailed},
			{Name: "new", Phase: rollout.PhaseWaiting}, {Name: "waiting", Phase: rollout.PhaseWaiting},
		},
	}
	want := map[string]string{"done": "#new", "waiting": "#old"}
	if got := a.nowProven(); !maps.Equal(got, want) {
		t.Errorf("proven are %v, want %v", got, want)
	}
}

func TestWhatARunMayBringAwayFromItsTargetIsNotProvenWhileItRuns(t *testing.T) {
	stored := map[string]string{"held": "#old", "moves": "#old", "open": "#old", "rests": "#new"}
	a := &apply{connected: &connected{record: &argocd.Record{Payload: argocd.Payload{Proven: stored}}}}
	for _, name := range []string{"moves", "open", "rests"} {
		a.plan.Apps = append(a.plan.Apps, rollout.Desired{Name: name, Proven: name == "rests"})
	}
	want := map[string]string{"held": "#old", "rests": "#new"}
	if got := a.stillProven(); !maps.Equal(got, want) || len(stored) != 4 {
		t.Errorf("proven are %v, want %v; before it were %v", got, want, stored)
	}
}
