package argocd

import (
	"strings"
	"testing"
	"time"
)

// object is one of Kubernetes, or a part of it.
type object = map[string]any

// windowsOf are the sync windows of the AppProject "shop".
func windowsOf(windows ...object) SyncWindows {
	var all []any
	for _, w := range windows {
		all = append(all, w)
	}
	return ReadSyncWindows(object{"metadata": object{"name": "shop"}, "spec": object{"syncWindows": all}})
}

// window is one that opens by this schedule.
func window(kind, schedule, duration string, more ...object) object {
	w := object{"kind": kind, "schedule": schedule, "duration": duration, "applications": []any{"*"}}
	for _, m := range more {
		for k, v := range m {
			w[k] = v
		}
	}
	return w
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestASyncWindowCountsForTheApplicationsThatItNames(t *testing.T) {
	app := object{
		"metadata": object{"name": "shop-prod-eu"},
		"spec":     object{"destination": object{"server": "https://eu.example.com", "namespace": "shop"}},
	}
	named := object{
		"metadata": object{"name": "shop-prod-eu"},
		"spec":     object{"destination": object{"name": "eu", "namespace": "shop"}},
	}
	in := func(kind string, patterns ...any) object { return object{kind: patterns} }
	for _, c := range []struct {
		name   string
		app    object
		window []object
		want   bool
	}{
		{"nothing is named", app, nil, false},
		{"the name fits a glob", app, []object{in("applications", "shop-*-eu")}, true},
		{"a star crosses dashes and matches everything", app, []object{in("applications", "*")}, true},
		{"another name", app, []object{in("applications", "shop-prod-us")}, false},
		{"one of several globs fits", app, []object{in("applications", "other", "shop-*")}, true},
		{"an exclamation mark denies nothing", app, []object{in("applications", "!other")}, false},
		{"a glob that does not compile matches nothing", app, []object{in("applications", "[shop")}, false},
		{"the namespace that is deployed to fits", app, []object{in("namespaces", "sh?p")}, true},
		{"the server of the cluster fits", app, []object{in("clusters", "https://*.example.com")}, true},
		{"the name of a cluster is not looked up from its server", app, []object{in("clusters", "eu")}, false},
		{"the cluster is named in the destination", named, []object{in("clusters", "eu")}, true},
		{"the server of a cluster is not looked up from its name", named, []object{in("clusters", "https://eu.example.com")}, false},
		{"one of two suffices", app, []object{in("applications", "other"), in("namespaces", "shop")}, true},
		{"one of two does not suffice with andOperator", app, []object{in("applications", "other"), in("namespaces", "shop"), {"andOperator": true}}, false},
		{"both of two with andOperator", app, []object{in("clusters", "https://*"), in("namespaces", "shop"), {"andOperator": true}}, true},
		{"all of three with andOperator", app, []object{in("applications", "shop-*"), in("clusters", "*"), in("namespaces", "shop"), {"andOperator": true}}, true},
		{"two of three with andOperator", app, []object{in("applications", "shop-*"), in("clusters", "us"), in("namespaces", "shop"), {"andOperator": true}}, false},
		{"nothing is named with andOperator", app, []object{{"andOperator": true}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := window("deny", "* * * * *", "1h", append([]object{{"applications": []any{}}}, c.window...)...)
			if got := windowsOf(w).Matching(c.app); len(got) > 0 != c.want {
				t.Errorf("it counts: %v, want %v", len(got) > 0, c.want)
			}
		})
	}
}

func TestSyncWindowsHoldSyncsBackAsArgoCDDoes(t *testing.T) {
	// A Wednesday.
	const at = "2026-01-14 12:30:00"
	manual, berlin := object{"manualSync": true}, object{"timeZone": "Europe/Berlin"}
	for _, c := range []struct {
		name    string
		windows SyncWindows
		at      string
		// automated and manual are the schedules of the windows that hold a sync back, joined by a comma.
		automated, manual string
	}{
		{"no windows", nil, at, "", ""},
		{"a deny window that is open", windowsOf(window("deny", "0 12 * * *", "1h")), at, "0 12 * * *", "0 12 * * *"},
		{"a deny window that is over", windowsOf(window("deny", "0 12 * * *", "29m")), at, "", ""},
		{"a deny window at the instant of its begin", windowsOf(window("deny", "30 12 * * *", "1h")), at, "", ""},
		{"a deny window a second after its begin", windowsOf(window("deny", "30 12 * * *", "1h")), "2026-01-14 12:30:01", "30 12 * * *", "30 12 * * *"},
		{"a deny window at the instant of its end", windowsOf(window("deny", "30 11 * * *", "1h")), at, "", ""},
		{"a deny window a second before its end", windowsOf(window("deny", "30 11 * * *", "1h")), "2026-01-14 12:29:59", "30 11 * * *", "30 11 * * *"},
		{"a deny window that lets manual syncs pass", windowsOf(window("deny", "0 12 * * *", "1h", manual)), at, "0 12 * * *", ""},
		{"two deny windows of which one lets manual syncs pass", windowsOf(window("deny", "0 12 * * *", "1h", manual), window("deny", "1 12 * * *", "1h")), at,
			"0 12 * * *,1 12 * * *", "1 12 * * *"},
		{"a deny window on another day of the week", windowsOf(window("deny", "0 12 * * 0,6", "1h")), at, "", ""},
		{"a deny window that has begun the day before", windowsOf(window("deny", "0 20 * * 2", "20h")), at, "0 20 * * 2", "0 20 * * 2"},
		{"an allow window that is open", windowsOf(window("allow", "0 12 * * *", "1h")), at, "", ""},
		{"an allow window that is not open", windowsOf(window("allow", "0 13 * * *", "1h")), at, "0 13 * * *", "0 13 * * *"},
		{"an allow window that is not open lets manual syncs pass", windowsOf(window("allow", "0 13 * * *", "1h", manual)), at, "0 13 * * *", ""},
		{"one of two allow windows is open", windowsOf(window("allow", "0 13 * * *", "1h"), window("allow", "0 12 * * *", "1h")), at, "", ""},
		{"a deny window wins over an allow window", windowsOf(window("allow", "0 12 * * *", "1h"), window("deny", "0 12 * * *", "45m")), at, "0 12 * * *", "0 12 * * *"},
		{"a deny window that lets manual syncs pass wins over allow windows that do not", windowsOf(window("allow", "0 13 * * *", "1h"), window("deny", "0 12 * * *", "45m", manual)), at,
			"0 12 * * *", ""},
		{"a kind that there is not", windowsOf(window("refuse", "0 12 * * *", "1h")), at, "", ""},
		{"a time zone in winter", windowsOf(window("deny", "15 13 * * *", "30m", berlin)), at, "15 13 * * *", "15 13 * * *"},
		{"a time zone in summer", windowsOf(window("deny", "15 14 * * *", "30m", berlin)), "2026-07-14 12:30:00", "15 14 * * *", "15 14 * * *"},
		{"the hour of winter in summer", windowsOf(window("deny", "15 13 * * *", "30m", berlin)), "2026-07-14 12:30:00", "", ""},
		{"a time zone that there is not counts as UTC", windowsOf(window("deny", "15 12 * * *", "30m", object{"timeZone": "Europe/Atlantis"})), at, "15 12 * * *", "15 12 * * *"},
		{"the local time zone is that of Argo CD", windowsOf(window("deny", "15 12 * * *", "30m", object{"timeZone": "Local"})), at, "15 12 * * *", "15 12 * * *"},
		{"a day that there is not is always open", windowsOf(window("deny", "0 0 30 2 *", "1m")), at, "0 0 30 2 *", "0 0 30 2 *"},
		{"a negative duration", windowsOf(window("deny", "* * * * *", "-1h")), at, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for manual, want := range map[bool]string{false: c.automated, true: c.manual} {
				got := ""
				if closed := c.windows.Closed(manual, instant(t, c.at)); closed != nil {
					var schedules []string
					for _, w := range closed.Windows {
						schedules = append(schedules, w.Schedule)
					}
					got = strings.Join(schedules, ",")
					if closed.Err != nil || got == "" {
						t.Errorf("manual %v: %+v", manual, closed)
					}
				}
				if got != want {
					t.Errorf("manual %v: held back by %q, want %q", manual, got, want)
				}
			}
		})
	}
}

