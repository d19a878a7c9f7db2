package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/progress"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

const (
	// longestSummary is how many Applications that are not Healthy a summary names.
	longestSummary = 50
	// longestChart is how many steps its timeline has, and longestName how many characters a name has there:
	// of a chart with more than 50,000 characters Mermaid draws nothing (maxTextSize, Mermaid 11).
	longestChart = 100
	longestName  = 80
)

// summary is where a set stands, as Markdown: what GitHub, GitLab and others show, Mermaid included.
func summary(now standing) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Rollout of %s: %s\n", code(now.owner.String()), now.state)
	if now.holder.Identity != "" {
		fmt.Fprintf(&b, "\nBeing rolled out by %s.\n", markdown(now.holder.Identity))
	}
	now.countTo(&b)
	if n := len(now.record.Rollouts); n > 0 {
		now.lastTo(&b, n-1)
		now.historyTo(&b)
	}
	return b.String()
}

// countTo tells how many Applications stand where, and names those that are not Healthy.
func (now standing) countTo(b *strings.Builder) {
	if len(now.apps) == 0 {
		return
	}
	by := map[string]int{}
	var open []string
	for _, name := range sortedNames(now.apps) {
		by[now.apps[name].status]++
		if now.apps[name].status != string(rollout.PhaseHealthy) {
			open = append(open, name)
		}
	}
	var counts []string
	for _, phase := range []rollout.Phase{rollout.PhaseHealthy, rollout.PhaseProgressing, rollout.PhasePending, rollout.PhaseWaiting, rollout.PhaseFailed, rollout.PhaseDeleting} {
		if n := by[string(phase)]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	fmt.Fprintf(b, "\n%s: %s.\n", count(len(now.apps)), strings.Join(counts, ", "))
	if len(open) == 0 {
		return
	}
	b.WriteString("\n| Application | Step | Status | Sync | Health | Message |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, name := range open {
		if i == longestSummary {
			fmt.Fprintf(b, "\nAnd %d more.\n", len(open)-i)
			break
		}
		a := now.apps[name]
		rowTo(b, name, a.step, a.status, a.sync, a.health, a.message)
	}
}

// lastTo tells the last rollout, with its timeline.
func (now standing) lastTo(b *strings.Builder, i int) {
	r := now.record.Rollouts[i]
	fmt.Fprintf(b, "\n### Last rollout: %s\n\nBegun %s by %s", inWords(now.outcomeOf(i)), r.Started.UTC().Format(time.RFC3339), markdown(cmp.Or(r.Actor, "unknown")))
	if !r.Ended.IsZero() {
		fmt.Fprintf(b, ", took %s", r.Ended.Sub(r.Started).Round(time.Second))
	}
	b.WriteString(".\n")
	if r.Reason != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(r.Reason))
	}
	for _, p := range sortedPins(r.Pins) {
		fmt.Fprintf(b, "\n- %s of %s: %s", code(p.TagPrefix+p.TargetRevision), code(strings.TrimSpace(rollout.WithoutCredentials(p.RepoURL)+" "+p.Chart)), code(p.Revision))
	}
	if len(r.Pins) > 0 {
		b.WriteString("\n")
	}
	if len(r.Outcomes) == 0 {
		return
	}
	timelineTo(b, r)
	b.WriteString("\n| Step | Outcome | Done | Duration |\n| --- | --- | --- | --- |\n")
	for _, o := range r.Outcomes {
		done, took := "", ""
		if r.Result != "" {
			done = fmt.Sprintf("%d of %d", o.Done, o.Applications)
		}
		if !o.Started.IsZero() {
			took = o.Ended.Sub(o.Started).Round(time.Second).String()
		}
		rowTo(b, o.Step, inWords(o.Outcome), done, took)
	}
}

// timelineTo draws the steps that took time as a Gantt chart.
func timelineTo(b *strings.Builder, r argocd.Rollout) {
	var begun []argocd.Outcome
	for _, o := range r.Outcomes {
		if !o.Started.IsZero() {
			begun = append(begun, o)
		}
	}
	if len(begun) == 0 {
		return
	}
	if left := len(begun) - longestChart; left > 0 {
		fmt.Fprintf(b, "\nThe chart has the last %d of %d steps.\n", longestChart, len(begun))
		begun = begun[left:]
	}
	b.WriteString("\n```mermaid\ngantt\n    title Timeline, in your own time zone\n    dateFormat x\n    axisFormat %H:%M:%S\n")
	for _, o := range begun {
		look := map[string]string{stepDone: "done, ", stepFailed: "crit, "}[o.Outcome]
		// A bar of no length is not drawn.
		seconds := max(1, int(o.Ended.Sub(o.Started).Round(time.Second)/time.Second))
		// With a number at its begin, the text of a bar is never taken for a keyword.
		fmt.Fprintf(b, "    section %s\n    %d of %d %s :%s%d, %ds\n", plain(o.Step), o.Done, o.Applications, plain(inWords(o.Outcome)), look, o.Started.UnixMilli(), seconds)
	}
	b.WriteString("```\n")
}

// historyTo lists all rollouts of the record, the newest first.
func (now standing) historyTo(b *strings.Builder) {
	b.WriteString("\n### History\n\n| Begun (UTC) | Outcome | Duration | Actor |\n| --- | --- | --- | --- |\n")
	for i := len(now.record.Rollouts) - 1; i >= 0; i-- {
		r, took := now.record.Rollouts[i], ""
		if !r.Ended.IsZero() {
			took = r.Ended.Sub(r.Started).Round(time.Second).String()
		}
		rowTo(b, r.Started.UTC().Format("2006-01-02 15:04:05"), inWords(now.outcomeOf(i)), took, r.Actor)
	}
}

func rowTo(b *strings.Builder, cells ...string) {
	for i := range cells {
		cells[i] = markdown(cells[i])
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// markdown is a text that Markdown shows as it is, in one line.
func markdown(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "@", "&#64;",
	).Replace(progress.Clean(text))
}

// code is a text in the type of code.
func code(text string) string {
	return "`" + strings.ReplaceAll(progress.Clean(text), "`", "'") + "`"
}

// plain is a name in a Mermaid chart: short, and without what its grammar takes for an end, a comment, a
// directive or an entity (gantt.jison and the preprocessing of diagrams, Mermaid 11).
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(":;#,`%{}\"", r) {
			return -1
		}
		return r
	}, progress.Clean(text))
	if runes := []rune(text); len(runes) > longestName {
		text = string(runes[:longestName-3]) + "..."
	}
	return cmp.Or(strings.TrimSpace(text), "-")
}

func sortedPins(pins []argocd.Pin) []argocd.Pin {
	return slices.SortedFunc(slices.Values(pins), func(a, b argocd.Pin) int {
		return cmp.Or(cmp.Compare(a.RepoURL, b.RepoURL), cmp.Compare(a.Chart, b.Chart), cmp.Compare(a.TargetRevision, b.TargetRevision),
			cmp.Compare(a.TagPrefix, b.TagPrefix))
	})
}
