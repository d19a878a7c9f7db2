package acceptance

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

const (
	// absence is how long a part of the control plane is away in CI, soakAbsence in a soak.
	absence     = 5 * time.Second
	soakAbsence = 60 * time.Second
	// silence is after how long Argo CD counts as silent, and a margin.
	silence = 2*time.Minute + failsWithin
)

// Parts of the control plane end, stand still and come back, or do not. The tests share a control
// plane of their own and run one after the other.
func TestAccPartsOfTheControlPlaneFail(t *testing.T) {
	requireAcceptance(t)
	t.Parallel()
	cluster := cptest.Fragile(t)
	for _, test := range []struct {
		name string
		soak bool // in a soak only
		run  func(*breakdown)
	}{
		{"kube-apiserver is killed and comes back", false, (*breakdown).apiServerRestarts},
		{"the application controller stands still and goes on", true, func(b *breakdown) {
			b.controllerIsAway((*controlplane.Cluster).PauseComponent, func(_ context.Context, c *controlplane.Cluster) error {
				return c.ResumeComponent(controlplane.ApplicationController)
			})
		}},
		{"the application controller is killed and comes back", false, func(b *breakdown) {
			b.controllerIsAway((*controlplane.Cluster).KillComponent, func(ctx context.Context, c *controlplane.Cluster) error {
				return c.StartComponent(ctx, controlplane.ApplicationController)
			})
		}},
		{"the application controller does not come back", false, (*breakdown).controllerStaysAway},
		{"the repo server is away for a moment", true, (*breakdown).repoServerIsAway},
		{"the repo server does not come back", false, (*breakdown).repoServerStaysAway},
	} {
		if test.soak && !soaks() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			f := fragileFixture(t, cluster)
			w := f.workspace()
			b := &breakdown{workspace: w, seen: f.record(), s: f.newSet([]string{"dev", "staging", "prod"}, "dev", "staging", "prod")}
			b.s.AppSpec = ignoreHealth
			t.Cleanup(b.whole)
			test.run(b)
		})
	}
}

// breakdown is a set of three steps on a control plane that loses parts.
type breakdown struct {
	*workspace
	seen *recorder
	s    *set
	gold int
}

// away is how long a part is away.
func (b *breakdown) away() time.Duration {
	if soaks() {
		return soakAbsence
	}
	return absence
}

func soaks() bool { return os.Getenv(soakEnv) != "" }

// create rolls the set out for the first time, undisturbed.
func (b *breakdown) create() {
	b.Helper()
	b.release("1", "dev", "staging", "prod")
	b.configure(b.s)
	b.apply()
	b.seen.reset()
}

// change makes all specs new: the next apply has to sync every Application.
func (b *breakdown) change() {
	b.Helper()
	b.gold++
	b.s.Labels = obj{"tier": fmt.Sprintf("gold-%d", b.gold)}
	b.s.Source = obj{"repo_url": b.repo.URL(), "target_revision": "main", "path": "apps/{{.name}}",
		"directory": obj{"exclude": fmt.Sprintf("none-%d", b.gold)}}
	b.configure(b.s)
	b.seen.reset()
}

// applies starts an apply that does not ask Argo CD about git first.
func (b *breakdown) applies() *command {
	b.Helper()
	return b.cli.start("apply", "-auto-approve", "-refresh=false")
}

// awaits ends the test unless the condition is met in time.
func (b *breakdown) awaits(suffix, what string, condition func(*appState) bool) {
	b.Helper()
	if _, err := b.seen.await(b.ctx(), b.app(suffix), what, condition); err != nil {
		b.Fatal(err)
	}
}

// asked tells that an operation is asked for.
func asked(s *appState) bool { return s != nil && s.Pending }

// rests lets time pass while a part is away.
func (b *breakdown) rests(d time.Duration) {
	b.Helper()
	b.must(func() error { return pause(context.Background(), d) })
}

// wholeRollout fails unless all three steps were rolled out in order, with one operation each.
func (b *breakdown) wholeRollout() {
	b.Helper()
	dev, staging, prod := b.apps("dev"), b.apps("staging"), b.apps("prod")
	b.must(b.seen.inOrder(dev, staging, prod), b.seen.historyInOrder(dev, staging, prod),
		b.seen.operations(1, b.apps("dev", "staging", "prod")...))
}

// wholeHistory is wholeRollout where the API server was away: the recorder may be back later than the rollout
// goes on, so Argo CD's own histories tell the order.
func (b *breakdown) wholeHistory() {
	b.Helper()
	b.seen.catchUp()
	b.must(b.seen.historyInOrder(b.apps("dev"), b.apps("staging"), b.apps("prod")), b.seen.operations(1, b.apps("dev", "staging", "prod")...))
}

// succeeds fails unless the command did.
func (b *breakdown) succeeds(c *command) {
	b.Helper()
	if r := c.wait(); r.code != exitEmpty {
		b.Fatalf("exit code %d\n%s", r.code, r.out)
	}
}

// failed fails unless the command failed, saying these texts.
func (b *breakdown) failed(c *command, texts ...string) {
	b.Helper()
	r := c.wait()
	if r.code != exitFailed {
		b.Fatalf("exit code %d, not %d\n%s", r.code, exitFailed, r.out)
	}
	b.says(r, texts...)
}

// whole brings back what the test has left broken, for the next one.
func (b *breakdown) whole() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for _, part := range []string{controlplane.APIServer, controlplane.RepoServer, controlplane.ApplicationController} {
		if b.cluster.ResumeComponent(part) == nil {
			continue
		}
		if err := b.cluster.StartComponent(ctx, part); err != nil {
			b.Errorf("bringing %s back: %v", part, err)
		}
	}
}

