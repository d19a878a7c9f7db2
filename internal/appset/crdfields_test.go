package appset

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// crdFields reads path -> kind, and " required" behind it, of every field of the CRD. Module
// internal/conformance proves that the file is what the CRD says.
func crdFields(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/crd-fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if path, kind, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path != "#" {
			out[path] = kind
		}
	}
	return out
}

// fieldsApart are the fields for which the tables do not say what the CRD says, and why.
var fieldsApart = map[string]string{
	"spec.generators": "entries have tables of their own",
	"spec.strategy.rollingSync.steps[].maxUpdate": "decodeSteps says what is wrong with it",
	"spec.template":                               "decodeTemplate says that it is missing",
	"spec.template.metadata":                      "the patch, or a generator, may give the name",
	"spec.template.spec":                          "decodeTemplate says that it is missing",
	"spec.template.spec.destination":              "the provider says which cluster is missing",
	"spec.template.spec.project":                  "the default project is filled in",
	"spec.generators[].matrix.generators":         "checkCombination says what is wrong with it",
	"spec.generators[].merge.generators":          "checkCombination says what is wrong with it",
	"spec.generators[].plugin.input.parameters":   "any object",
	"spec.generators[].plugin.input.parameters{}": "any object",
	"spec.generators[].git.revision":              "HEAD where it is missing",
}

// fieldsElsewhere are fields without a row in the tables, with all that is below them, and why.
var fieldsElsewhere = map[string]string{
	"spec.generators[]":                     "see each kind",
	"spec.generators[].list.elements":       "checkList says what is wrong with it",
	"spec.generators[].list.elementsYaml":   "checkList says what is wrong with it",
	"spec.generators[].matrix.generators[]": "entries have the tables of spec.generators",
	"spec.generators[].merge.generators[]":  "entries have the tables of spec.generators",
	"spec.generators[].scmProvider":         "it lists the repositories of a source code host",
	"spec.generators[].pullRequest":         "its Applications come and go with pull requests",
}

func TestTablesAreThoseOfTheCRD(t *testing.T) {
	want, got := crdFields(t), map[string]string{}
	listFields("spec", setShape, true, got)
	listFields("spec.generators[].selector", labelSelectorShape, false, got)
	for kind, s := range generatorShapes {
		listFields("spec.generators[]."+kind, s, false, got)
	}
	used := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] == want[path] {
			continue
		}
		place := path
		if fieldsApart[path] == "" {
			place = elsewhere(path)
		}
		if used[place] = true; place == "" || fieldsElsewhere[place] != "" && got[path] != "" {
			t.Errorf("%s is %q in the CRD, %q here", path, want[path], got[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if want[path] == "" {
			t.Errorf("%s is not in the CRD", path)
		}
	}
	for _, places := range []map[string]string{fieldsApart, fieldsElsewhere} {
		for place := range places {
			if !used[place] {
				t.Errorf("%s does not differ any more", place)
			}
		}
	}
}

// elsewhere is the longest place of fieldsElsewhere that the path is or is below; the entry of a
// list of generators stands for itself alone.
func elsewhere(path string) string {
	found := ""
	for place := range fieldsElsewhere {
		below := place != "spec.generators[]" && (strings.HasPrefix(path, place+".") || strings.HasPrefix(path, place+"["))
		if (place == path || below) && len(place) > len(found) {
			found = place
		}
	}
	return found
}

func listFields(path string, s *shape, required bool, out map[string]string) {
	kinds := map[kind]string{
		kindText: "string", kindBool: "boolean", kindInt: "integer", kindIntOrText: "int-or-string",
		kindObject: "object", kindList: "list", kindMap: "map", kindFree: "free",
	}
	word := kinds[s.kind]
	switch {
	case s == templateShape && path != "spec.template":
		word = "template"
	case s == sourceShape && path != "spec.template.spec.source":
		word = "source"
	case s.kind == kindMap && s.elem.kind == kindFree:
		word = "free"
	case s.kind == kindMap:
		listFields(path+"{}", s.elem, false, out)
	case s.kind == kindList:
		listFields(path+"[]", s.elem, false, out)
	default:
		for key, field := range s.fields {
			listFields(path+"."+key, field, slices.Contains(s.required, key), out)
		}
	}
	if out[path] = word; required {
		out[path] += " required"
	}
}

// sampleOf is a value in which each field at a path of the CRD, and below, is set.
func sampleOf(fields map[string]string, path string) any {
	kind, _, _ := strings.Cut(fields[path], " ")
	switch kind {
	case "string":
		return "x"
	case "boolean":
		return true
	case "integer", "int-or-string":
		return int64(1)
	case "list":
		return []any{sampleOf(fields, path+"[]")}
	case "map":
		return map[string]any{"k": sampleOf(fields, path+"{}")}
	case "template":
		return sampleOf(fields, "spec.template")
	case "source":
		return sampleOf(fields, "spec.template.spec.source")
	}
	out := map[string]any{}
	for field := range fields {
		if name, below := strings.CutPrefix(field, path+"."); below && !strings.ContainsAny(name, ".[{") {
			out[name] = sampleOf(fields, field)
		}
	}
	return out
}

// refusedFields are the fields of the CRD that the decoder does not take, and why.
var refusedFields = map[string]string{
	"scmProvider": fieldsElsewhere["spec.generators[].scmProvider"],
	"pullRequest": fieldsElsewhere["spec.generators[].pullRequest"],
	"template":    "Argo CD ignores the template of a generator inside of matrix or merge",
}

func TestTheDecoderTakesEveryFieldOfTheCRD(t *testing.T) {
	fields := crdFields(t)
	spec, _ := sampleOf(fields, "spec").(map[string]any)
	entry, _ := sampleOf(fields, "spec.generators[]").(map[string]any)
	if len(entry) < len(generatorKinds) || get(spec, "template.spec.source.helm.valuesObject") == nil {
		t.Fatalf("the sample is not whole: %v", spec)
	}
	_, issues := Decode("set", "argocd", spec)
	refused := map[string]bool{}
	for _, issue := range issues {
		switch issue.Summary {
		case SummaryUnknownField, SummaryUnsupportedField, SummaryUnsupportedKind:
			last, _ := issue.Path[len(issue.Path)-1].(string)
			refused[last] = true
			if inside := len(issue.Path) > 5; refusedFields[last] == "" || last == "template" && !inside {
				t.Errorf("%s", issue)
			}
		}
	}
	for name, why := range refusedFields {
		if !refused[name] {
			t.Errorf("%s is taken, in spite of: %s", name, why)
		}
	}
}
