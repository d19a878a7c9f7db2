package acceptance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// soakFaultSeeds is for how many seeds every kind of fault is gone through.
const soakFaultSeeds = 5

// transientFaults are those that a rollout survives, at any request. A first request is asked again for ten
// seconds, about eight times: one in four that fail leaves no chance to speak of that all do.
var transientFaults = map[string][]faultproxy.Rule{
	"watches that do not last": {
		{On: faultproxy.On("applications", "watch"), Chance: 0.2, Do: faultproxy.Gone()},
		{On: faultproxy.On("applications", "watch"), Chance: 0.2, Do: faultproxy.ExpireAfter(0)},
		{On: faultproxy.On("applications", "watch"), Chance: 0.3, Do: faultproxy.ExpireAfter(2)},
		{On: faultproxy.On("applications", "watch"), Chance: 0.3, Do: faultproxy.GarbleAfter(3)},
		{On: faultproxy.On("applications", "watch"), Do: faultproxy.CloseAfter(1)},
	},
	"refusals that pass": {
		{Chance: 0.05, Do: faultproxy.TooManyRequests(1)},
		{Chance: 0.05, Do: faultproxy.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: leader changed")},
		{Chance: 0.05, Do: faultproxy.Page(http.StatusBadGateway)},
		{Chance: 0.05, Do: faultproxy.Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down")},
		{Chance: 0.05, Do: faultproxy.Page(http.StatusGatewayTimeout)},
	},
	"a storm of conflicts": {
		{On: faultproxy.On("applications", "update", "patch"), PerObject: true, Times: 2, Do: faultproxy.Conflict()},
		{On: faultproxy.On("applications", "update", "patch"), Chance: 0.3, Do: faultproxy.Conflict()},
	},
	"lost answers": {
		{On: faultproxy.Writes(""), PerObject: true, Times: 1, Do: faultproxy.LoseAnswer()},
		{On: faultproxy.Writes(""), Chance: 0.2, Do: faultproxy.LoseAnswer()},
	},
	"bad connections": {
		{Chance: 0.1, Do: faultproxy.Reset()},
		{On: faultproxy.Requests(""), Chance: 0.05, Do: faultproxy.Cut()},
		{On: faultproxy.Requests(""), Chance: 0.05, Do: faultproxy.Truncate()},
		{Chance: 0.1, Do: faultproxy.Delay(time.Second)},
	},
}

// soakFaults are those of a soak besides: each kind alone and often, and all together.
var soakFaults = map[string][]faultproxy.Rule{
	"a watch that is closed after every event": {
		{On: faultproxy.On("applications", "watch"), Do: faultproxy.CloseAfter(1)},
	},
	"a watch that expires": {
		{On: faultproxy.On("applications", "watch"), Do: faultproxy.ExpireAfter(2)},
	},
	"too many requests": {
		{Chance: 0.25, Do: faultproxy.TooManyRequests(1)},
	},
	"slow answers": {
		{Chance: 0.5, Do: faultproxy.Delay(2 * time.Second)},
	},
	"answers that are cut short": {
		{On: faultproxy.Requests(""), Chance: 0.25, Do: faultproxy.Truncate()},
	},
	"everything at once": {
		{Chance: 0.03, Do: faultproxy.TooManyRequests(1)},
		{Chance: 0.03, Do: faultproxy.Page(http.StatusBadGateway)},
		{Chance: 0.03, Do: faultproxy.Reset()},
		{On: faultproxy.Writes(""), Chance: 0.1, Do: faultproxy.LoseAnswer()},
		{On: faultproxy.Requests(""), Chance: 0.03, Do: faultproxy.Truncate()},
		{On: faultproxy.Requests(""), Chance: 0.1, Do: faultproxy.Delay(500 * time.Millisecond)},
		{On: faultproxy.On("applications", "update", "patch"), Chance: 0.1, Do: faultproxy.Conflict()},
		{On: faultproxy.On("applications", "watch"), Chance: 0.2, Do: faultproxy.Gone()},
		{On: faultproxy.On("applications", "watch"), Do: faultproxy.ExpireAfter(4)},
	},
}

// Create, update, plan and destroy go through a proxy that breaks requests all the time: nothing may
// be seen of it but that it takes longer.
func TestAccARolloutSurvivesTransientFaults(t *testing.T) {
	requireAcceptance(t)
	t.Parallel()
	first := firstSeed(t)
	last, kinds := first, maps.Clone(transientFaults)
	if soaks() {
		last += soakFaultSeeds - 1
		maps.Copy(kinds, soakFaults)
	}
	for seed := first; seed <= last; seed++ {
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				f := newFixture(t)
				x := f.faults(seed, kinds[name]...)
				f.storyWithFaults(x)
				if x.hits() == 0 {
					t.Error("nothing was broken")
				}
				t.Logf("%d requests were hit; the seed was %s=%d", x.hits(), seedVariable, seed)
			})
		}
	}
}

func (f *fixture) storyWithFaults(x *faults) {
	f.Helper()
	dev, staging, prod, all := f.apps("a"), f.apps("b"), f.apps("c"), f.apps("a", "b", "c")
	w, s, seen := f.workspace(), f.newSet([]string{"a/dev", "b/staging", "c/prod"}, "dev", "staging", "prod"), f.record()
	s.Reverse = true
	s.Provider = x.through()
	f.release("1", "a", "b", "c")
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(dev, staging, prod), seen.historyInOrder(dev, staging, prod), seen.operations(1, all...),
		f.deploys("1", "a", "b", "c"))

	seen.reset()
	second := f.release("2", "a", "b", "c")
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.apply()
	f.must(seen.inOrder(dev, staging, prod), seen.historyInOrder(dev, staging, prod), seen.operations(1, all...),
		seen.at(second, all...), f.deploys("2", "a", "b", "c"))
	w.atRest()

	seen.reset()
	w.destroy()
	f.must(seen.deletedInOrder(prod, staging, dev), f.nothingLeft)
	w.lives()
	w.isState("")
}
