package argocd

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// refusing is an API server, or what stands in front of it, that refuses to change Leases.
func refusing(code int, reason metav1.StatusReason) func(r *http.Request, next func() *http.Response) (*http.Response, error) {
	return func(r *http.Request, next func() *http.Response) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "leases") && r.Method == http.MethodPut {
			return reply(code, status(code, reason, 0)), nil
		}
		return next(), nil
	}
}

func TestAWriteWaitsOnlySoLongForALeaseThatCannotBeRenewed(t *testing.T) {
	hangs := func(r *http.Request, next func() *http.Response) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "leases") {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return next(), nil
	}
	conflicts := refusing(http.StatusConflict, metav1.StatusReasonConflict)
	for name, test := range map[string]struct {
		fault func(r *http.Request, next func() *http.Response) (*http.Response, error)
		// first is how long the first write waits at most, says what it tells, and kind what errors.Is finds.
		first time.Duration
		says  string
		kind  error
	}{
		"a webhook that does not answer": {refusing(http.StatusInternalServerError, metav1.StatusReasonInternalError), requestPatience, "said the server", nil},
		"a Role that lost the verb":      {refusing(http.StatusForbidden, metav1.StatusReasonForbidden), 0, "update leases", ErrForbidden},
		"a token that has expired":       {refusing(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), 0, "update leases", ErrUnauthorized},
		"conflicts without end":          {conflicts, requestPatience, "said the server", nil},
		"answers that never come":        {hangs, requestPatience, "no answer within 10s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			onLeases(t, func(t *testing.T, api *leaseAPI) {
				client := api.machine(t, 0)
				l := acquire(t, client, "r1", 0)
				client = client.Under(l)
				api.failing(test.fault)
				time.Sleep(leaseTrust + leaseRenewal + leasePoll)
				for n, most := range []time.Duration{test.first, leaseTrust, leaseTrust} {
					began := time.Now()
					err := writeSomething(t.Context(), client)
					if err == nil || !strings.Contains(err.Error(), "the Lease "+recordName(shop)+" was renewed") || !strings.Contains(err.Error(), test.says) {
						t.Fatalf("write %d: %v", n, err)
					}
					if took := time.Since(began); took > most {
						t.Errorf("write %d has waited for %s", n, took)
					}
					if isConflict(err) || test.kind != nil && !errors.Is(err, test.kind) {
						t.Errorf("write %d: not of its kind: %v", n, err)
					}
				}
				if l.Lost() != nil || api.others != 0 {
					t.Errorf("lost: %v, %d writes", l.Lost(), api.others)
				}
				api.failing(nil)
				time.Sleep(2 * leasePoll)
				if err := writeSomething(t.Context(), client); err != nil {
					t.Errorf("when it is renewed again: %v", err)
				}
			})
		})
	}
}

// An API server that has just come back refuses what is granted until it has read its Roles.
func TestAWriteWaitsForALeaseThatIsRefusedAfterAnOutage(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		api.failing(down)
		time.Sleep(leaseTrust + leaseRenewal)
		api.failing(refusing(http.StatusForbidden, metav1.StatusReasonForbidden))
		time.Sleep(3 * leasePoll)
		time.AfterFunc(5*time.Second, func() { api.failing(nil) })
		if err := writeSomething(t.Context(), client.Under(l)); err != nil {
			t.Error(err)
		}
	})
}

// What arrives when somebody else may hold the lease would be a write among those of the other run.
func TestAWriteUnderALeaseEndsBeforeSomebodyElseMayHoldIt(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		l.dies()
		began := time.Now()
		var arrived []time.Duration
		api.failing(func(r *http.Request, next func() *http.Response) (*http.Response, error) {
			<-r.Context().Done() // in a queue
			arrived = append(arrived, time.Since(began))
			return nil, r.Context().Err()
		})
		time.Sleep(9 * time.Second)
		err := writeSomething(t.Context(), client.Under(l))
		if !isStale(err) || len(arrived) == 0 {
			t.Errorf("after %d tries: %v", len(arrived), err)
		}
		for _, at := range arrived {
			if at > leaseDuration-leaseMargin {
				t.Errorf("a try ended after %s", at)
			}
		}
	})
}

func TestATouchOfAnApplicationNeedsTheLease(t *testing.T) {
	onLeases(t, func(t *testing.T, api *leaseAPI) {
		client := api.machine(t, 0)
		l := acquire(t, client, "r1", 0)
		app := &unstructured.Unstructured{Object: liveApp("dev", "uid-1", "1")}
		under := client.Under(l)
		under.touch(t.Context(), []*unstructured.Unstructured{app})
		if api.others != 2 {
			t.Fatalf("%d writes, want one that sets the annotation and one that removes it", api.others)
		}
		api.edit(shop, func(lease map[string]any) { dict(lease, "spec")["holderIdentity"] = "bob@desk" })
		time.Sleep(leaseRenewal + leasePoll)
		under.touch(t.Context(), []*unstructured.Unstructured{app})
		if api.others != 2 {
			t.Error("an Application was touched after the lease was lost")
		}
		under.Under(nil).touch(t.Context(), []*unstructured.Unstructured{app})
		if api.others != 4 {
			t.Error("a client that holds no lease any more still needs it")
		}
	})
}
