package acceptance

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// The lease is taken, and then its renewals are refused for good, and nothing else: nothing is written without it,
// and the apply ends.
func TestAccALeaseThatCannotBeRenewedAnyMoreEndsTheApply(t *testing.T) {
	requireAcceptance(t)
	t.Parallel()
	for _, test := range []struct {
		name   string
		do     faultproxy.Fault
		within time.Duration
		says   []string
	}{
		{
			"a Role that lost the verb", faultproxy.Answer(http.StatusForbidden, metav1.StatusReasonForbidden, "leases are frozen"), failsWithin,
			[]string{"leases are frozen", `resources: ["leases"]`, `verbs: ["update"]`, "kubectl -n argocd auth can-i update leases.coordination.k8s.io"},
		},
		{
			"a webhook that is down", faultproxy.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "failed calling webhook"), givesUp,
			[]string{"failed calling webhook"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			x := f.faults(1)
			w, s, seen := f.workspace(), f.newSet([]string{"dev", "prod"}, "dev", "prod"), f.record()
			s.Provider = x.through()
			f.release("1", "dev", "prod")
			w.configure(s)
			w.apply()

			// The soak is longer than a renewal is trusted.
			s.Rollout = quick(obj{"soak_time": "12s"})
			w.configure(s)
			second := f.release("2", "dev", "prod")
			seen.reset()
			refused := x.Add(faultproxy.Rule{On: faultproxy.On("leases", "update"), Skip: 1, Do: test.do})
			began := time.Now()
			w.failsToApply(append(test.says, "Request refused", f.app("prod"), stepOf("02", "prod"), f.leaseName()+" was renewed", "terraform apply again")...)
			f.must(within(12*time.Second+test.within, began), seen.at(second, f.apps("dev")...), seen.untouched(f.apps("prod")...))
			if refused.Hits() == 0 {
				t.Error("no request was hit")
			}

			x.Clear()
			seen.reset()
			w.apply() // which waits until the lease has expired
			f.must(seen.untouched(f.apps("dev")...), f.deploys("2", "dev", "prod"))
			f.isReleased()
			w.atRest()
		})
	}
}

// A token that expires is refused for every request. What is open, such as the watch, stays open.
func TestAccATokenThatExpiresEndsTheApply(t *testing.T) {
	f := newFixture(t)
	x := f.faults(1)
	w, _, seen, apply := f.heldUpdate(func(s *set) { s.AppSpec, s.Provider = ignoreHealth, x.through() })
	x.Add(faultproxy.Rule{Do: faultproxy.Answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token has expired")})
	began := time.Now()
	f.must(func() error { return f.setHealth(f.ctx(), f.app("staging"), "Healthy") })
	r := apply.wait()
	if r.code != exitFailed {
		t.Fatalf("exit code %d\n%s", r.code, r.out)
	}
	w.says(r, "Credentials refused", "the token has expired", "A fixed token expires during a long apply", `run "terraform apply" again`)
	f.must(within(failsWithin, began), seen.untouched(f.apps("prod")...))

	x.Clear()
	f.release("2", "staging")
	w.apply()
	f.must(f.deploys("2", "dev", "staging", "prod"))
	w.atRest()
}
