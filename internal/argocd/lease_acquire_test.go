package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onLeases runs a test whose time is not real: it passes when everything waits.
func onLeases(t *testing.T, test func(t *testing.T, api *leaseAPI)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, &leaseAPI{}) })
}

// acquire takes the lease of shop, which must succeed. The renewals end with the test.
func acquire(t *testing.T, c *Client, run string, timeout time.Duration) *Lease {
	t.Helper()
	l, err := c.AcquireLease(t.Context(), shop, LeaseOptions{Holder: "anna@laptop, process 1", Run: run, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.stop(); <-l.stopped })
	return l
}

// dies ends the renewals, as a killed process does.
func (l *Lease) dies() { l.stop(); <-l.stopped }

func TestAFreeLeaseSaysWhoHasTakenItAndWhen(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		l := acquire(t, api.machine(t, 0), "r1", 0)
		obj := api.lease(shop)
		now := time.Now().UTC().Format(metav1.RFC3339Micro)
		want := map[string]any{
			"holderIdentity": "anna@laptop, process 1, run r1", "leaseDurationSeconds": 15.0, "leaseTransitions": 0.0,
			"acquireTime": now, "renewTime": now,
		}
		if got := fmt.Sprint(obj["spec"]); got != fmt.Sprint(want) {
			t.Errorf("spec %s, want %v", got, want)
		}
		if text(obj, "metadata", "name") != recordName(shop) || text(obj, "metadata", "annotations", OwnerAnnotation) != shop.String() {
			t.Errorf("metadata %v", obj["metadata"])
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := text(api.lease(shop), "spec", "holderIdentity"); got != "" {
			t.Errorf("released, and held by %q", got)
		}
		acquire(t, api.machine(t, 0), "r2", 0)
		if got := dict(api.lease(shop), "spec")["leaseTransitions"]; got != 1.0 {
			t.Errorf("%v transitions", got)
		}
	})
}

func TestALeaseOfALivingHolderIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ timeout, least, most time.Duration }{
		"as soon as it is seen alive, without a timeout": {0, 0, leaseRenewal + leasePoll},
		"when the timeout is over":                       {10 * time.Minute, 10 * time.Minute, 10 * time.Minute},
	} {
		for _, skew := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
			t.Run(fmt.Sprintf("%s, clocks %s apart", name, skew), func(t *testing.T) {
				onLeases(t, func(t *testing.T, api *leaseAPI) {
					acquire(t, api.machine(t, skew), "r1", 0)
					began := time.Now()
					_, err := api.machine(t, 0).AcquireLease(t.Context(), shop, LeaseOptions{Holder: "bob", Run: "r2", Timeout: test.timeout})
					var held *LeaseHeldError
					if !errors.As(err, &held) {
						t.Fatalf("error %v", err)
					}
					if held.Holder.Identity != "anna@laptop, process 1, run r1" || held.Holder.Since.IsZero() || held.Holder.Renewed.IsZero() || held.Interrupted {
						t.Errorf("held: %+v", held)
					}
					if took := time.Since(began); took < test.least || took > test.most {
						t.Errorf("refused after %s", took)
					}
					for _, write := range api.writes {
						if strings.Contains(write, "bob") {
							t.Errorf("written: %v", api.writes)
						}
					}
				})
			})
		}
	}
}

func TestALeaseOfADeadHolderIsTakenOverAfterItsDuration(t *testing.T) {
	for _, timeout := range []time.Duration{0, 5 * time.Second, time.Minute} {
		for _, skew := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
			t.Run(fmt.Sprintf("waiting %s, clocks %s apart", timeout, skew), func(t *testing.T) {
				onLeases(t, func(t *testing.T, api *leaseAPI) {
					dead := acquire(t, api.machine(t, skew), "r1", 0)
					dead.dies()
					time.Sleep(time.Hour) // what the Lease says is old proves nothing: only what is seen counts
					began := time.Now()
					acquire(t, api.machine(t, 0), "r2", timeout)
					if took := time.Since(began); took < leaseDuration || took > leaseDuration+leasePoll {
						t.Errorf("taken over after %s", took)
					}
				})
			})
		}
	}
}

func TestTheDurationThatALeaseNamesIsRespected(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		acquire(t, api.machine(t, 0), "r1", 0).dies()
		api.edit(shop, func(lease map[string]any) { dict(lease, "spec")["leaseDurationSeconds"] = 40 })
		began := time.Now()
		acquire(t, api.machine(t, 0), "r2", time.Minute)
		if took := time.Since(began); took < 40*time.Second || took > 41*time.Second {
			t.Errorf("taken over after %s", took)
		}
	})
}

