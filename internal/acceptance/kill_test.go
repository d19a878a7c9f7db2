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

// Seeds and amounts: in CI a fixed list, so that a failure is one of the change at hand.
const (
	killFirstSeed = 1
	killStories   = 4  // 12 strikes, two of each kind
	soakStories   = 50 // 50 strikes in each phase
	seedVariable  = "ARGOCDPROGRESSIVE_SEED"
)

// TestAccKill interrupts create, update and destroy at random instants in all the ways in which a
// run of terraform ends before its time, runs terraform again, and requires the same end as
// without: what lives, what was deployed, how often and in which order. See story.
//
// The instants come from a seed, the name of the subtest. ARGOCDPROGRESSIVE_SEED is the first
// one; SOAK=1 takes it from the clock and tells 50 stories.
func TestAccKill(t *testing.T) {
	f := newFixture(t)
	provider := buildProvider(t)
	first, stories := killSeeds(t)
	killed.first = first

	calm := f.story(provider)
	for phase := range phaseCount {
		calm.run(phase, nil)
		t.Logf("an undisturbed %s: %d events in %s", phaseNames[phase], calm.pace[phase].events, calm.pace[phase].took.Round(time.Millisecond))
	}
	for seed := first; seed < first+stories; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := newFixture(t).story(provider)
			t.Cleanup(func() {
				killed.add(s.strikes, s.resumes)
				if t.Failed() {
					t.Logf("to repeat it: %s=%d TF_ACC=1 go test ./internal/acceptance -count=1 -run 'TestAccKill$/seed_%d$'", seedVariable, seed, seed)
				}
			})
			for phase, x := range strikes(seed, calm.pace) {
				if t.Logf("next: %s", x); x.again != nil {
					t.Logf("then: %s", x.again)
				}
				s.run(phase, &x)
			}
		})
	}
}

// killSeeds are the first seed and how many stories there are.
func killSeeds(t *testing.T) (first, stories uint64) {
	t.Helper()
	first, stories = killFirstSeed, killStories
	if os.Getenv(soakEnv) != "" {
		first, stories = uint64(time.Now().Unix()), soakStories
	}
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	return first, stories
}

// killed is what all strikes of this test binary did.
var killed = killFigures{counts: map[string]int{}}

func init() { notes = append(notes, killed.String) }

// killFigures sums up what strikes did.
type killFigures struct {
	first    uint64 // seed
	mu       sync.Mutex
	counts   map[string]int
	struck   [phaseCount]int
	missed   int
	resumes  [mostResumes + 1]int
	ended    time.Duration
	orphaned time.Duration
}

func (k *killFigures) add(strikes []struckAt, resumes []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range resumes {
		k.resumes[n]++
	}
	for _, s := range strikes {
		if s.missed {
			k.missed++
			continue
		}
		k.struck[s.phase]++
		k.counts[s.name]++
		k.ended, k.orphaned = max(k.ended, s.ended), max(k.orphaned, s.orphaned)
	}
}

func (k *killFigures) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.struck[createPhase] + k.struck[updatePhase] + k.struck[destroyPhase]
	if all == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d interruptions (%d too late) from %s=%d on", all, k.missed, seedVariable, k.first)}
	for phase, n := range k.struck {
		parts = append(parts, fmt.Sprintf("%d of %s", n, phaseNames[phase]))
	}
	for _, kind := range interruptions {
		parts = append(parts, fmt.Sprintf("%d %s", k.counts[kind.name], kind.name))
	}
	for n, runs := range k.resumes {
		parts = append(parts, fmt.Sprintf("%d phases needed %d more runs", runs, n))
	}
	return strings.Join(parts, ", ") + fmt.Sprintf(", terraform ended within %s, and the provider %s later",
		k.ended.Round(10*time.Millisecond), k.orphaned.Round(10*time.Millisecond))
}
