//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// kills are how many stories are told, and what their strikes must come to.
type kills struct {
	// stories are told in any case, and up to more of them when a strike was in vain. Three stories
	// have twelve strikes: see plannedKills.
	stories, more int
	// hits, ofPhase and ofKind are the fewest hits in all, of each phase and of each kind.
	hits, ofPhase, ofKind int
}

var (
	killsInCI   = kills{stories: 3, more: 3, hits: 10, ofPhase: 2, ofKind: 1}
	killsInSoak = kills{stories: 39, more: 12, hits: 150, ofPhase: 50, ofKind: 15}
)

// Seeds: in CI a fixed one, so that a failure is one of the change at hand.
const (
	ciSeed       = 1
	seedVariable = "ARGOCDPROGRESSIVE_SEED"
)

// TestAccKill interrupts create, update and destroy at random instants in all the ways in which a
// run of terraform ends before its time, runs terraform again, and requires the same end as
// without: what lives, what was deployed, how often and in which order. See story.
//
// All strikes come from one seed, see plannedKills: ARGOCDPROGRESSIVE_SEED, or in CI a fixed one and with
// SOAK=1 the clock. When some were in vain, because the run had come to its end all the same, further
// stories are told; the test fails when they do not make up for it.
func TestAccKill(t *testing.T) {
	requireAcceptance(t)
	t.Parallel()
	provider, seed, want := buildProvider(t), firstSeed(t), killsInCI
	if soaks() {
		want = killsInSoak
	}
	killed.seed = seed
	plan := plannedKills(seed, want.stories+want.more)
	// A group has ended when all of its stories have.
	tell := func(from, to int) bool {
		return t.Run(fmt.Sprintf("stories %d to %d", from, to), func(t *testing.T) {
			for n := from; n <= to; n++ {
				t.Run(fmt.Sprintf("story %d", n), func(t *testing.T) { tellOfKills(t, provider, n, plan[n-1]) })
			}
		})
	}
	well := tell(1, want.stories)
	for n := want.stories + 1; well && n <= len(plan) && killed.lacks(want) != ""; n++ {
		well = tell(n, n)
	}
	if killed.told < want.stories {
		t.Logf("%d of %d stories were told, as -run asks for", killed.told, want.stories)
	} else if lacks := killed.lacks(want); well && lacks != "" {
		t.Errorf("too many strikes were in vain: %s; the seed was %s=%d", lacks, seedVariable, seed)
	}
}

// tellOfKills tells one story, each phase of which is struck.
func tellOfKills(t *testing.T, provider string, n int, plan [phaseCount]strike) {
	f := newFixture(t)
	proxy := f.faults(killed.seed)
	s := f.story(provider)
	s.through(proxy)
	t.Cleanup(func() {
		killed.add(s.strikes, s.resumes)
		if t.Failed() {
			t.Logf("to repeat it: SOAK=%s %s=%d TF_ACC=1 go test ./internal/acceptance -count=1 -run 'TestAccKill$/./story_%d$'",
				os.Getenv(soakEnv), seedVariable, killed.seed, n)
		}
	})
	for phase, x := range plan {
		if t.Logf("next: %s", x); x.again != nil {
			t.Logf("then: %s", x.again)
		}
		s.run(phase, &x)
	}
}

// firstSeed is the seed of this run of the tests.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		return seed
	}
	if soaks() {
		return uint64(time.Now().Unix())
	}
	return ciSeed
}

// killed is what all strikes of this test binary did.
var killed = killFigures{kinds: map[string]int{}}

func init() { notes = append(notes, killed.String) }

// killFigures sums up what strikes did.
type killFigures struct {
	seed   uint64
	mu     sync.Mutex
	told   int // stories
	struck int
	// Hits, by kind, by phase and by the part of the run.
	kinds    map[string]int
	phases   [phaseCount]int
	parts    [partCount]int
	resumes  [mostResumes + 1]int
	ended    time.Duration
	orphaned time.Duration
}

func (k *killFigures) add(strikes []struckAt, resumes []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told++
	for _, n := range resumes {
		k.resumes[n]++
	}
	for _, s := range strikes {
		k.struck++
		if !s.hit {
			continue
		}
		k.kinds[s.name]++
		k.phases[s.phase]++
		k.parts[s.part]++
		k.ended, k.orphaned = max(k.ended, s.ended), max(k.orphaned, s.orphaned)
	}
}

func (k *killFigures) hits() int {
	sum := 0
	for _, n := range k.phases {
		sum += n
	}
	return sum
}

// lacks tells what is missing of what is wanted; "" when nothing is.
func (k *killFigures) lacks(want kills) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var missing []string
	lack := func(what string, got, want int) {
		if got < want {
			missing = append(missing, fmt.Sprintf("%d of %d %s", got, want, what))
		}
	}
	lack("hits", k.hits(), want.hits)
	for phase, n := range k.phases {
		lack("hits of "+phaseNames[phase], n, want.ofPhase)
	}
	for _, kind := range interruptions {
		lack(kind.name, k.kinds[kind.name], want.ofKind)
	}
	return strings.Join(missing, ", ")
}

func (k *killFigures) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.struck == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d of %d interruptions from %s=%d hit a run", k.hits(), k.struck, seedVariable, k.seed)}
	for phase, n := range k.phases {
		parts = append(parts, fmt.Sprintf("%d of %s", n, phaseNames[phase]))
	}
	for _, kind := range interruptions {
		parts = append(parts, fmt.Sprintf("%d %s", k.kinds[kind.name], kind.name))
	}
	for part, n := range k.parts {
		parts = append(parts, fmt.Sprintf("%d %s", n, partNames[part]))
	}
	for n, runs := range k.resumes {
		parts = append(parts, fmt.Sprintf("%d phases needed %d more runs", runs, n))
	}
	return strings.Join(parts, ", ") + fmt.Sprintf(", terraform ended within %s, and the provider %s later",
		k.ended.Round(10*time.Millisecond), k.orphaned.Round(10*time.Millisecond))
}
