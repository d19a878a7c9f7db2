package inputs

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/ocisource"
)

func TestCredentialsOfArtifactsAreFoundAsInArgoCD(t *testing.T) {
	const url = "oci://ghcr.io/org/app"
	of := func(r gitsource.Repository, plain bool) ocisource.Repository {
		r.URL = url
		return ocisource.Repository{Repository: r, PlainHTTP: plain}
	}
	for name, c := range map[string]struct {
		secrets []credentialSecret
		project string
		want    ocisource.Repository
		from    string
	}{
		"none": {nil, "", of(gitsource.Repository{}, false), ""},
		"the repository's own": {
			[]credentialSecret{repositorySecretOf("a", url, "username", "me", "password", "p", "insecure", "true", "proxy", "http://p", "noProxy", "x")}, "",
			of(gitsource.Repository{Username: "me", Password: "p", Insecure: true, Proxy: "http://p", NoProxy: "x"}, false), "a"},
		"a client certificate": {[]credentialSecret{repositorySecretOf("a", url, "tlsClientCertData", "c", "tlsClientCertKey", "k")}, "",
			of(gitsource.Repository{ClientCertificate: "c", ClientKey: "k"}, false), "a"},
		"without TLS":                   {[]credentialSecret{repositorySecretOf("a", url, "insecureOCIForceHttp", "true")}, "", of(gitsource.Repository{}, true), "a"},
		"those of another project":      {[]credentialSecret{repositorySecretOf("a", url, "username", "me", "password", "p", "project", "team")}, "other", of(gitsource.Repository{}, false), ""},
		"those of the project":          {[]credentialSecret{repositorySecretOf("a", url, "username", "me", "password", "p", "project", "team")}, "team", of(gitsource.Repository{Username: "me", Password: "p"}, false), "a"},
		"tokens and keys mean nothing":  {[]credentialSecret{repositorySecretOf("a", url, "bearerToken", "t", "sshPrivateKey", "k", "insecureIgnoreHostKey", "true")}, "", of(gitsource.Repository{}, false), "a"},
		"those of a cloud mean nothing": {[]credentialSecret{repositorySecretOf("a", url, "useAzureWorkloadIdentity", "true")}, "", of(gitsource.Repository{}, false), "a"},
		"a template says whether there is TLS": {
			[]credentialSecret{repositorySecretOf("a", url, "insecure", "true", "insecureOCIForceHttp", "true"), templateOf("b", "oci://ghcr.io/org", "username", "me", "password", "p")}, "",
			of(gitsource.Repository{Username: "me", Password: "p", Insecure: true}, false), "a, b"},
		"a template without TLS": {[]credentialSecret{templateOf("b", "oci://ghcr.io", "username", "me", "password", "p", "insecureOCIForceHttp", "true", "insecure", "true")}, "",
			of(gitsource.Repository{Username: "me", Password: "p"}, true), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			got, from, err := findArtifactAccess(c.secrets, url, c.project)
			if err != nil || got != c.want || strings.Join(from, ", ") != c.from {
				t.Errorf("findArtifactAccess() = %+v from %v, %v; want %+v from %v", got, from, err, c.want, c.from)
			}
		})
	}
	for said, s := range map[string]credentialSecret{
		"insecure must be true or false":             repositorySecretOf("mine", url, "insecure", "canary"),
		"insecureOCIForceHttp must be true or false": repositorySecretOf("mine", url, "insecureOCIForceHttp", "canary"),
	} {
		_, _, err := findArtifactAccess([]credentialSecret{s}, url, "")
		says(t, err, said, "Secret mine", url)
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the value: %v", err)
		}
	}
}

// closedRegistry lets nobody in.
func closedRegistry(t *testing.T, secure bool) (url string, server *httptest.Server) {
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "not with "+password, http.StatusUnauthorized)
	}))
	server.Config.ErrorLog = discard()
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	_, host, _ := strings.Cut(server.URL, "://")
	return "oci://" + host + "/org/app", server
}

func TestErrorsOfRegistriesSayWhereArgoCDKeepsWhatIsMissing(t *testing.T) {
	plain, _ := closedRegistry(t, false)
	secure, server := closedRegistry(t, true)
	noTLS := func(more map[string]string) map[string]string {
		data := map[string]string{"url": plain, "type": "oci", "insecureOCIForceHttp": "true"}
		for key, value := range more {
			data[key] = value
		}
		return data
	}
	for name, c := range map[string]struct {
		url    string
		change func(*fakeCluster)
		said   []string
	}{
		"no credentials": {secure, func(c *fakeCluster) {
			c.configMap(certificatesConfigMap, map[string]string{"127.0.0.1": pemOf(server)})
		}, []string{"the registry wants credentials", "Argo CD has no credentials for it", "namespace argocd", secretType}},
		"wrong ones": {plain, func(c *fakeCluster) {
			c.secret("mine", "repository", noTLS(map[string]string{"username": "me", "password": "canary"}))
		}, []string{"wants credentials, or other ones (401)", "those of Secret mine in namespace argocd"}},
		"of a template": {plain, func(c *fakeCluster) {
			c.secret("all", "repo-creds", noTLS(map[string]string{"url": plain[:len(plain)-4], "username": "me", "password": "canary"}))
		}, []string{"those of Secret all"}},
		"credentials hidden": {secure, func(c *fakeCluster) {
			c.forbid("list", "secrets")
			c.configMap(certificatesConfigMap, map[string]string{"127.0.0.1": pemOf(server)})
		}, []string{"the registry wants credentials", "no credentials were used", `resources: ["secrets"]`, `verbs: ["list"]`}},
		"no certificate":      {secure, nil, []string{"not trusted", "ConfigMap argocd/argocd-tls-certs-cm", "add-tls 127.0.0.1 --from"}},
		"certificates hidden": {secure, func(c *fakeCluster) { c.forbid("get", "configmaps") }, []string{"not trusted", "could not be read", `resources: ["configmaps"]`, `verbs: ["get"]`}},
		"inside the cluster":  {"oci://zot.registry.svc.cluster.local:5000/app", nil, []string{"is not found", "zot.registry.svc.cluster.local:5000 looks like a name that is known inside of the cluster only"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			if c.change != nil {
				c.change(cluster)
			}
			_, err := inputsOf(t, cluster).Artifact(t.Context(), c.url, "1", "default")
			says(t, err, c.said...)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error has the credentials: %v", err)
			}
		})
	}
}

func TestAnArtifactIsFetchedOnceWithTheSameCredentials(t *testing.T) {
	plain, _ := closedRegistry(t, false)
	c := newCluster()
	c.secret("mine", "repository", map[string]string{"url": plain, "insecureOCIForceHttp": "true"})
	c.secret("team", "repository", map[string]string{"url": plain, "insecureOCIForceHttp": "true", "project": "team", "username": "me", "password": "canary"})
	in := inputsOf(t, c)
	for range 2 {
		_, err := in.Artifact(t.Context(), plain, "1", "default")
		says(t, err, "wants credentials", "those of Secret mine")
		_, err = in.Artifact(t.Context(), plain, "1", "team")
		says(t, err, "wants credentials, or other ones (401)", "those of Secret team")
	}
	if want := []string{"list secrets"}; !slices.Equal(c.asked, want) {
		t.Errorf("the cluster was asked to %v, want %v", c.asked, want)
	}
	if len(in.artifacts.cells) != 2 {
		t.Errorf("%d answers are remembered", len(in.artifacts.cells))
	}
}
