package appset

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// ResourcesFinalizer makes Argo CD delete the resources of an Application with it.
const ResourcesFinalizer = "resources-finalizer.argocd.argoproj.io"

// Application is one rendered Application, as it is to be written.
type Application struct {
	// Name is "" when NameUnknown.
	Name        string
	NameUnknown bool
	// Object has apiVersion, kind, metadata (name, namespace, labels,
	// annotations, finalizers) and spec. It may hold Unknowns.
	Object map[string]any
	// Labels are those of Object: each value a string or Unknown. They are nil
	// without labels, and when LabelsUnknown.
	Labels        map[string]any
	LabelsUnknown bool
	// HasUnknown is true when any Unknown is left anywhere in Object.
	HasUnknown bool
	// Origin is the element: generators[0].list.elements[2].
	Origin string
	// Sources are what the Application deploys, in order.
	Sources []Source
	// Automated is true when automated sync is on in Object.
	Automated bool
	// AutomatedSwitchedOff is true when the template has automated sync on and
	// the strategy RollingSync switched it off, as Argo CD does.
	AutomatedSwitchedOff bool
}

// application renders one Application and checks it.
func (r *renderer) application(p paramSet) Application {
	r.params = p
	own := p.template
	if own == nil {
		own = r.set.Template
	}
	template, _ := r.value(templateShape, own).(map[string]any)
	app := Application{Origin: p.at.String()}
	rendered, spec := r.patched(r.withFinalizer(template["metadata"]), template["spec"])
	metadata := r.metadata(&app, rendered)
	switch m := spec.(type) {
	case map[string]any:
		r.finishSpec(&app, m)
		app.Sources = SourcesOf(m)
	case unknown:
		app.Sources = []Source{{Unknown: true}}
	}
	app.Object = map[string]any{
		"apiVersion": APIVersion,
		"kind":       "Application",
		"metadata":   metadata,
		"spec":       spec,
	}
	app.HasUnknown = ContainsUnknown(app.Object)
	r.validate(&app, spec)
	return app
}

// withFinalizer adds the finalizer that Argo CD adds unless there is one or resources are to be kept
// (RenderTemplateParams in applicationset/utils, Argo CD 3.6.1; there an empty element gets none).
func (r *renderer) withFinalizer(v any) any {
	rendered, known := v.(map[string]any)
	if !known && v != nil {
		return v
	}
	if given, isList := rendered["finalizers"].([]any); isList && len(given) > 0 || IsUnknown(rendered["finalizers"]) {
		return rendered
	}
	if rendered == nil {
		rendered = map[string]any{}
	}
	if r.set.preserveUnknown {
		rendered["finalizers"] = Unknown
	} else if !r.set.PreserveResources {
		rendered["finalizers"] = []any{ResourcesFinalizer}
	}
	return rendered
}

// metadata takes what the template rendered to, with the patch, and puts it into
// the namespace of the set.
func (r *renderer) metadata(app *Application, v any) map[string]any {
	rendered, known := v.(map[string]any)
	out := map[string]any{"namespace": r.set.Namespace}
	if IsUnknown(v) || IsUnknown(rendered["name"]) {
		app.NameUnknown = true
		out["name"] = Unknown
	} else if name, ok := rendered["name"].(string); ok {
		app.Name = name
		out["name"] = name
	}
	if IsUnknown(v) {
		rendered = map[string]any{"labels": Unknown, "annotations": Unknown, "finalizers": Unknown}
		known = true
	}
	app.LabelsUnknown = known && IsUnknown(rendered["labels"])
	app.Labels, _ = rendered["labels"].(map[string]any)
	for _, key := range []string{"labels", "annotations", "finalizers"} {
		switch v := rendered[key].(type) {
		case map[string]any:
			if len(v) > 0 {
				out[key] = v
			}
		case []any:
			if len(v) > 0 {
				out[key] = v
			}
		case unknown:
			out[key] = v
		}
	}
	return out
}

// finishSpec fills in the default project, and switches automated sync off
// under RollingSync: the block stays, with enabled false (disableAutomatedSync in
// applicationset/progressivesync, Argo CD 3.6.1).
func (r *renderer) finishSpec(app *Application, spec map[string]any) {
	if project, ok := spec["project"]; !ok || project == "" {
		spec["project"] = "default"
	}
	policy, _ := spec["syncPolicy"].(map[string]any)
	automated, ok := policy["automated"].(map[string]any)
	if !ok {
		return
	}
	wanted := automated["enabled"] != false
	switch {
	case r.set.Strategy.Unknown:
		automated["enabled"] = Unknown
	case r.set.Strategy.Type == RollingSync:
		automated["enabled"] = false
		app.AutomatedSwitchedOff = wanted
	default:
		app.Automated = wanted && !IsUnknown(automated["enabled"])
	}
}

