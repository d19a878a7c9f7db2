package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// valueOf is a value of a type of Terraform: texts, objects, and null for all that is not given.
func valueOf(t tftypes.Type, v any) tftypes.Value {
	given, isObject := v.(obj)
	object, typed := t.(tftypes.Object)
	if !isObject || !typed {
		return tftypes.NewValue(t, v)
	}
	attributes := map[string]tftypes.Value{}
	for name, inner := range object.AttributeTypes {
		attributes[name] = valueOf(inner, given[name])
	}
	return tftypes.NewValue(t, attributes)
}

func dynamicValue(t *testing.T, typ tftypes.Type, v any) *tfprotov6.DynamicValue {
	t.Helper()
	value, err := tfprotov6.NewDynamicValue(typ, valueOf(typ, v))
	if err != nil {
		t.Fatal(err)
	}
	return &value
}

// attributesOf are the texts among the attributes of a value.
func attributesOf(t *testing.T, typ tftypes.Type, v *tfprotov6.DynamicValue) map[string]string {
	t.Helper()
	value, err := v.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := value.As(&attributes); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for name, attribute := range attributes {
		var text string
		if attribute.Type().Is(tftypes.String) && attribute.As(&text) == nil {
			texts[name] = text
		}
	}
	return texts
}

// knowsIdentities tells whether the program that the tests run with does: Terraform and OpenTofu since 1.12.
func knowsIdentities(w *workspace) bool {
	w.Helper()
	var is struct {
		Version string `json:"terraform_version"`
	}
	r := w.cli.want(exitEmpty, "version", "-json")
	if err := json.Unmarshal([]byte(r.out), &is); err != nil {
		w.Fatalf("%v in %s", err, r.out)
	}
	var major, minor int
	if _, err := fmt.Sscanf(is.Version, "%d.%d", &major, &minor); err != nil {
		w.Fatalf("the version %q: %v", is.Version, err)
	}
	return major > 1 || minor >= 12
}

// Terraform before 1.12 knows no identity, so this is what a newer one would ask; and where there is a newer one, what
// it makes of an import block.
func TestAccASetIsImportedByItsIdentity(t *testing.T) {
	f := newFixture(t)
	w, s, ctx := f.workspace(), f.newSet([]string{"dev"}), t.Context()
	f.release("1", "dev")
	w.configure(s)
	w.apply()

	server, err := factories["argocdprogressive"]()
	if err != nil {
		t.Fatal(err)
	}
	failed := func(diagnostics []*tfprotov6.Diagnostic, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range diagnostics {
			if d.Severity == tfprotov6.DiagnosticSeverityError {
				return d.Summary + ": " + d.Detail
			}
		}
		return ""
	}
	schema, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	configured, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{
		TerraformVersion: "1.12.0",
		Config:           dynamicValue(t, schema.Provider.ValueType(), obj{"kubernetes": obj{"config_path": f.kubeconfig()}}),
	})
	if said := failed(configured.Diagnostics, err); said != "" {
		t.Fatal(said)
	}
	identity := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"namespace": tftypes.String, "name": tftypes.String}}
	imports := func(namespace, name string) (*tfprotov6.ImportResourceStateResponse, string) {
		resp, err := server.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{
			TypeName: resourceType,
			Identity: &tfprotov6.ResourceIdentityData{IdentityData: dynamicValue(t, identity, obj{"namespace": namespace, "name": name})},
		})
		return resp, failed(resp.Diagnostics, err)
	}
	if _, said := imports(argoNamespace, "No Name"); !strings.Contains(said, "Invalid import id") {
		t.Errorf("an impossible name is told as %q", said)
	}
	imported, said := imports(argoNamespace, f.name)
	if said != "" {
		t.Fatal(said)
	}
	one := imported.ImportedResources[0]
	if got := attributesOf(t, identity, one.Identity.IdentityData); got["namespace"] != argoNamespace || got["name"] != f.name {
		t.Errorf("the identity is %v", got)
	}
	read, err := server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{
		TypeName: resourceType, CurrentState: one.State, Private: one.Private, CurrentIdentity: one.Identity,
	})
	if said := failed(read.Diagnostics, err); said != "" {
		t.Fatal(said)
	}
	got := attributesOf(t, schema.ResourceSchemas[resourceType].ValueType(), read.NewState)
	if got["id"] != argoNamespace+"/"+f.name || got["name"] != f.name || got["namespace"] != argoNamespace || !strings.Contains(got["manifest"], `"kind":"ApplicationSet"`) {
		t.Errorf("the state is %v", got)
	}
	if !knowsIdentities(w) {
		return
	}
	w.loseState()
	w.configure(text(f.provider(nil) + fmt.Sprintf("import {\n  to = %s\n  identity = {\n    namespace = %q\n    name = %q\n  }\n}\n", address, argoNamespace, f.name)))
	r := w.cli.want(exitChanges, "plan", "-detailed-exitcode", "-generate-config-out=generated.tf")
	w.says(r, "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy")
	w.says(w.apply(), "1 imported, 0 added, 0 changed")
	w.atRest()
}
