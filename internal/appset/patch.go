package appset

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

var patchPath = Path{"spec", "templatePatch"}

const (
	// maxPatch is how long a rendered patch may be, in bytes.
	maxPatch = 1 << 20
	// maxPatchesKept is how many bytes of rendered patches are kept read: many elements have the same one.
	maxPatchesKept = 4 << 20
)

// patchText is a rendered patch that has been read.
type patchText struct {
	// tree is nil when the patch says nothing.
	tree   map[string]any
	issues Issues
}

// patchShape is what a patch may say. Argo CD ignores the rest of metadata, and writes an operation
// with every update (createOrUpdateInCluster in applicationset/controllers, Argo CD 3.6.1).
var patchShape = object(fields{
	"apiVersion": text(),
	"kind":       text(),
	"metadata":   templateShape.fields["metadata"],
	"spec":       specShape,
}).refusing(map[string]string{
	"operation": "the provider itself starts the operations of a rollout. Remove the field.",
	"status":    "Argo CD reports it, and ignores what a patch says. Remove the field.",
})

// decodeTemplatePatch checks the text of templatePatch, as far as that is possible without an element.
func (s *Set) decodeTemplatePatch(v any, at Path, issues *Issues) {
	s.patchUnknown = IsUnknown(v)
	s.TemplatePatch, _ = v.(string)
	switch {
	case s.unknown || s.TemplatePatch == "":
	case isTemplated(s.TemplatePatch):
		s.checkTemplate(at, s.TemplatePatch, issues)
	default:
		for _, issue := range readPatch(s.TemplatePatch).issues {
			issues.fail(at, issue.Summary, fmt.Sprintf("%s: %s", issue.Path, issue.Detail))
		}
	}
}

// readPatch reads a rendered patch as Argo CD does (applyTemplatePatch in
// applicationset/controllers/template/patch.go, 3.6.1): YAML, or JSON if it starts with "{". An empty
// text says nothing. Other than there, a field that an Application does not have is an error.
func readPatch(text string) patchText {
	tree, err := patchTree(text)
	out := patchText{tree: tree}
	if err != nil {
		out.issues.fail(Path{"templatePatch"}, SummaryInvalidPatch, err.Error()+".")
		return out
	}
	checkPatch(patchShape, nil, tree, &out.issues)
	return out
}

func patchTree(text string) (map[string]any, error) {
	if len(text) > maxPatch {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPatch)
	}
	data := []byte(text)
	isJSON := strings.HasPrefix(strings.TrimSpace(text), "{")
	if !isJSON {
		if err := boundYAML(data); err != nil {
			return nil, fmt.Errorf("it is not valid YAML: %w", err)
		}
		if strings.Contains(text, "---") {
			if _, count := onlyDocument(data); count > 1 {
				return nil, fmt.Errorf("it holds %d YAML documents; Argo CD would use the first only", count)
			}
		}
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, fmt.Errorf("it is not valid YAML: %w", err)
		}
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("it starts with {, so that it is read as JSON, and is not valid: %w", err)
	}
	tree, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("it must be an object, a part of an Application, but is %s", describe(v))
	}
	return tree, nil
}

// patched applies templatePatch to what the template has rendered to. Everything is Unknown after an
// error, and where the patch is: it may change any field.
func (r *renderer) patched(metadata, spec any) (any, any) {
	if r.set.TemplatePatch == "" && !r.set.patchUnknown {
		return metadata, spec
	}
	patch, known := r.patch()
	if !known {
		return Unknown, Unknown
	}
	if patch == nil {
		return metadata, spec
	}
	project := fieldOf(spec, "project")
	original := map[string]any{"metadata": metadata, "spec": spec}
	result, err := mergePatch(original, patch)
	if err != nil {
		r.errorf(patchPath, SummaryInvalidPatch, "the patch cannot be applied: %s.", strings.TrimSpace(err.Error()))
		return Unknown, Unknown
	}
	for _, missing := range missingFields(patchShape, nil, result) {
		r.errorf(patchPath, SummaryMissingField, "with the patch, %s is missing.", missing)
	}
	return nullAsEmpty(result["metadata"]), withProject(nullAsEmpty(result["spec"]), project)
}

