package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeSomething is a write of the client, of anything but a Lease.
func writeSomething(ctx context.Context, c *Client) error {
	_, err := c.writeConfigMap(ctx, shop, recordConfigMap(shop, "something", recordPart, nil, nil))
	return err
}

func TestRenewalsAreTriedForAsLongAsTheAPIServerIsAway(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		client = client.Under(l)
		time.Sleep(time.Minute)
		api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "leases") {
				return down(r, next)
			}
			return next(), nil
		})
		time.Sleep(4 * time.Second)
		if err := writeSomething(t.Context(), client); err != nil {
			t.Fatalf("a write while the last renewal is fresh: %v", err)
		}
		began := time.Now()
		time.AfterFunc(7*time.Minute, func() { api.failing(nil) })
		if err := writeSomething(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Fatalf("a write waited %s although the last renewal was fresh", took)
		}
		time.Sleep(7*time.Minute - 5*time.Second)
		if err := writeSomething(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 7*time.Minute || took > 7*time.Minute+leasePoll {
			t.Errorf("a write has waited %s for the renewal", took)
		}
		if l.Lost() != nil || api.others != 3 {
			t.Errorf("lost: %v, %d writes", l.Lost(), api.others)
		}
	})
}

func TestAWriteThatCannotWaitAnyLongerSaysWhyThereWasNoRenewal(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		client = client.Under(acquire(t, client, "r1", 0))
		api.failing(down)
		time.Sleep(20 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := writeSomething(ctx, client)
		if err == nil || !strings.Contains(err.Error(), "renewed 30s ago") || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("error %v", err)
		}
		if api.others != 0 {
			t.Error("written")
		}
	})
}

func TestEachTryOfAWriteNeedsTheLease(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		began := time.Now()
		var tries []time.Duration
		api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
			away := time.Since(began) < 30*time.Second
			if !strings.Contains(r.URL.Path, "leases") {
				tries = append(tries, time.Since(began))
			}
			if away {
				return down(r, next)
			}
			return next(), nil
		})
		if err := writeSomething(t.Context(), client.Under(l)); err != nil {
			t.Fatal(err)
		}
		for _, at := range tries {
			if at > leaseTrust && at < 30*time.Second {
				t.Errorf("tried after %s, with the lease not renewed since", at)
			}
		}
		if len(tries) < 3 {
			t.Errorf("tries: %v", tries)
		}
	})
}

func TestReadingNeedsNoLease(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		l.dies()
		time.Sleep(time.Hour)
		if _, err := client.Under(l).configMap(t.Context(), shop, "something"); err != nil {
			t.Error(err)
		}
	})
}

func TestALeaseIsLostWhenItIsNotOursAnyMore(t *testing.T) {
	for name, test := range map[string]struct {
		steal func(api *leaseAPI)
		says  string
	}{
		"another holder": {
			func(api *leaseAPI) {
				api.edit(shop, func(lease map[string]any) { dict(lease, "spec")["holderIdentity"] = "bob@desk" })
			},
			"is held by bob@desk",
		},
		"no holder": {
			func(api *leaseAPI) {
				api.edit(shop, func(lease map[string]any) { dict(lease, "spec")["holderIdentity"] = "" })
			},
			"has taken the holder out",
		},
		"no Lease": {func(api *leaseAPI) { api.drop(shop) }, "has deleted the Lease"},
		"no owner": {func(api *leaseAPI) {
			api.edit(shop, func(lease map[string]any) { delete(dict(lease, "metadata", "annotations"), OwnerAnnotation) })
		}, "does not say which set it is of"},
		"another owner": {func(api *leaseAPI) {
			api.edit(shop, func(lease map[string]any) {
				dict(lease, "metadata", "annotations")[OwnerAnnotation] = "argocd/billing"
			})
		}, "that of the set argocd/billing"},
	} {
		t.Run(name, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				client := api.machine(t, 0)
				l := acquire(t, client, "r1", 0)
				time.Sleep(12 * time.Second)
				test.steal(api)
				stolen := fmt.Sprint(api.lease(shop))
				time.Sleep(leaseRenewal)
				var lost *LeaseLostError
				if !errors.As(l.Lost(), &lost) || !strings.Contains(lost.Error(), test.says) || !strings.Contains(lost.Error(), recordName(shop)) {
					t.Fatalf("lost: %v", l.Lost())
				}
				if err := writeSomething(t.Context(), client.Under(l)); !errors.As(err, &lost) || api.others != 0 {
					t.Errorf("a write: %v", err)
				}
				for _, end := range []func(context.Context) error{l.Release, l.Delete} {
					if err := end(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if now := fmt.Sprint(api.lease(shop)); now != stolen {
					t.Errorf("a lease that is not ours was written: %s", now)
				}
			})
		})
	}
}

func TestALeaseIsKeptWhenOnlySomethingElseOfItChanges(t *testing.T) {
	for name, trouble := range map[string]func(api *leaseAPI){
		"a label is added": func(api *leaseAPI) {
			api.edit(shop, func(lease map[string]any) { dict(lease, "metadata")["labels"] = map[string]any{"team": "a"} })
		},
		"the answer to a renewal is lost": func(api *leaseAPI) {
			api.failing(func(_ *http.Request, next func() *http.Response) (*http.Response, error) {
				next()
				api.failing(nil)
				return nil, io.ErrUnexpectedEOF
			})
		},
		"renewals conflict": func(api *leaseAPI) {
			api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
				if r.Method == http.MethodPut && time.Now().Second()%20 < 15 {
					return reply(http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonConflict, 0)), nil
				}
				return next(), nil
			})
		},
		"credentials are refused for a while": func(api *leaseAPI) {
			api.failing(func(*http.Request, func() *http.Response) (*http.Response, error) {
				return reply(http.StatusUnauthorized, status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 0)), nil
			})
			time.AfterFunc(12*time.Second, func() { api.failing(nil) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				client := api.machine(t, 0)
				l := acquire(t, client, "r1", 0)
				time.Sleep(7 * time.Second)
				trouble(api)
				time.Sleep(40 * time.Second)
				if err := writeSomething(t.Context(), client.Under(l)); err != nil {
					t.Error(err)
				}
				api.failing(nil)
				if err := l.Release(t.Context()); err != nil || text(api.lease(shop), "spec", "holderIdentity") != "" {
					t.Errorf("released: %v, %v", err, api.lease(shop))
				}
			})
		})
	}
}

