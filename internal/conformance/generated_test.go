package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	// setsInCI and setsInSoak are how many sets are written and rendered.
	setsInCI, setsInSoak = 2_000, 50_000
	// leastSame is the percentage that must render the same on both sides: a grammar of sets that
	// fail would prove nothing.
	leastSame = 60
	// mostFailures is how many kinds of failures are shrunk and shown.
	mostFailures = 8
)

// notes are printed when all tests have run.
var notes []string

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // Argo CD copies all functions for every text; the garbage is short-lived
	code := m.Run()
	for _, note := range notes {
		fmt.Println("note: " + note)
	}
	os.Exit(code)
}

// seedOf is CONFORMANCE_SEED; otherwise the clock in a soak, and always the same in CI.
func seedOf(t *testing.T, soak bool) uint64 {
	t.Helper()
	if text := os.Getenv("CONFORMANCE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("CONFORMANCE_SEED: %v", err)
		}
		return seed
	}
	if soak {
		return uint64(time.Now().UnixNano())
	}
	return 1
}

// generatedWorlds are those that sets are rendered in.
func generatedWorlds(t *testing.T) []*world {
	t.Helper()
	whole := loadWorld(t, defaultWorld)
	named := func(names ...string) *world {
		return whole.withClusters(t, func(secret corev1.Secret) bool {
			for _, name := range names {
				if string(secret.Data["name"]) == name {
					return true
				}
			}
			return false
		})
	}
	return []*world{whole, whole, whole, named("dev-eu", "prod-eu"), named()}
}

// generate writes set number i of a seed, and says in which of the worlds it is rendered.
func generate(seed uint64, i, worlds int) (map[string]any, int) {
	g := &grammar{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
	set := g.set()
	return set, g.IntN(worlds)
}

func TestGeneratedSetsRenderAlike(t *testing.T) {
	soak := os.Getenv("SOAK") != ""
	count := setsInCI
	if soak {
		count = setsInSoak
	}
	seed := seedOf(t, soak)
	worlds := generatedWorlds(t)
	verdicts := map[string]int{}
	failures := 0
	kinds := map[string]int{}
	for i := range count {
		set, at := generate(seed, i, len(worlds))
		got := judgeSet(t, worlds[at], set)
		if got.problem == "" {
			verdicts[got.verdict]++
			continue
		}
		failures++
		if kinds[got.kind]++; kinds[got.kind] > 1 || len(kinds) > mostFailures {
			continue
		}
		small, problem := shrink(t, worlds[at], set, got)
		t.Errorf("seed %d, set %d, world %d: %s\nthe smallest set with this failure:\n%s\nclusters: %q",
			seed, i, at, problem, manifestText(t, small), clusterNames(worlds[at]))
	}
	if failures > 0 {
		t.Errorf("seed %d: %d failures in all, by kind: %v", seed, failures, kinds)
	}
	notes = append(notes, fmt.Sprintf("conformance: seed %d, %d sets: %d render the same, %d fail in both, %d are deliberate differences, %d failures",
		seed, count, verdicts[verdictSame], verdicts[verdictBothFail], verdicts[verdictDifference], failures))
	if verdicts[verdictSame]*100 < count*leastSame {
		t.Errorf("only %d of %d sets render on both sides", verdicts[verdictSame], count)
	}
}

func manifestText(t *testing.T, set map[string]any) []byte {
	t.Helper()
	text, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func judgeSet(t *testing.T, w *world, set map[string]any) judgement {
	t.Helper()
	_, got := compare(w, manifestText(t, set), nil)
	return got
}

func clusterNames(w *world) []string {
	var out []string
	for _, secret := range w.clusters() {
		out = append(out, string(secret.Data["name"]))
	}
	return out
}

// mostShrinking is how often a set is rendered in search of a smaller one.
const mostShrinking = 300

// shrink takes parts of the spec of a failing set away for as long as it fails in the same way.
func shrink(t *testing.T, w *world, set map[string]any, failing judgement) (map[string]any, string) {
	t.Helper()
	tries := 0
	for smaller := true; smaller; {
		smaller = false
		for _, spec := range without(set["spec"]) {
			if tries++; tries > mostShrinking {
				return set, failing.problem
			}
			candidate := cloneMap(set)
			candidate["spec"] = spec
			if got := judgeSet(t, w, candidate); got.problem != "" && got.kind == failing.kind {
				set, failing, smaller = candidate, got, true
				break
			}
		}
	}
	return set, failing.problem
}

// without are all trees with one key, one entry of a list, or half of a text less.
func without(v any) []any {
	var out []any
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			less := cloneMap(v)
			delete(less, key)
			out = append(out, less)
		}
		for _, key := range sortedKeys(v) {
			for _, smaller := range without(v[key]) {
				other := cloneMap(v)
				other[key] = smaller
				out = append(out, other)
			}
		}
	case []any:
		for i := range v {
			out = append(out, append(append([]any{}, v[:i]...), v[i+1:]...))
		}
		for i, e := range v {
			for _, smaller := range without(e) {
				other := append([]any{}, v...)
				other[i] = smaller
				out = append(out, other)
			}
		}
	case string:
		if tags := strings.SplitAfter(v, "}}"); len(tags) > 1 {
			out = append(out, strings.Join(tags[1:], ""), strings.Join(tags[:len(tags)-1], ""))
		}
	}
	return out
}

func TestASetShrinksToWhatMakesItFail(t *testing.T) {
	set := map[string]any{"a": []any{1.0, map[string]any{"x": "y", "bad": true}}, "b": "c"}
	steps := 0
	for found := true; found; steps++ {
		found = false
		for _, candidate := range without(set) {
			if bytes.Contains(mustJSON(candidate), []byte("bad")) {
				set, found = candidate.(map[string]any), true
				break
			}
		}
	}
	if got := string(mustJSON(set)); got != `{"a":[{"bad":true}]}` {
		t.Errorf("after %d steps: %s", steps, got)
	}
}

func TestASeedWritesTheSameSetAgain(t *testing.T) {
	for i := range 50 {
		first, _ := generate(7, i, 5)
		again, _ := generate(7, i, 5)
		if !bytes.Equal(mustJSON(first), mustJSON(again)) {
			t.Fatalf("set %d:\n%s\n%s", i, mustJSON(first), mustJSON(again))
		}
	}
}
