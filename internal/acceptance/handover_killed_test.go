//go:build unix

package acceptance

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// killedReplacement is a set whose first apply has failed, and whose replacement with create_before_destroy was killed while
// it rolled out: the state has the object of the first apply, and the record is that of the second. Its cause is removed
// before it returns, as is the lock, which would expire by itself.
func (f *fixture) killedReplacement(provider string) (*workspace, *set, *recorder) {
	f.Helper()
	w, s, seen := failedCreate(f)
	first := f.tokenOf(f.name)
	f.write("staging", map[string]string{"version": "2", "health": "Progressing"})
	f.commit()
	s.Extra = createBeforeDestroy
	w.configure(s)
	w.useBinary(provider)
	apply := w.startBinary("apply", "-auto-approve")
	w.awaitHeld(seen)
	apply.signal(syscall.SIGKILL)
	apply.wait()
	apply.gone(orphanLimit)
	if err := f.leases().Delete(f.ctx(), f.leaseName(), metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
	w.isTainted()
	w.isState("creating")
	if f.tokenOf(f.name) == first {
		f.Fatal("the create that was killed has not begun")
	}
	f.release("3", "staging", "prod")
	seen.reset()
	return w, s, seen
}

// tokenOf is the token in the record of a set.
func (f *fixture) tokenOf(set string) string {
	f.Helper()
	head := f.recordOf(set)
	if head == nil {
		f.Fatalf("there is no record of %s", set)
	}
	return head.Object["data"].(map[string]any)["token"].(string)
}

// What was rolled out must not fall out of the state for a create that was killed, and each command that is printed leads on.
func TestAccCreateBeforeDestroyThatIsKilled(t *testing.T) {
	requireAcceptance(t)
	dir := buildProvider(t)
	refused := func(w *workspace) {
		w.Helper()
		before := w.uids()
		w.fails([]string{"destroy", "-auto-approve"}, "Creation not finished", "Nothing was changed", "terraform taint ADDRESS, then terraform apply",
			"terraform state rm ADDRESS, then terraform import ADDRESS "+argoNamespace+"/"+w.name+", then terraform destroy")
		w.isTainted()
		w.isState("creating")
		w.sameUIDs(before)
	}
	t.Run("is not forgotten by a destroy, and ends with the next apply", func(t *testing.T) {
		f := newFixture(t)
		w, _, seen := f.killedReplacement(dir)
		before := f.uids()
		refused(w)
		w.cli.want(exitEmpty, "taint", address)
		w.apply()
		f.sameUIDs(before)
		f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
		w.isState("complete")
		w.atRest()
		w.destroy()
		w.lives()
		w.isState("")
	})
	t.Run("is deleted as it is after an import", func(t *testing.T) {
		f := newFixture(t)
		w, _, _ := f.killedReplacement(dir)
		refused(w)
		w.cli.want(exitEmpty, "state", "rm", address)
		w.cli.want(exitEmpty, "import", address, argoNamespace+"/"+f.name)
		w.destroy()
		w.lives()
		w.isState("")
	})
	t.Run("is not updated by the object of before, and ends when that is tainted again", func(t *testing.T) {
		f := newFixture(t)
		w, _, _ := f.killedReplacement(dir)
		before := f.uids()
		w.cli.want(exitEmpty, "untaint", address)
		w.failsToApply("Creation not finished", "terraform taint ADDRESS, then terraform apply", "rollout.adopt_existing = true for one apply")
		f.sameUIDs(before)
		w.isState("creating")
		w.cli.want(exitEmpty, "taint", address)
		w.apply()
		f.sameUIDs(before)
		w.isState("complete")
		w.atRest()
	})
	t.Run("is handed over where the next apply deletes before it creates", func(t *testing.T) {
		f := newFixture(t)
		w, s, seen := f.killedReplacement(dir)
		before := f.uids()
		s.Extra = ""
		w.configure(s)
		w.apply()
		f.sameUIDs(before)
		f.must(seen.inOrder(f.apps("staging"), f.apps("prod")), seen.operations(0, f.app("dev")))
		w.isState("complete")
		w.atRest()
	})
}

// A backend may not have stored what an apply has reached when it is killed. What a create goes on with, handed over to it, is
// still that of the state from before.
func TestAccHandOverKeepsTheTokenByWhichAnOlderStateKnowsTheSet(t *testing.T) {
	f := newFixture(t)
	w, _, _ := failedCreate(f)
	state := filepath.Join(w.cli.dir, "terraform.tfstate")
	older, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	f.write("staging", map[string]string{"version": "2", "health": "Degraded"})
	f.commit()
	w.failsToApply("Application degraded", f.app("staging"))
	w.isState("creating")
	if err := os.WriteFile(state, older, 0o600); err != nil {
		t.Fatal(err)
	}
	w.destroy()
	w.lives()
	w.isState("")
}

// failedReplacement is a set whose first apply has failed, and its replacement with create_before_destroy as well: the state has the objects of both, the
// first one deposed.
func (f *fixture) failedReplacement() (*workspace, *recorder) {
	f.Helper()
	w, s, seen := failedCreate(f)
	before := f.uids()
	s.Extra = createBeforeDestroy
	w.configure(s)
	f.write("staging", map[string]string{"version": "2", "health": "Degraded"})
	f.commit()
	w.failsToApply("Application degraded", f.app("staging"))
	f.sameUIDs(before)
	w.isTainted()
	f.release("3", "staging")
	seen.reset()
	return w, seen
}

// The deposed object is known by the token of its create: its deletion must not take what is in production.
func TestAccCreateBeforeDestroyThatFailsAgainDeletesNothingForTheDeposedObject(t *testing.T) {
	for name, untaint := range map[string]bool{"when it is replaced again": false, "when it is untainted": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			w, seen := f.failedReplacement()
			before := f.uids()
			if untaint {
				w.cli.want(exitEmpty, "untaint", address)
			}
			w.says(w.apply(), "(deposed object", "Nothing deleted")
			f.sameUIDs(before)
			f.must(seen.inOrder(f.apps("staging"), f.apps("prod")))
			w.lives(f.apps("dev", "staging", "prod")...)
			w.isState("complete")
			w.atRest()
		})
	}
}

func TestAccDestroyOfASetWithADeposedObjectDeletesItOnce(t *testing.T) {
	f := newFixture(t)
	w, _ := f.failedReplacement()
	// Terraform deletes both objects in any order; the deposed one is refused if it comes first.
	if r := w.cli.run("destroy", "-auto-approve"); r.code != exitEmpty {
		w.says(r, "Creation not finished", "A deposed object (create_before_destroy) goes with the next apply or destroy.")
		w.destroy()
	}
	w.lives()
	w.isState("")
	if values, _ := w.stored(); values != nil {
		t.Errorf("the state still has %v", values)
	}
}
