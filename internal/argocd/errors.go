package argocd

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// What errors.Is finds in the errors of this package.
var (
	// ErrUnauthorized: the API server does not accept the credentials (401).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden: the credentials may not do that (403). RequestError says what.
	ErrForbidden = errors.New("forbidden")
	// ErrConflict: the object has changed since it was read, or exists already.
	ErrConflict = errors.New("conflict")
	// ErrTooNew: a stored record has a version that this provider does not know.
	ErrTooNew = errors.New("written by a newer provider version")
	// ErrWatchLost: the watch could not be restored in time.
	ErrWatchLost = errors.New("watch lost")
)

// RequestError is a request that the API server did not carry out.
type RequestError struct {
	// Verb is the RBAC verb: get, list, watch, create, update, patch, delete.
	Verb string
	// Resource is the plural, with its group: "applications.argoproj.io", "secrets".
	Resource  string
	Namespace string
	// Name is empty for list and watch.
	Name string
	// Err is the API server's own error.
	Err error
}

func (e *RequestError) Error() string {
	name := e.Namespace
	if e.Name != "" {
		name = sentence("/", e.Namespace, e.Name)
	}
	// Who refuses it, an admission webhook say, may repeat what it was sent.
	return fmt.Sprintf("%s %s %s: %s", e.Verb, e.Resource, name, rollout.WithoutCredentials(fmt.Sprint(e.Err)))
}

// Unwrap gives the kind of the error (see the variables above) and the cause.
func (e *RequestError) Unwrap() []error {
	switch {
	case apierrors.IsUnauthorized(e.Err):
		return []error{ErrUnauthorized, e.Err}
	case apierrors.IsForbidden(e.Err):
		return []error{ErrForbidden, e.Err}
	case apierrors.IsConflict(e.Err), apierrors.IsAlreadyExists(e.Err):
		return []error{ErrConflict, e.Err}
	}
	return []error{e.Err}
}

// unprocessable tells that the API server could not apply a request (422): a JSON patch whose
// test failed, or an invalid object.
func unprocessable(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusUnprocessableEntity
}

// errMovedOn: the Application has changed since the engine decided.
var errMovedOn = fmt.Errorf("the Application has changed meanwhile: %w", ErrConflict)

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }

// lostError ends a session for good.
type lostError struct{ err error }

func (e *lostError) Error() string {
	return "the watch on the Applications cannot go on: " + e.err.Error()
}
func (e *lostError) Unwrap() []error { return []error{ErrWatchLost, e.err} }

// lost makes err the end of a session.
func lost(err error) error {
	var already *lostError
	if errors.As(err, &already) {
		return already
	}
	return &lostError{err}
}

// errNotEstablished marks the failure of a watch that never began.
var errNotEstablished = errors.New("the watch was not accepted")

// lostMarks: going on without our marks would mean to write what somebody else manages, and to
// take for deleted what is not.
func lostMarks(obj *unstructured.Unstructured) error {
	return &lostError{fmt.Errorf("somebody has removed the label %s or the annotation %s from Application %s/%s: "+
		"find out who manages it as well (kubectl get applications.argoproj.io -n %s %s -o yaml --show-managed-fields), then apply again",
		SetLabel, OwnerAnnotation, obj.GetNamespace(), obj.GetName(), obj.GetNamespace(), obj.GetName())}
}

// expired tells that a watch or a list must begin anew.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// orClosed names a watch that ended without an error.
func orClosed(err error) error {
	if err != nil {
		return err
	}
	return errors.New("the API server closed the watch")
}
