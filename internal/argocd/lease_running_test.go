package argocd

import (
	"testing"
	"time"
)

func TestWhoRollsASetOutIsToldWithoutWritingAnything(t *testing.T) {
	running := func(t *testing.T, c *Client, want bool) {
		t.Helper()
		holder, ok, err := c.Running(t.Context(), shop)
		if err != nil || ok != want || ok && holder.Identity != "anna@laptop, process 1, run r1" {
			t.Errorf("running: %v (%s, %v), not %v", ok, holder, err, want)
		}
	}
	for name, skew := range map[string]time.Duration{"with the same time": 0, "with a clock that is an hour behind": -time.Hour, "with one that is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				watcher := api.machine(t, skew)
				running(t, watcher, false)
				l := acquire(t, api.machine(t, 0), "r1", 0)
				running(t, watcher, true)
				writes := len(api.writes)
				l.dies()
				time.Sleep(time.Minute)
				running(t, watcher, false)
				if len(api.writes) != writes {
					t.Errorf("it has written: %v", api.writes[writes:])
				}
			})
		})
	}
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		l := acquire(t, api.machine(t, 0), "r1", 0)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		running(t, api.machine(t, 0), false)
	})
}
