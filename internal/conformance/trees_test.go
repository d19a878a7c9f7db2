package conformance

import (
	"maps"
	"slices"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func cloneMap(m map[string]any) map[string]any { return maps.Clone(m) }
