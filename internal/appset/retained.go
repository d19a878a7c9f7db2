package appset

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// Retained is what others may change on the Applications of a set: preservedFields and
// ignoreApplicationDifferences. A difference there is none, and what is live there is kept when
// something else changes. A nil Retained retains nothing; all methods take it. It is read only.
type Retained struct {
	// Labels and Annotations are keys whose live values are kept.
	Labels, Annotations []string
	ignored             []ignoredDifference
}

// ignoredDifference is one entry of ignoreApplicationDifferences.
type ignoredDifference struct {
	// app is the name of the only Application it is for; empty for all.
	app      string
	pointers []jsonPointer
	queries  []*gojq.Code
}

// jsonPointer is a JSON pointer, unescaped.
type jsonPointer []string

// queryTimeout ends a jq expression, as in Argo CD (DefaultJQExecutionTimeout in
// util/argo/normalizers, 3.6.1).
const queryTimeout = time.Second

// document is the part of an Application that rules may name, as a copy of plain JSON. A spec has its
// normal form there, as Argo CD compares it (CreateOrUpdate in applicationset/utils, 3.6.1).
func document(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	about := map[string]any{}
	for _, key := range []string{"name", "namespace", "labels", "annotations", "finalizers"} {
		if v := plainJSON(metadata[key]); v != nil {
			about[key] = v
		}
	}
	return map[string]any{
		"apiVersion": APIVersion,
		"kind":       "Application",
		"metadata":   about,
		"spec":       plainJSON(Normalize(spec)),
	}
}

// plainJSON copies a tree for package gojq, which knows int but not int64.
func plainJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plainJSON(e)
		}
		return out
	case map[string]string:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = e
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainJSON(e)
		}
		return out
	case int64:
		return int(v)
	}
	return v
}

// bare is a document without what is ignored in it. Rules are applied one after the other, each to
// what the ones before have left; one that does not apply to it is skipped (NewIgnoreNormalizer in
// util/argo/normalizers, Argo CD 3.6.1). It is another copy.
func (r *Retained) bare(doc map[string]any) map[string]any {
	out, _ := cloneTree(doc).(map[string]any)
	name := fieldOf(doc["metadata"], "name")
	for _, rule := range r.ignored {
		if rule.app != "" && rule.app != name {
			continue
		}
		for _, pointer := range rule.pointers {
			pointer.remove(out)
		}
		for _, query := range rule.queries {
			if result, ok := runQuery(query, out); ok {
				out = result
			}
		}
	}
	return out
}

// bareSpec is the spec of a bare document in its normal form: an object of which nothing is left is
// ignored as a whole (applyIgnoreDifferences in applicationset/utils, Argo CD 3.6.1).
func bareSpec(bare map[string]any) any {
	spec, ok := bare["spec"].(map[string]any)
	if !ok {
		return nil
	}
	out := asObject(plainJSON(Normalize(spec)))
	if _, compared := spec["project"]; !compared {
		delete(out, "project")
	}
	return out
}

// remove takes out of a document what the pointer leads to, if it leads anywhere.
func (p jsonPointer) remove(doc any) {
	parent, last := doc, p[len(p)-1]
	var put func(any) // puts a shortened list in the place of the parent
	for _, part := range p[:len(p)-1] {
		switch at := parent.(type) {
		case map[string]any:
			parent, put = at[part], func(v any) { at[part] = v }
		case []any:
			i, ok := listIndex(part, len(at))
			if !ok {
				return
			}
			parent, put = at[i], func(v any) { at[i] = v }
		default:
			return
		}
	}
	switch at := parent.(type) {
	case map[string]any:
		delete(at, last)
	case []any:
		if i, ok := listIndex(last, len(at)); ok && put != nil {
			put(slices.Delete(at, i, i+1))
		}
	}
}

// listIndex reads an index; a negative one counts from the end.
func listIndex(text string, length int) (int, bool) {
	i, err := strconv.Atoi(text)
	if i < 0 {
		i += length
	}
	return i, err == nil && i >= 0 && i < length
}

// runQuery runs del(...), which must give one object.
func runQuery(query *gojq.Code, doc map[string]any) (map[string]any, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	results := query.RunWithContext(ctx, doc)
	first, some := results.Next()
	out, ok := first.(map[string]any)
	if !some || !ok {
		return nil, false
	}
	_, more := results.Next()
	return out, !more
}

// keepsAnything tells that a rule or a key could make a difference.
func (r *Retained) keepsAnything() bool {
	return r != nil && len(r.Labels)+len(r.Annotations)+len(r.ignored) > 0
}

// Hash is [Hash] without what is retained.
func (r *Retained) Hash(object map[string]any, managedLabels, managedAnnotations []string) string {
	if !r.keepsAnything() {
		return Hash(object, managedLabels, managedAnnotations)
	}
	metadata, _ := object["metadata"].(map[string]any)
	if IsUnknown(metadata["labels"]) || IsUnknown(metadata["annotations"]) || ContainsUnknown(object["spec"]) ||
		ContainsUnknown(metadata["labels"]) || ContainsUnknown(metadata["annotations"]) {
		return ""
	}
	if len(r.ignored) > 0 {
		object = r.bare(document(object))
	}
	return Hash(object, without(managedLabels, r.Labels), without(managedAnnotations, r.Annotations))
}

// HashRendered is [HashRendered] without what is retained.
func (r *Retained) HashRendered(object map[string]any) string {
	labels, annotations, known := keysOf(object)
	if !known {
		return ""
	}
	return r.Hash(object, labels, annotations)
}

func without(keys, dropped []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(dropped, key) })
}

