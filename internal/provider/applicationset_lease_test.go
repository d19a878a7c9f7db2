package provider

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestASetThatIsLockedSaysByWhomAndHowToGoOn(t *testing.T) {
	c := &connected{owner: argocd.Owner{Namespace: "argocd", Name: "shop"}}
	held := argocd.LeaseHeldError{Namespace: "argocd", Name: "argocdprogressive-1", Holder: argocd.LeaseHolder{
		Identity: "anna@laptop, process 7, run 1", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	interrupted := held
	interrupted.Interrupted = true
	for name, test := range map[string]struct {
		held    argocd.LeaseHeldError
		timeout time.Duration
		says    string
	}{
		"after waiting":         {held, time.Minute, "waited for 1m0s (rollout.lock_timeout)"},
		"without waiting":       {held, 0, "does not wait"},
		"cancelled in the wait": {interrupted, time.Minute, "was cancelled while it waited"},
	} {
		t.Run(name, func(t *testing.T) {
			detail := c.locked(&test.held, test.timeout)
			for _, part := range []string{
				test.says, "argocd/shop", "anna@laptop, process 7, run 1, since 2026-01-02T03:04:05Z", "Nothing was changed",
				`rollout.lock_timeout = "30m"`, "within 15 s", "kubectl -n argocd get lease argocdprogressive-1 -o yaml",
			} {
				if !strings.Contains(detail, part) {
					t.Errorf("no %q in:\n%s", part, detail)
				}
			}
		})
	}
}

func TestALostLeaseIsTold(t *testing.T) {
	lost := &argocd.LeaseLostError{Namespace: "argocd", Name: "argocdprogressive-1", Holder: argocd.LeaseHolder{Identity: "bob@desk"}}
	outcome := rollout.Outcome{Stop: rollout.StopWatch, Step: "step 02: qa", Err: lost}
	fromRun := report{namespace: "argocd", doing: "rollout"}.diagnostics(outcome)
	if len(fromRun) != 1 {
		t.Fatalf("diagnostics %v", fromRun)
	}
	r := &applicationSetResource{}
	fromRequest := r.requestDiagnostic("Writing the record of argocd/shop", &argocd.RequestError{Verb: "update", Resource: "configmaps", Err: lost})
	for _, d := range append(fromRun, fromRequest) {
		if d.Summary() != "Lock lost" {
			t.Errorf("summary %q", d.Summary())
		}
		for _, part := range []string{"held by bob@desk now", "terraform apply again", "kubectl -n argocd get lease argocdprogressive-1"} {
			if !strings.Contains(d.Detail(), part) {
				t.Errorf("no %q in:\n%s", part, d.Detail())
			}
		}
	}
	if !strings.Contains(fromRun[0].Detail(), `The rollout in "step 02: qa" has stopped`) {
		t.Errorf("detail:\n%s", fromRun[0].Detail())
	}
	if _, _, ok := lockLost("The rollout has", errors.New("something else")); ok {
		t.Error("another error is a lost lease")
	}
}
