package appset

import (
	"fmt"
	"strings"
)

// mostNames is how many Applications one warning lists.
const mostNames = 10

// CheckSteps warns of steps without Applications, Applications in several steps
// and Applications in no step: what Argo CD reports as InvalidRolloutConfig or
// not at all. An Application of a manual step that keeps no history is an error:
// only its history tells that a person has synced it. What depends on an Unknown
// is left out. The summaries tell the four apart: [SummaryEmptyStep],
// [SummaryOverlap], [SummaryUnselected], [SummaryNoHistory].
func (s *Set) CheckSteps(apps []Application) Issues {
	if s.Strategy.Unknown || s.Strategy.Type != RollingSync {
		return nil
	}
	path := Path{"spec", "strategy", "rollingSync", "steps"}
	labels := s.Strategy.Labels()
	used := make([]bool, len(labels))
	var overlaps, unselected, forgetful []string
	for _, app := range apps {
		steps, maybe := s.Strategy.StepsFor(app)
		for _, i := range append(append([]int{}, steps...), maybe...) {
			used[i] = true
		}
		if len(steps) > 1 {
			names := make([]string, len(steps))
			for n, i := range steps {
				names[n] = fmt.Sprintf("%q", labels[i])
			}
			overlaps = append(overlaps, fmt.Sprintf("%s: %s", displayName(app), strings.Join(names, ", ")))
		}
		if len(steps) > 0 && s.Strategy.Steps[steps[0]].MaxUpdate.Manual() && keepsNoHistory(app) {
			forgetful = append(forgetful, displayName(app))
		}
		if len(steps)+len(maybe) == 0 {
			unselected = append(unselected, displayName(app))
		}
	}
	var issues Issues
	for i, isUsed := range used {
		if !isUsed {
			issues.warn(path.With(i), SummaryEmptyStep, fmt.Sprintf("No Application is in %q; the step is skipped.", labels[i]))
		}
	}
	if len(overlaps) > 0 {
		issues.warn(path, SummaryOverlap, "These Applications are selected by more than one step; the first one counts:\n"+nameList(overlaps))
	}
	if len(unselected) > 0 {
		issues.warn(path, SummaryUnselected, "No step selects these Applications:\n"+nameList(unselected))
	}
	if len(forgetful) > 0 {
		issues.fail(Path{"spec", "template", "spec", "revisionHistoryLimit"}, SummaryNoHistory,
			"The limit is 0 for these Applications of a step with maxUpdate 0, where the rollout waits until a person has synced each: "+
				"without a history it cannot see that. Leave the limit out, or set 1 or more:\n"+nameList(forgetful))
	}
	return issues.sorted()
}

// keepsNoHistory tells that Argo CD is to keep no entry of the Application's syncs.
func keepsNoHistory(app Application) bool {
	spec, _ := app.Object["spec"].(map[string]any)
	limit, known := spec["revisionHistoryLimit"].(int64)
	return known && limit == 0
}

func displayName(app Application) string {
	if app.NameUnknown {
		return "the Application of " + app.Origin
	}
	return app.Name
}

func nameList(lines []string) string {
	shown := lines[:min(len(lines), mostNames)]
	text := "  " + strings.Join(shown, "\n  ")
	if more := len(lines) - len(shown); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return text
}
