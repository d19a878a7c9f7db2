package conformance

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

var snakeCase = regexp.MustCompile(`^spec\.generators\[.*\.[a-z]+(_[a-z]+)+$`)

var partOfGeneratorTemplate = regexp.MustCompile(`^spec\.generators\[.*\.template\.(metadata|spec|spec\.project|spec\.destination) is required$`)

// unstableFunction is a tag that uses one of the functions.
var unstableFunction = regexp.MustCompile(`(?s){{.*\b(now|ago|date|dateInZone|date_in_zone|htmlDate|htmlDateInZone|durationRound|toDate|mustToDate|` +
	`randAlpha|randAlphaNum|randAscii|randNumeric|randBytes|randInt|shuffle|uuidv4|genPrivateKey|genCA|genCAWithKey|` +
	`genSelfSignedCert|genSelfSignedCertWithKey|genSignedCert|genSignedCertWithKey|bcrypt|htpasswd|encryptAES)\b.*}}`)

// countsFar is a tag with a number of more than five digits in it.
var countsFar = regexp.MustCompile(`(?s){{.*\b[0-9]{6,}\b.*}}`)

// rendered are the Applications as a tree, after and before the patch.
func (c *comparison) rendered() any { return []any{asTree(c.oracle.apps), asTree(c.oracle.unpatched)} }

// between are the parameters of all generators on the way, without those that a template was
// rendered with only because they are there: an element may hold any text as long as it is not used.
func (c *comparison) between() any { return asTree(c.oracle.seen.between) }

// asked reports whether a generator was asked with such a text in one of its own fields. Values and
// templates are rendered later.
func (c *comparison) asked(test func(string) bool) bool {
	for _, question := range c.oracle.questions {
		fields, _ := asTree(question).(map[string]any)
		for kind, v := range fields {
			generator, ok := v.(map[string]any)
			if !ok || kind == "matrix" || kind == "merge" || kind == "selector" {
				continue
			}
			delete(generator, "values")
			delete(generator, "template")
			if anyText(generator, test) {
				return true
			}
		}
	}
	return false
}

// selectorHolds reports whether the selector of a generator holds a text: it is taken as it is written.
func (c *comparison) selectorHolds(part string) bool {
	found := false
	c.eachEntry(func(entry map[string]any, _ int) { found = found || anyText(entry["selector"], holds(part)) })
	return found
}

// nullLabel reports whether a selector somewhere in the tree holds a label that is null.
func nullLabel(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if labels, ok := e.(map[string]any); ok && (key == "matchLabels" || key == "match_labels") {
				for _, value := range labels {
					if value == nil {
						return true
					}
				}
			}
			if nullLabel(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, nullLabel)
	}
	return false
}

// nestedTemplate reports whether a generator inside of another one has a template.
func (c *comparison) nestedTemplate() bool {
	found := false
	c.eachEntry(func(entry map[string]any, depth int) {
		for _, v := range entry {
			generator, _ := v.(map[string]any)
			found = found || depth > 0 && generator["template"] != nil
		}
	})
	return found
}

// eachEntry visits the entries of generators in the manifest, and those inside of matrix and merge.
func (c *comparison) eachEntry(visit func(entry map[string]any, depth int)) {
	spec, _ := c.manifest["spec"].(map[string]any)
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		entries, _ := v.([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			visit(entry, depth)
			for _, kind := range []string{"matrix", "merge"} {
				inner, _ := entry[kind].(map[string]any)
				walk(inner["generators"], depth+1)
			}
		}
	}
	walk(spec["generators"], 0)
}

// template is what stands in the manifest's template.
func (c *comparison) template(keys ...string) any {
	var at any = c.manifest
	for _, key := range append([]string{"spec", "template"}, keys...) {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	return at
}

func (c *comparison) anyName(test func(string) bool) bool {
	return slices.ContainsFunc(c.oracle.apps, func(app v1alpha1.Application) bool { return test(app.Name) })
}

// uses reports whether a generator of the kind stands anywhere in the manifest.
func (c *comparison) uses(kind string) bool {
	spec, _ := c.manifest["spec"].(map[string]any)
	return anyText(spec["generators"], func(text string) bool { return text == kind })
}

func impossibleName(name string) bool {
	return len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0
}

// longRelease reports a Helm release name above Helm's limit.
func longRelease(app v1alpha1.Application) bool {
	return slices.ContainsFunc(app.Spec.GetSources(), func(s v1alpha1.ApplicationSource) bool {
		name := app.Name
		if s.Helm != nil && s.Helm.ReleaseName != "" {
			name = s.Helm.ReleaseName
		}
		return (s.Chart != "" || s.Helm != nil) && len(name) > 53
	})
}

func impossibleMetadata(app v1alpha1.Application) bool {
	for key, value := range app.Labels {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 || strings.HasPrefix(key, "argocdprogressive.io/") {
			return true
		}
	}
	reserved := []string{"argocd.argoproj.io/refresh", "argocd.argoproj.io/refresh-timestamp", "argocd.argoproj.io/hydrate", "argocd.argoproj.io/skip-reconcile"}
	for key := range app.Annotations {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 || strings.HasPrefix(key, "argocdprogressive.io/") || slices.Contains(reserved, key) {
			return true
		}
	}
	return slices.ContainsFunc(app.Finalizers, func(f string) bool { return len(validation.IsQualifiedName(f)) > 0 })
}

func undeployable(app v1alpha1.Application) bool {
	to := app.Spec.Destination
	if (to.Server == "") == (to.Name == "") || to.Namespace != "" && len(validation.IsDNS1123Label(to.Namespace)) > 0 {
		return true
	}
	if app.Spec.Source != nil && len(app.Spec.Sources) > 0 || app.Spec.Source == nil && len(app.Spec.Sources) == 0 {
		return true
	}
	several := len(app.Spec.Sources) > 0
	return slices.ContainsFunc(app.Spec.GetSources(), func(s v1alpha1.ApplicationSource) bool {
		return s.RepoURL == "" || s.Path == "" && s.Chart == "" && (!several || s.Ref == "") || s.Chart != "" && s.TargetRevision == ""
	})
}

// keysCollide reports whether two keys of one map of a template render to the same text, with the
// parameters that it was rendered with.
func (c *comparison) keysCollide() bool {
	spec := c.oracle.set.Spec
	for i, params := range c.oracle.params {
		if mapsCollide(asTree(c.oracle.templates[i]), func(key string) string {
			text, _ := (&utils.Render{}).Replace(key, params, spec.GoTemplate, spec.GoTemplateOptions)
			return text
		}) {
			return true
		}
	}
	return false
}

func mapsCollide(v any, render func(string) string) bool {
	switch v := v.(type) {
	case map[string]any:
		seen := map[string]bool{}
		for key, e := range v {
			text := render(key)
			if seen[text] || mapsCollide(e, render) {
				return true
			}
			seen[text] = true
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mapsCollide(e, render) })
	}
	return false
}

// cannotBeParsed reports a text that Argo CD cannot use as a template, whatever the parameters are.
func (c *comparison) cannotBeParsed(text string) (bad bool) {
	defer func() {
		if p := recover(); p != nil {
			bad = true
		}
	}()
	_, err := (&utils.Render{}).Replace(text, map[string]any{}, c.oracle.set.Spec.GoTemplate, nil)
	return err != nil && (strings.Contains(err.Error(), "failed to parse template") || strings.Contains(err.Error(), "invalid template"))
}
