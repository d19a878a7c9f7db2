package appset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMaxUpdateIsReadAsIntegerOrPercentage(t *testing.T) {
	for _, c := range []struct {
		in     any
		text   string
		limits map[int]int // total -> limit
		manual bool
	}{
		{nil, "", map[int]int{0: -1, 5: -1}, false},
		{int64(2), "2", map[int]int{1: 1, 2: 2, 5: 2}, false},
		{float64(3), "3", map[int]int{5: 3}, false},
		{int64(0), "0", map[int]int{5: 0}, true},
		{"0%", "0%", map[int]int{5: 0}, true},
		{"10%", "10%", map[int]int{3: 1, 12: 1, 20: 2}, false},
		{"34%", "34%", map[int]int{3: 1}, false},
		{"50%", "50%", map[int]int{3: 1, 4: 2}, false},
		{"99%", "99%", map[int]int{3: 2}, false},
		{"100%", "100%", map[int]int{3: 3}, false},
	} {
		got, err := ParseMaxUpdate(c.in)
		if err != nil || got.String() != c.text || got.Manual() != c.manual {
			t.Errorf("%v: %+v, manual %v, %v", c.in, got, got.Manual(), err)
		}
		for total, want := range c.limits {
			if limit := got.Limit(total); limit != want {
				t.Errorf("%v of %d: %d, want %d", c.in, total, limit, want)
			}
		}
	}
}

func TestMaxUpdateThatArgoCDWouldMisreadIsAnError(t *testing.T) {
	for _, in := range []any{int64(-1), float64(1.5), "3", "0", "abc", "1.5", "12.5%", "-10%", "101%", "200%", "%", "", "00%", "05%", " 5%", "+5%", true, []any{}, map[string]any{}} {
		if got, err := ParseMaxUpdate(in); err == nil {
			t.Errorf("%#v was read as %+v", in, got)
		}
	}
}

func TestMaxUpdateLimitLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 1000).Draw(t, "total")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		n := rapid.IntRange(0, 2000).Draw(t, "n")
		byPercent := MaxUpdate{Set: true, Percent: true, Value: percent}
		byNumber := MaxUpdate{Set: true, Value: n}
		for _, m := range []MaxUpdate{byPercent, byNumber} {
			limit := m.Limit(total)
			if limit < 0 || limit > total || (limit == 0) != m.Manual() {
				t.Fatalf("%s of %d is %d", m, total, limit)
			}
			if more := m.Limit(total + 1); more < limit {
				t.Fatalf("%s: %d of %d but %d of %d", m, limit, total, more, total+1)
			}
			again, err := ParseMaxUpdate(reparse(m))
			if err != nil || again != m {
				t.Fatalf("%s was read back as %+v, %v", m, again, err)
			}
		}
		if limit := byPercent.Limit(total); limit > 1 && limit*100 > total*percent {
			t.Fatalf("%d%% of %d was rounded up to %d", percent, total, limit)
		}
	})
}

func reparse(m MaxUpdate) any {
	if m.Percent {
		return m.String()
	}
	return int64(m.Value)
}

