package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Problem is a reason why Argo CD or the API server would not take an Application.
type Problem struct {
	// App is empty for what concerns all of them.
	App string
	// Summary is a short noun phrase.
	Summary string
	// Detail is a sentence or more: what was found and what to do. It does not repeat App.
	Detail string
	// Warning is false for a reason to stop.
	Warning bool
}

// Summaries of problems.
const (
	SummaryRefused      = "Application refused by the API server"
	SummaryNotPermitted = "Application not permitted by its AppProject"
	SummaryNoProject    = "AppProject missing"
	SummaryDestination  = "Unknown destination cluster"
	SummaryNotChecked   = "Application not checked"
)

// Preflight checks what is about to be written, before the first write: the API server takes each
// Application (a dry run with strict validation), and Argo CD's own rules, which the API server
// does not know. live are the Applications of the set by name, as Listing gives them; those that
// are absent are to be created.
//
// taken are those among them that exist nevertheless, so that nobody has to look for them: the dry
// run of the creation finds them. The problems are sorted. The error is for requests that failed
// for other reasons.
func (c *Client) Preflight(ctx context.Context, owner Owner, objects []map[string]any, live map[string]*unstructured.Unstructured) (problems []Problem, taken map[string]Existing, err error) {
	if len(objects) == 0 {
		return nil, nil, nil
	}
	rules, problems, err := c.rules(ctx, objects)
	if err != nil {
		return nil, nil, err
	}
	for _, object := range objects {
		problems = append(problems, rules.check(owner, c.namespace, object)...)
	}
	answers := make([]dryAnswer, len(objects))
	err = parallel(len(objects), func(i int) (err error) {
		answers[i], err = c.dryRun(ctx, owner, objects[i], live[nameOf(objects[i])])
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	taken = map[string]Existing{}
	for _, a := range answers {
		if a.refused != nil {
			problems = append(problems, *a.refused)
		}
		if a.taken != nil {
			taken[a.taken.Name] = *a.taken
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Summary, b.Summary), cmp.Compare(a.Detail, b.Detail))
	})
	return problems, taken, nil
}

func nameOf(object map[string]any) string { return text(object, "metadata", "name") }

// dryAnswer is what the API server says to one Application.
type dryAnswer struct {
	// refused is why it does not take the Application; nil when it does.
	refused *Problem
	// taken is the Application of this name that was not known to exist; nil when there is none.
	taken *Existing
}

// dryRun asks the API server what it would say to one Application; one that does not change is
// not asked for.
func (c *Client) dryRun(ctx context.Context, owner Owner, object map[string]any, old *unstructured.Unstructured) (answer dryAnswer, err error) {
	if old != nil && c.facts(old).Hash == c.retained.HashRendered(object) {
		return answer, nil // the API server has taken it already
	}
	name := nameOf(object)
	err = c.dryWrite(ctx, owner, c.buildApplication(owner, name, object, old, "", 0), old != nil)
	if old == nil && apierrors.IsAlreadyExists(err) {
		// One to adopt, or somebody else's, or one that appeared since the caller has looked.
		current, getErr := c.fetch(ctx, owner, name)
		if apierrors.IsNotFound(getErr) {
			return answer, nil
		}
		if getErr != nil {
			return answer, getErr
		}
		e := existing(owner, current)
		answer.taken = &e
		err = c.dryWrite(ctx, owner, c.buildApplication(owner, name, object, current, "", 0), true)
	}
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// Changed or gone since it was read: the write itself decides on the newer state.
		return answer, nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		answer.refused = &Problem{App: name, Summary: SummaryRefused, Detail: fmt.Sprintf(
			"a dry run in namespace %s was refused: %s", owner.Namespace, rollout.WithoutCredentials(cause(err).Error()))}
		return answer, nil
	}
	return answer, err
}

// dryWrite creates or replaces an Application without storing it. A field that Argo CD's CRD does
// not know is an error.
func (c *Client) dryWrite(ctx context.Context, owner Owner, obj *unstructured.Unstructured, exists bool) error {
	dry := []string{metav1.DryRunAll}
	if exists {
		return c.request(ctx, appRequest("update", owner.Namespace, obj.GetName()), func() error {
			_, err := c.apps(owner.Namespace).Update(ctx, obj, metav1.UpdateOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
			return err
		})
	}
	return c.request(ctx, appRequest("create", owner.Namespace, obj.GetName()), func() error {
		_, err := c.apps(owner.Namespace).Create(ctx, obj, metav1.CreateOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
		return err
	})
}

// cause is the API server's own error.
func cause(err error) error {
	var request *RequestError
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// rules are what Argo CD checks before it compares an Application.
type rules struct {
	projects map[string]project
	missing  map[string]bool
	clusters destinations
	// clustersUnknown: cluster Secrets are unreadable.
	clustersUnknown bool
	// uncertain: a refusal may be wrong, because something that permits more is unreadable.
	uncertain bool
}

// rules reads the AppProjects of the Applications, and the clusters. What may not be read is
// not checked, with a warning.
func (c *Client) rules(ctx context.Context, objects []map[string]any) (rules, []Problem, error) {
	r := rules{projects: map[string]project{}, missing: map[string]bool{}}
	var warnings []Problem
	notChecked := func(what string, err error) {
		warnings = append(warnings, Problem{Summary: SummaryNotChecked, Warning: true,
			Detail: fmt.Sprintf("%s: %s.", what, err)})
	}
	globals, err := c.globalProjects(ctx)
	switch {
	case errors.Is(err, ErrForbidden):
		r.uncertain = true
	case err != nil:
		return r, nil, err
	}
	r.clusters, err = c.destinations(ctx)
	switch {
	case errors.Is(err, ErrForbidden):
		r.clustersUnknown = true
		notChecked("Whether Argo CD knows the destination clusters cannot be checked, because their Secrets may not be read", err)
	case err != nil:
		return r, nil, err
	}
	names := map[string]bool{}
	for _, object := range objects {
		names[projectName(dict(object, "spec"))] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		found, err := c.project(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			r.missing[name] = true
		case errors.Is(err, ErrForbidden):
			notChecked(fmt.Sprintf("Whether AppProject %q permits the Applications cannot be checked", name), err)
		case err != nil:
			return r, nil, err
		default:
			r.projects[name] = globals.apply(found)
		}
	}
	return r, warnings, nil
}

func (r rules) check(owner Owner, controlNamespace string, object map[string]any) []Problem {
	spec, name := dict(object, "spec"), nameOf(object)
	var out []Problem
	report := func(summary, detail string, warning bool) {
		out = append(out, Problem{App: name, Summary: summary, Warning: warning, Detail: detail + "."})
	}
	p := projectName(spec)
	if r.missing[p] {
		report(SummaryNoProject, fmt.Sprintf("there is no AppProject %q in namespace %s", p, controlNamespace), false)
	}
	permissions, checked := r.projects[p]
	if checked {
		for _, reason := range permissions.check(spec, owner.Namespace, controlNamespace) {
			report(SummaryNotPermitted, reason, r.uncertain)
		}
	}
	if r.clustersUnknown {
		return out
	}
	destination := dict(spec, "destination")
	c, err := r.clusters.find(destination)
	switch {
	case err != nil:
		report(SummaryDestination, err.Error(), false)
	case checked && !permissions.permitsDestination(c, text(destination, "namespace")):
		report(SummaryNotPermitted, fmt.Sprintf("namespace %q of cluster %s is not permitted in AppProject %q: add it to spec.destinations",
			text(destination, "namespace"), cmp.Or(text(destination, "name"), c.Server), p), r.uncertain)
	}
	return out
}
