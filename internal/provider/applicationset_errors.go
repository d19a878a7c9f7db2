package provider

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// longestLog and longestList bound what one diagnostic prints.
const (
	longestLog  = 200
	longestList = 20
)

// report is what an outcome is told with.
type report struct {
	namespace string
	// argoNamespace is where Argo CD and its AppProjects are.
	argoNamespace string
	// doing names the whole: "rollout" or "deletion".
	doing string
	// timeout is that of the whole, and timeoutName its attribute.
	timeout     time.Duration
	timeoutName string
	// next says how to go on after a failure.
	next string
	// refusal is that of the resource.
	refusal func(error) string
}

// diagnostics tells why a run did not reach its goal, one error for each Application that
// failed, up to longestList; the first of them carries the story of the run. Nothing for a success.
func (r report) diagnostics(o rollout.Outcome) diag.Diagnostics {
	var diags diag.Diagnostics
	if o.OK() {
		return diags
	}
	if o.Step == r.doing {
		o.Step = "" // what stands in for the step where a deletion is all there is
	}
	add := func(summary string, parts ...string) {
		if len(diags) == 0 {
			parts = append(parts, r.open(o), r.next, story(o))
		}
		diags.AddError(summary, paragraphs(parts...))
	}
	told := o.Failures[:min(len(o.Failures), longestList)]
	for _, f := range told {
		summary := summaryOf(f.Kind)
		if errors.Is(f.Err, argocd.ErrUnauthorized) {
			summary = summaryUnauthorized
		}
		add(summary, r.failure(f), r.advice(f))
	}
	if more := o.Failures[len(told):]; len(more) > 0 {
		names := make([]string, len(more))
		for i, f := range more {
			names[i] = fmt.Sprintf("%s (%s)", f.App, f.Kind)
		}
		add("More failures", fmt.Sprintf("%s have failed as well: %s.", count(len(more)), shorten(names)))
	}
	lockSummary, lockDetail, lockIsLost := lockLost(fmt.Sprintf("The %s%s has", r.doing, inStep(o.Step)), o.Err)
	switch {
	case lockIsLost:
		add(lockSummary, lockDetail)
	case o.Stop == rollout.StopCancelled:
		add(capital(r.doing)+" interrupted", fmt.Sprintf("The %s was cancelled%s. Nothing new was started after that.", r.doing, inStep(o.Step)))
	case o.Stop == rollout.StopDeadline:
		add(capital(r.doing)+" timed out", fmt.Sprintf("The %s did not end within timeouts.%s (%s)%s. What was in flight has been given up.",
			r.doing, r.timeoutName, r.timeout, inStep(o.Step)))
	case o.Stop == rollout.StopWatch:
		add("Watch lost", fmt.Sprintf("The %s lost sight of the Applications%s and stopped: %s.", r.doing, inStep(o.Step), errorText(o.Err)), r.credentials(o.Err))
	case len(o.Failures) == 0:
		add(capital(r.doing)+" unfinished", fmt.Sprintf("The %s ended%s before everything was done.", r.doing, inStep(o.Step)))
	}
	return diags
}

func (r report) failure(f rollout.Failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Application %s/%s%s: %s", r.namespace, f.App, inStep(f.Step), f.Kind)
	if f.Doing != "" {
		fmt.Fprintf(&b, " (%s)", f.Doing)
	}
	b.WriteString(".")
	if f.Said != "" {
		fmt.Fprintf(&b, "\n%s", strings.TrimSpace(f.Said))
	}
	if f.Err != nil && f.Err.Error() != f.Said {
		fmt.Fprintf(&b, "\n%s", f.Err)
	}
	return rollout.WithoutCredentials(b.String()) // others have said a part of it
}

// credentials is refusal, also for no error.
func (r report) credentials(err error) string {
	if err == nil || r.refusal == nil {
		return ""
	}
	return r.refusal(err)
}

// open lists what is not done.
func (r report) open(o rollout.Outcome) string {
	if len(o.Open) == 0 {
		return ""
	}
	var lines []string
	for i, a := range o.Open {
		if i == longestList {
			lines = append(lines, fmt.Sprintf("  and %d more", len(o.Open)-i))
			break
		}
		line := fmt.Sprintf("  %s%s: %s", a.Name, inBrackets(a.Step), a.Phase)
		if a.Reason != "" {
			line += ", " + progress.Clean(a.Reason) // Argo CD has said a part of it
		}
		lines = append(lines, line)
	}
	return fmt.Sprintf("Not done (%d):\n%s", len(o.Open), strings.Join(lines, "\n"))
}

