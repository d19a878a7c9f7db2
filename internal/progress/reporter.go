package progress

import (
	"sync"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Pulse is after how long a line is due, whatever is waited for.
const Pulse = 20 * time.Second

// Reporter tells one apply of one set, from the first request to the last: what comes before and
// after the run, which is told by its own notes.
type Reporter struct {
	clock rollout.Clock
	tell  func(Event)

	mu      sync.Mutex
	tracker *tracker
	// stage is what is waited for outside of the run, since when, and stop ends its repetition.
	stage string
	since time.Time
	stop  chan struct{}
	done  int
}

// NewReporter tells about the set, "namespace/name". tell is never called twice at once, and must
// not wait.
func NewReporter(set string, clock rollout.Clock, tell func(Event)) *Reporter {
	return &Reporter{clock: clock, tell: tell, tracker: newTracker(set, rollout.Plan{}, 0)}
}

// Stage says what is done now, outside of the run, and says it again every Pulse until something
// else is said.
func (r *Reporter) Stage(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet()
	r.stage, r.since, r.stop = text, r.clock.Now(), make(chan struct{})
	r.say(rollout.MomentWaiting, text)
	go r.repeat(r.stop)
}

func (r *Reporter) repeat(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-r.clock.After(Pulse):
		}
		r.mu.Lock()
		select {
		case <-stop:
		default:
			r.say(rollout.MomentWaiting, r.stage+", for "+r.clock.Now().Sub(r.since).Round(time.Second).String()+" so far")
		}
		r.mu.Unlock()
	}
}

// Run says that a run begins, and what it is to do: plan, whose steps soak for so long.
func (r *Reporter) Run(plan rollout.Plan, soak time.Duration, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet()
	r.tracker = newTracker(r.tracker.set, plan, soak)
	r.say("", text)
}

// Note tells a note of the run.
func (r *Reporter) Note(n rollout.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet()
	r.done = n.Done
	r.tell(r.tracker.event(n))
}

// End says how everything has ended.
func (r *Reporter) End(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet()
	e := r.tracker.event(rollout.Note{At: r.clock.Now(), Text: text, Done: r.done})
	e.LeftKnown = false
	r.tell(e)
}

// Close ends the repetition of a Stage.
func (r *Reporter) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet()
}

func (r *Reporter) say(moment rollout.Moment, text string) {
	r.tell(r.tracker.event(rollout.Note{At: r.clock.Now(), Moment: moment, Text: text, Done: r.done}))
}

func (r *Reporter) quiet() {
	if r.stop != nil {
		close(r.stop)
		r.stop = nil
	}
}
