package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// defaultMinHealthy is rollout.min_healthy_time where it is not set.
const defaultMinHealthy = 5 * time.Second

// budget is a promise and what was measured.
type budget struct {
	what string
	// at most limit, in unit ("x" for ratios).
	limit, measured float64
	unit            string
}

func (b budget) met() bool { return b.measured <= b.limit }

// verdict tells by how much a budget is missed.
func (b budget) verdict() string {
	switch {
	case b.met():
		return "met"
	case b.limit == 0:
		return "missed: it is to be 0"
	}
	return fmt.Sprintf("missed by %.0f %%", 100*(b.measured/b.limit-1))
}

// ratio is a in units of b; zero when b is not known.
func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return a.Seconds() / b.Seconds()
}

// find is the result of a row, nil if it was not measured.
func find(results []result, of scale, what, side string) *result {
	for i := range results {
		if results[i].scale == of && results[i].what == what && results[i].side == side {
			return &results[i]
		}
	}
	return nil
}

// budgets holds the results against the budgets, as far as they were measured. Times of the
// provider are those of the whole terraform command, plan included.
func budgets(results []result) []budget {
	var all []budget
	var scales []scale
	for _, r := range onCluster(results) {
		if !slices.Contains(scales, r.scale) {
			scales = append(scales, r.scale)
		}
	}
	for _, s := range scales {
		for _, b := range scaleBudgets(results, s) {
			b.what = fmt.Sprintf("%s: %s", s, b.what)
			all = append(all, b)
		}
	}
	return append(all, costBudgets(results)...)
}

// scaleBudgets are those of the rows with so many Applications.
func scaleBudgets(results []result, s scale) []budget {
	var all []budget
	at := func(what, side string) *result { return find(results, s, what, side) }
	compare := func(what, side, otherWhat string, limit float64) {
		all = append(all, compared(at(what, side), at(otherWhat, controller), limit)...)
	}
	for what, floor := range map[string]string{create: createTogether, change: changeTogether} {
		all = append(all, orderBudgets(at(what, providerZero), at(what, providerDefault), at(what, controller), at(floor, controller))...)
		compare(what, providerZero, floor, 1.5)
	}
	slices.SortFunc(all, func(a, b budget) int { return strings.Compare(a.what, b.what) })
	compare(remove, providerZero, remove, 1.0)
	compare(remove, providerDefault, remove, 1.0)
	compare(removeSlow, providerZero, removeSlow, 1.0)
	if ours := at(removeSlow, providerZero); ours != nil {
		all = append(all, budget{removeSlow + ", " + providerZero + " / the time of one Application in each step", 1.25,
			ratio(ours.wall(), time.Duration(s.steps)*slowTime), "x"})
	}
	all = append(all, completeness(results, s)...)
	side, handshake := usualSide(results, s), 0.0
	if side == providerZero {
		handshake = 1 // nothing else proves health at once
	}
	all = append(all, requestBudgets(at(create, side), lsRemotesOfNew(at(create, controller))+handshake)...)
	for _, what := range []string{change, changeOne, changeLimit} {
		all = append(all, requestBudgets(at(what, side), handshake)...)
	}
	all = append(all, requestBudgets(at(remove, side), -1)...)
	// With the defaults the wait for min_healthy_time comes between the two.
	for _, what := range []string{create, change} {
		if r := at(what, providerZero); r != nil {
			all = append(all, budget{what + ": longest time from the last event of a step to the first write of the next", 50, milliseconds(r.course.Gap), "ms"})
		}
	}
	return all
}

// compared is the budget of one result in units of another, none while one of them is missing.
func compared(ours, theirs *result, limit float64) []budget {
	if ours == nil || theirs == nil {
		return nil
	}
	name := fmt.Sprintf("%s, %s / %s, %s", ours.what, ours.side, theirs.what, theirs.side)
	return []budget{{name, limit, ratio(ours.wall(), theirs.wall()), "x"}}
}

// usualSide is the side whose requests count: that with the defaults, if it was measured.
func usualSide(results []result, s scale) string {
	if find(results, s, create, providerDefault) == nil {
		return providerZero
	}
	return providerDefault
}

// lsRemotesOfNew is how many git ls-remotes an Application costs that the controller creates: one
// that is new costs as many, whoever creates it.
func lsRemotesOfNew(theirs *result) float64 {
	if theirs == nil || theirs.counted.lsRemotes <= 0 || theirs.course.Changed == 0 {
		return 0
	}
	return theirs.counted.lsRemotes / float64(theirs.course.Changed)
}

