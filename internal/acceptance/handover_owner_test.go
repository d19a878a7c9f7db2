package acceptance

import "testing"

const createBeforeDestroy = "lifecycle { create_before_destroy = true }"

func TestAccLostStateOfAFailedCreateIsAdoptedByTheNext(t *testing.T) {
	f := newFixture(t)
	w, _, seen := failedCreate(f)
	before := f.uids()
	w.loseState()
	p := w.planOf()
	w.acts(p, "create")
	w.apply("plan.bin")
	f.sameUIDs(before)
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
	w.isState("complete")
	w.atRest()
}

func TestAccLostStateOfACompleteSetIsTakenOverOnlyOnRequest(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	before := f.uids()
	w.loseState()

	w.failsToApply("Set already managed", argoNamespace+"/"+f.name, "rollout.adopt_existing = true")
	f.must(seen.onlyTouched())
	if values, _ := w.stored(); values != nil {
		t.Errorf("a refused create has left state: %v", values)
	}
	w.isState("complete")

	s.Rollout = quick(obj{"adopt_existing": true})
	w.configure(s)
	w.apply()
	w.atRest()
	s.Rollout = quick()
	w.configure(s)
	w.apply()
	w.atRest()
	f.must(seen.onlyTouched())
	f.sameUIDs(before)
}

func TestAccCreateBeforeDestroyOfATaintedSetDeletesNothing(t *testing.T) {
	f := newFixture(t)
	w, s, seen := failedCreate(f)
	before := f.uids()
	s.Extra = createBeforeDestroy
	w.configure(s)
	p := w.planOf()
	w.acts(p, "create delete")
	w.apply("plan.bin")
	f.sameUIDs(before)
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
	w.lives(f.apps("dev", "staging", "prod")...)
	w.isState("complete")
	w.atRest()
}

func TestAccCreateBeforeDestroyOnReplaceNeverDeletesWhatItHasTakenOver(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut(func(s *set) { s.Extra, s.Rollout = createBeforeDestroy, quick(obj{"max_deletions": "100%"}) })
	before := f.uids()

	w.fails([]string{"apply", "-auto-approve", "-replace=" + address}, "Set already managed", "adopt_existing")
	f.must(seen.onlyTouched())
	w.atRest()

	s.Rollout["adopt_existing"] = true
	w.configure(s)
	w.apply("-replace=" + address)
	f.must(seen.onlyTouched())
	f.sameUIDs(before)
	w.isState("complete")
	w.atRest()
}

func TestAccARecordThatWasTakenOverIsNotDeletedByTheOldState(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	other := f.workspace()
	s.Rollout = quick(obj{"adopt_existing": true})
	other.configure(s)
	other.apply()
	seen.reset()

	s.Rollout = quick()
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.failsToApply("Set taken over", argoNamespace+"/"+f.name)
	w.destroy()
	f.must(seen.onlyTouched())
	w.lives(f.apps("dev", "staging", "prod")...)
	other.atRest()
}
