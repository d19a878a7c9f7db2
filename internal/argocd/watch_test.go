package argocd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestWatchHeals(t *testing.T) {
	other := liveApp("other", "u-9", "9")
	dict(other, "metadata", "annotations")[OwnerAnnotation] = "argocd/another"
	start := step{request: "LIST", body: listed("10", liveApp("b", "u-b", "6"), liveApp("a", "u-a", "5"), other)}
	const begun = "a u-a@5, b u-b@6, listed"
	for _, test := range []struct {
		name    string
		steps   []step
		told    string
		history string
	}{
		{"a watch that ends in order goes on after the last event",
			[]step{{request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "12"))}}, {request: "WATCH 12", body: []any{event("MODIFIED", liveApp("b", "u-b", "13"))}, hold: true}},
			"a u-a@12, away, b u-b@13, listed", "LIST, WATCH 10, sleep 100ms, WATCH 12"},
		{"a bookmark moves the start of the next watch",
			[]step{{request: "WATCH 10", body: []any{bookmark("90")}}, {request: "WATCH 90", body: []any{event("MODIFIED", liveApp("a", "u-a", "91"))}, hold: true}},
			"away, a u-a@91, listed", "LIST, WATCH 10, sleep 100ms, WATCH 90"},
		{"an event that is older than what is known is dropped",
			[]step{{request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "4")), event("MODIFIED", liveApp("a", "u-a", "12"))}, hold: true}},
			"a u-a@12", "LIST, WATCH 10"},
		{"Applications of another owner are not told",
			[]step{{request: "WATCH 10", body: []any{event("MODIFIED", other), event("DELETED", deleting(other)), event("MODIFIED", liveApp("a", "u-a", "12"))}, hold: true}},
			"a u-a@12", "LIST, WATCH 10"},
		{"a deletion tells the UID, and a new one of the same name is told",
			[]step{{request: "WATCH 10", body: []any{event("DELETED", deleting(liveApp("a", "u-a", "12"))), event("ADDED", liveApp("a", "u-n", "13"))}, hold: true}, {request: "GET a", body: []any{liveApp("a", "u-n", "13")}}},
			"gone a u-a, a u-n@13", "LIST, WATCH 10, GET a"},
		{"a deletion without a finalizer is made sure of",
			[]step{{request: "WATCH 10", body: []any{event("DELETED", liveApp("a", "u-a", "12"))}, hold: true}, {request: "GET a", status: 404, body: []any{status(404, metav1.StatusReasonNotFound, 0)}}},
			"gone a u-a", "LIST, WATCH 10, GET a"},
		{"an expired watch lists again and tells what has changed and what is gone",
			[]step{{request: "WATCH 10", body: []any{event("ERROR", status(410, metav1.StatusReasonExpired, 0))}},
				{request: "LIST", body: listed("50", liveApp("b", "u-b", "40"), liveApp("c", "u-c", "41"))}, {request: "GET a", status: 404, body: []any{status(404, metav1.StatusReasonNotFound, 0)}}, {request: "WATCH 50", hold: true}},
			"away, gone a u-a, b u-b@40, c u-c@41, listed", "LIST, WATCH 10, LIST, GET a"},
		{"a watch whose start has expired lists again",
			[]step{{request: "WATCH 10", status: 410, body: []any{status(410, metav1.StatusReasonExpired, 0)}},
				{request: "LIST", body: listed("50", liveApp("a", "u-n", "40"), liveApp("b", "u-b", "6"))}, {request: "GET a", body: []any{liveApp("a", "u-n", "40")}}, {request: "WATCH 50", hold: true}},
			"away, gone a u-a, a u-n@40, b u-b@6, listed", "LIST, WATCH 10, LIST, GET a"},
		{"a throttled watch waits as long as it is told",
			[]step{{request: "WATCH 10", status: 429, body: []any{status(429, metav1.StatusReasonTooManyRequests, 7)}}, {request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "12"))}, hold: true}},
			"away, a u-a@12, listed", "LIST, WATCH 10, sleep 7s, WATCH 10"},
		{"a server that is not ready is asked again, ever later",
			[]step{{request: "WATCH 10", status: 503, body: []any{status(503, metav1.StatusReasonServiceUnavailable, 0)}}, {request: "WATCH 10", status: 500, body: []any{status(500, metav1.StatusReasonInternalError, 0)}},
				{request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "12"))}, hold: true}},
			"away, a u-a@12, listed", "LIST, WATCH 10, sleep 100ms, WATCH 10, sleep 200ms, WATCH 10"},
		{"credentials that expired are renewed once",
			[]step{{request: "WATCH 10", status: 401, body: []any{status(401, metav1.StatusReasonUnauthorized, 0)}}, {request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "12"))}, hold: true}},
			"away, a u-a@12, listed", "LIST, WATCH 10, sleep 100ms, WATCH 10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, client := newScript(t, append([]step{start}, test.steps...)...)
			ctx, cancel := context.WithCancel(context.Background())
			events, err := client.Session(shop, nil, SessionOptions{Ordered: true}).Watch(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want := begun + ", " + test.told
			if got := told(t, events, strings.Count(want, ", ")+1); got != want {
				t.Errorf("told %s\nwant %s", got, want)
			}
			if got := s.history(); !strings.HasPrefix(got, test.history) {
				t.Errorf("requested %s\nwant      %s", got, test.history)
			}
			cancel()
			if got := told(t, events, 1); got != "closed" {
				t.Errorf("after the end of its context the watch told %s", got)
			}
		})
	}
}

