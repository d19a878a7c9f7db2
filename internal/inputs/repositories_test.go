package inputs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

// normalized are what Argo CD 3.6.1 makes of URLs.
func TestURLsAreComparedAsInArgoCD(t *testing.T) {
	for raw, want := range map[string]string{
		"https://github.com/Org/Repo.git":      "https://github.com/org/repo",
		" https://github.com/org/repo ":        "https://github.com/org/repo",
		"git@github.com:Org/Repo.git":          "git@github.com/org/repo",
		"ssh://git@github.com/org/repo":        "git@github.com/org/repo",
		"ssh://git@github.com:22/org/repo.git": "git@github.com:22/org/repo",
		"https://user@host/repo":               "https://user@host/repo",
		"https://host/%zz":                     "",
		"https://host/repo/":                   "https://host/repo/",
		"file:///srv/Repo":                     "file:///srv/repo",
	} {
		if got := normalizeURL(raw); got != want {
			t.Errorf("normalizeURL(%q) = %q, want %q", raw, got, want)
		}
	}
	if sameURL("", "") || !sameURL("https://host/%zz", "https://host/%zz") || !sameURL("git@h:o/r.git", "ssh://git@h/O/r") {
		t.Error("sameURL does not compare as Argo CD does")
	}
}

func repositorySecretOf(name, url string, data ...string) credentialSecret {
	s := credentialSecret{name: name, data: map[string]string{"url": url}}
	for i := 0; i < len(data); i += 2 {
		s.data[data[i]] = data[i+1]
	}
	return s
}

func templateOf(name, url string, data ...string) credentialSecret {
	s := repositorySecretOf(name, url, data...)
	s.template = true
	return s
}

func TestCredentialsAreFoundAsInArgoCD(t *testing.T) {
	const url = "https://git.example.com/org/repo.git"
	app := []string{"githubAppID", "1", "githubAppInstallationID", "2", "githubAppPrivateKey", "key", "githubAppEnterpriseBaseUrl", "https://api"}
	for name, c := range map[string]struct {
		secrets []credentialSecret
		project string
		want    gitsource.Repository
		from    string
	}{
		"none": {nil, "", gitsource.Repository{}, ""},
		"the repository's own, however its URL is written": {
			[]credentialSecret{repositorySecretOf("a", "https://GIT.example.com/Org/Repo", "username", "me", "password", "p")}, "",
			gitsource.Repository{Username: "me", Password: "p"}, "a"},
		"of another repository": {[]credentialSecret{repositorySecretOf("a", "https://git.example.com/org/repo2", "password", "p")}, "", gitsource.Repository{}, ""},
		"the first by name":     {[]credentialSecret{repositorySecretOf("a", url, "password", "p"), repositorySecretOf("b", url, "password", "q")}, "", gitsource.Repository{Password: "p"}, "a"},
		"those of the project go first": {
			[]credentialSecret{repositorySecretOf("a", url, "password", "p"), repositorySecretOf("b", url, "password", "q", "project", "team")}, "team",
			gitsource.Repository{Password: "q"}, "b"},
		"those without a project otherwise": {
			[]credentialSecret{repositorySecretOf("a", url, "password", "q", "project", "team"), repositorySecretOf("b", url, "password", "p")}, "other",
			gitsource.Repository{Password: "p"}, "b"},
		"those of another project never": {[]credentialSecret{repositorySecretOf("a", url, "password", "q", "project", "team")}, "other", gitsource.Repository{}, ""},
		"nor for a templated project":    {[]credentialSecret{repositorySecretOf("a", url, "password", "q", "project", "team")}, "", gitsource.Repository{}, ""},
		"the longest prefix": {
			[]credentialSecret{templateOf("a", "https://git.example.com", "password", "p"), templateOf("b", "https://git.example.com/ORG", "password", "q"), templateOf("c", "https://git.example.com/other", "password", "r")}, "",
			gitsource.Repository{Password: "q"}, "b"},
		"a template fills what is missing": {
			[]credentialSecret{repositorySecretOf("a", url, "proxy", "http://p", "insecure", "true"), templateOf("b", "https://git.example.com", "password", "q", "proxy", "http://q", "noProxy", "x")}, "",
			gitsource.Repository{Password: "q", Proxy: "http://p", NoProxy: "x", Insecure: true}, "a, b"},
		"but not if there are credentials": {
			[]credentialSecret{repositorySecretOf("a", url, "username", "me"), templateOf("b", "https://git.example.com", "password", "q")}, "",
			gitsource.Repository{}, "a"},
		"a template does not make insecure": {[]credentialSecret{templateOf("b", "https://git.example.com", "password", "q", "insecure", "true")}, "", gitsource.Repository{Password: "q"}, "b"},
		"host keys ignored":                 {[]credentialSecret{repositorySecretOf("a", url, "sshPrivateKey", "k", "insecureIgnoreHostKey", "true")}, "", gitsource.Repository{SSHPrivateKey: "k", Insecure: true}, "a"},
		"a token":                           {[]credentialSecret{repositorySecretOf("a", url, "bearerToken", "t")}, "", gitsource.Repository{BearerToken: "t"}, "a"},
		"a password goes before a key":      {[]credentialSecret{repositorySecretOf("a", url, "sshPrivateKey", "k", "password", "p")}, "", gitsource.Repository{Password: "p"}, "a"},
		"a client certificate": {[]credentialSecret{repositorySecretOf("a", url, "tlsClientCertData", "c", "tlsClientCertKey", "k")}, "",
			gitsource.Repository{ClientCertificate: "c", ClientKey: "k"}, "a"},
		"a GitHub App": {[]credentialSecret{repositorySecretOf("a", url, app...)}, "",
			gitsource.Repository{App: gitsource.App{ID: 1, InstallationID: 2, PrivateKey: "key", BaseURL: "https://api"}}, "a"},
		"a GitHub App of a template": {[]credentialSecret{templateOf("a", "https://git.example.com/org", app...)}, "",
			gitsource.Repository{App: gitsource.App{ID: 1, InstallationID: 2, PrivateKey: "key", BaseURL: "https://api"}}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := findAccess(c.secrets, url, c.project)
			c.want.URL = url
			if err != nil || got.Repository != c.want || strings.Join(got.from, ", ") != c.from {
				t.Errorf("findAccess() = %+v from %v, %v; want %+v from %v", got.Repository, got.from, err, c.want, c.from)
			}
		})
	}
}

