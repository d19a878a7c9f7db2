package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

const (
	hostKeysConfigMap     = "argocd-ssh-known-hosts-cm"
	hostKeysKey           = "ssh_known_hosts"
	certificatesConfigMap = "argocd-tls-certs-cm"
)

// Tree fetches a revision with the credentials that Argo CD has for the repository. Where the provider
// may not read them, it tries without.
func (in *Inputs) Tree(ctx context.Context, repoURL, revision, project string) (appset.Tree, error) {
	a, missed, err := in.access(ctx, repoURL, project)
	if err != nil {
		return nil, err
	}
	tree, err := in.git.Fetch(ctx, a.Repository, revision)
	if err != nil {
		return nil, in.explain(err, a, missed)
	}
	if a.lfs {
		return lfsTree{tree}, nil
	}
	return tree, nil
}

// missed is what could not be read and may have been needed.
type missed struct{ credentials, certificates error }

// access finds the credentials, host keys and certificates for a repository.
func (in *Inputs) access(ctx context.Context, repoURL, project string) (access, missed, error) {
	var m missed
	scheme, host := schemeOf(repoURL)
	if scheme == "file" {
		return access{Repository: gitsource.Repository{URL: repoURL}}, m, nil
	}
	all, err := in.repositorySecrets(ctx)
	switch {
	case err != nil && unreadable(err):
		m.credentials = err
	case err != nil:
		return access{}, m, refusal(fmt.Sprintf("looking for Argo CD's credentials of the repository %s", gitsource.SafeURL(repoURL)), err)
	}
	a, err := findAccess(all, repoURL, project)
	if err != nil {
		return access{}, m, err
	}
	if scheme == "ssh" && !a.Insecure {
		if a.KnownHosts, err = in.hostKeys(ctx); err != nil {
			return access{}, m, err
		}
	}
	if scheme == "https" && !a.Insecure {
		if a.CertificateAuthorities, m.certificates, err = in.certificates(ctx, host); err != nil {
			return access{}, m, err
		}
	}
	if _, api := schemeOf(a.App.BaseURL); a.App.ID != 0 && api != "" && !a.Insecure {
		if a.App.CertificateAuthorities, m.certificates, err = in.certificates(ctx, api); err != nil {
			return access{}, m, err
		}
	}
	return a, m, nil
}

// schemeOf is "ssh" for what is no URL, like git@host:path.
func schemeOf(repoURL string) (scheme, host string) {
	u, err := url.Parse(strings.TrimSpace(repoURL))
	if err != nil || u.Scheme == "" || !strings.Contains(repoURL, "://") {
		return "ssh", ""
	}
	return u.Scheme, u.Hostname()
}

// hostKeys are the SSH host keys that Argo CD accepts. Without them, no server can be trusted.
func (in *Inputs) hostKeys(ctx context.Context) (string, error) {
	data, err := in.configMap(ctx, hostKeysConfigMap)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", refusal("reading the SSH host keys that Argo CD accepts", err)
	}
	return data[hostKeysKey], nil
}

// certificates are those that Argo CD trusts for a host; empty means those of the system. missed is not
// nil if they may not be read.
func (in *Inputs) certificates(ctx context.Context, host string) (pem string, missed, err error) {
	data, err := in.configMap(ctx, certificatesConfigMap)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil, nil
	case errors.Is(err, argocd.ErrForbidden):
		return "", err, nil
	case err != nil:
		return "", nil, refusal("reading the certificates that Argo CD trusts", err)
	}
	return data[host], nil, nil
}

// explain adds to the error of a fetch where Argo CD keeps what is missing or wrong.
func (in *Inputs) explain(err error, a access, m missed) error {
	var failed *gitsource.Error
	if !errors.As(err, &failed) {
		return err
	}
	var advice string
	switch failed.Kind {
	case gitsource.Authentication, gitsource.Missing:
		advice = in.aboutCredentials(a, m)
	case gitsource.HostKey:
		advice = fmt.Sprintf("Argo CD's known host keys are in ConfigMap %s/%s. If the key is the right one: ssh-keyscan %s | argocd cert add-ssh --batch",
			in.namespace, hostKeysConfigMap, keyscan(failed.Host))
	case gitsource.Certificate:
		host, _ := hostAndPort(failed.Host)
		advice = fmt.Sprintf("The certificates that Argo CD trusts for a host are in ConfigMap %s/%s: argocd cert add-tls %s --from FILE",
			in.namespace, certificatesConfigMap, host)
		if m.certificates != nil {
			advice = refusal("the certificates that Argo CD trusts could not be read", m.certificates).Error()
		}
	case gitsource.NoHost, gitsource.Unreachable:
		if insideCluster(failed.Host) {
			advice = fromInside(failed.Host)
		}
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w. %s", err, advice)
}

// keyscan are the arguments of ssh-keyscan for a host.
func keyscan(host string) string {
	name, port := hostAndPort(host)
	if port == "" {
		return name
	}
	return "-p " + port + " " + name
}

// hostAndPort takes a host apart; the port is empty if there is none.
func hostAndPort(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return strings.Trim(host, "[]"), ""
}

// aboutCredentials says where the credentials come from, or would come from.
func (in *Inputs) aboutCredentials(a access, m missed) string {
	switch {
	case m.credentials != nil:
		return refusal("no credentials were used, because Argo CD's could not be read", m.credentials).Error()
	case len(a.from) > 0:
		return fmt.Sprintf("The credentials are those of Secret %s in namespace %s", strings.Join(a.from, " and "), in.namespace)
	}
	return fmt.Sprintf("Argo CD has no credentials for it: there is no Secret in namespace %s with the label %s (repository or repo-creds) and its URL; "+
		"a Secret that has another project than the Applications does not count", in.namespace, secretType)
}

// lfsTree refuses files that Argo CD would get from git LFS.
type lfsTree struct{ appset.Tree }

const lfsPointer = "version https://git-lfs.github.com/spec/"

// Read is that of the tree, except for pointers.
func (t lfsTree) Read(path string) ([]byte, error) {
	content, err := t.Tree.Read(path)
	if err == nil && bytes.HasPrefix(content, []byte(lfsPointer)) {
		return nil, fmt.Errorf("%q is stored by git LFS, which Argo CD reads (enableLfs) and this provider does not: keep the files of generators in git itself", path)
	}
	return content, err
}
