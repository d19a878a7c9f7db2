package main

import (
	"math"
	"testing"
	"time"
)

func TestProcessStatIsReadWhateverTheProgramIsCalled(t *testing.T) {
	// Fields 4 (parent), 6 (session) and 14 to 17 (user, system, and those of ended children).
	line := "7 (a) b (c) S 3 7 5 0 -1 4194560 1 2 3 4 100 50 20 30 20 0 1 0 99"
	p, ok := parseStat(line)
	if !ok || p.parent != 3 || p.session != 5 || p.cpu != 2 {
		t.Errorf("it is %+v, %v; want parent 3, session 5, 2 s", p, ok)
	}
	for _, damaged := range []string{"", "7 (a", "7 (a) S 3"} {
		if _, ok := parseStat(damaged); ok {
			t.Errorf("%q is taken", damaged)
		}
	}
}

func TestBusyTimeIsWithoutIdleAndWaiting(t *testing.T) {
	busy, err := parseBusy("cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 1 1 1\n")
	if err != nil || math.Abs(busy-1.71) > 1e-9 {
		t.Errorf("busy %v s, %v; want 1.71 s", busy, err)
	}
	for _, damaged := range []string{"", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 3"} {
		if _, err := parseBusy(damaged); err == nil {
			t.Errorf("%q is taken", damaged)
		}
	}
}

func TestOtherWorkIsWhatIsNotOurs(t *testing.T) {
	began := time.Unix(1000, 0)
	before := cpu{at: began, all: 100, own: 10}
	if got := (cpu{at: began.Add(10 * time.Second), all: 115, own: 20}).others(before); got != 0.5 {
		t.Errorf("others use %v cores, want 0.5", got)
	}
	if got := (cpu{at: began.Add(10 * time.Second), all: 105, own: 20}).others(before); got != 0 {
		t.Errorf("others use %v cores, want 0: less than nothing is rounding", got)
	}
	if got := before.others(before); got != 0 {
		t.Errorf("in no time others use %v cores", got)
	}
}
