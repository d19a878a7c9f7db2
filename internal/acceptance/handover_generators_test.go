package acceptance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// What was planned is what is applied, also where a set is handed over to a create: that must not end
// between the two, or the set falls out of the state.
func TestAccAHandOverNeedsNoSecretsAfterThePlan(t *testing.T) {
	f := newFixture(t)
	w, seen, p := f.workspace(), f.record(), f.proxy()
	var refuse atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !refuse.Load() || !strings.HasSuffix(r.URL.Path, "/secrets") {
			p.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusForbidden)
		fmt.Fprint(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"refused by the test","code":403}`)
	}))
	f.Cleanup(server.Close)
	s := f.generated(list{f.clusters()}, clusterEnv, "dev", "prod")
	s.Provider = obj{"kubernetes": obj{"host": server.URL}}
	s.Rollout = quick()
	f.register("dev", "prod")
	f.release("1", "dev")
	w.configure(s)
	w.failsToApply("Comparison failed", f.app("prod"))
	w.isTainted()
	before := f.uids()
	f.release("1", "prod")
	seen.reset()

	p2 := w.planOf()
	w.acts(p2, "delete create")
	refuse.Store(true)
	w.says(w.apply("plan.bin"), "Application not checked", "refused by the test")
	f.must(f.deploys("1", "dev", "prod"), seen.operations(0, f.app("dev")))
	f.sameUIDs(before)
	w.isState("complete")
	w.says(w.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "Generators not evaluated", "refused by the test")

	// A policy keeps Applications from rollouts, not from the destroy of the set.
	refuse.Store(false)
	s.Spec["sync_policy"] = obj{"applications_sync": "create-only"}
	w.configure(s)
	w.apply()
	w.destroy()
	w.lives()
}
