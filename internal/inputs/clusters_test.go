package inputs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

func TestClustersAreThoseOfTheSecretsWithoutTheirCredentials(t *testing.T) {
	c := newCluster()
	prod := c.secret("b", "cluster", map[string]string{
		"name": "prod", "server": "https://prod.example.com/", "project": "team", "config": `{"bearerToken": "canary"}`, "namespaces": "a,b",
	})
	prod.SetLabels(map[string]string{secretType: "cluster", "env": "prod"})
	prod.SetAnnotations(map[string]string{"note": "x"})
	c.secret("a", "cluster", map[string]string{"name": "dev", "server": "https://dev.example.com"})
	c.secret("other", "repository", map[string]string{"name": "repo", "url": "https://git.example.com"})
	c.secret("plain", "", map[string]string{"name": "plain", "server": "x"})
	in := inputsOf(t, c)
	want := []appset.Cluster{
		{Name: "dev", Server: "https://dev.example.com", Labels: map[string]string{secretType: "cluster"}},
		{Name: "prod", Server: "https://prod.example.com/", Project: "team", Labels: map[string]string{secretType: "cluster", "env": "prod"}, Annotations: map[string]string{"note": "x"}},
	}
	for range 3 {
		got, err := in.Clusters(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Clusters() = %+v, %v; want %+v", got, err, want)
		}
	}
	if !slices.Equal(c.asked, []string{"list secrets"}) {
		t.Errorf("the cluster was asked to %v, want one list", c.asked)
	}
	if got := fmt.Sprintf("%+v", in.clusters.cells[struct{}{}].value); strings.Contains(got, "canary") {
		t.Errorf("credentials are kept: %s", got)
	}
}

func TestClustersThatMayNotBeRead(t *testing.T) {
	c := newCluster()
	c.forbid("list", "secrets")
	_, err := inputsOf(t, c).Clusters(t.Context())
	says(t, err, "listing the clusters that Argo CD knows", `in namespace "argocd"`, `resources: ["secrets"]`, `verbs: ["list"]`, "kubectl -n argocd auth can-i list secrets")
	if !errors.Is(err, argocd.ErrForbidden) {
		t.Errorf("%v is not ErrForbidden", err)
	}
	c.refuse["list secrets"] = apierrors.NewUnauthorized("expired")
	_, err = inputsOf(t, c).Clusters(t.Context())
	says(t, err, "expired", "does not accept the provider's credentials")
	if !errors.Is(err, argocd.ErrUnauthorized) {
		t.Errorf("%v is not ErrUnauthorized", err)
	}
}

func TestAClusterSecretThatSaysTooLittleIsNamed(t *testing.T) {
	c := newCluster()
	c.secret("nameless", "cluster", map[string]string{"server": "https://a.example.com", "config": `{"bearerToken": "canary"}`})
	c.secret("homeless", "cluster", map[string]string{"name": "b"})
	c.secret("whole", "cluster", map[string]string{"name": "c", "server": "https://c.example.com"})
	got, err := inputsOf(t, c).Clusters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, cluster := range got {
		named[cluster.Name] = cluster.Secret
	}
	if want := map[string]string{"": "argocd/nameless", "b": "argocd/homeless", "c": ""}; !reflect.DeepEqual(named, want) {
		t.Errorf("the Secrets are %v, want %v", named, want)
	}
}
