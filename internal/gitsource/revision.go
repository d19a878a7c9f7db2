package gitsource

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// references are the names that a repository has, with what they point at: commits, or tags of commits.
type references struct {
	head   plumbing.Hash // zero if HEAD points nowhere
	byName map[string]plumbing.Hash
	// commits are what annotated tags point at, where the server has said so.
	commits map[string]plumbing.Hash
}

func advertised(adv *packp.AdvRefs) references {
	r := references{byName: adv.References, commits: adv.Peeled}
	if adv.Head != nil {
		r.head = *adv.Head
	}
	return r
}

// tips are all objects that have a name, sorted.
func (r references) tips() []plumbing.Hash {
	var found []plumbing.Hash
	if !r.head.IsZero() {
		found = append(found, r.head)
	}
	for _, hash := range r.byName {
		found = append(found, hash)
	}
	plumbing.HashesSort(found)
	return slices.Compact(found)
}

func (r references) isTip(hash plumbing.Hash) bool {
	if r.head == hash {
		return true
	}
	for _, h := range r.byName {
		if h == hash {
			return true
		}
	}
	return false
}

// withPrefix are the commits with a name whose SHA begins with prefix, sorted.
func (r references) withPrefix(prefix string) []plumbing.Hash {
	var found []plumbing.Hash
	for name, hash := range r.byName {
		if peeled, ok := r.commits[name]; ok {
			hash = peeled
		}
		if strings.HasPrefix(hash.String(), prefix) {
			found = append(found, hash)
		}
	}
	plumbing.HashesSort(found)
	return slices.Compact(found)
}

var (
	fullPattern  = regexp.MustCompile(`^[0-9A-Fa-f]{40}$`)
	shortPattern = regexp.MustCompile(`^[0-9A-Fa-f]{7,39}$`)
)

// shortNames are the ways in which git completes a name, in its order of preference.
var shortNames = []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"}

// resolution is what a revision means.
type resolution struct {
	// hash is zero if only a prefix of it is known.
	hash   plumbing.Hash
	prefix string
}

// resolve follows LsRemote (util/git/client.go, Argo CD 3.6.1): a full SHA is taken as it is; then a
// constraint on versions means the highest tag that satisfies it; then names; then 7 and more hex
// digits are the beginning of a SHA. Where Argo CD picks one at random among a branch and a tag of
// the same name, this is an error.
func (r references) resolve(revision string) (resolution, error) {
	if fullPattern.MatchString(revision) {
		return resolution{hash: plumbing.NewHash(strings.ToLower(revision))}, nil
	}
	if revision == "" || revision == "HEAD" {
		if r.head.IsZero() {
			return resolution{}, fail(Revision, "its HEAD points at a branch that does not exist: name a branch")
		}
		return resolution{hash: r.head}, nil
	}
	name, constraint := r.version(revision)
	found := map[plumbing.Hash][]string{}
	for _, prefix := range shortNames {
		if hash, ok := r.byName[prefix+name]; ok {
			if prefix == "" {
				return resolution{hash: hash}, nil
			}
			found[hash] = append(found[hash], prefix+name)
		}
	}
	switch {
	case len(found) == 1:
		for hash := range found {
			return resolution{hash: hash}, nil
		}
	case len(found) > 1:
		var names []string
		for _, n := range found {
			names = append(names, n...)
		}
		slices.Sort(names)
		return resolution{}, fail(Revision, "%q means %s, which are different commits: write the full name", name, strings.Join(names, " and "))
	case shortPattern.MatchString(revision):
		return resolution{prefix: strings.ToLower(revision)}, nil
	case constraint:
		return resolution{}, fail(Revision, "none of its %d tags is a version that satisfies %q, and no branch has that name", len(r.tags()), revision)
	}
	return resolution{}, fail(Revision, "it has no branch, no tag and no commit %q", revision)
}

// version is the highest tag that satisfies a constraint, or revision itself.
func (r references) version(revision string) (name string, constraint bool) {
	highest, constraint := HighestVersion(revision, r.tags())
	if highest == "" {
		return revision, constraint
	}
	return highest, constraint
}

// HighestVersion is the highest of the tags that satisfies a constraint, empty if there is none. constraint
// is false if revision is a version, or nothing of the sort. See MaxVersion (util/versions/tags.go, Argo CD 3.6.1).
func HighestVersion(revision string, tags []string) (highest string, constraint bool) {
	if _, err := semver.NewVersion(revision); err == nil {
		return "", false
	}
	wanted, err := semver.NewConstraint(revision)
	if err != nil {
		return "", false
	}
	var found *semver.Version
	for _, tag := range tags {
		v, err := semver.NewVersion(tag)
		if err == nil && wanted.Check(v) && (found == nil || v.GreaterThan(found)) {
			found = v
		}
	}
	if found == nil {
		return "", true
	}
	return found.Original(), true
}

// tags are the names of all tags, sorted.
func (r references) tags() []string {
	var found []string
	for name := range r.byName {
		if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
			found = append(found, tag)
		}
	}
	slices.Sort(found)
	return found
}
