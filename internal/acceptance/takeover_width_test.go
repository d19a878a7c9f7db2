//go:build linux

package acceptance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// ofATeam takes over an ApplicationSet in the namespace of a team. Its Applications are there as well: an ApplicationSet has them in
// no namespace but its own (GenerateApplications in applicationset/controllers/template, Argo CD 3.6.1).
func (m *move) ofATeam() {
	team := m.team()
	m.permit(team)
	m.release("1", "dev", "prod")
	set := m.allAtOnce(m.appSet("dev", "prod"))
	set.SetNamespace(team)
	set.Object["spec"].(obj)["template"].(obj)["spec"].(obj)["project"] = m.name
	m.createAppSet(set)
	apps := m.client.Resource(applications).Namespace(team)
	live := func() map[string]unstructured.Unstructured {
		found, err := apps.List(m.ctx(), metav1.ListOptions{})
		if err != nil {
			m.Fatal(err)
		}
		byName := map[string]unstructured.Unstructured{}
		for _, app := range found.Items {
			byName[app.GetName()] = app
		}
		return byName
	}
	m.until("the controller has made the Applications", func() bool { return len(live()) == 2 })
	for name := range live() {
		if _, err := apps.Patch(m.ctx(), name, "application/merge-patch+json", []byte(`{"operation":{"sync":{}}}`), metav1.PatchOptions{}); err != nil {
			m.Fatal(err)
		}
	}
	m.until("they are deployed", func() bool {
		for _, app := range live() {
			if !newAppState(&app).done() {
				return false
			}
		}
		return true
	})
	began, workloads := live(), m.workloads()

	m.asAccount = m.kubeconfigOf(m.moverIn(team, "team"))
	s := m.newSet(nil)
	s.Manifest, s.Extra = manifest(set.Object), fmt.Sprintf("namespace = %q\n", team)
	m.configure(s)
	m.cli.want(exitEmpty, "import", address, team+"/"+m.name)
	m.says(m.plan(), "apply deletes the ApplicationSet "+team+"/"+m.name+", keeping 2 Applications: "+m.app("dev")+", "+m.app("prod"))
	m.apply()
	now := live()
	if err := m.appSetGoneFrom(team); err != nil {
		m.Error(err)
	}
	if err := m.carryMarks(slices.Collect(maps.Values(now))); err != nil {
		m.Error(err)
	}
	for name, app := range began {
		after := now[name]
		if before := newAppState(&app); after.GetUID() != app.GetUID() || newAppState(&after).Started != before.Started {
			m.Errorf("%s was %v, and is %v", name, before, newAppState(&after))
		}
	}
	if found := m.workloads(); !maps.Equal(found, workloads) {
		m.Errorf("the workloads were %v, and are %v", workloads, found)
	}
	m.atRest()

	m.release("2", "dev", "prod")
	m.apply()
	m.must(m.livesIn(team, m.apps("dev", "prod")...), m.livesIn(argoNamespace), m.deploys("2", "dev", "prod"))
	m.destroy()
	m.must(m.livesIn(team), m.deploys("", "dev", "prod"))
}

// allAtOnce removes the steps of an ApplicationSet.
func (m *move) allAtOnce(set *unstructured.Unstructured) *unstructured.Unstructured {
	delete(set.Object["spec"].(obj), "strategy")
	return set
}

// fleetSize is how many Applications the fleet has, and fleetKill after how many of them that were let go terraform is killed.
const (
	fleetSize = 1000
	fleetKill = 400
)

