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

// longestSummary is how many Applications that are not Healthy a summary names.
const longestSummary = 50

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
	fmt.Fprintf(b, "\n### Last rollout: %s\n\nBegun %s by %s", now.outcomeOf(i), r.Started.UTC().Format(time.RFC3339), markdown(cmp.Or(r.Actor, "unknown")))
	if !r.Ended.IsZero() {
		fmt.Fprintf(b, ", took %s", r.Ended.Sub(r.Started).Round(time.Second))
	}
	b.WriteString(".\n")
	if r.Reason != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(r.Reason))
	}
	for _, p := range sortedPins(r.Pins) {
		fmt.Fprintf(b, "\n- %s of %s: %s", code(p.TargetRevision), code(strings.TrimSpace(rollout.WithoutCredentials(p.RepoURL)+" "+p.Chart)), code(p.Revision))
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
		rowTo(b, o.Step, o.Outcome, done, took)
	}
}

// timelineTo draws the steps that took time as a Gantt chart.
func timelineTo(b *strings.Builder, r argocd.Rollout) {
	var bars strings.Builder
	for _, o := range r.Outcomes {
		if o.Started.IsZero() {
			continue
		}
		look := map[string]string{stepDone: "done, ", stepFailed: "crit, "}[o.Outcome]
		// A bar of no length is not drawn.
		seconds := max(1, int(o.Ended.Sub(o.Started).Round(time.Second)/time.Second))
		fmt.Fprintf(&bars, "    section %s\n    %s %d of %d :%s%d, %ds\n", plain(o.Step), plain(o.Outcome), o.Done, o.Applications, look, o.Started.UnixMilli(), seconds)
	}
	if bars.Len() > 0 {
		fmt.Fprintf(b, "\n```mermaid\ngantt\n    title Timeline, in your own time zone\n    dateFormat x\n    axisFormat %%H:%%M:%%S\n%s```\n", &bars)
	}
}

// historyTo lists all rollouts of the record, the newest first.
func (now standing) historyTo(b *strings.Builder) {
	b.WriteString("\n### History\n\n| Begun (UTC) | Outcome | Duration | Actor |\n| --- | --- | --- | --- |\n")
	for i := len(now.record.Rollouts) - 1; i >= 0; i-- {
		r, took := now.record.Rollouts[i], ""
		if !r.Ended.IsZero() {
			took = r.Ended.Sub(r.Started).Round(time.Second).String()
		}
		rowTo(b, r.Started.UTC().Format("2006-01-02 15:04:05"), now.outcomeOf(i), took, r.Actor)
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

// plain is a text without what separates the parts of a Mermaid chart.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(":;#,`%{}\"", r) {
			return -1
		}
		return r
	}, progress.Clean(text))
	return cmp.Or(strings.TrimSpace(text), "-")
}

func sortedPins(pins []argocd.Pin) []argocd.Pin {
	return slices.SortedFunc(slices.Values(pins), func(a, b argocd.Pin) int {
		return cmp.Or(cmp.Compare(a.RepoURL, b.RepoURL), cmp.Compare(a.Chart, b.Chart), cmp.Compare(a.TargetRevision, b.TargetRevision))
	})
}
