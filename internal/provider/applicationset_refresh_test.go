package provider

import (
	"maps"
	"slices"
	"strings"
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

func TestWhatCannotBeComparedKeepsTheRevisionThatWasKnown(t *testing.T) {
	broken := func(l rollout.Live) rollout.Live {
		l.Sync.Revisions = []string{"main"}
		l.Errors = []rollout.Condition{{Type: "ComparisonError", Message: "repository not found"}}
		return l
	}
	automated := broken(app("c", "", main1))
	automated.AutomatedOn = true
	before := newTargets(rollout.Pins{main1: shaA, main2: shaA}, nil)
	for name, c := range map[string]struct {
		live []rollout.Live
		want rollout.Pins
		warn bool
	}{
		"all are compared":                    {[]rollout.Live{app("a", shaB, main1)}, rollout.Pins{main1: shaB}, false},
		"none is":                             {[]rollout.Live{broken(app("a", "", main1)), broken(app("b", "", main1))}, rollout.Pins{main1: shaA}, true},
		"one of them is":                      {[]rollout.Live{broken(app("a", "", main1)), app("b", shaB, main1)}, rollout.Pins{main1: shaB}, false},
		"one of another source is":            {[]rollout.Live{broken(app("a", "", main1)), app("b", shaB, main2)}, rollout.Pins{main1: shaA, main2: shaB}, true},
		"a source that nothing was known of":  {[]rollout.Live{broken(app("a", "", chart1))}, rollout.Pins{}, false},
		"a new one that was not compared yet": {[]rollout.Live{{Name: "a", Sources: []rollout.Source{main1}}}, rollout.Pins{}, false},
		"one with automated sync has no say":  {[]rollout.Live{automated}, rollout.Pins{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, diags := targetsSince(before, c.live)
			if !maps.Equal(got.pins(), c.want) {
				t.Errorf("pins are %v, not %v", got.pins(), c.want)
			}
			if warned := len(diags) == 1 && strings.Contains(diags[0].Detail(), "ComparisonError: repository not found"); warned != c.warn {
				t.Errorf("diagnostics: %v", diags)
			}
		})
	}
}

func TestWhatCannotBeComparedStaysWhereItWasToBe(t *testing.T) {
	broken := app("a", "", main1)
	broken.Hash, broken.Sync.Status, broken.Deployed = "h", "Unknown", rollout.Deployed{ID: 1, Revisions: []string{shaA}, OfSpec: true}
	broken.Errors = []rollout.Condition{{Type: "ComparisonError", Message: "repository not found"}}
	for name, c := range map[string]struct {
		hash, want string
	}{
		"the branch had moved elsewhere when it was compared last": {"h", shaA},
		"its spec is another one since":                            {"other", shaB},
	} {
		t.Run(name, func(t *testing.T) {
			before := newTargets(rollout.Pins{main1: shaB}, map[string]rollout.KnownTarget{"a": {Hash: c.hash, Revisions: []string{shaA}}})
			got, _ := targetsSince(before, []rollout.Live{broken})
			if k := got.known("a"); k == nil || !slices.Equal(k.Revisions, []string{c.want}) {
				t.Errorf("it is to be rolled out to %+v, not %s", k, c.want)
			}
		})
	}
}
