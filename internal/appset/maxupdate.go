package appset

import (
	"fmt"
	"strconv"
)

// MaxUpdate says how many Applications of a step may be in flight at once. The
// zero value is unset: no limit.
//
// The rules are those of applicationset/progressivesync, Argo CD 3.6.1, for
// the values that mean something there; what Argo CD silently reads as 1
// ("3", "abc", "12.5%") or as never (-1) is refused by [Decode].
type MaxUpdate struct {
	// Set is false when there is no limit.
	Set bool
	// Percent tells whether Value is a percentage of the step's Applications.
	Percent bool
	// Value is at least 0, and at most 100 when Percent.
	Value int
	// Unknown is true when Terraform does not know the value yet; the rest is then zero.
	Unknown bool
}

// Limit returns how many of a step's total Applications may be in flight, -1
// when there is no limit. A percentage is rounded down, but is at least 1 above
// 0%; more than total means all.
func (m MaxUpdate) Limit(total int) int {
	if !m.Set {
		return -1
	}
	limit := m.Value
	if m.Percent {
		limit = total * m.Value / 100
		if limit < 1 && m.Value > 0 {
			limit = 1
		}
	}
	return min(limit, total)
}

// Manual reports whether the step waits for a person: 0 or "0%".
func (m MaxUpdate) Manual() bool { return m.Set && m.Value == 0 }

// String writes the value as in the CRD: "2", "10%", "" when unset.
func (m MaxUpdate) String() string {
	switch {
	case m.Unknown:
		return Unknown.String()
	case !m.Set:
		return ""
	case m.Percent:
		return strconv.Itoa(m.Value) + "%"
	}
	return strconv.Itoa(m.Value)
}

// ParseMaxUpdate reads an integer of at least 0 or a string "N%" with N from 0
// to 100; nil is unset. The error is a sentence that says what is allowed.
func ParseMaxUpdate(v any) (MaxUpdate, error) {
	const allowed = `maxUpdate is an integer of at least 0, or a percentage "N%" with N from 0 to 100; 0 and "0%" mean that a person syncs the step`
	if v == nil {
		return MaxUpdate{}, nil
	}
	if IsUnknown(v) {
		return MaxUpdate{Unknown: true}, nil
	}
	if n, ok := wholeNumber(v); ok && n >= 0 && n <= 1<<31-1 {
		return MaxUpdate{Set: true, Value: int(n)}, nil
	}
	text, ok := v.(string)
	if !ok {
		return MaxUpdate{}, fmt.Errorf("%s is not allowed: %s", describe(v), allowed)
	}
	if n, ok := percentage(text); ok {
		return MaxUpdate{Set: true, Percent: true, Value: n}, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return MaxUpdate{}, fmt.Errorf("%s is not allowed: Argo CD silently takes a number in quotes for 1. Write %d without quotes, or \"%d%%\". %s", describe(v), n, min(n, 100), allowed)
	}
	return MaxUpdate{}, fmt.Errorf("%s is not allowed: %s", describe(v), allowed)
}

// percentage reads "0%" to "100%", without sign, blank, fraction or leading zero.
func percentage(text string) (int, bool) {
	if len(text) < 2 || text[len(text)-1] != '%' {
		return 0, false
	}
	digits := text[:len(text)-1]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > 100 || strconv.Itoa(n) != digits {
		return 0, false
	}
	return n, true
}
