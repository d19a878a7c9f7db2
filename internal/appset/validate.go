package appset

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxNameLength is what fits a label: Argo CD's label tracking writes the
	// name of the Application into one.
	maxNameLength = 63
	// maxReleaseLength is Helm's limit for the name of a release.
	maxReleaseLength = 53
)

var templatePath = Path{"spec", "template"}

// validate checks a rendered Application for what Argo CD or the API server
// would refuse, or would accept and never deploy. What is Unknown is skipped.
func (r *renderer) validate(app *Application, spec any) {
	r.validateName(app)
	r.validateLabels(app)
	if m, ok := spec.(map[string]any); ok {
		r.validateDestination(m["destination"])
		r.validateSources(app, m)
	}
}

func (r *renderer) validateName(app *Application) {
	path := templatePath.With("metadata", "name")
	switch {
	case app.NameUnknown:
	case app.Name == "":
		r.errorf(path, SummaryInvalidName, "the name of the Application is empty.")
	case len(app.Name) > maxNameLength:
		r.errorf(path, SummaryInvalidName, "the name %q has %d characters; at most %d are possible, because Argo CD writes it into a label.", app.Name, len(app.Name), maxNameLength)
	default:
		if problems := validation.IsDNS1123Subdomain(app.Name); len(problems) > 0 {
			r.errorf(path, SummaryInvalidName, "%q cannot be the name of an Application: %s.", app.Name, strings.Join(problems, "; "))
		}
	}
}

func (r *renderer) validateLabels(app *Application) {
	path := templatePath.With("metadata", "labels")
	for _, key := range sortedKeys(app.Labels) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			r.errorf(path.With(key), SummaryInvalidMetadata, "%q cannot be the key of a label: %s.", key, strings.Join(problems, "; "))
		}
		if value, ok := app.Labels[key].(string); ok {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				r.errorf(path.With(key), SummaryInvalidMetadata, "%q cannot be the value of the label %q: %s.", value, key, strings.Join(problems, "; "))
			}
		}
	}
	annotations, _ := app.Object["metadata"].(map[string]any)["annotations"].(map[string]any)
	for _, key := range sortedKeys(app.Labels) {
		if strings.HasPrefix(key, markPrefix) {
			r.errorf(path.With(key), SummaryInvalidMetadata, "the label %q is one that the provider sets itself. Remove it.", key)
		}
	}
	for _, key := range sortedKeys(annotations) {
		if why := reservedAnnotation(key, annotations[key]); why != "" {
			r.errorf(templatePath.With("metadata", "annotations", key), SummaryInvalidMetadata, "the annotation %q cannot be part of a template: %s. Remove it.", key, why)
		}
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			r.errorf(templatePath.With("metadata", "annotations", key), SummaryInvalidMetadata, "%q cannot be the key of an annotation: %s.", key, strings.Join(problems, "; "))
		}
	}
}

// markPrefix starts the labels and annotations that the provider sets itself.
const markPrefix = "argocdprogressive.io/"

// reservedAnnotation says why an annotation cannot be kept on an Application that is rolled out:
// empty where it can. The names are those of common/common.go and
// pkg/apis/application/v1alpha1/application_annotations.go, Argo CD 3.6.1.
func reservedAnnotation(key string, value any) string {
	switch {
	case strings.HasPrefix(key, markPrefix):
		return "the provider sets it itself"
	case key == "argocd.argoproj.io/refresh" || key == "argocd.argoproj.io/refresh-timestamp" || key == "argocd.argoproj.io/hydrate":
		return "it is a request, which Argo CD removes when it has answered it"
	case key == "notified.notifications.argoproj.io":
		return "Argo CD's notifications keep in it what they have sent"
	case key == "argocd.argoproj.io/skip-reconcile" && value == "true":
		return "Argo CD leaves such an Application alone, so that no rollout and no deletion of it could end"
	}
	return ""
}

// validateDestination wants exactly one of server and name (util/argo, Argo CD 3.6.1).
func (r *renderer) validateDestination(v any) {
	path := templatePath.With("spec", "destination")
	destination, ok := v.(map[string]any)
	if !ok && v != nil || IsUnknown(destination["server"]) || IsUnknown(destination["name"]) {
		return
	}
	if namespace, _ := destination["namespace"].(string); namespace != "" {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			r.errorf(path.With("namespace"), SummaryInvalidSpec, "%q cannot be a namespace: %s.", namespace, strings.Join(problems, "; "))
		}
	}
	server, _ := destination["server"].(string)
	name, _ := destination["name"].(string)
	switch {
	case server == "" && name == "":
		r.errorf(path, SummaryInvalidSpec, "the destination names no cluster. Give exactly one of server and name.")
	case server != "" && name != "":
		r.errorf(path, SummaryInvalidSpec, "the destination has both server %q and name %q. Give exactly one of them.", server, name)
	}
}

