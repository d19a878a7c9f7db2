package provider

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// titleAt is which argument of a function is the title of an error, and warningAt that of a warning.
var (
	titleAt = map[string]int{
		"AddError": 0, "AddAttributeError": 1, "NewErrorDiagnostic": 0, "NewAttributeErrorDiagnostic": 1,
	}
	warningAt = map[string]int{
		"AddWarning": 0, "AddAttributeWarning": 1, "NewWarningDiagnostic": 0, "NewAttributeWarningDiagnostic": 1, "warn": 1,
	}
)

// warningsOf are the titles that warnings get from errors, which a plan makes warnings of: see checkNames.
var warningsOf = map[string][]string{"d.Summary()": {"Applications exist already", "Applications of an in-cluster ApplicationSet"}}

// titlesElsewhere are the calls that give a title that is found where they get it.
var titlesElsewhere = []string{"summaryOf(f.Kind)", `lockLost(doing + " was", err)`, `lockLost(fmt.Sprintf("The %s%s has", r.doing, inStep(o.Step)), o.Err)`}

// titleParts are what the titles that are put together can have in the place of an expression.
var titleParts = map[string][]string{
	"name": {"name", "namespace"}, "field": {"name", "namespace"}, "capital(r.doing)": {"Rollout", "Deletion"},
}

// titles collects the titles of errors and warnings that a package's source has: as an argument, as a constant or a
// variable whose name begins with "summary", as the first result of a function of that name, and in a Refusal.
type titles struct {
	t     *testing.T
	files *token.FileSet
	found map[string]string // where it is
	// warns are the expressions that warnings have for a title, and where; named are the constants among them.
	warns map[string]string
	named map[string]string
	// reports: add, here, takes a title.
	reports bool
}

func (s *titles) read(dir string) {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		s.t.Fatalf("%s has no source: %v", dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(s.files, path, nil, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		s.reports = filepath.Base(path) == "applicationset_errors.go"
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				s.call(n)
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if isTitle(name) && i < len(n.Values) {
						s.add(n.Values[i])
						s.name(name.Name, n.Values[i])
					}
				}
			case *ast.AssignStmt:
				if isTitle(n.Lhs[0]) {
					s.add(n.Rhs[0])
				}
			case *ast.FuncDecl:
				s.results(n)
			case *ast.CompositeLit:
				s.refusal(n)
				s.problem(n)
			}
			return true
		})
	}
}

func isTitle(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && strings.HasPrefix(strings.ToLower(name.Name), "summary")
}

func (s *titles) call(n *ast.CallExpr) {
	name := ""
	switch f := n.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	if i, ok := warningAt[name]; ok && i < len(n.Args) {
		s.warn(n.Args[i])
	}
	if name == "report" && len(n.Args) == 3 && isTitle(n.Args[0]) && types.ExprString(n.Args[2]) != "false" { // that of rules.check: (title, detail, warning)
		s.warn(n.Args[0])
	}
	i, ok := titleAt[name]
	if name == "add" { // that of report.diagnostics: (title, parts...)
		i, ok = 0, s.reports
	}
	if ok && i < len(n.Args) {
		s.add(n.Args[i])
	}
}

func (s *titles) results(n *ast.FuncDecl) {
	if n.Type.Results == nil || len(n.Type.Results.List[0].Names) == 0 || !isTitle(n.Type.Results.List[0].Names[0]) {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			s.add(r.Results[0])
		}
		return true
	})
}

func (s *titles) refusal(n *ast.CompositeLit) {
	if n.Type == nil || !strings.HasSuffix(types.ExprString(n.Type), "Refusal") {
		return
	}
	for _, e := range n.Elts {
		if inner, ok := e.(*ast.CompositeLit); ok { // of a list
			s.summary(inner.Elts)
		}
	}
	s.summary(n.Elts)
}

// problem takes the title of what says that it is a warning.
func (s *titles) problem(n *ast.CompositeLit) {
	var title ast.Expr
	warning := false
	for _, e := range n.Elts {
		if field, ok := e.(*ast.KeyValueExpr); ok {
			switch types.ExprString(field.Key) {
			case "Summary":
				title = field.Value
			case "Warning":
				warning = types.ExprString(field.Value) == "true"
			}
		}
	}
	if warning && title != nil {
		s.warn(title)
	}
}

// warn takes the title of a warning. What has the name of a parameter or a field gets it elsewhere, where it is found.
func (s *titles) warn(e ast.Expr) {
	if text := types.ExprString(e); text != "summary" && !strings.HasSuffix(text, ".Summary") {
		s.warns[text] = s.files.Position(e.Pos()).String()
	}
}

func (s *titles) name(name string, value ast.Expr) {
	if text, ok := value.(*ast.BasicLit); ok {
		s.named[name] = s.values(text)[0]
	}
}

