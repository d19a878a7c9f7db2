package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

const (
	// windowsInCI and windowsInSoak are how many AppProjects with sync windows are compared, each at several times.
	windowsInCI, windowsInSoak = 2_000, 100_000
	timesEach                  = 3
	// soon is within what time the end of a window is waited for.
	soon = 12 * time.Hour
)

// calendar writes AppProjects with sync windows, and Applications.
type calendar struct{ grammar }

// some are up to three of these; mostly none.
func (g *calendar) some(from ...string) []string {
	if g.chance(50) {
		return nil
	}
	var out []string
	for range 1 + g.IntN(3) {
		out = append(out, pick(&g.grammar, from...))
	}
	return out
}

// field is one of five of a schedule.
func (g *calendar) field(least, most int) string {
	number := func() int { return least + g.IntN(most-least+1) }
	switch g.IntN(8) {
	case 0, 1, 2:
		return "*"
	case 3:
		return fmt.Sprintf("*/%d", 1+g.IntN(most))
	case 4:
		a, b := number(), number()
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	case 5:
		return fmt.Sprintf("%d,%d", number(), number())
	}
	return fmt.Sprint(number())
}

func (g *calendar) schedule() string {
	if g.chance(3) {
		return pick(&g.grammar, "", "noon", "@daily", "* * * *", "* * * * * *", "61 * * * *", "0 25 * * *", "0 0 30 2 *", "0 0 29 2 *", "TZ=Mars/Base * * * * *")
	}
	schedule := fmt.Sprintf("%s %s * * *", g.field(0, 59), g.field(0, 23))
	if g.chance(40) {
		schedule = fmt.Sprintf("%s %s %s %s %s", g.field(0, 59), g.field(0, 23), g.field(1, 31), g.field(1, 12), g.field(0, 6))
	}
	if g.chance(4) {
		schedule = pick(&g.grammar, "TZ=Asia/Tokyo ", "CRON_TZ=America/New_York ") + schedule
	}
	return schedule
}

func (g *calendar) window() *v1alpha1.InlineSyncWindow {
	duration := fmt.Sprintf("%dm", 1+g.IntN(24*60))
	if g.chance(10) {
		duration = pick(&g.grammar, "45s", "1h30m", "168h", "8760h", "0s", "-1h", "1.5h", "90", "1d", "")
	}
	return &v1alpha1.InlineSyncWindow{
		Kind: pick(&g.grammar, "allow", "allow", "deny", "deny", "deny", pick(&g.grammar, "allow", "deny", "Deny", "")), Schedule: g.schedule(), Duration: duration,
		Applications: g.some("*", "shop-*", "shop-prod", "billing", "!billing", "[", "shop-{prod,dev}", "?hop-dev", ""),
		Namespaces:   g.some("*", "shop", "sh?p", "kube-*", ""),
		Clusters:     g.some("*", "in-cluster", "https://*", "https://eu.example.com", "e?", ""),
		ManualSync:   g.chance(40), UseAndOperator: g.chance(40), SyncOverrun: g.chance(20),
		TimeZone: pick(&g.grammar, "", "UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Kiritimati", "Europe/Atlantis"),
	}
}

func (g *calendar) project() *v1alpha1.AppProject {
	p := &v1alpha1.AppProject{}
	p.Name = "shop"
	for range g.IntN(5) {
		p.Spec.SyncWindows = append(p.Spec.SyncWindows, g.window())
	}
	return p
}

func (g *calendar) application() *v1alpha1.Application {
	a := &v1alpha1.Application{}
	a.Name = pick(&g.grammar, "shop-prod", "shop-dev", "billing")
	a.Spec.Destination.Namespace = pick(&g.grammar, "shop", "kube-system", "")
	if g.chance(50) {
		a.Spec.Destination.Name = pick(&g.grammar, "in-cluster", "eu")
	} else {
		a.Spec.Destination.Server = pick(&g.grammar, "https://kubernetes.default.svc", "https://eu.example.com", "https://us.example.com/")
	}
	return a
}

