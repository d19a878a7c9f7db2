package appset

import (
	"fmt"
	"slices"
	"strings"
)

// StrategyType says in which order Applications may change.
type StrategyType string

// The strategy types of Argo CD 3.6, in their exact case.
const (
	AllAtOnce   StrategyType = "AllAtOnce"
	RollingSync StrategyType = "RollingSync"
)

// Labels of what is not a numbered step.
const (
	AllAtOnceLabel = "all at once"
	NoStepLabel    = "no step"
)

// MaxSteps is the most steps a strategy may have: step labels sort as text
// only as long as two digits are enough.
const MaxSteps = 99

// Strategy is the decoded spec.strategy.
type Strategy struct {
	Type StrategyType
	// ReverseDeletion is true for deletionOrder Reverse.
	ReverseDeletion bool
	// Steps is empty for AllAtOnce.
	Steps []Step
	// Unknown is true when Terraform does not know yet what the steps and
	// their labels are. Type and Steps then say nothing.
	Unknown bool
}

// Step is one entry of spec.strategy.rollingSync.steps.
type Step struct {
	// Match must all hold; without any the step selects everything.
	Match     []MatchExpression
	MaxUpdate MaxUpdate
}

// The operators of match expressions, in their exact case.
const (
	OperatorIn    = "In"
	OperatorNotIn = "NotIn"
)

// MatchExpression compares one label of an Application with a list of values.
type MatchExpression struct {
	Key, Operator string
	Values        []string
}

// Label names the step at index i (from 0) for people: "step 01: envLabel in
// [env-dev]". It never contains maxUpdate: labels are keys, and a changed limit
// must not look like another step.
func (s Step) Label(i int) string {
	parts := make([]string, len(s.Match))
	for n, m := range s.Match {
		parts[n] = fmt.Sprintf("%s %s [%s]", m.Key, strings.ToLower(m.Operator), strings.Join(m.Values, ", "))
	}
	what := strings.Join(parts, " and ")
	if what == "" {
		what = "everything"
	}
	return fmt.Sprintf("step %02d: %s", i+1, what)
}

// Labels returns the labels of the steps in order, one for AllAtOnce, none
// while the strategy is Unknown.
func (s Strategy) Labels() []string {
	if s.Unknown {
		return nil
	}
	if s.Type != RollingSync {
		return []string{AllAtOnceLabel}
	}
	labels := make([]string, len(s.Steps))
	for i, step := range s.Steps {
		labels[i] = step.Label(i)
	}
	return labels
}

// StepOf returns the indices (from 0) of the steps that an Application with
// these labels matches for certain, and of those it could match because a label
// is Unknown; both in order. The first certain match is the Application's step
// unless an earlier one is only possible. With AllAtOnce everything is in step 0.
//
// A key that is absent fails In and passes NotIn (buildAppDependencyList in
// applicationset/progressivesync, Argo CD 3.6.1).
func (s Strategy) StepOf(labels map[string]any) (steps, maybe []int) {
	return s.match(labels, false)
}

// StepsFor is StepOf for a rendered Application, whose labels may be Unknown as a whole.
func (s Strategy) StepsFor(app Application) (steps, maybe []int) {
	return s.match(app.Labels, app.LabelsUnknown)
}

func (s Strategy) match(labels map[string]any, allUnknown bool) (steps, maybe []int) {
	if s.Unknown {
		return nil, nil
	}
	if s.Type != RollingSync {
		return []int{0}, nil
	}
	for i, step := range s.Steps {
		switch step.match(labels, allUnknown) {
		case matches:
			steps = append(steps, i)
		case couldMatch:
			maybe = append(maybe, i)
		}
	}
	return steps, maybe
}

type verdict int

const (
	matchesNot verdict = iota
	couldMatch
	matches
)

// match is the weakest verdict over all expressions.
func (s Step) match(labels map[string]any, allUnknown bool) verdict {
	out := matches
	for _, m := range s.Match {
		out = min(out, m.match(labels, allUnknown))
	}
	return out
}

func (m MatchExpression) match(labels map[string]any, allUnknown bool) verdict {
	value, present := labels[m.Key]
	if allUnknown || IsUnknown(value) {
		return couldMatch
	}
	text, isText := value.(string)
	in := present && isText && slices.Contains(m.Values, text)
	if in == (m.Operator == OperatorIn) {
		return matches
	}
	return matchesNot
}
