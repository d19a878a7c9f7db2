package acceptance

import "maps"

// quick are rollout settings that do not wait longer than a test needs, with more set or replaced.
func quick(more ...obj) obj {
	settings := obj{"min_healthy_time": "0s", "error_grace": "1s", "degraded_grace": "1s"}
	for _, m := range more {
		maps.Copy(settings, m)
	}
	return settings
}

// threeSteps is a set of dev, staging and prod, one step each. Nothing of it is in git yet.
func (f *fixture) threeSteps() *set {
	s := f.newSet([]string{"dev", "staging", "prod"}, "dev", "staging", "prod")
	s.Rollout = quick()
	return s
}

// rolledOut is a workspace whose dev, staging and prod are out at version 1, which is where a test of an update, a deletion or a
// take-over begins: the recorder looks at what comes after it. change changes the set before anything is applied.
func (f *fixture) rolledOut(change ...func(*set)) (*workspace, *set, *recorder) {
	f.Helper()
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	for _, c := range change {
		c(s)
	}
	f.release("1", "dev", "staging", "prod")
	w.configure(s)
	w.apply()
	seen.reset()
	return w, s, seen
}

// failedCreate is a workspace in which the first apply has failed: dev is out, the folder of
// staging is missing, prod does not exist. The cause is removed before it returns. change changes the set before anything is applied.
func failedCreate(f *fixture, change ...func(*set)) (*workspace, *set, *recorder) {
	f.Helper()
	w, s, seen := f.workspace(), f.threeSteps(), f.record()
	for _, c := range change {
		c(s)
	}
	f.release("1", "dev")
	w.configure(s)
	w.failsToApply("Comparison failed", f.app("staging"))
	w.isTainted()
	w.lives(f.apps("dev", "staging")...)
	w.isState("creating")
	f.release("2", "staging", "prod")
	seen.reset()
	return w, s, seen
}
