package rollout

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var exactChart = Source{RepoURL: "charts", Chart: "x", TargetRevision: "1.2.3"}

func TestLeaf(t *testing.T) {
	commit := Source{RepoURL: "repo", TargetRevision: pinned}
	for name, c := range map[string]struct {
		sources   []Source
		revisions []string
		want      string
	}{
		"a branch shows what it is pinned to":              {[]Source{mainBranch}, []string{pinned}, "main@1111111 #ab"},
		"a commit stands alone, shortened":                 {[]Source{commit}, []string{pinned}, "1111111 #ab"},
		"an exact chart version stands alone":              {[]Source{exactChart}, []string{"1.2.3"}, "1.2.3 #ab"},
		"a chart range shows its version":                  {[]Source{{Chart: "x", TargetRevision: "1.*"}}, []string{"1.4.0"}, "1.*@1.4.0 #ab"},
		"several sources, in their order":                  {[]Source{exactChart, mainBranch}, []string{"1.2.3", pinned}, "1.2.3, main@1111111 #ab"},
		"a tag shows the digest it is pinned to":           {[]Source{{RepoURL: "oci://r", TargetRevision: "1.x"}}, []string{artifact}, "1.x@sha256:aaaaaaa #ab"},
		"without revisions it is the hash":                 {[]Source{mainBranch}, nil, "#ab"},
		"revisions that do not fit the sources are no pin": {[]Source{mainBranch, exactChart}, []string{pinned}, "#ab"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Leaf(c.sources, c.revisions, "ab"); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

// artifact is the digest of an OCI artifact.
var artifact = "sha256:" + strings.Repeat("a", 64)

func TestImmutable(t *testing.T) {
	for s, want := range map[Source]bool{
		{TargetRevision: pinned}:                                  true,
		{TargetRevision: "1111111"}:                               false,
		{TargetRevision: "main"}:                                  false,
		{TargetRevision: ""}:                                      false,
		{TargetRevision: "v1.2.3"}:                                false, // a tag can move
		{Chart: "x", TargetRevision: "1.2.3"}:                     true,
		{Chart: "x", TargetRevision: "v1.2"}:                      false,
		{Chart: "x", TargetRevision: "1.2.x"}:                     false,
		{Chart: "x", TargetRevision: ""}:                          false,
		{Chart: "x", TargetRevision: pinned}:                      false,
		{RepoURL: "oci://r", TargetRevision: artifact}:            true,
		{RepoURL: "oci://r", TargetRevision: "1.2.3"}:             false, // a tag can move
		{RepoURL: "oci://r", TargetRevision: pinned}:              false,
		{RepoURL: "oci://r", Chart: "x", TargetRevision: "1.2.3"}: false, // the chart says nothing to Argo CD then
		{RepoURL: "https://r", TargetRevision: artifact}:          false,
	} {
		if got := Immutable(s); got != want {
			t.Errorf("Immutable(%+v) = %v", s, got)
		}
	}
}

func TestLiveLeaf(t *testing.T) {
	const base = "main@1111111 #new"
	for name, c := range map[string]struct {
		edit   func(*Live)
		mode   Mode
		proven string
		want   string
	}{
		"at its target":                                {there, ModeSync, "", base},
		"unproven and Degraded":                        {with(there, health(Degraded)), ModeSync, "", base + " (Degraded)"},
		"proven, Degraded later: no diff":              {with(there, health(Degraded)), ModeSync, base, base},
		"unproven and Progressing":                     {with(there, health(Progressing)), ModeSync, "", base + " (Progressing)"},
		"drifted, though proven":                       {with(there, compared(OutOfSync, pinned)), ModeSync, base, base + " (OutOfSync)"},
		"a newer commit is no drift":                   {with(there, compared(OutOfSync, sha(9))), ModeSync, base, base},
		"another source than was deployed":             {with(there, func(l *Live) { l.Deployed.OfSpec = false }), ModeSync, "", base + " (OutOfSync)"},
		"an operation runs":                            {with(there, func(l *Live) { l.Operation.Pending = "x" }), ModeSync, "", base + " (Progressing)"},
		"the last operation failed":                    {with(there, func(l *Live) { l.Operation.Phase = Failed }), ModeSync, "", base + " (Failed)"},
		"never synced":                                 {with(there, func(l *Live) { l.Operation, l.Deployed = Operation{}, Deployed{} }), ModeSync, "", base + " (Missing)"},
		"being deleted":                                {with(there, func(l *Live) { l.Terminating = true }), ModeSync, base, base + " (Deleting)"},
		"no step: only the hash, whatever it is":       {with(there, health(Degraded)), ModeWrite, "", "#new"},
		"automated: no revision":                       {there, ModeAutomated, "", "#new"},
		"automated and Degraded":                       {with(there, health(Degraded)), ModeAutomated, "", "#new (Degraded)"},
		"manual: no revision":                          {there, ModeManual, "", "#new"},
		"manual and out of sync":                       {with(there, compared(OutOfSync, sha(9))), ModeManual, "#new", "#new (OutOfSync)"},
		"manual, written and not synced since":         {with(there, func(l *Live) { l.ManualAfter = 3 }), ModeManual, "#new", "#new (OutOfSync)"},
		"manual, never fully synced":                   {with(there, func(l *Live) { l.Deployed = Deployed{} }), ModeManual, "", "#new (Missing)"},
		"without a history the operation tells":        {with(there, func(l *Live) { l.Deployed = Deployed{} }), ModeSync, base, base},
		"without either the comparison tells":          {with(there, func(l *Live) { l.Deployed, l.Operation = Deployed{}, Operation{} }), ModeSync, base, base},
		"health that Argo CD has not computed":         {with(there, health("")), ModeSync, "", base + " (Unknown)"},
		"proven means the same target, not any":        {with(there, health(Degraded)), ModeSync, "main@2222222 #new", base + " (Degraded)"},
		"Suspended is not healthy while it's unproven": {with(there, health(Suspended)), ModeSync, "", base + " (Suspended)"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Live{Name: "a"}
			c.edit(l)
			if got := LiveLeaf(l, c.mode, c.proven, false); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLiveLeafWhereBeingOutOfSyncIsAccepted(t *testing.T) {
	const base = "main@1111111 #new"
	outOfSync := compared(OutOfSync, pinned)
	for name, c := range map[string]struct {
		edit   func(*Live)
		proven string
		want   string
	}{
		"proven and out of sync":                    {with(there, outOfSync), base, base},
		"unproven and out of sync":                  {with(there, outOfSync), "", base + " (OutOfSync)"},
		"proven, and its resources are gone":        {with(there, outOfSync, health(Missing)), base, base + " (OutOfSync)"},
		"proven, in sync, and said to be Missing":   {with(there, health(Missing)), base, base},
		"proven, and another source was deployed":   {with(there, func(l *Live) { l.Deployed.OfSpec = false }), base, base + " (OutOfSync)"},
		"proven, out of sync with a newer revision": {with(there, compared(OutOfSync, sha(9)), health(Missing)), base, base},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Live{Name: "a"}
			c.edit(l)
			if got := LiveLeaf(l, ModeSync, c.proven, true); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

func with(edits ...func(*Live)) func(*Live) {
	return func(l *Live) {
		for _, e := range edits {
			e(l)
		}
	}
}

func liveAt(sources []Source, revisions ...string) Live {
	return Live{Sources: sources, Sync: Comparison{Status: Synced, Revisions: revisions, OfSpec: true}}
}

func TestResolvePins(t *testing.T) {
	main := []Source{mainBranch}
	automated := liveAt(main, sha(4))
	automated.AutomatedOn = true
	stale := liveAt(main, sha(4))
	stale.Sync.OfSpec = false
	for name, c := range map[string]struct {
		live []Live
		want Pins
	}{
		"what is found most often":                  {[]Live{liveAt(main, sha(1)), liveAt(main, sha(2)), liveAt(main, sha(2))}, Pins{mainBranch: sha(2)}},
		"then the lowest, whatever the order":       {[]Live{liveAt(main, sha(3)), liveAt(main, sha(2))}, Pins{mainBranch: sha(2)}},
		"each source for itself":                    {[]Live{liveAt([]Source{mainBranch, otherBranch}, sha(1), sha(2))}, Pins{mainBranch: sha(1), otherBranch: sha(2)}},
		"a name that was not resolved is none":      {[]Live{liveAt(main, "main")}, Pins{}},
		"a comparison of another spec has no say":   {[]Live{stale}, Pins{}},
		"automated sync has no say":                 {[]Live{automated}, Pins{}},
		"what is immutable needs no pin":            {[]Live{liveAt([]Source{exactChart}, "1.2.3")}, Pins{}},
		"a chart range is resolved to a version":    {[]Live{liveAt([]Source{{Chart: "x", TargetRevision: "1.*"}}, "1.4.0")}, Pins{{Chart: "x", TargetRevision: "1.*"}: "1.4.0"}},
		"a tag is resolved to a digest":             {[]Live{liveAt([]Source{{RepoURL: "oci://r", TargetRevision: "1.x"}}, artifact)}, Pins{{RepoURL: "oci://r", TargetRevision: "1.x"}: artifact}},
		"two charts of one repository share no pin": {[]Live{liveAt([]Source{{RepoURL: "r", Chart: "x", TargetRevision: "*"}}, "1.0.0"), liveAt([]Source{{RepoURL: "r", Chart: "y", TargetRevision: "*"}}, "2.0.0")}, Pins{{RepoURL: "r", Chart: "x", TargetRevision: "*"}: "1.0.0", {RepoURL: "r", Chart: "y", TargetRevision: "*"}: "2.0.0"}},
		"one range of two prefixes is two pins":     {[]Live{liveAt([]Source{{RepoURL: "r", TargetRevision: "1.x", TagPrefix: "a/"}, {RepoURL: "r", TargetRevision: "1.x", TagPrefix: "b/"}}, sha(1), sha(2))}, Pins{{RepoURL: "r", TargetRevision: "1.x", TagPrefix: "a/"}: sha(1), {RepoURL: "r", TargetRevision: "1.x", TagPrefix: "b/"}: sha(2)}},
		"revisions that do not fit have no say":     {[]Live{liveAt([]Source{mainBranch, otherBranch}, sha(1))}, Pins{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ResolvePins(c.live); !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTargetRevisions(t *testing.T) {
	pins := Pins{mainBranch: sha(9)}
	for name, c := range map[string]struct {
		edit func(*Live)
		pins Pins
		want []string
	}{
		"in sync: it keeps what is deployed, though the branch has moved": {with(there, compared(Synced, sha(9))), pins, []string{pinned}},
		"out of sync: it gets what the branch means now":                  {with(there, compared(OutOfSync, sha(9))), pins, []string{sha(9)}},
		"drifted: it gets what the branch means now":                      {with(there, func(l *Live) { l.Deployed.OfSpec = false }), pins, []string{sha(9)}},
		"nothing deployed: it gets what the branch means now":             {func(l *Live) { l.Sources = []Source{mainBranch} }, pins, []string{sha(9)}},
		"no history, and an operation runs: it gets what the branch means now": {
			with(there, func(l *Live) {
				l.Deployed = Deployed{}
				l.Operation = Operation{Pending: "t", Token: "t", Phase: Running}
			}), pins, []string{sha(9)},
		},
		"not known": {with(there, compared(OutOfSync, sha(9))), nil, nil},
		"immutable": {func(l *Live) { l.Sources = []Source{exactChart} }, nil, []string{"1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Live{}
			c.edit(l)
			if got := TargetRevisions(l, c.pins); !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestDesiredRevisions(t *testing.T) {
	pins := Pins{mainBranch: sha(9)}
	known := &KnownTarget{Hash: "h", Revisions: []string{pinned}}
	for name, c := range map[string]struct {
		sources []Source
		hash    string
		known   *KnownTarget
		want    []string
	}{
		"an unchanged spec gets what the refresh found":   {[]Source{mainBranch}, "h", known, []string{pinned}},
		"a changed one gets the pins":                     {[]Source{mainBranch}, "other", known, []string{sha(9)}},
		"a new one gets the pins":                         {[]Source{mainBranch}, "h", nil, []string{sha(9)}},
		"one source that is not resolved leaves all open": {[]Source{mainBranch, otherBranch}, "h", nil, nil},
		"immutable ones need no pin":                      {[]Source{exactChart}, "h", nil, []string{"1.2.3"}},
		"a known target of other sources is none":         {[]Source{mainBranch, exactChart}, "h", known, []string{sha(9), "1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := DesiredRevisions(c.sources, c.hash, c.known, pins); !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestRemovalGroups(t *testing.T) {
	labels := map[string]string{
		"b": "step 02: y", "a": "step 02: y", "c": "step 10: z", "d": NoStepLabel, "e": "from before", "f": "step 01: x", "g": AllAtOnceLabel,
	}
	if got, want := RemovalGroups(labels, true), [][]string{{"d", "e"}, {"c"}, {"a", "b"}, {"f", "g"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("in reverse: %v, want %v", got, want)
	}
	if got, want := RemovalGroups(labels, false), [][]string{{"a", "b", "c", "d", "e", "f", "g"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("all at once: %v, want %v", got, want)
	}
	if got := RemovalGroups(nil, true); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestRemovalGroupsLoseNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SampledFrom([]string{"step 01: a", "step 99: b", "step 00: c", "step 100: d", "step 1: e", "", NoStepLabel, "x"})
		labels := rapid.MapOf(rapid.StringMatching("[a-f]{1,2}"), label).Draw(t, "labels")
		var names []string
		for _, g := range RemovalGroups(labels, rapid.Bool().Draw(t, "reverse")) {
			if len(g) == 0 || !slices.IsSorted(g) {
				t.Fatalf("group %v", g)
			}
			names = append(names, g...)
		}
		slices.Sort(names)
		if !slices.Equal(names, slices.Sorted(maps.Keys(labels))) {
			t.Fatalf("%v of %v", names, labels)
		}
	})
}
