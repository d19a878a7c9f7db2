package rollout

import (
	"slices"
	"time"
)

// nature is how one Application behaves.
type nature struct {
	// progress is how long a deployment takes to become healthy; naive ones look healthy at first.
	progress time.Duration
	naive    bool
	// ends is the health a deployment of the target ends with; empty means Healthy.
	ends string
	// pause keeps it Suspended for a while before that.
	pause time.Duration
	// blipAfter and blip make it Degraded (or what blipAs says) for a while after it has become healthy.
	blipAfter, blip time.Duration
	blipAs          string
	// opTime is how long an attempt takes; stuck ones never end.
	opTime time.Duration
	stuck  bool
	// fails is how many attempts fail, in the phase Error where it errs; retryAfter is the time to the first
	// retry, doubling.
	fails      int
	errs       bool
	limit      int
	retryAfter time.Duration
	// window is until when a sync window holds operations back; windowBlip shows its message only.
	window     time.Time
	windowBlip bool
	// forgets leaves out the comparison after an operation, as a restart of the controller does.
	forgets bool
	// lose is how many operations vanish.
	lose int
	// silent is until when the controller does nothing about it.
	silent time.Time
	// shrugs is how many requests to terminate the controller writes over.
	shrugs int
	// outOfSync: it stays OutOfSync at its target (a resource needs pruning).
	outOfSync bool
	// invalid: its spec is not valid.
	invalid   bool
	hooksOnly bool
}

// failure is the phase in which its operations end that fail: Error where the sync could not even begin.
func (n nature) failure() string {
	if n.errs || n.invalid {
		return Error
	}
	return Failed
}

type comparer struct {
	busy, again, forced bool
}

// kick lets the controller react to a change of the object.
func (w *world) kick(a *simApp) {
	if !a.exists || a.skip {
		return
	}
	if wait := a.nature.silent.Sub(w.now); wait > 0 {
		if wait < 24*time.Hour {
			w.after(wait+time.Millisecond, func() { w.kick(a) })
		}
		return
	}
	if a.pending != nil && (a.state == nil || a.state.ended) && !a.starting {
		a.starting = true
		uid := a.uid
		w.after(w.between(5*time.Millisecond, 100*time.Millisecond), func() {
			if a.uid == uid {
				a.starting = false
				w.begin(a)
			}
		})
	}
	if op := a.state; op != nil && !op.ended && op.phase == Terminating && !a.killing {
		a.killing = true
		w.after(w.between(10*time.Millisecond, 60*time.Millisecond), func() {
			a.killing = false
			w.terminated(a, op)
		})
	}
	if a.refresh != "" || a.ofSrc != a.src {
		w.compare(a, true)
	}
	if a.terminating && !a.running() && !a.ending {
		a.ending = true
		w.after(w.between(10*time.Millisecond, 300*time.Millisecond), func() { w.finalize(a) })
	}
}

// compare makes one comparison at a time; forced ones resolve the revisions anew.
func (w *world) compare(a *simApp, forced bool) {
	c := &a.comparer
	if !a.exists || a.skip || w.now.Before(a.nature.silent) {
		return
	}
	c.forced = c.forced || forced
	if c.busy {
		c.again = true
		return
	}
	c.busy = true
	uid := a.uid
	w.after(w.between(5*time.Millisecond, 80*time.Millisecond), func() {
		if a.uid != uid || !a.exists {
			return
		}
		forced, refresh, src, cache, began := c.forced, a.refresh, a.src, a.cache, w.now
		c.forced, c.again = false, false
		revisions := a.compared
		if forced || len(revisions) != len(a.sources) {
			revisions = w.head(a.sources)
		}
		w.after(w.between(5*time.Millisecond, 80*time.Millisecond), func() {
			if a.uid == uid && a.exists {
				w.persist(a, revisions, refresh, src, cache, began)
				c.busy = false
				if c.again {
					w.compare(a, false)
				}
			}
		})
	})
}

// persist stores the result of a comparison, and only then takes the request for it away.
// The time that it stores is that of its begin.
func (w *world) persist(a *simApp, revisions []string, refresh, src string, cache deployed, began time.Time) {
	a.compared, a.ofSrc, a.errors, a.looked = revisions, src, nil, began
	a.health = cache.health
	switch {
	case a.nature.invalid:
		a.status, a.health, a.ofSrc = SyncUnknown, HealthUnknown, src
		a.errors = []Condition{{Type: "InvalidSpecError", Message: "Application referencing project p which does not exist"}}
	case w.broken(a, revisions):
		a.status, a.errors = SyncUnknown, []Condition{{Type: "ComparisonError", Message: "app path does not exist"}}
	case cache.content != w.content(a, src, revisions) || a.nature.outOfSync:
		a.status = OutOfSync
	default:
		a.status = Synced
	}
	w.automate(a)
	w.touch(a)
	if refresh == "" || a.refresh != refresh {
		return
	}
	uid := a.uid
	w.after(w.between(0, 10*time.Millisecond), func() {
		if a.exists && a.uid == uid && a.refresh == refresh {
			a.refresh = ""
			w.touch(a)
		}
	})
}

// automate is automated sync: it deploys what the branch means now, once for each revision.
func (w *world) automate(a *simApp) {
	key := a.src + "|" + join(a.compared)
	if !a.auto || a.status != OutOfSync || a.running() || a.terminating || a.attempted == key {
		return
	}
	a.attempted = key
	a.pending = &simOp{token: "?", revisions: a.compared, src: a.src}
}

func join(s []string) string {
	out := ""
	for _, x := range s {
		out += x + ","
	}
	return out
}

