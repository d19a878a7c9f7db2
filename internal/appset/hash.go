package appset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
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
	sum := sha256.New()
	writeCanonical(sum, tree)
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// HashRendered is Hash with all labels and annotations of a rendered object managed.
func HashRendered(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	if IsUnknown(metadata["labels"]) || IsUnknown(metadata["annotations"]) {
		return ""
	}
	labels, _ := metadata["labels"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return Hash(object, sortedKeys(labels), sortedKeys(annotations))
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

// writeCanonical writes JSON with sorted keys and one spelling of every number.
func writeCanonical(w hash.Hash, v any) {
	switch v := v.(type) {
	case map[string]any:
		io.WriteString(w, "{")
		for i, key := range sortedKeys(v) {
			if i > 0 {
				io.WriteString(w, ",")
			}
			writeCanonical(w, key)
			io.WriteString(w, ":")
			writeCanonical(w, v[key])
		}
		io.WriteString(w, "}")
	case []any:
		io.WriteString(w, "[")
		for i, e := range v {
			if i > 0 {
				io.WriteString(w, ",")
			}
			writeCanonical(w, e)
		}
		io.WriteString(w, "]")
	case float64, int64, int:
		io.WriteString(w, numberText(v))
	default:
		// nil, bool and string: encoding/json cannot fail on them.
		data, _ := json.Marshal(v)
		w.Write(data)
	}
}
