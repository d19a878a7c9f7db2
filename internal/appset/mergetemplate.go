package appset

// mergeTemplate is the template that the elements of a generator with a template of its own are
// rendered with: what the generator's template says, filled up from spec.template. Both are as
// templateShape.check returns them; neither is changed, and the result shares parts with them.
//
// The rules are those of mergo.Merge without options on Argo CD's Go structs (mergeGeneratorTemplate
// in applicationset/generators/generator_spec_processor.go, Argo CD 3.6.1): objects are merged field
// by field and maps key by key; a list, and helm.valuesObject, is taken as a whole; a value that is
// empty (false, 0, "", an empty list), even where it is not the same as absent, gives way to one
// that is not. What is Unknown could be anything, and so is the result there.
func mergeTemplate(generator, set map[string]any) map[string]any {
	merged, _ := merge(templateShape, generator, set).(map[string]any)
	return merged
}

// merge returns first filled up from second.
func merge(s *shape, first, second any) any {
	switch {
	case first == nil:
		return second
	case second == nil || IsUnknown(first):
		return first
	}
	switch s.kind {
	case kindObject:
		return mergeFields(s, first, second)
	case kindMap:
		if s.elem.kind == kindFree {
			return first // Argo CD keeps it as raw JSON, which is never empty
		}
		return mergeKeys(first, second)
	}
	if isZero(first) && (IsUnknown(second) || !isZero(second)) {
		return second
	}
	return first
}

func mergeFields(s *shape, first, second any) any {
	return mergeMaps(first, second, func(key string, ours, theirs any, _ bool) any { return merge(s.fields[key], ours, theirs) })
}

// mergeKeys merges maps of strings. An empty value gives way to whatever the other map holds.
func mergeKeys(first, second any) any {
	return mergeMaps(first, second, func(_ string, ours, theirs any, both bool) any {
		if both && isZero(ours) {
			return theirs
		}
		return ours
	})
}

// mergeMaps takes what only the second map has, and of each key of the first what one says.
func mergeMaps(first, second any, one func(key string, ours, theirs any, both bool) any) any {
	ours, ok := first.(map[string]any)
	if IsUnknown(second) || !ok {
		return Unknown
	}
	theirs, _ := second.(map[string]any)
	out := make(map[string]any, len(ours)+len(theirs))
	for key, v := range theirs {
		out[key] = v
	}
	for key, v := range ours {
		their, both := theirs[key]
		out[key] = one(key, v, their, both)
	}
	return out
}

// isZero tells an empty value of a leaf or a list. Unknown is not empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case float64, int64, int:
		return numberText(v) == "0"
	}
	return false
}
