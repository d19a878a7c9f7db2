package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Sync is the sync of an Application that is to come.
type Sync struct {
	// App is the Application as it is rendered.
	App map[string]any
	// Manual tells that it counts as one that a person has started.
	Manual bool
}

// HeldBack are Applications whose syncs Argo CD would hold back now, all for the same reason.
type HeldBack struct {
	// Project is their AppProject.
	Project string
	// Apps are their names, in the order in which they were given.
	Apps []string
	Closed
	// Opens is when that ends; zero where it is not certain. See SyncWindows.Opens.
	Opens time.Time
}

// HeldBack tells which of these syncs Argo CD would hold back if they began now, sorted by AppProject. It reads the
// AppProjects, each once, and those that they inherit from, and does not try again what fails: every error, also that
// something may not be read, means that nothing can be told. One that does not exist holds nothing back here.
func (c *Client) HeldBack(ctx context.Context, syncs []Sync) ([]HeldBack, error) {
	windows, err := c.impatient().syncWindows(ctx, syncs)
	if err != nil {
		return nil, err
	}
	now, found, at := c.clock.Now(), []HeldBack(nil), map[string]int{}
	for _, s := range syncs {
		project := projectName(dict(s.App, "spec"))
		which := windows[project].counting(s.App)
		reason := fmt.Sprint(project, which, s.Manual)
		i, known := at[reason]
		if !known {
			i = -1
			counting := windows[project].at(which)
			if closed := counting.Closed(s.Manual, now); closed != nil {
				i = len(found)
				found = append(found, HeldBack{Project: project, Closed: *closed, Opens: counting.Opens(s.Manual, now)})
			}
			at[reason] = i
		}
		if i >= 0 {
			found[i].Apps = append(found[i].Apps, nameOf(s.App))
		}
	}
	slices.SortStableFunc(found, func(a, b HeldBack) int { return cmp.Compare(a.Project, b.Project) })
	return found, nil
}

// syncWindows are those of the AppProjects of these Applications, with what they inherit.
func (c *Client) syncWindows(ctx context.Context, syncs []Sync) (map[string]SyncWindows, error) {
	objects := map[string]map[string]any{}
	for _, s := range syncs {
		objects[projectName(dict(s.App, "spec"))] = nil
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		object, err := c.project(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			delete(objects, name)
		case err != nil:
			return nil, err
		default:
			objects[name] = object
		}
	}
	if len(objects) == 0 {
		return nil, nil
	}
	globals, err := c.globalProjects(ctx)
	if err != nil {
		return nil, err
	}
	windows := map[string]SyncWindows{}
	for name, object := range objects {
		windows[name] = globals.apply(object).windows
	}
	return windows, nil
}

var errImpatient = errors.New("not tried again")

// impatient is the client without its retries: for what nobody should wait for.
func (c *Client) impatient() *Client {
	out := *c
	out.retry.sleep = func(context.Context, time.Duration) error { return errImpatient }
	return &out
}
