package argocd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestWithoutAllOfOurMarksAnApplicationCountsAsWrittenInNoStep(t *testing.T) {
	s := &Session{client: &Client{}, owner: Owner{Namespace: "argocd", Name: "shop"}}
	for name, c := range map[string]struct{ label, owner, want string }{
		"all marks":               {s.owner.Hash(), "argocd/shop", "step 01"},
		"without the label":       {"", "argocd/shop", ""},
		"with another set's mark": {s.owner.Hash(), "argocd/billing", ""},
		"of another set":          {Owner{Namespace: "argocd", Name: "billing"}.Hash(), "argocd/billing", ""},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetLabels(map[string]string{SetLabel: c.label})
		obj.SetAnnotations(map[string]string{OwnerAnnotation: c.owner, StepAnnotation: "step 01"})
		if got := s.live(obj).StepLabel; got != c.want {
			t.Errorf("%s: step %q, want %q", name, got, c.want)
		}
	}
}

func TestAClusterThatDoesNotAnswerTheFirstRequestIsGivenUpSoon(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	var slept time.Duration
	client.retry = retrier{
		now:    func() time.Time { return time.Unix(0, 0).Add(slept) },
		sleep:  func(_ context.Context, d time.Duration) error { slept += d; return nil },
		jitter: func(d time.Duration) time.Duration { return d },
	}
	if _, err := client.NamespaceUID(t.Context()); err == nil {
		t.Fatal("a cluster that does not answer has a namespace")
	}
	if slept < firstPatience/3 || slept > firstPatience {
		t.Errorf("given up after %s, want up to %s", slept, firstPatience)
	}
}
