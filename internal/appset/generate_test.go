package appset

import (
	"bytes"
	"encoding/json"
	"slices"

	"pgregory.net/rapid"
)

// specTree draws an Application spec with many zero values and absent fields.
func specTree() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		return drawTree(t, specShape, 0).(map[string]any)
	})
}

func drawTree(t *rapid.T, s *shape, depth int) any {
	switch s.kind {
	case kindText:
		return rapid.SampledFrom([]string{"", "a", "b", "0", "false"}).Draw(t, "text")
	case kindBool:
		return rapid.Bool().Draw(t, "bool")
	case kindInt:
		return drawNumber(t)
	case kindIntOrText:
		if rapid.Bool().Draw(t, "isText") {
			return rapid.SampledFrom([]string{"", "3"}).Draw(t, "text")
		}
		return drawNumber(t)
	case kindList:
		out := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			out = append(out, drawTree(t, s.elem, depth))
		}
		return out
	case kindMap:
		out := map[string]any{}
		for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", ""}), rapid.ID).Draw(t, "keys") {
			out[key] = drawTree(t, s.elem, depth)
		}
		return out
	case kindObject:
		out := map[string]any{}
		for _, key := range sortedKeys(s.fields) {
			if slices.Contains(s.required, key) || rapid.IntRange(0, 2).Draw(t, "has "+key) == 0 {
				out[key] = drawTree(t, s.fields[key], depth)
			}
		}
		return out
	}
	return drawFree(t, depth)
}

// drawNumber draws a whole number as an int64 or as a float64.
func drawNumber(t *rapid.T) any {
	n := rapid.Int64Range(-3, 3).Draw(t, "number")
	if rapid.Bool().Draw(t, "isFloat") {
		return float64(n)
	}
	return n
}

func drawFree(t *rapid.T, depth int) any {
	most := 6
	if depth > 2 {
		most = 4
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.SampledFrom([]string{"", "a", "<&>", "é"}).Draw(t, "text")
	case 3:
		return drawNumber(t)
	case 4:
		return rapid.Float64Range(-1e30, 1e30).Draw(t, "float")
	case 5:
		return drawTree(t, list(free()), depth+1)
	}
	return drawTree(t, mapOf(free()), depth+1)
}

type fataler interface{ Fatalf(string, ...any) }

// throughJSON is the tree as client-go gives it back: whole numbers are int64.
func throughJSON(t fataler, v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("decode: %v", err)
	}
	return plainNumbers(t, out)
}

func plainNumbers(t fataler, v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			t.Fatalf("number %s: %v", v, err)
		}
		return f
	case map[string]any:
		for key, e := range v {
			v[key] = plainNumbers(t, e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainNumbers(t, e)
		}
	}
	return v
}
