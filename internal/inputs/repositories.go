package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// secretKeys are the keys of such a Secret whose values nobody must see.
var secretKeys = []string{
	"password", "bearerToken", "sshPrivateKey", "tlsClientCertKey", "githubAppPrivateKey", "gcpServiceAccountKey", "azureServicePrincipalClientSecret",
}

// credentialSecret is a Secret with what Argo CD needs for one repository, or for all whose URL begins
// in the same way.
type credentialSecret struct {
	name string
	// template: for a prefix of URLs (repo-creds).
	template bool
	data     map[string]string
}

// repositorySecrets reads the Secrets with credentials, sorted by name.
func (in *Inputs) repositorySecrets(ctx context.Context) ([]credentialSecret, error) {
	return in.credentials.get(ctx, struct{}{}, func() ([]credentialSecret, error) {
		objects, err := in.list(ctx, secrets, metav1.ListOptions{LabelSelector: secretType + " in (repo-creds,repository)"})
		if err != nil {
			return nil, err
		}
		var found []credentialSecret
		for _, object := range objects {
			data, err := secretData(object)
			if err != nil {
				return nil, err
			}
			for _, key := range secretKeys {
				in.hidden.add(data[key])
			}
			found = append(found, credentialSecret{
				name: object.GetName(), template: object.GetLabels()[secretType] == "repo-creds", data: data,
			})
		}
		slices.SortFunc(found, func(a, b credentialSecret) int { return cmp.Compare(a.name, b.name) })
		return found, nil
	})
}

// access is how a repository is reached.
type access struct {
	gitsource.Repository
	// lfs: Argo CD would read the files that git LFS has elsewhere.
	lfs bool
	// from are the names of the Secrets that it comes from.
	from []string
}

// found is what Argo CD knows of a repository.
type found struct {
	// settings are those of its own Secret, merged those together with the credentials of a template.
	settings, merged map[string]string
	// template is that of the template; nil if none was used.
	template map[string]string
	// from are the names of the Secrets.
	from []string
}

// lookUp follows GetRepository (util/db/repository.go, Argo CD 3.6.1): a Secret for the repository in
// the project, else one for the repository without a project; if it has no credentials, those of the
// Secret with the longest prefix of the URL. Of several that are equal, the first by name wins; in Argo
// CD that is undefined.
func lookUp(all []credentialSecret, repoURL, project string) found {
	f := found{settings: map[string]string{}}
	if s := repositorySecret(all, repoURL, project); s != nil {
		f.settings, f.from = s.data, append(f.from, s.name)
	}
	f.merged = f.settings
	if !hasCredentials(f.merged) {
		if s := templateSecret(all, repoURL); s != nil {
			f.template, f.from = s.data, append(f.from, s.name)
			f.merged = inherit(f.merged, s.data)
		}
	}
	return f
}

// findAccess is how a git repository is reached.
func findAccess(all []credentialSecret, repoURL, project string) (access, error) {
	f := lookUp(all, repoURL, project)
	a := access{from: f.from}
	var err error
	if a.Repository, err = readAccess(f.merged); err != nil {
		return access{}, fmt.Errorf("the credentials of the repository %s in Secret %s: %w", gitsource.SafeURL(repoURL), strings.Join(a.from, ", "), err)
	}
	// These are settings of the repository, never of a template.
	insecure, err1 := boolean(f.settings, "insecure")
	ignore, err2 := boolean(f.settings, "insecureIgnoreHostKey")
	lfs, err3 := boolean(f.settings, "enableLfs")
	if err := errors.Join(err1, err2, err3); err != nil {
		return access{}, fmt.Errorf("the repository %s in Secret %s: %w", gitsource.SafeURL(repoURL), a.from[0], err)
	}
	a.Insecure, a.lfs = insecure || ignore, lfs
	a.URL = repoURL
	return a, nil
}

// repositorySecret follows getRepositorySecret (util/db/repository_secrets.go, Argo CD 3.6.1).
func repositorySecret(all []credentialSecret, repoURL, project string) *credentialSecret {
	var fallback *credentialSecret
	for i, s := range all {
		if s.template || !sameURL(s.data["url"], repoURL) {
			continue
		}
		switch s.data["project"] {
		case project:
			return &all[i]
		case "":
			if fallback == nil {
				fallback = &all[i]
			}
		}
	}
	return fallback
}

// templateSecret follows getRepositoryCredentialIndex (util/db/repository_secrets.go, Argo CD 3.6.1).
func templateSecret(all []credentialSecret, repoURL string) *credentialSecret {
	wanted, longest := normalizeURL(repoURL), 0
	var found *credentialSecret
	for i, s := range all {
		if prefix := normalizeURL(s.data["url"]); s.template && len(prefix) > longest && strings.HasPrefix(wanted, prefix) {
			found, longest = &all[i], len(prefix)
		}
	}
	return found
}

