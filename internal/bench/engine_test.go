package main

import (
	"testing"
	"time"
)

func TestTheSimulatedRolloutGoesThroughTheEngine(t *testing.T) {
	gap, err := measureLatency(t.Context(), 30, 3)
	if err != nil {
		t.Fatal(err)
	}
	if gap <= 0 {
		t.Errorf("the longest time between two steps is %s, want some", gap)
	}
}

func TestTheMedianOfSeveralBenchmarksCounts(t *testing.T) {
	line := func(size, cpu, bytes, allocs string) string {
		return "BenchmarkEngine/a_source_for_each/" + size + "-2  \t       6\t 185482567 ns/op\t        " + cpu + " cpu-µs/app\t " + bytes + " B/op\t   " + allocs + " allocs/op\n"
	}
	results, err := parseBenchmark("goos: linux\n" + line("1000", "50.5", "100", "7") + line("10000", "60", "1000", "70") + line("1000", "90", "300", "9") + line("1000", "40", "200", "8") + "PASS\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 {
		t.Fatalf("%d results, want two sizes: %+v", len(results), results)
	}
	want := []cost{{apps: 1000, cpu: 50500 * time.Microsecond, bytes: 200, allocs: 8}, {apps: 10000, cpu: 600 * time.Millisecond, bytes: 1000, allocs: 70}}
	for i, r := range results {
		if r.what != engineRow+"a source for each" || *r.cost != want[i] {
			t.Errorf("result %d is %q %+v, want %+v", i, r.what, *r.cost, want[i])
		}
	}
	if _, err := parseBenchmark("PASS"); err == nil {
		t.Error("an output without figures is no error")
	}
}