// patch renders and reads the patch; nil when it says nothing, false when it is not known.
func (r *renderer) patch() (map[string]any, bool) {
	if r.set.patchUnknown {
		return nil, false
	}
	r.root = patchPath
	rendered, known := r.text(r.set.TemplatePatch).(string)
	r.root = nil
	if !known {
		return nil, false
	}
	patch, kept := r.patches[rendered]
	if !kept {
		patch = readPatch(rendered)
		if r.patches == nil {
			r.patches = map[string]patchText{}
		}
		if r.patchesKept += len(rendered); r.patchesKept <= maxPatchesKept {
			r.patches[rendered] = patch
		}
	}
	for _, issue := range patch.issues {
		r.errorf(patchPath, issue.Summary, "the patch renders to %s. %s: %s", quoteShort(rendered), issue.Path, issue.Detail)
	}
	if len(patch.issues) > 0 || patch.tree == nil {
		return nil, len(patch.issues) == 0
	}
	if !r.bear(mapWeight(0)*strings.Count(rendered, "{") + fieldWeight*(strings.Count(rendered, ",")+strings.Count(rendered, "\n"))) {
		return nil, false
	}
	tree, _ := cloneTree(patch.tree).(map[string]any) // merging changes it
	return tree, true
}

// mergePatch merges as Kubernetes does with the Go structs of Argo CD. It changes both arguments.
func mergePatch(original, patch map[string]any) (out map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a directive in it is not valid: %v", p)
		}
	}()
	stored(patchShape, original)
	sidestep(original, patch)
	return strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(original, patch, patchMeta{shape: patchShape})
}

// stored gives an Application the form that it has in JSON at Argo CD, as far as that makes a
// difference to a directive: an empty map is not there, and the destination always is.
func stored(s *shape, m map[string]any) {
	for key, v := range m {
		field, inner := s.fields[key], map[string]any(nil)
		if inner, _ = v.(map[string]any); inner == nil || field == nil {
			continue
		}
		switch {
		case field.kind == kindObject:
			stored(field, inner)
		case len(inner) == 0 && !field.keepZero:
			delete(m, key)
		}
	}
	if s == specShape && m["destination"] == nil {
		m["destination"] = map[string]any{}
	}
}

// Directives of strategic merge patches.
const (
	directive       = "$patch"
	retainDirective = "$retainKeys"
	orderPrefix     = "$setElementOrder/"
	deletePrefix    = "$deleteFromPrimitiveList/"
)

// listDirective is the list that a directive is for.
func listDirective(key string) (list string, ok bool) {
	for _, prefix := range []string{orderPrefix, deletePrefix} {
		if list, ok := strings.CutPrefix(key, prefix); ok {
			return list, true
		}
	}
	return key, false
}

// sidestep takes out of the patch what would be merged with an Unknown. The result is Unknown there.
func sidestep(original, patch map[string]any) {
	if patch[directive] != nil {
		return // the patch takes the place of all
	}
	for key, v := range patch {
		list, isDirective := listDirective(key)
		inner, isObject := v.(map[string]any)
		_, isList := v.([]any)
		merged := isDirective || isObject || isList && list == "finalizers"
		switch before := original[list].(type) {
		case unknown:
			if merged {
				delete(patch, key)
			}
		case []any:
			if merged && ContainsUnknown(before) {
				original[list] = Unknown
				delete(patch, key)
			}
		case map[string]any:
			if isObject {
				sidestep(before, inner)
			}
		}
	}
}

// patchMeta tells package strategicpatch how the fields of an Application are merged: as the struct
// tags in pkg/apis/application/v1alpha1/types.go of Argo CD 3.6.1, and those of ObjectMeta, say.
// There, only finalizers are merged; every other list is replaced.
type patchMeta struct{ shape *shape }

func (p patchMeta) Name() string { return p.shape.String() }

func (p patchMeta) field(key string) (*shape, error) {
	if p.shape.kind == kindObject && p.shape.fields[key] != nil {
		return p.shape.fields[key], nil
	}
	return nil, fmt.Errorf("%q is an object or a list inside of helm.valuesObject, in the template and in the patch, and Argo CD cannot merge these. "+
		"Give the whole of valuesObject in one of them, or start it with $patch: replace in the patch", key)
}

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (p patchMeta) LookupPatchMetadataForStruct(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	field, err := p.field(key)
	return patchMeta{field}, strategicpatch.PatchMeta{}, err
}

// LookupPatchMetadataForSlice implements strategicpatch.LookupPatchMeta.
func (p patchMeta) LookupPatchMetadataForSlice(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	var meta strategicpatch.PatchMeta
	field, err := p.field(key)
	if err != nil {
		return nil, meta, err
	}
	if field.kind != kindList {
		return nil, meta, errors.New(key + " is not a list")
	}
	if p.shape == patchShape.fields["metadata"] && key == "finalizers" {
		meta.SetPatchStrategies([]string{"merge"})
	}
	return patchMeta{field.elem}, meta, nil
}

func fieldOf(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

func nullAsEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// withProject puts the project back that the template gave: a patch cannot change it.
func withProject(spec, project any) any {
	m, ok := spec.(map[string]any)
	if !ok {
		return spec
	}
	if delete(m, "project"); project != nil {
		m["project"] = project
	}
	return m
}
