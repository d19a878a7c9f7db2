package conformance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the field list from the CustomResourceDefinition")

// fieldList is what the tests of the provider, which cannot import Argo CD, know of the CRD.
var fieldList = filepath.Join("..", "appset", "testdata", "crd-fields.txt")

const fieldListHead = `# Every field of spec in the ApplicationSet CRD of Argo CD 3.6.1: path, kind, whether it is required.
# [] is an entry of a list, {} a value of a map. "template" is what spec.template is, "source" what
# spec.template.spec.source is. Written by: go test . -run FieldList -update (internal/conformance)
`

// TestTheFieldListIsThatOfTheCRD: what the schema and the decoder are compared with is all that the
// CRD has.
func TestTheFieldListIsThatOfTheCRD(t *testing.T) {
	definition, err := applicationSetSchema()
	if err != nil {
		t.Fatal(err)
	}
	spec := definition.Properties["spec"]
	template := spec.Properties["template"]
	l := lister{template: template, source: template.Properties["spec"].Properties["source"]}
	l.add("spec", spec, true)
	slices.Sort(l.lines)
	want := fieldListHead + strings.Join(l.lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(fieldList, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(fieldList)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == want {
		return
	}
	had := strings.Split(string(got), "\n")
	for _, line := range strings.Split(want, "\n") {
		if !slices.Contains(had, line) {
			t.Errorf("the CRD has %q, the list has not", line)
		}
	}
	for _, line := range had {
		if !strings.Contains(want, line+"\n") {
			t.Errorf("the list has %q, the CRD has not", line)
		}
	}
}

type lister struct {
	// template and source are written out where they are first, and named where they are again.
	template, source *crdSchema
	lines            []string
}

func (l *lister) add(at string, s *crdSchema, required bool) {
	kind := kindOf(s)
	switch {
	case at != "spec.template" && reflect.DeepEqual(s, l.template):
		kind = "template"
	case at != "spec.template.spec.source" && reflect.DeepEqual(s, l.source):
		kind = "source"
	}
	line := at + " " + kind
	if required {
		line += " required"
	}
	l.lines = append(l.lines, line)
	switch kind {
	case "object":
		for name, field := range s.Properties {
			l.add(at+"."+name, field, slices.Contains(s.Required, name))
		}
	case "list":
		l.add(at+"[]", s.Items, false)
	case "map":
		l.add(at+"{}", s.AdditionalProperties, false)
	}
}

func kindOf(s *crdSchema) string {
	switch {
	case s.IntOrString:
		return "int-or-string"
	case s.PreserveUnknown || s.Type == "":
		return "free"
	case s.Type == "array":
		return "list"
	case s.AdditionalProperties != nil:
		return "map"
	case s.Type == "object" && len(s.Properties) == 0:
		return "free"
	}
	return s.Type
}

func TestKindsOfTheCRD(t *testing.T) {
	for want, s := range map[string]*crdSchema{
		"int-or-string": {IntOrString: true}, "free": {Type: "object", PreserveUnknown: true}, "list": {Type: "array"},
		"map": {Type: "object", AdditionalProperties: &crdSchema{Type: "string"}}, "boolean": {Type: "boolean"},
		"object": {Type: "object", Properties: map[string]*crdSchema{"a": {Type: "string"}}},
	} {
		if got := kindOf(s); got != want {
			t.Errorf("%s: %s", fmt.Sprintf("%+v", *s), got)
		}
	}
}
