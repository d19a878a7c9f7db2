package appset

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

var strategyShape = object(fields{
	"type":          text(),
	"deletionOrder": text(),
	"rollingSync": object(fields{
		"steps": list(object(fields{
			"matchExpressions": list(object(fields{
				"key":      text(),
				"operator": text(),
				"values":   list(text()),
			})),
			"maxUpdate": free(),
		})),
	}),
})

// decodeStrategy reads spec.strategy, already checked against strategyShape.
//
// The CRD validates nothing here, and Argo CD takes what it does not know for
// AllAtOnce, for "not in" or for 1 (applicationset/progressivesync, Argo CD
// 3.6.1); so every such value is an error.
func decodeStrategy(v any, path Path, issues *Issues) Strategy {
	if IsUnknown(v) {
		return Strategy{Unknown: true}
	}
	tree, _ := v.(map[string]any)
	out := Strategy{Type: AllAtOnce}
	typeKnown := out.decodeType(tree["type"], path.With("type"), issues)

	rolling := tree["rollingSync"]
	steps, rollingPath := any(nil), path.With("rollingSync")
	if m, ok := rolling.(map[string]any); ok {
		steps = m["steps"]
	}
	var stepsUnknown bool
	if IsUnknown(rolling) || IsUnknown(steps) {
		stepsUnknown = true
	} else {
		out.Steps, stepsUnknown = decodeSteps(steps, rollingPath.With("steps"), issues)
	}
	_, typeGiven := tree["type"]
	switch {
	case !typeKnown:
		out.Unknown = true
	case out.Type == RollingSync && !stepsUnknown && len(out.Steps) == 0:
		issues.fail(rollingPath.With("steps"), SummaryInvalidStrategy,
			"type RollingSync needs at least one step: without any, Argo CD stops working on the ApplicationSet altogether. Add a step, or use type AllAtOnce.")
	case !typeGiven && rolling != nil:
		issues.fail(path.With("type"), SummaryInvalidStrategy,
			"rollingSync is given but type is not, so Argo CD would ignore the steps and change everything at once. Set type to RollingSync, or remove rollingSync.")
	}
	out.decodeDeletionOrder(tree["deletionOrder"], path.With("deletionOrder"), typeKnown && !stepsUnknown, issues)
	if out.Type == RollingSync && stepsUnknown {
		out.Unknown = true
	}
	if out.Type != RollingSync {
		out.Steps = nil
	}
	return out
}

// decodeType sets the type and reports whether it is known.
func (s *Strategy) decodeType(v any, path Path, issues *Issues) bool {
	if IsUnknown(v) {
		return false
	}
	name, _ := v.(string)
	switch StrategyType(name) {
	case "", AllAtOnce:
	case RollingSync:
		s.Type = RollingSync
	default:
		issues.fail(path, SummaryInvalidStrategy, fmt.Sprintf(
			"%q is not a strategy type; Argo CD would silently change everything at once. The types are AllAtOnce and RollingSync, in this exact case.%s",
			name, didYouMean(name, []string{string(AllAtOnce), string(RollingSync)})))
	}
	return true
}

func (s *Strategy) decodeDeletionOrder(v any, path Path, stepsKnown bool, issues *Issues) {
	order, isText := v.(string)
	if !isText || order == "" || order == "AllAtOnce" {
		return
	}
	if order != "Reverse" {
		issues.fail(path, SummaryInvalidStrategy, fmt.Sprintf(
			"%q is not a deletion order. The orders are AllAtOnce and Reverse, in this exact case.%s",
			order, didYouMean(order, []string{"AllAtOnce", "Reverse"})))
		return
	}
	s.ReverseDeletion = true
	if stepsKnown && s.Type != RollingSync {
		issues.fail(path, SummaryInvalidStrategy,
			"deletionOrder Reverse needs type RollingSync with steps: there is no order to reverse.")
	}
}

// decodeSteps also reports whether anything that a step label is made of is Unknown.
func decodeSteps(v any, path Path, issues *Issues) (steps []Step, isUnknown bool) {
	entries, _ := v.([]any)
	if len(entries) > MaxSteps {
		issues.fail(path, SummaryInvalidStrategy, fmt.Sprintf("%d steps are given; at most %d are possible.", len(entries), MaxSteps))
	}
	for i, entry := range entries {
		tree, ok := entry.(map[string]any)
		if !ok || ContainsUnknown(tree["matchExpressions"]) {
			isUnknown = true
		}
		step := Step{Match: decodeMatch(tree["matchExpressions"], path.With(i, "matchExpressions"), issues)}
		limit, err := ParseMaxUpdate(tree["maxUpdate"])
		if err != nil {
			issues.fail(path.With(i, "maxUpdate"), SummaryInvalidStrategy, err.Error()+".")
		}
		step.MaxUpdate = limit
		steps = append(steps, step)
	}
	return steps, isUnknown
}

func decodeMatch(v any, path Path, issues *Issues) []MatchExpression {
	entries, _ := v.([]any)
	var out []MatchExpression
	for i, entry := range entries {
		tree, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		at := path.With(i)
		m := MatchExpression{}
		m.Key, _ = tree["key"].(string)
		m.Operator, _ = tree["operator"].(string)
		if !IsUnknown(tree["key"]) {
			checkMatchKey(m.Key, at.With("key"), issues)
		}
		if !IsUnknown(tree["operator"]) && m.Operator != OperatorIn && m.Operator != OperatorNotIn {
			issues.fail(at.With("operator"), SummaryInvalidStrategy, fmt.Sprintf(
				"%q is not an operator. The operators are In and NotIn, in this exact case; Argo CD lets any other select the Applications that lack the label.%s",
				m.Operator, didYouMean(m.Operator, []string{OperatorIn, OperatorNotIn})))
		}
		if !IsUnknown(tree["values"]) {
			values, _ := tree["values"].([]any)
			if len(values) == 0 {
				issues.fail(at.With("values"), SummaryInvalidStrategy,
					"values is empty: In would match no Application and NotIn every one. Give at least one value.")
			}
			for _, value := range values {
				text, _ := value.(string)
				m.Values = append(m.Values, text)
			}
		}
		out = append(out, m)
	}
	return out
}

func checkMatchKey(key string, path Path, issues *Issues) {
	if key == "" {
		issues.fail(path, SummaryInvalidStrategy, "key is missing: it names the label of the Application that is compared.")
		return
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		issues.fail(path, SummaryInvalidStrategy, fmt.Sprintf("%q cannot be the key of a label: %s.", key, strings.Join(problems, "; ")))
	}
}