func TestSecretsThatCannotBeUsed(t *testing.T) {
	const url = "https://git.example.com/org/repo"
	for said, s := range map[string]credentialSecret{
		"insecure must be true or false":              repositorySecretOf("mine", url, "insecure", "canary"),
		"insecureIgnoreHostKey must be true or false": repositorySecretOf("mine", url, "insecureIgnoreHostKey", "canary"),
		"enableLfs must be true or false":             repositorySecretOf("mine", url, "enableLfs", "canary"),
		"githubAppID must be a number":                repositorySecretOf("mine", url, "githubAppID", "canary"),
		"githubAppInstallationID must be a number":    repositorySecretOf("mine", url, "githubAppInstallationID", "canary"),
		"useAzureWorkloadIdentity must be":            repositorySecretOf("mine", url, "useAzureWorkloadIdentity", "canary"),
		"Google Cloud service account":                repositorySecretOf("mine", url, "gcpServiceAccountKey", "canary"),
		"Azure workload identity":                     templateOf("mine", url, "useAzureWorkloadIdentity", "true"),
		"Azure service principal":                     templateOf("mine", url, "azureServicePrincipalClientID", "canary", "azureServicePrincipalClientSecret", "canary", "azureServicePrincipalTenantID", "canary"),
	} {
		_, err := findAccess([]credentialSecret{s}, url, "")
		says(t, err, said, "Secret mine", url)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the value: %v", err)
		}
	}
}

func FuzzRepositorySecret(f *testing.F) {
	f.Add("https://git.example.com/org/repo", "https://git.example.com/org/repo", "team", "password", "p", "insecure", "true", "team")
	f.Add("git@github.com:org/repo.git", "ssh://git@github.com/org/repo", "", "sshPrivateKey", "k", "githubAppID", "x", "")
	f.Add("https://host/%zz", "https://host/%zz", "", "githubAppID", "1", "githubAppPrivateKey", "k", "x")
	f.Fuzz(func(t *testing.T, repoURL, url, project, key, value, key2, value2, wanted string) {
		s := repositorySecretOf("own", url, "project", project, key, value, key2, value2)
		template := templateOf("template", url, key, value, "password", "of the template")
		got, err := findAccess([]credentialSecret{s, template}, repoURL, wanted)
		if err != nil {
			return
		}
		if got.URL != repoURL {
			t.Errorf("the URL is %q, want %q", got.URL, repoURL)
		}
		scope := s.data["project"]
		if fmt.Sprint(got.from) == "[own]" && scope != "" && scope != wanted {
			t.Errorf("credentials of project %q are used for %q", scope, wanted)
		}
	})
}
