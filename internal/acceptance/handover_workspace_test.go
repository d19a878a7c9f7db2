package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workspace is a fixture with a working directory: the command line of terraform with what most
// tests of commands and texts ask of it.
type workspace struct {
	*fixture
	cli         *cli
	initialised bool
}

func (f *fixture) workspace() *workspace {
	f.Helper()
	return &workspace{fixture: f, cli: f.cli()}
}

// configure writes the configuration. The directory is initialised once: its providers stay the same.
func (w *workspace) configure(config fmt.Stringer) {
	w.Helper()
	if !w.initialised {
		w.cli.configure(text(""))
		w.initialised = true
	}
	if err := os.WriteFile(filepath.Join(w.cli.dir, "set.tf"), []byte(config.String()), 0o600); err != nil {
		w.Fatal(err)
	}
}

// text is a whole configuration.
type text string

func (t text) String() string { return string(t) }

// words is a text with every run of blanks and line breaks as one blank: terraform wraps lines.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// says fails unless the output contains all of these.
func (w *workspace) says(r result, texts ...string) {
	w.Helper()
	out := words(r.out)
	for _, text := range texts {
		if !strings.Contains(out, words(text)) {
			w.Errorf("the output does not contain %q:\n%s", text, r.out)
		}
	}
}

// saysNot fails if the output contains one of these.
func (w *workspace) saysNot(r result, texts ...string) {
	w.Helper()
	out := words(r.out)
	for _, text := range texts {
		if strings.Contains(out, words(text)) {
			w.Errorf("the output contains %q:\n%s", text, r.out)
		}
	}
}

// apply applies the configuration, which must succeed.
func (w *workspace) apply(options ...string) result {
	w.Helper()
	return w.cli.want(exitEmpty, append([]string{"apply", "-auto-approve"}, options...)...)
}

// failsToApply fails unless apply fails, saying these texts.
func (w *workspace) failsToApply(texts ...string) result {
	w.Helper()
	return w.fails([]string{"apply", "-auto-approve"}, texts...)
}

// failsToPlan is failsToApply for plan.
func (w *workspace) failsToPlan(texts ...string) result {
	w.Helper()
	return w.fails([]string{"plan"}, texts...)
}

func (w *workspace) fails(args []string, texts ...string) result {
	w.Helper()
	r := w.cli.want(exitFailed, args...)
	w.says(r, texts...)
	return r
}

// destroy destroys, which must succeed.
func (w *workspace) destroy(options ...string) result {
	w.Helper()
	return w.cli.want(exitEmpty, append([]string{"destroy", "-auto-approve"}, options...)...)
}

// atRest fails unless a plan finds nothing to do.
func (w *workspace) atRest() {
	w.Helper()
	w.cli.want(exitEmpty, "plan", "-detailed-exitcode")
}

// plan makes a plan that must find something to do.
func (w *workspace) plan(options ...string) result {
	w.Helper()
	return w.cli.want(exitChanges, append([]string{"plan", "-detailed-exitcode"}, options...)...)
}

// outlook is what a plan, which must find something to do, means for the set.
type outlook struct {
	before, after waves
	// actions are terraform's: "create", "delete", "update" in their order.
	actions string
	// printed is what terraform printed.
	printed result
}