// checkDuplicates reports every name that more than one element renders to.
func (r *renderer) checkDuplicates(apps []Application, params []paramSet) {
	first := make(map[string]int, len(apps))
	for i, app := range apps {
		if app.Name == "" {
			continue
		}
		other, twice := first[app.Name]
		if !twice {
			first[app.Name] = i
			continue
		}
		advice := "Make spec.template.metadata.name depend on something in which they differ"
		if keys := differing(params[other].values, params[i].values, ""); len(keys) > 0 {
			advice += ": " + strings.Join(keys, ", ")
		}
		r.issues.fail(Path{"spec", "template", "metadata", "name"}, SummaryDuplicateName, fmt.Sprintf(
			"Two elements give an Application named %q:\n  %s\n  %s\n%s.", app.Name, params[other].at, params[i].at, advice))
	}
}

// differing names the parameters, sorted, in which two sets differ or may differ. The values are
// not told: Terraform does not say which of them are sensitive.
func differing(a, b any, at string) []string {
	inA, isMapA := a.(map[string]any)
	inB, isMapB := b.(map[string]any)
	if !isMapA || !isMapB {
		if at == "" || reflect.DeepEqual(a, b) && !IsUnknown(a) {
			return nil
		}
		return []string{at}
	}
	keys := maps.Clone(inA)
	maps.Copy(keys, inB)
	var out []string
	for _, key := range sortedKeys(keys) {
		below := key
		if at != "" {
			below = at + "." + key
		}
		_, hasA := inA[key]
		_, hasB := inB[key]
		if hasA != hasB {
			out = append(out, below)
		} else {
			out = append(out, differing(inA[key], inB[key], below)...)
		}
	}
	return out
}

// Source is one source of an Application, as far as it decides which revision
// is deployed.
type Source struct {
	RepoURL, Chart, Path, Ref string
	// TargetRevision as written; "HEAD" when a git source has none.
	TargetRevision string
	// TagPrefix is that of the git tags among which TargetRevision, a version or a range of them, is looked
	// for; "" where it is neither.
	TagPrefix string
	// Unknown is true when any of the above is not known yet; that one is then "".
	Unknown bool
}

// SourcesOf returns the sources of an Application spec: the branch that a source
// hydrator writes to, or those of sources, or else the one of source.
func SourcesOf(spec map[string]any) []Source {
	if hydrator := spec["sourceHydrator"]; hydrator != nil {
		return []Source{sourceOf(syncSource(hydrator))}
	}
	entries, _ := spec["sources"].([]any)
	if IsUnknown(spec["sources"]) || len(entries) == 0 && IsUnknown(spec["source"]) {
		return []Source{{Unknown: true}}
	}
	if source, ok := spec["source"].(map[string]any); ok && len(entries) == 0 {
		entries = []any{source}
	}
	var out []Source
	for _, entry := range entries {
		out = append(out, sourceOf(entry))
	}
	return out
}

// syncSource is the branch that a source hydrator writes to as a source, or Unknown
// (SourceHydrator.GetSyncSource in types.go, Argo CD 3.6.1).
func syncSource(hydrator any) any {
	sync, known := fieldOf(hydrator, "syncSource").(map[string]any)
	if !known {
		return Unknown
	}
	repo := sync["repoURL"]
	if repo == nil || repo == "" {
		repo = fieldOf(fieldOf(hydrator, "drySource"), "repoURL")
	}
	return map[string]any{"repoURL": repo, "path": sync["path"], "targetRevision": sync["targetBranch"]}
}

func sourceOf(v any) Source {
	tree, ok := v.(map[string]any)
	s := Source{Unknown: !ok}
	read := func(key string) (text string, known bool) {
		text, _ = tree[key].(string)
		known = ok && !IsUnknown(tree[key])
		s.Unknown = s.Unknown || !known
		return text, known
	}
	var repoKnown, chartKnown, revisionKnown bool
	s.RepoURL, repoKnown = read("repoURL")
	s.Chart, chartKnown = read("chart")
	s.TargetRevision, revisionKnown = read("targetRevision")
	s.Path, _ = read("path")
	s.Ref, _ = read("ref")
	isGit := repoKnown && chartKnown && s.Chart == "" && !strings.HasPrefix(s.RepoURL, "oci://")
	if isGit && revisionKnown && s.TargetRevision == "" {
		s.TargetRevision = "HEAD"
	}
	if isGit && revisionKnown && looksForVersion(s.TargetRevision) {
		s.TagPrefix, _ = read("tagPrefix")
	}
	return s
}

// looksForVersion tells that Argo CD resolves a revision among the tags with the source's prefix; any other
// it takes as it is, whatever the prefix (MaxVersion in util/versions/tags.go, Argo CD 3.6.1).
func looksForVersion(revision string) bool {
	if _, err := semver.NewVersion(revision); err == nil {
		return true
	}
	_, err := semver.NewConstraint(revision)
	return err == nil
}
