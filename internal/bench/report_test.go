package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// measured is a result of a rollout that took this long.
func measured(what, side string, total, gap time.Duration) result {
	began := time.Unix(1000, 0)
	r := result{what: what, side: side, scale: scale{2, 2}, left: -1, began: began, ended: began.Add(total), others: 0.25, counted: counters{lsRemotes: 4}}
	r.course = course{Changed: 2, First: began.Add(time.Second), Last: began.Add(total), Steps: []time.Duration{time.Second, 2 * time.Second}, Gap: gap}
	if side != controller {
		r.course.First = began.Add(1500 * time.Millisecond)
		r.planned, r.plan, r.apply = began.Add(500*time.Millisecond), newTally(), newTally()
		for _, name := range []string{"a", "b"} {
			r.apply.add(request{Verb: "PUT", Resource: "applications", Name: name}, 200)
			r.apply.add(request{Verb: "PUT", Resource: "applications", Name: name, Dry: true}, 200)
		}
		r.apply.add(request{Verb: "LIST", Resource: "applications"}, 200)
		r.apply.add(request{Verb: "LIST", Resource: "applications"}, 200)
	}
	return r
}

func example() []result {
	engine := func(apps int, cpu time.Duration) result {
		return result{what: engineRow + "one source", side: providerDefault, cost: &cost{apps: apps, cpu: cpu, bytes: 3 << 20, allocs: 12}}
	}
	removed := measured(removeSlow, providerZero, 30*time.Second, 0)
	removed.left = 1
	large := measured(create, providerZero, 60*time.Second, 0)
	large.scale = scale{3, 1}
	return []result{
		measured(create, controller, 50*time.Second, 0),
		measured(createTogether, controller, 10*time.Second, 0),
		measured(create, providerZero, 21*time.Second, 60*time.Millisecond),
		measured(create, providerDefault, 40*time.Second, 5*time.Second),
		measured(removeSlow, controller, 300*time.Second, 0), removed, large,
		engine(1000, 100*time.Millisecond), engine(10000, 2*time.Second),
		{what: latencyRow, side: providerDefault, cost: &cost{apps: 1000, gap: 3 * time.Millisecond}},
		{what: latencyRow, side: providerDefault, cost: &cost{apps: 10000, gap: 70 * time.Millisecond}}, // told, without a budget
		{what: planOfSpec, side: providerDefault, cost: &cost{apps: 10000, cpu: 1500 * time.Millisecond, memory: 501 << 20, terraform: time.Second}},
	}
}

func TestBudgetsAreHeldAgainstTheMeasuredControllerAndTellByHowMuch(t *testing.T) {
	const small, large = "2 in 2: ", "3 in 1: "
	want := map[string]string{
		small + create + ", " + providerZero + ": what the steps cost on top of all at once / what they cost the controller":        "0.26 x missed by 31 %",
		small + create + ", " + providerZero + " / " + createTogether + ", " + controller:                                           "2.10 x missed by 40 %",
		small + create + ", " + providerDefault + ", without min_healthy_time in each step / " + createTogether + ", " + controller: "3 x missed by 100 %",
		small + removeSlow + ", " + providerZero + " / " + removeSlow + ", " + controller:                                           "0.10 x met",
		small + removeSlow + ", " + providerZero + " / the time of one Application in each step":                                    "3 x missed by 140 %",

		small + create + ", " + providerZero + ": Applications not rolled out":          "0  met",
		small + create + ", " + providerDefault + ": Applications not rolled out":       "0  met",
		small + removeSlow + ", " + providerZero + ": Applications and ConfigMaps left": "1  missed: it is to be 0",
		large + create + ", " + providerZero + ": Applications not rolled out":          "1  missed: it is to be 0",

		small + create + ": longest time from the last event of a step to the first write of the next": "60 ms missed by 20 %",
		large + create + ": longest time from the last event of a step to the first write of the next": "0 ms met",

		"engine, simulated: one source: CPU time per Application at 10000 / at 1000":                      "2 x missed by 33 %",
		"engine, simulated cluster: from the last event of a step to the first write of the next at 1000": "3 ms met",
		planOfSpec + ", 10000 Applications: CPU of the provider":                                          "1.50 s met",
		planOfSpec + ", 10000 Applications: memory of the provider":                                       "501 MiB missed by 0 %",
	}
	for _, s := range []string{small, large} {
		want[s+create+": LIST of Applications"] = "2  missed by 100 %"
		want[s+create+": LIST of Applications' metadata"] = "0  met"
		want[s+create+": WATCH of Applications"] = "0  met"
		want[s+create+": Applications written that are not changed"] = "0  met"
		want[s+create+": writes per changed Application"] = "1  met"
		want[s+create+": dry runs per changed Application"] = "1  met"
		want[s+create+": dry runs of Applications that are not changed"] = "0  met"
		want[s+create+": git ls-remotes of the apply per changed Application"] = "0  met"
	}
	for _, b := range budgets(example()) {
		got := number(b.measured) + " " + b.unit + " " + b.verdict()
		if want[b.what] != got {
			t.Errorf("%q is %q, want %q", b.what, got, want[b.what])
		}
		delete(want, b.what)
	}
	for what := range want {
		t.Errorf("%q is missing", what)
	}
}

func TestABudgetOfNothingIsMissedByAnything(t *testing.T) {
	for measured, want := range map[float64]string{0: "met", 0.5: "missed: it is to be 0"} {
		if got := (budget{measured: measured}).verdict(); got != want {
			t.Errorf("%v is %q, want %q", measured, got, want)
		}
	}
	if r := ratio(time.Second, 0); r != 0 {
		t.Errorf("a ratio to nothing is %v", r)
	}
}

func TestTablesAreMarkdownWithAlignedColumns(t *testing.T) {
	table := table{header: []string{"what", "n"}}
	table.add("ü", "1000")
	want := "| what | n    |\n| ---- | ---- |\n| ü    | 1000 |\n"
	if got := table.String(); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

func TestTheReportHasEveryMeasuredFigure(t *testing.T) {
	text := report(options{scale: scale{60, 6}}, example(), errors.New("large: not done within 25m0s"))
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"# Bench: 60 Applications in 6 steps",
		"| create | 2 in 2 | ApplicationSet controller | 50.0 s | 49.0 s | | | 0.2 cores |",
		"| create | 2 in 2 | provider, min_healthy_time 0s | 21.0 s | 19.5 s | 0.42 x | 0.39 x | 0.2 cores |",
		"| create | 2 in 2 | provider, min_healthy_time 0s | 2 | 2 | 1 | 2 | 0 | 2 LIST applications, 2 PUT applications, 2 PUT applications (dry run) |",
		"| create | 2 in 2 | ApplicationSet controller | 0 | 0 | 4 | |",
		"| create | 2 in 2 | provider, min_healthy_time 0s | 21.0 s | 0.5 s | 1.0 s | 1.0 2.0 | 16.5 s | 0.0 s |",
		"| engine, simulated: one source | 1000 | 0.10 s | 100µs | | 3 MiB | 12 | | |",
		"| engine, simulated cluster | 1000 | | | | | | | 3.0 ms |",
		"| engine, simulated cluster | 10000 | | | | | | | 70.0 ms |",
		"large: not done within 25m0s", "other work up to 0.2 cores", "of 31 budgets met; 0 of 0 rows of the bar met.",
		"It is for 60 Applications in 6 steps, and nothing of that was measured here.",
		"| plan, spec in HCL | 10000 | 1.50 s | 150µs | 501 MiB | | | 1.0 s | |",
	} {
		if !strings.Contains(squeezed, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