func TestARunBeginsWithWhatItsCallerHasListed(t *testing.T) {
	list := step{request: "LIST", body: listed("10", liveApp("b", "u-b", "6"), liveApp("a", "u-a", "5"))}
	for _, test := range []struct {
		name    string
		adopt   map[string]string
		steps   []step
		told    string
		history string
	}{
		{"and does not list again", nil,
			[]step{{request: "WATCH 10", hold: true}},
			"a u-a@5, b u-b@6, listed", "LIST, WATCH 10"},
		{"and knows what has happened since before it decides anything", nil,
			[]step{{request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "12")), event("DELETED", deleting(liveApp("b", "u-b", "13")))}, hold: true}, {request: "GET b", status: 404, body: []any{status(404, metav1.StatusReasonNotFound, 0)}}},
			"a u-a@5, b u-b@6, a u-a@12, gone b u-b, listed", "LIST, WATCH 10, GET b"},
		{"and lists again when the API server has forgotten it", nil,
			[]step{{request: "WATCH 10", status: 410, body: []any{status(410, metav1.StatusReasonExpired, 0)}},
				{request: "LIST", body: listed("50", liveApp("b", "u-b", "40"))}, {request: "GET a", status: 404, body: []any{status(404, metav1.StatusReasonNotFound, 0)}}, {request: "WATCH 50", hold: true}},
			"a u-a@5, b u-b@6, gone a u-a, b u-b@40, listed", "LIST, WATCH 10, LIST, GET a"},
		{"and decides nothing before there is a watch", nil,
			[]step{{request: "WATCH 10", status: 503, body: []any{status(503, metav1.StatusReasonServiceUnavailable, 0)}},
				{request: "WATCH 10", body: []any{event("MODIFIED", liveApp("a", "u-a", "12"))}, hold: true}},
			"a u-a@5, b u-b@6, a u-a@12, listed", "LIST, WATCH 10, sleep 100ms, WATCH 10"},
		{"unless it adopts, because then it must look at the whole namespace", map[string]string{"c": "u-c"},
			[]step{{request: "LIST", body: listed("20", liveApp("a", "u-a", "5"), without(liveApp("c", "u-c", "15"), "annotations"))}, {request: "WATCH 20", hold: true}},
			"a u-a@5, c u-c@15, listed", "LIST, LIST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, client := newScript(t, append([]step{list}, test.steps...)...)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			from, err := client.Listing(ctx, shop)
			if err != nil {
				t.Fatal(err)
			}
			events, err := client.Session(shop, nil, SessionOptions{From: from, Adopt: test.adopt, Ordered: true}).Watch(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(t, events, strings.Count(test.told, ", ")+1); got != test.told {
				t.Errorf("told %s\nwant %s", got, test.told)
			}
			if got := s.history(); got != test.history && !strings.HasPrefix(got, test.history+", ") {
				t.Errorf("requested %s\nwant      %s", got, test.history)
			}
		})
	}
}

