package progress

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Format is how a line looks.
type Format string

// The formats.
const (
	// Text is for people: "03:12:45 argocd/guestbook [step 2/6, 12/60 done, about 3m20s left] ...".
	Text Format = "text"
	// JSON is one object on each line, for programs.
	JSON Format = "json"
)

// longestText bounds what a line quotes of Argo CD, in characters.
const longestText = 500

// Kind says what an Event is about, in one word for programs.
func (e Event) Kind() string {
	switch {
	case e.Moment == rollout.MomentWaiting:
		return "waiting"
	case e.Moment != "":
		return "step_" + string(e.Moment)
	case e.App != "":
		return "application"
	}
	return "run"
}

// Line is the event in a format, without the end of the line.
func (e Event) Line(f Format) string {
	if f == JSON {
		return e.json()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.At.UTC().Format("15:04:05"), e.Set)
	if stands := e.stands(); stands != "" {
		fmt.Fprintf(&b, " [%s]", stands)
	}
	for _, part := range []string{e.App, inBrackets(e.Step), string(e.Phase)} {
		if part != "" {
			b.WriteString(" " + part)
		}
	}
	b.WriteString(": " + Clean(e.Text))
	return oneLine(b.String())
}

func inBrackets(label string) string {
	if label == "" {
		return ""
	}
	return "(" + label + ")"
}

// stands is where the run stands.
func (e Event) stands() string {
	var parts []string
	if e.StepNumber > 0 {
		parts = append(parts, fmt.Sprintf("step %d/%d", e.StepNumber, e.Steps))
	}
	if e.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d done", e.Done, e.Total))
		if e.LeftKnown && e.Done < e.Total {
			parts = append(parts, fmt.Sprintf("about %s left", rough(e.Left)))
		}
	}
	return strings.Join(parts, ", ")
}

// rough is a duration as an estimate deserves it.
func rough(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Second)
}

// jsonLine is the format JSON: fields may be added, none changes its meaning.
type jsonLine struct {
	Time        time.Time `json:"time"`
	Set         string    `json:"set"`
	Event       string    `json:"event"`
	Application string    `json:"application,omitempty"`
	Step        string    `json:"step,omitempty"`
	StepNumber  int       `json:"step_number,omitempty"`
	Steps       int       `json:"steps,omitempty"`
	Status      string    `json:"status,omitempty"`
	Text        string    `json:"text"`
	Done        int       `json:"done"`
	Total       int       `json:"total"`
	ETASeconds  *int64    `json:"eta_seconds,omitempty"`
}

func (e Event) json() string {
	l := jsonLine{
		Time: e.At.UTC(), Set: e.Set, Event: e.Kind(), Application: e.App, Step: e.Step, StepNumber: e.StepNumber, Steps: e.Steps,
		Status: string(e.Phase), Text: Clean(e.Text), Done: e.Done, Total: e.Total,
	}
	if e.LeftKnown {
		seconds := int64(e.Left.Round(time.Second) / time.Second)
		l.ETASeconds = &seconds
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic("progress: texts and numbers cannot be encoded: " + err.Error())
	}
	return string(text)
}

// Clean is a text as it may stand in a line: in one piece, without the credentials of URLs, without
// what a terminal takes for commands, and not endless.
func Clean(text string) string {
	text = rollout.WithoutCredentials(oneLine(text))
	if runes := []rune(text); len(runes) > longestText {
		return string(runes[:longestText-3]) + "..."
	}
	return text
}

// oneLine joins the words of a text, without control characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.Join(strings.Fields(text), " ")
}
