package appset

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxParamSets is how many parameter sets a generator may give, and all of them together.
	maxParamSets = 100_000
	// maxGenerated is how much generators may make of texts, and by combining sets, in bytes about.
	maxGenerated = 256 << 20
	// maxIssues ends an evaluation in which everything is wrong.
	maxIssues = 1000
)

// Rendering is what a set gives.
type Rendering struct {
	// Apps are sorted by name; those whose name is not known yet come last, in the order of their elements.
	Apps []Application
	// Complete is false when not even the number of Applications is known: something in the
	// generators, or the way to render, is Unknown; or there was nobody to ask; or there are errors
	// of generators. There are no Applications then.
	Complete bool
	// Answers are exactly those that were used.
	Answers Answers
}

// Render evaluates the generators and renders the Applications. Answers that are recorded win over
// inputs; what is not recorded is asked of inputs, which may be nil: a set that [Set.NeedsInputs] is
// then not complete, and that is no error. Errors are complete: everything that is wrong, in every element.
func (s *Set) Render(ctx context.Context, inputs Inputs, recorded Answers) (Rendering, Issues) {
	sets, answers, issues, complete := s.evaluate(ctx, inputs, recorded)
	out := Rendering{Complete: complete, Answers: answers}
	if !complete || issues.HasErrors() {
		return out, redacted(inputs, issues)
	}
	r := renderer{set: s, compiled: map[string]*goTemplate{}, tags: map[string]tagText{}}
	sets = slices.DeleteFunc(sets, func(p paramSet) bool { return r.refuseEmpty(p) })
	out.Apps = make([]Application, 0, len(sets))
	for _, p := range sets {
		if r.full() {
			break
		}
		app := r.application(p)
		r.refuseCredentials(app)
		out.Apps = append(out.Apps, app)
	}
	r.checkDuplicates(out.Apps, sets)
	slices.SortStableFunc(out.Apps, func(a, b Application) int {
		if a.NameUnknown != b.NameUnknown {
			if a.NameUnknown {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, redacted(inputs, abridge(append(issues, r.issues...).sorted()))
}

// refuseEmpty reports an element without parameters. Argo CD uses the template as it stands then:
// nothing is replaced, and no finalizer is added (RenderTemplateParams in applicationset/utils, Argo CD 3.6.1).
func (r *renderer) refuseEmpty(p paramSet) bool {
	if m, ok := p.values.(map[string]any); !ok || len(m) > 0 {
		return false
	}
	r.issues.fail(Path{"spec", "generators"}, SummaryInvalidElement, fmt.Sprintf(
		"%s has no parameter: Argo CD does not render the template then, and adds no finalizer. Give it a parameter.", p.at))
	return true
}

// Parameters are the parameter sets alone, in the order of the generators, as plain JSON. The last
// result is false when they are not all known; there are none then. A generator that has a template
// is an error: it would be lost.
func (s *Set) Parameters(ctx context.Context, inputs Inputs, recorded Answers) ([]map[string]any, Answers, Issues, bool) {
	sets, answers, issues, complete := s.evaluate(ctx, inputs, recorded)
	issues = redacted(inputs, append(s.refuseTemplates(), issues...))
	if !complete || issues.HasErrors() {
		return nil, answers, issues, false
	}
	out := make([]map[string]any, 0, len(sets))
	for _, p := range sets {
		values, known := plainTree(p.values).(map[string]any)
		if !known {
			return nil, answers, issues, false
		}
		out = append(out, values)
	}
	return out, answers, issues, true
}

// refuseTemplates reports the templates of generators, which parameters cannot carry.
func (s *Set) refuseTemplates() Issues {
	var issues Issues
	for _, g := range s.Generators {
		for _, p := range g.parts {
			if p.template != nil {
				issues.fail(g.at, SummaryUnsupportedField, fmt.Sprintf(
					"%s has a template, which changes Applications, and here are only parameters. Give it to the generator of the set that uses them.", g.at))
			}
		}
	}
	return issues
}

// redacted hides in issues what inputs know to be secret, and passwords in URLs.
func redacted(inputs Inputs, issues Issues) Issues {
	r, redacts := inputs.(Redactor)
	for i := range issues {
		detail := &issues[i].Detail
		if *detail = urlPasswords.ReplaceAllString(*detail, "$1(hidden)@"); redacts {
			*detail = r.Redact(*detail)
		}
	}
	return issues
}

// NeedsInputs reports whether any generator asks the world outside of the set.
func (s *Set) NeedsInputs() bool {
	return slices.ContainsFunc(s.Generators, func(g Generator) bool { return !pureGenerator(g) })
}

// evaluate returns all parameter sets, in the order of the generators.
func (s *Set) evaluate(ctx context.Context, inputs Inputs, recorded Answers) ([]paramSet, Answers, Issues, bool) {
	if s.unknown {
		return nil, Answers{}, nil, false
	}
	e := newEvaluation(ctx, s, inputs, recorded)
	complete := true
	var sets []paramSet
	for _, g := range s.Generators {
		more, ok := e.generate(g)
		complete = complete && ok
		sets = append(sets, more...)
	}
	if !e.fits(len(sets), Path{"spec", "generators"}) {
		complete = false
	}
	if !complete {
		sets = nil
	}
	return sets, Answers{entries: e.used}, abridge(e.issues.sorted()), complete
}

// evaluation is one evaluation of the generators of a set.
type evaluation struct {
	ctx      context.Context
	set      *Set
	inputs   Inputs
	recorded Answers
	texts    *texts

	// used are the answers so far, failed the questions that gave an error.
	used   map[string]answer
	failed map[string]bool
	issues Issues
	// clusters are all clusters, once they were asked for.
	clusters func() ([]Cluster, error)
	// generated is what counts to maxGenerated so far.
	generated int
	// outer is the parameter set that is in place in the generator at hand: nil outside of the second
	// child of a matrix.
	outer *paramSet
}

func newEvaluation(ctx context.Context, s *Set, inputs Inputs, recorded Answers) *evaluation {
	e := &evaluation{
		ctx: ctx, set: s, inputs: inputs, recorded: recorded, texts: newTexts(s),
		used: map[string]answer{}, failed: map[string]bool{},
	}
	var known []Cluster
	var err error
	asked := false
	e.clusters = func() ([]Cluster, error) {
		if !asked {
			asked = true
			known, err = inputs.Clusters(ctx)
		}
		return known, err
	}
	return e
}

// fail reports an error of the generator at hand.
func (e *evaluation) fail(at Path, summary, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if e.outer != nil {
		detail = "With " + e.outer.at.String() + ": " + detail
	}
	e.issues.fail(at, summary, detail)
}

// fits reports more parameter sets than there may be.
func (e *evaluation) fits(n int, at Path) bool {
	if n <= maxParamSets {
		return true
	}
	e.fail(at, SummaryGeneratorFailed, "%s gives more than %d parameter sets. Make its question narrower, or split the ApplicationSet.", at, maxParamSets)
	return false
}

// bear counts what the generators have made and reports when it is too much.
func (e *evaluation) bear(bytes int, at Path) bool {
	before := e.generated
	if e.generated += bytes; e.generated <= maxGenerated {
		return true
	}
	if before <= maxGenerated {
		e.fail(at, SummaryGeneratorFailed, "the generators make more than %d MiB of parameters. Make their questions narrower, or split the ApplicationSet.", maxGenerated>>20)
	}
	return false
}

// generate evaluates an entry. It returns false when the sets cannot be known, or after an error.
func (e *evaluation) generate(g Generator) ([]paramSet, bool) {
	if g.deferred {
		g = e.set.buildGenerator(g.entry, g.at, false, &e.issues)
		if e.issues.HasErrors() {
			return nil, false
		}
	}
	if g.unknown || g.selector.unknown {
		return nil, false
	}
	known := true
	var out []paramSet
	for _, p := range g.parts {
		sets, ok := p.source.params(e)
		if ok {
			ok = e.fits(len(sets), g.at)
		}
		if ok {
			sets, ok = g.selector.filter(sets)
		}
		if !ok {
			known = false
			continue
		}
		if p.template != nil {
			sets = slices.Clone(sets)
			template := mergeTemplate(p.template, e.set.Template)
			for i := range sets {
				sets[i].template = template
			}
		}
		out = append(out, sets...)
	}
	return out, known
}

// generateWith evaluates an entry with the parameters of the first generator of a matrix in their places.
func (e *evaluation) generateWith(g Generator, first paramSet) ([]paramSet, bool) {
	if m, ok := first.values.(map[string]any); ok && len(m) == 0 {
		return e.generate(g)
	}
	before := e.outer
	e.outer = &first
	defer func() { e.outer = before }()
	errorsBefore := len(e.issues)
	entry := e.interpolate(g.entry, g.at)
	var issues Issues
	if len(e.issues) == errorsBefore {
		g = e.set.buildGenerator(entry, g.at, false, &issues)
		for _, issue := range issues {
			e.fail(issue.Path, issue.Summary, "%s", issue.Detail)
		}
	}
	if len(e.issues) > errorsBefore {
		return nil, false
	}
	return e.generate(g)
}

// ask returns the answer to a question: the recorded one, or the one that fetch gets. It returns
// false without an issue when there is nobody to ask.
func (e *evaluation) ask(at Path, q question, fetch func() (answer, error)) (answer, bool) {
	key, err := q.key()
	if err != nil {
		e.fail(at, SummaryGeneratorFailed, "%s asks for something that JSON cannot hold: %s.", at, err)
		return answer{}, false
	}
	if a, ok := e.used[key]; ok {
		return a, true
	}
	if a, ok := e.recorded.entries[key]; ok {
		e.used[key] = a
		return a, true
	}
	if e.inputs == nil || e.failed[key] {
		return answer{}, false
	}
	a, err := fetch()
	if err != nil {
		e.failed[key] = true
		e.fail(at, SummaryGeneratorFailed, "%s: %s. Nothing is rendered: a generator that fails is never one that gives nothing.", at[1:], strings.TrimSuffix(err.Error(), "."))
		return answer{}, false
	}
	e.used[key] = a
	return a, true
}
