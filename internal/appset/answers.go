package appset

import (
	"encoding/json"
	"fmt"
	"maps"
)

// answersVersion is the version of the JSON of [Answers].
const answersVersion = 1

// Answers are what generators were told by the world outside: every question with its answer,
// reduced to what the question needs. A set that is rendered with the answers of an earlier rendering
// gives the same Applications, whatever has happened since. There is nothing secret in them: of a
// cluster only its name, server, project, labels and annotations, and which Secret it is of where that has
// no name or no server; of a repository only what was asked for.
//
// The zero value holds no answer. Answers are read only.
type Answers struct {
	// entries by the canonical JSON of the question.
	entries map[string]answer
}

// question is what a generator asks; exactly one field is set. Everything in it is resolved: what the
// first generator of a matrix puts into the second is in its place.
type question struct {
	Clusters  *clustersQuestion  `json:"clusters,omitempty"`
	Git       *gitQuestion       `json:"git,omitempty"`
	OCI       *gitQuestion       `json:"oci,omitempty"`
	Plugin    *PluginCall        `json:"plugin,omitempty"`
	Decisions *decisionsQuestion `json:"decisions,omitempty"`
}

type clustersQuestion struct {
	Selector map[string]any `json:"selector,omitempty"`
}

// gitQuestion asks a git repository, or an OCI artifact.
type gitQuestion struct {
	RepoURL     string       `json:"repoURL"`
	Revision    string       `json:"revision,omitempty"`
	Project     string       `json:"project,omitempty"`
	Directories []gitPattern `json:"directories,omitempty"`
	Files       []gitPattern `json:"files,omitempty"`
}

type decisionsQuestion struct {
	DecisionQuery
}

// answer holds the field that belongs to its question.
type answer struct {
	// Clusters are those that the selector matches, sorted by name.
	Clusters []knownCluster `json:"clusters,omitempty"`
	// Commit is the full SHA of the revision, Digest that of an artifact's manifest.
	Commit string `json:"commit,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Directories are those that match, in Argo CD's order; Files as well.
	Directories []string    `json:"directories,omitempty"`
	Files       []knownFile `json:"files,omitempty"`
	// Parameters are those of the plugin.
	Parameters []map[string]any `json:"parameters,omitempty"`
	// Decisions are the parameters of the entries whose cluster is known.
	Decisions []map[string]string `json:"decisions,omitempty"`
}

// knownCluster keeps annotations apart that are empty (there were only hidden ones) and missing.
type knownCluster struct {
	Name        string            `json:"name"`
	Server      string            `json:"server"`
	Project     string            `json:"project,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations"`
	// Secret is as in [Cluster].
	Secret string `json:"secret,omitempty"`
}

// knownFile is a file with the objects that it holds.
type knownFile struct {
	Path    string           `json:"path"`
	Objects []map[string]any `json:"objects"`
}

// key is the canonical form of a question.
func (q question) key() (string, error) {
	text, err := json.Marshal(q)
	return string(text), err
}

// Empty reports whether nothing was asked.
func (a Answers) Empty() bool { return len(a.entries) == 0 }

// Len is the number of questions.
func (a Answers) Len() int { return len(a.entries) }

type answersJSON struct {
	Version int         `json:"version"`
	Entries []entryJSON `json:"entries"`
}

type entryJSON struct {
	Question json.RawMessage `json:"question"`
	Answer   answer          `json:"answer"`
}

// MarshalJSON writes the answers sorted by question: the same answers are the same text.
func (a Answers) MarshalJSON() ([]byte, error) {
	out := answersJSON{Version: answersVersion, Entries: []entryJSON{}}
	for _, key := range sortedKeys(a.entries) {
		out.Entries = append(out.Entries, entryJSON{Question: json.RawMessage(key), Answer: a.entries[key]})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote; another version is an error.
func (a *Answers) UnmarshalJSON(text []byte) error {
	var in answersJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Version != answersVersion {
		return fmt.Errorf("the recorded answers of the generators have version %d; this provider knows version %d", in.Version, answersVersion)
	}
	entries := make(map[string]answer, len(in.Entries))
	for _, entry := range in.Entries {
		var q question
		if err := json.Unmarshal(entry.Question, &q); err != nil {
			return err
		}
		key, err := q.key()
		if err != nil {
			return err
		}
		entries[key] = entry.Answer
	}
	a.entries = entries
	return nil
}

// With returns the answers together with those of other, which win.
func (a Answers) With(other Answers) Answers {
	entries := make(map[string]answer, len(a.entries)+len(other.entries))
	maps.Copy(entries, a.entries)
	maps.Copy(entries, other.entries)
	return Answers{entries: entries}
}