// fleet takes over an ApplicationSet of very many Applications, which deploy nothing, in two applies: the first one is killed
// in the middle.
func (m *move) fleet() {
	m.useBinary(buildProvider(m.T))
	m.writeFile("apps/none/README", "Nothing to deploy.\n")
	m.commit()
	suffixes := make([]string, fleetSize)
	for i := range suffixes {
		suffixes[i] = fmt.Sprintf("%04d", i)
	}
	set := m.allAtOnce(m.appSet(suffixes...))
	template := set.Object["spec"].(obj)["template"].(obj)
	delete(template["metadata"].(obj), "finalizers")
	template["spec"].(obj)["source"].(obj)["path"] = "apps/none"
	m.createAppSet(set)
	m.deployFleet()
	began := m.uids()

	var mu sync.Mutex
	counts := map[string]int{}
	proxy := m.through(faultproxy.Options{ModifyResponse: func(r *http.Response) error {
		mu.Lock()
		defer mu.Unlock()
		if kind := kindOf(r.Request); kind != "" {
			counts[kind]++
		} else {
			counts["other"]++
		}
		return nil
	}}, set)
	timed := func(what string, do func()) map[string]int {
		mu.Lock()
		clear(counts)
		mu.Unlock()
		start := time.Now()
		do()
		mu.Lock()
		defer mu.Unlock()
		m.Logf("%s: %s, requests for Applications: %v", what, time.Since(start).Round(time.Second), counts)
		return maps.Clone(counts)
	}
	timed("import", func() { m.cli.want(exitEmpty, "import", address, argoNamespace+"/"+m.name) })
	m.seen.reset()
	timed("killed", func() {
		m.killedWhen(fmt.Sprintf("%d Applications are let go", fleetKill), proxy, faultproxy.On("applications", "patch"), fleetKill-1)
	})
	if left := m.controlled(); left > fleetSize-fleetKill || left < fleetSize-fleetKill-100 {
		m.Errorf("%d Applications are controlled by the ApplicationSet when terraform was killed after %d", left, fleetKill)
	}
	timed("plan", func() { m.says(m.plan(), "will be taken over", fmt.Sprintf("keeping %d Applications", fleetSize)) })
	took := timed("apply", func() { m.apply() })
	if writes := 2*fleetSize - fleetKill; took["write"] > writes || took["list"] > 40 || took["get"] > 10 {
		m.Errorf("the take-over has made the requests %v; %d writes are needed", took, writes)
	}
	m.must(m.nothingDeleted(m.seen, nil), m.seen.operations(0, slices.Collect(maps.Keys(began))...), m.appSetGone, m.isOurs(slices.Collect(maps.Keys(began))...))
	m.sameUIDs(began)
	m.isState("complete")
	timed("a plan at rest", m.atRest)

	err := m.client.Resource(applications).Namespace(argoNamespace).DeleteCollection(m.ctx(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: setLabel})
	if err != nil {
		m.Fatal(err)
	}
	m.destroy()
	m.lives()
}

// deployFleet syncs all Applications that the ApplicationSet makes, so that none of them is synced when they are taken over.
func (m *move) deployFleet() {
	m.Helper()
	start := time.Now()
	m.awaitFleet("made", func(app *unstructured.Unstructured) bool { return metav1.GetControllerOf(app) != nil })
	for name := range m.uids() {
		_, err := m.client.Resource(applications).Namespace(argoNamespace).Patch(m.ctx(), name, "application/merge-patch+json", []byte(`{"operation":{"sync":{}}}`), metav1.PatchOptions{})
		if err != nil {
			m.Fatal(err)
		}
	}
	m.awaitFleet("deployed", func(app *unstructured.Unstructured) bool { return newAppState(app).done() })
	m.Logf("%d Applications are deployed after %s", fleetSize, time.Since(start).Round(time.Second))
}

func (m *move) awaitFleet(what string, ready func(*unstructured.Unstructured) bool) {
	m.Helper()
	n := 0
	err := wait.PollUntilContextTimeout(context.Background(), 2*time.Second, 15*time.Minute, true, func(context.Context) (bool, error) {
		n = 0
		for _, app := range m.liveApps(m.ctx()) {
			if ready(&app) {
				n++
			}
		}
		return n == fleetSize, nil
	})
	if err != nil {
		m.Fatalf("%d Applications of %d are %s: %v", n, fleetSize, what, err)
	}
}
