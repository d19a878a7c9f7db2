package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// barScale is what the design's figures are for.
var barScale = scale{apps: 60, steps: 6}

// barRow is a promise of the design in its own words, where the budgets have other ones.
type barRow struct {
	budget
	// floor is what nothing can be below in this run, in the budget's unit, and why says where it
	// comes from; empty if there is no such thing.
	floor float64
	why   string
}

// floorNoise is how much less than its floor something may measure before the floor is disproved.
const floorNoise = 0.05

// byConstruction tells why a row is missed whatever the provider does; empty if it is met, or
// could have been.
func (b barRow) byConstruction() string {
	if b.met() || b.floor <= b.limit || b.measured < b.floor*(1-floorNoise) {
		return ""
	}
	return b.why
}

// bar holds the results against the design's figures, as far as they were measured.
func bar(results []result) []barRow {
	at := func(what, side string) *result { return find(results, barScale, what, side) }
	var all []barRow
	for _, r := range []struct{ what, together string }{{create, createTogether}, {change, changeTogether}} {
		zero, theirs := at(r.what, providerZero), at(r.what, controller)
		floor := fastest(at(r.together, controller), at(r.together, providerZero))
		all = append(all, barOf(zero, theirs, 0.35, floorOf{atOnce: floor})...)
		all = append(all, barOf(zero, at(r.together, controller), 1.5, floorOf{})...)
		// All that Argo CD does by itself may fall into the waits, so only they are certain.
		waits := time.Duration(barScale.steps) * defaultMinHealthy
		all = append(all, barOf(at(r.what, providerDefault), theirs, 0.8, floorOf{waits: waits,
			because: fmt.Sprintf("min_healthy_time of %s in %d steps", defaultMinHealthy, barScale.steps)})...)
	}
	for _, side := range []string{providerZero, providerDefault} {
		all = append(all, barOf(at(remove, side), at(remove, controller), 1,
			floorOf{atOnce: fastest(at(removeTogether, controller), at(removeTogether, providerZero))})...)
	}
	all = append(all, barOf(at(removeSlow, providerZero), at(removeSlow, controller), 0.2, floorOf{
		waits:   time.Duration(barScale.steps) * slowTime,
		because: fmt.Sprintf("one Application that takes %s to go in each of %d steps", slowTime, barScale.steps),
	})...)
	return append(all, barRequests(results)...)
}

// floorOf is what a time is made of at least: waits, or all Applications at once.
type floorOf struct {
	atOnce  *result // nil if that was not measured, or is no part of it
	waits   time.Duration
	because string
}

// barOf compares two results; there is nothing to compare while one of them is missing.
func barOf(ours, theirs *result, limit float64, f floorOf) []barRow {
	var all []barRow
	for _, b := range compared(ours, theirs, limit) {
		row := barRow{budget: b}
		least, why := f.waits, ""
		switch {
		case f.atOnce != nil:
			least = f.atOnce.wall()
			why = fmt.Sprintf("all at once alone takes %s (%s)", seconds(least), f.atOnce.side)
		case f.waits > 0:
			why = fmt.Sprintf("%s is %s", f.because, seconds(least))
		}
		if row.floor = ratio(least, theirs.wall()); why != "" {
			row.why = fmt.Sprintf("%s: %.2fx of the controller here", why, row.floor)
		}
		all = append(all, row)
	}
	return all
}

// fastest is the result that took the shortest time; nil if none was measured.
func fastest(results ...*result) *result {
	results = slices.DeleteFunc(results, func(r *result) bool { return r == nil })
	if len(results) == 0 {
		return nil
	}
	return slices.MinFunc(results, func(a, b *result) int { return cmp.Compare(a.wall(), b.wall()) })
}

// barRequests are the git ls-remotes that an apply or a destroy causes: none, in the design's words
// "normally".
func barRequests(results []result) []barRow {
	var all []barRow
	side := usualSide(results, barScale)
	for _, what := range []string{create, change, changeOne, changeLimit, remove} {
		r := find(results, barScale, what, side)
		if r == nil || r.course.Changed == 0 || r.countedApply.lsRemotes < 0 {
			continue
		}
		row := barRow{budget: budget{fmt.Sprintf("%s, %s: git ls-remotes per changed Application", what, side), 0, r.countedApply.lsRemotes / float64(r.course.Changed), ""}}
		row.floor, row.why = lsRemotesFloor(r, find(results, barScale, what, controller))
		all = append(all, row)
	}
	return all
}

// lsRemotesFloor is what nothing can be below: what Argo CD does by itself for a new Application,
// the look at git before a deletion, and the handshakes where there is no min_healthy_time.
func lsRemotesFloor(r, theirs *result) (floor float64, why string) {
	var parts []string
	if n := lsRemotesOfNew(theirs); r.what == create && n > 0 {
		floor += n
		parts = append(parts, fmt.Sprintf("a new Application costs %s, whoever creates it (as the controller's do here)", number(n)))
	}
	asked := float64(r.apply.Refreshes) / float64(r.course.Changed)
	switch {
	case asked == 0:
	case r.what == remove:
		floor += asked
		parts = append(parts, fmt.Sprintf("a deletion looks at git first, or it leaves resources behind (%d for %d here)", r.apply.Refreshes, r.course.Changed))
	case r.side == providerZero:
		floor += asked
		parts = append(parts, fmt.Sprintf("with min_healthy_time 0s nothing but a refresh proves health at once (%s each here)", number(asked)))
	}
	return floor, strings.Join(parts, ", and ")
}
