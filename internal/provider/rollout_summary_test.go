package provider

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// The grammar of Gantt charts (gantt.jison, Mermaid 11), as far as a timeline needs it. It tells statements
// apart by how their lines begin, in any case.
var (
	ganttHead    = "gantt\n    title Timeline, in your own time zone\n    dateFormat x\n    axisFormat %H:%M:%S\n"
	ganttKeyword = regexp.MustCompile(`(?i)^(gantt|inclusiveEndDates|topAxis)\b|^accTitle\s*:|^accDescr\s*[:{]|^href\s+"|^\d{4}-\d\d-\d\d|` +
		`^(accDescription|axisFormat|call|click|dateFormat|excludes|includes|section|tickInterval|title|todayMarker|weekday|weekend)\s`)
	ganttSection = regexp.MustCompile("^    section ([^:;#%{}\"`\n]+)$")
	ganttBar     = regexp.MustCompile("^    ([^:;#%{}\"`\n]+) :((?:done, |crit, )?\\d+, \\d+s)$")
)

// longestMermaid is maxTextSize of Mermaid, in UTF-16.
const longestMermaid = 50000

// chart reads the timeline of a summary: the names of its sections, each with one bar, and the bars.
func chart(t *testing.T, text string) (sections, bars []string) {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n```mermaid\n"+ganttHead)
	code, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("there is no timeline in\n%s", text)
	}
	if n := len(utf16.Encode([]rune(ganttHead + code))); n > longestMermaid {
		t.Errorf("the chart has %d characters", n)
	}
	for i, line := range strings.Split(code, "\n") {
		if i%2 == 0 {
			if m := ganttSection.FindStringSubmatch(line); m != nil {
				sections = append(sections, m[1])
				continue
			}
		} else if m := ganttBar.FindStringSubmatch(line); m != nil && !ganttKeyword.MatchString(m[1]) {
			bars = append(bars, m[1]+" :"+m[2])
			continue
		}
		t.Fatalf("Mermaid does not take %q for what it is", line)
	}
	if len(sections) != len(bars) {
		t.Fatalf("%d sections have %d bars", len(sections), len(bars))
	}
	return sections, bars
}

// timelineOf is the summary of a set whose last rollout had these steps.
func timelineOf(steps ...argocd.Outcome) string {
	return summary(standing{owner: argocd.Owner{Namespace: "argocd", Name: "shop"}, state: stateIncomplete, record: *recordWith(argocd.Rollout{
		ID: "x", Started: atSecond(0), Ended: atSecond(100), Result: argocd.ResultFailed, Outcomes: steps,
	})})
}

func TestMermaidTakesEachNameForAName(t *testing.T) {
	for label, want := range map[string]string{
		"step 01: env in [dev]":               "step 01 env in [dev]",
		"step 02: app:v1, tier;x #3":          "step 02 appv1 tierx 3",
		`she said "50%"`:                      "she said 50",
		"%% a comment":                        "a comment",
		"%%{init: {'theme': 'dark'}}%%":       "init 'theme' 'dark'",
		"accDescr { x }":                      "accDescr  x",
		"#35;":                                "35",
		"style a fill:#fff;":                  "style a fillfff",
		"```":                                 "-",
		":":                                   "-",
		"":                                    "-",
		"section":                             "section",
		"section x":                           "section x",
		"title x":                             "title x",
		"click a call b()":                    "click a call b()",
		"end":                                 "end",
		"done":                                "done",
		"crit, after a":                       "crit after a",
		"gantt":                               "gantt",
		"2026-01-02":                          "2026-01-02",
		"__proto__":                           "__proto__",
		"---\ntitle: x\n---":                  "--- title x ---",
		"a\r\nb\u2028c":                       "a b c",
		"étape 日本 🚀":                          "étape 日本 🚀",
		"<b>a</b> & b":                        "<b>a</b> & b",
		"https://user:secret@git.example/x":   "https//git.example/x",
		strings.Repeat("a", longestName):      strings.Repeat("a", longestName),
		strings.Repeat("🚀", longestName+1):    strings.Repeat("🚀", longestName-3) + "...",
		strings.Repeat("#", 400) + "the name": "the name",
	} {
		sections, bars := chart(t, timelineOf(argocd.Outcome{Step: label, Outcome: stepDone, Started: atSecond(0), Ended: atSecond(5), Done: 1, Applications: 1}))
		if len(sections) != 1 || sections[0] != want {
			t.Errorf("%q is shown as %q, not %q", label, sections, want)
		}
		if want := "1 of 1 done :done, 1767322800000, 5s"; bars[0] != want {
			t.Errorf("the bar of %q is %q, not %q", label, bars[0], want)
		}
	}
}

func TestTheBarsOfATimeline(t *testing.T) {
	for _, c := range []struct {
		name string
		step argocd.Outcome
		want string
	}{
		{"a step that was done at once is seen", argocd.Outcome{Outcome: stepDone, Ended: atSecond(1), Done: 3, Applications: 3}, "3 of 3 done :done, 1767322801000, 1s"},
		{"a step that has failed is red", argocd.Outcome{Outcome: stepFailed, Ended: atSecond(61), Done: 1, Applications: 300}, "1 of 300 failed :crit, 1767322801000, 60s"},
		{"a step whose time was up is neither", argocd.Outcome{Outcome: stepOpen, Ended: atSecond(86401), Applications: 2}, "0 of 2 open :1767322801000, 86400s"},
		{"the outcome of a later version is no keyword", argocd.Outcome{Outcome: "click: me", Ended: atSecond(2), Done: 1, Applications: 2}, "1 of 2 click me :1767322801000, 1s"},
		{"a clock that went back draws no bar to the left", argocd.Outcome{Outcome: stepDone, Ended: atSecond(0), Done: 1, Applications: 1}, "1 of 1 done :done, 1767322801000, 1s"},
	} {
		c.step.Step, c.step.Started = "step 01", atSecond(1)
		if _, bars := chart(t, timelineOf(c.step)); len(bars) != 1 || bars[0] != c.want {
			t.Errorf("%s: %q, not %q", c.name, bars, c.want)
		}
	}
}

func TestATimelineIsNeverTooLongForMermaid(t *testing.T) {
	var steps []argocd.Outcome
	for i := range 3 * longestChart {
		steps = append(steps, argocd.Outcome{
			Step: fmt.Sprintf("step %03d: ", i+1) + strings.Repeat("🚀", 400), Outcome: stepFailed, Started: atSecond(i), Ended: atSecond(i + 1), Done: 1000, Applications: 100000,
		})
	}
	text := timelineOf(steps...)
	sections, _ := chart(t, text)
	if len(sections) != longestChart || !strings.HasPrefix(sections[0], "step 201 ") || !strings.HasPrefix(sections[longestChart-1], "step 300 ") {
		t.Errorf("the chart has %d steps, from %.9q", len(sections), sections[0])
	}
	if !strings.Contains(text, "\nThe chart has the last 100 of 300 steps.\n") {
		t.Error("the summary does not say that the chart is not whole")
	}
	if whole := timelineOf(steps[:longestChart]...); strings.Contains(whole, "The chart has") {
		t.Error("a chart that is whole is said not to be")
	}
}
