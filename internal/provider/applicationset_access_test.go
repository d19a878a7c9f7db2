package provider

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestCredentialsThatFailInARolloutAreExplained(t *testing.T) {
	resource := &applicationSetResource{provider: &ProviderData{}}
	request := func(cause error) error {
		return &argocd.RequestError{Verb: "update", Resource: "applications.argoproj.io", Namespace: "apps", Name: "a", Err: cause}
	}
	expired := request(apierrors.NewUnauthorized("expired"))
	forbidden := request(apierrors.NewForbidden(schema.GroupResource{Resource: "applications"}, "a", errors.New("no")))
	const (
		exec = "kubernetes = { exec = { ... } }"
		rule = "  - apiGroups: [\"argoproj.io\"]\n    resources: [\"applications\"]\n    verbs: [\"update\"]"
	)
	for name, c := range map[string]struct {
		err        error
		want, none string
	}{
		"expired credentials":    {expired, exec, rule},
		"a missing permission":   {forbidden, rule, exec},
		"wrapped":                {fmt.Errorf("the watch is lost: %w", forbidden), rule, exec},
		"an error of other kind": {request(errors.New("broken")), "broken", rule},
	} {
		t.Run(name, func(t *testing.T) {
			r := testReport()
			r.refusal = resource.refusal
			for how, o := range map[string]rollout.Outcome{
				"the failure of an Application": {Failures: []rollout.Failure{{App: "a", Kind: rollout.KindRequest, Said: c.err.Error(), Err: c.err}}},
				"the end of the watch":          {Stop: rollout.StopWatch, Err: c.err},
			} {
				detail := r.diagnostics(o)[0].Detail()
				if !strings.Contains(detail, c.want) || strings.Contains(detail, c.none) {
					t.Errorf("%s: want %q, and not %q, in\n%s", how, c.want, c.none, detail)
				}
			}
			if detail := resource.requestDiagnostic("Looking", c.err).Detail(); !strings.Contains(detail, c.want) || strings.Contains(detail, c.none) {
				t.Errorf("the request: want %q, and not %q, in\n%s", c.want, c.none, detail)
			}
		})
	}
}