func TestALeaseIsReleasedOnEveryWayOut(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(r *http.Request, next func() *http.Response) (*http.Response, error)
		fails bool
	}{
		"an apply that was cancelled":                    {nil, false},
		"while somebody changes it":                      {conflictOnce(), false},
		"while the API server is away; it gives up soon": {down, true},
		"while the API server hangs; it gives up soon": {
			func(r *http.Request, _ func() *http.Response) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}, true,
		},
	} {
		for end, do := range map[string]func(*Lease, context.Context) error{"Release": (*Lease).Release, "Delete": (*Lease).Delete} {
			t.Run(name+": "+end, func(t *testing.T) {
				onLeases(t, func(t *testing.T, api *leaseAPI) {
					ctx, cancel := context.WithCancel(t.Context())
					l := acquire(t, api.machine(t, 0), "r1", 0)
					cancel()
					api.failing(test.fault)
					began := time.Now()
					if err := do(l, ctx); (err != nil) != test.fails {
						t.Errorf("error %v", err)
					}
					if took := time.Since(began); took > leaseFarewell {
						t.Errorf("it took %s", took)
					}
					if test.fails {
						return
					}
					api.failing(nil)
					if obj := api.lease(shop); text(obj, "spec", "holderIdentity") != "" || (obj == nil) != (end == "Delete") {
						t.Errorf("left behind: %v", obj)
					}
				})
			})
		}
	}
}

// conflictOnce refuses the first write.
func conflictOnce() func(r *http.Request, next func() *http.Response) (*http.Response, error) {
	var done sync.Map
	return func(r *http.Request, next func() *http.Response) (*http.Response, error) {
		if r.Method != http.MethodGet {
			if _, again := done.LoadOrStore(r.Method, true); !again {
				return reply(http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonConflict, 0)), nil
			}
		}
		return next(), nil
	}
}

func TestAMachineThatSleptDoesNotTrustItsMonotonicClock(t *testing.T) {
	from := time.Now()
	// The wall clock has moved on by an hour, the monotonic one by a second.
	to := from.Add(time.Second)
	if got := elapsed(from, to); got != time.Second {
		t.Errorf("%s have passed, want 1s", got)
	}
	if got := elapsed(from, to.Round(0).Add(time.Hour)); got < time.Hour {
		t.Errorf("%s have passed, want an hour", got)
	}
}

// TestNeverDoTwoHoldTheLease lets machines with wrong clocks, that die, pause and lose their
// connection, contend for one lease: whatever happens, only one of them may write at a time.
func TestNeverDoTwoHoldTheLease(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				random := rand.New(rand.NewPCG(seed, 0))
				var mu sync.Mutex
				chance := func(percent int) bool {
					mu.Lock()
					defer mu.Unlock()
					return random.IntN(100) < percent
				}
				duration := func(most time.Duration) time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return time.Duration(random.Int64N(int64(most)))
				}
				api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
					select {
					case <-time.After(duration(2 * time.Second)):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					switch {
					case chance(15):
						return down(r, next)
					case chance(10):
						next()
						return nil, io.ErrUnexpectedEOF
					}
					return next(), nil
				})
				var holders sync.WaitGroup
				var last *Lease
				turns, over := 0, time.Now().Add(15*time.Minute)
				for n := range 4 {
					client := api.machine(t, duration(time.Hour)-30*time.Minute)
					holders.Go(func() {
						for turn := 0; time.Now().Before(over); turn++ {
							l, err := client.AcquireLease(t.Context(), shop, LeaseOptions{Holder: fmt.Sprint("m", n), Run: fmt.Sprint(turn), Timeout: time.Hour})
							if err != nil {
								t.Errorf("machine %d: %v", n, err)
								return
							}
							works(t, l, duration, chance, &mu, &last, &turns)
						}
					})
				}
				holders.Wait()
				if turns < 8 {
					t.Errorf("only %d turns", turns)
				}
			})
		})
	}
}

// works holds the lease for a while and writes; then it releases the lease, or dies.
func works(t *testing.T, l *Lease, duration func(time.Duration) time.Duration, chance func(int) bool, mu *sync.Mutex, last **Lease, turns *int) {
	mine := false
	for range 10 {
		if err := l.hold(t.Context()); err != nil {
			break
		}
		mu.Lock()
		if !mine {
			*last, mine = l, true
			*turns++
		} else if *last != l {
			t.Errorf("%s writes after %s has begun to", l.identity, (*last).identity)
		}
		mu.Unlock()
		if chance(10) {
			l.dies()
		}
		time.Sleep(duration(3 * time.Second))
		l.mu.Lock()
		cut := elapsed(l.renewed, l.client.clock.Now()) > leaseTrust
		l.mu.Unlock()
		if cut {
			break
		}
	}
	if chance(50) {
		_ = l.Release(t.Context())
	}
	l.dies()
}
