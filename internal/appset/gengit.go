package appset

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// gitPattern is an entry of directories or files.
type gitPattern struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude,omitempty"`
}

// gitSource gives one parameter set per directory, or per object in files: of a git repository, or of an OCI
// artifact, of which Argo CD makes the same (applicationset/generators/repo_path_utils.go, 3.6.1).
type gitSource struct {
	at Path
	// artifact tells that it is one.
	artifact bool
	question gitQuestion
	// specs are the patterns of files in git.
	specs  []pathspec
	prefix string
	values map[string]any
}

func (*gitSource) pure() bool { return false }

// buildGit reads a git or oci generator. Where both directories and files are given, Argo CD uses
// directories alone (generateRepoSourceParams in applicationset/generators, Argo CD 3.6.1).
func (s *Set) buildGit(kind string, tree map[string]any, at Path, issues *Issues) source {
	known := true
	text := func(key string) string {
		out, ok := literal(tree[key], at.With(key), issues)
		known = known && ok
		return out
	}
	g := &gitSource{at: at, artifact: kind == "oci", prefix: text("pathParamPrefix")}
	g.question = gitQuestion{RepoURL: text("repoURL"), Revision: text("revision")}
	directories, dirsKnown := gitPatterns(tree["directories"], at.With("directories"), issues)
	files, filesKnown := gitPatterns(tree["files"], at.With("files"), issues)
	var valuesKnown bool
	g.values, valuesKnown = s.buildValues(tree["values"], at.With("values"), issues)
	switch {
	case !dirsKnown || !filesKnown:
		return unknownSource{}
	case len(directories) > 0 && len(files) > 0:
		issues.fail(at.With("files"), SummaryInvalidGenerator, fmt.Sprintf("%s has both directories and files. Argo CD ignores files then: remove one of them.", at))
	case len(directories) > 0:
		g.question.Directories = directories
		checkPatterns(directories, at.With("directories"), issues)
	case len(files) > 0:
		if g.question.Files = files; g.artifact {
			checkGlobs(files, at.With("files"), issues)
		} else {
			g.specs = pathspecs(files, at.With("files"), issues)
		}
	default:
		issues.fail(at, SummaryInvalidGenerator, fmt.Sprintf("%s asks for nothing. Give directories or files.", at))
	}
	if known && hasPassword(g.question.RepoURL) {
		issues.fail(at.With("repoURL"), SummaryCredentials, passwordDetail(at.String(), g.question.RepoURL))
	}
	if known && g.question.RepoURL == "" {
		issues.fail(at.With("repoURL"), SummaryMissingField, fmt.Sprintf("%s is empty.", at.With("repoURL")))
	}
	if !known || !valuesKnown {
		return unknownSource{}
	}
	return g
}

// generatorProject is the project whose repositories a generator may use: that of the template, or
// "" when it is templated (resolveProjectName in applicationset/generators, Argo CD 3.6.1). It
// returns false when that is not known yet.
func (s *Set) generatorProject() (string, bool) {
	spec, _ := s.Template["spec"].(map[string]any)
	project, _ := spec["project"].(string)
	if isTemplated(project) {
		project = ""
	}
	return project, !IsUnknown(s.Template["spec"]) && !IsUnknown(spec["project"])
}

func gitPatterns(v any, at Path, issues *Issues) (out []gitPattern, known bool) {
	entries, ok := v.([]any)
	if known = ok || v == nil; !known {
		return nil, false
	}
	for i, entry := range entries {
		m, ok := entry.(map[string]any)
		pattern, literalOK := literal(m["path"], at.With(i, "path"), issues)
		if !ok || !literalOK || IsUnknown(m["exclude"]) {
			known = false
			continue
		}
		exclude, _ := m["exclude"].(bool)
		out = append(out, gitPattern{Path: pattern, Exclude: exclude})
	}
	return out, known
}

// checkPatterns refuses patterns that can match nothing; Argo CD logs and ignores them.
func checkPatterns(patterns []gitPattern, at Path, issues *Issues) {
	for i, p := range patterns {
		if _, err := path.Match(p.Path, ""); err != nil {
			issues.fail(at.With(i, "path"), SummaryInvalidGenerator, fmt.Sprintf("%q is not a pattern of paths: %s.", p.Path, err))
		}
	}
}

