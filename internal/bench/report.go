package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// report is everything that was measured, in Markdown.
func report(o options, results []result, failure error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Bench: %d Applications in %d steps\n\n", o.scale.apps, o.scale.steps)
	fmt.Fprintf(&b, "%s, %s/%s, %d cores, load average at the end %s, other work up to %s.\n\n", time.Now().UTC().Format(time.DateOnly),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), loadAverage(), mostOthers(results))
	held, bars := budgets(results), bar(results)
	fmt.Fprintf(&b, "%s\n\n", summary(held, bars))
	if failure != nil {
		fmt.Fprintf(&b, "## Failed\n\nNot everything could be measured:\n\n```\n%s\n```\n\n", strings.TrimSpace(failure.Error()))
	}
	b.WriteString("## Time\n\n" +
		"The provider's total is the whole terraform command, plan included, through a proxy that counts requests. The rollout is from the first " +
		"write to the last Application done (or gone), as a watch tells. \"Other work\" is how many cores programs that do not belong to the bench used meanwhile.\n\n")
	b.WriteString(timeTable(results).String())
	b.WriteString("\n## Budgets\n\n")
	b.WriteString(budgetTable(held).String())
	b.WriteString("\n## The bar\n\n" + barText(bars))
	b.WriteString("\n## Requests\n\nThe provider's requests in the apply, without those of the plan before it.\n\n")
	b.WriteString(requestTable(results).String())
	b.WriteString("\nAll requests for Applications and ApplicationSets as kube-apiserver has counted them, Argo CD's application controller included, and " +
		"the repo server's git ls-remotes (Argo CD looks for new commits by itself, too).\n\n")
	b.WriteString(serverTable(results).String())
	b.WriteString("\n## Where the time goes\n\n")
	b.WriteString(courseTable(results).String())
	if costs := costTable(results); len(costs.rows) > 0 {
		b.WriteString("\n## Without a cluster\n\n" +
			"A spec is planned with fewer Applications than a manifest: Terraform's plugin framework takes a time for it that grows with the " +
			"square of the generator elements (hashicorp/terraform-plugin-framework#721).\n\n")
		b.WriteString(costs.String())
	}
	return b.String()
}

// summary counts the budgets and the rows of the bar, apart.
func summary(held []budget, bars []barRow) string {
	metBudgets, metBars := 0, 0
	for _, b := range held {
		if b.met() {
			metBudgets++
		}
	}
	for _, b := range bars {
		if b.met() {
			metBars++
		}
	}
	return fmt.Sprintf("%d of %d budgets met; %d of %d rows of the bar met.", metBudgets, len(held), metBars, len(bars))
}

// barText is the table of the bar, or why there is none.
func barText(bars []barRow) string {
	if len(bars) == 0 {
		return fmt.Sprintf("It is for %d Applications in %d steps, and nothing of that was measured here.\n", barScale.apps, barScale.steps)
	}
	return fmt.Sprintf("What the design promises for %d Applications in %d steps, where the budgets above have terms of their own. A row that could not "+
		"be met here, whatever the provider does, says why with the figures of this run.\n\n", barScale.apps, barScale.steps) + barTable(bars).String()
}

// mostOthers is the most that other work has used of the machine in any row.
func mostOthers(results []result) string {
	most := -1.0
	for _, r := range onCluster(results) {
		most = max(most, r.others)
	}
	if most < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f cores", most)
}

// table is one in Markdown.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String aligns the columns, so that it reads well in a terminal, too.
func (t *table) String() string {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
	}
	line(t.header)
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// onCluster are the results that were measured there.
func onCluster(results []result) []result {
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.cost != nil })
}

func timeTable(results []result) *table {
	t := &table{header: []string{"what", "Applications", "side", "total", "rollout", "total / controller's", "rollout / controller's total", "other work"}}
	for _, r := range onCluster(results) {
		others, total, rollout := "unknown", "", ""
		if r.others >= 0 {
			others = fmt.Sprintf("%.1f cores", r.others)
		}
		if theirs := find(results, r.scale, r.what, controller); theirs != nil && r.side != controller {
			total = fmt.Sprintf("%.2f x", ratio(r.wall(), theirs.wall()))
			rollout = fmt.Sprintf("%.2f x", ratio(r.rollout(), theirs.wall()))
		}
		t.add(r.what, r.scale.String(), r.side, seconds(r.wall()), seconds(r.rollout()), total, rollout, others)
	}
	return t
}

