package provider

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func testReport() report {
	return report{namespace: "argocd", argoNamespace: "argocd", doing: "rollout", timeout: time.Hour, timeoutName: "update", next: "Run it again."}
}

func TestASuccessfulRolloutHasNoDiagnostics(t *testing.T) {
	if diags := testReport().diagnostics(rollout.Outcome{Done: []string{"a"}}); len(diags) > 0 {
		t.Error(diags)
	}
}

func TestFailuresAreToldWithStepApplicationReasonAndNextCommand(t *testing.T) {
	o := rollout.Outcome{
		Step: "step 02: env in [qa]",
		Failures: []rollout.Failure{
			{App: "qa-1", Step: "step 02: env in [qa]", Kind: rollout.KindSyncFailed, Doing: "target main@1f3a9c2", Said: "path does not exist"},
			{App: "qa-2", Step: "step 02: env in [qa]", Kind: rollout.KindDegraded, Said: "Deployment x exceeded its progress deadline"},
		},
		Open: []rollout.OpenApp{{Name: "prod-1", Step: "step 03: env in [prod]", Phase: rollout.PhaseWaiting, Reason: "its step has not begun"}},
		Log:  []rollout.Note{{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), App: "qa-1", Step: "step 02: env in [qa]", Phase: rollout.PhaseFailed, Text: "the sync failed"}},
	}
	diags := testReport().diagnostics(o)
	if len(diags) != 2 {
		t.Fatalf("want one error for each Application, got %v", diags)
	}
	if got := diags[0].Summary(); got != "Sync failed" {
		t.Errorf("the summary is %q", got)
	}
	for _, want := range []string{
		`Application argocd/qa-1 in "step 02: env in [qa]": sync failed (target main@1f3a9c2).`, "path does not exist",
		"kubectl -n argocd get applications.argoproj.io qa-1 -o yaml", "Not done (1):\n  prod-1 (step 03: env in [prod]): Waiting, its step has not begun",
		"Run it again.", "03:04:05 qa-1 (step 02: env in [qa]) Failed: the sync failed",
	} {
		if !strings.Contains(diags[0].Detail(), want) {
			t.Errorf("the first error lacks %q:\n%s", want, diags[0].Detail())
		}
	}
	if detail := diags[1].Detail(); strings.Contains(detail, "What happened") || !strings.Contains(detail, "progress deadline") {
		t.Errorf("the story is told once, each reason with its Application:\n%s", detail)
	}
}

func TestCredentialsThatExpireDuringARolloutHaveTheirOwnTitle(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"expired":      {fmt.Errorf("patching: %w", argocd.ErrUnauthorized), "Credentials refused"},
		"not allowed":  {fmt.Errorf("patching: %w", argocd.ErrForbidden), "Request refused"},
		"other errors": {errors.New("no leader"), "Request refused"},
	} {
		t.Run(name, func(t *testing.T) {
			diags := testReport().diagnostics(rollout.Outcome{Failures: []rollout.Failure{{App: "qa-1", Kind: rollout.KindRequest, Err: c.err}}})
			if len(diags) != 1 || diags[0].Summary() != c.want {
				t.Errorf("not %q: %v", c.want, diags)
			}
		})
	}
}

func TestWhatIsNotDoneIsToldWithoutCredentials(t *testing.T) {
	for name, c := range map[string]struct{ reason, want string }{
		"a reason of ours":        {"its step has not begun", "prod-1: Progressing, its step has not begun"},
		"a token in a URL":        {"ComparisonError: failed to list refs: Get https://user:canary@git.example.com/r.git: EOF", "prod-1: Progressing, ComparisonError: failed to list refs: Get https://git.example.com/r.git: EOF"},
		"one in the second line":  {"another operation is running:\nhttps://canary@git.example.com", "prod-1: Progressing, another operation is running: https://git.example.com"},
		"more than a line should": {strings.Repeat("x", 5000), "xxx..."},
	} {
		o := rollout.Outcome{Stop: rollout.StopDeadline, Open: []rollout.OpenApp{{Name: "prod-1", Phase: rollout.PhaseProgressing, Reason: c.reason}}}
		detail := testReport().diagnostics(o)[0].Detail()
		if !strings.Contains(detail, c.want) || strings.Contains(detail, "canary") || len(detail) > 2000 {
			t.Errorf("%s: %q is not in:\n%s", name, c.want, detail)
		}
	}
}

