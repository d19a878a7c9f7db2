package appset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// paramSelector keeps the parameter sets whose parameters, flattened to dotted names, match. It is a
// label selector whose values are not restricted (utils.LabelSelectorAsSelector in applicationset,
// Argo CD 3.6.1).
type paramSelector struct {
	requirements []requirement
	// unknown: what it selects is not known yet.
	unknown bool
}

type requirement struct {
	key, operator string
	values        []string
}

// decodeParamSelector reads the selector of an entry; nil selects everything. It is taken as it is
// written, so that "{{" in it would never match anything.
func decodeParamSelector(v any, at Path, issues *Issues) paramSelector {
	if ContainsUnknown(v) {
		return paramSelector{unknown: true}
	}
	tree, _ := v.(map[string]any)
	if holdsTag(tree) {
		issues.fail(at, SummaryLeftover, fmt.Sprintf("%s holds \"{{\": Argo CD does not render the selector of a generator, so that it would never match.", at))
		return paramSelector{}
	}
	out := paramSelector{}
	matchLabels, _ := tree["matchLabels"].(map[string]any)
	for _, key := range sortedKeys(matchLabels) {
		value, _ := matchLabels[key].(string)
		out.add(requirement{key, "In", []string{value}}, at.With("matchLabels", key), issues)
	}
	expressions, _ := tree["matchExpressions"].([]any)
	for i, expression := range expressions {
		m, _ := expression.(map[string]any)
		r := requirement{}
		r.key, _ = m["key"].(string)
		r.operator, _ = m["operator"].(string)
		list, _ := m["values"].([]any)
		for _, value := range list {
			text, _ := value.(string)
			r.values = append(r.values, text)
		}
		out.add(r, at.With("matchExpressions", i), issues)
	}
	return out
}

func (s *paramSelector) add(r requirement, at Path, issues *Issues) {
	if problems := validation.IsQualifiedName(r.key); len(problems) > 0 {
		issues.fail(at, SummaryInvalidSelector, fmt.Sprintf("%q cannot be a key of a selector: %s.", r.key, strings.Join(problems, "; ")))
		return
	}
	switch r.operator {
	case "In", "NotIn":
		if len(r.values) == 0 {
			issues.fail(at, SummaryInvalidSelector, fmt.Sprintf("%s has the operator %s, which needs values.", at, r.operator))
			return
		}
	case "Exists", "DoesNotExist":
		if len(r.values) > 0 {
			issues.fail(at, SummaryInvalidSelector, fmt.Sprintf("%s has the operator %s, which takes no values.", at, r.operator))
			return
		}
	default:
		issues.fail(at, SummaryInvalidSelector, fmt.Sprintf("%q is not an operator of a selector. The operators are In, NotIn, Exists and DoesNotExist.", r.operator))
		return
	}
	s.requirements = append(s.requirements, r)
}

// filter returns false when it is not known which sets match.
func (s *paramSelector) filter(sets []paramSet) ([]paramSet, bool) {
	if s.unknown {
		return nil, false
	}
	if len(s.requirements) == 0 {
		return sets, true
	}
	var out []paramSet
	for _, set := range sets {
		flat := map[string]any{}
		values, ok := set.values.(map[string]any)
		if !ok {
			return nil, false
		}
		flattenTree(flat, values, "")
		matches := true
		for _, r := range s.requirements {
			ok, known := r.matches(flat)
			if !known {
				return nil, false
			}
			matches = matches && ok
		}
		if matches {
			out = append(out, set)
		}
	}
	return out, true
}

func (r requirement) matches(flat map[string]any) (matches, known bool) {
	v, has := flat[r.key]
	if IsUnknown(v) || !has && belowUnknown(flat, r.key) {
		// It may even turn out to be an object, whose parts have other names.
		return false, false
	}
	text, _ := v.(string)
	switch r.operator {
	case "In":
		return has && slices.Contains(r.values, text), true
	case "NotIn":
		return !has || !slices.Contains(r.values, text), true
	case "Exists":
		return has, true
	}
	return !has, true
}

// belowUnknown reports whether a dotted name leads into something Unknown.
func belowUnknown(flat map[string]any, name string) bool {
	for i := range len(name) {
		if name[i] == '.' && IsUnknown(flat[name[:i]]) {
			return true
		}
	}
	return false
}

// flattenTree adds the leaves of a tree under dotted names, as texts; empty objects and lists have
// none. Lists of other types than []any are leaves, as in Argo CD (flattenParameters in
// applicationset/generators with github.com/jeremywohl/flatten, Argo CD 3.6.1).
func flattenTree(flat, tree map[string]any, prefix string) {
	for _, key := range sortedKeys(tree) {
		flattenLeaf(flat, tree[key], prefix+key)
	}
}

func flattenLeaf(flat map[string]any, v any, name string) {
	switch v := v.(type) {
	case map[string]any:
		flattenTree(flat, v, name+".")
	case map[string]string:
		for key, text := range v {
			flat[name+"."+key] = text
		}
	case []any:
		for i, e := range v {
			flattenLeaf(flat, e, name+"."+strconv.Itoa(i))
		}
	case unknown:
		flat[name] = v
	default:
		flat[name] = fmt.Sprintf("%v", v)
	}
}

// labelSelector reads a selector of the labels of objects. It returns nil when it is not known yet,
// or after an error.
func labelSelector(v any, at Path, issues *Issues) labels.Selector {
	if ContainsUnknown(v) {
		return nil
	}
	if holdsTag(v) {
		issues.fail(at, SummaryLeftover, fmt.Sprintf(
			"%s still holds \"{{\": in generators, only the second one of a matrix is rendered, with the parameters of the first.", at))
		return nil
	}
	tree, _ := v.(map[string]any)
	in := &metav1.LabelSelector{}
	if matchLabels, ok := tree["matchLabels"].(map[string]any); ok {
		in.MatchLabels = make(map[string]string, len(matchLabels))
		for key, value := range matchLabels {
			in.MatchLabels[key], _ = value.(string)
		}
	}
	expressions, _ := tree["matchExpressions"].([]any)
	for _, expression := range expressions {
		m, _ := expression.(map[string]any)
		r := metav1.LabelSelectorRequirement{}
		r.Key, _ = m["key"].(string)
		operator, _ := m["operator"].(string)
		r.Operator = metav1.LabelSelectorOperator(operator)
		list, _ := m["values"].([]any)
		for _, value := range list {
			text, _ := value.(string)
			r.Values = append(r.Values, text)
		}
		in.MatchExpressions = append(in.MatchExpressions, r)
	}
	out, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		issues.fail(at, SummaryInvalidSelector, fmt.Sprintf("%s cannot be used: %s.", at, err))
		return nil
	}
	return out
}
