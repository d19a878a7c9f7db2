package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var kubernetesEvents = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// progressLine is a line of progress = { format = "json" }.
type progressLine struct {
	Set, Event, Application, Step, Status, Text string
	StepNumber                                  int `json:"step_number"`
	Steps, Done, Total                          int
	ETASeconds                                  *int `json:"eta_seconds"`
}

// progressOf reads a progress file of the working directory, and deletes it.
func (w *workspace) progressOf(name string) []progressLine {
	w.Helper()
	path := filepath.Join(w.cli.dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	var lines []progressLine
	for _, text := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		var l progressLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			w.Fatalf("%v in %s", err, text)
		}
		if l.Set != argoNamespace+"/"+w.name || l.Text == "" {
			w.Errorf("a line says %s", text)
		}
		lines = append(lines, l)
	}
	if err := os.Remove(path); err != nil {
		w.Fatal(err)
	}
	return lines
}

// mayWriteEvents adds the rule of examples/rbac/events.yaml to a Role.
func mayWriteEvents(role *unstructured.Unstructured) {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	for _, o := range readRBAC("events.yaml", "argocdprogressive-events") {
		granted, _, _ := unstructured.NestedSlice(o.Object, "rules")
		rules = append(rules, granted...)
	}
	role.Object["rules"] = rules
}

// reasons are those of the Events about an Application, sorted by name, with "!" in front of those that are warnings.
func (f *fixture) reasons(app string) []string {
	f.Helper()
	list, err := f.client.Resource(kubernetesEvents).Namespace(argoNamespace).List(f.ctx(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + app})
	if err != nil {
		f.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range list.Items {
		component, _, _ := unstructured.NestedString(e.Object, "source", "component")
		uid, _, _ := unstructured.NestedString(e.Object, "involvedObject", "uid")
		reason, _, _ := unstructured.NestedString(e.Object, "reason")
		if kind, _, _ := unstructured.NestedString(e.Object, "type"); kind == "Warning" {
			reason = "!" + reason
		}
		if component == "terraform-provider-argocdprogressive" {
			found[reason] = true
			if uid == "" {
				f.Errorf("kubectl describe does not show the Event %s: it has no UID", e.GetName())
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "!"), strings.TrimPrefix(b, "!"))
	})
}

// status is data.argocdprogressive_rollout as an output shows it.
type status struct {
	State        string
	RunningBy    string `json:"running_by"`
	Applications map[string]struct{ Step, Status, Sync, Health, Revision, Message string }
	History      []struct {
		Outcome, Actor, Reason, Ended string
		DurationSeconds               *int `json:"duration_seconds"`
		Pins                          []struct{ Revision string }
		Steps                         []struct {
			Step, Outcome      string
			DurationSeconds    *int `json:"duration_seconds"`
			Done, Applications int
		}
	}
	Summary string
	YAML    string `json:"applicationset_yaml"`
}

// reads reads the rollout of the set in a working directory of its own.
func (w *workspace) reads() status {
	w.Helper()
	w.apply()
	var s status
	if err := json.Unmarshal([]byte(w.cli.want(exitEmpty, "output", "-json", "rollout").out), &s); err != nil {
		w.Fatal(err)
	}
	return s
}

// reader is a working directory in which the rollout of the set is read; provider are attributes of the provider.
func (f *fixture) reader(provider obj) *workspace {
	f.Helper()
	w := f.workspace()
	w.configure(text(f.provider(provider) + fmt.Sprintf("data \"argocdprogressive_rollout\" \"test\" {\n  name = %q\n}\noutput \"rollout\" {\n  value = data.argocdprogressive_rollout.test\n}\n", f.name)))
	return w
}

