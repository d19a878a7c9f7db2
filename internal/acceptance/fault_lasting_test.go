package acceptance

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// givesUp is how long a request that fails again and again is repeated, and a margin.
const givesUp = time.Minute + failsWithin

var unavailable = faultproxy.Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "etcdserver: no leader")

func TestAccAnswersThatNeverComeHoldARolloutBackOnlyForAWhile(t *testing.T) {
	f := newFixture(t)
	x := f.faults(1,
		faultproxy.Rule{On: faultproxy.On("applications", "watch"), Times: 1, Do: faultproxy.Hang()},
		faultproxy.Rule{On: faultproxy.On("applications", "update").Real().Named(f.app("dev")), Times: 1, Do: faultproxy.Hang()},
		faultproxy.Rule{On: faultproxy.On("applications", "update").Real().Named(f.app("prod")), Times: 1, Do: faultproxy.HangAfter()},
	)
	w, s, seen := f.workspace(), f.newSet([]string{"dev", "prod"}, "dev", "prod"), f.record()
	f.release("1", "dev", "prod")
	w.configure(s)
	w.apply()
	seen.reset()
	s.Provider, s.Labels = x.through(), obj{"tier": "gold"}
	w.configure(s)
	w.apply("-refresh=false")
	f.must(seen.inOrder(f.apps("dev"), f.apps("prod")), seen.operations(1, f.apps("dev", "prod")...), seen.labelled("tier", "gold", f.apps("dev", "prod")...))
	if x.hits() != 3 {
		t.Errorf("%d requests were hit", x.hits())
	}
}

func TestAccARequestThatFailsForGoodIsNamedAndTheNextApplyFinishes(t *testing.T) {
	f := newFixture(t)
	x := f.faults(1)
	w, s, seen := f.rolledOut(func(s *set) { s.Provider = x.through() })

	second := f.release("2", "dev", "staging", "prod")
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	x.Add(faultproxy.Rule{On: faultproxy.On("applications", "update").Real().Named(f.app("staging")), Do: unavailable})
	began := time.Now()
	w.failsToApply("Request refused", f.app("staging"), "step 02: env in [staging]", "etcdserver: no leader", "terraform apply again")
	f.must(within(givesUp, began), seen.untouched(f.apps("staging", "prod")...), seen.at(second, f.apps("dev")...))

	x.Clear()
	seen.reset()
	w.apply()
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.untouched(f.apps("dev")...), f.deploys("2", "dev", "staging", "prod"))
	w.atRest()
}

func TestAccAPlanSurvivesAShortFailureAndNamesALastingOne(t *testing.T) {
	f := newFixture(t)
	x := f.faults(1)
	w, _, _ := f.rolledOut(func(s *set) { s.Provider = x.through() })

	short := x.Add(faultproxy.Rule{PerObject: true, Times: 2, Do: unavailable})
	w.atRest()
	if short.Hits() < 4 {
		t.Errorf("%d requests were hit", short.Hits())
	}
	x.Clear()

	x.Add(faultproxy.Rule{Do: faultproxy.Page(http.StatusBadGateway)})
	began := time.Now()
	w.failsToPlan("API server failed", "get namespaces "+argoNamespace)
	f.must(within(failsWithin, began))
	x.Clear()

	// The cluster is there, but a git refresh does not get through: that is worth a warning only.
	x.Add(faultproxy.Rule{On: faultproxy.On("applications", "watch"), Do: faultproxy.Hang()})
	w.says(w.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "No answer from Argo CD", "The plan uses its last comparison")
	x.Clear()
	w.atRest()
}
