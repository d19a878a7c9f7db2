package kubeconfig

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ExplainUnauthorized returns the sentences to add to an error of the API server, where that
// error is a 401: credentials that were good at the start and expired during a long apply are
// the usual reason. It returns "" for every other error.
func ExplainUnauthorized(s Settings, err error) string {
	if !apierrors.IsUnauthorized(err) {
		return ""
	}
	const resume = " Nothing is lost: with valid credentials, run \"terraform apply\" again; it continues with " +
		"the first Application that is not done."
	if s.Exec != nil {
		return "The API server did not accept the credentials that the exec command \"" + s.Exec.Command +
			"\" printed. Run that command by hand, and see that the session it depends on (e.g. a cloud login) outlasts the apply." + resume
	}
	return "The API server did not accept the credentials. A fixed token expires during a long apply: use " +
		"kubernetes = { exec = { ... } } in the provider configuration, or a kubeconfig user with exec; such a command is run again " +
		"whenever its credentials expire." + resume
}