// TestAccARolloutIsWatchedAndReadWhileItRuns: one rollout that waits for a person, read by another process
// meanwhile, one that fails, where nothing can be written and where it can, and the end of all.
func TestAccARolloutIsWatchedAndReadWhileItRuns(t *testing.T) {
	f := newFixture(t)
	w, other, r := f.workspace(), f.reader(nil), f.record()
	dev, prod := f.app("dev"), f.app("prod")
	s := f.newSet([]string{"dev", "prod"}, "dev", "prod")
	s.Steps[1].MaxUpdate = 0
	mayWrite := f.as(f.accountOf("apply.yaml", applyAccount, "events", mayWriteEvents))
	mayWrite["progress"] = obj{"path": filepath.Join(w.cli.dir, "progress.log"), "format": "json", "kubernetes_events": true}
	s.Provider = mayWrite
	pin := f.release("1", "dev", "prod")
	w.configure(s)

	if before := other.reads(); before.State != "absent" || len(before.Applications) != 0 || len(before.History) != 0 || before.YAML != "" {
		t.Errorf("before there is anything, it reads %+v", before)
	}
	apply := w.cli.start("apply", "-auto-approve")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := r.await(ctx, prod, "is there", func(s *appState) bool { return s != nil }); err != nil {
		t.Error(err)
	}
	during := other.reads()
	if err := f.syncAndWait(ctx, r, prod, pin); err != nil {
		t.Error(err)
	}
	if result := apply.wait(); result.code != 0 {
		t.Fatalf("apply: exit code %d\n%s", result.code, result.out)
	} else {
		w.saysNot(result, "not written")
	}
	checkDuring(t, during, dev, prod)
	checkLines(t, w.progressOf("progress.log"), dev, prod)
	for app, want := range map[string]string{dev: "RolloutHealthy RolloutPending RolloutProgressing", prod: "RolloutHealthy RolloutPending RolloutProgressing"} {
		if got := strings.Join(f.reasons(app), " "); got != want {
			t.Errorf("the Events about %s are %q, not %q", app, got, want)
		}
	}
	after := other.reads()
	if h := after.History; after.State != "complete" || after.Applications[dev].Revision != pin || after.Applications[prod].Status != "Healthy" || len(h) != 1 ||
		h[0].Outcome != "succeeded" || h[0].DurationSeconds == nil || len(h[0].Steps) != 2 || h[0].Steps[1].DurationSeconds == nil || h[0].Steps[1].Done != 1 {
		t.Errorf("after it, it reads %+v", after)
	}

	// Without the right to write Events, and where no progress can be written, the apply fails for its own reason alone.
	s.Rollout = quick()
	s.Provider = f.as(f.account())
	s.Provider["progress"] = obj{"path": f.TempDir(), "kubernetes_events": true}
	w.configure(s)
	f.removeFolders("dev")
	f.release("2", "prod")
	w.failsToApply("Progress not written", "is a directory", "Events not written", `resources: ["events"]`, dev+": app path does not exist",
		"What happened (UTC)", dev+" (step 01: env in [dev]) Failed")
	failed := other.reads()
	if h := failed.History; failed.State != "incomplete" || failed.Applications[dev].Status != "Failed" || len(h) != 2 || h[0].Outcome != "failed" ||
		!strings.Contains(h[0].Reason, "app path does not exist") || h[0].Steps[0].Outcome != "failed" || h[0].Steps[0].Done != 0 || h[0].Actor == "" || len(h[0].Pins) != 1 {
		t.Errorf("after a failure, it reads %+v", failed)
	}
	for _, want := range []string{"```mermaid\ngantt\n", "0 of 1 failed :crit, ", "| " + dev + " | "} {
		if !strings.Contains(failed.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, failed.Summary)
		}
	}
	set := parse(failed.YAML)
	if kind, name := set.GetKind(), set.GetNamespace()+"/"+set.GetName(); kind != "ApplicationSet" || name != argoNamespace+"/"+f.name || set.Object["spec"] == nil {
		t.Errorf("the ApplicationSet is %s", failed.YAML)
	}

	// With it, the failure and the deletion are Events as well.
	s.Provider = mayWrite
	w.configure(s)
	w.saysNot(w.failsToApply(dev+": app path does not exist"), "not written")
	w.saysNot(w.destroy(), "not written")
	for app, want := range map[string]string{
		dev:  "RolloutDeleted RolloutDeleting !RolloutFailed RolloutHealthy RolloutPending RolloutProgressing",
		prod: "RolloutDeleted RolloutDeleting RolloutHealthy RolloutPending RolloutProgressing",
	} {
		if got := strings.Join(f.reasons(app), " "); got != want {
			t.Errorf("in the end, the Events about %s are %q, not %q", app, got, want)
		}
	}
}

// checkDuring looks at what is read while the rollout waits for a person.
func checkDuring(t *testing.T, during status, dev, prod string) {
	t.Helper()
	if h := during.History; during.State != "running" || !strings.Contains(during.RunningBy, ", process ") || len(h) != 1 || h[0].Outcome != "running" || h[0].Ended != "" {
		t.Errorf("while it runs, it reads %+v", during)
	}
	if a := during.Applications[dev]; a.Status != "Healthy" || a.Step != "step 01: env in [dev]" || a.Sync != "Synced" || a.Health != "Healthy" || len(a.Revision) != 40 {
		t.Errorf("the first Application is read as %+v", a)
	}
	if a := during.Applications[prod]; a.Status != "Pending" || a.Step != "step 02: env in [prod]" || !strings.Contains(a.Message, "manual step") {
		t.Errorf("the one that waits for a person is read as %+v", a)
	}
}

// checkLines looks at the lines of a rollout of two steps.
func checkLines(t *testing.T, lines []progressLine, dev, prod string) {
	t.Helper()
	var story []string
	for _, l := range lines {
		switch {
		case l.Event == "application" && (l.Status == "Healthy" || len(story) == 0 || !strings.HasPrefix(story[len(story)-1], l.Application+" ")):
			story = append(story, l.Application+" "+l.Status)
		case l.Event == "step_begins" || l.Event == "step_ends":
			story = append(story, fmt.Sprintf("%s %d/%d", l.Event, l.StepNumber, l.Steps))
		}
	}
	want := []string{"step_begins 1/2", dev + " Pending", dev + " Healthy", "step_ends 1/2", "step_begins 2/2", prod + " Pending", prod + " Healthy", "step_ends 2/2"}
	if !slices.Equal(story, want) {
		t.Errorf("the lines tell %q, not %q", story, want)
	}
	first, last := lines[0], lines[len(lines)-1]
	if first.Event != "waiting" || last.Event != "run" || !strings.Contains(last.Text, "succeeded") || last.Done != 2 || last.Total != 2 {
		t.Errorf("the first line is %+v, the last one %+v", first, last)
	}
}