// validateSources asks of every source what Argo CD asks (validateSourcePermissions
// in util/argo, Argo CD 3.6.1).
func (r *renderer) validateSources(app *Application, spec map[string]any) {
	path := templatePath.With("spec")
	single, many := spec["source"], spec["sources"]
	entries, isList := many.([]any)
	if hydrator := spec["sourceHydrator"]; hydrator != nil {
		r.validateHydrator(path.With("sourceHydrator"), hydrator, single != nil || isList && len(entries) > 0)
		return
	}
	switch {
	case IsUnknown(single) || IsUnknown(many):
		return
	case single != nil && isList && len(entries) > 0:
		r.errorf(path.With("sources"), SummaryInvalidSpec, "both source and sources are given. Give exactly one of them.")
	case isList && len(entries) > 0:
		for i, entry := range entries {
			r.validateSource(app, path.With("sources", i), entry, true)
		}
	case single != nil:
		r.validateSource(app, path.With("source"), single, false)
	default:
		r.errorf(path.With("source"), SummaryInvalidSpec, "the Application has no source. Give source or sources.")
	}
}

// validateHydrator asks what Argo CD asks (validateSourceHydrator in util/argo, Argo CD 3.6.1). The
// hydrator writes in its own time: until it has, the branch holds what was there before, Synced and
// Healthy, so that no step could be proven done.
func (r *renderer) validateHydrator(path Path, hydrator any, beside bool) {
	if r.set.Strategy.Type == RollingSync && !r.set.Strategy.Unknown {
		r.errorf(path, SummaryUnsupportedField, "%s cannot be rolled out step by step yet: the hydrator writes to its branch in its own time, and until then the "+
			"Application is Synced and Healthy with what was there before. Use source or sources, or a strategy without RollingSync.", path)
	}
	if beside {
		r.errorf(path, SummaryInvalidSpec, "sourceHydrator is given together with source or sources, which Argo CD would ignore. Give exactly one of the three.")
	}
	for _, field := range []Path{{"drySource", "repoURL"}, {"syncSource", "targetBranch"}, {"hydrateTo", "targetBranch"}} {
		part := fieldOf(hydrator, field[0].(string))
		if value, given := fieldOf(part, field[1].(string)).(string); part != nil && given && value == "" {
			r.errorf(path.With(field...), SummaryInvalidSpec, "%s is empty.", path.With(field...))
		}
	}
}

func (r *renderer) validateSource(app *Application, path Path, v any, several bool) {
	tree, ok := v.(map[string]any)
	if !ok {
		return
	}
	empty := func(key string) bool { return tree[key] == nil || tree[key] == "" }
	if tree["repoURL"] == "" {
		r.errorf(path.With("repoURL"), SummaryInvalidSpec, "the source has no repoURL.")
	}
	if empty("path") && empty("chart") && (!several || empty("ref")) {
		what := "path (a directory in git) or chart"
		if several {
			what = "path (a directory in git), chart or ref"
		}
		r.errorf(path, SummaryInvalidSpec, "the source deploys nothing: give it %s.", what)
	}
	if !empty("chart") && empty("targetRevision") && !IsUnknown(tree["chart"]) {
		r.errorf(path.With("targetRevision"), SummaryInvalidSpec, "a chart needs targetRevision: the version of the chart.")
	}
	r.validateRelease(app, path, tree)
}

// validateRelease checks the name of the Helm release, which is that of the
// Application unless the source gives another.
func (r *renderer) validateRelease(app *Application, path Path, source map[string]any) {
	helm, isHelm := source["helm"].(map[string]any)
	chart, _ := source["chart"].(string)
	if chart == "" && !isHelm {
		return
	}
	release, given := helm["releaseName"]
	name, _ := release.(string)
	switch {
	case IsUnknown(release) || IsUnknown(source["helm"]):
	case given && name != "":
		if len(name) > maxReleaseLength {
			r.errorf(path.With("helm", "releaseName"), SummaryInvalidSpec, "the release name %q has %d characters; Helm allows %d.", name, len(name), maxReleaseLength)
		}
	case len(app.Name) > maxReleaseLength && len(app.Name) <= maxNameLength:
		r.errorf(templatePath.With("metadata", "name"), SummaryInvalidName,
			"the name %q has %d characters and is the name of the Helm release too, for which Helm allows %d. Shorten it, or set %s.",
			app.Name, len(app.Name), maxReleaseLength, path.With("helm", "releaseName"))
	}
}
