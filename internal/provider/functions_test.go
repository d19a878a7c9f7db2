package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// call runs a function as Terraform does, without any configuration.
func call(t *testing.T, f function.Function, result attr.Value, manifest string) (attr.Value, string) {
	t.Helper()
	req := function.RunRequest{Arguments: function.NewArgumentsData([]attr.Value{types.StringValue(manifest)})}
	resp := function.RunResponse{Result: function.NewResultData(result)}
	f.Run(t.Context(), req, &resp)
	if resp.Error != nil {
		return nil, resp.Error.Error()
	}
	return resp.Result.Value(), ""
}

// inAppsNamespace is a manifest with a name of its own.
func inAppsNamespace(manifest string) string {
	return strings.Replace(manifest, `"kind":"ApplicationSet"`, `"kind":"ApplicationSet","metadata":{"name":"guestbook","namespace":"apps"}`, 1)
}

func TestRenderGivesTheApplicationsOfAManifest(t *testing.T) {
	got, failed := call(t, NewRenderFunction(), types.DynamicUnknown(), inAppsNamespace(manifestOf("main", "prod-1", "dev-1")))
	if failed != "" {
		t.Fatal(failed)
	}
	tree, err := toTree(got)
	if err != nil {
		t.Fatal(err)
	}
	apps := tree.([]any)
	if len(apps) != 2 {
		t.Fatalf("%d Applications", len(apps))
	}
	want := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{
			"name": "dev-1", "namespace": "apps", "labels": map[string]any{"env": "dev"}, "finalizers": []any{"resources-finalizer.argocd.argoproj.io"},
		},
		"spec": map[string]any{
			"project": "default", "destination": map[string]any{"name": "in-cluster"},
			"source": map[string]any{"repoURL": "https://example.com/r.git", "targetRevision": "main", "path": "."},
		},
	}
	if diff := cmp.Diff(want, apps[0]); diff != "" {
		t.Error(diff)
	}
}

func TestWavesGivesTheStepsOfAManifest(t *testing.T) {
	got, failed := call(t, NewWavesFunction(), types.MapUnknown(namesType), inAppsNamespace(manifestOf("main", "prod-2", "prod-1", "dev-1", "qa-1")))
	if failed != "" {
		t.Fatal(failed)
	}
	tree, err := toTree(got)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{stepDev: []any{"dev-1"}, stepProd: []any{"prod-1", "prod-2"}, "no step": []any{"qa-1"}}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionsSayWhatIsWrong(t *testing.T) {
	good := inAppsNamespace(manifestOf("main", "dev-1"))
	for name, c := range map[string]struct{ manifest, says string }{
		"no YAML":                             {"{", "Invalid manifest"},
		"no name":                             {manifestOf("main", "dev-1"), "metadata.name"},
		"a key that no element has":           {strings.Replace(good, `"{{.name}}"`, `"{{.nothing}}"`, 1), "nothing"},
		"two Applications of one name":        {inAppsNamespace(strings.Replace(manifestOf("main", "dev-1", "dev-2"), `"{{.name}}"`, `"{{.env}}"`, 1)), "Duplicate"},
		"a generator that needs a connection": {inAppsNamespace(clustersManifest(t, "dev")), "data.argocdprogressive_applications"},
	} {
		for _, f := range []function.Function{NewRenderFunction(), NewWavesFunction()} {
			_, failed := call(t, f, types.DynamicUnknown(), c.manifest)
			if !strings.Contains(failed, c.says) {
				t.Errorf("%s: the error is %q, and does not say %q", name, failed, c.says)
			}
		}
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	tree := map[string]any{
		"text": "a", "flag": false, "whole": int64(7), "large": int64(9007199254740993), "part": 0.5, "none": nil,
		"list": []any{"a", true, map[string]any{}}, "empty": []any{},
	}
	value, err := dynamicOf(tree)
	if err != nil {
		t.Fatal(err)
	}
	back, err := toTree(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree, back); diff != "" {
		t.Error(diff)
	}
	if _, err := dynamicOf(map[string]any{"x": struct{}{}}); err == nil {
		t.Error("a value without a form in Terraform is accepted")
	}
}

func TestAListOfOneTypeSaysItOnce(t *testing.T) {
	element := func(more ...any) map[string]any {
		return map[string]any{"name": "a", "tags": append([]any{"x"}, more...)}
	}
	for name, c := range map[string]struct {
		elements []any
		list     bool
	}{
		"all alike":          {[]any{element(), element()}, true},
		"none":               {[]any{}, false},
		"of different types": {[]any{element(), element(true)}, false},
		"with a null":        {[]any{map[string]any{"a": nil}, map[string]any{"a": nil}}, false},
		"with a null inside": {[]any{element(nil), element(nil)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := listOf(c.elements)
			if err != nil {
				t.Fatal(err)
			}
			if _, isList := value.UnderlyingValue().(types.List); isList != c.list {
				t.Errorf("the value is a %T", value.UnderlyingValue())
			}
			back, err := toTree(value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.elements, back); diff != "" {
				t.Error(diff)
			}
		})
	}
}
