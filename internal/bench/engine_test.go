package main

import "testing"

func TestTheSimulatedRolloutGoesThroughTheEngine(t *testing.T) {
	c, err := measureEngine(t.Context(), 30, 3)
	if err != nil {
		t.Fatal(err)
	}
	if c.apps != 30 || c.cpu <= 0 || c.gap <= 0 {
		t.Errorf("the cost is %+v, want three steps that cost something", c)
	}
}