// story is the log of the run; where that is long, the log of the steps that have failed, and the end
// of it where that is long as well.
func story(o rollout.Outcome) string {
	if len(o.Log) == 0 {
		return ""
	}
	lines, log := []string{"What happened (UTC):"}, o.Log
	if len(log) > longestLog {
		if log = ofFailedSteps(o); len(log) < len(o.Log) {
			lines = append(lines, fmt.Sprintf("  (%d lines about other steps left out)", len(o.Log)-len(log)))
		}
	}
	if left := len(log) - longestLog; left > 0 {
		lines = append(lines, fmt.Sprintf("  (%d earlier lines left out)", left))
		log = log[left:]
	}
	for _, n := range log {
		n.Text = progress.Clean(n.Text)
		lines = append(lines, "  "+n.String())
	}
	return strings.Join(lines, "\n")
}

// ofFailedSteps are the lines about the steps that something has failed in, or in which the run ended;
// all of them where there are none.
func ofFailedSteps(o rollout.Outcome) []rollout.Note {
	steps := map[string]bool{}
	for _, f := range o.Failures {
		steps[f.Step] = true
	}
	if len(o.Failures) == 0 {
		steps[o.Step] = true
	}
	log := slices.DeleteFunc(slices.Clone(o.Log), func(n rollout.Note) bool { return !steps[n.Step] })
	if len(log) == 0 {
		return o.Log
	}
	return log
}

// requestDiagnostic tells what could not be asked or written, and how to go on.
func (r *applicationSetResource) requestDiagnostic(doing string, err error) diag.Diagnostic {
	if summary, detail, ok := lockLost(doing+" was", err); ok {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	summary := "Argo CD failed to answer"
	parts := []string{fmt.Sprintf("%s: %s.", doing, strings.TrimSuffix(errorText(err), ".")), r.refusal(err)}
	var request *argocd.RequestError
	var damaged *argocd.RecordDamagedError
	switch {
	case errors.Is(err, argocd.ErrUnauthorized):
		summary = summaryUnauthorized
	case errors.Is(err, argocd.ErrForbidden):
		summary = summaryForbidden
	case errors.Is(err, argocd.ErrTooNew):
		summary = "Record of a newer provider"
		parts = append(parts, "Upgrade the provider: terraform init -upgrade")
	case errors.As(err, &damaged):
		summary = "Record damaged"
		parts = append(parts, withoutRecord(damaged))
	case errors.Is(err, argocd.ErrConflict):
		summary = "Conflicting change"
		parts = append(parts, "Somebody else has changed it at the same moment, perhaps another apply of the same set. Make sure that none runs, and run terraform apply again.")
	case errors.As(err, &request) && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		summary = summaryUnreachable
		parts = append(parts, "Check the provider's kubernetes settings and the network; with the same settings, this must answer: kubectl cluster-info")
	case serverFailed(err):
		summary = "API server failed"
		parts = append(parts, "The API server, or what stands in front of it, did not get better for as long as it was asked again. Run terraform again when this says ok: kubectl get --raw /readyz")
	case apierrors.IsNotFound(err):
		summary = summaryNoArgoCD
		parts = append(parts, "Check that the provider's namespace is the one Argo CD runs in, and that its CustomResourceDefinitions are there: kubectl get crd applications.argoproj.io")
	case request != nil:
		summary = "Request refused"
	}
	return diag.NewErrorDiagnostic(summary, paragraphs(parts...))
}

// withoutRecord says how to go on where the record of a set cannot be read.
func withoutRecord(damaged *argocd.RecordDamagedError) string {
	if damaged.Of != "" {
		return fmt.Sprintf("Nothing was changed. It says that it is the record of %s. If there is such a set, choose another name for one of the two; "+
			"otherwise restore the ConfigMap from a backup. Look at it: %s", damaged.Of, damaged.ShowByHand())
	}
	return "Nothing was changed. Restore the ConfigMap from a backup and run terraform again; or give up the history of the set, which touches no Application: " +
		damaged.DeleteByHand()
}

// serverFailed tells that the request was answered with an error of the server, or not for want of capacity.
func serverFailed(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests)
}

func errorText(err error) string {
	if err == nil {
		return "no reason was given"
	}
	return rollout.WithoutCredentials(err.Error())
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func inStep(label string) string {
	if label == "" {
		return ""
	}
	return fmt.Sprintf(" in %q", label)
}

func inBrackets(label string) string {
	if label == "" {
		return ""
	}
	return " (" + label + ")"
}

// count is a number of Applications in words.
func count(n int) string {
	if n == 1 {
		return "1 Application"
	}
	return fmt.Sprintf("%d Applications", n)
}

// paragraphs joins the parts that are not empty.
func paragraphs(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}
