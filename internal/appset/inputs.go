package appset

import "context"

// Inputs answers what generators ask of the world outside of the set. Whoever implements it must
// give an error rather than a part of the answer: a generator that fails is never an empty one.
// Errors are shown to the user as they are, and must not hold credentials.
type Inputs interface {
	// Clusters are all clusters that Argo CD knows by a Secret, in any order. Its own cluster is
	// among them only if there is a Secret for it.
	Clusters(ctx context.Context) ([]Cluster, error)
	// Tree is the content of a git repository at a revision. repoURL and revision are as written in
	// the generator; revision may be "", a branch, a tag, a full name or a commit. project is that
	// of the template, "" if it is templated: credentials of a project are for its repositories only.
	Tree(ctx context.Context, repoURL, revision, project string) (Tree, error)
	// Artifact is the content of an OCI artifact at a revision: a tag, a constraint on the versions that tags
	// are, or a digest. repoURL and project are as for Tree.
	Artifact(ctx context.Context, repoURL, revision, project string) (Artifact, error)
	// Plugin calls the plugin that a ConfigMap of Argo CD's namespace describes, and returns
	// output.parameters of its answer.
	Plugin(ctx context.Context, call PluginCall) ([]map[string]any, error)
	// Decisions are the entries of the status lists of the resources selected.
	Decisions(ctx context.Context, query DecisionQuery) (Decisions, error)
}

// Redactor is what [Inputs] may be as well: it hides, in a text, the credentials that were used to get
// answers. What is wrong with answers is told in texts that have parts of them.
type Redactor interface {
	Redact(text string) string
}

// Cluster is what a cluster Secret tells of a cluster; never its credentials.
type Cluster struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Project string `json:"project,omitempty"`
	// Labels and Annotations are those of the Secret.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Secret is namespace/name of a Secret that has no name or no server for the cluster: nothing else
	// tells which one is meant.
	Secret string `json:"secret,omitempty"`
}

// Tree is a git commit. Its methods may be called by several goroutines.
type Tree interface {
	// Commit is the full SHA.
	Commit() string
	// Directories are the paths of all directories, sorted, without the root; with "/" between their
	// parts. A submodule is a directory as well, a symbolic link is not.
	Directories() []string
	// Files are the paths of all files, sorted; symbolic links are among them.
	Files() []string
	// Read is the content of a file. A symbolic link is followed within the repository only.
	Read(path string) ([]byte, error)
}

// Artifact is an OCI artifact. Its methods may be called by several goroutines.
type Artifact interface {
	// Digest is that of the manifest, with its algorithm.
	Digest() string
	// Directories are as those of a [Tree]; a symbolic link is none of them.
	Directories() []string
	// Glob are the paths of the files that match a pattern of github.com/bmatcuk/doublestar, sorted; "" and "."
	// mean all files. Symbolic links are followed within the artifact only.
	Glob(pattern string) ([]string, error)
	// Read is the content of a file.
	Read(path string) ([]byte, error)
}

// PluginCall is a request to a plugin.
type PluginCall struct {
	// ConfigMap is the name in Argo CD's namespace.
	ConfigMap string `json:"configMap"`
	// Set is the name of the ApplicationSet.
	Set string `json:"set"`
	// Parameters are those of input.parameters.
	Parameters map[string]any `json:"parameters,omitempty"`
}

// DecisionQuery selects resources that decide about clusters.
type DecisionQuery struct {
	// ConfigMap is the name in Argo CD's namespace: it says which kind of resource is meant.
	ConfigMap string `json:"configMap"`
	// Name is that of one resource; otherwise Labels select.
	Name   string         `json:"name,omitempty"`
	Labels map[string]any `json:"labels,omitempty"`
}

// Decisions are entries in the order of the resources' names, and of the lists.
type Decisions struct {
	// MatchKey is the key whose value is the name of a cluster.
	MatchKey string           `json:"matchKey"`
	Entries  []map[string]any `json:"entries,omitempty"`
}
