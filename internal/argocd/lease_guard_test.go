package argocd

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// scripted is a cluster whose watch sends what the test sends.
type scripted struct {
	events chan rollout.Event
	do     func(ctx context.Context) error
	ended  chan struct{}
}

func (s *scripted) Watch(ctx context.Context) (<-chan rollout.Event, error) {
	go func() { <-ctx.Done(); close(s.ended) }()
	return s.events, nil
}

func (s *scripted) Do(ctx context.Context, action rollout.Action) rollout.Result {
	return rollout.Result{Action: action, Err: s.do(ctx)}
}

func (s *scripted) Err() error { return errors.New("the API server closed the watch") }

// attendant is one that is told what the run works on.
type attendant struct {
	scripted
	names []string
}

func (a *attendant) Attend(names []string) { a.names = names }

func TestARunUnderALeaseTellsWhatItWorksOn(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		l := acquire(t, api.machine(t, 0), "r1", 0)
		inner := &attendant{scripted: scripted{events: make(chan rollout.Event), ended: make(chan struct{})}}
		close(inner.events)
		plan := rollout.Plan{
			Steps:    []rollout.Step{{Label: "step 01", Limit: -1}},
			Apps:     []rollout.Desired{{Name: "dev", Mode: rollout.ModeSync}},
			Held:     []string{"automated"},
			Removals: [][]string{{"old"}},
		}
		rollout.Run(t.Context(), l.Guard(inner), rollout.RealClock{}, plan, rollout.Options{})
		if got := fmt.Sprint(inner.names); got != "[automated dev old]" {
			t.Errorf("told are %s", got)
		}
		l.Guard(&inner.scripted).(rollout.Attendant).Attend(nil) // one that does nothing by itself
	})
}

func TestALostLeaseEndsTheRun(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		inner := &scripted{events: make(chan rollout.Event), ended: make(chan struct{})}
		inner.do = func(ctx context.Context) error { return writeSomething(ctx, client.Under(l)) }
		cluster := l.Guard(inner)
		ctx, cancel := context.WithCancel(t.Context())
		events, err := cluster.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		inner.events <- rollout.Event{Name: "dev"}
		if e := <-events; e.Name != "dev" {
			t.Errorf("event %+v", e)
		}
		if r := cluster.Do(ctx, rollout.Action{App: "dev"}); r.Err != nil {
			t.Error(r.Err)
		}
		api.edit(shop, func(lease map[string]any) { dict(lease, "spec")["holderIdentity"] = "bob@desk" })
		began := time.Now()
		if e, open := <-events; open {
			t.Errorf("event %+v", e)
		}
		if took := time.Since(began); took > leaseRenewal {
			t.Errorf("the watch ended after %s", took)
		}
		<-inner.ended
		var lost *LeaseLostError
		if !errors.As(cluster.Err(), &lost) || lost.Holder.Identity != "bob@desk" {
			t.Errorf("ended for %v", cluster.Err())
		}
		answered := make(chan struct{})
		go func() { cluster.Do(ctx, rollout.Action{App: "dev"}); close(answered) }()
		synctest.Wait()
		select {
		case <-answered:
			t.Error("an action was answered although the lease is lost")
		default:
		}
		cancel()
		<-answered
		if api.others != 1 {
			t.Errorf("%d writes", api.others)
		}
	})
}

func TestAWatchThatEndsByItselfIsTold(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		l := acquire(t, api.machine(t, 0), "r1", 0)
		inner := &scripted{events: make(chan rollout.Event), ended: make(chan struct{})}
		cluster := l.Guard(inner)
		events, err := cluster.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		close(inner.events)
		if _, open := <-events; open || l.Lost() != nil || cluster.Err().Error() != "the API server closed the watch" {
			t.Errorf("ended for %v", cluster.Err())
		}
	})
}
