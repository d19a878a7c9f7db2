package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// expandPaths lists the kubeconfig files in order, with the home directory put in.
func (s Settings) expandPaths() ([]string, error) {
	var paths []string
	if set(s.ConfigPath) {
		paths = append(paths, *s.ConfigPath)
	}
	paths = append(paths, s.ConfigPaths...)
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	for i, p := range paths {
		if p != "~" && !strings.HasPrefix(p, "~/") && !strings.HasPrefix(p, `~\`) {
			continue
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig path %q needs a home directory: %w", p, err)
		}
		paths[i] = filepath.Join(home, p[1:])
	}
	return paths, nil
}

// fromFiles merges the files as kubectl does (the first that sets a value wins) and picks
// the context.
func (r resolved) fromFiles() (*target, error) {
	for _, p := range r.paths {
		// clientcmd ignores a missing file of a list; one that was meant to be there may hold
		// the context that makes the difference between two clusters.
		if err := readable(p); err != nil {
			return nil, err
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: r.paths}
	merged, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig files %s cannot be merged; look at them with "+
			"\"kubectl config view --kubeconfig\"", strings.Join(r.paths, ", "))
	}
	return r.pick(merged)
}

var yamlLine = regexp.MustCompile(`\bline \d+`)

// readable says what is wrong with a kubeconfig file without quoting any of it: a parser's
// message may contain the token that it stumbled over.
func readable(path string) error {
	_, err := clientcmd.LoadFromFile(path)
	var at *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kubeconfig file %q does not exist", path)
	case errors.As(err, &at):
		return fmt.Errorf("the kubeconfig file %q cannot be read: %w", path, at.Err)
	}
	where := ""
	if line := yamlLine.FindString(err.Error()); line != "" {
		where = " (" + line + ")"
	}
	return fmt.Errorf("%q is no valid kubeconfig file%s; look at it with \"kubectl config view --kubeconfig %s\"",
		path, where, path)
}

// pick resolves context, cluster and user, each by an explicit name or the file's own.
func (r resolved) pick(merged *clientcmdapi.Config) (*target, error) {
	files := strings.Join(r.paths, ", ")
	chosen := clientcmdapi.NewContext()
	name := text(r.ConfigContext)
	if name == "" {
		name = merged.CurrentContext
	}
	switch c := merged.Contexts[name]; {
	case c != nil:
		chosen = c.DeepCopy()
	case name != "":
		return nil, fmt.Errorf("the context %q does not exist in %s; it has %s", name, files, names(merged.Contexts))
	case !set(r.ConfigContextCluster) && !set(r.Host):
		return nil, fmt.Errorf("%s has no current-context: set config_context (or KUBE_CTX); it has %s",
			files, names(merged.Contexts))
	}
	if set(r.ConfigContextCluster) {
		chosen.Cluster = *r.ConfigContextCluster
	}
	if set(r.ConfigContextAuthInfo) {
		chosen.AuthInfo = *r.ConfigContextAuthInfo
	}

	t := &target{cluster: merged.Clusters[chosen.Cluster], user: merged.AuthInfos[chosen.AuthInfo]}
	if t.cluster == nil {
		if !set(r.Host) || set(r.ConfigContextCluster) {
			return nil, fmt.Errorf("the cluster %q does not exist in %s; it has %s", chosen.Cluster, files, names(merged.Clusters))
		}
		t.cluster = clientcmdapi.NewCluster()
	}
	if t.user == nil {
		if chosen.AuthInfo != "" {
			return nil, fmt.Errorf("the user %q does not exist in %s; it has %s", chosen.AuthInfo, files, names(merged.AuthInfos))
		}
		t.user = clientcmdapi.NewAuthInfo()
	}
	return t, nil
}

// names lists the keys of a section of a kubeconfig for an error text.
func names[T any](section map[string]T) string {
	if len(section) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(section)), ", ")
}
