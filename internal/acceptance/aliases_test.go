//go:build unix

package acceptance

import (
	"fmt"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// Two provider blocks in one configuration reach two clusters. On the second one, the Applications
// live in a namespace of their team: it must be the real provider, as each block has a process of
// its own only there.
func TestAccTwoProvidersReachTwoClustersAndANamespaceOfATeam(t *testing.T) {
	east := newFixture(t)
	west := newFixtureOn(t, cptest.Fragile(t))
	team := west.team()
	west.asAccount = west.kubeconfigOf(west.applierIn(team))
	w := east.workspace()
	w.useBinary(buildProvider(t))
	binary := func(want int, args ...string) result {
		t.Helper()
		r := w.startBinary(args...).wait()
		if r.code != want {
			t.Fatalf("terraform %v: exit code %d, not %d\n%s", args, r.code, want, r.out)
		}
		return r
	}

	east.release("1", "dev")
	west.release("1", "dev", "prod")
	one := east.newSet([]string{"dev"})
	two := west.newSet([]string{"dev", "prod"}, "dev", "prod")
	two.Name, two.Address = one.Name, "west" // the same name, on another cluster
	two.Extra = fmt.Sprintf("provider = argocdprogressive.west\nnamespace = %q\n", team)
	config := func() text {
		return text(one.String() + west.provider(obj{"alias": "west"}) + two.Resource())
	}

	w.configure(config())
	refused := binary(exitFailed, "apply", "-auto-approve")
	w.says(refused, fmt.Sprintf("AppProject %q does not permit Applications in namespace %q", "default", team), "spec.sourceNamespaces")
	west.must(west.livesIn(team))

	west.permit(team)
	two.AppSpec = obj{"project": west.name}
	w.configure(config())
	binary(exitEmpty, "apply", "-auto-approve")
	binary(exitEmpty, "plan", "-detailed-exitcode")
	east.must(east.livesIn(argoNamespace, east.app("dev")), east.deploys("1", "dev"))
	west.must(west.livesIn(argoNamespace), west.livesIn(team, west.apps("dev", "prod")...), west.deploys("1", "dev", "prod"))

	west.release("2", "dev", "prod")
	plan := binary(exitChanges, "plan", "-detailed-exitcode")
	w.says(plan, west.app("prod"), "1 to change")
	binary(exitEmpty, "apply", "-auto-approve")
	west.must(west.deploys("2", "dev", "prod"))
	binary(exitEmpty, "destroy", "-auto-approve")
	east.must(east.livesIn(argoNamespace))
	west.must(west.livesIn(team), west.deploys("", "dev", "prod"))
}
