package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// faults is a proxy between the provider and the API server that breaks what its rules say.
type faults struct {
	*faultproxy.Proxy
	kubeconfig string
	active     []*faultproxy.Active
}

// faults starts one, with the credentials of the provider's account. What is random in its rules
// comes from the seed.
func (f *fixture) faults(seed uint64, rules ...faultproxy.Rule) *faults {
	f.Helper()
	p, err := faultproxy.Start(f.account().config(f.cluster), faultproxy.Options{Seed: seed})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(p.Close)
	x := &faults{Proxy: p, kubeconfig: filepath.Join(f.TempDir(), "faults.kubeconfig")}
	if err := p.WriteKubeconfig(x.kubeconfig); err != nil {
		f.Fatal(err)
	}
	for _, rule := range rules {
		x.active = append(x.active, p.Add(rule))
	}
	return x
}

// through are the provider's attributes for a connection through the proxy.
func (x *faults) through() obj { return obj{"kubernetes": obj{"config_path": x.kubeconfig}} }

// hits is how many requests were hit by the rules that it was started with.
func (x *faults) hits() int {
	sum := 0
	for _, a := range x.active {
		sum += a.Hits()
	}
	return sum
}

// fragileFixture is a fixture on the cluster whose parts a test may stop.
func fragileFixture(t *testing.T, cluster *controlplane.Cluster) *fixture {
	t.Helper()
	f := newFixtureOn(t, cluster)
	f.fragile = true
	a, err := newAccount(f.ctx(), cluster, f.client, readRBAC("apply.yaml", applyAccount))
	if err != nil {
		f.Fatal(err)
	}
	f.asAccount = f.kubeconfigOf(a)
	return f
}