func TestAStopWithoutFailureIsAnErrorToo(t *testing.T) {
	for name, c := range map[string]struct {
		o             rollout.Outcome
		doing         string
		summary, text string
	}{
		"cancelled": {rollout.Outcome{Stop: rollout.StopCancelled, Step: "step 01: x"}, "rollout", "Rollout interrupted", `in "step 01: x"`},
		"deadline":  {rollout.Outcome{Stop: rollout.StopDeadline}, "rollout", "Rollout timed out", "timeouts.update (1h0m0s)"},
		"watch":     {rollout.Outcome{Stop: rollout.StopWatch, Err: errors.New("connection refused")}, "rollout", "Watch lost", "connection refused"},
		"open":      {rollout.Outcome{Open: []rollout.OpenApp{{Name: "a"}}}, "rollout", "Rollout unfinished", "Not done (1)"},
		"cancelled while an update deletes": {
			rollout.Outcome{Stop: rollout.StopCancelled, Step: "deletion"}, "rollout", "Rollout interrupted", `The rollout was cancelled in "deletion".`,
		},
		"a deletion that is cancelled": {
			rollout.Outcome{Stop: rollout.StopCancelled, Step: "deletion"}, "deletion", "Deletion interrupted", "The deletion was cancelled. Nothing new",
		},
		"the deadline of a deletion": {
			rollout.Outcome{Stop: rollout.StopDeadline, Step: "deletion"}, "deletion", "Deletion timed out", "The deletion did not end within timeouts.delete (1h0m0s). What",
		},
		"a deletion that loses sight": {
			rollout.Outcome{Stop: rollout.StopWatch, Step: "deletion", Err: errors.New("connection refused")}, "deletion", "Watch lost",
			"The deletion lost sight of the Applications and stopped: connection refused",
		},
		"a deletion with something open": {
			rollout.Outcome{Open: []rollout.OpenApp{{Name: "a"}}, Step: "deletion"}, "deletion", "Deletion unfinished",
			"The deletion ended before everything was done.\n\nNot done (1)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := testReport()
			if r.doing = c.doing; c.doing == "deletion" {
				r.timeoutName, r.next = "delete", afterFailedDelete
			}
			diags := r.diagnostics(c.o)
			if len(diags) != 1 || diags[0].Summary() != c.summary || !strings.Contains(diags[0].Detail(), c.text) || !strings.Contains(diags[0].Detail(), r.next) {
				t.Errorf("got %v", diags)
			}
		})
	}
}

func TestALongStoryIsCutAtItsBeginning(t *testing.T) {
	log := make([]rollout.Note, longestLog+5)
	log[len(log)-1].Text = "the end"
	text := story(rollout.Outcome{Log: log})
	if !strings.Contains(text, "(5 earlier lines left out)") || !strings.Contains(text, "the end") || strings.Count(text, "\n") != longestLog+1 {
		t.Errorf("the story has %d lines", strings.Count(text, "\n"))
	}
}

func TestALongStoryIsThatOfTheStepsThatHaveFailed(t *testing.T) {
	o := rollout.Outcome{
		Failures: []rollout.Failure{{App: "qa-1", Step: "step 02"}, {App: "no-1", Step: "step 04"}}, Step: "step 05",
		Log: []rollout.Note{{Step: "step 02", App: "qa-1", Text: "first\nof many " + strings.Repeat("x", 5000)}},
	}
	for i := range longestLog {
		o.Log = append(o.Log, rollout.Note{Step: "step 03", Text: fmt.Sprint(i)})
	}
	o.Log = append(o.Log, rollout.Note{Step: "step 04", App: "no-1", Text: "last"})
	text := story(o)
	if !strings.Contains(text, "(200 lines about other steps left out)") || !strings.Contains(text, "qa-1 (step 02): first of many") || !strings.Contains(text, "last") ||
		strings.Count(text, "\n") != 3 || len(text) > 1000 {
		t.Errorf("the story is\n%s", text)
	}
	// Nothing has failed: the step counts in which the run ended.
	o.Failures, o.Step = nil, "step 04"
	if text := story(o); !strings.Contains(text, "(201 lines") || !strings.Contains(text, "last") {
		t.Errorf("the story of a run that was stopped is\n%s", text)
	}
}

