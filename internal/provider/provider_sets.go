package provider

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sets is what the resources of one run of the provider tell each other of their sets, each by its
// namespace/name. Terraform calls in any order, so what is missing proves nothing.
type sets struct {
	mu sync.Mutex
	// found are the sets in the state, as Read has found them.
	found map[string]foundSet
	// planned are the sets that were planned, with the names of their Applications.
	planned map[string][]string
	// claimed are those Applications by namespace/name, each with its set.
	claimed map[string]string
	// handed are the sets that were handed over to the create that follows, with the steps that its
	// plan has left open.
	handed map[string][]string
	// former are those sets as they were handed over.
	former map[string]storedObject
	// begun are the sets that a create of this run has begun, with their tokens.
	begun map[string]string
	// stored are the objects in the state, by their set, as Read has read them: more than one where some are deposed.
	stored map[string][]storedObject
}

// storedObject is what an object in Terraform's state knows of its set. What replaces a tainted object, and the deletion
// of that, see nothing of its private state, so that it reaches them by the plan: see phase.
type storedObject struct {
	// Token is as in owner; empty where it is not known.
	Token string  `json:"token,omitempty"`
	Home  cluster `json:"home"`
}

// foundSet is what a plan may need of a set that is live.
type foundSet struct {
	waves waves
	// unfinished is as in targets.
	unfinished map[string]string
	// destinations are those of its Applications, by name: see destinationsOf.
	destinations map[string]*unstructured.Unstructured
}

func (s *sets) keepFound(set string, found foundSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		s.found = map[string]foundSet{}
	}
	s.found[set] = found
}

func (s *sets) foundOf(set string) (foundSet, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.found[set]
	return found, ok
}

// claim notes the Applications that a set is to have. It returns those that another set is to have
// as well: name -> that set.
func (s *sets) claim(set, namespace string, names []string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.planned == nil {
		s.planned, s.claimed = map[string][]string{}, map[string]string{}
	}
	for _, name := range s.planned[set] {
		if at := namespace + "/" + name; s.claimed[at] == set {
			delete(s.claimed, at)
		}
	}
	s.planned[set] = names
	taken := map[string]string{}
	for _, name := range names {
		at := namespace + "/" + name
		if other := s.claimed[at]; other != "" {
			taken[name] = other
		} else {
			s.claimed[at] = set
		}
	}
	return taken
}

// knows tells that the set belongs to a resource of this run: what it has now says nothing of what it
// is to have.
func (s *sets) knows(set string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.found[set]
	_, planned := s.planned[set]
	return found || planned
}

func (s *sets) handOver(set string, open []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handed == nil {
		s.handed = map[string][]string{}
	}
	s.handed[set] = open
}

func (s *sets) keepStored(set string, object storedObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil {
		s.stored = map[string][]storedObject{}
	}
	s.stored[set] = append(s.stored[set], object)
}

// storedOf are the objects among which the one is that the creation of a set may replace: those of the set itself and, as it
// may have been renamed, those of sets that were not planned in this run.
func (s *sets) storedOf(set string) map[string][]storedObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]storedObject{}
	for name, objects := range s.stored {
		if _, planned := s.planned[name]; name == set || !planned {
			out[name] = slices.Clone(objects)
		}
	}
	return out
}

func (s *sets) keepFormer(set string, former storedObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former == nil {
		s.former = map[string]storedObject{}
	}
	s.former[set] = former
}

// formerOf is empty for a set that was not handed over in this run.
func (s *sets) formerOf(set string) storedObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.former[set]
}

func (s *sets) begin(set, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun == nil {
		s.begun = map[string]string{}
	}
	s.begun[set] = token
}

// hasBegun tells whether a create of this run has given the set its token.
func (s *sets) hasBegun(set, token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token != "" && s.begun[set] == token
}

// handedOver tells whether the set was handed over in this run, which is an apply then.
func (s *sets) handedOver(set string) (open []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, ok = s.handed[set]
	return open, ok
}
