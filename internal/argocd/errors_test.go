package argocd

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An admission webhook may repeat what it was sent.
func TestARefusalIsToldWithoutCredentials(t *testing.T) {
	const said = `admission webhook "policy" denied the request: repoURL https://bob:hunter2@git.example.com/a`
	err := &RequestError{Verb: "update", Resource: "applications.argoproj.io", Namespace: "argocd", Name: "a", Err: apierrors.NewBadRequest(said)}
	if text := fmt.Sprintf("failed: %s", err); strings.Contains(text, "hunter2") || !strings.Contains(text, "https://git.example.com/a") {
		t.Errorf("the error says %q", text)
	}
	refusal := status(http.StatusBadRequest, metav1.StatusReasonBadRequest, 0)
	refusal["message"] = said
	_, client := newScript(t, step{request: "POST", status: http.StatusBadRequest, body: []any{refusal}})
	answer, failed := client.dryRun(t.Context(), shop, liveApp("dev", "", ""), nil)
	if failed != nil || answer.refused == nil {
		t.Fatalf("answered %+v, %v", answer, failed)
	}
	if text := answer.refused.Detail; strings.Contains(text, "hunter2") || !strings.Contains(text, "https://git.example.com/a") {
		t.Errorf("the preflight says %q", text)
	}
}