func TestStepLabelsNameTheExpressionsAndNeverTheLimit(t *testing.T) {
	in := MatchExpression{"env", OperatorIn, []string{"qa", "dev"}}
	notIn := MatchExpression{"tier", OperatorNotIn, []string{"db"}}
	for _, c := range []struct {
		step Step
		i    int
		want string
	}{
		{Step{Match: []MatchExpression{in}}, 0, "step 01: env in [qa, dev]"},
		{Step{Match: []MatchExpression{in, notIn}, MaxUpdate: MaxUpdate{Set: true, Value: 3}}, 8, "step 09: env in [qa, dev] and tier notin [db]"},
		{Step{MaxUpdate: MaxUpdate{Set: true}}, 98, "step 99: everything"},
	} {
		if got := c.step.Label(c.i); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := (Strategy{Type: AllAtOnce}).Labels(); !slices.Equal(got, []string{"all at once"}) {
		t.Errorf("AllAtOnce: %q", got)
	}
}

func TestStepOfFollowsArgoCDsMatching(t *testing.T) {
	in := MatchExpression{"env", OperatorIn, []string{"dev", "qa"}}
	notIn := MatchExpression{"env", OperatorNotIn, []string{"dev"}}
	tier := MatchExpression{"tier", OperatorIn, []string{"web"}}
	s := Strategy{Type: RollingSync, Steps: []Step{
		{Match: []MatchExpression{in}},       // 0
		{Match: []MatchExpression{notIn}},    // 1
		{Match: []MatchExpression{in, tier}}, // 2
		{},                                   // 3
	}}
	for _, c := range []struct {
		name         string
		labels       map[string]any
		steps, maybe []int
	}{
		{"a value that In lists", map[string]any{"env": "dev"}, []int{0, 3}, nil},
		{"a value that both match", map[string]any{"env": "qa"}, []int{0, 1, 3}, nil},
		{"every expression must hold", map[string]any{"env": "qa", "tier": "web"}, []int{0, 1, 2, 3}, nil},
		{"a missing key fails In and passes NotIn", map[string]any{}, []int{1, 3}, nil},
		{"no labels at all", nil, []int{1, 3}, nil},
		{"an unknown label could match", map[string]any{"env": Unknown}, []int{3}, []int{0, 1}},
		{"an unknown label cannot save what fails otherwise", map[string]any{"env": Unknown, "tier": "db"}, []int{3}, []int{0, 1}},
		{"an unknown label next to one that matches", map[string]any{"env": "qa", "tier": Unknown}, []int{0, 1, 3}, []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps, maybe := s.StepOf(c.labels)
			if !slices.Equal(steps, c.steps) || !slices.Equal(maybe, c.maybe) {
				t.Errorf("steps %v, maybe %v; want %v, %v", steps, maybe, c.steps, c.maybe)
			}
		})
	}
	steps, maybe := s.StepsFor(Application{LabelsUnknown: true})
	if !slices.Equal(steps, []int{3}) || !slices.Equal(maybe, []int{0, 1, 2}) {
		t.Errorf("unknown labels: steps %v, maybe %v", steps, maybe)
	}
	if steps, maybe := (Strategy{Type: AllAtOnce}).StepOf(nil); !slices.Equal(steps, []int{0}) || maybe != nil {
		t.Errorf("AllAtOnce: steps %v, maybe %v", steps, maybe)
	}
}

// An unknown label may turn out to be anything: what matched for certain still
// does, and what matches now was certain or possible before.
func TestStepOfAnUnknownLabelCoversEveryValueItCanTake(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		s := Strategy{Type: RollingSync}
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			step := Step{}
			for range rapid.IntRange(0, 3).Draw(t, "expressions") {
				step.Match = append(step.Match, MatchExpression{
					Key:      word.Draw(t, "key"),
					Operator: rapid.SampledFrom([]string{OperatorIn, OperatorNotIn}).Draw(t, "operator"),
					Values:   rapid.SliceOfN(word, 1, 3).Draw(t, "values"),
				})
			}
			s.Steps = append(s.Steps, step)
		}
		labels := map[string]any{}
		for key, value := range rapid.MapOf(word, word).Draw(t, "labels") {
			labels[key] = value
		}
		partly := map[string]any{}
		for key, value := range labels {
			partly[key] = value
			if rapid.Bool().Draw(t, "unknown "+key) {
				partly[key] = Unknown
			}
		}
		now, none := s.StepOf(labels)
		before, maybe := s.StepOf(partly)
		_, anything := s.StepsFor(Application{LabelsUnknown: true})
		if len(none) > 0 {
			t.Fatalf("maybe %v with known labels", none)
		}
		for i := range s.Steps {
			switch {
			case slices.Contains(before, i) && slices.Contains(maybe, i):
				t.Fatalf("step %d is certain and only possible", i)
			case slices.Contains(before, i) && !slices.Contains(now, i):
				t.Fatalf("step %d was certain, and does not match", i)
			case slices.Contains(now, i) && !slices.Contains(before, i) && !slices.Contains(maybe, i):
				t.Fatalf("step %d matches, but was not even possible", i)
			case slices.Contains(anything, i) == (len(s.Steps[i].Match) == 0):
				t.Fatalf("step %d with all labels unknown", i)
			}
		}
	})
}

