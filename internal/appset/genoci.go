package appset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// checkGlobs refuses patterns with a mistake, as Argo CD does.
func checkGlobs(patterns []gitPattern, at Path, issues *Issues) {
	for i, p := range patterns {
		if !doublestar.ValidatePattern(p.Path) {
			issues.fail(at.With(i, "path"), SummaryInvalidGenerator, fmt.Sprintf("%q is not a pattern of files.", p.Path))
		}
	}
}

// fetchArtifact asks for an OCI artifact.
func (g *gitSource) fetchArtifact(e *evaluation, q gitQuestion) (answer, error) {
	artifact, err := e.inputs.Artifact(e.ctx, q.RepoURL, q.Revision, q.Project)
	if err != nil {
		return answer{}, err
	}
	out := answer{Digest: artifact.Digest()}
	if len(q.Directories) > 0 {
		out.Directories = matchDirectories(q.Directories, artifact.Directories())
		return out, nil
	}
	names, err := globFiles(artifact, q.Files)
	if err == nil {
		out.Files, err = readFiles(names, artifact.Read)
	}
	if err != nil {
		err = fmt.Errorf("%s at %s: %w", redactURL(q.RepoURL), artifact.Digest(), err)
	}
	return out, err
}

// globFiles are the files that some pattern includes and none excludes, sorted. Unlike those of git, these patterns are
// those of doublestar (GetOciFiles in reposerver/repository, Argo CD 3.6.1).
func globFiles(artifact Artifact, patterns []gitPattern) ([]string, error) {
	chosen, excluded := map[string]bool{}, map[string]bool{}
	for _, p := range patterns {
		found, err := artifact.Glob(p.Path)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if p.Exclude {
				excluded[name] = true
			} else {
				chosen[name] = true
			}
		}
	}
	for name := range excluded {
		delete(chosen, name)
	}
	return slices.Sorted(maps.Keys(chosen)), nil
}
