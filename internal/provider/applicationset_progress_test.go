package provider

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/client-go/rest"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// progressOf is progress = {...}.
func progressOf(values map[string]attr.Value) types.Object {
	kinds := map[string]attr.Type{"path": types.StringType, "format": types.StringType, "kubernetes_events": types.BoolType}
	all := map[string]attr.Value{"path": types.StringNull(), "format": types.StringNull(), "kubernetes_events": types.BoolNull()}
	for name, v := range values {
		all[name] = v
	}
	return types.ObjectValueMust(kinds, all)
}

func TestWhereRolloutsAreWatched(t *testing.T) {
	null := types.ObjectNull(progressOf(nil).AttributeTypes(t.Context()))
	for _, c := range []struct {
		name, path, format string
		config             types.Object
		want               progressSettings
		warns              bool
	}{
		{name: "nowhere", config: null, want: progressSettings{format: progress.Text}},
		{name: "not known yet", config: types.ObjectUnknown(null.AttributeTypes(t.Context())), want: progressSettings{format: progress.Text}},
		{name: "by the environment", path: "p", format: "json", config: null, want: progressSettings{path: "p", format: progress.JSON}},
		{name: "the configuration is stronger", path: "p", format: "json",
			config: progressOf(map[string]attr.Value{"path": types.StringValue("q"), "format": types.StringValue("text"), "kubernetes_events": types.BoolValue(true)}),
			want:   progressSettings{path: "q", format: progress.Text, events: true}},
		{name: "the environment completes it", path: "p", config: progressOf(map[string]attr.Value{"format": types.StringValue("json")}), want: progressSettings{path: "p", format: progress.JSON}},
		{name: "a path that is not known yet", config: progressOf(map[string]attr.Value{"path": types.StringUnknown()}), want: progressSettings{format: progress.Text}},
		{name: "a format that there is not", path: "p", format: "xml", config: null, want: progressSettings{path: "p", format: progress.Text}, warns: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(envProgress, c.path)
			t.Setenv(envProgressFormat, c.format)
			got, diags := readProgress(t.Context(), c.config)
			if got != c.want || diags.HasError() || (diags.WarningsCount() > 0) != c.warns {
				t.Errorf("got %+v (%v), want %+v", got, diags, c.want)
			}
		})
	}
}

// watching is a set that is watched in a file, with the lines that were written when it ended.
func watching(t *testing.T, path string, do func(*connected)) (lines []string, warnings string) {
	t.Helper()
	c := &connected{
		resource: &applicationSetResource{provider: &ProviderData{progress: progressSettings{path: path, format: progress.Text}}},
		owner:    argocd.Owner{Namespace: "argocd", Name: "shop"},
	}
	c.watch(t.Context())
	do(c)
	for _, d := range c.unwatch() {
		warnings += d.Summary() + ": " + d.Detail() + "\n"
	}
	if more := c.unwatch(); len(more) > 0 {
		t.Errorf("ended twice: %v", more)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, warnings
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n"), warnings
}

func TestAnApplyIsWatchedFromTheFirstRequestToTheLast(t *testing.T) {
	lines, warnings := watching(t, filepath.Join(t.TempDir(), "progress.log"), func(c *connected) {
		c.watched.stage("checking %s", "everything")
		c.watched.reporter.Run(rollout.Plan{Steps: []rollout.Step{{Label: "step 01: x"}}, Apps: []rollout.Desired{{Name: "a"}}}, 0, "begins")
		c.watched.reporter.Note(rollout.Note{At: time.Now(), App: "a", Step: "step 01: x", Phase: rollout.PhaseHealthy, Text: "synced", Done: 1})
		c.watched.reporter.End("has ended")
	})
	if warnings != "" || len(lines) != 4 {
		t.Fatalf("%d lines, %s", len(lines), warnings)
	}
	for i, want := range []string{"argocd/shop: checking everything", "[0/1 done]: begins", "[step 1/1, 1/1 done] a (step 01: x) Healthy: synced", "[1/1 done]: has ended"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d is %q, not %q", i, lines[i], want)
		}
	}
}

