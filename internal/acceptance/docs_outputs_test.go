package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// What the documentation shows is the same in every run, so that its outputs tell one story, whichever run has written
// them: the repository has this URL, its commits are of this date, and the set has this name.
const (
	shownRepository = "https://git.example.com/deployments.git"
	shownSet        = "guestbook"
)

// shownCommit stands for a commit whose content has the names of the test.
const shownCommit = "f288f08"

var shownDate = time.Date(2026, time.November, 30, 9, 0, 0, 0, time.UTC)

// outputNames are all outputs that texts show, each compared by one test (see compareOutputs).
var outputNames = []string{
	"first plan", "first apply", "commit", "comment", "second apply", "progress", "drift", "failure", "log", "rest", "destroy", // guestbookStory
	"moving plan", // TestAccTakeOver
}

// TestAccDocsShowWhatTerraformPrints tells the story of the guides with examples/guestbook, and compares what
// terraform prints with what the texts show. -update-docs writes it into the texts.
func TestAccDocsShowWhatTerraformPrints(t *testing.T) {
	f := newFixture(t)
	f.compareOutputs(f.guestbookStory())
}

// TestDocsShowNoOutputThatNobodyCompares finds what looks like an output of terraform in the texts.
func TestDocsShowNoOutputThatNobodyCompares(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.fences(t) {
			switch {
			case b.output == "" && printed.MatchString(b.text):
				t.Errorf("%s:%d: an output of terraform without the comment \"output: NAME\" right before it", p.path, b.first+1)
			case b.output != "" && !slices.Contains(outputNames, b.output):
				t.Errorf("%s:%d: no test compares the output %q, only %q", p.path, b.first+1, b.output, outputNames)
			}
		}
	}
}

// writing keeps two tests from writing a text at once.
var writing sync.Mutex