// hasCredentials follows HasCredentials (pkg/apis/application/v1alpha1/repository_types.go, Argo CD 3.6.1).
func hasCredentials(data map[string]string) bool {
	for _, key := range []string{"username", "password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "githubAppPrivateKey", "azureServicePrincipalClientSecret"} {
		if data[key] != "" {
			return true
		}
	}
	workload, err := strconv.ParseBool(data["useAzureWorkloadIdentity"])
	return err == nil && workload
}

// inherit follows CopyCredentialsFrom (pkg/apis/application/v1alpha1/repository_types.go, Argo CD 3.6.1):
// what the repository has not set comes from the template.
func inherit(repository, template map[string]string) map[string]string {
	merged := map[string]string{}
	for _, key := range []string{
		"username", "password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "tlsClientCertKey",
		"githubAppPrivateKey", "githubAppID", "githubAppInstallationID", "githubAppEnterpriseBaseUrl",
		"gcpServiceAccountKey", "azureServicePrincipalClientId", "azureServicePrincipalClientSecret", "azureServicePrincipalTenantId",
		"proxy", "noProxy",
	} {
		merged[key] = cmp.Or(repository[key], template[key])
	}
	// Templates write some keys in another way.
	for key, other := range map[string]string{
		"azureServicePrincipalClientId": "azureServicePrincipalClientID", "azureServicePrincipalTenantId": "azureServicePrincipalTenantID",
	} {
		merged[key] = cmp.Or(merged[key], template[other])
	}
	merged["useAzureWorkloadIdentity"] = template["useAzureWorkloadIdentity"]
	return merged
}

// readAccess follows GetGitCreds (pkg/apis/application/v1alpha1/repository_types.go, Argo CD 3.6.1), which
// decides what counts if several kinds of credentials are there.
func readAccess(data map[string]string) (gitsource.Repository, error) {
	r := gitsource.Repository{
		ClientCertificate: data["tlsClientCertData"], ClientKey: data["tlsClientCertKey"],
		Proxy: data["proxy"], NoProxy: data["noProxy"],
	}
	app, err1 := number(data, "githubAppID")
	installation, err2 := number(data, "githubAppInstallationID")
	workload, err3 := boolean(data, "useAzureWorkloadIdentity")
	if err := errors.Join(err1, err2, err3); err != nil {
		return r, err
	}
	unsupported := func(what string) error {
		return fmt.Errorf("%s cannot be used outside of Argo CD: add a Secret with a password, a token, an SSH key or a GitHub App for it", what)
	}
	switch {
	case data["password"] != "" || data["bearerToken"] != "":
		r.Username, r.Password, r.BearerToken = data["username"], data["password"], data["bearerToken"]
	case data["sshPrivateKey"] != "":
		r.SSHPrivateKey = data["sshPrivateKey"]
	case data["githubAppPrivateKey"] != "" && app != 0:
		r.App = gitsource.App{
			ID: app, InstallationID: installation, PrivateKey: data["githubAppPrivateKey"], BaseURL: data["githubAppEnterpriseBaseUrl"],
		}
	case data["gcpServiceAccountKey"] != "":
		return r, unsupported("a key of a Google Cloud service account (gcpServiceAccountKey)")
	case workload:
		return r, unsupported("an Azure workload identity (useAzureWorkloadIdentity)")
	case data["azureServicePrincipalClientId"] != "" && data["azureServicePrincipalClientSecret"] != "" && data["azureServicePrincipalTenantId"] != "":
		return r, unsupported("an Azure service principal")
	}
	return r, nil
}

func boolean(data map[string]string, key string) (bool, error) {
	text, ok := data[key]
	if !ok || text == "" && key == "useAzureWorkloadIdentity" {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s must be true or false", key)
	}
	return value, nil
}

func number(data map[string]string, key string) (int64, error) {
	if data[key] == "" {
		return 0, nil
	}
	value, err := strconv.ParseInt(data[key], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s must be a number", key)
	}
	return value, nil
}

var sshPattern = regexp.MustCompile(`^(ssh://)?([^/:]*?)@[^@]+$`)

// normalizeURL follows NormalizeGitURL (util/git/git.go, Argo CD 3.6.1); empty if it is no URL.
func normalizeURL(repo string) string {
	repo = strings.ToLower(strings.TrimSpace(repo))
	if sshPattern.MatchString(repo) && !strings.HasPrefix(repo, "ssh://") {
		repo = "ssh://" + strings.Replace(repo, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(repo, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.String(), "ssh://")
}

// sameURL follows SameURL (util/git/git.go, Argo CD 3.6.1).
func sameURL(a, b string) bool {
	left, right := cmp.Or(normalizeURL(a), a), cmp.Or(normalizeURL(b), b)
	return left != "" && left == right
}

// unreadable tells that credentials may not be read, which is no reason not to try without.
func unreadable(err error) bool { return errors.Is(err, argocd.ErrForbidden) }