func TestWhatCannotBeWatchedIsAWarning(t *testing.T) {
	_, warnings := watching(t, t.TempDir(), func(c *connected) { c.watched.stage("checking") })
	if !strings.HasPrefix(warnings, "Progress not written: ") || !strings.Contains(warnings, "directory") || !strings.Contains(warnings, envProgress) {
		t.Errorf("it warns: %s", warnings)
	}
	lines, warnings := watching(t, "", func(c *connected) { c.watched.stage("checking") })
	if lines != nil || warnings != "" {
		t.Errorf("without a path: %v, %s", lines, warnings)
	}
	var nobody *watched
	nobody.stage("checking") // of a set that is only read
}

func TestAnEventAboutAnApplicationWaitsUntilThatExistsAndOneAboutItsEndDoesNot(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Reason         string
			InvolvedObject struct{ Name, UID string }
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		got = append(got, strings.Join([]string{event.InvolvedObject.Name, event.InvolvedObject.UID, event.Reason}, " "))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body) // the client tells
	}))
	defer server.Close()
	client, err := argocd.New(&rest.Config{Host: server.URL, QPS: -1}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	_, warnings := watching(t, "", func(c *connected) {
		c.watched.events = client.Events(t.Context(), c.owner)
		for i, n := range []rollout.Note{
			{App: "a", Phase: rollout.PhasePending},
			{App: "b", Phase: rollout.PhasePending},
			{App: "b", Phase: rollout.PhaseFailed},
			{App: "a", UID: "uid-1", Phase: rollout.PhasePending},
			{App: "a", UID: "uid-1", Phase: rollout.PhaseProgressing},
			{App: "c", UID: "uid-2", Phase: rollout.PhasePending},
			{App: "c", Phase: rollout.PhaseFailed},
			{App: "d", UID: "uid-3", Phase: rollout.PhaseDeleting},
			{App: "d", Phase: rollout.PhaseDeleted},
			{App: "e", UID: "uid-4", Phase: rollout.PhaseWaiting},
			{App: "e", Phase: rollout.PhasePending},
			{App: "e", UID: "uid-5", Phase: rollout.PhaseProgressing},
		} {
			n.At, n.Step, n.Text = time.Unix(int64(i), 0), "step 01: x", "syncing"
			c.watched.reporter.Note(n)
		}
	})
	want := []string{
		"a uid-1 RolloutPending", "a uid-1 RolloutProgressing", "c uid-2 RolloutPending", "c uid-2 RolloutFailed", "d uid-3 RolloutDeleting",
		"d uid-3 RolloutDeleted", "e uid-5 RolloutPending", "e uid-5 RolloutProgressing", "b  RolloutPending", "b  RolloutFailed",
	}
	if warnings != "" || !slices.Equal(got, want) {
		t.Errorf("the Events are %q (%s), not %q", got, warnings, want)
	}
}

func TestHowARunHasEndedStandsInOneLine(t *testing.T) {
	open := []rollout.OpenApp{{Name: "a"}, {Name: "b"}}
	for _, c := range []struct {
		name, result, text string
		o                  rollout.Outcome
	}{
		{"well", "succeeded", "succeeded", rollout.Outcome{Done: []string{"a"}}},
		{"with failures", "failed", "failed: qa (step 02): degraded: health Degraded; and 1 more; 2 Applications not done", rollout.Outcome{
			Failures: []rollout.Failure{{App: "qa", Step: "step 02", Kind: rollout.KindDegraded, Said: "health\nDegraded"}, {}}, Open: open}},
		{"by a signal", "cancelled", `cancelled: it was cancelled in "step 01"; 2 Applications not done`, rollout.Outcome{Stop: rollout.StopCancelled, Step: "step 01", Open: open}},
		{"too late", "timed_out", "timed out: its time was over", rollout.Outcome{Stop: rollout.StopDeadline}},
		{"blind", "failed", "failed: connection refused", rollout.Outcome{Stop: rollout.StopWatch, Err: errors.New("connection refused")}},
		{"without the lock", "failed", "failed: the lock was lost", rollout.Outcome{Stop: rollout.StopWatch, Err: &argocd.LeaseLostError{}}},
		{"early", "failed", "failed: not everything is done; 2 Applications not done", rollout.Outcome{Open: open}},
	} {
		if result, text := resultOf(c.o); result != c.result || text != c.text {
			t.Errorf("%s: %q, %q", c.name, result, text)
		}
	}
}