func budgetTable(all []budget) *table {
	t := &table{header: []string{"budget", "at most", "measured", ""}}
	for _, b := range all {
		t.add(b.what, number(b.limit)+" "+b.unit, number(b.measured)+" "+b.unit, b.verdict())
	}
	return t
}

func barTable(all []barRow) *table {
	t := &table{header: []string{"", "what", "at most", "measured", "", "missed by construction"}}
	for _, b := range all {
		t.add("bar", b.what, number(b.limit)+" "+b.unit, number(b.measured)+" "+b.unit, b.verdict(), b.byConstruction())
	}
	return t
}

// number has two digits after the point where they tell something.
func number(v float64) string {
	if v >= 100 || v == float64(int(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func requestTable(results []result) *table {
	t := &table{header: []string{"what", "Applications", "side", "changed", "writes", "most for one", "dry runs", "refreshes", "all requests"}}
	for _, r := range onCluster(results) {
		if r.apply != nil {
			t.add(r.what, r.scale.String(), r.side, fmt.Sprint(r.course.Changed), fmt.Sprint(r.apply.total()), fmt.Sprint(r.apply.most()),
				fmt.Sprint(sum(r.apply.DryRuns)), fmt.Sprint(r.apply.Refreshes), kinds(r.apply))
		}
	}
	return t
}

// kinds lists the requests by kind, sorted.
func kinds(t *tally) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(t.Kinds)) {
		part := fmt.Sprintf("%d %s", t.Kinds[kind], kind)
		if refused := t.Refused[kind]; refused > 0 {
			part += fmt.Sprintf(" (%d refused)", refused)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func serverTable(results []result) *table {
	t := &table{header: []string{"what", "Applications", "side", "writes", "reads", "ls-remotes in all", "of these in the apply"}}
	for _, r := range onCluster(results) {
		all, apply := count(r.counted.lsRemotes), ""
		if r.apply != nil {
			apply = count(r.countedApply.lsRemotes)
		}
		t.add(r.what, r.scale.String(), r.side, count(r.counted.writes), count(r.counted.reads), all, apply)
	}
	return t
}

// count is a number of requests; a negative one is not known.
func count(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f", v)
}

// courseTable splits the totals. What is between the steps and after the last one is the
// provider's (or the controller's) own waiting: min_healthy_time, the grace period.
func courseTable(results []result) *table {
	t := &table{header: []string{"what", "Applications", "side", "total", "planning", "then to the first write", "each step", "between steps in all", "after the last is done"}}
	for _, r := range onCluster(results) {
		if r.course.Changed == 0 {
			continue
		}
		began, planning := r.began, ""
		if !r.planned.IsZero() {
			began, planning = r.planned, seconds(r.planned.Sub(r.began))
		}
		steps, between := "(overlap)", ""
		if len(r.course.Steps) > 0 {
			var times []string
			left := r.rollout()
			for _, step := range r.course.Steps {
				times = append(times, fmt.Sprintf("%.1f", step.Seconds()))
				left -= step
			}
			steps, between = strings.Join(times, " "), seconds(max(0, left))
		}
		t.add(r.what, r.scale.String(), r.side, seconds(r.wall()), planning, seconds(r.course.First.Sub(began)), steps, between, seconds(r.ended.Sub(r.course.Last)))
	}
	return t
}

func costTable(results []result) *table {
	t := &table{header: []string{"what", "Applications", "CPU", "CPU per Application", "memory", "allocated", "allocations", "CPU of Terraform", "longest time between steps"}}
	for _, r := range results {
		if r.cost == nil {
			continue
		}
		c := r.cost
		var used, each, memory, allocated, allocations, terraform, gap string
		if c.cpu > 0 {
			used, each = fmt.Sprintf("%.2f s", c.cpu.Seconds()), (c.cpu / time.Duration(c.apps)).Round(time.Microsecond).String()
		}
		if c.bytes > 0 {
			allocated, allocations = fmt.Sprintf("%d MiB", c.bytes>>20), fmt.Sprint(c.allocs)
		}
		if c.memory > 0 {
			memory = fmt.Sprintf("%d MiB", c.memory>>20)
		}
		if c.terraform > 0 {
			terraform = seconds(c.terraform)
		}
		if c.gap > 0 {
			gap = fmt.Sprintf("%.1f ms", milliseconds(c.gap))
		}
		t.add(r.what, fmt.Sprint(c.apps), used, each, memory, allocated, allocations, terraform, gap)
	}
	return t
}
