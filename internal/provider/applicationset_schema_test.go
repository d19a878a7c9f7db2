package provider

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

func TestApplicationSetSchemaIsAccepted(t *testing.T) {
	ctx := context.Background()
	if diags := applicationSetSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Fatal(diags)
	}
}

// crdFields reads path -> kind of every field of the CRD, but for generators. Module
// internal/conformance proves that the file is what the CRD says.
func crdFields(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../appset/testdata/crd-fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		path, kind, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), " required"), " ")
		if !ok || path == "#" || strings.HasPrefix(path, "spec.generators[") {
			continue
		}
		fields[path] = kind
	}
	const source = "spec.template.spec.source"
	for path, kind := range maps.Clone(fields) {
		if rest, ok := strings.CutPrefix(path, source); ok && (rest == "" || rest[0] == '.') {
			fields["spec.template.spec.sources[]"+rest] = kind
		}
	}
	return fields
}

// attributeFields are path -> kind of every attribute of spec, in the spelling of the CRD.
func attributeFields() map[string]string {
	fields := map[string]string{}
	var walk func(at string, v attr.Type)
	walk = func(at string, v attr.Type) {
		switch v := v.(type) {
		case types.ObjectType:
			fields[at] = "object"
			for name, inner := range v.AttrTypes {
				walk(at+"."+crdName(name), inner)
				if intOrText[name] {
					fields[at+"."+crdName(name)] = "int-or-string"
				}
			}
		case types.ListType:
			fields[at] = "list"
			walk(at+"[]", v.ElemType)
		case types.MapType:
			fields[at] = "map"
			walk(at+"{}", v.ElemType)
		case basetypes.StringType:
			fields[at] = "string"
		case basetypes.BoolType:
			fields[at] = "boolean"
		case basetypes.NumberType:
			fields[at] = "integer"
		case basetypes.DynamicType:
			fields[at] = "free"
		}
	}
	walk("spec", specType())
	return fields
}

// fieldsWithoutAttribute are the fields of the CRD that spec lacks, and those that have another
// type there, and why.
var fieldsWithoutAttribute = map[string]string{
	"spec.generators": "a list in the CRD; free-form here, so that matrix and merge nest and types survive. package appset checks its fields",
	"spec.template.spec.sources[].helm.valuesObject": "Terraform allows no free-form values in lists; yamlencode in values says the same",
}

func TestEveryFieldOfTheCRDIsAnAttributeOfSpecWithItsType(t *testing.T) {
	want, got := crdFields(t), attributeFields()
	if len(want) < 400 {
		t.Errorf("the CRD has only %d fields", len(want))
	}
	for _, path := range sortedNames(want) {
		same := got[path] == want[path]
		if _, apart := fieldsWithoutAttribute[path]; same == apart {
			t.Errorf("%s: %q in the CRD, %q in the schema, listed as different: %v", path, want[path], got[path], apart)
		}
	}
	for _, path := range sortedNames(got) {
		if want[path] == "" {
			t.Errorf("the CRD has no field %s", path)
		}
	}
}

func TestCRDNames(t *testing.T) {
	for attribute, want := range map[string]string{
		"name": "name", "repo_url": "repoURL", "target_revision": "targetRevision", "json_pointers": "jsonPointers",
		"jq_path_expressions": "jqPathExpressions", "tlas": "tlas", "ext_vars": "extVars", "skip_crds": "skipCrds",
		"api_versions": "apiVersions", "kube_version": "kubeVersion",
		"preserve_resources_on_deletion": "preserveResourcesOnDeletion",
	} {
		if got := crdName(attribute); got != want {
			t.Errorf("crdName(%q) is %q, want %q", attribute, got, want)
		}
	}
}