func (g *gitSource) params(e *evaluation) ([]paramSet, bool) {
	q := g.question
	var ok bool
	if q.Project, ok = e.set.generatorProject(); !ok {
		return nil, false
	}
	asked, fetch := question{Git: &q}, g.fetchTree
	if g.artifact {
		asked, fetch = question{OCI: &q}, g.fetchArtifact
	}
	a, ok := e.ask(g.at, asked, func() (answer, error) { return fetch(e, q) })
	if !ok {
		return nil, false
	}
	var sets []paramSet
	for _, directory := range a.Directories {
		params := map[string]any{}
		pathParams(params, g.prefix, directory, "", e.set.GoTemplate)
		sets = append(sets, paramSet{at: named{g.at[1:], "directory", directory}, values: params})
	}
	for _, file := range a.Files {
		for i, object := range file.Objects {
			origin := named{g.at[1:], "file", file.Path}
			if len(file.Objects) > 1 {
				origin.name += "[" + strconv.Itoa(i) + "]"
			}
			params := objectParams(object, e.set.GoTemplate)
			pathParams(params, g.prefix, path.Dir(file.Path), path.Base(file.Path), e.set.GoTemplate)
			sets = append(sets, paramSet{at: origin, values: params})
		}
	}
	if !e.fits(len(sets), g.at) {
		return nil, false
	}
	for _, set := range sets {
		ok = e.appendValues(g.at.With("values"), g.values, set.values.(map[string]any), set.at) && ok
	}
	return sets, ok
}

func (g *gitSource) fetchTree(e *evaluation, q gitQuestion) (answer, error) {
	tree, err := e.inputs.Tree(e.ctx, q.RepoURL, q.Revision, q.Project)
	if err != nil {
		return answer{}, err
	}
	out := answer{Commit: tree.Commit()}
	if len(q.Directories) > 0 {
		out.Directories = matchDirectories(q.Directories, tree.Directories())
		return out, nil
	}
	names := slices.DeleteFunc(slices.Clone(tree.Files()), func(name string) bool { return !selected(g.specs, name) })
	if out.Files, err = readFiles(names, tree.Read); err != nil {
		err = fmt.Errorf("%s at %s: %w", redactURL(q.RepoURL), tree.Commit(), err)
	}
	return out, err
}

// matchDirectories keeps the directories that some pattern includes and none excludes. Hidden ones
// and all below them are never among them (walkDirectoryTree in reposerver, Argo CD 3.6.1).
func matchDirectories(patterns []gitPattern, directories []string) []string {
	var out []string
	for _, directory := range directories {
		if strings.HasPrefix(directory, ".") || strings.Contains(directory, "/.") {
			continue
		}
		included, excluded := false, false
		for _, p := range patterns {
			if matches, _ := path.Match(p.Path, directory); matches {
				included, excluded = included || !p.Exclude, excluded || p.Exclude
			}
		}
		if included && !excluded {
			out = append(out, directory)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	return out
}

// objectParams are those of an object in a file, or of a plugin: flat texts with goTemplate off.
func objectParams(object map[string]any, goTemplate bool) map[string]any {
	out := make(map[string]any, len(object)+6)
	if goTemplate {
		maps.Copy(out, object)
	} else {
		flattenTree(out, object, "")
	}
	return out
}

// pathParams adds the parameters that tell where a directory or file is
// (applicationset/generators/repo_path_utils.go, Argo CD 3.6.1). They win over keys of a file.
func pathParams(params map[string]any, prefix, directory, file string, goTemplate bool) {
	segments := strings.Split(directory, "/")
	all := map[string]any{
		"basename": path.Base(directory), "basenameNormalized": normalizeName(path.Base(directory)),
	}
	if file != "" {
		all["filename"], all["filenameNormalized"] = file, normalizeName(file)
	}
	if !goTemplate {
		name := "path"
		if prefix != "" {
			name = prefix + ".path"
		}
		params[name] = directory
		for key, v := range all {
			params[name+"."+key] = v
		}
		for i, segment := range segments {
			if segment != "" {
				params[name+"["+strconv.Itoa(i)+"]"] = segment
			}
		}
		return
	}
	all["path"], all["segments"] = directory, segments
	if prefix != "" {
		params[prefix] = map[string]any{"path": all}
	} else {
		params["path"] = all
	}
}

// redactURL drops user and password from an address.
func redactURL(address string) string {
	if u, err := url.Parse(address); err == nil {
		if u.User == nil {
			return address
		}
		u.User = nil
		return u.String()
	}
	scheme, rest, isURL := strings.Cut(address, "://")
	if i := strings.LastIndex(rest, "@"); isURL && i >= 0 {
		return scheme + "://" + rest[i+1:]
	}
	return address
}
