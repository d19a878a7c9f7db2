package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

const (
	// engineRow is followed by the name of the benchmark.
	engineRow  = "engine, simulated: "
	latencyRow = "engine, simulated cluster"
	// engineRuns is how often the engine is measured; the median counts.
	engineRuns    = 5
	engineTimeout = 15 * time.Minute
	engineSteps   = 20
	// latencyBudgetApps is up to where the budget of the latency goes; what is beyond is told.
	latencyBudgetApps = 1000
)

// latencySizes are the numbers of Applications with which the latency is measured.
var latencySizes = []int{latencyBudgetApps, 10000}

// rowsEngine measures the engine by itself. Time and allocations are those of BenchmarkEngine in
// package rollout: 20 steps, where everything happens at once. What it takes from the last event
// of a step to the first write of the next is measured in the real driver, on a simulated cluster.
func rowsEngine(ctx context.Context, b *bench) error {
	ctx, cancel := within(ctx, engineTimeout, "the engine by itself")
	defer cancel()
	if err := awaitQuiet(ctx, b.options.wait, b.progress); err != nil {
		return err
	}
	var output strings.Builder
	gaps := map[int][]time.Duration{}
	for i := range engineRuns {
		b.say("engine, run %d of %d", i+1, engineRuns)
		if err := benchmarkEngine(ctx, &output); err != nil {
			return err
		}
		for _, n := range latencySizes {
			gap, err := measureLatency(ctx, n, engineSteps)
			if err != nil {
				return err
			}
			gaps[n] = append(gaps[n], gap)
		}
	}
	costs, err := parseBenchmark(output.String())
	if err != nil {
		return err
	}
	b.results = append(b.results, costs...)
	for _, n := range latencySizes {
		b.results = append(b.results, result{what: latencyRow, side: providerDefault, cost: &cost{apps: n, gap: median(gaps[n])}})
	}
	return nil
}

func benchmarkEngine(ctx context.Context, output io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./internal/rollout", "-run", "^$", "-bench", "^BenchmarkEngine$", "-benchmem", "-count", "1")
	cmd.Env = cleanEnvironment(os.Environ())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), errors.Join(err, context.Cause(ctx)), out)
	}
	_, err = output.Write(out)
	return err
}

var benchmarkLine = regexp.MustCompile(`(?m)^BenchmarkEngine/([^/\s]+)/(\d+)(?:-\d+)?\s.*?([\d.]+) cpu-µs/app\s+(\d+) B/op\s+(\d+) allocs/op`)

// parseBenchmark reads what several runs of BenchmarkEngine have printed: the median of each size.
func parseBenchmark(output string) ([]result, error) {
	type key struct {
		name string
		apps int
	}
	type figures struct {
		cpu           []time.Duration
		bytes, allocs []int64
	}
	found := map[key]*figures{}
	for _, line := range benchmarkLine.FindAllStringSubmatch(output, -1) {
		apps, err := strconv.Atoi(line[2])
		if err != nil {
			return nil, err
		}
		micros, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			return nil, err
		}
		bytes, err := strconv.ParseInt(line[4], 10, 64)
		if err != nil {
			return nil, err
		}
		allocs, err := strconv.ParseInt(line[5], 10, 64)
		if err != nil {
			return nil, err
		}
		k := key{strings.ReplaceAll(line[1], "_", " "), apps}
		if found[k] == nil {
			found[k] = &figures{}
		}
		f := found[k]
		f.cpu = append(f.cpu, time.Duration(micros*float64(apps)*float64(time.Microsecond)))
		f.bytes, f.allocs = append(f.bytes, bytes), append(f.allocs, allocs)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the benchmark of the engine has printed no figures:\n%s", output)
	}
	var results []result
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.apps, b.apps)) }) {
		f := found[k]
		results = append(results, result{what: engineRow + k.name, side: providerDefault, cost: &cost{
			apps: k.apps, cpu: median(f.cpu), bytes: median(f.bytes), allocs: median(f.allocs),
		}})
	}
	return results, nil
}

