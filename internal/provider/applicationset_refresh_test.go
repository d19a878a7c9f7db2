package provider

import (
	"slices"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func app(name string, revision string, sources ...rollout.Source) rollout.Live {
	revisions := make([]string, len(sources))
	for i := range revisions {
		revisions[i] = revision
	}
	return rollout.Live{Name: name, Sources: sources, Sync: rollout.Comparison{Revisions: revisions, OfSpec: true}}
}

var (
	main1  = rollout.Source{RepoURL: "one", TargetRevision: "main"}
	main2  = rollout.Source{RepoURL: "two", TargetRevision: "main"}
	chart1 = rollout.Source{RepoURL: "helm", Chart: "a", TargetRevision: "1.*"}
	chart2 = rollout.Source{RepoURL: "helm", Chart: "b", TargetRevision: "1.*"}
	pinned = rollout.Source{RepoURL: "one", TargetRevision: shaA}
)

func TestRepresentativesCoverEverySourceThatCanMoveOnce(t *testing.T) {
	blocked := app("a-blocked", shaA, main1)
	blocked.SkipReconcile = true
	for name, c := range map[string]struct {
		live []rollout.Live
		want []string
	}{
		"one for many of one source":           {[]rollout.Live{app("a", shaA, main1), app("b", shaA, main1)}, []string{"a"}},
		"one for each source":                  {[]rollout.Live{app("a", shaA, main1), app("b", shaA, main2)}, []string{"a", "b"}},
		"one with several covers them":         {[]rollout.Live{app("a", shaA, main1), app("b", shaA, main1, main2)}, []string{"b"}},
		"two charts of one repository are two": {[]rollout.Live{app("a", "1.0.0", chart1), app("b", "1.0.0", chart2)}, []string{"a", "b"}},
		"a commit cannot move":                 {[]rollout.Live{app("a", shaA, pinned)}, nil},
		"one that Argo CD leaves alone cannot": {[]rollout.Live{blocked, app("b", shaA, main1)}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := representatives(c.live); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestStaleAreAllOfASourceWhoseRevisionsDiffer(t *testing.T) {
	live := []rollout.Live{app("a", shaB, main1), app("b", shaA, main1), app("c", shaA, main2), app("d", shaA, main2)}
	if got, want := stale(live), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
