package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

const engineRow = "engine, simulated"

// engineSizes are compared with each other.
var engineSizes = []int{1000, 10000}

// rowsEngine measures the engine by itself, on a simulated cluster.
func rowsEngine(ctx context.Context, b *bench) error {
	for _, n := range engineSizes {
		if err := awaitQuiet(ctx, b.options.wait, b.progress); err != nil {
			return err
		}
		b.say("%s: %d Applications", engineRow, n)
		c, err := measureEngine(ctx, n, b.options.steps)
		if err != nil {
			return err
		}
		b.results = append(b.results, result{what: engineRow, side: providerDefault, cost: c})
		b.say("  %s of CPU", c.cpu.Round(time.Millisecond))
	}
	return nil
}

// measureEngine runs one rollout of n Applications.
func measureEngine(ctx context.Context, n, steps int) (*cost, error) {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
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
	before, err := ownCPU()
	if err != nil {
		return nil, err
	}
	outcome := rollout.Run(ctx, cluster, rollout.RealClock{}, plan, rollout.Options{
		AppTimeout: rowTimeout, MinHealthy: time.Millisecond, DegradedGrace: time.Minute, ErrorGrace: time.Minute,
		NewID: func() string { return strconv.FormatInt(ids.Add(1), 10) },
	})
	after, err := ownCPU()
	if err != nil {
		return nil, err
	}
	if !outcome.OK() || len(outcome.Done) != n {
		return nil, fmt.Errorf("the simulated rollout of %d Applications has ended with %d done: %w", n, len(outcome.Done),
			errors.Join(outcome.Err, fmt.Errorf("%v", outcome.Failures)))
	}
	return &cost{apps: n, cpu: after - before, gap: cluster.gap()}, nil
}

// ownCPU is the CPU time of this process.
func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
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
