package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/ocisource"
)

// artifactQuestion is what was asked for. Other credentials make another question.
type artifactQuestion struct {
	repository ocisource.Repository
	revision   string
}

// artifactsHeld is how many bytes the artifacts take at most that are remembered. Beside them are those that
// generators read just now, and those that are being fetched, each bounded by ocisource.
const artifactsHeld = 256 << 20

// artifacts are those that were fetched.
type artifacts struct {
	trees memo[artifactQuestion, *ocisource.Tree]

	mu sync.Mutex
	// digests are also those of artifacts that are forgotten: fetched again, they are the same, whatever their tag
	// means by then.
	digests map[artifactQuestion]string
}

// get is the answer to a question; fetch gets a revision.
func (a *artifacts) get(ctx context.Context, q artifactQuestion, fetch func(revision string) (*ocisource.Tree, error)) (*ocisource.Tree, error) {
	return a.trees.get(ctx, q, func() (*ocisource.Tree, error) {
		a.mu.Lock()
		revision := cmp.Or(a.digests[q], q.revision)
		a.mu.Unlock()
		tree, err := fetch(revision)
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.digests == nil {
			a.digests = map[artifactQuestion]string{}
		}
		a.digests[q] = tree.Digest()
		return tree, nil
	})
}

// Artifact fetches an OCI artifact with the credentials that Argo CD has for its repository. Where the provider
// may not read them, it tries without.
func (in *Inputs) Artifact(ctx context.Context, repoURL, revision, project string) (appset.Artifact, error) {
	r, a, m, err := in.artifactAccess(ctx, repoURL, project)
	if err != nil {
		return nil, err
	}
	tree, err := in.artifacts.get(ctx, artifactQuestion{r, revision}, func(revision string) (*ocisource.Tree, error) {
		return ocisource.Fetch(ctx, r, revision)
	})
	if err != nil {
		return nil, in.explain(err, a, m)
	}
	return tree, nil
}

// artifactAccess finds the credentials and certificates for a repository of OCI artifacts.
func (in *Inputs) artifactAccess(ctx context.Context, repoURL, project string) (ocisource.Repository, access, missed, error) {
	none := ocisource.Repository{}
	var m missed
	all, err := in.repositorySecrets(ctx)
	switch {
	case err != nil && unreadable(err):
		m.credentials = err
	case err != nil:
		return none, access{}, m, refusal(fmt.Sprintf("looking for Argo CD's credentials of the repository %s", gitsource.SafeURL(repoURL)), err)
	}
	r, from, err := findArtifactAccess(all, repoURL, project)
	if err != nil {
		return none, access{}, m, err
	}
	if u, err := url.Parse(repoURL); err == nil && !r.Insecure && !r.PlainHTTP {
		if r.CertificateAuthorities, m.certificates, err = in.certificates(ctx, u.Hostname()); err != nil {
			return none, access{}, m, err
		}
	}
	return r, access{Repository: r.Repository, from: from}, m, nil
}

// findArtifactAccess follows GetOCICreds (pkg/apis/application/v1alpha1/repository_types.go, Argo CD 3.6.1): only a name
// with a password and a client certificate count. Whether there is no TLS is said by the Secret of which the credentials
// are, insecure by that of the repository alone.
func findArtifactAccess(all []credentialSecret, repoURL, project string) (ocisource.Repository, []string, error) {
	f := lookUp(all, repoURL, project)
	insecure, err1 := boolean(f.settings, "insecure")
	plain, err2 := boolean(f.settings, "insecureOCIForceHttp")
	var err3 error
	if f.template != nil {
		plain, err3 = boolean(f.template, "insecureOCIForceHttp")
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return ocisource.Repository{}, nil, fmt.Errorf("the repository %s in Secret %s: %w", gitsource.SafeURL(repoURL), strings.Join(f.from, ", "), err)
	}
	return ocisource.Repository{
		Repository: gitsource.Repository{
			URL: repoURL, Username: f.merged["username"], Password: f.merged["password"],
			ClientCertificate: f.merged["tlsClientCertData"], ClientKey: f.merged["tlsClientCertKey"],
			Insecure: insecure, Proxy: f.merged["proxy"], NoProxy: f.merged["noProxy"],
		},
		PlainHTTP: plain,
	}, f.from, nil
}
