//go:build linux

package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
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
	pace    [phaseCount]pace
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
	s := &story{workspace: f.workspace(), seen: f.record()}
	s.useBinary(provider)
	s.makeNamespace()
	s.workspace.release("1", slices.Concat(killDev, killStaging, killProd, []string{killNoStep})...)
	s.set = f.newSet(nil, "dev", "staging", "prod")
	s.set.Steps[1].MaxUpdate = 2
	s.set.Reverse = true
	s.set.AppSpec = obj{"info": list{obj{"name": "note", "value": "{{.note}}"}}}
	return s
}

// makeNamespace makes the destination: two Applications that create it at once may both try, and
// then one fails, which Argo CD repeats.
func (s *story) makeNamespace() {
	s.Helper()
	namespace := &unstructured.Unstructured{Object: obj{"apiVersion": "v1", "kind": "Namespace", "metadata": obj{"name": s.name}}}
	if _, err := s.client.Resource(namespaces).Create(s.ctx(), namespace, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
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
	began := time.Now()
	if x == nil {
		if r := s.startBinary(args...).wait(); r.code != exitEmpty {
			s.Fatalf("terraform %v: exit code %d\n%s", args, r.code, r.out)
		}
	} else {
		s.strikeAndResume(*x, args)
	}
	s.pace[phase] = pace{events: len(s.seen.since()), took: time.Since(began)}
	switch phase {
	case createPhase:
		s.isCreated()
	case updatePhase:
		s.isUpdated()
	case destroyPhase:
		s.isDestroyed()
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
	s.resumes = append(s.resumes, resumes)
}

// struck is one run with an interruption.
func (s *story) struck(x strike, args []string) result {
	s.Helper()
	at := struckAt{strike: x}
	from := s.seen.count()
	c := s.startBinary(args...)
	if at.missed = !s.waitFor(x, c, from); !at.missed {
		x.deliver(c, x.pause)
	}
	began := time.Now()
	r := c.wait()
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

// waitFor waits for the instant of the strike; it is false when terraform ends before. from is how
// many events there were before this run.
func (s *story) waitFor(x strike, c *groupCommand, from int) bool {
	if x.request != nil {
		select {
		case <-x.request:
		case <-c.over:
			return false
		}
	}
	for s.seen.count()-from < x.event {
		select {
		case <-s.seen.more():
		case <-c.over:
			return false
		}
	}
	select {
	case <-time.After(x.after):
		return true
	case <-c.over:
		return false
	}
}

// mendState does what the documentation of terraform says about a state that a killed one has left.
func (s *story) mendState() {
	s.Helper()
	state := filepath.Join(s.cli.dir, "terraform.tfstate")
	if _, err := os.Stat(filepath.Join(s.cli.dir, "errored.tfstate")); err == nil {
		s.cli.want(exitEmpty, "state", "push", "errored.tfstate")
	}
	if text, err := os.ReadFile(state); err == nil && len(text) > 0 && !json.Valid(text) {
		// Killed in the middle of writing it.
		if err := os.Rename(state+".backup", state); err != nil {
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

// isCreated checks all that a create must have reached, with or without interruptions.
func (s *story) isCreated() {
	s.Helper()
	stepped := slices.Concat(killDev, killStaging, killProd)
	s.check("create",
		s.are(append(stepped, killNoStep)...), s.marked(), s.nothingDeleted(),
		s.seen.inOrder(s.apps(killDev...), s.apps(killStaging...), s.apps(killProd...)),
		s.seen.operations(1, s.apps(stepped...)...), s.seen.operations(0, s.app(killNoStep)),
		s.neverMoreThan(2, killStaging...),
		s.seen.at(s.before, s.apps(stepped...)...), s.deploys("1", stepped...), s.deploys("", killNoStep),
		s.deployedOnce(1, stepped...), s.seen.historyInOrder(s.apps(killDev...), s.apps(killStaging...), s.apps(killProd...)),
	)
	s.rests()
}

// isUpdated is isCreated for an update.
func (s *story) isUpdated() {
	s.Helper()
	changed := slices.Concat(killReleased, killRespecified)
	older := slices.DeleteFunc(slices.Clone(changed), func(n string) bool { return n == "staging-d" })
	s.check("update",
		s.are(slices.Concat(killDev, killStagingLater, killProd, []string{killNoStep})...), s.marked(), s.nothingDeleted("staging-c"),
		s.seen.inOrder(s.apps("dev-a"), s.apps(killStagingLater...), s.apps(killProd...)),
		s.seen.operations(1, s.apps(changed...)...), s.seen.operations(0, s.apps("dev-b", killNoStep, "staging-c")...),
		s.seen.untouched(s.app("dev-b")), s.neverMoreThan(2, killStagingLater...),
		s.seen.at(s.release, s.apps(changed...)...), s.seen.at(s.before, s.app("dev-b")),
		s.deploys("2", killReleased...), s.deploys("1", "dev-b"), s.deploys("1", killRespecified...), s.deploys("", killNoStep, "staging-c"),
		s.deployedOnce(2, older...), s.deployedOnce(1, "staging-d", "dev-b"),
		s.removedLast("staging-c"),
	)
	s.sameUIDs(without(s.uids, s.app("staging-c")))
	s.rests()
}

// isDestroyed checks that nothing is left, and that it went in reverse order.
func (s *story) isDestroyed() {
	s.Helper()
	staging := killStagingLater
	if s.release == "" {
		staging = killStaging // there was no update
	}
	s.check("destroy",
		s.are(), s.seen.deletedInOrder(s.apps(killNoStep), s.apps(killProd...), s.apps(staging...), s.apps(killDev...)),
		s.deploys("", slices.Concat(killDev, killStaging, killProd, killStagingLater, []string{killNoStep})...),
		s.nothingStored(),
	)
	if values, _ := s.stored(); values != nil {
		s.Errorf("destroy: terraform's state still has %v", values)
	}
}

// check reports everything that is wrong after a phase, and ends the story if something is.
func (s *story) check(phase string, checks ...func() error) {
	s.Helper()
	for _, c := range checks {
		if err := c(); err != nil {
			s.Errorf("%s: %v", phase, err)
		}
	}
	if s.Failed() {
		s.FailNow()
	}
}

// rests fails unless the set is stored as complete and a plan finds nothing to do.
func (s *story) rests() {
	s.Helper()
	s.isState(string(argocd.StateComplete))
	if _, tainted := s.stored(); tainted {
		s.Error("the set is tainted")
	}
	s.atRest()
}

// are fails unless exactly these Applications live.
func (s *story) are(suffixes ...string) func() error {
	return func() error {
		var live []string
		for _, app := range s.liveApps(s.ctx()) {
			live = append(live, app.GetName())
		}
		slices.Sort(live)
		if want := s.apps(suffixes...); !slices.Equal(live, sorted(want)) {
			return fmt.Errorf("the Applications %v live, not %v", live, sorted(want))
		}
		return nil
	}
}

// marked fails unless each live Application carries the owner and its step.
func (s *story) marked() func() error {
	return func() error {
		owner := argocd.Owner{Namespace: argoNamespace, Name: s.name}
		steps := map[string]string{"dev": stepOf("01", "dev"), "staging": stepOf("02", "staging"), "prod": stepOf("03", "prod"), "other": "no step"}
		var errs []error
		for _, app := range s.liveApps(s.ctx()) {
			step, marks := steps[app.GetLabels()["env"]], app.GetAnnotations()
			if app.GetLabels()[argocd.SetLabel] != owner.Hash() || marks[argocd.OwnerAnnotation] != owner.String() || marks[argocd.StepAnnotation] != step || step == "" {
				errs = append(errs, fmt.Errorf("%s has not the marks of %s and %q: %v %v", app.GetName(), owner, step, app.GetLabels(), marks))
			}
		}
		return errors.Join(errs...)
	}
}

// nothingDeleted fails if an Application was deleted, or its deletion asked for, since the last
// reset; those that had to go aside.
func (s *story) nothingDeleted(except ...string) func() error {
	return func() error {
		for _, state := range s.seen.since() {
			if (state.Deleting || state.Deleted) && !slices.Contains(s.apps(except...), state.Name) {
				return fmt.Errorf("%s was deleted", state.Name)
			}
		}
		return nil
	}
}

// deployedOnce fails unless Argo CD's histories have exactly that many deployments, all of them
// ours, and no two of the same target and revision.
func (s *story) deployedOnce(want int, suffixes ...string) func() error {
	return each(s.apps(suffixes...), func(name string) error {
		state := s.seen.get(name)
		if state == nil {
			return fmt.Errorf("%s is not there", name)
		}
		targets := map[string]bool{}
		for _, d := range state.History {
			if !strings.HasPrefix(d.InitiatedBy, "argocdprogressive/") {
				return fmt.Errorf("a deployment of %s was initiated by %q", name, d.InitiatedBy)
			}
			targets[d.InitiatedBy+"@"+d.Revision] = true
		}
		if len(state.History) != want || len(targets) != want {
			return fmt.Errorf("%s was deployed %d times, to %d targets, not %d: %v", name, len(state.History), len(targets), want, state.History)
		}
		return nil
	})
}

// neverMoreThan fails if more of the Applications were in flight at once.
func (s *story) neverMoreThan(limit int, suffixes ...string) func() error {
	return func() error {
		if got := s.seen.inFlight(s.apps(suffixes...)...); got > limit {
			return fmt.Errorf("%d of %v were in flight at once, more than %d", got, suffixes, limit)
		}
		return nil
	}
}

// removedLast fails unless the Application was deleted after all else was done.
func (s *story) removedLast(suffix string) func() error {
	return func() error {
		all, _ := s.seen.follow()
		gone := all[s.app(suffix)]
		if gone == nil || gone.deleted < 0 {
			return fmt.Errorf("%s was not deleted", s.app(suffix))
		}
		for name, h := range all {
			if name != s.app(suffix) && name != s.app(killNoStep) && h.touched >= 0 && h.done > gone.begun() {
				return fmt.Errorf("%s was deleted before %s was done", s.app(suffix), name)
			}
		}
		return nil
	}
}

// nothingStored fails if anything is left of the set beside its Applications.
func (s *story) nothingStored() func() error {
	return func() error {
		owner := argocd.Owner{Namespace: argoNamespace, Name: s.name}
		var errs []error
		for _, kind := range []schema.GroupVersionResource{configMaps, leases} {
			list, err := s.client.Resource(kind).Namespace(argoNamespace).List(s.ctx(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, o := range list.Items {
				if text, _ := o.MarshalJSON(); strings.Contains(string(text), owner.Hash()) || strings.Contains(string(text), owner.String()) {
					errs = append(errs, fmt.Errorf("%s %s is left", kind.Resource, o.GetName()))
				}
			}
		}
		return errors.Join(errs...)
	}
}

// count is how many states were seen since the last reset.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.states) - r.from
}

// more is closed at the next state.
func (r *recorder) more() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.news
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// without is m without one key.
func without(m map[string]string, key string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}
