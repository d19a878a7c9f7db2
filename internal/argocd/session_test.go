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

func TestAnApplicationIsPreparedForItsDeletionWhenNothingIsLeftToWrite(t *testing.T) {
	automated := func(enabled bool) map[string]any {
		return map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{"enabled": enabled}}}
	}
	for name, c := range map[string]struct {
		cascade    Cascade
		finalizers []string
		spec       map[string]any
		want       bool
	}{
		"with the finalizer":                       {CascadeDelete, []string{resourcesFinalizer}, nil, true},
		"with the finalizer in another form":       {CascadeDelete, []string{"hooks", resourcesFinalizer + "/background"}, nil, true},
		"without the finalizer":                    {CascadeDelete, []string{"hooks"}, nil, false},
		"with the finalizer, but to be orphaned":   {CascadeOrphan, []string{resourcesFinalizer}, nil, false},
		"without any finalizer, to be orphaned":    {CascadeOrphan, nil, nil, true},
		"with automated sync":                      {CascadeDelete, []string{resourcesFinalizer}, automated(true), false},
		"with automated sync that is switched off": {CascadeDelete, []string{resourcesFinalizer}, automated(false), true},
	} {
		s := &Session{client: &Client{}, owner: Owner{Namespace: "argocd", Name: "shop"}, options: SessionOptions{Cascade: c.cascade}}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}
		obj.SetFinalizers(c.finalizers)
		if got := s.live(obj).Prepared; got != c.want {
			t.Errorf("%s: prepared %t", name, got)
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
