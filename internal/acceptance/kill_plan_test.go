//go:build linux

package acceptance

import (
	"slices"
	"testing"
	"time"
)

// allStrikes are those of some stories, the second ones of a phase included.
func allStrikes(stories [][phaseCount]strike) []strike {
	var all []strike
	for _, phases := range stories {
		for _, x := range phases {
			all = append(all, x)
			if x.again != nil {
				all = append(all, *x.again)
			}
		}
	}
	return all
}

func TestThreeStoriesHaveEachKindTwiceAndEachPartOfEachPhaseOnce(t *testing.T) {
	for seed := range uint64(100) {
		for from := 0; from < 9; from += 3 {
			kinds, parts := map[string]int{}, map[[2]int]int{}
			for _, x := range allStrikes(plannedKills(seed, 9)[from : from+3]) {
				kinds[x.name]++
				parts[[2]int{x.phase, x.part}]++
				if x.again != nil && x.again.part <= x.part {
					t.Errorf("seed %d: %s is not before %s", seed, x, x.again)
				}
			}
			for _, kind := range interruptions {
				if kinds[kind.name] != 2 {
					t.Errorf("seed %d, after %d stories: %d times %s", seed, from, kinds[kind.name], kind.name)
				}
			}
			if len(parts) != phaseCount*partCount {
				t.Errorf("seed %d, after %d stories: only %v", seed, from, parts)
			}
		}
	}
}

func TestStrikesAreThoseOfTheirSeed(t *testing.T) {
	told := func(seed uint64, stories int) (all []string) {
		for _, x := range allStrikes(plannedKills(seed, stories)) {
			all = append(all, x.String())
		}
		return all
	}
	few, more := told(7, 3), told(7, 6)
	if !slices.Equal(few, more[:len(few)]) {
		t.Errorf("more stories begin with other strikes: %q, %q", few, more)
	}
	if other := told(8, 3); slices.Equal(few, other) {
		t.Errorf("two seeds have the same strikes: %q", few)
	}
}

func TestAStrikeFollowsItsSign(t *testing.T) {
	for name, test := range map[string]struct {
		strike                   strike
		requests, changes, left  int
		due                      bool
		leastDelay, longestDelay time.Duration
	}{
		"a time after the start needs no sign":                 {strike: strike{late: 0.5}, left: 20, due: true, leastDelay: 500 * time.Millisecond, longestDelay: 500 * time.Millisecond},
		"a request waits for those before it":                  {strike: strike{request: 7}, requests: 6, left: 20},
		"a request has come":                                   {strike: strike{request: 7, late: 1}, requests: 7, left: 20, due: true},
		"a request that is not needed before the first change": {strike: strike{request: 7, late: 1}, requests: 5, changes: 1, left: 20, due: true},
		"the first change is none of the middle":               {strike: strike{part: secondThird, share: 0.5}, changes: 1, left: 20},
		"the middle is half of the changes":                    {strike: strike{part: secondThird, share: 0.5}, changes: 11, left: 20, due: true},
		"a pace is the mean time between changes":              {strike: strike{part: secondThird, share: 0.5, late: 1}, changes: 10, left: 19, due: true, leastDelay: 400 * time.Millisecond, longestDelay: 600 * time.Millisecond},
		"the last change is not followed by a pause":           {strike: strike{part: lastThird, share: 0.99, late: 1}, changes: 20, left: 20, due: true},
		"a run with nothing left is struck at a request":       {strike: strike{part: lastThird, share: 0.99, late: 1}, requests: 1, due: true},
		"a run with nothing left must have begun":              {strike: strike{part: lastThird, share: 0.99, late: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if due := test.strike.due(test.requests, test.changes, test.left); due != test.due {
				t.Fatalf("due() = %v", due)
			}
			if !test.due {
				return
			}
			delay := test.strike.delay(test.changes, test.left, 9*time.Second)
			if delay < test.leastDelay || delay > test.longestDelay {
				t.Errorf("delay() = %s", delay)
			}
		})
	}
}
