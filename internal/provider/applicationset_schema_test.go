package provider

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

func TestApplicationSetSchemaIsAccepted(t *testing.T) {
	ctx := context.Background()
	if diags := applicationSetSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Fatal(diags)
	}
}

// crdFields reads path -> kind, as found in Argo CD's Go types.
func crdFields(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/crd_fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if path, kind, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			fields[path] = kind
		}
	}
	return fields
}

func TestEveryAttributeOfSpecIsAFieldOfTheCRDWithItsType(t *testing.T) {
	fields := crdFields(t)
	checked := 0
	var walk func(at string, v attr.Type)
	walk = func(at string, v attr.Type) {
		checked++
		want, exists := fields[at]
		if !exists {
			t.Errorf("the CRD has no field %s", at)
			return
		}
		var got string
		switch v := v.(type) {
		case types.ObjectType:
			got = "object"
			for name, inner := range v.AttrTypes {
				walk(at+"."+crdName(name), inner)
			}
		case types.ListType:
			got = "list"
			walk(at+"[]", v.ElemType)
		case types.MapType:
			got = "map"
			walk(at+"{}", v.ElemType)
		case basetypes.StringType:
			got = "string"
		case basetypes.BoolType:
			got = "bool"
		case basetypes.NumberType:
			got = "int64"
		case basetypes.DynamicType:
			got = "free"
		}
		name := at[strings.LastIndex(at, ".")+1:]
		if want == "intOrString" && (name == "maxUpdate" || name == "count") {
			want = "string"
		}
		if got != want {
			t.Errorf("%s is %s in the schema and %s in the CRD", at, got, want)
		}
	}
	walk("spec", applicationSetSchema(context.Background()).Attributes["spec"].GetType())
	if checked < 200 {
		t.Errorf("only %d attributes were checked", checked)
	}
}

// notSupported are fields of the CRD that this version refuses, by the reason in their names.
var notSupported = []string{
	"spec.applyNestedSelectors", "spec.template.metadata.namespace",
	"spec.template.spec.sourceHydrator", "spec.template.spec.source.plugin", "spec.template.spec.sources[].plugin",
	// Free-form values cannot stand in lists.
	"spec.template.spec.sources[].helm.valuesObject",
}

func TestEveryFieldOfTheCRDIsAnAttributeOfSpec(t *testing.T) {
	have := map[string]bool{}
	var walk func(at string, v attr.Type)
	walk = func(at string, v attr.Type) {
		have[at] = true
		switch v := v.(type) {
		case types.ObjectType:
			for name, inner := range v.AttrTypes {
				walk(at+"."+crdName(name), inner)
			}
		case types.ListType:
			walk(at+"[]", v.ElemType)
		case types.MapType:
			walk(at+"{}", v.ElemType)
		}
	}
	walk("spec", applicationSetSchema(context.Background()).Attributes["spec"].GetType())
	for at := range crdFields(t) {
		refused := false
		for _, prefix := range notSupported {
			refused = refused || strings.HasPrefix(at, prefix)
		}
		if have[at] == refused {
			t.Errorf("%s: an attribute: %v, listed as not supported: %v", at, have[at], refused)
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

func TestEveryAttributeSaysWhatItDoesAndItsDefault(t *testing.T) {
	var walk func(at string, attrs map[string]schema.Attribute)
	walk = func(at string, attrs map[string]schema.Attribute) {
		for name, a := range attrs {
			here := strings.TrimPrefix(at+"."+name, ".")
			text := a.GetMarkdownDescription() + a.GetDescription()
			if text == "" && here != "timeouts" {
				t.Errorf("%s has no description", here)
			}
			simple := false
			switch a := a.(type) {
			case schema.SingleNestedAttribute:
				walk(here, a.Attributes)
			case schema.ListNestedAttribute:
				walk(here, a.NestedObject.Attributes)
			default:
				simple = true
			}
			if !simple || a.IsComputed() && !a.IsOptional() || here == "manifest" {
				continue
			}
			if !strings.Contains(text, "efault") && !strings.Contains(text, "Required") {
				t.Errorf("%s: the description tells no default", here)
			}
			_, isBool := a.(schema.BoolAttribute)
			if !isBool && !strings.ContainsAny(text, "`\"") {
				t.Errorf("%s: the description shows no value", here)
			}
		}
	}
	walk("", applicationSetSchema(context.Background()).Attributes)
}
