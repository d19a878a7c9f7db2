package appset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

type unknown struct{}

// Unknown stands at any place of a tree whose value Terraform does not know
// yet. It is comparable: v == any(Unknown) and IsUnknown(v) are the same.
var Unknown unknown

func (unknown) String() string { return "(known after apply)" }

// MarshalJSON always fails: an unknown that reaches the wire is a defect.
func (unknown) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a value that is not known yet cannot be written")
}

// IsUnknown reports whether v itself is Unknown.
func IsUnknown(v any) bool {
	_, ok := v.(unknown)
	return ok
}

// ContainsUnknown reports whether v is Unknown or holds an Unknown anywhere.
func ContainsUnknown(v any) bool {
	switch v := v.(type) {
	case unknown:
		return true
	case map[string]any:
		for _, e := range v {
			if ContainsUnknown(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, ContainsUnknown)
	}
	return false
}

// Path leads to a place in a tree: a string is a key (camelCase, as in the
// CRD), an int an index. A path of an ApplicationSet starts with "spec".
type Path []any

// String writes a path as spec.strategy.rollingSync.steps[1].maxUpdate; a key
// that is not a plain word is written as labels["app.kubernetes.io/name"].
func (p Path) String() string {
	var b strings.Builder
	for _, part := range p {
		switch part := part.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", part)
		case string:
			if !plainKey(part) {
				fmt.Fprintf(&b, "[%q]", part)
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(part)
		}
	}
	return b.String()
}

func plainKey(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return s != ""
}

// With returns the path one or more parts further down. The receiver stays as it is.
func (p Path) With(parts ...any) Path {
	out := make(Path, 0, len(p)+len(parts))
	return append(append(out, p...), parts...)
}

// comparePaths orders keys as text and indices by number, an index before a key.
func comparePaths(a, b Path) int {
	return slices.CompareFunc(a, b, func(x, y any) int {
		xi, xIsIndex := x.(int)
		yi, yIsIndex := y.(int)
		switch {
		case xIsIndex && yIsIndex:
			return xi - yi
		case xIsIndex:
			return -1
		case yIsIndex:
			return 1
		}
		xs, _ := x.(string)
		ys, _ := y.(string)
		return strings.Compare(xs, ys)
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// cloneTree copies maps and lists; leaves are immutable.
func cloneTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneTree(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneTree(e)
		}
		return out
	case []map[string]any: // the clusters of a flat list
		out := make([]map[string]any, len(v))
		for i, e := range v {
			out[i], _ = cloneTree(e).(map[string]any)
		}
		return out
	}
	return v
}

// describe names the kind of a value as a reader of YAML or HCL would.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + quoteShort(v)
	case bool:
		return fmt.Sprintf("the bool %v", v)
	case float64, int64, int:
		return "the number " + numberText(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case unknown:
		return "a value that is not known yet"
	}
	return fmt.Sprintf("a value of type %T", v)
}

// quoteShort quotes a string for a message and cuts a long one.
func quoteShort(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return strconv.Quote(string(r[:most])) + "..."
	}
	return strconv.Quote(s)
}

func isNumber(v any) bool {
	switch v.(type) {
	case float64, int64, int:
		return true
	}
	return false
}

// wholeNumber returns v as an integer when it is one, whatever Go type holds it.
func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), true
		}
	}
	return 0, false
}

// numberText writes a number as encoding/json would, and the same number held
// by an int64 and by a float64 the same way: that is also what survives a trip
// through the API server.
func numberText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case int:
		return strconv.Itoa(v)
	case float64:
		if v == 0 {
			return "0"
		}
		if abs := math.Abs(v); abs < 1e-6 || abs >= 1e21 {
			return strconv.FormatFloat(v, 'e', -1, 64)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