func TestRefusedRequestsSayWhatToDo(t *testing.T) {
	r := &applicationSetResource{provider: &ProviderData{}}
	apps := schema.GroupResource{Group: "argoproj.io", Resource: "applications"}
	for name, c := range map[string]struct {
		err           error
		summary, text string
	}{
		"a missing permission": {apierrors.NewForbidden(apps, "a", errors.New("no")), "Permission missing", "kubectl -n argocd auth can-i update applications.argoproj.io"},
		"a refused connection": {errors.New("dial tcp: connection refused"), "Cluster not reachable", "kubectl cluster-info"},
		"no Argo CD":           {apierrors.NewNotFound(apps, "a"), "Argo CD not found", "kubectl get crd applications.argoproj.io"},
		"a conflict":           {apierrors.NewConflict(apps, "a", errors.New("changed")), "Conflicting change", "perhaps another apply"},
		"an invalid object":    {apierrors.NewBadRequest("spec is wrong"), "Request refused", "spec is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			d := r.requestDiagnostic("Writing a", &argocd.RequestError{Verb: "update", Resource: "applications.argoproj.io", Namespace: "argocd", Name: "a", Err: c.err})
			if d.Summary() != c.summary || !strings.Contains(d.Detail(), c.text) || !strings.HasPrefix(d.Detail(), "Writing a: update") {
				t.Errorf("got %s: %s", d.Summary(), d.Detail())
			}
		})
	}
}

func TestARecordThatCannotBeReadIsToldAsSuchWhereverItIsRead(t *testing.T) {
	m := modelOf(manifestOf("main", fleet...))
	for name, read := range map[string]func(*connected) diag.Diagnostics{
		"by a plan, an apply or a destroy": func(c *connected) diag.Diagnostics { return c.load(t.Context()) },
		"by an import":                     func(c *connected) diag.Diagnostics { _, diags := c.find(t.Context()); return diags },
		"by a plan after an import": func(c *connected) diag.Diagnostics {
			_, diags := c.look(t.Context(), takeOver{UID: "u"}, m)
			return diags
		},
		"by the data source": func(c *connected) diag.Diagnostics { _, diags := c.standing(t.Context()); return diags },
	} {
		// This cluster answers with a ConfigMap that has no data.
		c, diags := resourceAmong(t, nil).connect(t.Context(), m, cluster{})
		if diags.HasError() {
			t.Fatal(diags)
		}
		diags = read(c)
		if len(diags) != 1 || diags[0].Summary() != "Record damaged" {
			t.Fatalf("%s: %v", name, diags)
		}
		for _, want := range []string{
			"Reading the record of argocd/guestbook: ", "(ConfigMap argocd/argocdprogressive-", `data.version is ""`,
		} {
			if !strings.Contains(diags[0].Detail(), want) {
				t.Errorf("%s: no %q in:\n%s", name, want, diags[0].Detail())
			}
		}
		if want := "touches no Application: kubectl -n argocd delete configmaps -l " + argocd.SetLabel + "=" + c.owner.Hash(); !strings.HasSuffix(diags[0].Detail(), want) {
			t.Errorf("%s: the last words are not %q:\n%s", name, want, diags[0].Detail())
		}
	}
	foreign := &argocd.RecordDamagedError{Set: argocd.Owner{Namespace: "argocd", Name: "guestbook"}, Of: "argocd/other", Err: errors.New("it is")}
	if detail := (&applicationSetResource{}).requestDiagnostic("Reading it", foreign).Detail(); !strings.Contains(detail, "record of argocd/other") ||
		!strings.Contains(detail, "kubectl -n argocd get configmap") || strings.Contains(detail, "delete") {
		t.Errorf("the record of another set:\n%s", detail)
	}
}

func TestVeryManyFailuresAreCutShort(t *testing.T) {
	var o rollout.Outcome
	for i := range 50 {
		o.Failures = append(o.Failures, rollout.Failure{App: fmt.Sprintf("app-%02d", i), Kind: rollout.KindSilent})
	}
	diags := testReport().diagnostics(o)
	if len(diags) != longestList+1 {
		t.Fatalf("%d errors, want %d", len(diags), longestList+1)
	}
	want := fmt.Sprintf("30 Applications have failed as well: app-20 (%s), ", rollout.KindSilent)
	if last := diags[longestList].Detail(); !strings.Contains(last, want) || !strings.Contains(last, "and 10 more") {
		t.Errorf("the last error lacks %q:\n%s", want, last)
	}
}

