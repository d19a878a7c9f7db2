package provider

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// content is what a configuration says: the decoded set and its Applications.
type content struct {
	set  *appset.Set
	apps []appset.Application
	// complete is false while not even the number of Applications is known.
	complete bool
	// answers are what the generators were told, and failures what they could not be told.
	answers  appset.Answers
	failures appset.Issues
	// document is the whole ApplicationSet, as it is stored in the record. It may hold unknowns.
	document map[string]any
	// unknown tells that spec or manifest as a whole is not known yet.
	unknown bool
	// selection is which of the Applications take part, and acceptOutOfSync what counts as drift.
	selection       selection
	acceptOutOfSync bool
	// placed are the Applications with their steps; there are some only while complete.
	placed func() []placed
}

// read decodes and renders what the model says. Whatever is wrong with it is an error at its
// attribute; what is not known yet is not checked. The content is usable without errors only.
func (m *applicationSetModel) read(ctx context.Context, from answering) (content, diag.Diagnostics) {
	c, diags := m.decode(ctx)
	if diags.HasError() || c.unknown {
		return c, diags
	}
	rendering, issues := c.set.Render(ctx, from.inputs, from.recorded)
	m.addIssues(&diags, issues)
	c.apps, c.complete, c.answers = rendering.Apps, rendering.Complete, rendering.Answers
	for _, issue := range issues {
		if issue.Summary == appset.SummaryGeneratorFailed {
			c.complete, c.failures = false, append(c.failures, issue)
		}
	}
	if c.complete {
		c.placed = sync.OnceValue(func() []placed { return place(c.set, c.apps, c.selection) })
	}
	return c, diags
}

// decode reads what the model says without asking which Applications there are: the content is
// never complete.
func (m *applicationSetModel) decode(ctx context.Context) (content, diag.Diagnostics) {
	if m.Spec.IsUnknown() || m.Manifest.IsUnknown() {
		return content{set: &appset.Set{Strategy: appset.Strategy{Unknown: true}}, unknown: true, placed: nothingPlaced}, nil
	}
	document, diags := m.document()
	if diags.HasError() {
		return content{}, diags
	}
	s, problems := readSettings(ctx, m.Rollout)
	if diags.Append(problems...); diags.HasError() {
		return content{}, diags
	}
	spec, _ := document["spec"].(map[string]any)
	set, issues := appset.Decode(m.Name.ValueString(), m.Namespace.ValueString(), spec)
	if m.addIssues(&diags, issues); diags.HasError() {
		return content{}, diags
	}
	s.selection.policy = set.ApplicationsSync
	return content{
		set: set, document: document, placed: nothingPlaced, selection: s.selection, acceptOutOfSync: s.acceptOutOfSync,
	}, diags
}

func nothingPlaced() []placed { return nil }

// document is the ApplicationSet as one tree, whichever way it was given.
func (m *applicationSetModel) document() (map[string]any, diag.Diagnostics) {
	if !m.Manifest.IsNull() {
		return m.manifestDocument()
	}
	var diags diag.Diagnostics
	tree, err := toTree(m.Spec)
	if err != nil {
		diags.AddAttributeError(path.Root("spec"), "Value not allowed", err.Error()+".")
		return nil, diags
	}
	spec, ok := tree.(map[string]any)
	if !ok {
		diags.AddAttributeError(path.Root("spec"), "Missing specification", "Set exactly one of spec and manifest.")
		return nil, diags
	}
	return map[string]any{
		"apiVersion": appset.APIVersion,
		"kind":       "ApplicationSet",
		"metadata":   map[string]any{"name": m.Name.ValueString(), "namespace": m.Namespace.ValueString()},
		"spec":       spec,
	}, diags
}

// manifestDocument reads the manifest; its name and namespace must not contradict the attributes.
func (m *applicationSetModel) manifestDocument() (map[string]any, diag.Diagnostics) {
	var diags diag.Diagnostics
	document, issues := appset.DecodeManifest([]byte(m.Manifest.ValueString()))
	if m.addIssues(&diags, issues); diags.HasError() {
		return nil, diags
	}
	metadata, _ := document["metadata"].(map[string]any)
	for field, attribute := range map[string]interface {
		IsUnknown() bool
		IsNull() bool
		ValueString() string
	}{"name": m.Name, "namespace": m.Namespace} {
		given, _ := metadata[field].(string)
		if given == "" || attribute.IsUnknown() || attribute.IsNull() || given == attribute.ValueString() {
			continue
		}
		diags.AddAttributeError(path.Root("manifest"), "Contradicting "+field, fmt.Sprintf(
			"metadata.%s of the manifest is %q, but the resource's %s is %q. Make them the same, or remove it from the manifest.",
			field, given, field, attribute.ValueString()))
	}
	return document, diags
}

// addIssues turns issues into diagnostics at the attributes they are about.
func (m *applicationSetModel) addIssues(diags *diag.Diagnostics, issues appset.Issues) {
	for _, issue := range issues {
		at, detail := m.locate(issue)
		if issue.Warning {
			diags.AddAttributeWarning(at, issue.Summary, detail)
		} else {
			diags.AddAttributeError(at, issue.Summary, detail)
		}
	}
}

// locate finds the attribute an issue is about. Terraform (1.11) cannot show the line of a nested
// attribute, so the text names it as well.
func (m *applicationSetModel) locate(issue appset.Issue) (path.Path, string) {
	switch {
	case m.Manifest.IsNull():
		at := attributePath(m.Spec, issue.Path)
		return pointable(at), atPath(at, issue.Detail)
	case len(issue.Path) == 0:
		return path.Root("manifest"), issue.Detail
	}
	return path.Root("manifest"), fmt.Sprintf("At %s of the manifest: %s", issue.Path, issue.Detail)
}

func atPath(at path.Path, detail string) string { return fmt.Sprintf("At %s: %s", at, detail) }

// pointable keeps Terraform from pointing at the wrong line: it looks the last name of a path up
// among the attributes of the resource itself (tfdiags/contextual.go, Terraform 1.11), and so takes
// spec.template.metadata.name for the name of the resource.
func pointable(at path.Path) path.Path {
	steps := at.Steps()
	if last, ok := steps[len(steps)-1].(path.PathStepAttributeName); ok && len(steps) > 1 {
		switch string(last) {
		case "id", "name", "namespace", "spec":
			return pointable(at.ParentPath())
		}
	}
	return at
}
