package argocd

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/gobwas/glob"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// The permission rules of an AppProject, re-implemented after IsSourcePermitted,
// IsDestinationPermitted and IsAppNamespacePermitted in
// pkg/apis/application/v1alpha1/app_project_types.go, Argo CD 3.6.1.

// project is an AppProject with what global projects add to it.
type project struct {
	name             string
	sourceRepos      []string
	destinations     []map[string]any
	sourceNamespaces []string
	// onlyOwnClusters: only cluster Secrets that name this project are permitted.
	onlyOwnClusters bool
	windows         SyncWindows
}

func readProject(object map[string]any) project {
	return project{
		name:             text(object, "metadata", "name"),
		sourceRepos:      texts(object, "spec", "sourceRepos"),
		destinations:     objects(object, "spec", "destinations"),
		sourceNamespaces: texts(object, "spec", "sourceNamespaces"),
		onlyOwnClusters:  truth(object, "spec", "permitOnlyProjectScopedClusters"),
		windows:          ReadSyncWindows(object),
	}
}

// with adds what a global project permits and denies, and its sync windows (mergeVirtualProject in
// util/argo/argo.go, 3.6.1).
func (p project) with(global project) project {
	p.sourceRepos = append(p.sourceRepos[:len(p.sourceRepos):len(p.sourceRepos)], global.sourceRepos...)
	p.destinations = append(p.destinations[:len(p.destinations):len(p.destinations)], global.destinations...)
	p.windows = append(p.windows[:len(p.windows):len(p.windows)], global.windows...)
	return p
}

// permitsSource tells whether a repository may be a source. A deny pattern ("!...") that applies
// wins over every pattern that permits.
func (p project) permitsSource(repo string) bool {
	repo, permitted := normalizeRepo(repo), false
	for _, pattern := range p.sourceRepos {
		denied, deny := strings.CutPrefix(pattern, "!")
		if deny {
			// As in Argo CD, a deny pattern that does not apply permits.
			pattern = "!" + normalizeRepo(denied)
		} else {
			pattern = normalizeRepo(pattern)
		}
		switch {
		case matchPattern(pattern, repo, '/'):
			permitted = true
		case deny:
			return false
		}
	}
	return permitted
}

// permitsDestination tells whether a namespace of a cluster may be deployed to.
func (p project) permitsDestination(c cluster, namespace string) bool {
	permitted := false
	for _, d := range p.destinations {
		name, server := text(d, "name"), text(d, "server")
		nameMatches := c.Name != "" && matchPattern(name, c.Name)
		serverMatches := c.Server != "" && matchPattern(server, c.Server)
		namespaceMatches := matchPattern(text(d, "namespace"), namespace)
		switch {
		case (serverMatches || nameMatches) && namespaceMatches:
			permitted = true
		case (!nameMatches && denies(name) || !serverMatches && denies(server)) && namespaceMatches:
			return false
		case !namespaceMatches && denies(text(d, "namespace")) && serverMatches:
			return false
		}
	}
	return permitted && (!p.onlyOwnClusters || c.project == p.name)
}

// permitsNamespace tells whether Applications in a namespace other than Argo CD's own may use the
// project. An entry is a glob, or a regular expression between slashes.
func (p project) permitsNamespace(namespace string) bool {
	for _, entry := range p.sourceNamespaces {
		if len(entry) > 2 && strings.HasPrefix(entry, "/") && strings.HasSuffix(entry, "/") {
			if matched, err := regexp.MatchString(entry[1:len(entry)-1], namespace); err == nil && matched {
				return true
			}
		}
		if matchGlob(entry, namespace) {
			return true
		}
	}
	return false
}

func denies(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// matchPattern is a glob, or "!" and a glob that must not match. Unless "/" is a separator, "*"
// matches it as well.
func matchPattern(pattern, value string, separators ...rune) bool {
	if denies(pattern) {
		return !matchGlob(pattern[1:], value, separators...)
	}
	return pattern == "*" || matchGlob(pattern, value, separators...)
}

// matchGlob uses the glob library that Argo CD uses, so that patterns mean the same. One that
// does not compile matches nothing.
func matchGlob(pattern, value string, separators ...rune) bool {
	compiled, err := glob.Compile(pattern, separators...)
	return err == nil && compiled.Match(value)
}

var sshRepo = regexp.MustCompile(`^(ssh://)?([^/:]*?)@[^@]+$`)

// normalizeRepo makes the forms in which one git repository is written equal (NormalizeGitURL in
// util/git/git.go, Argo CD 3.6.1). What is no URL becomes "".
func normalizeRepo(repo string) string {
	repo = strings.ToLower(strings.TrimSpace(repo))
	if sshRepo.MatchString(repo) && !strings.HasPrefix(repo, "ssh://") {
		repo = "ssh://" + strings.Replace(repo, ":", "/", 1)
	}
	parsed, err := url.Parse(strings.TrimSuffix(repo, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(parsed.String(), "ssh://")
}

// said is a message of Argo CD, which may quote the URL of a repository with the user in it.
func said(m map[string]any, path ...string) string {
	return rollout.WithoutCredentials(text(m, path...))
}

// projectName is the project of an Application; empty means default, as in Argo CD.
func projectName(spec map[string]any) string {
	if name := text(spec, "project"); name != "" {
		return name
	}
	return "default"
}

// repositories are the distinct source repositories of an Application, sorted.
func repositories(spec map[string]any) []string {
	var repos []string
	switch {
	case spec["sourceHydrator"] != nil:
		repos = []string{text(spec, "sourceHydrator", "drySource", "repoURL"), text(singleSource(spec), "repoURL")}
	case hasSeveralSources(spec):
		for _, s := range objects(spec, "sources") {
			repos = append(repos, text(s, "repoURL"))
		}
	default:
		repos = []string{text(spec, "source", "repoURL")}
	}
	return sortedCopy(repos)
}

// check is every reason why the project does not permit the Application.
func (p project) check(spec map[string]any, applicationNamespace, controlNamespace string) []string {
	var out []string
	if applicationNamespace != controlNamespace && !p.permitsNamespace(applicationNamespace) {
		out = append(out, fmt.Sprintf("AppProject %q does not permit Applications in namespace %q: add it to spec.sourceNamespaces", p.name, applicationNamespace))
	}
	for _, repo := range repositories(spec) {
		if !p.permitsSource(repo) {
			out = append(out, fmt.Sprintf("repository %s is not permitted in AppProject %q: add it to spec.sourceRepos", rollout.WithoutCredentials(repo), p.name))
		}
	}
	return out
}