func TestADeletionThatNothingWaitsForIsBelieved(t *testing.T) {
	s, client := newScript(t,
		step{request: "LIST", body: listed("10", liveApp("a", "u-a", "5"))},
		step{request: "WATCH 10", body: []any{event("DELETED", deleting(liveApp("a", "u-a", "12")))}, hold: true})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events, err := client.Session(shop, nil, SessionOptions{}).Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := told(t, events, 3), "a u-a@5, listed, gone a u-a"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if got := s.history(); got != "LIST, WATCH 10" {
		t.Errorf("requested %s", got)
	}
}

func TestWatchGivesUp(t *testing.T) {
	start := step{request: "LIST", body: listed("10", liveApp("a", "u-a", "5"))}
	stripped := liveApp("a", "u-a", "12")
	dict(stripped, "metadata")["labels"] = map[string]any{}
	var refused []step
	for range 400 {
		refused = append(refused, step{request: "WATCH 10", status: 503, body: []any{status(503, metav1.StatusReasonServiceUnavailable, 0)}})
	}
	later := step{request: "WATCH 10", status: 429, body: []any{status(429, metav1.StatusReasonTooManyRequests, 3600)}}
	var closed []step
	for range 400 {
		closed = append(closed, step{request: "WATCH 10"})
	}
	for _, test := range []struct {
		name  string
		steps []step
		is    error
		says  string
	}{
		{"after two minutes without an answer", refused, ErrWatchLost, "no success for 2m0s"},
		{"after two minutes of watches that end at once", closed, ErrWatchLost, "the API server closed the watch"},
		{"after two minutes, though it is to come back in an hour", []step{later, later}, ErrWatchLost, "no success for 2m0s"},
		{"at once, when it may not watch", []step{{request: "WATCH 10", status: 403, body: []any{status(403, metav1.StatusReasonForbidden, 0)}}}, ErrForbidden, "watch applications.argoproj.io argocd: said the server"},
		{"when renewed credentials are refused as well", []step{{request: "WATCH 10", status: 401, body: []any{status(401, metav1.StatusReasonUnauthorized, 0)}}, {request: "WATCH 10", status: 401, body: []any{status(401, metav1.StatusReasonUnauthorized, 0)}}}, ErrUnauthorized, "said the server"},
		{"when an Application has lost our label", []step{{request: "WATCH 10", body: []any{event("DELETED", liveApp("a", "u-a", "12"))}, hold: true}, {request: "GET a", body: []any{stripped}}}, ErrWatchLost, "from Application argocd/a"},
		{"when an Application has lost our label while it was being deleted", []step{{request: "WATCH 10", body: []any{event("DELETED", deleting(liveApp("a", "u-a", "12")))}, hold: true}, {request: "GET a", body: []any{stripped}}}, ErrWatchLost, "from Application argocd/a"},
		{"when an Application has lost our label while the watch was expired", []step{{request: "WATCH 10", status: 410, body: []any{status(410, metav1.StatusReasonExpired, 0)}}, {request: "LIST", body: listed("50")}, {request: "GET a", body: []any{stripped}}}, ErrWatchLost, "from Application argocd/a"},
		{"when an Application has lost its owner", []step{{request: "WATCH 10", body: []any{event("MODIFIED", without(liveApp("a", "u-a", "12"), "annotations"))}, hold: true}}, ErrWatchLost, "from Application argocd/a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, client := newScript(t, append([]step{start}, test.steps...)...)
			session := client.Session(shop, nil, SessionOptions{Ordered: true})
			events, err := session.Watch(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := told(t, events, 100), "a u-a@5, listed, away, closed"; got != want {
				t.Errorf("told %s, want %s", got, want)
			}
			err = session.Err()
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v\nwant %q and to be %v", err, test.says, test.is)
			}
			if waited := s.clock.Sub(time.Unix(0, 0)); waited > 4*time.Minute {
				t.Errorf("it took %s to give up", waited)
			}
		})
	}
}