func TestStrategiesThatArgoCDMisreadsAreErrors(t *testing.T) {
	good := "steps: [{matchExpressions: [{key: env, operator: In, values: [dev]}]}]"
	step := func(expression string) string {
		return "{type: RollingSync, rollingSync: {steps: [{matchExpressions: [" + expression + "]}]}}"
	}
	const at = "spec.strategy.rollingSync.steps[0].matchExpressions[0]"
	for name, c := range map[string]struct{ strategy, path, word string }{
		"a type in the wrong case":     {"{type: rollingsync, rollingSync: {" + good + "}}", "spec.strategy.type", `"RollingSync"?`},
		"an unknown type":              {"{type: Canary}", "spec.strategy.type", "AllAtOnce and RollingSync"},
		"no type but steps":            {"{rollingSync: {" + good + "}}", "spec.strategy.type", "RollingSync"},
		"RollingSync without steps":    {"{type: RollingSync}", "spec.strategy.rollingSync.steps", "at least one step"},
		"RollingSync with empty steps": {"{type: RollingSync, rollingSync: {steps: []}}", "spec.strategy.rollingSync.steps", "at least one step"},
		"Reverse with AllAtOnce":       {"{deletionOrder: Reverse}", "spec.strategy.deletionOrder", "needs type RollingSync"},
		"reverse in the wrong case":    {"{type: RollingSync, deletionOrder: reverse, rollingSync: {" + good + "}}", "spec.strategy.deletionOrder", `"Reverse"?`},
		"an operator in lower case":    {step("{key: env, operator: in, values: [a]}"), at + ".operator", `"In"?`},
		"an operator of Kubernetes":    {step("{key: env, operator: Exists, values: [a]}"), at + ".operator", "In and NotIn"},
		"no operator":                  {step("{key: env, values: [a]}"), at + ".operator", "In and NotIn"},
		"empty values":                 {step("{key: env, operator: In, values: []}"), at + ".values", "at least one"},
		"no values":                    {step("{key: env, operator: NotIn}"), at + ".values", "at least one"},
		"no key":                       {step("{operator: In, values: [a]}"), at + ".key", "missing"},
		"a key that no label can have": {step("{key: 'a b', operator: In, values: [a]}"), at + ".key", "a b"},
		"a number in quotes":           {"{type: RollingSync, rollingSync: {steps: [{maxUpdate: '3'}]}}", "spec.strategy.rollingSync.steps[0].maxUpdate", "without quotes"},
		"a negative number":            {"{type: RollingSync, rollingSync: {steps: [{}, {maxUpdate: -1}]}}", "spec.strategy.rollingSync.steps[1].maxUpdate", "at least 0"},
		"a field that does not exist":  {"{type: RollingSync, rollingSync: {steps: [{max_update: 1}]}}", "spec.strategy.rollingSync.steps[0].max_update", `"maxUpdate"?`},
		"a value that is a number":     {step("{key: env, operator: In, values: [1]}"), at + ".values[0]", "in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(baseSpec(t), "strategy", tree(t, "s: "+c.strategy)["s"])
			wantIssue(t, failures(t, spec), c.path, c.word)
		})
	}
}

func TestAHundredStepsAreTooMany(t *testing.T) {
	steps := make([]any, 100)
	for i := range steps {
		steps[i] = map[string]any{}
	}
	strategy := map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": steps}}
	wantIssue(t, failures(t, put(baseSpec(t), "strategy", strategy)), "spec.strategy.rollingSync.steps", "99")
	strategy["rollingSync"].(map[string]any)["steps"] = steps[:99]
	render(t, put(baseSpec(t), "strategy", strategy))
}

func TestAbsentStrategyIsAllAtOnce(t *testing.T) {
	for _, strategy := range []any{nil, map[string]any{}, map[string]any{"type": ""}, map[string]any{"type": "AllAtOnce", "rollingSync": map[string]any{"steps": []any{}}}} {
		set, _ := render(t, put(baseSpec(t), "strategy", strategy))
		if set.Strategy.Type != AllAtOnce || set.Strategy.Unknown || set.Strategy.Steps != nil {
			t.Errorf("%v: %+v", strategy, set.Strategy)
		}
	}
}

