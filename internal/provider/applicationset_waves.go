package provider

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// waves is the attribute of that name: step label -> Application -> leaf.
type waves struct {
	// unknown: not even the steps are known.
	unknown bool
	steps   map[string]*wave
}

// wave is one step.
type wave struct {
	// unknown: it is not known which Applications are in it.
	unknown bool
	// leaves are the targets; an empty one is not known yet.
	leaves map[string]string
}

func newWaves() waves { return waves{steps: map[string]*wave{}} }

func (w waves) step(label string) *wave {
	s := w.steps[label]
	if s == nil {
		s = &wave{leaves: map[string]string{}}
		w.steps[label] = s
	}
	return s
}

// open are the labels of the steps of which it is not known what is in them.
func (w waves) open() map[string]bool {
	labels := map[string]bool{}
	for label, s := range w.steps {
		if s.unknown {
			labels[label] = true
		}
	}
	return labels
}

// value is the attribute's value.
func (w waves) value() types.Map {
	if w.unknown {
		return types.MapUnknown(waveType)
	}
	steps := make(map[string]attr.Value, len(w.steps))
	for label, s := range w.steps {
		if s.unknown {
			steps[label] = types.MapUnknown(types.StringType)
			continue
		}
		leaves := make(map[string]attr.Value, len(s.leaves))
		for name, leaf := range s.leaves {
			if leaf == "" {
				leaves[name] = types.StringUnknown()
			} else {
				leaves[name] = types.StringValue(leaf)
			}
		}
		steps[label] = types.MapValueMust(types.StringType, leaves)
	}
	return types.MapValueMust(waveType, steps)
}

// wavesOf reads the attribute's value; null is no waves.
func wavesOf(v types.Map) waves {
	w := newWaves()
	w.unknown = v.IsUnknown()
	for label, e := range v.Elements() {
		inner, ok := e.(types.Map)
		if !ok {
			continue
		}
		s := w.step(label)
		s.unknown = inner.IsUnknown()
		for name, leaf := range inner.Elements() {
			s.leaves[name] = stringOf(leaf)
		}
	}
	return w
}

// labels maps each Application to its step.
func (w waves) labels() map[string]string {
	of := map[string]string{}
	for label, s := range w.steps {
		for name := range s.leaves {
			of[name] = label
		}
	}
	return of
}

// names are all Applications, sorted.
func (w waves) names() []string { return slices.Sorted(maps.Keys(w.labels())) }

// leaf is that of an Application in a step; empty when it is not there or not known.
func (w waves) leaf(label, name string) string {
	s := w.steps[label]
	if s == nil {
		return ""
	}
	return s.leaves[name]
}
