package argocd

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// perRequest is what the provider's rate limit lets through by default: 50 requests a second.
const perRequest = 20 * time.Millisecond

func TestAFleetIsLetGoHoweverLongThatTakes(t *testing.T) {
	const fleet = 7000 // more than are let go within answerPatience
	set := inCluster()
	all := []runtime.Object{set}
	for i := range fleet {
		all = append(all, owned(fmt.Sprintf("a-%d", i), bySet()))
	}
	var began time.Time
	var c *Client
	c, cluster := moving(func(cluster *fake.FakeDynamicClient) {
		if began.IsZero() { // while it is frozen; what follows sleeps inside of requests
			began = c.retry.now()
			controller(t, true)(cluster)
		}
	}, all...)
	cluster.PrependReactor("patch", "applications", func(clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, c.retry.sleep(t.Context(), perRequest)
	})
	taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{set}).Manifest()}
	if err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if took := c.retry.now().Sub(began); took < answerPatience {
		t.Errorf("it took only %s, so nothing is proven", took)
	}
	left, err := c.controlled(t.Context(), movedSet, "uid-1")
	if err != nil || len(left) > 0 || len(taken.Applications) != fleet {
		t.Errorf("%d Applications are recorded, %d are left (%v)", len(taken.Applications), len(left), err)
	}
	counts := map[string]int{}
	for _, a := range cluster.Actions() {
		counts[a.GetVerb()+" "+a.GetResource().Resource]++
	}
	if counts["patch applications"] != fleet || counts["list applications"] > 5 {
		t.Errorf("the requests were %v", counts)
	}
}

func TestTheControllerMayTakeAsLongAsItWritesAllApplications(t *testing.T) {
	for writing, done := range map[time.Duration]bool{165 * time.Second: true, 180 * time.Second: false} {
		var c *Client
		c, _ = moving(func(cluster *fake.FakeDynamicClient) {
			if c.retry.now().Sub(time.Unix(0, 0)) > writing {
				controller(t, true)(cluster)
			}
		}, inCluster())
		taken := &TakeOver{UID: "uid-1", ApplicationSet: (&InCluster{inCluster()}).Manifest(), Applications: map[string]string{}}
		for i := range 1000 {
			taken.Applications[fmt.Sprintf("a-%d", i)] = "uid"
		}
		err := c.ReleaseApplications(t.Context(), movedSet, taken, func() error { return nil })
		if (err == nil) != done || err != nil && !strings.Contains(err.Error(), "has not answered within 2m50s") {
			t.Errorf("writing for %s: %v", writing, err)
		}
	}
}

func TestWhatMakesProgressIsWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		left  []int
		looks int
		gives bool
	}{
		"nothing is left":                  {[]int{0}, 1, false},
		"fewer each time":                  {[]int{5, 4, 3, 2, 1, 0}, 6, false},
		"none for too long":                {[]int{5, 5, 5, 5, 5}, 3, true},
		"none after some":                  {[]int{5, 4, 4, 4, 4, 4}, 5, true},
		"some come back":                   {[]int{5, 1, 3, 3, 3, 3}, 5, true},
		"as many, and then one less, late": {[]int{5, 5, 4, 4, 4, 0}, 6, false},
	} {
		c, _ := moving(func(*fake.FakeDynamicClient) {})
		looks := 0
		err := c.dwindle(t.Context(), 25*time.Second, func() (int, error) {
			looks++
			return test.left[looks-1], c.retry.sleep(t.Context(), 10*time.Second) // each look takes that long
		})
		if errors.Is(err, errPatience) != test.gives || !test.gives && err != nil || looks != test.looks {
			t.Errorf("%s: %d looks, %v", name, looks, err)
		}
	}
}

func TestAfterAnErrorNoMoreRequestsAreBegun(t *testing.T) {
	var begun atomic.Int64
	failure := errors.New("no API server")
	err := parallel(1000, func(int) error { begun.Add(1); return failure })
	if !errors.Is(err, failure) || begun.Load() > parallelRequests {
		t.Errorf("%d were begun: %v", begun.Load(), err)
	}
}

func TestALongListOfApplicationsIsCutShort(t *testing.T) {
	apps := map[string]bool{}
	for i := range 12 {
		apps[fmt.Sprintf("a-%02d", i)] = true
	}
	if got := someOf(apps); got != "a-00, a-01, a-02, a-03, a-04, a-05, a-06, a-07, a-08, a-09 and 2 more" {
		t.Error(got)
	}
}