// planOf makes a plan and keeps it in a file.
func (w *workspace) planOf(options ...string) outlook {
	w.Helper()
	r := w.plan(append(options, "-out=plan.bin")...)
	var p struct {
		ResourceChanges []struct {
			Address string `json:"address"`
			Change  struct {
				Actions      []string `json:"actions"`
				Before       any      `json:"before"`
				After        any      `json:"after"`
				AfterUnknown any      `json:"after_unknown"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	w.show(&p, "plan.bin")
	for _, c := range p.ResourceChanges {
		if c.Address == address {
			return outlook{
				before: wavesOf(c.Change.Before, nil), after: wavesOf(c.Change.After, c.Change.AfterUnknown),
				actions: strings.Join(c.Change.Actions, " "), printed: r,
			}
		}
	}
	w.Fatalf("%s is not in the plan:\n%s", address, r.out)
	return outlook{}
}

// changes fails unless the plan changes exactly these Applications.
func (w *workspace) changes(p outlook, names ...string) {
	w.Helper()
	if got, want := changed(p.before, p.after), slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
		w.Errorf("the plan changes %v, not %v:\nbefore: %v\nafter: %v", got, want, p.before, p.after)
	}
}

// acts fails unless terraform's actions are these.
func (w *workspace) acts(p outlook, actions string) {
	w.Helper()
	if p.actions != actions {
		w.Errorf("the plan is to %q, not to %q:\n%s", p.actions, actions, p.printed.out)
	}
}

// show decodes what "terraform show -json" prints of the state, or of a plan.
func (w *workspace) show(into any, file ...string) {
	w.Helper()
	r := w.cli.want(exitEmpty, append([]string{"show", "-json"}, file...)...)
	for line := range strings.Lines(r.out) {
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), into); err != nil {
				w.Fatalf("%v in %s", err, line)
			}
			return
		}
	}
	w.Fatalf("terraform show printed no JSON:\n%s", r.out)
}

// stored is what terraform's state has of the set; nil when it has nothing.
func (w *workspace) stored() (values map[string]any, tainted bool) {
	w.Helper()
	var s struct {
		Values struct {
			RootModule struct {
				Resources []struct {
					Address string         `json:"address"`
					Tainted bool           `json:"tainted"`
					Values  map[string]any `json:"values"`
				} `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	w.show(&s)
	for _, r := range s.Values.RootModule.Resources {
		if r.Address == address {
			return r.Values, r.Tainted
		}
	}
	return nil, false
}

// isTainted fails unless the set is in the state and tainted.
func (w *workspace) isTainted() {
	w.Helper()
	if values, tainted := w.stored(); values == nil || !tainted {
		w.Fatalf("the set is not tainted in the state: %v", values)
	}
}

// loseState removes the state, as a lost machine does.
func (w *workspace) loseState() {
	w.Helper()
	for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		if err := os.Remove(filepath.Join(w.cli.dir, name)); err != nil && !os.IsNotExist(err) {
			w.Fatal(err)
		}
	}
}

// uids are those of the live Applications, by name.
func (f *fixture) uids() map[string]string {
	f.Helper()
	found := map[string]string{}
	for _, app := range f.liveApps(f.ctx()) {
		found[app.GetName()] = string(app.GetUID())
	}
	return found
}

// sameUIDs fails unless each of these Applications lives and is the one it was before.
func (f *fixture) sameUIDs(before map[string]string) {
	f.Helper()
	now := f.uids()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			f.Errorf("Application %s had the UID %s, and has %q now", name, before[name], now[name])
		}
	}
}

// newUIDs fails unless each of these Applications lives and was created anew.
func (f *fixture) newUIDs(before map[string]string) {
	f.Helper()
	now := f.uids()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] == "" || now[name] == before[name] {
			f.Errorf("Application %s had the UID %s, and has %q now", name, before[name], now[name])
		}
	}
}

// lives fails unless exactly these Applications of the fixture live.
func (f *fixture) lives(names ...string) {
	f.Helper()
	if got, want := slices.Sorted(maps.Keys(f.uids())), slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
		f.Errorf("Applications %v live, not %v", got, want)
	}
}

// record is the head of the record of a set; nil when there is none.
func (f *fixture) recordOf(set string) *unstructured.Unstructured {
	f.Helper()
	heads, err := f.client.Resource(configMaps).Namespace(argoNamespace).List(f.ctx(), metav1.ListOptions{LabelSelector: "argocdprogressive.io/record=head"})
	if err != nil {
		f.Fatal(err)
	}
	for i := range heads.Items {
		if owner, _, _ := unstructured.NestedString(heads.Items[i].Object, "data", "owner"); owner == argoNamespace+"/"+set {
			return &heads.Items[i]
		}
	}
	return nil
}

// stateOf is the state that the record of a set says; "" when there is none.
func (f *fixture) stateOf(set string) string {
	f.Helper()
	head := f.recordOf(set)
	if head == nil {
		return ""
	}
	state, _, _ := unstructured.NestedString(head.Object, "data", "state")
	return state
}

// isState fails unless the record of the fixture's set says this.
func (f *fixture) isState(want string) {
	f.Helper()
	if got := f.stateOf(f.name); got != want {
		f.Errorf("the record of %s says %q, not %q", f.name, got, want)
	}
}
