//go:build unix

package acceptance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// leaseName is that of the Lease of the fixture's set: that of its record.
func (f *fixture) leaseName() string {
	return "argocdprogressive-" + argocd.Owner{Namespace: argoNamespace, Name: f.name}.Hash()
}

func (f *fixture) leases() dynamic.ResourceInterface {
	return f.client.Resource(leases).Namespace(argoNamespace)
}

// lease is the Lease of the fixture's set; nil when there is none.
func (f *fixture) lease() *unstructured.Unstructured {
	f.Helper()
	found, err := f.leases().Get(f.ctx(), f.leaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	return found
}

// holder is who holds the Lease of the fixture's set, which must exist.
func (f *fixture) holder() string {
	f.Helper()
	lease := f.lease()
	if lease == nil {
		f.Fatalf("there is no Lease %s", f.leaseName())
	}
	identity, _, err := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	if err != nil {
		f.Fatal(err)
	}
	return identity
}

// isReleased fails unless the Lease of the fixture's set exists and nobody holds it.
func (f *fixture) isReleased() {
	f.Helper()
	if holder := f.holder(); holder != "" {
		f.Errorf("the lease is held by %q", holder)
	}
}

// steal makes somebody else the holder of the Lease, as an edit by hand does.
func (f *fixture) steal(holder string) {
	f.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease := f.lease()
		if err := unstructured.SetNestedField(lease.Object, holder, "spec", "holderIdentity"); err != nil {
			return err
		}
		_, err := f.leases().Update(f.ctx(), lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
}

// copyOf is another workspace with a copy of the state, as two pipelines without a locking backend
// have it.
func (w *workspace) copyOf(config fmt.Stringer) *workspace {
	w.Helper()
	other := w.workspace()
	other.configure(config)
	state, err := os.ReadFile(filepath.Join(w.cli.dir, "terraform.tfstate"))
	if err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other.cli.dir, "terraform.tfstate"), state, 0o600); err != nil {
		w.Fatal(err)
	}
	return other
}

// heldUpdate is a set that is out at version 1, and an apply of version 2 that runs: its step 2
// stays Progressing. change changes the set before anything is applied.
func (f *fixture) heldUpdate(change ...func(*set)) (w *workspace, s *set, seen *recorder, apply *command) {
	f.Helper()
	w, s, seen = f.rolledOut(change...)
	f.isReleased()
	f.write("staging", map[string]string{"version": "2", "health": "Progressing"})
	f.release("2", "dev", "prod")
	seen.reset()
	apply = w.cli.start("apply", "-auto-approve")
	held := false
	defer func() {
		if !held { // the test has ended
			_ = apply.process.Signal(os.Interrupt)
			apply.wait()
		}
	}()
	w.awaitHeld(seen)
	held = true
	return w, s, seen, apply
}

func TestAccOfTwoAppliesAtOnceOneWorks(t *testing.T) {
	f := newFixture(t)
	w, s, seen, first := f.heldUpdate(func(s *set) { s.AppSpec = ignoreHealth })
	holder, record := f.holder(), f.recordOf(f.name).GetResourceVersion()
	if !strings.Contains(holder, "@") || !strings.Contains(holder, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the holder is %q", holder)
	}

	s.Rollout = quick(obj{"lock_timeout": "0s"})
	second := w.copyOf(s)
	second.plan() // reads, and needs no lease
	seen.reset()
	second.failsToApply("Set locked", "argocd/"+f.name, holder, "since 20", "Nothing was changed", `rollout.lock_timeout = "30m"`,
		"within 15 s", "kubectl -n argocd get lease "+f.leaseName()+" -o yaml")
	f.must(seen.onlyTouched())
	if f.holder() != holder || f.recordOf(f.name).GetResourceVersion() != record {
		t.Errorf("the lease is held by %q, and the record is at %s", f.holder(), f.recordOf(f.name).GetResourceVersion())
	}
	if r := second.cli.run("destroy", "-auto-approve"); r.code != exitFailed || !strings.Contains(words(r.out), "Set locked") {
		t.Errorf("destroy: exit code %d\n%s", r.code, r.out)
	}
	f.lives(f.apps("dev", "staging", "prod")...)

	s.Rollout = quick(obj{"lock_timeout": "10m"})
	lines := filepath.Join(second.cli.dir, "progress.log")
	s.Provider = obj{"progress": obj{"path": lines}}
	second.configure(s)
	waits := second.cli.start("apply", "-auto-approve")
	f.awaitLine(lines, "waiting for another apply of the set, by "+holder)
	if f.holder() != holder {
		t.Errorf("the lease is held by %q", f.holder())
	}
	f.must(func() error { return f.setHealth(f.ctx(), f.app("staging"), "Healthy") })
	if r := first.wait(); r.code != exitEmpty {
		t.Errorf("the first apply: exit code %d\n%s", r.code, r.out)
	}
	if r := waits.wait(); r.code != exitEmpty {
		t.Errorf("the second apply: exit code %d\n%s", r.code, r.out)
	}
	f.must(f.deploys("2", "dev", "staging", "prod"))
	second.atRest()
	f.isReleased()
	w.loseState()
	second.destroy()
	if f.lease() != nil {
		t.Error("a Lease is left after destroy")
	}
}

