package rollout

import (
	"strings"
	"testing"
)

func TestWhereAnApplicationStandsIsToldByWhatIsLive(t *testing.T) {
	target := &Target{Step: "step 01: x", Mode: ModeSync, Hash: "new", Revisions: []string{pinned}}
	manual := &Target{Mode: ModeManual, Hash: "new"}
	accepting := &Target{Mode: ModeSync, Hash: "new", Revisions: []string{pinned}, AcceptOutOfSync: true, AcceptSuspended: true}
	pending := func(l *Live) { l.Operation.Pending = "token" }
	comparisonError := failsWith("ComparisonError", "cannot render")
	failed := func(l *Live) { l.Operation.Phase, l.Operation.Message = Failed, "no such path" }
	for _, c := range []struct {
		name  string
		want  *Target
		edits []func(*Live)
		phase Phase
		says  string
	}{
		{"at its target", target, []func(*Live){there}, PhaseHealthy, ""},
		{"at the target of a record without targets", nil, []func(*Live){there}, PhaseHealthy, ""},
		{"the old spec", target, []func(*Live){old}, PhaseWaiting, "spec"},
		{"the old revision", &Target{Mode: ModeSync, Hash: "old", Revisions: []string{pinned}}, []func(*Live){old}, PhaseWaiting, "revision"},
		{"a revision that the run is still to find out", &Target{Mode: ModeSync, Hash: "old"}, []func(*Live){old}, PhaseHealthy, ""},
		{"an operation that is asked for", target, []func(*Live){there, pending}, PhasePending, "not started"},
		{"an operation that runs", target, []func(*Live){there, pending, running, said("waiting for hook x")}, PhaseProgressing, "waiting for hook x"},
		{"an operation that failed", target, []func(*Live){there, failed}, PhaseFailed, "no such path"},
		{"a comparison that fails", target, []func(*Live){there, failsWith("ComparisonError", "cannot render")}, PhaseFailed, "cannot render"},
		{"a newer commit that cannot be compared", target, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError}, PhaseHealthy, ""},
		{"a branch that is gone", target, []func(*Live){there, compared(SyncUnknown, "main"), comparisonError}, PhaseHealthy, ""},
		{"a newer commit that cannot be compared, for a record without targets", nil, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError}, PhaseHealthy, ""},
		{"a newer commit that cannot be compared, after a manual step", manual, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError}, PhaseHealthy, ""},
		{"a newer commit that cannot be compared, and degraded", target, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError, health(Degraded)}, PhaseFailed, "health Degraded"},
		{"a comparison that fails, and another target than is deployed", &Target{Mode: ModeSync, Hash: "new", Revisions: []string{sha(9)}}, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError}, PhaseFailed, "cannot render"},
		{"a comparison that fails, and another spec than is deployed", target, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError, func(l *Live) { l.Deployed.OfSpec = false }}, PhaseFailed, "cannot render"},
		{"a comparison that fails, and nothing is deployed", &Target{Mode: ModeSync, Hash: "new"}, []func(*Live){func(l *Live) { l.Hash = "new" }, compared(SyncUnknown, sha(7)), comparisonError}, PhaseFailed, "cannot render"},
		{"a newer commit that cannot be compared, and is the target of automated sync", &Target{Mode: ModeAutomated, Hash: "new"}, []func(*Live){there, compared(SyncUnknown, sha(7)), comparisonError}, PhaseFailed, "cannot render"},
		{"a spec that is not valid, whatever was compared", target, []func(*Live){there, compared(SyncUnknown, sha(7)), failsWith("InvalidSpecError", "no project")}, PhaseFailed, "no project"},
		{"out of sync", target, []func(*Live){there, compared(OutOfSync, pinned)}, PhaseWaiting, "differs"},
		{"out of sync, which the run accepts", accepting, []func(*Live){there, compared(OutOfSync, pinned)}, PhaseHealthy, ""},
		{"out of sync, which the run accepts, and its resources are gone", accepting, []func(*Live){there, compared(OutOfSync, pinned), health(Missing)}, PhaseWaiting, "differs"},
		{"out of sync, which the run accepts, and another spec is deployed", accepting, []func(*Live){there, func(l *Live) { l.Deployed.OfSpec = false }}, PhaseWaiting, "differs"},
		{"suspended", target, []func(*Live){there, health(Suspended)}, PhaseProgressing, "Suspended"},
		{"suspended, which the run accepts", accepting, []func(*Live){there, health(Suspended)}, PhaseHealthy, ""},
		{"an old failure before its turn", target, []func(*Live){old, failed}, PhaseWaiting, "spec"},
		{"degraded", target, []func(*Live){there, health(Degraded)}, PhaseFailed, "health Degraded"},
		{"still progressing", target, []func(*Live){there, health(Progressing)}, PhaseProgressing, "health Progressing"},
		{"suspended", target, []func(*Live){there, health(Suspended)}, PhaseProgressing, "health Suspended"},
		{"drifted", target, []func(*Live){there, compared(OutOfSync, pinned)}, PhaseWaiting, "differs"},
		{"the branch has moved on", target, []func(*Live){there, compared(OutOfSync, sha(7))}, PhaseHealthy, ""},
		{"a manual step that nobody has synced", manual, []func(*Live){there, func(l *Live) { l.ManualAfter = 3 }}, PhasePending, "manual step"},
		{"a manual step that somebody has synced", manual, []func(*Live){there, func(l *Live) { l.ManualAfter = 2 }}, PhaseHealthy, ""},
		{"created and never synced", target, []func(*Live){func(l *Live) { l.Hash = "new" }}, PhaseWaiting, "revision"},
		{"created, and synced by nobody", &Target{Mode: ModeWrite, Hash: "new"}, []func(*Live){func(l *Live) { l.Hash = "new" }}, PhasePending, "not been synced"},
		{"being deleted", target, []func(*Live){there, func(l *Live) { l.Terminating = true }}, PhaseDeleting, "deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Live{Name: "a"}
			for _, edit := range c.edits {
				edit(&l)
			}
			phase, says := Standing(&l, c.want)
			if phase != c.phase || !strings.Contains(says, c.says) || (says == "") != (c.says == "") {
				t.Errorf("it stands at %s (%s), not %s (%s)", phase, says, c.phase, c.says)
			}
		})
	}
	if phase, says := Standing(nil, target); phase != PhaseWaiting || says == "" {
		t.Errorf("one that does not exist stands at %s (%s)", phase, says)
	}
}
