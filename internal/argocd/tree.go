package argocd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Reading generic JSON: what is absent, or of another type, is the zero value.

func at(m map[string]any, path ...string) any {
	var v any = m
	for _, key := range path {
		inner, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = inner[key]
	}
	return v
}

func dict(m map[string]any, path ...string) map[string]any {
	v, _ := at(m, path...).(map[string]any)
	return v
}

func list(m map[string]any, path ...string) []any {
	v, _ := at(m, path...).([]any)
	return v
}

func text(m map[string]any, path ...string) string {
	v, _ := at(m, path...).(string)
	return v
}

func truth(m map[string]any, path ...string) bool {
	v, _ := at(m, path...).(bool)
	return v
}

func number(m map[string]any, path ...string) int64 {
	switch v := at(m, path...).(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case int:
		return int64(v)
	}
	return 0
}

// texts are the strings of a list; nil when it is empty.
func texts(m map[string]any, path ...string) []string {
	var out []string
	for _, v := range list(m, path...) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// objects are the maps of a list.
func objects(m map[string]any, path ...string) []map[string]any {
	var out []map[string]any
	for _, v := range list(m, path...) {
		if o, ok := v.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// clone is a deep copy in the types that unstructured objects may hold.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	case int:
		return int64(v)
	}
	return runtime.DeepCopyJSONValue(v)
}

func cloneDict(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	return clone(m).(map[string]any)
}

// resourceName is how a Kubernetes object is named in messages: "apps/Deployment ns/name".
func resourceName(r map[string]any) string {
	kind, name := text(r, "kind"), text(r, "name")
	if group := text(r, "group"); group != "" {
		kind = group + "/" + kind
	}
	if ns := text(r, "namespace"); ns != "" {
		name = ns + "/" + name
	}
	return fmt.Sprintf("%s %s", kind, name)
}

// sortedCopy returns the distinct strings in order.
func sortedCopy(s []string) []string {
	seen := map[string]bool{}
	for _, v := range s {
		seen[v] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// sentence joins the parts that are not empty.
func sentence(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}