// Effective is the rendered Application as it is to be written over a live one: with the live values
// of what is retained. Neither is changed.
//
// Argo CD writes lists as a whole, without what it ignores inside of them. So when anything else in a
// list differs, that is lost there; here it is kept as long as both lists have the same number of
// entries, and otherwise as rendered.
func (r *Retained) Effective(live, rendered map[string]any) map[string]any {
	if !r.keepsAnything() || live == nil || ContainsUnknown(rendered) {
		return rendered
	}
	out := maps.Clone(rendered)
	metadata, _ := rendered["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	out["metadata"] = metadata
	have, want := document(live), document(rendered)
	bareHave, bareWant := have, want
	if len(r.ignored) > 0 {
		bareHave, bareWant = r.bare(have), r.bare(want)
	}
	for key, preserved := range map[string][]string{"labels": r.Labels, "annotations": r.Annotations} {
		ours, given := metadata[key].(map[string]any)
		if !given {
			continue
		}
		metadata[key] = retainKeys(ours, preserved, textMap(have, key), textMap(bareWant, key))
	}
	if _, wanted := want["metadata"].(map[string]any)["finalizers"]; wanted && fieldOf(bareWant["metadata"], "finalizers") == nil {
		delete(metadata, "finalizers")
	}
	if len(r.ignored) > 0 {
		if spec := overlay(have["spec"], bareSpec(bareHave), want["spec"], bareSpec(bareWant)); !reflect.DeepEqual(spec, want["spec"]) {
			out["spec"] = canonicalNumbers(spec)
		}
	}
	return out
}

func textMap(doc map[string]any, key string) map[string]any {
	m, _ := fieldOf(doc["metadata"], key).(map[string]any)
	return m
}

// retainKeys is a map of labels or annotations with the live values of the keys that are preserved or
// ignored. A preserved key that is not there is written; an ignored one is not.
func retainKeys(rendered map[string]any, preserved []string, live, bareRendered map[string]any) map[string]any {
	out := make(map[string]any, len(rendered))
	for key, v := range rendered {
		now, exists := live[key]
		_, compared := bareRendered[key]
		switch {
		case exists && (slices.Contains(preserved, key) || !compared):
			out[key] = now
		case compared:
			out[key] = v
		}
	}
	return out
}

// overlay is what is rendered, with the live values of what is ignored. bareLive and bareWant are the
// same without that.
func overlay(live, bareLive, want, bareWant any) any {
	switch want := want.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			return overlayFields(live, asObject(bareLive), want, asObject(bareWant))
		}
	case []any:
		live, ok := live.([]any)
		bareLive, bareWant := asList(bareLive), asList(bareWant)
		switch {
		case !ok:
		case reflect.DeepEqual(bareLive, bareWant):
			return live
		case len(live) == len(want) && len(bareLive) == len(live) && len(bareWant) == len(want):
			out := make([]any, len(want))
			for i := range want {
				out[i] = overlay(live[i], bareLive[i], want[i], bareWant[i])
			}
			return out
		}
	}
	return want
}

func overlayFields(live, bareLive, want, bareWant map[string]any) map[string]any {
	out := map[string]any{}
	for key := range want {
		if bare, compared := bareWant[key]; compared {
			out[key] = fresh(want[key], bare)
		}
	}
	for key, now := range live {
		bareNow, compared := bareLive[key]
		bareNew, wanted := bareWant[key]
		desired, rendered := want[key]
		before, isObject := now.(map[string]any)
		after, both := desired.(map[string]any)
		switch {
		case !wanted && !compared:
			out[key] = now // ignored
		case isObject && both:
			out[key] = overlayFields(before, asObject(bareNow), after, asObject(bareNew))
		case wanted && compared:
			out[key] = overlay(now, bareNow, desired, bareNew)
		case rendered && !wanted:
			out[key] = now
		}
	}
	return out
}

// fresh is what is rendered where nothing is live yet: without what is ignored, which stays absent,
// but for lists, which are as rendered.
func fresh(want, bareWant any) any {
	m, ok := want.(map[string]any)
	if !ok {
		return want
	}
	bare, out := asObject(bareWant), map[string]any{}
	for key, v := range m {
		if b, compared := bare[key]; compared {
			out[key] = fresh(v, b)
		}
	}
	return out
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// unescapePointer reads a JSON pointer (RFC 6901).
func unescapePointer(text string) jsonPointer {
	parts := strings.Split(text, "/")[1:]
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

// Sources are the sources of a rendered Application as it is to be written over a live one that has
// these: with the live values of what is ignored. Only repoURL, chart, targetRevision and tagPrefix of live count.
func (r *Retained) Sources(rendered map[string]any, live []Source) []Source {
	want := SourcesOf(asObject(rendered["spec"]))
	if r == nil || len(r.ignored) == 0 || len(live) != len(want) || ContainsUnknown(rendered) {
		return want
	}
	was := asObject(cloneTree(rendered))
	entries := asList(fieldOf(was["spec"], "sources"))
	if len(entries) == 0 {
		entries = []any{fieldOf(was["spec"], "source")}
	}
	revision := "targetRevision"
	if hydrator := fieldOf(was["spec"], "sourceHydrator"); hydrator != nil {
		entries, revision = []any{fieldOf(hydrator, "syncSource")}, "targetBranch"
	}
	for i, entry := range entries {
		source := asObject(entry)
		for key, values := range map[string][2]string{
			"repoURL":   {live[i].RepoURL, want[i].RepoURL},
			"chart":     {live[i].Chart, want[i].Chart},
			"tagPrefix": {live[i].TagPrefix, want[i].TagPrefix},
			revision:    {live[i].TargetRevision, want[i].TargetRevision},
		} {
			if source != nil && values[0] != values[1] {
				source[key] = values[0]
			}
		}
	}
	return SourcesOf(asObject(r.Effective(was, rendered)["spec"]))
}