// compareOutputs compares outputs, by name, with what README.md, CONTRIBUTING.md and the templates show below the
// comment "output: NAME". Each must be shown. Times and durations may differ. Where one differs, -update-docs writes all of
// them: no text has some of one run and some of another.
func (f *fixture) compareOutputs(outputs map[string]string) {
	f.Helper()
	writing.Lock()
	defer writing.Unlock()
	shown, stale := map[string]bool{}, []string{}
	all := pages(f.T)
	for _, p := range all {
		for _, b := range p.fences(f.T) {
			output, ok := outputs[b.output]
			if shown[b.output] = true; ok && general(b.text) != general(output) {
				stale = append(stale, fmt.Sprintf("%s:%d: the output %q is now (-update-docs writes it):\n%s\nand not:\n%s", p.path, b.first+1, b.output, output, b.text))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if !shown[name] {
			f.Errorf("no text shows the output %q:\n%s", name, outputs[name])
		}
	}
	for _, text := range stale {
		if !*updateDocs {
			f.Error(text)
		}
	}
	if *updateDocs && len(stale) > 0 {
		for _, p := range all {
			p.show(f.T, outputs)
		}
	}
}

// show writes these outputs into a page, where it shows them.
func (p *page) show(t *testing.T, outputs map[string]string) {
	t.Helper()
	changed := false
	for _, b := range slices.Backward(p.fences(t)) {
		if output, ok := outputs[b.output]; ok {
			p.lines = slices.Concat(p.lines[:b.first], strings.Split(output, "\n"), p.lines[b.first+1+strings.Count(b.text, "\n"):])
			changed = true
		}
	}
	if !changed {
		return
	}
	if err := os.WriteFile(filepath.Join(root, p.path), []byte(strings.Join(p.lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asShown is an output of the test as the documentation shows it. The hash of an Application's spec depends on the URL of
// the repository, and on the names, which are others in each run; so each is replaced by the one that terraform prints for the
// same Application with the documentation's URL and names. live are the Applications of the set.
func (f *fixture) asShown(output string, live ...unstructured.Unstructured) string {
	f.Helper()
	names := []string{f.repo.URL(), shownRepository, f.name, shownSet}
	pairs, hashes := slices.Clone(names), map[string]bool{}
	for _, app := range live {
		raw, err := app.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		var renamed map[string]any
		if err := json.Unmarshal([]byte(strings.NewReplacer(names...).Replace(string(raw))), &renamed); err != nil {
			f.Fatal(err)
		}
		is, shown := hashOfSpec(app.Object), hashOfSpec(renamed)
		pairs, hashes[shown] = append(pairs, is, shown), true
	}
	output = strings.NewReplacer(pairs...).Replace(output)
	for _, hash := range printedHash.FindAllString(output, -1) {
		if !hashes[hash] {
			f.Errorf("%s is the hash of no Application in:\n%s", hash, output)
		}
	}
	return output
}

var printedHash = regexp.MustCompile(`#[0-9a-f]{8}\b`)

// hashOfSpec is what terraform prints for an Application. These are all labels and annotations in the templates of the stories.
func hashOfSpec(app map[string]any) string {
	return "#" + appset.Hash(app, []string{"env"}, []string{"example.com/team"})
}

// printed matches what only terraform says.
var printed = regexp.MustCompile(`(?m)(will be (created|updated in-place|destroyed)$|^Plan: \d|^(Apply|Destroy) complete!|^No changes\.|^(│ )?(Error|Warning): |[~+-] waves +=|-> "main@)`)

var varying = []*regexp.Regexp{
	regexp.MustCompile(`after (\d+m)?\d+s`),
	regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`),
	regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:]+Z`),
	regexp.MustCompile(`attempt #\d+`),
	regexp.MustCompile(`, about \S+ left`),
	// What Argo CD has reported between the beginning and the end of a sync, and what a slow machine has waited for.
	regexp.MustCompile(`(?m)^.*\) Progressing: (?:[^s]|s[^y]|sync[^i]).*\n`),
	regexp.MustCompile(`(?m)^\S+ \S+ \[.*\](?: \(step .*\))?: waiting.*\n`),
}

// general is a text without that which is another one each time.
func general(text string) string {
	for _, pattern := range varying {
		text = pattern.ReplaceAllString(text, "")
	}
	// How terraform wraps a line depends on what was replaced.
	return words(text)
}

// guestbookStory is the set of examples/guestbook from its creation to its end, with a commit that cannot be
// rolled out in between. The names of the Applications are those of the example.
func (f *fixture) guestbookStory() map[string]string {
	f.Helper()
	f.Cleanup(func() {
		for _, name := range []string{"dev", "staging", "prod-eu", "prod-us"} {
			_ = f.client.Resource(namespaces).Delete(f.ctx(), "guestbook-"+name, metav1.DeleteOptions{})
		}
	})
	w := f.workspace()
	f.repo.Dated(shownDate)
	f.commitGuestbook("v1", "dev", "staging", "prod-eu", "prod-us")
	f.copyExample(w, "guestbook")
	writeTo(f.T, filepath.Join(w.cli.dir, "terraform.tfvars"), fmt.Sprintf("kubeconfig = %q\nrepo_url = %q\n", f.kubeconfig(), f.repo.URL()))
	w.cli.want(exitEmpty, "init")
	planned := func() string { return w.plan("-out=plan.bin").out }
	apply := func() string { return w.cli.want(exitEmpty, "apply", "plan.bin").out }

	outputs := map[string]string{}
	outputs["first plan"] = f.cut(planned(), "^      [+] waves ", "^Plan: ")
	outputs["first apply"] = f.cut(apply(), "^Apply complete!", "^Apply complete!")

	f.commitGuestbook("v2", "dev", "staging", "prod-us")
	outputs["commit"] = f.cut(planned(), "^  # .*guestbook will be", "^    }")
	outputs["comment"] = f.planComment(w)
	progress := filepath.Join(w.cli.dir, "progress.log")
	writeTo(f.T, filepath.Join(w.cli.dir, "progress_override.tf"), fmt.Sprintf("provider \"argocdprogressive\" {\n  progress = { path = %q }\n}\n", progress))
	planned()
	outputs["second apply"] = f.cut(apply(), "^Apply complete!", "^Apply complete!")
	lines, err := os.ReadFile(progress)
	if err != nil {
		f.Fatal(err)
	}
	outputs["progress"] = f.cut(string(lines), "begins", "guestbook-staging .* Healthy: ")
	w.atRest()

	f.must(f.changeGuestbook)
	outputs["drift"] = f.cut(planned(), "^  # .*guestbook will be", "^    }")
	apply()

	f.commitGuestbook("v3", "dev", "prod-eu", "prod-us")
	f.writeFile("envs/staging/guestbook.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: guestbook\n  namespace: shop\ndata:\n  version: v3\n")
	f.commit()
	planned()
	failure := w.cli.want(exitFailed, "apply", "plan.bin").out
	outputs["failure"] = f.cut(failure, "^Error: ", "goes on with that[.]$")
	outputs["log"] = f.cut(failure, "^What happened", "guestbook-staging .* Progressing: syncing$")
	f.commitGuestbook("v4", "staging")
	outputs["rest"] = f.cut(planned(), "^  # .*guestbook will be", "^    }")
	apply()
	w.atRest()

	outputs["destroy"] = f.cut(w.plan("-destroy").out, "^Warning: ", "^  step 01")
	var live []unstructured.Unstructured
	for _, name := range []string{"dev", "staging", "prod-eu", "prod-us"} {
		live = append(live, *f.getApp(f.ctx(), "guestbook-"+name))
	}
	w.destroy()
	for name, text := range outputs {
		outputs[name] = f.asShown(text, live...)
	}
	return outputs
}

// commitGuestbook commits a version of these Applications.
func (f *fixture) commitGuestbook(version string, names ...string) {
	f.Helper()
	for _, name := range names {
		f.writeFile("envs/"+name+"/guestbook.yaml", configMap("guestbook", map[string]string{"version": version}))
	}
	f.commit()
}

// changeGuestbook changes what staging has deployed, as somebody with kubectl does, and waits until Argo CD has seen it.
func (f *fixture) changeGuestbook() error {
	patch := []byte(`{"data": {"version": "changed"}}`)
	_, err := f.client.Resource(configMaps).Namespace("guestbook-staging").Patch(f.ctx(), "guestbook", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	for ctx := f.ctx(); ; {
		app := f.getApp(ctx, "guestbook-staging")
		if status, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status"); status == "OutOfSync" {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("waiting until guestbook-staging is out of sync: %w", err)
		}
	}
}

// cut takes from an output the lines from one that matches to the next that matches the other pattern.
func (f *fixture) cut(output, first, last string) string {
	f.Helper()
	var kept []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, " \n")
		if len(kept) == 0 && !regexp.MustCompile(first).MatchString(line) {
			continue
		}
		kept = append(kept, line)
		if regexp.MustCompile(last).MatchString(line) {
			return strings.Join(kept, "\n")
		}
	}
	f.Fatalf("no lines from %q to %q in:\n%s", first, last, output)
	return ""
}

// planComment is what examples/ci/plan-comment.jq makes of the plan in plan.bin.
func (f *fixture) planComment(w *workspace) string {
	f.Helper()
	var plan any
	w.show(&plan, "plan.bin")
	return comment(f.T, plan)
}

// comment is what the program prints for a plan.
func comment(t *testing.T, plan any) string {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(root, "examples/ci/plan-comment.jq"))
	if err != nil {
		t.Fatal(err)
	}
	query, err := gojq.Parse(string(program))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for results := query.Run(plan); ; {
		line, more := results.Next()
		if !more {
			return strings.TrimSpace(strings.Join(lines, "\n"))
		}
		if err, failed := line.(error); failed {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(line))
	}
}

func TestDocsPlanCommentTellsWhatAPlanDoes(t *testing.T) {
	for name, c := range map[string]struct{ plan, want string }{
		"a set whose waves are unknown": {
			`{"actions": ["create"], "before": null, "after": {"name": "x"}, "after_unknown": {"waves": true}}`,
			"### `a.b`: create\n\nThe waves are known only after apply.",
		},
		"unknown Applications and steps": {
			`{"actions": ["update"], "before": {"waves": {"1": {"a": "x", "b": "y"}, "2": {"c": "z"}}},
				"after": {"waves": {"1": {"b": "y"}}}, "after_unknown": {"waves": {"1": {"a": true}, "2": true}}}`,
			"### `a.b`: update\n\n| step | Application | now | planned |\n| --- | --- | --- | --- |\n" +
				"| 1 | a | `x` | known after apply |\n| 2 | c | `z` | known after apply |",
		},
		"a change of nothing but settings": {
			`{"actions": ["update"], "before": {"waves": {"1": {"a": "x"}}}, "after": {"waves": {"1": {"a": "x"}}}, "after_unknown": {}}`,
			"### `a.b`: update\n\nNo Application changes.",
		},
		"a set that goes": {
			`{"actions": ["delete"], "before": {"waves": {"1": {"a": "x"}}}, "after": null, "after_unknown": {}}`,
			"### `a.b`: delete\n\n| step | Application | now | planned |\n| --- | --- | --- | --- |\n| 1 | a | `x` |  |",
		},
		"a set that stays": {`{"actions": ["no-op"], "before": {"waves": {"1": {"a": "x"}}}, "after": {"waves": {"1": {"a": "x"}}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var plan any
			text := `{"resource_changes": [{"address": "x.y", "type": "other", "change": {"actions": ["create"]}},
				{"address": "a.b", "type": "argocdprogressive_applicationset", "change": ` + c.plan + `}]}`
			if err := json.Unmarshal([]byte(text), &plan); err != nil {
				t.Fatal(err)
			}
			if got := comment(t, plan); got != c.want {
				t.Errorf("it prints\n%s\nand not\n%s", got, c.want)
			}
		})
	}
}