// begin starts the pending operation.
func (w *world) begin(a *simApp) {
	if !a.exists || a.pending == nil || a.skip || a.state != nil && !a.state.ended {
		return
	}
	if a.pending.token != "?" && a.nature.lose > 0 {
		a.nature.lose--
		a.pending = nil
		w.touch(a)
		return
	}
	op := *a.pending
	op.phase, op.started = Running, w.now.Format("15:04:05")
	a.state = &op
	w.check.started(a, &op)
	if a.nature.windowBlip || w.now.Before(a.nature.window) {
		op.blocked, op.said = true, "Sync operation blocked by sync window"
	}
	w.touch(a)
	w.attempt(a, &op)
}

// attempt is one try of an operation.
func (w *world) attempt(a *simApp, op *simOp) {
	wait := a.nature.opTime
	switch {
	case a.nature.stuck && op.token != "?":
		return
	case w.now.Before(a.nature.window):
		if a.nature.window.Sub(w.now) > 24*time.Hour {
			return
		}
		wait += a.nature.window.Sub(w.now)
	}
	w.after(w.between(wait/2, wait), func() {
		if op.ended || op.phase == Terminating || a.state != op {
			return
		}
		op.blocked, op.said = false, "one or more tasks are running"
		refused := a.live().refused() // as it was found last, even if that is over
		if a.nature.invalid || refused || w.broken(a, op.revisions) || op.token != "?" && a.nature.fails > 0 {
			w.failAttempt(a, op)
			return
		}
		w.apply(a, op)
		w.after(w.between(time.Millisecond, 40*time.Millisecond), func() { w.end(a, op, Succeeded, "successfully synced (all tasks run)") })
	})
}

func (w *world) failAttempt(a *simApp, op *simOp) {
	a.nature.fails--
	if op.retries >= a.nature.limit {
		w.end(a, op, a.nature.failure(), "one or more objects failed to apply")
		return
	}
	backoff := a.nature.retryAfter << op.retries
	op.retries++
	op.failure = "one or more objects failed to apply"
	op.said = op.failure + ". Retrying attempt #" + string(rune('0'+op.retries))
	w.touch(a)
	w.after(backoff, func() {
		if !op.ended && op.phase != Terminating && a.state == op {
			op.failure, op.said = "", "Retrying operation. Attempt #"+string(rune('0'+op.retries))
			w.touch(a)
			w.attempt(a, op)
		}
	})
}

// apply changes the destination cluster.
func (w *world) apply(a *simApp, op *simOp) {
	if a.nature.outOfSync {
		op.incomplete = []string{"ConfigMap old: PruneSkipped"}
	}
	content := w.content(a, op.src, op.revisions)
	if op.partial {
		content = "partly " + content
	}
	if content == a.truth.content && a.truth.health != Missing {
		return
	}
	n := a.nature
	ends := n.ends
	if ends == "" || op.token == "?" {
		ends = Healthy
	}
	uid := a.uid
	set := func(d time.Duration, health string) {
		w.after(d, func() {
			if a.uid == uid && a.truth.content == content {
				w.setTruth(a, deployed{content, health})
			}
		})
	}
	first, wait := Progressing, n.progress
	switch {
	case n.progress == 0 && n.pause > 0:
		first = Suspended
	case n.progress == 0:
		first = ends
	case n.naive:
		first = Healthy
		set(min(300*time.Millisecond, n.progress/2), Progressing)
	}
	w.setTruth(a, deployed{content, first})
	if n.pause > 0 {
		set(wait, Suspended)
		wait += n.pause
	}
	if wait > 0 {
		set(wait, ends)
	}
	if n.blip > 0 {
		set(wait+n.blipAfter+time.Millisecond, orElse(n.blipAs, Degraded))
		set(wait+n.blipAfter+n.blip+time.Millisecond, ends)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// end completes an operation: status, history and `.operation` in one patch without a test.
func (w *world) end(a *simApp, op *simOp, phase, said string) {
	if op.ended || a.state != op {
		return
	}
	op.ended, op.phase, op.said, op.blocked, op.failure = true, phase, said, false, ""
	a.pending, a.opEnded = nil, w.now
	if phase == Succeeded && !op.partial {
		a.lastID++
		a.history = append(a.history, simEntry{a.lastID, slices.Clone(op.revisions), op.src, op.target, w.now})
	}
	w.touch(a)
	if !a.nature.forgets {
		w.compare(a, true) // processRequestedAppOperation asks for it, controller/appcontroller.go, Argo CD 3.6.1
	}
}

// terminated is the controller's reaction to phase Terminating.
func (w *world) terminated(a *simApp, op *simOp) {
	if op.ended || a.state != op || op.phase != Terminating || w.now.Before(a.nature.silent) {
		return
	}
	if a.nature.shrugs > 0 {
		a.nature.shrugs--
		op.phase = Running
		w.touch(a)
		if !a.nature.stuck {
			w.attempt(a, op)
		}
		return
	}
	w.end(a, op, Failed, "Operation terminated")
}

// finalize deletes the resources that Argo CD's cache knows, then the object.
func (w *world) finalize(a *simApp) {
	a.ending = false
	if !a.exists || !a.terminating || a.running() || a.skip {
		return
	}
	if a.cache.content != a.truth.content && !w.check.disturbed[a.name] {
		w.check.fail("resources of %s leaked: deleted while the cluster cache was behind", a.name)
	}
	w.undeploy(a)
	w.remove(a)
}

// undeploy is how an Application begins: nothing is in the destination cluster.
func (w *world) undeploy(a *simApp) {
	a.truth = deployed{health: Missing}
	if a.nature.hooksOnly {
		a.truth.health = Healthy
	}
	a.cache = a.truth
	a.spans = append(a.spans, healthSpan{w.now, a.truth.health})
}
