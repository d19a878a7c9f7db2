package appset

import (
	"fmt"
	"strings"
)

// mostNames is how many Applications one warning lists.
const mostNames = 10

// CheckSteps warns of steps without Applications, Applications in several steps
// and Applications in no step: what Argo CD reports as InvalidRolloutConfig or
// not at all. What depends on an Unknown is left out. The summaries tell the
// three apart: [SummaryEmptyStep], [SummaryOverlap], [SummaryUnselected].
func (s *Set) CheckSteps(apps []Application) Issues {
	if s.Strategy.Unknown || s.Strategy.Type != RollingSync {
		return nil
	}
	path := Path{"spec", "strategy", "rollingSync", "steps"}
	labels := s.Strategy.Labels()
	used := make([]bool, len(labels))
	var overlaps, unselected []string
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
	return issues.sorted()
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