func TestARefusedRequestIsToldOnce(t *testing.T) {
	err := errors.New("it belongs to somebody else")
	diags := testReport().diagnostics(rollout.Outcome{Failures: []rollout.Failure{{App: "a", Kind: rollout.KindRequest, Said: err.Error(), Err: err}}})
	if n := strings.Count(diags[0].Detail(), err.Error()); n != 1 {
		t.Errorf("told %d times:\n%s", n, diags[0].Detail())
	}
}

// An admission webhook may repeat what it was sent.
func TestWhatOthersSayIsToldWithoutCredentials(t *testing.T) {
	webhook := apierrors.NewBadRequest(`source https://bob:hunter2@git.example.com/a is not allowed, nor https://hunter2@git.example.com/b`)
	bare := fmt.Errorf("somebody said: %w", webhook)
	named := &argocd.RequestError{Verb: "update", Resource: "applications.argoproj.io", Namespace: "argocd", Name: "a", Err: webhook}
	r := &applicationSetResource{provider: &ProviderData{}}
	for name, diags := range map[string]diag.Diagnostics{
		"a refused request":           testReport().diagnostics(rollout.Outcome{Failures: []rollout.Failure{{App: "a", Kind: rollout.KindRequest, Said: named.Error(), Err: named}}}),
		"the same, as it was said":    testReport().diagnostics(rollout.Outcome{Failures: []rollout.Failure{{App: "a", Kind: rollout.KindRequest, Said: bare.Error(), Err: bare}}}),
		"a message and another error": testReport().diagnostics(rollout.Outcome{Failures: []rollout.Failure{{App: "a", Kind: rollout.KindSyncFailed, Said: "no", Err: bare}}}),
		"a watch that is lost":        testReport().diagnostics(rollout.Outcome{Stop: rollout.StopWatch, Err: bare}),
		"a request of the provider":   {r.requestDiagnostic("Writing a", bare)},
	} {
		if len(diags) != 1 || strings.Contains(diags[0].Detail(), "hunter2") || !strings.Contains(diags[0].Detail(), "https://git.example.com/a") {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

func TestAProblemOfManyApplicationsIsToldOnceWithTheNextCommand(t *testing.T) {
	var problems []argocd.Problem
	for i := range 300 {
		problems = append(problems, argocd.Problem{App: fmt.Sprintf("app-%03d", i), Summary: argocd.SummaryNoProject, Detail: `there is no AppProject "shop".`})
	}
	problems = append(problems, argocd.Problem{App: "app-000", Summary: argocd.SummaryDestination, Detail: "no such cluster."})
	diags := problemDiagnostics(problems, "apps", "argocd")
	if len(diags) != 2 {
		t.Fatalf("%d errors, want 2: %v", len(diags), diags)
	}
	for i, want := range []string{
		"300 Applications in namespace apps (app-000, ", `there is no AppProject "shop".`, "and 280 more", "kubectl -n argocd get appprojects.argoproj.io", "Nothing was changed.",
	} {
		if !strings.Contains(diags[0].Detail(), want) {
			t.Errorf("%d: the error lacks %q:\n%s", i, want, diags[0].Detail())
		}
	}
	if want := "Application apps/app-000: no such cluster."; !strings.Contains(diags[1].Detail(), want) {
		t.Errorf("the error lacks %q:\n%s", want, diags[1].Detail())
	}
}

func TestVeryManyDifferentProblemsAreCutShort(t *testing.T) {
	var problems []argocd.Problem
	for i := range 50 {
		problems = append(problems, argocd.Problem{App: fmt.Sprintf("app-%02d", i), Summary: argocd.SummaryRefused, Detail: fmt.Sprintf("refused for reason %d.", i)})
	}
	diags := problemDiagnostics(problems, "argocd", "argocd")
	if len(diags) != longestList || !strings.Contains(diags[longestList-1].Detail(), "30 more") {
		t.Errorf("%d errors, the last: %s", len(diags), diags[len(diags)-1].Detail())
	}
}