// warnings are the titles of all warnings, and where they are.
func (s *titles) warnings() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for text, at := range s.warns {
		titles := warningsOf[text]
		if quoted, err := strconv.Unquote(text); err == nil {
			titles = []string{quoted}
		} else if named := s.named[text[strings.LastIndex(text, ".")+1:]]; named != "" {
			titles = []string{named}
		}
		if len(titles) == 0 {
			s.t.Errorf("%s: what titles %s gives to a warning is not known", at, text)
		}
		for _, title := range titles {
			out[title] = at
		}
	}
	return out
}

// summary takes the title of a Refusal, which is its first field.
func (s *titles) summary(fields []ast.Expr) {
	if len(fields) == 0 {
		return
	}
	switch e := fields[0].(type) {
	case *ast.KeyValueExpr:
		if types.ExprString(e.Key) == "Summary" {
			s.add(e.Value)
		}
	case *ast.BasicLit:
		s.add(e)
	}
}

// add takes the titles that an expression can be. Names stand for what is found where they get their value.
func (s *titles) add(e ast.Expr) {
	s.t.Helper()
	at := s.files.Position(e.Pos()).String()
	switch e := e.(type) {
	case *ast.BasicLit, *ast.BinaryExpr:
		for _, title := range s.values(e) {
			if title != "" {
				s.found[title] = at
			}
		}
	case *ast.Ident, *ast.SelectorExpr:
	default:
		if text := types.ExprString(e); !slices.Contains(titlesElsewhere, text) {
			s.t.Errorf("%s: what titles %s gives is not known", at, text)
		}
	}
}

func (s *titles) values(e ast.Expr) []string {
	s.t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			s.t.Fatalf("%s: %v", s.files.Position(e.Pos()), err)
		}
		return []string{text}
	case *ast.BinaryExpr:
		var out []string
		for _, left := range s.values(e.X) {
			for _, right := range s.values(e.Y) {
				out = append(out, left+right)
			}
		}
		return out
	}
	parts := titleParts[types.ExprString(e)]
	if len(parts) == 0 {
		s.t.Errorf("%s: what %s can be in a title is not known", s.files.Position(e.Pos()), types.ExprString(e))
	}
	return parts
}

func TestEveryTitleIsInTheGuideAndTheGuideHasNoOther(t *testing.T) {
	s := &titles{t: t, files: token.NewFileSet(), found: map[string]string{}, warns: map[string]string{}, named: map[string]string{}}
	for _, dir := range []string{".", "../argocd", "../appset"} {
		s.read(dir)
	}
	for _, known := range []string{"Lock lost", "Half of a take-over", "Rollout in the cluster is running", "Applications are being deleted",
		"ApplicationSet created again", "Unknown namespace", "Deletion timed out", "Conflicting change", "Argo CD not found", "Credentials in a URL", "Record damaged"} {
		if s.found[known] == "" {
			t.Errorf("the title %q was not found in the code", known)
		}
	}
	warnings := s.warnings()
	for _, known := range []string{"Manual step", "Nothing to hold", "Generators not evaluated", "Application not checked", "Step without Applications",
		"Namespace ignored", "Application not permitted by its AppProject", "Applications exist already"} {
		if warnings[known] == "" {
			t.Errorf("the title %q of a warning was not found in the code", known)
		}
	}
	listed, asWarnings := guideTitles(t)
	for title, at := range warnings {
		if !slices.Contains(asWarnings, title) {
			t.Errorf("the guide templates/guides/failures.md does not list %q under Warnings (%s)", title, at)
		}
	}
	for _, title := range asWarnings {
		if warnings[title] == "" {
			t.Errorf("the guide templates/guides/failures.md lists %q under Warnings, which no warning is called", title)
		}
	}
	for title, at := range s.found {
		if !slices.Contains(listed, title) && warnings[title] == "" {
			t.Errorf("the guide templates/guides/failures.md does not list %q (%s)", title, at)
		}
	}
	for _, text := range failureTexts {
		s.found[text.summary] = "failureTexts"
	}
	for _, title := range listed {
		if s.found[title] == "" {
			t.Errorf("the guide templates/guides/failures.md lists %q, which no error is called", title)
		}
	}
}

// guideTitles are the titles that the tables of the guide list: those of errors, and those below the heading Warnings.
func guideTitles(t *testing.T) (asErrors, asWarnings []string) {
	t.Helper()
	guide, err := os.ReadFile("../../templates/guides/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := &asErrors
	for line := range strings.Lines(string(guide)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			listed = &asErrors
			if strings.TrimSpace(heading) == "Warnings" {
				listed = &asWarnings
			}
		}
		if row, ok := strings.CutPrefix(line, "| "); ok {
			first, _, _ := strings.Cut(row, " | ")
			if first != "Error" && first != "Warning" && first != "---" {
				*listed = append(*listed, strings.Split(first, ", ")...)
			}
		}
	}
	return asErrors, asWarnings
}