func TestUnknownPartsOfAStrategyMakeItsStepsUnknownButNotItsLimit(t *testing.T) {
	const known = "{key: env, operator: In, values: [dev]}"
	for text, wantUnknown := range map[string]bool{
		"UNKNOWN":         true,
		"{type: UNKNOWN}": true,
		"{type: RollingSync, rollingSync: UNKNOWN}":                                                                                    true,
		"{type: RollingSync, rollingSync: {steps: UNKNOWN}}":                                                                           true,
		"{type: RollingSync, rollingSync: {steps: [UNKNOWN]}}":                                                                         true,
		"{type: RollingSync, rollingSync: {steps: [{matchExpressions: UNKNOWN}]}}":                                                     true,
		"{type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: a, operator: In, values: [UNKNOWN]}]}]}}":                 true,
		"{type: RollingSync, deletionOrder: UNKNOWN, rollingSync: {steps: [{maxUpdate: UNKNOWN, matchExpressions: [" + known + "]}]}}": false,
		"{type: AllAtOnce, rollingSync: UNKNOWN}":                                                                                      false,
	} {
		set, issues := Decode("set", "argocd", put(baseSpec(t), "strategy", tree(t, "s: "+text)["s"]))
		if len(issues) > 0 || set.Strategy.Unknown != wantUnknown {
			t.Errorf("%s: unknown %v, %s", text, set.Strategy.Unknown, issues)
		}
	}
}

func TestCheckStepsWarnsOfEmptyStepsOverlapsAndTheUnselected(t *testing.T) {
	spec := put(baseSpec(t), "strategy", tree(t, `
type: RollingSync
rollingSync:
  steps:
  - matchExpressions: [{key: env, operator: In, values: [dev]}]
  - matchExpressions: [{key: env, operator: In, values: [nowhere]}]
  - matchExpressions: [{key: env, operator: In, values: [dev, qa]}]
`))
	set, apps := render(t, spec)
	got := set.CheckSteps(apps)
	want := map[string]string{SummaryEmptyStep: "step 02", SummaryOverlap: "a-app", SummaryUnselected: "b-app"}
	if len(got) != len(want) || len(got.Warnings()) != len(want) {
		t.Fatalf("issues: %s", got)
	}
	for _, issue := range got {
		if !strings.Contains(issue.Detail, want[issue.Summary]) {
			t.Errorf("%s", issue)
		}
	}
	for i := range apps {
		apps[i].LabelsUnknown = true
	}
	if got := set.CheckSteps(apps); len(got) > 0 {
		t.Errorf("with unknown labels nothing can be said: %s", got)
	}
}

func TestCheckStepsRefusesAManualStepThatKeepsNoHistory(t *testing.T) {
	for name, test := range map[string]struct {
		maxUpdate, limit string
		refused          bool
	}{
		"no history in a manual step":       {"0", "0", true},
		"the same, as a percentage":         {"0%", "0", true},
		"some history in a manual step":     {"0", "1", false},
		"no history in any other step":      {"1", "0", false},
		"a limit that is not known yet":     {"0", "UNKNOWN", false},
		"the default in a manual step":      {"0", "null", false},
		"a step without a limit of its own": {"null", "0", false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := put(baseSpec(t), "strategy", tree(t, "type: RollingSync\nrollingSync:\n  steps:\n  - maxUpdate: "+test.maxUpdate+"\n")) // selects all
			if test.limit != "null" {
				spec = put(spec, "template.spec.revisionHistoryLimit", tree(t, "s: "+test.limit)["s"])
			}
			set, apps := render(t, spec)
			got := set.CheckSteps(apps).Errors()
			if test.refused != (len(got) == 1 && got[0].Summary == SummaryNoHistory && strings.Contains(got[0].Detail, "a-app")) || !test.refused && len(got) > 0 {
				t.Errorf("issues: %s", got)
			}
		})
	}
}

func TestCheckStepsListsAFewNamesOnly(t *testing.T) {
	set := &Set{Strategy: Strategy{Type: RollingSync, Steps: []Step{{Match: []MatchExpression{{"env", OperatorIn, []string{"dev"}}}}}}}
	apps := []Application{{Name: "dev", Labels: map[string]any{"env": "dev"}}}
	for i := range 30 {
		apps = append(apps, Application{Name: fmt.Sprintf("app-%02d", i)})
	}
	got := set.CheckSteps(apps)
	if len(got) != 1 || !strings.Contains(got[0].Detail, "app-09\n") || strings.Contains(got[0].Detail, "app-10") || !strings.Contains(got[0].Detail, "and 20 more") {
		t.Errorf("issues: %s", got)
	}
}