// median is the middle one, the lower of two; there must be one.
func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// measureLatency rolls n Applications out, and returns the longest time between two steps.
func measureLatency(ctx context.Context, n, steps int) (time.Duration, error) {
	source := rollout.Source{RepoURL: "https://example.com/apps.git", TargetRevision: "main"}
	revisions := []string{fmt.Sprintf("%040x", 1)}
	plan := rollout.Plan{}
	for i := range steps {
		plan.Steps = append(plan.Steps, rollout.Step{Label: stepValue(i), Limit: -1})
	}
	sizes := setOptions{apps: n, steps: steps}
	for i := range n {
		plan.Apps = append(plan.Apps, rollout.Desired{
			Name: appName(i), Step: sizes.stepOf(i), Mode: rollout.ModeSync, Hash: "5be01234",
			Sources: []rollout.Source{source}, Revisions: revisions,
		})
	}
	cluster := newSimulation(n)
	var ids atomic.Int64
	outcome := rollout.Run(ctx, cluster, rollout.RealClock{}, plan, rollout.Options{
		AppTimeout: engineTimeout, MinHealthy: time.Millisecond, DegradedGrace: time.Minute, ErrorGrace: time.Minute,
		NewID: func() string { return strconv.FormatInt(ids.Add(1), 10) },
	})
	if !outcome.OK() || len(outcome.Done) != n {
		return 0, fmt.Errorf("the simulated rollout of %d Applications has ended with %d done: %w", n, len(outcome.Done),
			errors.Join(outcome.Err, context.Cause(ctx), fmt.Errorf("%v", outcome.Failures)))
	}
	return cluster.gap(), nil
}

// simulatedDelay is how long the simulation takes to sync or to compare. Real ones take longer;
// it must be there, because an answer that comes after the event that it causes is another case.
const simulatedDelay = 20 * time.Millisecond

// simulation is a cluster that syncs whatever is written.
type simulation struct {
	events chan rollout.Event
	rank   atomic.Uint64

	mu     sync.Mutex
	synced map[string]rollout.Live
	log    []moment
}

func newSimulation(n int) *simulation {
	return &simulation{events: make(chan rollout.Event, n+1), synced: map[string]rollout.Live{}}
}

// Watch finds nothing.
func (s *simulation) Watch(context.Context) (<-chan rollout.Event, error) {
	s.events <- rollout.Event{Listed: true}
	return s.events, nil
}

// Err is nil: the watch never ends.
func (s *simulation) Err() error { return nil }

// Do answers a write or a refresh at once. What it leads to is an event that comes later.
func (s *simulation) Do(ctx context.Context, action rollout.Action) rollout.Result {
	var now, next rollout.Live
	switch {
	case action.Verb == rollout.Write && action.Sync != nil:
		s.note(action.StepLabel, true)
		now, next = s.write(action)
	case action.Verb == rollout.Refresh:
		now, next = s.refresh(action)
	default:
		return rollout.Result{Action: action, Err: fmt.Errorf("the simulation knows no %q", action.Verb)}
	}
	time.AfterFunc(simulatedDelay, func() {
		select {
		case s.events <- rollout.Event{Name: action.App, Live: &next}:
			s.note(next.StepLabel, false)
		case <-ctx.Done():
		}
	})
	return rollout.Result{Action: action, Live: &now}
}

// write creates an Application. Then its operation has succeeded, and it is healthy.
func (s *simulation) write(action rollout.Action) (created, synced rollout.Live) {
	created = rollout.Live{
		Name: action.App, UID: "uid-" + action.App, StepLabel: action.StepLabel, Hash: action.Sync.Target,
		Operation: rollout.Operation{Pending: action.Sync.Token, PendingTarget: action.Sync.Target, PendingRevisions: action.Sync.Revisions},
	}
	s.version(&created)
	synced = created
	s.version(&synced)
	synced.Operation = rollout.Operation{
		Token: action.Sync.Token, Target: action.Sync.Target, Phase: rollout.Succeeded, Revisions: action.Sync.Revisions, Started: "now",
	}
	synced.Sync = rollout.Comparison{Status: rollout.Synced, Revisions: action.Sync.Revisions, OfSpec: true}
	synced.Health = rollout.Condition{Type: rollout.Healthy}
	synced.Deployed = rollout.Deployed{ID: 1, Revisions: action.Sync.Revisions, OfSpec: true, Target: action.Sync.Target}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced[action.App] = synced
	return created, synced
}

// refresh finds the same again.
func (s *simulation) refresh(action rollout.Action) (asked, answered rollout.Live) {
	s.mu.Lock()
	asked = s.synced[action.App]
	s.mu.Unlock()
	s.version(&asked)
	answered = asked
	s.version(&answered)
	asked.RefreshID = action.RefreshID
	return asked, answered
}

func (s *simulation) version(l *rollout.Live) {
	l.Rank = s.rank.Add(1)
	l.Version = strconv.FormatUint(l.Rank, 10)
}

func (s *simulation) note(step string, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, moment{at: time.Now(), step: step, write: write})
}

// gap is the longest between two steps.
func (s *simulation) gap() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, longest := stepsOf(s.log)
	return longest
}
