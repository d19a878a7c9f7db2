package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// Verdicts beside the names of differences.
const (
	verdictSame       = "same"
	verdictBothFail   = "both fail"
	verdictDifference = "difference"
)

// comparison is one ApplicationSet, rendered by both.
type comparison struct {
	world *world
	// manifest is the ApplicationSet; argo, if it is not nil, is what Argo CD gets instead.
	manifest, argo map[string]any
	text           []byte

	oracle oracleResult
	ours   ourResult
}

// judgement is what a comparison comes to. problem is empty unless it is a failure of ours.
type judgement struct {
	verdict string
	// differences are those that explain why Argo CD renders and we do not, or the reverse.
	differences []string
	problem     string
	// kind is what kind of problem it is: while a set shrinks, it must stay the same.
	kind string
}

// compare renders a manifest with both and judges.
func compare(w *world, text []byte, argo map[string]any) (*comparison, judgement) {
	c := &comparison{world: w, manifest: map[string]any{}, text: text, argo: argo}
	if err := yaml.Unmarshal(text, &c.manifest); err != nil {
		return c, judgement{problem: "the manifest is no YAML: " + err.Error()}
	}
	forArgo := c.manifest
	if argo != nil {
		forArgo = argo
	}
	c.oracle = w.oracle.render(forArgo)
	c.ours = renderOurs(w, text)
	return c, c.judge()
}

func (c *comparison) judge() judgement {
	weFail, argoFails := len(c.ours.errors) > 0, c.oracle.err != nil
	switch {
	case c.ours.defect != "":
		return judgement{problem: c.ours.defect, kind: "defect " + firstWords(c.ours.defect)}
	case weFail && argoFails:
		return judgement{verdict: verdictBothFail}
	case weFail:
		return c.judgeRefusal()
	case argoFails:
		return c.judgeAcceptance()
	}
	return c.judgeRendering()
}

// judgeRefusal wants every error of ours to be explained by a difference that what Argo CD was given,
// or did, shows.
func (c *comparison) judgeRefusal() judgement {
	out := judgement{verdict: verdictDifference}
	for _, issue := range c.ours.errors {
		explained := false
		for _, d := range differences {
			if d.accepts || !slices.Contains(d.summaries, issue.Summary) || !d.seen(c) {
				continue
			}
			explained = true
			if !slices.Contains(out.differences, d.name) {
				out.differences = append(out.differences, d.name)
			}
		}
		if !explained {
			return judgement{
				problem: fmt.Sprintf("Argo CD renders %q, we fail and no deliberate difference explains it:\n%s", namesOf(c.oracle.apps), issue),
				kind:    "refusal " + issue.Summary,
			}
		}
	}
	return out
}

// judgeAcceptance wants a difference that says why we render what Argo CD does not.
func (c *comparison) judgeAcceptance() judgement {
	for _, d := range differences {
		if d.accepts && d.seen(c) {
			return judgement{verdict: verdictDifference, differences: []string{d.name}}
		}
	}
	return judgement{
		problem: fmt.Sprintf("Argo CD fails, we do not: %v\nwe render %q", c.oracle.err, namesOf(c.ours.apps)),
		kind:    "acceptance " + firstWords(c.oracle.err.Error()),
	}
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(len(words), 8)], " ")
}

// mostTries is how often Argo CD may render again when its result depends on the order of Go maps. Of two
// keys the second comes first only once in eight times.
const mostTries = 200

// judgeRendering wants the same Applications. Argo CD puts the clusters of a flat list, for instance, into
// another order each time: where it does not agree with itself, the order within a text does not count.
func (c *comparison) judgeRendering() judgement {
	ours := normalized(c.ours.apps)
	theirs := c.normalizedOracle(c.oracle.apps)
	if cmp.Equal(theirs, ours) {
		return judgement{verdict: verdictSame}
	}
	forArgo := c.manifest
	if c.argo != nil {
		forArgo = c.argo
	}
	random := false
	for range mostTries {
		again := c.normalizedOracle(c.world.oracle.render(forArgo).apps)
		random = random || !cmp.Equal(again, theirs)
		if cmp.Equal(again, ours) || random && cmp.Equal(withoutOrder(again), withoutOrder(ours)) {
			return judgement{verdict: verdictSame}
		}
	}
	return judgement{problem: "Argo CD (-) and we (+) render different Applications:\n" + cmp.Diff(theirs, ours), kind: "rendering"}
}

// withoutOrder copies a tree; the letters of its texts, and the entries of its lists, are sorted.
func withoutOrder(v any) any {
	switch v := v.(type) {
	case string:
		letters := []rune(v)
		slices.Sort(letters)
		return string(letters)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = withoutOrder(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutOrder(e)
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(string(mustJSON(a)), string(mustJSON(b))) })
		return out
	}
	return v
}

// normalizedOracle does what happens to an Application after it was generated: Argo CD takes a
// missing project for "default", and clears automated sync under RollingSync
// (disableAutomatedSync in applicationset/progressivesync, Argo CD 3.6.1).
func (c *comparison) normalizedOracle(apps []v1alpha1.Application) []any {
	strategy := c.oracle.set.Spec.Strategy
	rolling := strategy != nil && strategy.Type == "RollingSync"
	for i := range apps {
		if apps[i].Spec.Project == "" {
			apps[i].Spec.Project = "default"
		}
		if policy := apps[i].Spec.SyncPolicy; rolling && policy != nil && policy.Automated != nil {
			off := false
			policy.Automated.Enabled = &off
		}
	}
	return normalized(apps)
}

// normalized are the Applications as JSON has them, sorted by name: what is written to the cluster
// and nothing else.
func normalized(apps []v1alpha1.Application) []any {
	byText := map[string]any{}
	var texts []string
	for _, app := range apps {
		object := map[string]any{"name": app.Name, "namespace": app.Namespace, "spec": app.Spec}
		// An empty map or list of metadata is dropped by the API server.
		if len(app.Labels) > 0 {
			object["labels"] = app.Labels
		}
		if len(app.Annotations) > 0 {
			object["annotations"] = app.Annotations
		}
		if len(app.Finalizers) > 0 {
			object["finalizers"] = app.Finalizers
		}
		tree := asTree(object)
		text := app.Name + "\x00" + string(mustJSON(tree))
		texts, byText[text] = append(texts, text), tree
	}
	slices.Sort(texts)
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = byText[text]
	}
	return out
}

// asTree is a value as a trip through JSON leaves it.
func asTree(v any) any {
	var out any
	if err := json.Unmarshal(mustJSON(v), &out); err != nil {
		panic(err)
	}
	return out
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func namesOf(apps []v1alpha1.Application) []string {
	out := []string{}
	for _, app := range apps {
		out = append(out, app.Name)
	}
	slices.Sort(out)
	return out
}

// anyText reports whether a text of the tree, or a key, satisfies the test.
func anyText(v any, test func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return test(v)
	case map[string]any:
		for key, e := range v {
			if test(key) || anyText(e, test) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return anyText(e, test) })
	}
	return false
}

func holds(part string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, part) }
}
