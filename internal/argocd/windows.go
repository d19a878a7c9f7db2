package argocd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Argo CD's image has the time zones; this machine may not.

	"github.com/gobwas/glob"
	"github.com/robfig/cron/v3"
)

// The sync windows of an AppProject, re-implemented after SyncWindows.Matches and SyncWindows.CanSync in
// pkg/apis/application/v1alpha1/types.go, Argo CD 3.6.1. What a window allows an operation that has begun
// before (syncOverrun) is left out: nothing that is asked about here has begun.

// The kinds of sync windows; Argo CD looks at no other.
const (
	windowAllow = "allow"
	windowDeny  = "deny"
)

// SyncWindow is one entry of spec.syncWindows of an AppProject.
type SyncWindow struct {
	// Project is the AppProject that it stands in: that of the Application, or a global one.
	Project string
	// Kind is "allow" or "deny".
	Kind string
	// Schedule is when it opens, as cron writes it in five fields, and Duration for how long, e.g. "1h30m".
	Schedule, Duration string
	// TimeZone is that of the schedule, e.g. "Europe/Berlin". Argo CD takes UTC where it is empty or unknown.
	TimeZone string
	// ManualSync lets syncs pass that a person has started, while it is closed to others.
	ManualSync bool

	applications, clusters, namespaces patterns
	// and wants all of them to match that are given, and not just one.
	and bool

	opens  cron.Schedule
	length time.Duration
	zone   *time.Location
	err    error
}

// SyncWindows are several of them, in the order in which Argo CD looks at them.
type SyncWindows []SyncWindow

// ReadSyncWindows are those that stand in an AppProject itself. One that cannot be read is among them: see
// Closed.
func ReadSyncWindows(object map[string]any) SyncWindows {
	var windows SyncWindows
	for _, o := range objects(object, "spec", "syncWindows") {
		w := SyncWindow{
			Project: text(object, "metadata", "name"),
			Kind:    text(o, "kind"), Schedule: text(o, "schedule"), Duration: text(o, "duration"), TimeZone: text(o, "timeZone"),
			ManualSync: truth(o, "manualSync"), and: truth(o, "andOperator"),
			applications: compile(texts(o, "applications")), clusters: compile(texts(o, "clusters")), namespaces: compile(texts(o, "namespaces")),
		}
		w.parse()
		windows = append(windows, w)
	}
	return windows
}

// parse understands the times, with the parser of Argo CD's cron library, in the version that Argo CD pins.
func (w *SyncWindow) parse() {
	var err error
	if w.opens, err = parseSchedule(w.Schedule); err != nil {
		w.err = fmt.Errorf("cannot parse schedule '%s': %w", w.Schedule, err)
		return
	}
	if w.length, err = time.ParseDuration(w.Duration); err != nil {
		w.err = fmt.Errorf("cannot parse duration '%s': %w", w.Duration, err)
		return
	}
	if w.zone, err = time.LoadLocation(w.TimeZone); err != nil || w.zone == time.Local {
		w.zone = time.UTC // "Local" is the zone of Argo CD's container, which has none, and not of this machine
	}
}

func parseSchedule(text string) (cron.Schedule, error) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		if !strings.Contains(text, " ") {
			return nil, errors.New("a time zone alone") // the parser panics
		}
	}
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
}

