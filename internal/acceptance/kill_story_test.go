//go:build linux

package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mostResumes is how many further runs an interrupted one may need until all is as if nothing had
// happened.
const mostResumes = 2

// story is the life of one set: it is created, updated and destroyed, each perhaps with an
// interruption, and is checked after each phase against what an undisturbed one looks like.
//
// The update has a commit that concerns some Applications, new specs for others, one more and one
// less. One step has max_update, and one Application is in no step.
type story struct {
	*workspace
	seen    *recorder
	set     *set
	release string // the commit that a changed Application is deployed at
	before  string // that of the others
	uids    map[string]string
	// asked counts the requests of the provider, when they go through a proxy: see through.
	asked   *tally
	strikes []struckAt
	// resumes is how many more runs each interrupted phase has needed.
	resumes []int
	// adopts tells that the set had to be taken over after its create.
	adopts bool
}

// struckAt is what became of a strike.
type struckAt struct {
	strike
	// missed tells that terraform had ended before.
	missed bool
	// hit tells that it came in full to a run that did not come to its end because of it.
	hit bool
	// ended is how long after the interruption terraform ended.
	ended time.Duration
	// orphaned is how long the provider lived on after terraform.
	orphaned time.Duration
}

// What the Applications of a story are.
var (
	killDev     = []string{"dev-a", "dev-b"}
	killStaging = []string{"staging-a", "staging-b", "staging-c"}
	killProd    = []string{"prod-a", "prod-b"}
	killNoStep  = "other"

	// After the update staging-c is gone and staging-d has come; these were rolled out again.
	killStagingLater = []string{"staging-a", "staging-b", "staging-d"}
	killReleased     = []string{"dev-a", "staging-a", "prod-a", "staging-d"}
	killRespecified  = []string{"staging-b", "prod-b"}
)

func (f *fixture) story(provider string) *story {
	f.Helper()
	s := &story{workspace: f.workspace(), seen: f.record(), asked: newTally()}
	s.useBinary(provider)
	s.workspace.release("1", slices.Concat(killDev, killStaging, killProd, []string{killNoStep})...)
	s.set = f.newSet(nil, "dev", "staging", "prod")
	s.set.Steps[1].MaxUpdate = 2
	s.set.Reverse = true
	s.set.AppSpec = obj{"info": list{obj{"name": "note", "value": "{{.note}}"}}}
	return s
}

// elements are those of the generator; a note changes the spec of its Application.
func (s *story) elements(note string, noted []string, suffixes ...string) []obj {
	var all []obj
	for _, suffix := range suffixes {
		env, _, _ := strings.Cut(suffix, "-")
		e := obj{"name": s.app(suffix), "env": env, "note": "first"}
		if slices.Contains(noted, suffix) {
			e["note"] = note
		}
		all = append(all, e)
	}
	return all
}

// run is one phase: strike is nil for one without an interruption.
func (s *story) run(phase int, x *strike) {
	s.Helper()
	args := []string{"apply", "-auto-approve"}
	switch phase {
	case createPhase:
		s.before = s.head()
		s.set.Elements = s.elements("", nil, slices.Concat(killDev, killStaging, killProd, []string{killNoStep})...)
		s.configure(s.set)
	case updatePhase:
		s.uids = s.workspace.uids()
		s.release = s.workspace.release("2", killReleased...)
		s.set.Elements = s.elements("second", append(killRespecified, killNoStep), slices.Concat(killDev, killStagingLater, killProd, []string{killNoStep})...)
		s.configure(s.set)
	case destroyPhase:
		args[0] = "destroy"
	}
	s.seen.reset()
	if x == nil {
		if r := s.startBinary(args...).wait(); r.code != exitEmpty {
			s.Fatalf("terraform %v: exit code %d\n%s", args, r.code, r.out)
		}
	} else {
		s.strikeAndResume(*x, args)
	}
	switch phase {
	case createPhase:
		s.isCreated()
	case updatePhase:
		s.isUpdated()
	case destroyPhase:
		s.isDestroyed()
	}
	if n, _ := s.seen.changes(); n != changesOf(phase) {
		s.Errorf("%s has made %d changes, not the %d by which strikes are timed", phaseNames[phase], n, changesOf(phase))
	}
}

