//go:build unix

package acceptance

import (
	"fmt"
	"syscall"
	"testing"
)

// TestAccBinary runs what only the real provider process can show: what becomes of it, and of the
// state, when signals reach the whole process group, as Ctrl-C in a terminal, "docker stop" and CI
// systems send them. TestAccKill tells whether the next apply goes on, whatever the signal.
func TestAccBinary(t *testing.T) {
	requireAcceptance(t)
	dir := buildProvider(t)
	for _, test := range []struct {
		name   string
		signal syscall.Signal
	}{
		{"Ctrl-C names the step and how to resume", syscall.SIGINT},
		{"SIGTERM to the process group saves what was reached", syscall.SIGTERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			w, seen := f.held(dir)
			apply := w.startBinary("apply", "-auto-approve")
			w.awaitHeld(seen)
			apply.signal(test.signal)
			r := apply.wait()
			if r.code != exitFailed {
				t.Fatalf("exit code %d\n%s", r.code, r.out)
			}
			w.says(r, "Rollout interrupted", fmt.Sprintf("in %q", stepOf("02", "staging")), "terraform apply again", "terraform untaint", f.app("staging"))
			apply.gone(orphanLimit)
			w.isTainted()
			values, _ := w.stored()
			if reached := wavesOf(values, nil); len(reached[stepOf("01", "dev")]) != 1 || len(reached[stepOf("02", "staging")]) != 1 {
				t.Errorf("the state has the waves %v", reached)
			}
			w.resumesHeld(seen)
		})
	}
	t.Run("Ctrl-C of a destroy names what is left", func(t *testing.T) {
		f := newFixture(t)
		w, s, seen := f.workspace(), f.threeSteps(), f.record()
		s.Reverse = true
		f.hold("staging")
		f.release("1", "dev", "prod")
		w.configure(s)
		w.useBinary(dir)
		w.apply()
		seen.reset()
		destroy := w.startBinary("destroy", "-auto-approve")
		if _, err := seen.await(w.ctx(), f.app("staging"), "is being deleted", isDeleting); err != nil {
			t.Error(err)
		}
		destroy.signal(syscall.SIGINT)
		r := destroy.wait()
		if r.code != exitFailed {
			t.Fatalf("exit code %d\n%s", r.code, r.out)
		}
		w.says(r, "Deletion interrupted", "The deletion was cancelled. Nothing new was started after that.", "Not done (2)",
			f.app("staging")+" ("+stepOf("02", "staging")+"): Deleting", "terraform destroy (or apply) again")
		destroy.gone(orphanLimit)
		w.lives(f.apps("dev", "staging")...)
		f.must(seen.untouched(f.app("dev")), func() error { return f.letGo(f.ctx(), "staging") })
		w.destroy()
		f.must(seen.deletedInOrder(f.apps("prod"), f.apps("staging"), f.apps("dev")), f.nothingLeft)
		w.isState("")
	})
}

// held is a set whose step 2 stays Progressing, so that its first apply stops there.
func (f *fixture) held(provider string) (*workspace, *recorder) {
	f.Helper()
	w, seen := f.workspace(), f.record()
	f.write("staging", map[string]string{"version": "1", "health": "Progressing"})
	f.release("1", "dev", "prod")
	w.configure(f.threeSteps())
	w.useBinary(provider)
	return w, seen
}

// awaitHeld waits until step 2 is deployed and Progressing.
func (w *workspace) awaitHeld(seen *recorder) {
	w.Helper()
	_, err := seen.await(w.ctx(), w.app("staging"), "is deployed and Progressing", func(s *appState) bool {
		return s != nil && !s.Pending && s.Phase == "Succeeded" && s.Health == "Progressing"
	})
	if err != nil {
		w.Fatal(err)
	}
}

// resumesHeld frees step 2 and applies again: nothing is deleted, step 1 is left alone.
func (w *workspace) resumesHeld(seen *recorder) {
	w.Helper()
	before := w.uids()
	w.must(seen.untouched(w.app("prod")))
	w.lives(w.apps("dev", "staging")...)
	w.release("2", "staging")
	seen.reset()
	w.apply()
	w.sameUIDs(before)
	w.must(seen.inOrder(w.apps("staging"), w.apps("prod")), seen.operations(0, w.app("dev")))
	w.atRest()
}