func TestAccALeaseThatIsStolenStopsTheRollout(t *testing.T) {
	f := newFixture(t)
	w, _, seen, apply := f.heldUpdate()
	seen.reset()
	f.steal("mallory@elsewhere")
	r := apply.wait()
	if r.code != exitFailed {
		t.Fatalf("exit code %d\n%s", r.code, r.out)
	}
	w.says(r, "Lock lost", "mallory@elsewhere", fmt.Sprintf("in %q", stepOf("02", "staging")), "terraform apply again",
		"kubectl -n argocd get lease "+f.leaseName())
	f.must(seen.untouched(f.app("prod"), f.app("dev")))
	if holder := f.holder(); holder != "mallory@elsewhere" {
		t.Errorf("the lease that was stolen is held by %q", holder)
	}
	f.release("2", "staging")
	seen.reset()
	w.apply() // mallory never renews
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
	f.isReleased()
	w.atRest()
}

func TestAccACancelledApplyReleasesTheLease(t *testing.T) {
	f := newFixture(t)
	w, _, _, apply := f.heldUpdate()
	if err := apply.process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if r := apply.wait(); r.code != exitFailed {
		t.Fatalf("exit code %d\n%s", r.code, r.out)
	}
	f.isReleased()
	f.release("2", "staging")
	w.apply()
}

func TestAccAnApplyThatWaitsForTheLeaseCanBeCancelled(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	f.steal("mallory@elsewhere")
	stop := f.renew("mallory@elsewhere")
	f.release("2", "dev", "staging", "prod")
	s.Rollout = quick(obj{"lock_timeout": "10m"})
	lines := filepath.Join(w.cli.dir, "progress.log")
	s.Provider = obj{"progress": obj{"path": lines}}
	w.configure(s)
	apply := w.cli.start("apply", "-auto-approve")
	f.awaitLine(lines, "waiting for another apply of the set, by mallory@elsewhere")
	if err := apply.process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r := apply.wait()
	if r.code != exitFailed {
		t.Fatalf("exit code %d\n%s", r.code, r.out)
	}
	w.says(r, "Set locked", "mallory@elsewhere", "was cancelled while it waited")
	f.must(f.deploys("1", "dev", "staging", "prod"), seen.untouched(f.apps("dev", "staging", "prod")...))
	stop()
}

// awaitLine waits until a file says something. It does not end the test: the process that writes the file
// runs.
func (f *fixture) awaitLine(path, text string) {
	f.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		content, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(content), text) {
			return
		}
		if time.Since(began) > patience {
			f.Errorf("%s does not say %q after %s, but (%v)\n%s", path, text, patience, err, content)
			return
		}
	}
}

// renew keeps the Lease of the fixture's set alive for another holder, until stop.
func (f *fixture) renew(holder string) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-time.After(2 * time.Second):
			}
			patch := fmt.Sprintf(`{"spec":{"holderIdentity":%q,"renewTime":%q}}`, holder, time.Now().UTC().Format(metav1.RFC3339Micro))
			if _, err := f.leases().Patch(f.ctx(), f.leaseName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				f.Error(err)
				return
			}
		}
	}()
	return func() { close(ended); <-done }
}

func TestAccTheLeaseOfAKilledProviderIsTakenOver(t *testing.T) {
	requireAcceptance(t)
	dir := buildProvider(t)
	f := newFixture(t)
	w, seen := f.held(dir)
	apply := w.startBinary("apply", "-auto-approve")
	w.awaitHeld(seen)
	apply.signal(syscall.SIGKILL)
	apply.wait()
	apply.gone(orphanLimit)
	killed := f.holder()
	if killed == "" {
		t.Fatal("a killed process has released its lease")
	}
	began := time.Now()
	w.resumesHeld(seen)
	if took := time.Since(began); took < 10*time.Second {
		t.Errorf("the lease of %s was taken over within %s", killed, took)
	}
	f.isReleased()
	if n, _, _ := unstructured.NestedInt64(f.lease().Object, "spec", "leaseTransitions"); n == 0 {
		t.Error("the lease was not taken over")
	}
	w.destroy()
	if f.lease() != nil {
		t.Error("a Lease is left after destroy")
	}
}

func TestAccACreateThatIsRefusedLeavesNoLease(t *testing.T) {
	f := newFixture(t)
	_, s, _ := f.rolledOut()
	other := f.workspace()
	s.Name = f.name + "-b"
	other.configure(s)
	other.failsToApply("Applications exist already")
	hash := argocd.Owner{Namespace: argoNamespace, Name: s.Name}.Hash()
	if _, err := f.leases().Get(f.ctx(), "argocdprogressive-"+hash, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease of a set that was never written: %v", err)
	}
}

func TestAccACreateThatIsNotLetInAfterTheHandOverKeepsTheSetInState(t *testing.T) {
	f := newFixture(t)
	x := f.faults(1)
	w, _, seen := failedCreate(f, func(s *set) { s.Provider = x.through() })
	before := f.uids()
	// The deletion that hands over takes the lease and releases it; the create does not get it.
	refused := x.Add(faultproxy.Rule{
		On: faultproxy.On("leases", "update"), Skip: 2, Do: faultproxy.Answer(http.StatusForbidden, metav1.StatusReasonForbidden, "leases are frozen"),
	})
	w.failsToApply("Permission missing", "leases are frozen")
	if refused.Hits() == 0 {
		t.Fatal("no request was hit")
	}
	w.isTainted()
	f.must(seen.onlyTouched())
	x.Clear()
	w.apply()
	f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.apps("dev")...), f.deploys("2", "staging", "prod"))
	f.sameUIDs(before)
	w.atRest()
	w.destroy()
}