func TestASyncWindowThatCannotBeReadHoldsEverySyncBack(t *testing.T) {
	at := instant(t, "2026-01-14 12:30:00")
	for name, c := range map[string]struct {
		window object
		want   string
	}{
		"a schedule that is no cron":             {window("deny", "noon", "1h"), "cannot parse schedule 'noon': expected exactly 5 fields, found 1: [noon]"},
		"a schedule with seconds":                {window("allow", "0 0 12 * * *", "1h"), "cannot parse schedule '0 0 12 * * *': expected exactly 5 fields, found 6: [0 0 12 * * *]"},
		"a schedule by name":                     {window("deny", "@daily", "1h"), "cannot parse schedule '@daily': parser does not accept descriptors: @daily"},
		"no schedule":                            {window("deny", "", "1h"), "cannot parse schedule '': empty spec string"},
		"a schedule that is only a time zone":    {window("deny", "TZ=UTC", "1h"), "cannot parse schedule 'TZ=UTC': a time zone alone"},
		"no duration":                            {window("deny", "0 12 * * *", ""), `cannot parse duration '': time: invalid duration ""`},
		"a duration in days":                     {window("deny", "0 12 * * *", "1d"), `cannot parse duration '1d': time: unknown unit "d" in duration "1d"`},
		"a kind that there is not, all the same": {window("refuse", "noon", "1h"), "cannot parse schedule 'noon': expected exactly 5 fields, found 1: [noon]"},
	} {
		t.Run(name, func(t *testing.T) {
			windows := windowsOf(window("allow", "* * * * *", "1h", object{"manualSync": true}), c.window)
			for _, manual := range []bool{false, true} {
				closed := windows.Closed(manual, at)
				if closed == nil || closed.Err == nil || closed.Err.Error() != c.want || len(closed.Windows) != 1 || closed.Windows[0].Schedule != windows[1].Schedule {
					t.Errorf("manual %v: %+v, want %q", manual, closed, c.want)
				}
			}
			if opens := windows.Opens(false, at); !opens.IsZero() {
				t.Errorf("it opens at %s", opens)
			}
			if other := windows[:1].Closed(false, at); other != nil {
				t.Errorf("an Application that it does not count for is held back: %+v", other)
			}
		})
	}
}

