package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// watched is an apply as people and programs see it: in Terraform's log, and where the provider is
// told to write it besides. A nil one tells nobody.
type watched struct {
	reporter *progress.Reporter
	format   progress.Format
	// file and events are nil where they are not wanted.
	file   *progress.File
	events *argocd.EventWriter
	// eventsErr is why there are no Events at all.
	eventsErr error
	// phases are the last ones that became an Event.
	phases map[string]rollout.Phase
	// early are the Events about Applications that do not exist yet, by name: kubectl describe shows only those
	// that have the UID.
	early map[string][]argocd.AppEvent
	// uids are those that Applications had when they were last there, by name.
	uids   map[string]string
	closed bool
}

// watch begins to tell what is done to the set. unwatch must be called.
func (c *connected) watch(ctx context.Context) {
	s := c.resource.provider.progress
	w := &watched{format: s.format, phases: map[string]rollout.Phase{}, early: map[string][]argocd.AppEvent{}, uids: map[string]string{}}
	if s.path != "" {
		w.file = progress.Open(s.path)
	}
	if s.events {
		w.events, w.eventsErr = c.resource.provider.eventsOf(ctx, c.owner)
	}
	w.reporter = progress.NewReporter(c.owner.String(), rollout.RealClock{}, func(e progress.Event) { w.tell(ctx, e) })
	c.watched = w
}

// eventsOf writes the Events of a set with a client of its own, which takes no turn from the rollout.
func (d *ProviderData) eventsOf(ctx context.Context, owner argocd.Owner) (*argocd.EventWriter, error) {
	client, err := d.client()
	if err != nil {
		return nil, err
	}
	return client.Events(ctx, owner), nil
}

func (w *watched) tell(ctx context.Context, e progress.Event) {
	fields := map[string]any{
		"set": e.Set, "event": e.Kind(), "application": e.App, "step": e.Step, "step_number": e.StepNumber, "steps": e.Steps,
		"status": string(e.Phase), "text": progress.Clean(e.Text), "done": e.Done, "total": e.Total,
	}
	if e.LeftKnown {
		fields["eta_seconds"] = int64(e.Left / time.Second)
	}
	tflog.Info(ctx, "rollout progress", fields)
	if w.file != nil {
		w.file.Write(e.Line(w.format))
	}
	if w.events != nil && e.App != "" {
		w.event(e)
	}
}

// event makes a Kubernetes Event of a transition. One about an Application that is to be created waits for that; one that tells of its
// end is about the one that was there.
func (w *watched) event(e progress.Event) {
	switch {
	case e.UID != "":
		w.uids[e.App] = e.UID
		w.created(e.App, e.UID)
	case e.Phase == rollout.PhaseDeleted || e.Phase == rollout.PhaseFailed:
		e.UID = w.uids[e.App]
	}
	if e.Phase == "" || e.Phase == rollout.PhaseWaiting || w.phases[e.App] == e.Phase {
		return
	}
	w.phases[e.App] = e.Phase
	event := argocd.AppEvent{
		App: e.App, UID: e.UID, At: e.At, Reason: "Rollout" + string(e.Phase), Warning: e.Phase == rollout.PhaseFailed,
		Message: fmt.Sprintf("%s: %s", e.Step, progress.Clean(e.Text)),
	}
	if e.UID == "" {
		w.early[e.App] = append(w.early[e.App], event)
		return
	}
	w.events.Write(event)
}

// created writes the Events that have waited for an Application to exist; without a UID, for one that never did.
func (w *watched) created(app, uid string) {
	for _, event := range w.early[app] {
		event.UID = uid
		w.events.Write(event)
	}
	delete(w.early, app)
}

// stage says what is done now, before and after the run.
func (w *watched) stage(format string, args ...any) {
	if w != nil && !w.closed {
		w.reporter.Stage(fmt.Sprintf(format, args...))
	}
}

