package appset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Hash identifies what is deployed by an Application: 8 hex digits over its
// normalised spec and those of the managed labels and annotations that it has.
// It is one function for live and rendered objects; status, operation,
// finalizers and every other label and annotation make no difference, nor does
// the order of keys, or whether a number is held by an int64 or a float64.
//
// It is "" while the spec or a managed label or annotation holds an Unknown.
func Hash(object map[string]any, managedLabels, managedAnnotations []string) string {
	metadata, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	tree := map[string]any{
		"spec":        Normalize(spec),
		"labels":      pick(metadata["labels"], managedLabels),
		"annotations": pick(metadata["annotations"], managedAnnotations),
	}
	if IsUnknown(object["spec"]) || ContainsUnknown(tree) {
		return ""
	}
	sum := sha256.Sum256(appendCanonical(nil, tree))
	return hex.EncodeToString(sum[:4])
}

// HashRendered is Hash with all labels and annotations of a rendered object managed.
func HashRendered(object map[string]any) string {
	labels, annotations, known := keysOf(object)
	if !known {
		return ""
	}
	return Hash(object, labels, annotations)
}

// keysOf are the keys of the labels and annotations of a rendered object, unless they are Unknown.
func keysOf(object map[string]any) (labels, annotations []string, known bool) {
	metadata, _ := object["metadata"].(map[string]any)
	if IsUnknown(metadata["labels"]) || IsUnknown(metadata["annotations"]) {
		return nil, nil, false
	}
	return sortedKeys(asObject(metadata["labels"])), sortedKeys(asObject(metadata["annotations"])), true
}

func pick(v any, keys []string) any {
	if IsUnknown(v) {
		return v
	}
	m, _ := v.(map[string]any)
	out := map[string]any{}
	for _, key := range keys {
		if value, ok := m[key]; ok && value != nil {
			out[key] = value
		}
	}
	return out
}

// appendCanonical appends JSON with sorted keys and one spelling of every number.
func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, key), ':')
			out = appendCanonical(out, v[key])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, e)
		}
		return append(out, ']')
	case string:
		return appendText(out, v)
	case bool:
		return strconv.AppendBool(out, v)
	case nil:
		return append(out, "null"...)
	}
	return append(out, numberText(v)...)
}

// appendText appends a JSON string; plain ASCII, which is nearly everything,
// needs no escaping.
func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(s) // cannot fail on a string
			return append(out, data...)
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}
