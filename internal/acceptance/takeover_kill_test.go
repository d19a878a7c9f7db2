//go:build linux

package acceptance

import (
	"net/http"
	"path/filepath"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// through configures the ApplicationSet as a set of Terraform, whose provider reaches the cluster through a proxy.
func (m *move) through(options faultproxy.Options, appSet *unstructured.Unstructured) *faultproxy.Proxy {
	m.Helper()
	proxy, err := faultproxy.Start(m.mover("proxied").config(m.cluster), options)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(proxy.Close)
	kubeconfig := filepath.Join(m.TempDir(), "proxy.kubeconfig")
	if err := proxy.WriteKubeconfig(kubeconfig); err != nil {
		m.Fatal(err)
	}
	s := m.newSet(nil)
	s.Manifest, s.Provider = manifest(appSet.Object), obj{"kubernetes": obj{"config_path": kubeconfig}}
	m.configure(s)
	return proxy
}

// dropLease deletes the lease of a process that is dead: it would expire by itself, 15 seconds later.
func (m *move) dropLease() {
	m.Helper()
	all := m.client.Resource(leases).Namespace(argoNamespace)
	listed, err := all.List(m.ctx(), metav1.ListOptions{LabelSelector: setLabel})
	if err != nil {
		m.Fatal(err)
	}
	for _, lease := range listed.Items {
		if lease.GetAnnotations()[ownerAnnotation] != argoNamespace+"/"+m.name {
			continue
		}
		if err := all.Delete(m.ctx(), lease.GetName(), metav1.DeleteOptions{}); err != nil {
			m.Fatal(err)
		}
	}
}

// killedWhen applies, and kills terraform and the provider when the API server has carried out a request, after as many
// like it as are to be skipped, and the provider does not know.
func (m *move) killedWhen(what string, proxy *faultproxy.Proxy, on faultproxy.Match, skip int) {
	m.Helper()
	m.Log("killed when " + what)
	reached := make(chan struct{})
	rule := proxy.Add(faultproxy.Rule{On: on, Skip: skip, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		faultproxy.HangAfter()(w, r, func(w http.ResponseWriter, r *http.Request) { forward(w, r); close(reached) })
	}})
	c := m.startBinary("apply", "-auto-approve")
	select {
	case <-reached:
		c.send(syscall.SIGKILL)
		c.wait()
	case <-c.over:
		m.Fatalf("terraform has ended before %s:\n%s", what, c.out)
	}
	c.gone(orphanLimit)
	rule.Stop()
	m.dropLease()
}

// killedInEachStep kills terraform and the provider in one run after the other, each time a step further: whenever the API server has
// carried out the request that ends the step, and the provider does not know.
func (m *move) killedInEachStep() {
	m.useBinary(buildProvider(m.T))
	m.inCluster("dev", "staging", "prod")
	began, workloads, before := m.uids(), m.workloads(), m.live().Object["spec"]
	proxy := m.through(faultproxy.Options{}, m.appSet("dev", "staging", "prod"))
	m.cli.want(exitEmpty, "import", address, argoNamespace+"/"+m.name)
	m.seen.reset()
	for _, step := range []struct {
		name string
		on   faultproxy.Match
		skip int
		over bool
		// frozen: the next plan says how to give up.
		frozen bool
	}{
		{name: "the record is written", on: faultproxy.On("configmaps", "create")},
		{name: "the set is frozen", on: faultproxy.On("applicationsets", "patch"), frozen: true},
		{name: "an Application is let go", on: faultproxy.On("applications", "patch")},
		{name: "the set is deleted", on: faultproxy.On("applicationsets", "delete")},
		{name: "an Application is marked", on: faultproxy.On("applications", "patch")},
		{name: "the record says that all is done", on: faultproxy.On("configmaps", "update"), skip: 1, over: true},
	} {
		m.killedWhen(step.name, proxy, step.on, step.skip)
		m.must(m.nothingDeleted(m.seen, workloads))
		m.sameUIDs(began)
		if !step.over {
			r := m.fails([]string{"destroy", "-auto-approve"}, "ApplicationSet not taken over yet", "Nothing was changed")
			if step.frozen {
				m.thaws(m.commandsIn(r.out), before)
			}
		}
	}
	if r := m.startBinary("apply", "-auto-approve").wait(); r.code != exitEmpty {
		m.Fatalf("the last apply: exit code %d\n%s", r.code, r.out)
	}
	m.tookOver(began, workloads)
}

// tookOver fails unless the set is taken over with everything that it had, and destroys it.
func (m *move) tookOver(began, workloads map[string]string) {
	m.Helper()
	m.undisturbed(began, workloads)
	m.must(m.appSetGone, m.isOurs(m.apps("dev", "staging", "prod")...))
	m.isState("complete")
	m.atRest()
	m.destroy()
	m.lives()
}

// killedAndLost kills the take-over when the set is frozen, and loses the state. Only the record has what the ApplicationSet was: no create
// writes it, or puts the set into the state, where the import that goes on would be refused.
func (m *move) killedAndLost() {
	m.useBinary(buildProvider(m.T))
	m.inCluster("dev", "staging", "prod")
	began, workloads := m.uids(), m.workloads()
	proxy := m.through(faultproxy.Options{}, m.appSet("dev", "staging", "prod"))
	id := argoNamespace + "/" + m.name
	m.cli.want(exitEmpty, "import", address, id)
	m.seen.reset()
	m.killedWhen("the set is frozen", proxy, faultproxy.On("applicationsets", "patch"), 0)
	m.loseState()
	m.failsToApply("Take-over not finished", "Nothing was changed", "terraform import ADDRESS "+id)
	if values, _ := m.stored(); values != nil {
		m.Errorf("the create that was refused has left state: %v", values)
	}
	m.isState("taking over")
	m.cli.want(exitEmpty, "import", address, id)
	m.apply()
	m.tookOver(began, workloads)
}
