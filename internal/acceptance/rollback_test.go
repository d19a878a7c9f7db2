//go:build unix

package acceptance

import (
	"encoding/json"
	"testing"
)

// What the guide "How a rollout runs" says about going back: the commit of an earlier rollout is in the history, and the specs that
// the last rollout has replaced are in the record.
func TestAccGoingBackIsARolloutToAnEarlierCommit(t *testing.T) {
	f := newFixture(t)
	w, s, seen := f.rolledOut()
	f.release("2", "dev", "staging", "prod")
	w.apply()
	f.must(f.deploys("2", "dev", "staging", "prod"))
	seen.reset()

	replaced := f.block(f.guideCommands("how-a-rollout-runs.md"), "jq .previous")
	if got := f.output(replaced); got != "null\n" {
		t.Errorf("a new commit has replaced the specs %s", got)
	}
	history := f.reader(nil).reads().History
	if len(history) != 2 || len(history[1].Pins) != 1 {
		t.Fatalf("the history is %+v", history)
	}
	s.Source = obj{"repo_url": f.repo.URL(), "target_revision": history[1].Pins[0].Revision, "path": "apps/{{.name}}"}
	w.configure(s)
	w.apply()
	f.must(f.deploys("1", "dev", "staging", "prod"), seen.operations(1, f.apps("dev", "staging", "prod")...))
	w.atRest()

	var previous map[string]struct {
		Source struct{ TargetRevision string }
	}
	if err := json.Unmarshal([]byte(f.output(replaced)), &previous); err != nil {
		t.Fatal(err)
	}
	for _, app := range f.apps("dev", "staging", "prod") {
		if was := previous[app].Source.TargetRevision; was != "main" {
			t.Errorf("%s had the target revision %q before", app, was)
		}
	}
}

// output is what commands print, which must succeed.
func (f *fixture) output(commands string) string {
	f.Helper()
	out, err := f.shell(f.TempDir(), commands)
	if err != nil {
		f.Fatalf("%v: %s\nof\n%s", err, out, commands)
	}
	return out
}