// unwatch ends what watch has begun, and warns of what nobody has seen.
func (c *connected) unwatch() diag.Diagnostics {
	var diags diag.Diagnostics
	w := c.watched
	if w == nil || w.closed {
		return diags
	}
	w.closed = true
	w.reporter.Close()
	if w.file != nil {
		if err := w.file.Close(); err != nil {
			diags.AddWarning("Progress not written", fmt.Sprintf(
				"The progress of %s could not be written, or not all of it: %s. The apply itself has nothing to do with that. Correct path in the provider's "+
					"progress = {...}, or %s.", c.owner, err, envProgress))
		}
	}
	err := w.eventsErr
	if w.events != nil {
		for _, app := range slices.Sorted(maps.Keys(w.early)) {
			w.created(app, "")
		}
		err = w.events.Close()
	}
	if err != nil {
		advice := argocd.ExplainForbidden(err)
		if advice != "" {
			advice += "\nOr set kubernetes_events = false in the provider's progress = {...}."
		}
		diags.AddWarning("Events not written", paragraphs(
			fmt.Sprintf("The Kubernetes Events about the Applications of %s could not be written: %s. The apply itself has nothing to do with that.", c.owner, err), advice))
	}
	return diags
}

// roll runs the plan, and tells of it.
func (a *apply) roll(ctx context.Context, session rollout.Cluster, doing string) {
	options := a.settings.options(a.plan, a.timeout)
	options.Namespace = a.owner.Namespace
	if w := a.watched; w != nil {
		options.Notes, options.Pulse = w.reporter.Note, progress.Pulse
		w.reporter.Run(a.plan, a.settings.soakTime, fmt.Sprintf("the %s begins: %s", doing, scope(a.plan)))
	}
	began := time.Now()
	a.outcome = rollout.Run(ctx, a.lease.Guard(session), rollout.RealClock{}, a.plan, options)
	if w := a.watched; w != nil {
		_, text := resultOf(a.outcome)
		w.reporter.End(fmt.Sprintf("the %s has ended after %s: %s", doing, time.Since(began).Round(time.Second), text))
	}
}

// scope is what a plan is about.
func scope(p rollout.Plan) string {
	removals := 0
	for _, group := range p.Removals {
		removals += len(group)
	}
	var parts []string
	if len(p.Apps) > 0 {
		parts = append(parts, fmt.Sprintf("%s in %d steps", count(len(p.Apps)), len(p.Steps)))
	}
	if removals > 0 {
		parts = append(parts, count(removals)+" to delete")
	}
	return strings.Join(parts, ", ")
}

// resultOf is how a run has ended, for the record, and in a line.
func resultOf(o rollout.Outcome) (result, text string) {
	var lost *argocd.LeaseLostError
	switch {
	case o.OK():
		return argocd.ResultSucceeded, argocd.ResultSucceeded
	case len(o.Failures) > 0:
		f := o.Failures[0]
		text = fmt.Sprintf("%s (%s): %s", f.App, f.Step, f.Kind)
		if f.Said != "" {
			text += ": " + f.Said
		}
		if more := len(o.Failures) - 1; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		result = argocd.ResultFailed
	case o.Stop == rollout.StopCancelled:
		result, text = argocd.ResultCancelled, "it was cancelled"+inStep(o.Step)
	case o.Stop == rollout.StopDeadline:
		result, text = argocd.ResultTimedOut, "its time was over"+inStep(o.Step)
	case errors.As(o.Err, &lost):
		result, text = argocd.ResultFailed, "the lock was lost"+inStep(o.Step)
	case o.Err != nil:
		result, text = argocd.ResultFailed, o.Err.Error()
	default:
		result, text = argocd.ResultFailed, "not everything is done"
	}
	if n := len(o.Open); n > 0 {
		text += fmt.Sprintf("; %s not done", count(n))
	}
	return result, progress.Clean(inWords(result) + ": " + text)
}
