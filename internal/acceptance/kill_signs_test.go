//go:build linux

package acceptance

import (
	"net/http"
	"sync"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// What a run shows of itself: the requests of its provider, and what becomes of the Applications.

// tally counts.
type tally struct {
	mu   sync.Mutex
	n    int
	news chan struct{} // closed at each one
}

func newTally() *tally { return &tally{news: make(chan struct{})} }

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	close(t.news)
	t.news = make(chan struct{})
}

// now is how many there are, and what is closed when there is one more.
func (t *tally) now() (n int, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n, t.news
}

// through makes the provider use the proxy, whose requests are counted.
func (s *story) through(x *faults) {
	s.set.Provider = x.through()
	x.Add(faultproxy.Rule{Do: func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		s.asked.add()
		forward(w, r)
	}})
}

// changes is how far a phase has come: for each Application it counts that it was touched, that an
// operation was begun, that it was done, that its deletion was begun, and that it was gone. It tells
// as well what is closed when there may be one more.
func (r *recorder) changes() (n int, more <-chan struct{}) {
	r.mu.Lock()
	more = r.news // before the count: what comes meanwhile must not be overlooked
	r.mu.Unlock()
	all, _ := r.followed()
	for _, h := range all {
		for _, is := range []bool{h.touched >= 0, h.operations > 0, h.done >= 0, h.begun() >= 0, h.deleted >= 0} {
			if is {
				n++
			}
		}
	}
	return n, more
}

// changesOf is what recorder.changes counts in all of a phase.
func changesOf(phase int) int {
	const rollout, deletion, noted = 3, 2, 1
	switch phase {
	case createPhase:
		return rollout*len(killDev) + rollout*len(killStaging) + rollout*len(killProd) + noted
	case updatePhase:
		return rollout*len(killReleased) + rollout*len(killRespecified) + noted + deletion
	}
	return deletion * (len(killDev) + len(killStaging) + len(killProd) + 1)
}

// mark is what there was when a run began.
type mark struct {
	at                time.Time
	requests, changes int
}

func (s *story) mark() mark {
	m := mark{at: time.Now()}
	m.requests, _ = s.asked.now()
	m.changes, _ = s.seen.changes()
	return m
}

// waitFor waits for the instant of a strike; it is false when terraform ends before.
func (s *story) waitFor(x strike, c *groupCommand, from mark) bool {
	if x.given != nil {
		select {
		case <-x.given:
			return true
		case <-c.over:
			return false
		}
	}
	left := changesOf(x.phase) - from.changes
	var first time.Time
	for {
		requests, asked := s.asked.now()
		changes, changed := s.seen.changes()
		requests, changes = requests-from.requests, changes-from.changes
		if changes > 0 && first.IsZero() {
			first = time.Now()
		}
		if x.due(requests, changes, left) {
			return c.lasts(x.delay(changes, left, time.Since(first)))
		}
		select {
		case <-asked:
		case <-changed:
		case <-c.over:
			return false
		}
	}
}

// due tells that the sign which the strike follows has come: so many requests and changes were seen
// of the run, which had so many changes left to make. A run with none left is struck at its begin.
func (s strike) due(requests, changes, left int) bool {
	switch {
	case s.part > begin && left > 0:
		return changes >= min(left, 1+int(s.share*float64(left)))
	case s.part == begin && s.request == 0:
		return true
	}
	return requests >= max(1, s.request) || changes > 0
}

// delay is how long after that sign the strike comes. After a change it is measured by the time that
// the changes of this run took, from the first one to this one, and shrinks to nothing towards the last
// change, after which no other one need follow.
func (s strike) delay(changes, left int, took time.Duration) time.Duration {
	switch {
	case s.part == begin && s.request == 0:
		return time.Duration(s.late * float64(time.Second))
	case s.part == begin || changes < 2 || changes >= left:
		return 0
	}
	pace := float64(took) / float64(changes-1)
	return time.Duration(s.late * pace * float64(left-changes) / float64(left))
}