// orderBudgets are about what it costs to go step by step. What all Applications take at once is
// the machine's part, the same for both sides: on a slow one it alone is half of the controller's
// time. So the budgets are about what comes on top of it, min_healthy_time apart, and of the provider's
// steps it is from the first write on: that Terraform starts and plans first is no part of their order.
func orderBudgets(zero, defaults, theirs, floor *result) []budget {
	if floor == nil {
		return nil
	}
	var all []budget
	if zero != nil && theirs != nil && theirs.wall() > floor.wall() {
		all = append(all, budget{fmt.Sprintf("%s, %s: what the steps cost on top of all at once / what they cost the controller", zero.what, zero.side), 0.2,
			ratio(max(0, zero.rollout()-floor.rollout()), theirs.wall()-floor.wall()), "x"})
	}
	if defaults != nil {
		waits := time.Duration(defaults.scale.steps) * defaultMinHealthy
		all = append(all, budget{fmt.Sprintf("%s, %s, without min_healthy_time in each step / %s, %s", defaults.what, defaults.side, floor.what, floor.side), 1.5,
			ratio(defaults.wall()-waits, floor.wall()), "x"})
	}
	return all
}

// completeness is what the provider has missed: Applications that a rollout of all has not
// reached, and what a destroy has left behind.
func completeness(results []result, s scale) []budget {
	var all []budget
	for _, r := range onCluster(results) {
		if r.scale != s || r.side == controller {
			continue
		}
		switch {
		case r.what == create || r.what == change:
			all = append(all, budget{fmt.Sprintf("%s, %s: Applications not rolled out", r.what, r.side), 0, float64(s.apps - r.course.Changed), ""})
		case r.left >= 0:
			all = append(all, budget{fmt.Sprintf("%s, %s: Applications and ConfigMaps left", r.what, r.side), 0, float64(r.left), ""})
		}
	}
	return all
}

// requestBudgets are those of one apply. lsRemotes is the limit for each changed Application,
// negative where there is none: a deletion must look at git, or it leaves resources behind.
func requestBudgets(r *result, lsRemotes float64) []budget {
	if r == nil {
		return nil
	}
	name := func(what string) string { return fmt.Sprintf("%s: %s", r.what, what) }
	changed := r.course.Changed
	dry, dryOthers := r.apply.dryRuns()
	all := []budget{
		{name("LIST of Applications"), 1, float64(r.apply.Kinds["LIST applications"]), ""},
		// For names that the set's label does not find; up to 100 of them are read one by one.
		{name("LIST of Applications' metadata"), 1, float64(r.apply.Kinds["LIST applications (metadata)"]), ""},
		{name("WATCH of Applications"), 1, float64(r.apply.Kinds["WATCH applications"]), ""},
		{name("Applications written that are not changed"), 0, float64(max(0, len(r.apply.Writes)-changed)), ""},
		{name("dry runs of Applications that are not changed"), 0, float64(dryOthers), ""},
	}
	if changed == 0 {
		return all
	}
	all = append(all,
		budget{name("writes per changed Application"), 3, float64(r.apply.total()) / float64(changed), ""},
		budget{name("dry runs per changed Application"), 1, float64(dry) / float64(changed), ""},
	)
	if r.countedApply.lsRemotes >= 0 && lsRemotes >= 0 {
		all = append(all, budget{name("git ls-remotes of the apply per changed Application"), lsRemotes, r.countedApply.lsRemotes / float64(changed), ""})
	}
	return all
}

// costBudgets are those of the rows that need no cluster.
func costBudgets(results []result) []budget {
	var all []budget
	for _, what := range []string{planOfManifest, planOfSpec} {
		if r := find(results, scale{}, what, providerDefault); r != nil {
			name := fmt.Sprintf("%s, %d Applications: ", what, r.cost.apps)
			all = append(all,
				budget{name + "CPU of the provider", 2, r.cost.cpu.Seconds(), "s"},
				budget{name + "memory of the provider", 500, float64(r.cost.memory >> 20), "MiB"},
			)
		}
	}
	engines := map[string][]*cost{}
	for i := range results {
		switch r := results[i]; {
		case strings.HasPrefix(r.what, engineRow):
			engines[r.what] = append(engines[r.what], r.cost)
		case r.what == latencyRow && r.cost.apps <= latencyBudgetApps:
			all = append(all, budget{fmt.Sprintf("%s: from the last event of a step to the first write of the next at %d", r.what, r.cost.apps), 50,
				milliseconds(r.cost.gap), "ms"})
		}
	}
	for _, what := range slices.Sorted(maps.Keys(engines)) {
		small, large := engines[what][0], engines[what][len(engines[what])-1]
		if small != large {
			all = append(all, budget{fmt.Sprintf("%s: CPU time per Application at %d / at %d", what, large.apps, small.apps), 1.5,
				ratio(large.cpu/time.Duration(large.apps), small.cpu/time.Duration(small.apps)), "x"})
		}
	}
	return all
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
