package provider

import (
	"slices"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// placed is an Application with what the strategy says about it.
type placed struct {
	app appset.Application
	// step is an index into the steps, or rollout.NoStep. It counts only while certain.
	step int
	// certain is false where a label that is not known yet decides; then candidates are the steps
	// it could be in.
	certain    bool
	candidates []int
	mode       rollout.Mode
	// modeKnown is false while max_update, or whether automated sync is on, is not known.
	modeKnown bool
	// hash is empty while the Application is not fully known.
	hash    string
	sources []rollout.Source
}

// place gives every Application its step and mode.
func place(set *appset.Set, apps []appset.Application, s selection) []placed {
	out := make([]placed, len(apps))
	for i, app := range apps {
		p := placed{app: app, sources: sourcesOf(app.Sources)}
		p.step, p.candidates = stepOf(set.Strategy, app)
		p.certain = len(p.candidates) == 0
		p.mode, p.modeKnown = modeOf(set.Strategy, p.step, app, s)
		if !app.HasUnknown {
			p.hash = set.Retained.HashRendered(app.Object)
		}
		out[i] = p
	}
	return out
}

// stepOf is the first step that selects the Application, or NoStep. While an earlier one could
// select it as well, candidates are all that are possible.
func stepOf(s appset.Strategy, app appset.Application) (step int, candidates []int) {
	certain, maybe := s.StepsFor(app)
	step = rollout.NoStep
	if len(certain) > 0 {
		step = certain[0]
	}
	for _, m := range maybe {
		if step == rollout.NoStep || m < step {
			candidates = append(candidates, m)
		}
	}
	if len(candidates) > 0 {
		candidates = append(candidates, step)
	}
	return step, candidates
}

func modeOf(s appset.Strategy, step int, app appset.Application, chosen selection) (mode rollout.Mode, known bool) {
	switch {
	case s.Unknown:
		return "", false
	case s.Type != appset.RollingSync:
		if app.Automated {
			return rollout.ModeAutomated, true
		}
		return rollout.ModeSync, !app.HasUnknown
	case step == rollout.NoStep && chosen.last:
		return rollout.ModeSync, true
	case step == rollout.NoStep:
		return rollout.ModeWrite, true
	case s.Steps[step].MaxUpdate.Manual():
		return rollout.ModeManual, true
	}
	return rollout.ModeSync, !s.Steps[step].MaxUpdate.Unknown
}

// sourcesOf is nil while one of the sources is not known.
func sourcesOf(in []appset.Source) []rollout.Source {
	out := make([]rollout.Source, len(in))
	for i, s := range in {
		if s.Unknown {
			return nil
		}
		out[i] = rollout.Source{RepoURL: s.RepoURL, Chart: s.Chart, TargetRevision: s.TargetRevision, TagPrefix: s.TagPrefix}
	}
	return out
}

// keeping is p with the sources that it has once it is written: those of them that the set ignores
// differences of stay as they are live.
func (p placed) keeping(set *appset.Set, known targets) placed {
	live := known.Live[p.app.Name]
	if len(live) == 0 || set.Retained == nil || p.app.HasUnknown {
		return p
	}
	sources := make([]appset.Source, len(live))
	for i, s := range live {
		sources[i] = appset.Source{RepoURL: s.RepoURL, Chart: s.Chart, TargetRevision: s.TargetRevision, TagPrefix: s.TagPrefix}
	}
	p.sources = sourcesOf(set.Retained.Sources(p.app.Object, sources))
	return p
}

// changedSources are the live sources of the Applications in which somebody else may have changed
// them, as facts for keeping.
func changedSources(c content, live []rollout.Live) map[string][]liveSource {
	rendered := map[string][]rollout.Source{}
	for _, app := range c.apps {
		rendered[app.Name] = sourcesOf(app.Sources)
	}
	out := map[string][]liveSource{}
	for i := range live {
		l := &live[i]
		want, ok := rendered[l.Name]
		if !ok || c.set.Retained == nil && slices.Equal(want, l.Sources) {
			continue
		}
		for _, s := range l.Sources {
			out[l.Name] = append(out[l.Name], liveSource{RepoURL: s.RepoURL, Chart: s.Chart, TargetRevision: s.TargetRevision, TagPrefix: s.TagPrefix})
		}
	}
	return out
}

// labelOf names a step of the strategy.
func labelOf(labels []string, step int) string {
	if step == rollout.NoStep || step >= len(labels) {
		return rollout.NoStepLabel
	}
	return labels[step]
}

// planWaves computes the waves that a configuration is to reach: a pure function of the
// configuration and of what the last refresh found (known; empty for a create).
//
// A leaf that is known here must be what the apply stores. So a leaf stays open while its
// revision is not certain, a step while it is not certain what is in it, and all of them while
// the number of Applications or the steps themselves are not known, or whether a step has any
// Application: one without is left out. Applications that are held back stand where they are in
// prior, what is live; those that do not exist are left out.
func planWaves(c content, known targets, prior waves) waves {
	if c.unknown || !c.complete || c.set.Strategy.Unknown || c.selection.unknown {
		return waves{unknown: true}
	}
	labels, pins := c.set.Strategy.Labels(), known.pins()
	w, exists := newWaves(), map[*wave]bool{}
	for _, p := range c.placed() {
		p = p.keeping(c.set, known)
		if (!p.certain || p.app.NameUnknown) && c.selection.holdsAny(p) {
			return waves{unknown: true}
		}
		if p.certain && c.selection.holds(p.app.Name, p.step) {
			continue
		}
		if !p.certain {
			for _, step := range p.candidates {
				w.step(labelOf(labels, step)).unknown = true
			}
			continue
		}
		s := w.step(labelOf(labels, p.step))
		exists[s] = true
		if p.app.NameUnknown {
			s.unknown = true
		} else {
			s.leaves[p.app.Name] = p.leaf(known.known(p.app.Name), pins)
		}
	}
	if len(exists) < len(w.steps) {
		return waves{unknown: true}
	}
	c.heldWaves(prior, w)
	return w
}

// leaf is the text of the target; empty while it is not known.
func (p placed) leaf(known *rollout.KnownTarget, pins rollout.Pins) string {
	if !p.modeKnown || p.hash == "" {
		return ""
	}
	if p.mode != rollout.ModeSync {
		return rollout.Leaf(nil, nil, p.hash)
	}
	revisions := rollout.DesiredRevisions(p.sources, p.hash, known, pins)
	if revisions == nil {
		return ""
	}
	return rollout.Leaf(p.sources, revisions, p.hash)
}
