package rollout

import (
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Labels of Applications outside numbered steps.
const (
	// NoStepLabel is the wave of Applications that no step selects.
	NoStepLabel = "no step"
	// AllAtOnceLabel is the only wave without a rolling strategy.
	AllAtOnceLabel = "all at once"
)

var (
	fullSHA   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	digest    = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	stepLabel = regexp.MustCompile(`^step (\d{2}):`)
)

// KnownTarget is what an Application of this spec hash is to be rolled out to, as found when the
// plan was refreshed. It is stored in Terraform's private state.
type KnownTarget struct {
	Hash      string   `json:"hash"`
	Revisions []string `json:"revisions"`
}

// Immutable tells whether the target revision of a source always means the same content: a full
// commit SHA, one exact chart version, or the digest of an OCI artifact.
func Immutable(s Source) bool { return resolved(s, s.TargetRevision) }

// isOCI tells an OCI artifact, whatever else the source says (IsOCI in types.go, and the order of
// the cases in reposerver/repository, Argo CD 3.6.1).
func (s Source) isOCI() bool { return strings.HasPrefix(s.RepoURL, "oci://") }

// Leaf is the text of a target in the waves: the revision each source is pinned to, then the
// spec hash. Without revisions it is the hash alone.
func Leaf(sources []Source, revisions []string, hash string) string {
	if len(revisions) == 0 || len(revisions) != len(sources) {
		return "#" + hash
	}
	parts := make([]string, len(sources))
	for i, s := range sources {
		short := shortRevision(revisions[i])
		if revisions[i] == "" || revisions[i] == s.TargetRevision {
			parts[i] = short
		} else {
			parts[i] = s.TargetRevision + "@" + short
		}
	}
	return strings.Join(parts, ", ") + " #" + hash
}

func shortRevision(r string) string {
	switch {
	case fullSHA.MatchString(r):
		return r[:7]
	case digest.MatchString(r):
		return r[:len("sha256:")+7]
	}
	return r
}

// BaseLeaf is the leaf of what is live: the deployed revisions, where the mode promises any, and
// the live spec hash.
func BaseLeaf(l *Live, m Mode) string {
	if m != ModeSync {
		return Leaf(nil, nil, l.Hash)
	}
	return Leaf(l.Sources, l.deployedRevisions(), l.Hash)
}

// LiveLeaf is BaseLeaf with what is wrong in brackets. Only two things count as wrong, so that
// plans stay quiet: the Application has drifted from what was deployed, or its last rollout is
// unproven (proven is the base leaf that a rollout has last seen done and healthy). With accept,
// being out of sync at its target is not wrong for a proven one, unless its resources are gone: Options.AcceptOutOfSync.
func LiveLeaf(l *Live, m Mode, proven string, accept bool) string {
	base := BaseLeaf(l, m)
	if what := l.wrong(m, base == proven, accept); what != "" {
		return base + " (" + what + ")"
	}
	return base
}

// HeldBack is the leaf of an Application that is left as it is: its live target and that it is
// held back. The leaf given may be that of LiveLeaf or HeldBack.
func HeldBack(leaf string) string {
	base, _, _ := strings.Cut(leaf, " (")
	return base + " (held back)"
}

func (l *Live) wrong(m Mode, proven, accept bool) string {
	switch {
	case l.Terminating:
		return "Deleting"
	case m == ModeWrite:
		return ""
	case accept && proven && l.specDeployed() && l.Health.Type != Missing:
		return ""
	case m == ModeSync && l.drifted(), m == ModeManual && (l.drifted() || l.Sync.Status == OutOfSync):
		return OutOfSync
	case m == ModeManual && l.Deployed.ID == 0 && !proven:
		return Missing
	case m != ModeAutomated && l.Deployed.ID != 0 && l.Deployed.ID <= l.ManualAfter:
		return OutOfSync // written by a manual step, and not synced since
	case proven:
		return ""
	case l.Operation.Active():
		return Progressing
	case l.Operation.Phase == Failed || l.Operation.Phase == Error:
		return Failed
	case m != ModeAutomated && l.Deployed.ID == 0 && l.Operation.Phase != Succeeded:
		return Missing
	case l.Health.Type != Healthy:
		return orUnknown(l.Health.Type)
	}
	return ""
}

// drifted: what is live is not what was deployed, or was never deployed from the live spec. A
// newer commit is no drift: then the comparison was made at another revision.
func (l *Live) drifted() bool {
	deployed := l.deployedRevisions()
	if !l.specDeployed() {
		return true
	}
	return len(deployed) > 0 && l.Sync.Status == OutOfSync && l.Sync.at(deployed)
}

// specDeployed tells that the last full sync, if any is known, was one of the live spec.
func (l *Live) specDeployed() bool { return l.Deployed.ID == 0 || l.Deployed.OfSpec }

// deployedRevisions are those of the last full sync that succeeded; where no history is kept,
// of the operation that succeeded, or of a comparison that found everything in sync.
func (l *Live) deployedRevisions() []string {
	switch {
	case l.Deployed.ID != 0:
		return l.Deployed.Revisions
	case l.Operation.Phase == Succeeded && len(l.Operation.Revisions) > 0:
		return l.Operation.Revisions
	case l.Sync.Status == Synced:
		return l.Sync.Revisions
	}
	return nil
}

func orUnknown(s string) string {
	if s == "" {
		return HealthUnknown
	}
	return s
}

// ResolvePins reads the revision that each mutable source means now from the last comparisons.
// Where they differ, the one found most often wins, then the lowest, so that the result does not
// depend on order; a refresh of the whole group makes them equal. Applications with automated sync
// have no say: a refresh would deploy, so they are not asked, and may be synced further at any
// time. What only they use is resolved by the run, once automated sync is off.
func ResolvePins(live []Live) Pins {
	votes := map[Source]map[string]int{}
	for i := range live {
		l := &live[i]
		if l.AutomatedOn || !l.Sync.OfSpec || len(l.Sync.Revisions) != len(l.Sources) {
			continue
		}
		for j, s := range l.Sources {
			if !Immutable(s) && resolved(s, l.Sync.Revisions[j]) {
				if votes[s] == nil {
					votes[s] = map[string]int{}
				}
				votes[s][l.Sync.Revisions[j]]++
			}
		}
	}
	pins := Pins{}
	for s, found := range votes {
		names := make([]string, 0, len(found))
		for r := range found {
			names = append(names, r)
		}
		sort.Slice(names, func(a, b int) bool {
			if found[names[a]] != found[names[b]] {
				return found[names[a]] > found[names[b]]
			}
			return names[a] < names[b]
		})
		pins[s] = names[0]
	}
	return pins
}

// resolved tells whether a compared revision is a resolved one: when a comparison fails, Argo CD
// may leave the name there.
func resolved(s Source, revision string) bool {
	switch {
	case s.isOCI():
		return digest.MatchString(revision)
	case s.Chart != "":
		_, err := semver.StrictNewVersion(strings.TrimPrefix(revision, "v"))
		return err == nil
	}
	return fullSHA.MatchString(revision)
}

// TargetRevisions are what a live Application is to be rolled out to while its spec stays as it
// is. One that is in sync keeps its deployed revisions when the branch moved elsewhere in the
// repository; any other gets what its sources mean now. Nil when that is not known.
func TargetRevisions(l *Live, pins Pins) []string {
	deployed := l.deployedRevisions()
	if l.Deployed.ID == 0 && l.Operation.Active() {
		return pins.revisions(l.Sources) // no history is kept, and what was compared is about to change
	}
	if l.Sync.Status == Synced && l.Sync.OfSpec && !l.drifted() && len(deployed) == len(l.Sources) && len(deployed) > 0 {
		return deployed
	}
	return pins.revisions(l.Sources)
}

// DesiredRevisions are the target of an Application that is to have this spec hash: what was
// found for it when the plan was refreshed, if its spec is unchanged; else the pins of its
// sources. Nil when one of them is neither immutable nor resolved yet.
func DesiredRevisions(sources []Source, hash string, known *KnownTarget, pins Pins) []string {
	if known != nil && known.Hash == hash && len(known.Revisions) == len(sources) && len(sources) > 0 {
		return known.Revisions
	}
	return pins.revisions(sources)
}

func (p Pins) revisions(sources []Source) []string {
	revisions := make([]string, len(sources))
	for i, s := range sources {
		switch {
		case Immutable(s):
			revisions[i] = s.TargetRevision
		case p[s] != "":
			revisions[i] = p[s]
		default:
			return nil
		}
	}
	return revisions
}

// StepNumber is the number in a step label; 0 for Applications of no step or of an unknown one.
func StepNumber(label string) int {
	if label == AllAtOnceLabel {
		return 1
	}
	if m := stepLabel.FindStringSubmatch(label); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// RemovalGroups orders deletions: with reverse, Applications of no step first, then whole steps
// from the last to the first; without, all are one group. Names are sorted.
func RemovalGroups(labelOf map[string]string, reverse bool) [][]string {
	groups := map[int][]string{}
	for name, label := range labelOf {
		n := 0
		if reverse {
			n = StepNumber(label)
		}
		groups[n] = append(groups[n], name)
	}
	var order [][]string
	add := func(n int) {
		if names := groups[n]; len(names) > 0 {
			slices.Sort(names)
			order = append(order, names)
		}
	}
	add(0)
	for n := 99; n > 0; n-- {
		add(n)
	}
	return order
}
