package appset

import (
	"slices"
	"strings"
)

// Issue is one thing that is wrong with, or hazardous in, an ApplicationSet.
type Issue struct {
	// Path is where, in CRD spelling; empty when it concerns the whole set.
	Path Path
	// Summary is a short noun phrase, the same for every issue of its kind.
	Summary string
	// Detail says what was found, where, and what to write instead.
	Detail string
	// Warning is false for an error.
	Warning bool
}

// String is for logs and tests: "spec.template: Missing field: ...".
func (i Issue) String() string {
	text := i.Summary + ": " + i.Detail
	if len(i.Path) > 0 {
		text = i.Path.String() + ": " + text
	}
	if i.Warning {
		return "warning: " + text
	}
	return text
}

// Issues is sorted by path, then by text.
type Issues []Issue

// Errors returns the issues that are errors.
func (is Issues) Errors() Issues { return is.filter(false) }

// Warnings returns the issues that are warnings.
func (is Issues) Warnings() Issues { return is.filter(true) }

// HasErrors reports whether any issue is an error.
func (is Issues) HasErrors() bool {
	return slices.ContainsFunc(is, func(i Issue) bool { return !i.Warning })
}

func (is Issues) filter(warning bool) Issues {
	var out Issues
	for _, i := range is {
		if i.Warning == warning {
			out = append(out, i)
		}
	}
	return out
}

// String joins all issues, one a line.
func (is Issues) String() string {
	lines := make([]string, len(is))
	for i, issue := range is {
		lines[i] = issue.String()
	}
	return strings.Join(lines, "\n")
}

func (is *Issues) fail(path Path, summary, detail string) {
	*is = append(*is, Issue{Path: path, Summary: summary, Detail: detail})
}

func (is *Issues) warn(path Path, summary, detail string) {
	*is = append(*is, Issue{Path: path, Summary: summary, Detail: detail, Warning: true})
}

func (is Issues) sorted() Issues {
	slices.SortStableFunc(is, func(a, b Issue) int {
		if c := comparePaths(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Summary, b.Summary)
	})
	return is
}

// Summaries of the issues that a caller may want to tell apart.
const (
	SummaryUnknownField     = "Unknown field"
	SummaryUnsupportedField = "Field not supported"
	SummaryUnsupportedKind  = "Generator kind not supported"
	SummaryWrongType        = "Wrong type"
	SummaryMissingField     = "Missing field"
	SummaryInvalidStrategy  = "Invalid strategy"
	SummaryInvalidTemplate  = "Invalid template"
	SummaryInvalidPatch     = "Invalid templatePatch"
	SummaryInvalidPointer   = "Invalid path in ignoreApplicationDifferences"
	SummaryInvalidElement   = "Invalid list element"
	SummaryInvalidGenerator = "Invalid generator"
	SummaryInvalidSelector  = "Invalid selector"
	SummaryGeneratorFailed  = "Generator failed"
	SummaryRenderFailed     = "Template failed"
	SummaryLeftover         = "Template not fully replaced"
	SummaryInvalidName      = "Invalid Application name"
	SummaryDuplicateName    = "Duplicate Application name"
	SummaryInvalidMetadata  = "Invalid label or annotation"
	SummaryInvalidSpec      = "Invalid Application spec"
	SummaryEmptyStep        = "Step without Applications"
	SummaryOverlap          = "Application in several steps"
	SummaryUnselected       = "Application in no step"
	SummaryNoHistory        = "No history in a manual step"
)