func TestWhenSyncsArePossibleAgainIsToldWhereItIsCertain(t *testing.T) {
	const at = "2026-01-14 12:30:00"
	berlin := object{"timeZone": "Europe/Berlin"}
	for _, c := range []struct {
		name    string
		windows SyncWindows
		at      string
		want    string
	}{
		{"at the end of a deny window", windowsOf(window("deny", "0 12 * * *", "1h")), at, "2026-01-14 13:00:00"},
		{"at the end of the last of two deny windows", windowsOf(window("deny", "0 12 * * *", "1h"), window("deny", "45 12 * * *", "1h")), at, "2026-01-14 13:45:00"},
		{"where a deny window follows after a minute, before it", windowsOf(window("deny", "0 12 * * *", "1h"), window("deny", "1 13 * * *", "1h")), at, "2026-01-14 13:00:00"},
		{"where a deny window follows at once, after it", windowsOf(window("deny", "0 12 * * *", "1h"), window("deny", "0 13 * * *", "1h")), at, "2026-01-14 14:00:00"},
		{"at the end of a deny window that opens anew every quarter of an hour", windowsOf(window("deny", "*/15 9-16 * * *", "15m")), "2026-01-14 12:31:00", "2026-01-14 17:00:00"},
		{"at the begin of an allow window", windowsOf(window("allow", "0 22 * * 6", "2h")), at, "2026-01-17 22:00:00"},
		{"at the first of two allow windows", windowsOf(window("allow", "0 22 * * 6", "2h"), window("allow", "0 22 * * 4", "2h")), at, "2026-01-15 22:00:00"},
		{"at an allow window that is left when the deny window ends", windowsOf(window("allow", "0 13 * * *", "2h"), window("deny", "0 12 * * *", "2h")), at, "2026-01-14 14:00:00"},
		{"in its time zone", windowsOf(window("deny", "0 12 * * *", "3h", berlin)), at, "2026-01-14 14:00:00"},
		{"not where the clocks change before", windowsOf(window("allow", "0 2 1 4 *", "1h", berlin)), at, ""},
		{"after the clocks have changed twice", windowsOf(window("allow", "0 2 1 12 *", "1h", berlin)), at, "2026-12-01 01:00:00"},
		{"never, as it opens anew every minute", windowsOf(window("deny", "* * * * *", "1h")), at, ""},
		{"never, as no day meets the schedule", windowsOf(window("deny", "0 0 30 2 *", "1h")), at, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := instant(t, c.at)
			if c.windows.Closed(false, now) == nil {
				t.Fatal("nothing is held back")
			}
			opens := c.windows.Opens(false, now)
			if c.want == "" {
				if !opens.IsZero() {
					t.Errorf("it says %s", opens)
				}
				return
			}
			if want := instant(t, c.want); !opens.Equal(want) {
				t.Errorf("it says %s, want %s", opens, want)
			}
			if c.windows.Closed(false, opens.Add(time.Second)) != nil {
				t.Error("a second later syncs are still held back")
			}
		})
	}
}
