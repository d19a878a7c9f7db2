package provider

import (
	"context"
	"io"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
)

// logged are inputs that say in Terraform's log what they are asked: the answer may take long, and while a
// plan is made or a data source is read nothing else tells what is waited for.
type logged struct{ appset.Inputs }

var (
	_ appset.Redactor = logged{}
	_ io.Closer       = logged{}
)

// waits says in the log what is waited for, and, when it is there, how long that took.
func waits(ctx context.Context, what string, fields map[string]any) (ended func()) {
	began := time.Now()
	tflog.Info(ctx, what, fields)
	return func() {
		tflog.Info(ctx, what+": ended", fields, map[string]any{"seconds": time.Since(began).Seconds()})
	}
}

func (l logged) Clusters(ctx context.Context) ([]appset.Cluster, error) {
	defer waits(ctx, "a generator asks for the clusters", nil)()
	return l.Inputs.Clusters(ctx)
}

func (l logged) Tree(ctx context.Context, repoURL, revision, project string) (appset.Tree, error) {
	defer waits(ctx, "a generator asks for a repository", map[string]any{"repository": progress.Clean(repoURL), "revision": progress.Clean(revision)})()
	return l.Inputs.Tree(ctx, repoURL, revision, project)
}

func (l logged) Artifact(ctx context.Context, repoURL, revision, project string) (appset.Artifact, error) {
	defer waits(ctx, "a generator asks for an artifact", map[string]any{"repository": progress.Clean(repoURL), "revision": progress.Clean(revision)})()
	return l.Inputs.Artifact(ctx, repoURL, revision, project)
}

func (l logged) Plugin(ctx context.Context, call appset.PluginCall) ([]map[string]any, error) {
	defer waits(ctx, "a generator asks a plugin", map[string]any{"configmap": call.ConfigMap, "set": call.Set})()
	return l.Inputs.Plugin(ctx, call)
}

func (l logged) Decisions(ctx context.Context, query appset.DecisionQuery) (appset.Decisions, error) {
	defer waits(ctx, "a generator asks for decisions about clusters", map[string]any{"configmap": query.ConfigMap})()
	return l.Inputs.Decisions(ctx, query)
}

// Redact hides what the inputs know.
func (l logged) Redact(text string) string {
	if r, ok := l.Inputs.(appset.Redactor); ok {
		return r.Redact(text)
	}
	return text
}

// Close lets go of what the inputs hold.
func (l logged) Close() error {
	if c, ok := l.Inputs.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