// offset is that of the time zone. Argo CD moves the time by it, and lets the schedule run in UTC
// (scheduleOffsetByTimeZone).
func (w *SyncWindow) offset(at time.Time) time.Duration {
	_, seconds := at.In(w.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// open tells whether at is within the window. As in Argo CD, a schedule that no day ever meets is always open.
func (w *SyncWindow) open(at time.Time) bool {
	local := at.UTC().Add(w.offset(at))
	return w.opens.Next(local.Add(-w.length)).Before(local)
}

// Matching are those that count for an Application, which is given as it is rendered: by its name, and by
// the name and the server of its cluster and its namespace as they stand in its destination.
func (w SyncWindows) Matching(app map[string]any) SyncWindows { return w.at(w.counting(app)) }

// counting is Matching by indices.
func (w SyncWindows) counting(app map[string]any) []int {
	var which []int
	for i := range w {
		if w[i].matches(app) {
			which = append(which, i)
		}
	}
	return which
}

func (w SyncWindows) at(which []int) SyncWindows {
	var found SyncWindows
	for _, i := range which {
		found = append(found, w[i])
	}
	return found
}

func (w *SyncWindow) matches(app map[string]any) bool {
	destination := dict(app, "spec", "destination")
	cluster := slices.DeleteFunc([]string{text(destination, "name"), text(destination, "server")}, func(s string) bool { return s == "" })
	given, met := 0, 0
	for _, c := range []struct {
		patterns patterns
		values   []string
	}{{w.applications, []string{nameOf(app)}}, {w.clusters, cluster}, {w.namespaces, []string{text(destination, "namespace")}}} {
		if len(c.patterns) == 0 {
			continue
		}
		given++
		if slices.ContainsFunc(c.values, c.patterns.match) {
			met++
		}
	}
	return met > 0 && (!w.and || met == given)
}

// Closed is why Argo CD would hold a sync back.
type Closed struct {
	// Windows are those that do: deny windows that are open, or all allow windows where none is open. They
	// are empty if Err is set.
	Windows SyncWindows
	// Err is what Argo CD says of a window that it cannot read: it holds every sync back that the window
	// counts for, whatever the others say.
	Err error
}

// Closed tells why Argo CD would hold back, at this time, a new sync of an Application that all of these
// windows count for; nil where it would not. manual tells that the sync counts as one that a person has started.
func (w SyncWindows) Closed(manual bool, at time.Time) *Closed {
	var denied, allowed, shut SyncWindows
	for _, window := range w {
		if window.err != nil {
			return &Closed{Windows: SyncWindows{window}, Err: window.err}
		}
		switch open := window.open(at); {
		case window.Kind == windowDeny && open:
			denied = append(denied, window)
		case window.Kind == windowAllow && open:
			allowed = append(allowed, window)
		case window.Kind == windowAllow:
			shut = append(shut, window)
		}
	}
	closed := shut
	switch {
	case len(denied) > 0:
		closed = denied
	case len(allowed) > 0:
		return nil
	}
	if manual {
		closed = slices.DeleteFunc(closed, func(window SyncWindow) bool { return window.ManualSync })
	}
	if len(closed) == 0 {
		return nil
	}
	return &Closed{Windows: closed}
}

// mostLooks bounds the search for the end of a closed window: how often a schedule is asked for the next time.
// A window that opens every minute before it has ended, "* * * * *", never comes to an end.
const mostLooks = 3000

// Opens is when a sync that is held back at this time will not be any more, if nobody changes the windows.
// It is zero where that is not certain: never, or later than can be told, or the clocks of a time zone change before.
func (w SyncWindows) Opens(manual bool, at time.Time) time.Time {
	now, left := at, mostLooks
	for {
		var next time.Time
		for i := range w {
			change, ok := w[i].changes(now, &left)
			if !ok || w[i].offset(change) != w[i].offset(at) {
				return time.Time{}
			}
			if next.IsZero() || change.Before(next) {
				next = change
			}
		}
		now = next.Add(time.Second) // a window is open after its first instant
		if w.Closed(manual, now) == nil {
			return next
		}
	}
}

// changes is when the window opens or ends next; ok is false where that cannot be told. left is how often the schedule
// may still be asked.
func (w *SyncWindow) changes(now time.Time, left *int) (at time.Time, ok bool) {
	if w.err != nil {
		return time.Time{}, false
	}
	offset := w.offset(now)
	local := now.UTC().Add(offset)
	opened := w.opens.Next(local.Add(-w.length))
	if *left--; opened.IsZero() || !opened.Before(local) {
		return opened.Add(-offset), !opened.IsZero() && *left > 0
	}
	for *left > 0 {
		end := opened.Add(w.length)
		*left--
		if opened = w.opens.Next(opened); opened.IsZero() || opened.After(end) {
			return end.Add(-offset), true
		}
	}
	return time.Time{}, false
}

// patterns are globs in the library that Argo CD uses. One that does not compile matches nothing; "!" has
// no meaning here.
type patterns []*glob.Pattern

func compile(texts []string) patterns {
	all := make(patterns, len(texts))
	for i, text := range texts {
		if compiled, err := glob.Compile(text); err == nil {
			all[i] = compiled
		}
	}
	return all
}

func (p patterns) match(value string) bool {
	return slices.ContainsFunc(p, func(one *glob.Pattern) bool { return one != nil && one.Match(value) })
}
