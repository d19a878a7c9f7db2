package appset

import (
	"fmt"
	"regexp"
	"strings"
)

// SummaryCredentials is the summary of issues about passwords in the URLs of repositories. Terraform's
// state and plans, the record and the Application would have them in clear; Argo CD takes them.
const SummaryCredentials = "Credentials in a URL"

// urlPassword matches what has a user and a password before its host: a URL, or user:password@host:path.
var urlPassword = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]*://)?[^/@\s:]*:[^/\s]+@`)

// urlPasswords matches such URLs in texts, up to the host.
var urlPasswords = regexp.MustCompile(`(://)[^/@\s:"]*:[^/\s"]+@`)

// refuseCredentials reports the repositories of an Application whose URLs have a password in them.
func (r *renderer) refuseCredentials(app Application) {
	spec := app.Object["spec"]
	at := templatePath.With("spec")
	check := func(source any, path Path) {
		if text, ok := fieldOf(source, "repoURL").(string); ok && hasPassword(text) {
			r.errorf(path.With("repoURL"), SummaryCredentials, "%s", passwordDetail("the source", text))
		}
	}
	check(fieldOf(spec, "source"), at.With("source"))
	sources, _ := fieldOf(spec, "sources").([]any)
	for i, source := range sources {
		check(source, at.With("sources", i))
	}
	for _, part := range []string{"drySource", "syncSource"} {
		check(fieldOf(fieldOf(spec, "sourceHydrator"), part), at.With("sourceHydrator", part))
	}
}

// hasPassword tells whether a URL has a password in it.
func hasPassword(address string) bool {
	return strings.Contains(address, "@") && urlPassword.MatchString(address)
}

func passwordDetail(what, address string) string {
	safe := redactURL(address)
	if !strings.Contains(address, "://") {
		safe = address[strings.LastIndex(address, "@")+1:]
	}
	return fmt.Sprintf("the repoURL of %s, %s, has a password in it. It would stand in the Application, in Terraform's state and in the record of the set, for all who may "+
		"read these. Take it out, and give the credentials to Argo CD: argocd repo add %s --username NAME --password PASSWORD", what, safe, safe)
}
