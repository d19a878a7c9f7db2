package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// summaryNotEvaluated is the summary of the warning that a plan goes by less than what is now.
const summaryNotEvaluated = "Generators not evaluated"

// answering is where the answers to what generators ask come from. Those that are recorded win.
// Without inputs, what is not recorded is not known: the content is incomplete then.
type answering struct {
	recorded appset.Answers
	inputs   appset.Inputs
}

// lazyInputs connects when a generator asks the first question: most sets ask none, and their
// plans need no cluster.
type lazyInputs struct {
	connect func(context.Context) (appset.Inputs, diag.Diagnostics)

	once   sync.Once
	inputs appset.Inputs
	// diags say why there is no connection.
	diags diag.Diagnostics
}

var (
	_ appset.Inputs   = (*lazyInputs)(nil)
	_ appset.Redactor = (*lazyInputs)(nil)
)

func (l *lazyInputs) reach(ctx context.Context) (appset.Inputs, error) {
	l.once.Do(func() { l.inputs, l.diags = l.connect(ctx) })
	if l.diags.HasError() {
		return nil, errors.New("there is no connection")
	}
	return l.inputs, nil
}

func (l *lazyInputs) Clusters(ctx context.Context) ([]appset.Cluster, error) {
	inputs, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	return inputs.Clusters(ctx)
}

func (l *lazyInputs) Tree(ctx context.Context, repoURL, revision, project string) (appset.Tree, error) {
	inputs, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	return inputs.Tree(ctx, repoURL, revision, project)
}

func (l *lazyInputs) Artifact(ctx context.Context, repoURL, revision, project string) (appset.Artifact, error) {
	inputs, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	return inputs.Artifact(ctx, repoURL, revision, project)
}

func (l *lazyInputs) Plugin(ctx context.Context, call appset.PluginCall) ([]map[string]any, error) {
	inputs, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	return inputs.Plugin(ctx, call)
}

func (l *lazyInputs) Decisions(ctx context.Context, query appset.DecisionQuery) (appset.Decisions, error) {
	inputs, err := l.reach(ctx)
	if err != nil {
		return appset.Decisions{}, err
	}
	return inputs.Decisions(ctx, query)
}

// Redact hides what the inputs know, if they were asked.
func (l *lazyInputs) Redact(text string) string {
	if r, ok := l.inputs.(appset.Redactor); ok {
		return r.Redact(text)
	}
	return text
}

// contentToPlan reads what a configuration says for a plan. What Read has recorded answers first:
// it is all that the same plan has during apply. Only what generators ask that were created or
// changed is asked now. Where there is no connection (yet), that makes the content incomplete, and
// a warning tells why; where there is one and a generator fails, it is an error.
func (r *applicationSetResource) contentToPlan(ctx context.Context, m *applicationSetModel, recorded appset.Answers, home cluster) (content, diag.Diagnostics) {
	live := &lazyInputs{connect: func(ctx context.Context) (appset.Inputs, diag.Diagnostics) { return r.reach(ctx, m, home) }}
	c, diags := m.read(ctx, answering{recorded: recorded, inputs: live})
	switch {
	case !live.diags.HasError():
		diags.Append(live.diags...)
		return c, diags
	case !notThereYet(live.diags):
		return content{}, live.diags
	}
	c, diags = m.read(ctx, answering{recorded: recorded})
	diags.AddWarning(summaryNotEvaluated, paragraphs(
		fmt.Sprintf("Which Applications %s/%s will have is known only after apply: its generators ask what cannot be asked now, and there is no answer from an earlier plan.",
			m.Namespace.ValueString(), m.Name.ValueString()), live.diags.Errors()[0].Detail()))
	return c, diags
}

// reach connects for the generators of a plan, to the cluster that the set was created on if it was.
func (r *applicationSetResource) reach(ctx context.Context, m *applicationSetModel, home cluster) (appset.Inputs, diag.Diagnostics) {
	var diags diag.Diagnostics
	if r.provider != nil && r.provider.NamespaceUnknown && home.Namespace == "" {
		diags.AddError(summaryNoConnection, "The provider's namespace, in which Argo CD runs, is known only after apply.")
		return nil, diags
	}
	c, diags := r.connect(ctx, m, home)
	if diags.HasError() {
		return nil, diags
	}
	return c.inputs(), diags
}

// notThereYet tells that the cluster, or Argo CD on it, may be created by the same apply.
func notThereYet(diags diag.Diagnostics) bool {
	switch diags.Errors()[0].Summary() {
	case summaryNoConnection, summaryUnreachable, summaryNoArgoCD:
		return true
	}
	return false
}

// inputs answer generators from the cluster of the set.
func (c *connected) inputs() appset.Inputs {
	return c.resource.provider.inputs(c.client, c.argoNamespace)
}

// evaluate reads what the state says, with what its generators give now, and what to record for the
// plan. An error of a generator is no reason to fail, let alone to take the set for empty: then the
// plan goes by what was recorded before.
func (c *connected) evaluate(ctx context.Context, state *applicationSetModel, recorded appset.Answers) (content, appset.Answers, diag.Diagnostics) {
	var diags diag.Diagnostics
	now, _ := state.read(ctx, answering{inputs: c.inputs()})
	switch {
	case now.set == nil: // refused by a later version of the provider
		return now, recorded, diags
	case len(now.failures) == 0:
		return now, now.answers, diags
	}
	why := make([]string, len(now.failures))
	for i, issue := range now.failures {
		_, why[i] = state.locate(issue)
	}
	before, _ := state.read(ctx, answering{recorded: recorded})
	then := "The plan uses what the generators gave before; no Application is deleted for this."
	if !before.complete {
		then = "Nothing is known of what they gave before, so this is an error wherever the plan needs it; no Application is deleted for this."
	}
	diags.AddWarning(summaryNotEvaluated, paragraphs(
		fmt.Sprintf("What the generators of %s give now cannot be told:\n%s", c.owner, strings.Join(why, "\n")),
		then, "When the cause is gone: terraform plan"))
	return before, recorded, diags
}