// strikeAndResume interrupts a run and repeats it until it succeeds, as its user would.
func (s *story) strikeAndResume(x strike, args []string) {
	s.Helper()
	r := s.struck(x, args)
	if s.strikes[len(s.strikes)-1].missed && r.code != exitEmpty {
		s.Fatalf("terraform %v failed before %s: exit code %d\n%s", args, x, r.code, r.out)
	}
	if x.again != nil && r.code != exitEmpty {
		s.recover(x, r)
		x = *x.again
		r = s.struck(x, args)
	}
	resumes := 0
	for ; r.code != exitEmpty; resumes++ {
		if resumes == mostResumes {
			s.Fatalf("after %s, %d more runs have not come to the end; the last one:\n%s", x, mostResumes, r.out)
		}
		s.recover(x, r)
		r = s.startBinary(args...).wait()
	}
	if strings.Contains(words(r.out), "They are left alone now, as this plan has not shown their deletion; the next one does.") {
		// The state was lost, and the plan that took the set over was that of a create.
		if r = s.startBinary(args...).wait(); r.code != exitEmpty {
			s.Fatalf("after %s, what was left over is not deleted:\n%s", x, r.out)
		}
	}
	s.resumes = append(s.resumes, resumes)
}

// struck is one run with an interruption.
func (s *story) struck(x strike, args []string) result {
	s.Helper()
	at := struckAt{strike: x}
	from := s.mark()
	c := s.startBinary(args...)
	sent := 0
	if s.waitFor(x, c, from) {
		sent = x.deliver(c, x.pause)
	}
	began := time.Now()
	r := c.wait()
	at.missed, at.hit = sent == 0, sent == x.signals && r.code != exitEmpty
	s.Logf("%s: %s after the start, %d signals", x, began.Sub(from.at).Round(time.Millisecond), sent)
	ended := time.Now()
	if at.ended = ended.Sub(began); at.ended > endLimit {
		s.Errorf("terraform ended %s after %s", at.ended, x)
	}
	at.orphaned = c.gone(orphanLimit)
	s.must(s.seen.restsSince(ended.Add(lastWords)))
	s.strikes = append(s.strikes, at)
	return r
}

// recover does what the user has to do after a run that was interrupted.
func (s *story) recover(x strike, r result) {
	s.Helper()
	s.mendState()
	s.Logf("%s: exit code %d\n%s", x, r.code, tail(r.out))
	if strings.Contains(words(r.out), "Set already managed") {
		// Killed after all was done and before terraform has saved its state: nobody can know
		// whose the set is, and the error says how to take it over.
		s.says(r, "rollout.adopt_existing = true")
		s.adopts = true
		s.set.Rollout = obj{"min_healthy_time": "0s", "app_timeout": "2m", "adopt_existing": true}
		s.configure(s.set)
	}
}

// endLimit is how long an interrupted terraform may take to end; what sends signals kills soon.
const endLimit = 15 * time.Second

// lastWords is how long after the end of terraform a request that was under way may still show.
const lastWords = time.Second

// restsSince fails if an Application was begun after an instant: a provider without its terraform
// must not go on.
func (r *recorder) restsSince(instant time.Time) func() error {
	return func() error {
		last := map[string]*appState{}
		for _, s := range r.since() {
			before := last[s.Name]
			if s.Seen.After(instant) && !s.Deleted && before != nil && (s.began(before) || s.Spec != before.Spec || s.Deleting && !before.Deleting) {
				return fmt.Errorf("%s was begun %s after the end of terraform: %s", s.Name, s.Seen.Sub(instant)+lastWords, s)
			}
			last[s.Name] = s
		}
		return nil
	}
}

// mendState does what the documentation of terraform says about a state that a killed one has left.
func (s *story) mendState() {
	s.Helper()
	state := filepath.Join(s.cli.dir, "terraform.tfstate")
	if _, err := os.Stat(filepath.Join(s.cli.dir, "errored.tfstate")); err == nil {
		s.cli.want(exitEmpty, "state", "push", "errored.tfstate")
	}
	if text, err := os.ReadFile(state); err == nil && !json.Valid(text) {
		// It ended in the middle of writing it, or before it has written the first one: then there is no backup.
		if err := os.Rename(state+".backup", state); err != nil && (len(text) > 0 || !errors.Is(err, fs.ErrNotExist)) {
			s.Fatal(err)
		}
	}
}

// tail is the end of an output, for logs.
func tail(out string) string {
	const most = 2000
	if len(out) > most {
		out = "..." + out[len(out)-most:]
	}
	return strings.TrimSpace(out)
}

func (s *story) head() string {
	s.Helper()
	sha, err := s.repo.Head()
	if err != nil {
		s.Fatal(err)
	}
	return sha
}
