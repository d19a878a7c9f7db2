package argocd

import (
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// sourcesOf are the sources of a live spec, as package appset names those of a rendered one.
func sourcesOf(spec map[string]any) []rollout.Source {
	var out []rollout.Source
	for _, s := range appset.SourcesOf(spec) {
		out = append(out, rollout.Source{RepoURL: s.RepoURL, Chart: s.Chart, TargetRevision: s.TargetRevision, TagPrefix: s.TagPrefix})
	}
	return out
}
