package provider

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheLimitOfAStepIsAPartOfThatStep: "50%" means half of the step that rolls, not of the whole set,
// nor of another step.
func TestTheLimitOfAStepIsAPartOfThatStep(t *testing.T) {
	names := []string{"dev-1"}
	for i := range 5 {
		names = append(names, fmt.Sprintf("prod-%d", i))
	}
	for maxUpdate, want := range map[string]int{`"50%"`: 2, `"100%"`: 5, `"1%"`: 1, `"60%"`: 3, `2`: 2, `9`: 5, `0`: -1, `"0%"`: -1} {
		manifest := strings.Replace(manifestOf("main", names...), `"values":["prod"]}]`, `"values":["prod"]}],"maxUpdate":`+maxUpdate, 1)
		if !strings.Contains(manifest, "maxUpdate") {
			t.Fatalf("the steps are written otherwise: %s", manifest)
		}
		plan := rolloutPlan(contentOf(t, manifest), targets{}, nil, nil)
		if dev, prod := plan.Steps[0].Limit, plan.Steps[1].Limit; dev != 1 && dev != -1 || prod != want {
			t.Errorf("maxUpdate %s: the limits are %d and %d, want %d for the second", maxUpdate, dev, prod, want)
		}
	}
}
