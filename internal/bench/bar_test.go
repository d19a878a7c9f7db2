package main

import (
	"strings"
	"testing"
	"time"
)

// ofBar is a result at the scale of the bar.
func ofBar(what, side string, total time.Duration) result {
	r := measured(what, side, total, 0)
	r.scale = barScale
	return r
}

// asked makes a result one whose apply has asked for refreshes and caused ls-remotes.
func asked(r result, refreshes int, lsRemotes float64) result {
	r.apply.Refreshes, r.countedApply.lsRemotes = refreshes, lsRemotes
	return r
}

func TestRowsOfTheBarAreTheDesignsAndTellWhatIsMissedByConstruction(t *testing.T) {
	const (
		s              = time.Second
		zeroCreate     = create + ", " + providerZero + " / " + create + ", " + controller
		zeroTogether   = create + ", " + providerZero + " / " + createTogether + ", " + controller
		defaultsCreate = create + ", " + providerDefault + " / " + create + ", " + controller
		zeroChange     = change + ", " + providerZero + " / " + change + ", " + controller
		zeroRemove     = remove + ", " + providerZero + " / " + remove + ", " + controller
		defaultsRemove = remove + ", " + providerDefault + " / " + remove + ", " + controller
		zeroSlow       = removeSlow + ", " + providerZero + " / " + removeSlow + ", " + controller
		lsRemotes      = ": git ls-remotes per changed Application"
	)
	controllerCreate := ofBar(create, controller, 50*s) // 2 Applications, 4 ls-remotes
	for name, c := range map[string]struct {
		results []result
		want    map[string]string // limit, measured, verdict, reason
	}{
		"all at once alone is over the bar": {
			[]result{controllerCreate, ofBar(createTogether, controller, 33*s), ofBar(create, providerZero, 40*s)},
			map[string]string{
				zeroCreate:   "0.35 0.80 missed by 129 %: all at once alone takes 33.0 s (ApplicationSet controller): 0.66x of the controller here",
				zeroTogether: "1.50 1.21 met",
			},
		},
		"the faster side counts for all at once": {
			[]result{controllerCreate, ofBar(createTogether, controller, 33*s), ofBar(createTogether, providerZero, 20*s), ofBar(create, providerZero, 40*s)},
			map[string]string{
				zeroCreate:   "0.35 0.80 missed by 129 %: all at once alone takes 20.0 s (provider, min_healthy_time 0s): 0.40x of the controller here",
				zeroTogether: "1.50 1.21 met",
			},
		},
		"all at once would have met the bar: the steps have missed it": {
			[]result{controllerCreate, ofBar(createTogether, controller, 10*s), ofBar(create, providerZero, 20*s)},
			map[string]string{zeroCreate: "0.35 0.40 missed by 14 %", zeroTogether: "1.50 2 missed by 33 %"},
		},
		"steps that are faster than all at once have not missed it by construction": {
			[]result{ofBar(change, controller, 100*s), ofBar(changeTogether, controller, 50*s), ofBar(change, providerZero, 40*s)},
			map[string]string{
				zeroChange: "0.35 0.40 missed by 14 %",
				change + ", " + providerZero + " / " + changeTogether + ", " + controller: "1.50 0.80 met",
			},
		},
		"what is met has no reason": {
			[]result{controllerCreate, ofBar(create, providerZero, 10*s), ofBar(createTogether, controller, 33*s)},
			map[string]string{zeroCreate: "0.35 0.20 met", zeroTogether: "1.50 0.30 met"},
		},
		"min_healthy_time alone is over the bar": {
			[]result{ofBar(create, controller, 30*s), ofBar(createTogether, controller, 20*s), ofBar(create, providerDefault, 45*s)},
			map[string]string{defaultsCreate: "0.80 1.50 missed by 88 %: min_healthy_time of 5s in 6 steps is 30.0 s: 1.00x of the controller here"},
		},
		"min_healthy_time is within the bar: what was done beside it has missed it": {
			[]result{controllerCreate, ofBar(createTogether, controller, 20*s), ofBar(create, providerDefault, 52*s)},
			map[string]string{defaultsCreate: "0.80 1.04 missed by 30 %"},
		},
		"deletions of both sides": {
			[]result{ofBar(remove, controller, 4*s), ofBar(removeTogether, controller, 5*s), ofBar(remove, providerZero, 6*s), ofBar(remove, providerDefault, 4*s)},
			map[string]string{
				zeroRemove:     "1 1.50 missed by 50 %: all at once alone takes 5.0 s (ApplicationSet controller): 1.25x of the controller here",
				defaultsRemove: "1 1 met",
			},
		},
		"slow deletions that take a part of the time of one in each step": {
			[]result{ofBar(removeSlow, controller, 60*s), ofBar(removeSlow, providerZero, 33*s)},
			map[string]string{zeroSlow: "0.20 0.55 missed by 175 %: one Application that takes 5s to go in each of 6 steps is 30.0 s: 0.50x of the controller here"},
		},
		"slow deletions by a controller that deletes one after the other": {
			[]result{ofBar(removeSlow, controller, 300*s), ofBar(removeSlow, providerZero, 33*s)},
			map[string]string{zeroSlow: "0.20 0.11 met"},
		},
		"ls-remotes with the defaults": {
			[]result{
				controllerCreate, asked(ofBar(create, providerZero, s), 2, 6), asked(ofBar(create, providerDefault, s), 0, 4),
				asked(ofBar(change, providerDefault, s), 2, 2), asked(ofBar(changeOne, providerDefault, s), 0, 0), asked(ofBar(remove, providerDefault, s), 1, 1),
			},
			map[string]string{
				zeroCreate: "0.35 0.02 met", defaultsCreate: "0.80 0.02 met",
				create + ", " + providerDefault + lsRemotes:    "0 2 missed: it is to be 0: a new Application costs 2, whoever creates it (as the controller's do here)",
				change + ", " + providerDefault + lsRemotes:    "0 1 missed: it is to be 0",
				changeOne + ", " + providerDefault + lsRemotes: "0 0 met",
				remove + ", " + providerDefault + lsRemotes:    "0 0.50 missed: it is to be 0: a deletion looks at git first, or it leaves resources behind (1 for 2 here)",
			},
		},
		"ls-remotes where only min_healthy_time 0s was measured": {
			[]result{controllerCreate, asked(ofBar(create, providerZero, s), 2, 6), asked(ofBar(change, providerZero, s), 2, 2)},
			map[string]string{
				zeroCreate: "0.35 0.02 met",
				create + ", " + providerZero + lsRemotes: "0 3 missed: it is to be 0: a new Application costs 2, whoever creates it (as the controller's do here), " +
					"and with min_healthy_time 0s nothing but a refresh proves health at once (1 each here)",
				change + ", " + providerZero + lsRemotes: "0 1 missed: it is to be 0: with min_healthy_time 0s nothing but a refresh proves health at once (1 each here)",
			},
		},
		"without a controller nothing is compared":               {[]result{ofBar(remove, providerZero, s), ofBar(removeSlow, providerZero, s)}, map[string]string{}},
		"other numbers of Applications are not those of the bar": {example(), map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, b := range bar(c.results) {
				// Rows of ls-remotes are there for each result, and of interest in the cases about them.
				if strings.HasSuffix(b.what, lsRemotes) && !strings.HasPrefix(name, "ls-remotes") {
					continue
				}
				line := number(b.limit) + " " + number(b.measured) + " " + b.verdict()
				if reason := b.byConstruction(); reason != "" {
					line += ": " + reason
				}
				got[b.what] = line
			}
			for what, want := range c.want {
				if got[what] != want {
					t.Errorf("%q is\n%q, want\n%q", what, got[what], want)
				}
				delete(got, what)
			}
			for what, line := range got {
				t.Errorf("%q is there, too: %q", what, line)
			}
		})
	}
}

func TestUnknownLsRemotesAreNoRowOfTheBar(t *testing.T) {
	for _, b := range bar([]result{asked(ofBar(change, providerDefault, time.Second), 0, -1)}) {
		t.Errorf("%q is %v", b.what, b.measured)
	}
}

func TestTheReportCountsTheBarApartFromTheBudgets(t *testing.T) {
	results := []result{
		ofBar(create, controller, 50*time.Second), ofBar(createTogether, controller, 33*time.Second), asked(ofBar(create, providerZero, 40*time.Second), 2, 6),
	}
	text := report(options{scale: barScale}, results, nil)
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"of 12 budgets met; 1 of 3 rows of the bar met.",
		"| bar | create, provider, min_healthy_time 0s / create, ApplicationSet controller | 0.35 x | 0.80 x | missed by 129 % | " +
			"all at once alone takes 33.0 s (ApplicationSet controller): 0.66x of the controller here |",
		"| bar | create, provider, min_healthy_time 0s / create, all at once, ApplicationSet controller | 1.50 x | 1.21 x | met | |",
	} {
		if !strings.Contains(squeezed, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if held := budgets(results); len(held) != 12 {
		t.Errorf("there are %d budgets, want 12 without the bar", len(held))
	}
}
