package appset

import (
	"reflect"
	"testing"

	"dario.cat/mergo"
	"pgregory.net/rapid"
)

// drawParam draws a parameter with the Go types that generators give.
func drawParam(t *rapid.T, depth int) any {
	most := 8
	if depth > 2 {
		most = 5
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text")
	case 2:
		return float64(rapid.IntRange(0, 2).Draw(t, "number"))
	case 3:
		return rapid.Bool().Draw(t, "bool")
	case 4:
		return rapid.SampledFrom([][]string{{}, {"x"}, {"y", "z"}}).Draw(t, "texts")
	case 5:
		out := map[string]string{}
		for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"k", "l"}), rapid.ID).Draw(t, "keys") {
			out[key] = rapid.SampledFrom([]string{"", "a"}).Draw(t, "text")
		}
		return out
	case 6:
		out := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			out = append(out, drawParam(t, depth+1))
		}
		return out
	}
	return drawParams(t, depth+1)
}

func drawParams(t *rapid.T, depth int) map[string]any {
	out := map[string]any{}
	for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"k", "l", "m"}), rapid.ID).Draw(t, "keys") {
		out[key] = drawParam(t, depth)
	}
	return out
}

// mergedByMergo is what Argo CD does; panicked tells that it cannot.
func mergedByMergo(under, over map[string]any) (out map[string]any, panicked bool) {
	defer func() { panicked = recover() != nil }()
	out, _ = cloneTyped(under).(map[string]any)
	over, _ = cloneTyped(over).(map[string]any)
	if err := mergo.Merge(&out, over, mergo.WithOverride); err != nil {
		panic(err)
	}
	return out, false
}

// cloneTyped copies parameters with their Go types.
func cloneTyped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = cloneTyped(e)
		}
		return out
	case map[string]string:
		out := make(map[string]string, len(v))
		for key, e := range v {
			out[key] = e
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneTyped(e)
		}
		return out
	}
	return v
}

func TestParametersAreMergedAsArgoCDMergesThem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		under, over := drawParams(rt, 0), drawParams(rt, 0)
		underBefore, overBefore := cloneTyped(under), cloneTyped(over)
		want, panicked := mergedByMergo(under, over)
		got, err := mergeParams(under, over)
		if panicked != (err != nil) || err == nil && !reflect.DeepEqual(got, want) {
			rt.Fatalf("under %v\nover  %v\ngot   %v, %v\nmergo %v, panicked %v", under, over, got, err, want, panicked)
		}
		if !reflect.DeepEqual(any(under), underBefore) || !reflect.DeepEqual(any(over), overBefore) {
			rt.Fatalf("the parameters were changed: %v, %v", under, over)
		}
	})
}

// What stays known when parts are Unknown must be what comes out once they are known.
func TestWhatIsKnownAfterAMergeHoldsWhateverTheUnknownsAre(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		under, over := drawParams(rt, 0), drawParams(rt, 0)
		full, err := mergeParams(under, over)
		if err != nil {
			return
		}
		partly, err := mergeParams(hidden(rt, under).(map[string]any), hidden(rt, over).(map[string]any))
		if err == nil && !covers(plainTree(partly), plainTree(full)) {
			rt.Fatalf("partly %v\nfull   %v", partly, full)
		}
	})
}

// hidden makes some values below v Unknown.
func hidden(t *rapid.T, v any) any {
	tree, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(tree))
	for _, key := range sortedKeys(tree) {
		if rapid.IntRange(0, 3).Draw(t, "hide "+key) == 0 {
			out[key] = Unknown
		} else {
			out[key] = hidden(t, tree[key])
		}
	}
	return out
}

func TestWhatGeneratorsMakeIsBoundedAndReportedOnce(t *testing.T) {
	e := newEvaluation(t.Context(), &Set{}, nil, Answers{})
	at := Path{"spec", "generators", 0}
	if !e.bear(maxGenerated, at) || e.bear(1, at) || e.bear(1, at) {
		t.Error("the bound is not the bound")
	}
	wantIssue(t, e.issues, "spec.generators[0]", SummaryGeneratorFailed, "256 MiB")
}