func TestRequestsThatFailForAWhileAreRetried(t *testing.T) {
	fail := func(code int, reason metav1.StatusReason, seconds int) step {
		return step{request: "DELETE a", status: code, body: []any{status(code, reason, seconds)}}
	}
	gone := step{request: "DELETE a", body: []any{map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}}}
	for _, test := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"throttling waits as told", []step{fail(429, metav1.StatusReasonTooManyRequests, 3), gone}, "done"},
		{"an internal error and an unavailable server", []step{fail(500, metav1.StatusReasonInternalError, 0), fail(503, metav1.StatusReasonServiceUnavailable, 0), gone}, "done"},
		{"a proxy's bad gateway", []step{{request: "DELETE a", status: 502}, gone}, "done"},
		{"one that is forbidden is not", []step{fail(403, metav1.StatusReasonForbidden, 0)}, "delete applications.argoproj.io argocd/a: said the server"},
		{"one that is gone is not", []step{fail(404, metav1.StatusReasonNotFound, 0)}, "not found"},
		{"one that was replaced is as good as gone", []step{fail(409, metav1.StatusReasonConflict, 0), {request: "GET a", body: []any{liveApp("a", "u-n", "9")}}}, "not found"},
		{"one that has changed is decided on again", []step{fail(409, metav1.StatusReasonConflict, 0), {request: "GET a", body: []any{liveApp("a", "u-a", "9")}}}, "conflict at 9"},
		{"one that went in this moment is gone", []step{fail(409, metav1.StatusReasonConflict, 0), {request: "GET a", status: 404, body: []any{status(404, metav1.StatusReasonNotFound, 0)}}}, "not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, client := newScript(t, test.steps...)
			session := client.Session(shop, nil, SessionOptions{})
			session.remember(asObject(t, liveApp("a", "u-a", "5")))
			result := session.Do(context.Background(), rollout.Action{Verb: rollout.Delete, App: "a", UID: "u-a"})
			got := "done"
			if result.NotFound {
				got = "not found"
			} else if result.Conflict {
				got = "conflict at " + result.Live.Version
			} else if result.Err != nil {
				got = result.Err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if len(s.steps) != 0 {
				t.Errorf("%d answers were not asked for", len(s.steps))
			}
		})
	}
}

func TestRequestsAreRetriedForAMinute(t *testing.T) {
	var steps []step
	for range 100 {
		steps = append(steps, step{request: "DELETE a", status: 503, body: []any{status(503, metav1.StatusReasonServiceUnavailable, 0)}})
	}
	s, client := newScript(t, steps...)
	session := client.Session(shop, nil, SessionOptions{})
	session.remember(asObject(t, liveApp("a", "u-a", "5")))
	result := session.Do(context.Background(), rollout.Action{Verb: rollout.Delete, App: "a", UID: "u-a"})
	if result.Err == nil || !strings.Contains(result.Err.Error(), "said the server") {
		t.Errorf("the error is %v, want the server's own", result.Err)
	}
	if waited := s.clock.Sub(time.Unix(0, 0)); waited > requestPatience || waited < requestPatience-longestDelay {
		t.Errorf("it gave up after %s, want about %s", waited, requestPatience)
	}
}

