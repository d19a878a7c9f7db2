package acceptance

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// catchUp waits until all that has happened has been seen: terraform may end before the watch tells of it. Where the API
// server was stopped by the test, what has been seen is all there is.
func (r *recorder) catchUp() {
	if r.f == nil {
		return // a recorder of what a test has made up
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := r.f.client.Resource(applications).Namespace(argoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	now, live := versionOf(list.GetResourceVersion()), map[string]uint64{}
	for _, app := range list.Items {
		if strings.HasPrefix(app.GetName(), r.f.name) {
			live[app.GetName()] = versionOf(app.GetResourceVersion())
		}
	}
	for !r.hasSeen(live, now) && pause(ctx, 10*time.Millisecond) == nil {
	}
}

// hasSeen tells whether the Applications that lived at a version of the cluster have been seen, and the end of the others.
func (r *recorder) hasSeen(live map[string]uint64, at uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return true // nothing more will be seen
	}
	for name, s := range r.last {
		// What has ended while the API server was away is never seen to.
		if live[name] == 0 && s.Version <= at && !r.f.fragile {
			return false
		}
	}
	for name, version := range live {
		// One that has been deleted since is not there any more.
		if s := r.last[name]; s != nil && s.Version < version || s == nil && !r.sawEnd(name, version) {
			return false
		}
	}
	return true
}

// sawEnd tells whether an Application was deleted after a version of it.
func (r *recorder) sawEnd(name string, version uint64) bool {
	return slices.ContainsFunc(r.states, func(s *appState) bool { return s.Name == name && s.Deleted && s.Version >= version })
}
