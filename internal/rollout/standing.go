package rollout

import "slices"

// Target is what an Application was to be rolled out to by the last run, as it was recorded.
type Target struct {
	// Step is the label of its step.
	Step string
	Mode Mode
	Hash string
	// Revisions are nil where the run was still to find them out.
	Revisions []string
	// AcceptOutOfSync and AcceptSuspended are what that run took for done: see Options.
	AcceptOutOfSync bool
	AcceptSuspended bool
}

// Standing tells where an Application stands by what is live, without a run to ask: also while
// another process rolls it out. l is nil where it does not exist, want where no target of it is
// known; then what is live counts as its target. The text says what is waited for, or what is wrong.
func Standing(l *Live, want *Target) (Phase, string) {
	if l == nil {
		return PhaseWaiting, "it does not exist yet"
	}
	if want == nil {
		want = &Target{Mode: ModeSync, Hash: l.Hash}
	}
	kind, said := l.errorKind()
	if kind == KindComparison && l.brokenSince(want) {
		kind = ""
	}
	switch o := l.Operation; {
	case l.Terminating:
		return PhaseDeleting, "it is being deleted"
	case l.Hash != want.Hash:
		return PhaseWaiting, "its live spec is not the one of the last apply"
	case o.Phase == Running || o.Phase == Terminating:
		return PhaseProgressing, joinNonEmpty("the operation is running", o.Message)
	case o.Pending != "":
		return PhasePending, "Argo CD has not started its operation yet"
	case kind != "":
		return PhaseFailed, said
	case o.Phase == Failed || o.Phase == Error:
		return PhaseFailed, joinNonEmpty("the last operation failed", o.Message)
	case want.Mode == ModeWrite:
		return l.standsByHealth(want)
	case want.Mode == ModeManual && l.Deployed.ID <= l.ManualAfter:
		return PhasePending, "manual step: somebody is to sync it"
	case want.Mode == ModeSync && want.Revisions != nil && !slices.Equal(l.deployedRevisions(), want.Revisions):
		return PhaseWaiting, "its target revision is not deployed yet"
	case l.drifted() && !(want.AcceptOutOfSync && l.specDeployed() && l.Health.Type != Missing):
		return PhaseWaiting, "what is live differs from what was deployed"
	}
	return l.standsByHealth(want)
}

// brokenSince tells that the target is deployed, and that the comparison which failed was one with a
// newer commit: that is not its error (see verify).
func (l *Live) brokenSince(want *Target) bool {
	deployed := l.deployedRevisions()
	pinned := want.Mode == ModeSync || want.Mode == ModeManual // what syncs itself is to be at the newest commit
	known := want.Revisions == nil || slices.Equal(deployed, want.Revisions)
	return pinned && known && len(deployed) > 0 && l.specDeployed() && !l.Sync.at(deployed)
}

// standsByHealth is the standing of an Application that is deployed.
func (l *Live) standsByHealth(want *Target) (Phase, string) {
	said := joinNonEmpty("health "+orUnknown(l.Health.Type), l.Health.Message)
	switch {
	case l.Health.Type == Healthy, l.Health.Type == Suspended && want.AcceptSuspended:
		return PhaseHealthy, ""
	case l.Health.Type == Progressing || l.Health.Type == Suspended:
		return PhaseProgressing, said
	case l.Deployed.ID == 0 && l.Operation.Phase == "":
		return PhasePending, "it has not been synced yet"
	}
	return PhaseFailed, said
}

// DeployedRevisions are those of the last full sync that succeeded, one for each source, or what
// comes nearest to that where no history is kept; nil for none.
func (l *Live) DeployedRevisions() []string { return l.deployedRevisions() }
