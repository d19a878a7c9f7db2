package appset

import (
	"maps"
	"slices"
	"strconv"
)

// Normalize returns the form of an Application spec in which two specs that
// Argo CD takes for the same are the same: absent for null and for every empty
// value that says nothing, the default project, no source options that Argo CD
// itself drops (NormalizeApplicationSpec in util/argo, Argo CD 3.6.1). A client
// that rewrites the object through Argo CD's Go structs makes no difference.
// Whole numbers are int64, as client-go reads them, so that two normalised specs
// can be compared with reflect.DeepEqual; otherwise the content of
// helm.valuesObject is kept as it is. The argument is not changed.
func Normalize(spec map[string]any) map[string]any {
	out, _ := normalize(specShape, spec).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	if _, ok := out["project"]; !ok {
		out["project"] = "default"
	}
	if source, ok := out["source"].(map[string]any); ok {
		if normalizeSource(source); len(source) == 0 {
			delete(out, "source")
		}
	}
	sources, _ := out["sources"].([]any)
	for _, v := range sources {
		if source, ok := v.(map[string]any); ok {
			normalizeSource(source)
		}
	}
	return out
}

// Kept returns spec without the blocks that Argo CD takes off an Application because they say
// nothing: syncPolicy, and kustomize, helm and directory of its source (NormalizeApplicationSpec in
// util/argo, Argo CD 3.2.11 to 3.6.1). It does so with a request of its own after every write that
// brings them back, and compares the Application once more. All else is as in spec, which is not
// changed: the API server requires fields that may be empty, and an empty block in one of several
// sources says of which kind it is to Argo CD up to 3.5.0, which leaves it there.
func Kept(spec map[string]any) map[string]any {
	normal, out := Normalize(spec), maps.Clone(spec)
	dropAbsent(out, normal, "syncPolicy")
	if sources, _ := spec["sources"].([]any); len(sources) > 0 {
		return out
	}
	if source, ok := spec["source"].(map[string]any); ok {
		source = maps.Clone(source)
		kept, _ := normal["source"].(map[string]any)
		dropAbsent(source, kept, "kustomize", "helm", "directory")
		out["source"] = source
	}
	return out
}

// dropAbsent deletes those of keys from m that normal does not have.
func dropAbsent(m, normal map[string]any, keys ...string) {
	for _, key := range keys {
		if _, ok := normal[key]; !ok {
			delete(m, key)
		}
	}
}

// kustomizeNotCounted are options that Argo CD does not look at when it decides
// that a kustomize block is empty and drops it.
var kustomizeNotCounted = []string{
	"forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst", "labelWithoutSelector", "labelIncludeTemplates",
}

func normalizeSource(source map[string]any) {
	kustomize, ok := source["kustomize"].(map[string]any)
	if !ok {
		return
	}
	for key := range kustomize {
		if !slices.Contains(kustomizeNotCounted, key) {
			return
		}
	}
	delete(source, "kustomize")
}

// normalize returns nil for what is the same as absent. A value of a kind that
// the shape does not expect, or with a nil shape, is treated by its own kind.
func normalize(s *shape, v any) any {
	keep := s != nil && s.keepZero
	switch v := v.(type) {
	case string:
		if v == "" && !keep {
			return nil
		}
	case bool:
		if !v && !keep {
			return nil
		}
	case float64, int64, int:
		n := canonicalNumber(v)
		if n == int64(0) && !keep {
			return nil
		}
		return n
	case []any:
		if len(v) == 0 && !keep {
			return nil
		}
		return normalizeList(s, v)
	case map[string]any:
		out := normalizeMap(s, v)
		if len(out) == 0 && !keep {
			return nil
		}
		return out
	}
	return v
}

// normalizeList keeps every entry: its place has a meaning.
func normalizeList(s *shape, l []any) []any {
	var elem *shape
	if s != nil && s.kind == kindList {
		elem = s.elem
	}
	out := make([]any, len(l))
	for i, e := range l {
		switch e := e.(type) {
		case map[string]any:
			out[i] = normalizeMap(elem, e)
		default:
			out[i] = canonicalNumbers(e)
		}
	}
	return out
}

func normalizeMap(s *shape, m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		if s != nil && s.kind == kindMap {
			if v != nil || s.elem.kind == kindFree {
				out[key] = canonicalNumbers(v)
			}
			continue
		}
		var field *shape
		if s != nil {
			field = s.fields[key]
		}
		if n := normalize(field, v); n != nil {
			out[key] = n
		}
	}
	return out
}

// canonicalNumbers copies a tree; whole numbers are int64 in the copy.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = canonicalNumbers(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = canonicalNumbers(e)
		}
		return out
	case float64, int:
		return canonicalNumber(v)
	}
	return v
}

// canonicalNumber goes by the text of the number in JSON, as the API server does:
// of a large float64 that is not the same as converting it.
func canonicalNumber(v any) any {
	if n, ok := v.(int64); ok {
		return n
	}
	if n, err := strconv.ParseInt(numberText(v), 10, 64); err == nil {
		return n
	}
	return v
}
