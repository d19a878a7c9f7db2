package appset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Set is a decoded, valid ApplicationSet. It is read only.
type Set struct {
	Name, Namespace string
	// GoTemplate selects text/template with the Sprig functions; otherwise
	// only {{parameter}} is replaced.
	GoTemplate bool
	// GoTemplateOptions are options of text/template, such as missingkey=error.
	GoTemplateOptions []string
	Generators        []Generator
	Strategy          Strategy
	// Template holds metadata and spec of the Application template.
	Template map[string]any
	// PreserveResources is syncPolicy.preserveResourcesOnDeletion: no
	// finalizer is added to Applications.
	PreserveResources bool

	// ApplicationsSync is syncPolicy.applicationsSync: what may become of Applications that exist.
	ApplicationsSync ApplicationsSync
	// TemplatePatch is a template text; what it renders to is merged into each Application.
	TemplatePatch string
	// Retained is what others may change on Applications; nil when the set says nothing about that.
	Retained *Retained

	// How to render, whether to keep resources, or the patch, is not known yet.
	unknown, preserveUnknown, patchUnknown bool
}

var setShape = object(fields{
	"generators":        free(),
	"goTemplate":        boolean().noTemplate(),
	"goTemplateOptions": list(text()),
	"strategy":          strategyShape,
	"syncPolicy": object(fields{
		"preserveResourcesOnDeletion": boolean().noTemplate(),
		"applicationsSync":            text(),
	}),
	"template":        templateShape,
	"templatePatch":   text(),
	"preservedFields": object(fields{"labels": list(text()), "annotations": list(text())}),
	"ignoreApplicationDifferences": list(object(fields{
		"name": text(), "jsonPointers": list(text()), "jqPathExpressions": list(text()),
	})),
	"applyNestedSelectors": boolean().noTemplate(), // Argo CD 3.6 reads it no more: nested selectors always apply
})

// Decode checks the spec of an ApplicationSet against everything that can be
// known at plan time and returns the model. The tree is in CRD spelling
// (camelCase); inside generators snake_case is accepted too, where the keys are
// structure and not user data. An Unknown may stand anywhere; what depends on
// it is not checked, and an empty name or namespace is one not known yet. The Set
// is usable only when there are no errors.
func Decode(name, namespace string, spec map[string]any) (*Set, Issues) {
	var issues Issues
	if problems := validation.IsDNS1123Subdomain(name); name != "" && len(problems) > 0 {
		issues.fail(Path{"metadata", "name"}, SummaryInvalidName, fmt.Sprintf("%q cannot be the name of an ApplicationSet: %s.", name, strings.Join(problems, "; ")))
	}
	at := Path{"spec"}
	checked, _ := setShape.check(at, spec, &issues).(map[string]any)
	set := &Set{Name: name, Namespace: namespace}
	set.decodeOptions(checked, at, &issues)
	set.decodeSyncPolicy(checked["syncPolicy"], at.With("syncPolicy"), &issues)
	set.decodeRetained(checked, at, &issues)
	set.Strategy = decodeStrategy(checked["strategy"], at.With("strategy"), &issues)
	if generators, given := checked["generators"]; generators != nil || !given { // nil: refused above
		set.decodeGenerators(generators, at.With("generators"), &issues)
	}
	set.decodeTemplate(checked["template"], at.With("template"), &issues)
	set.decodeTemplatePatch(checked["templatePatch"], at.With("templatePatch"), &issues)
	set.checkNamed(at.With("template"), &issues)
	return set, issues.sorted()
}

func (s *Set) decodeOptions(spec map[string]any, at Path, issues *Issues) {
	s.GoTemplate, _ = spec["goTemplate"].(bool)
	if IsUnknown(spec["goTemplate"]) || ContainsUnknown(spec["goTemplateOptions"]) {
		s.unknown = true
	}
	options, _ := spec["goTemplateOptions"].([]any)
	for i, option := range options {
		text, known := option.(string)
		if !known {
			continue
		}
		switch text {
		case "missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error":
			s.GoTemplateOptions = append(s.GoTemplateOptions, text)
		default:
			issues.fail(at.With("goTemplateOptions", i), SummaryInvalidTemplate, fmt.Sprintf(
				"%q is not an option of Go templates. The options are missingkey=error, missingkey=default, missingkey=invalid and missingkey=zero.", text))
		}
	}
}

func (s *Set) decodeSyncPolicy(v any, at Path, issues *Issues) {
	policy, _ := v.(map[string]any)
	s.unknown = s.unknown || IsUnknown(v) // what becomes of Applications that exist is not known
	s.decodeApplicationsSync(policy["applicationsSync"], at.With("applicationsSync"), issues)
	preserve := policy["preserveResourcesOnDeletion"]
	s.PreserveResources, _ = preserve.(bool)
	s.preserveUnknown = IsUnknown(v) || IsUnknown(preserve)
}

func (s *Set) decodeTemplate(v any, at Path, issues *Issues) {
	if IsUnknown(v) {
		s.unknown = true
		return
	}
	template, given := v.(map[string]any)
	if !given {
		issues.fail(at, SummaryMissingField, "spec.template is missing: it says what every Application looks like.")
		return
	}
	s.Template = template
	if name, _ := fieldOf(template["metadata"], "namespace").(string); name != "" && s.Namespace != "" && name != s.Namespace {
		issues.warn(at.With("metadata", "namespace"), "Namespace ignored", fmt.Sprintf(
			"The Applications live in the namespace of the set, %q; Argo CD ignores %s as well. Remove it.", s.Namespace, at.With("metadata", "namespace")))
	}
	if template["spec"] == nil {
		issues.fail(at.With("spec"), SummaryMissingField, "spec.template.spec is missing.")
	}
	if !s.unknown {
		s.checkTemplates(at, template, issues)
	}
}

// checkNamed reports a template without a name, unless generators or the patch may give one.
func (s *Set) checkNamed(at Path, issues *Issues) {
	if s.Template == nil || s.TemplatePatch != "" || s.patchUnknown || IsUnknown(s.Template["metadata"]) {
		return
	}
	name := fieldOf(s.Template["metadata"], "name")
	own := slices.ContainsFunc(s.Generators, func(g Generator) bool {
		return slices.ContainsFunc(g.parts, func(p part) bool { return p.template != nil })
	})
	if (name == nil || name == "") && !own {
		issues.fail(at.With("metadata", "name"), SummaryMissingField, "spec.template.metadata.name is missing: every Application needs a name of its own.")
	}
}

// checkTemplates parses every template string, so that a bad one is an error
// even when no element renders it.
func (s *Set) checkTemplates(at Path, v any, issues *Issues) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			s.checkTemplate(at.With(key), key, issues)
			s.checkTemplates(at.With(key), v[key], issues)
		}
	case []any:
		for i, e := range v {
			s.checkTemplates(at.With(i), e, issues)
		}
	case string:
		s.checkTemplate(at, v, issues)
	}
}

func (s *Set) checkTemplate(at Path, text string, issues *Issues) {
	if !isTemplated(text) {
		return
	}
	var err error
	if s.GoTemplate {
		err = checkGoTemplate(text, s.GoTemplateOptions)
	} else {
		_, err = parseTags(text)
	}
	if err != nil {
		issues.fail(at, SummaryInvalidTemplate, fmt.Sprintf("The template %s cannot be used: %s.", quoteShort(text), strings.TrimSuffix(err.Error(), ".")))
	}
}