func TestALeaseThatIsReleasedMeanwhileIsTaken(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		first := acquire(t, api.machine(t, 0), "r1", 0)
		go func() {
			time.Sleep(30 * time.Second)
			if err := first.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		var waited []string
		began := time.Now()
		second, err := api.machine(t, 0).AcquireLease(t.Context(), shop, LeaseOptions{
			Holder: "bob", Run: "r2", Timeout: time.Minute, Waiting: func(h LeaseHolder) { waited = append(waited, h.Identity) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer second.dies()
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("taken after %s", took)
		}
		if len(waited) != 1 || waited[0] != first.identity {
			t.Errorf("waited for %q", waited)
		}
	})
}

func TestEachHolderThatIsWaitedForIsToldOnce(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		acquire(t, api.machine(t, 0), "r1", 0).dies()
		go func() {
			time.Sleep(8 * time.Second)
			api.edit(shop, func(lease map[string]any) { dict(lease, "spec")["holderIdentity"] = "carol" })
		}()
		var waited []string
		l, err := api.machine(t, 0).AcquireLease(t.Context(), shop, LeaseOptions{
			Holder: "bob", Run: "r2", Timeout: time.Minute, Waiting: func(h LeaseHolder) { waited = append(waited, h.Identity) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer l.dies()
		if got := strings.Join(waited, "|"); got != "anna@laptop, process 1, run r1|carol" {
			t.Errorf("waited for %s", got)
		}
	})
}

func TestOfTwoThatWantAFreeLeaseOneGetsIt(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		acquire(t, api.machine(t, 0), "r1", 0).dies()
		var applies sync.WaitGroup
		var won atomic.Int32
		for _, run := range []string{"r2", "r3", "r4"} {
			client := api.machine(t, 0)
			applies.Go(func() {
				l, err := client.AcquireLease(t.Context(), shop, LeaseOptions{Holder: "bob", Run: run, Timeout: 20 * time.Second})
				if err == nil {
					won.Add(1)
					time.Sleep(time.Minute)
					l.dies()
				}
			})
		}
		applies.Wait()
		if won := won.Load(); won != 1 {
			t.Errorf("%d have it", won)
		}
	})
}

func TestALostAnswerDoesNotMakeUsWaitForOurselves(t *testing.T) {
	for name, method := range map[string]string{"of the create": http.MethodPost, "of the update": http.MethodPut} {
		t.Run(name, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				if method == http.MethodPut {
					if err := acquire(t, api.machine(t, 0), "r1", 0).Release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				lost := false
				api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
					answer := next()
					if r.Method == method && !lost {
						lost = true
						return nil, io.ErrUnexpectedEOF
					}
					return answer, nil
				})
				began := time.Now()
				acquire(t, api.machine(t, 0), "r2", 0)
				if took := time.Since(began); !lost || took > time.Second {
					t.Errorf("taken after %s, answer lost: %t", took, lost)
				}
			})
		})
	}
}

func TestAWaitThatIsCancelledSaysWhomItWasFor(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		acquire(t, api.machine(t, 0), "r1", 0)
		ctx, cancel := context.WithTimeout(t.Context(), 17500*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := api.machine(t, 0).AcquireLease(ctx, shop, LeaseOptions{Holder: "bob", Run: "r2", Timeout: time.Hour})
		var held *LeaseHeldError
		if !errors.As(err, &held) || !held.Interrupted || held.Holder.Identity == "" {
			t.Errorf("error %+v", err)
		}
		if took := time.Since(began); took > 18*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestATakeThatIsCancelledLeavesNoHolderBehind(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		ctx, cancel := context.WithCancel(t.Context())
		api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
			answer := next()
			if r.Method == http.MethodPost {
				cancel()
				return nil, context.Canceled
			}
			return answer, nil
		})
		if _, err := api.machine(t, 0).AcquireLease(ctx, shop, LeaseOptions{Holder: "bob", Run: "r2"}); err == nil {
			t.Error("taken by an apply that is cancelled")
		}
		if got := text(api.lease(shop), "spec", "holderIdentity"); got != "" {
			t.Errorf("held by %q", got)
		}
	})
}

func TestALeaseThatIsNotOfTheSetIsLeftAlone(t *testing.T) {
	for name, owner := range map[string]string{"of another set": "argocd/billing", "of nobody": ""} {
		t.Run(name, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				acquire(t, api.machine(t, 0), "r1", 0).dies()
				api.edit(shop, func(lease map[string]any) {
					dict(lease, "metadata")["annotations"] = map[string]any{OwnerAnnotation: owner}
				})
				before := len(api.writes)
				_, err := api.machine(t, 0).AcquireLease(t.Context(), shop, LeaseOptions{Holder: "bob", Run: "r2", Timeout: time.Hour})
				var foreign *LeaseOwnerError
				if !errors.As(err, &foreign) || foreign.Owner != owner || foreign.Name != recordName(shop) {
					t.Errorf("error %v", err)
				}
				if len(api.writes) != before {
					t.Errorf("written: %v", api.writes)
				}
			})
		})
	}
}

func TestAForbiddenLeaseNamesTheVerb(t *testing.T) {
	for verb, method := range map[string]string{"get": http.MethodGet, "create": http.MethodPost} {
		t.Run(verb, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
					if r.Method == method {
						return reply(http.StatusForbidden, status(http.StatusForbidden, metav1.StatusReasonForbidden, 0)), nil
					}
					return next(), nil
				})
				_, err := api.machine(t, 0).AcquireLease(t.Context(), shop, LeaseOptions{Holder: "bob", Run: "r2", Timeout: time.Hour})
				var request *RequestError
				if !errors.Is(err, ErrForbidden) || !errors.As(err, &request) || request.Verb != verb || request.Resource != "leases.coordination.k8s.io" {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
