package progress

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestWhatTakesLongIsSaidAgainUntilSomethingElseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []Event
		r := NewReporter("argocd/shop", rollout.RealClock{}, func(e Event) { heard = append(heard, e) })
		last := func(n int, want string) {
			t.Helper()
			synctest.Wait()
			if len(heard) != n || !strings.Contains(heard[n-1].Line(Text), want) {
				t.Fatalf("heard %d lines, not %d: %v", len(heard), n, heard)
			}
		}
		r.Stage("waiting for another apply of the set")
		last(1, ": waiting for another apply of the set")
		time.Sleep(Pulse - time.Second)
		last(1, "")
		time.Sleep(time.Second)
		last(2, "waiting for another apply of the set, for 20s so far")
		time.Sleep(2 * Pulse)
		last(4, ", for 1m0s so far")
		r.Stage("checking the Applications")
		last(5, "checking the Applications")
		r.Run(planOf(-1, "a b"), 0, "begins")
		last(6, "[0/2 done]: begins")
		time.Sleep(10 * Pulse) // from here on the run tells what it waits for
		last(6, "")
		r.Note(rollout.Note{At: time.Now(), App: "a", Step: label(1), Phase: rollout.PhaseHealthy, Done: 1, Text: "synced"})
		last(7, "[step 1/1, 1/2 done")
		r.End("failed: b")
		last(8, "[1/2 done]: failed: b")
		r.Stage("writing the record")
		r.Close()
		time.Sleep(10 * Pulse)
		last(9, "writing the record")
	})
}
