package inputs

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
)

func TestATreeNeedsNoSecretsForAFileURL(t *testing.T) {
	repo, err := gitrepo.New(filepath.Join(t.TempDir(), "repo"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(repo.Write("apps/one/config.yaml", "a: 1\n"), repo.Write("big", lfsPointer+"v1\n")); err != nil {
		t.Fatal(err)
	}
	sha, err := repo.Commit("first")
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster()
	tree, err := inputsOf(t, c).Tree(t.Context(), repo.URL(), "", "default")
	if err != nil {
		t.Fatal(err)
	}
	content, err := tree.Read("apps/one/config.yaml")
	if err != nil || tree.Commit() != sha || string(content) != "a: 1\n" || !slices.Equal(tree.Directories(), []string{"apps", "apps/one"}) {
		t.Errorf("the tree of %s has %v and %q, %v", tree.Commit(), tree.Directories(), content, err)
	}
	if len(c.asked) != 0 {
		t.Errorf("the cluster was asked to %v", c.asked)
	}
	if _, err := tree.Read("big"); err != nil {
		t.Errorf("a pointer of LFS is refused though Argo CD would not follow it: %v", err)
	}
	if _, err := (lfsTree{tree}).Read("big"); err == nil || !strings.Contains(err.Error(), "git LFS") {
		t.Errorf("a pointer of LFS gives %v", err)
	}
}

// refuser is a git server that lets nobody in.
func refuser(t *testing.T, secure bool) (address string, server *httptest.Server) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		http.Error(w, "not with "+password, http.StatusUnauthorized)
	})
	if secure {
		server = httptest.NewUnstartedServer(h)
		server.Config.ErrorLog = discard()
		server.StartTLS()
	} else {
		server = httptest.NewServer(h)
	}
	t.Cleanup(server.Close)
	return server.URL + "/org/repo", server
}

func TestErrorsOfGitSayWhereArgoCDKeepsWhatIsMissing(t *testing.T) {
	plain, _ := refuser(t, false)
	secure, _ := refuser(t, true)
	for name, c := range map[string]struct {
		url    string
		change func(*fakeCluster)
		said   []string
	}{
		"no credentials": {plain, nil, []string{"wants credentials (401)", "Argo CD has no credentials for it", "namespace argocd", secretType}},
		"wrong ones": {plain, func(c *fakeCluster) {
			c.secret("mine", "repository", map[string]string{"url": plain, "password": "canary"})
		}, []string{"does not accept the credentials", "those of Secret mine in namespace argocd"}},
		"of a template": {plain, func(c *fakeCluster) {
			c.secret("all", "repo-creds", map[string]string{"url": plain[:len(plain)-5], "password": "canary"})
		}, []string{"those of Secret all"}},
		"credentials hidden":  {plain, func(c *fakeCluster) { c.forbid("list", "secrets") }, []string{"wants credentials", "no credentials were used", "forbidden", `resources: ["secrets"]`, `verbs: ["list"]`}},
		"no certificate":      {secure, nil, []string{"not trusted", "ConfigMap argocd/argocd-tls-certs-cm", "add-tls 127.0.0.1 --from"}},
		"certificates hidden": {secure, func(c *fakeCluster) { c.forbid("get", "configmaps") }, []string{"not trusted", "could not be read", `resources: ["configmaps"]`, `verbs: ["get"]`}},
		"no host keys":        {"git@localhost:1/repo", func(c *fakeCluster) { c.forbid("get", "configmaps") }, []string{"reading the SSH host keys that Argo CD accepts", `resources: ["configmaps"]`}},
		"inside the cluster":  {"http://gitea.git.svc.cluster.local:3000/org/repo", nil, []string{"is not found", "gitea.git.svc.cluster.local:3000 looks like a name that is known inside of the cluster only"}},
		"another secret is damaged": {plain, func(c *fakeCluster) {
			c.secret("mine", "repository", map[string]string{"url": plain, "insecure": "canary"})
		}, []string{"Secret mine", "insecure must be true or false"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			if c.change != nil {
				c.change(cluster)
			}
			_, err := inputsOf(t, cluster).Tree(t.Context(), c.url, "main", "default")
			says(t, err, c.said...)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error has the credentials: %v", err)
			}
		})
	}
}

func TestSecretsAreReadOnceForAllRepositories(t *testing.T) {
	one, _ := refuser(t, false)
	two, server := refuser(t, true)
	c := newCluster()
	c.secret("mine", "repo-creds", map[string]string{"url": "https://", "password": "canary"})
	c.configMap(certificatesConfigMap, map[string]string{"127.0.0.1": pemOf(server)})
	in := inputsOf(t, c)
	for range 2 {
		for _, url := range []string{one, two, two + "2"} {
			_, err := in.Tree(t.Context(), url, "main", "")
			says(t, err, "401")
		}
	}
	if want := []string{"list secrets", "get configmaps argocd-tls-certs-cm"}; !slices.Equal(c.asked, want) {
		t.Errorf("the cluster was asked to %v, want %v", c.asked, want)
	}
}

func TestUnauthorizedIsNotTakenForUnreadable(t *testing.T) {
	plain, _ := refuser(t, false)
	c := newCluster()
	c.refuse["list secrets"] = errors.New("the network is down")
	_, err := inputsOf(t, c).Tree(t.Context(), plain, "main", "")
	says(t, err, "looking for Argo CD's credentials of the repository "+plain, "the network is down")
	if errors.Is(err, argocd.ErrForbidden) {
		t.Errorf("%v is ErrForbidden", err)
	}
}

func TestTheCommandForAHostKeyNamesItsPort(t *testing.T) {
	for host, want := range map[string]string{"github.com": "github.com", "git.example.com:2222": "-p 2222 git.example.com", "[::1]:2222": "-p 2222 ::1", "[::1]": "::1"} {
		if got := keyscan(host); got != want {
			t.Errorf("keyscan(%q) = %q, want %q", host, got, want)
		}
	}
}