func (b *breakdown) apiServerRestarts() {
	b.unhealthy("Progressing", "1", "staging")
	b.release("1", "dev", "prod")
	b.configure(b.s)
	restart := func(end func(*controlplane.Cluster, string) error) {
		b.must(func() error { return end(b.cluster, controlplane.APIServer) })
		b.rests(2 * time.Second)
		b.must(func() error { return b.cluster.StartComponent(b.ctx(), controlplane.APIServer) })
	}

	// Killed while an Application is waited for.
	c := b.applies()
	b.awaits("staging", "is progressing", progressing)
	restart((*controlplane.Cluster).KillComponent)
	b.must(func() error { return b.setHealth(b.ctx(), b.app("staging"), "Healthy") })
	b.succeeds(c)
	b.wholeHistory()

	// Stopped in good order while an operation begins.
	b.release("2", "dev", "staging", "prod")
	b.change()
	c = b.cli.start("apply", "-auto-approve")
	b.must(func() error { return b.seen.awaitOnce(b.ctx(), b.app("dev"), "is asked to sync", asked) })
	restart((*controlplane.Cluster).StopComponent)
	b.succeeds(c)
	b.wholeHistory()

	// Killed while an Application is deleted.
	c = b.cli.start("destroy", "-auto-approve", "-refresh=false")
	b.awaits("dev", "is being deleted", isDeleting)
	restart((*controlplane.Cluster).KillComponent)
	b.succeeds(c)
	b.lives()
}

func (b *breakdown) controllerIsAway(leave func(*controlplane.Cluster, string) error, back func(context.Context, *controlplane.Cluster) error) {
	b.create()

	// Away when an operation is asked for.
	b.change()
	b.must(func() error { return leave(b.cluster, controlplane.ApplicationController) })
	c := b.applies()
	b.must(func() error { return b.seen.awaitOnce(b.ctx(), b.app("dev"), "is asked to sync", asked) })
	b.rests(b.away())
	b.must(b.seen.untouched(b.apps("staging", "prod")...), func() error { return back(b.ctx(), b.cluster) })
	b.succeeds(c)
	b.wholeRollout()

	// Away when an Application is deleted.
	b.seen.reset()
	b.must(func() error { return leave(b.cluster, controlplane.ApplicationController) })
	c = b.cli.start("destroy", "-auto-approve", "-refresh=false")
	b.rests(b.away())
	b.must(func() error { return back(b.ctx(), b.cluster) })
	b.succeeds(c)
	b.must(b.nothingLeft)
	b.lives()
}

func (b *breakdown) controllerStaysAway() {
	b.create()
	// Another set is destroyed meanwhile: its Application has little time to go.
	other := b.workspace.workspace()
	doomed := b.newSet([]string{"doomed"})
	doomed.Name, doomed.Rollout = b.name+"-doomed", obj{"min_healthy_time": "0s", "app_timeout": "15s"}
	b.release("1", "doomed")
	other.configure(doomed)
	other.apply()

	b.change()
	b.must(func() error { return b.cluster.KillComponent(controlplane.ApplicationController) })
	began := time.Now()
	apply := b.applies()
	destroy := other.cli.start("destroy", "-auto-approve", "-refresh=false")
	b.failed(destroy, "Deletion not finished", b.app("doomed"), "kubectl -n argocd get applications.argoproj.io "+b.app("doomed"))
	b.failed(apply, "No answer from Argo CD", b.app("dev"), "step 01: env in [dev]", "kubectl -n argocd logs statefulset/argocd-application-controller",
		"terraform apply again")
	b.must(within(silence, began), b.seen.untouched(b.apps("staging", "prod")...))

	if soaks() {
		// A plan has to do without Argo CD's word, and says so.
		b.says(b.plan(), "No answer from Argo CD", "The plan uses its last comparison")
	}

	b.must(func() error { return b.cluster.StartComponent(b.ctx(), controlplane.ApplicationController) })
	b.apply()
	b.must(b.seen.inOrder(b.apps("dev"), b.apps("staging"), b.apps("prod")))
	b.atRest()
	other.destroy("-refresh=false")
}

func (b *breakdown) repoServerIsAway() {
	b.create()
	b.change()
	b.must(func() error { return b.cluster.KillComponent(controlplane.RepoServer) })
	c := b.applies()
	b.must(func() error { return b.seen.awaitOnce(b.ctx(), b.app("dev"), "is asked to sync", asked) })
	b.rests(4 * time.Second)
	b.must(func() error { return b.cluster.StartComponent(b.ctx(), controlplane.RepoServer) })
	b.succeeds(c)
	b.wholeRollout()
	b.atRest()
}

func (b *breakdown) repoServerStaysAway() {
	b.create()
	b.must(func() error { return b.cluster.KillComponent(controlplane.RepoServer) })
	b.says(b.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "Revisions not compared", b.app("dev"), "ComparisonError", "connection refused",
		"The plan uses the revisions that were known before")
	b.change()
	began := time.Now()
	b.failed(b.applies(), b.app("dev"), "step 01: env in [dev]", "connection refused", "terraform apply again")
	b.must(within(silence, began), b.seen.untouched(b.apps("staging", "prod")...), b.seen.idle(b.apps("dev", "staging", "prod")...))

	b.must(func() error { return b.cluster.StartComponent(b.ctx(), controlplane.RepoServer) })
	b.apply()
	b.must(b.seen.inOrder(b.apps("dev"), b.apps("staging"), b.apps("prod")))
	b.atRest()
}