func TestRefreshHandshakes(t *testing.T) {
	skipped := annotated(liveApp("skipped", "u-s", "7"), skipReconcileAnnotation, "true")
	s, client := newScript(t,
		step{request: "LIST", body: listed("10", annotated(liveApp("a", "u-a", "5"), refreshAnnotation, "normal"), liveApp("b", "u-b", "6"), skipped)},
		// Somebody's refresh stands on a, so only b is asked for.
		step{request: "PATCH b", body: []any{liveApp("b", "u-b", "11")}},
		step{request: "WATCH 10", hold: true, body: []any{
			event("MODIFIED", annotated(annotated(liveApp("b", "u-b", "11"), refreshAnnotation, "normal"), refreshTimestampAnnotation, "id")),
			event("MODIFIED", liveApp("a", "u-a", "12")),
			// An Argo CD before 3.6 removes only one of the two annotations.
			event("MODIFIED", annotated(liveApp("b", "u-b", "14"), refreshTimestampAnnotation, "id")),
			event("MODIFIED", liveApp("a", "u-a", "16")),
		}},
		// The foreign one is answered. Our first request meets a conflict, the second does not.
		step{request: "PATCH a", body: []any{liveApp("a", "u-a", "13")}},
		step{request: "PATCH b", body: []any{liveApp("b", "u-b", "15")}},
	)
	client.newRefreshID = func() string { return "id" }
	got, err := client.Refresh(context.Background(), shop, nil, []string{"b", "a", "absent", "skipped", "a"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Live) != 2 || got.Live["a"].Version != "16" || got.Live["b"].Version != "14" || fmt.Sprint(got.Unanswered) != "[absent skipped]" {
		t.Errorf("answered %+v, unanswered %v", got.Live, got.Unanswered)
	}
	want := []string{
		`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal","argocd.argoproj.io/refresh-timestamp":"id"},"resourceVersion":"6"}}`,
		`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal","argocd.argoproj.io/refresh-timestamp":"id"},"resourceVersion":"12"}}`,
		`{"metadata":{"annotations":{"argocd.argoproj.io/refresh-timestamp":null},"resourceVersion":"14"}}`,
	}
	if strings.Join(s.bodies, "\n") != strings.Join(want, "\n") {
		t.Errorf("patched\n%s\nwant\n%s", strings.Join(s.bodies, "\n"), strings.Join(want, "\n"))
	}
}

func TestRefreshAsksAgainAfterAConflict(t *testing.T) {
	_, client := newScript(t,
		step{request: "LIST", body: listed("10", liveApp("a", "u-a", "5"))},
		step{request: "PATCH a", status: 409, body: []any{status(409, metav1.StatusReasonConflict, 0)}},
		step{request: "WATCH 10", hold: true, body: []any{event("MODIFIED", liveApp("a", "u-a", "12")), event("MODIFIED", liveApp("a", "u-a", "14"))}},
		step{request: "PATCH a", body: []any{liveApp("a", "u-a", "13")}},
	)
	from, err := client.Listing(context.Background(), shop) // which saves a list
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Refresh(context.Background(), shop, from, []string{"a"}, time.Minute)
	if err != nil || got.Live["a"].Version != "14" {
		t.Errorf("got %+v, %v; want the state after the second request", got, err)
	}
}

func TestRefreshThatIsForbiddenSaysSo(t *testing.T) {
	_, client := newScript(t,
		step{request: "LIST", body: listed("10", liveApp("a", "u-a", "5"))},
		step{request: "PATCH a", status: 403, body: []any{status(403, metav1.StatusReasonForbidden, 0)}},
	)
	_, err := client.Refresh(context.Background(), shop, nil, []string{"a"}, time.Minute)
	var request *RequestError
	if !errors.Is(err, ErrForbidden) || !errors.As(err, &request) || request.Verb != "patch" || request.Name != "a" {
		t.Errorf("the error is %v", err)
	}
}

func TestRefreshThatIsNotAnsweredInTimeIsNamed(t *testing.T) {
	_, client := newScript(t,
		step{request: "LIST", body: listed("10", liveApp("a", "u-a", "5"))},
		step{request: "PATCH a", body: []any{liveApp("a", "u-a", "11")}},
		step{request: "WATCH 10", hold: true},
	)
	got, err := client.Refresh(context.Background(), shop, nil, []string{"a"}, 300*time.Millisecond)
	if err != nil || len(got.Live) != 0 || fmt.Sprint(got.Unanswered) != "[a]" {
		t.Errorf("got %+v, %v", got, err)
	}
}