// asRead is an object as a client reads it.
func asRead(t *testing.T, object any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The clock of the bubble is that of Argo CD's code, which asks for the time itself; it goes from 2000 on.
func TestSyncWindowsHoldBackAlike(t *testing.T) {
	soak := os.Getenv("SOAK") != ""
	projects := windowsInCI
	if soak {
		projects = windowsInSoak
	}
	seed := seedOf(t, soak)
	longest := 60 * 365 * 24 * time.Hour / time.Duration(projects*timesEach)
	synctest.Test(t, func(t *testing.T) {
		seen := map[string]int{}
		for i := range projects {
			g := &calendar{grammar{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}}
			project, app := g.project(), g.application()
			ours, rendered := argocd.ReadSyncWindows(asRead(t, project)), asRead(t, app)
			for range timesEach {
				time.Sleep(time.Duration(g.Int64N(int64(longest))))
				if g.chance(20) {
					time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))) // where windows open and end
				}
				for _, manual := range []bool{false, true} {
					seen[sameWindows(t, seed, i, project, app, ours.Matching(rendered), manual)]++
				}
			}
			seen[opensAsTold(t, seed, i, project, app, ours.Matching(rendered), g.chance(50))]++
		}
		notes = append(notes, fmt.Sprintf("sync windows: %d AppProjects until %s, seed %d: %v", projects, time.Now().UTC().Format(time.DateOnly), seed, seen))
		for _, verdict := range []string{"none", "open", "held back", "unreadable", "opens"} {
			if least := projects / 50; seen[verdict] < least {
				t.Errorf("%d comparisons were %q, want at least %d", seen[verdict], verdict, least)
			}
		}
	})
}

// sameWindows compares what holds a sync back now, and returns what both sides say.
func sameWindows(t *testing.T, seed uint64, i int, project *v1alpha1.AppProject, app *v1alpha1.Application, ours argocd.SyncWindows, manual bool) string {
	t.Helper()
	theirs := project.Spec.SyncWindows.Matches(app)
	allowed, err := theirs.CanSync(manual, nil)
	now := time.Now()
	closed := ours.Closed(manual, now)
	fail := func(what string, got, want any) {
		t.Helper()
		raw, _ := json.Marshal(project.Spec.SyncWindows) // they were read from the same JSON
		t.Errorf("seed %d, AppProject %d, %s, manual %v: %s is %v, of Argo CD %v\n%s\n%+v", seed, i, now.UTC().Format(time.RFC3339Nano), manual, what, got, want, raw, app.Spec.Destination)
	}
	count := 0
	if theirs != nil {
		count = len(*theirs)
	}
	if len(ours) != count {
		fail("the number of windows that count", len(ours), count)
	}
	if (closed == nil) != allowed {
		fail("held back", closed != nil, !allowed)
	}
	if got, want := fmt.Sprint(errorOf(closed)), fmt.Sprint(err); err != nil && "invalid sync windows: "+got != want || err == nil && got != "<nil>" {
		fail("the error", got, want)
	}
	switch {
	case count == 0:
		return "none"
	case err != nil:
		return "unreadable"
	case allowed:
		return "open"
	}
	return "held back"
}

// opensAsTold waits until the time at which a sync is possible again, where that is told and is soon: a moment before
// that Argo CD still holds it back, and a moment later it does not.
func opensAsTold(t *testing.T, seed uint64, i int, project *v1alpha1.AppProject, app *v1alpha1.Application, ours argocd.SyncWindows, manual bool) string {
	t.Helper()
	now := time.Now()
	if ours.Closed(manual, now) == nil {
		return "open before"
	}
	opens := ours.Opens(manual, now)
	if opens.IsZero() || opens.Sub(now) > soon {
		return "opens late"
	}
	for after, want := range []bool{false, true} {
		time.Sleep(time.Until(opens.Add(time.Duration(2*after-1) * time.Second)))
		if allowed, err := project.Spec.SyncWindows.Matches(app).CanSync(manual, nil); allowed != want || err != nil {
			raw, _ := json.Marshal(project.Spec.SyncWindows)
			t.Errorf("seed %d, AppProject %d, %s, manual %v: it opens at %s, at %s Argo CD allows a sync: %v %v\n%s",
				seed, i, now.UTC(), manual, opens.UTC(), time.Now().UTC(), allowed, err, raw)
		}
	}
	return "opens"
}

func errorOf(closed *argocd.Closed) error {
	if closed == nil {
		return nil
	}
	return closed.Err
}
