package appset

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// maxQuery is how long a jq expression may be, in bytes.
const maxQuery = 2000

// jqFunctions are those that a path expression may call. They end, and give the same result at any
// time and on any machine; a hash depends on that.
var jqFunctions = strings.Fields(`
	empty error not select any all has in contains inside startswith endswith test match index rindex
	indices length type first last keys map map_values with_entries to_entries from_entries getpath paths path
	tostring tonumber ascii_downcase ascii_upcase ltrimstr rtrimstr trimstr ltrim rtrim trim split join
	values nulls strings numbers booleans arrays objects iterables scalars recurse
	min max min_by max_by sort sort_by unique unique_by group_by add flatten reverse abs floor sqrt
	null true false`)

// decodeRetained reads preservedFields and ignoreApplicationDifferences. While something in them is
// not known, nothing is rendered.
func (s *Set) decodeRetained(spec map[string]any, at Path, issues *Issues) {
	preserved, ignored := spec["preservedFields"], spec["ignoreApplicationDifferences"]
	if ContainsUnknown(preserved) || ContainsUnknown(ignored) {
		s.unknown = true
		return
	}
	r := &Retained{
		Labels:      stringsOf(fieldOf(preserved, "labels")),
		Annotations: stringsOf(fieldOf(preserved, "annotations")),
	}
	for i, entry := range asList(ignored) {
		rule, given := decodeIgnored(asObject(entry), at.With("ignoreApplicationDifferences", i), issues)
		if given {
			r.ignored = append(r.ignored, rule)
		}
	}
	if r.keepsAnything() {
		s.Retained = r
	}
}

// stringsOf are the texts of a list, sorted, each once.
func stringsOf(v any) []string {
	var out []string
	for _, e := range asList(v) {
		if text, ok := e.(string); ok {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func decodeIgnored(entry map[string]any, at Path, issues *Issues) (ignoredDifference, bool) {
	var rule ignoredDifference
	rule.app, _ = entry["name"].(string)
	for i, v := range asList(entry["jsonPointers"]) {
		text, _ := v.(string)
		if !strings.HasPrefix(text, "/") {
			issues.fail(at.With("jsonPointers", i), SummaryInvalidPointer, fmt.Sprintf(
				"%s is no JSON pointer to a field of an Application: write it as /spec/source/targetRevision.", describe(v)))
			continue
		}
		rule.pointers = append(rule.pointers, unescapePointer(text))
	}
	for i, v := range asList(entry["jqPathExpressions"]) {
		text, _ := v.(string)
		code, err := compileQuery(text)
		if err != nil {
			issues.fail(at.With("jqPathExpressions", i), SummaryInvalidPointer, fmt.Sprintf(
				"The jq path expression %s cannot be used: %s.", quoteShort(text), err))
			continue
		}
		rule.queries = append(rule.queries, code)
	}
	return rule, len(rule.pointers)+len(rule.queries) > 0
}

// compileQuery compiles the deletion of what a path expression leads to (NewIgnoreNormalizer in
// util/argo/normalizers, Argo CD 3.6.1).
func compileQuery(text string) (*gojq.Code, error) {
	if len(text) > maxQuery {
		return nil, fmt.Errorf("it is longer than %d bytes", maxQuery)
	}
	path, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := checkQuery(reflect.ValueOf(path)); err != nil {
		return nil, err
	}
	query, err := gojq.Parse("del(" + text + ")")
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	if result, _ := code.Run(map[string]any{"metadata": map[string]any{}, "spec": map[string]any{}}).Next(); result != nil {
		if err, failed := result.(error); failed && strings.HasPrefix(err.Error(), "invalid path") {
			return nil, fmt.Errorf("it does not lead to a field: %w", err)
		}
	}
	return code, nil
}

// checkQuery looks for what a path expression may not hold, in all of its parts.
func checkQuery(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if err := checkQueryPart(v.Interface()); err != nil {
			return err
		}
		return checkQuery(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkQuery(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkQuery(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkQueryPart(part any) error {
	switch part := part.(type) {
	case *gojq.FuncDef, *gojq.Reduce, *gojq.Foreach, *gojq.Label, *gojq.Import:
		return fmt.Errorf("only paths and conditions are supported: no def, reduce, foreach, label or import")
	case *gojq.Func:
		if !strings.HasPrefix(part.Name, "$") && !slices.Contains(jqFunctions, part.Name) || part.Name == "$ENV" || part.Name == "$__loc__" {
			return fmt.Errorf("the function %s is not supported in a path", part.Name)
		}
		if part.Name == "recurse" && len(part.Args) > 0 {
			return fmt.Errorf("recurse is supported without arguments only")
		}
	case *gojq.Query:
		if part.Op == gojq.OpMul && part.Right != nil {
			return fmt.Errorf("multiplication is not supported in a path")
		}
	}
	return nil
}
