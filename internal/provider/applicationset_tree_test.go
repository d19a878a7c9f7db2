package provider

import (
	"context"
	"math/big"
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// obj, tup and dyn build values as Terraform hands them over.
func obj(values map[string]attr.Value) types.Object {
	kinds := map[string]attr.Type{}
	for name, v := range values {
		kinds[name] = v.Type(context.Background())
	}
	return types.ObjectValueMust(kinds, values)
}

func tup(values ...attr.Value) types.Tuple {
	kinds := make([]attr.Type, len(values))
	for i, v := range values {
		kinds[i] = v.Type(context.Background())
	}
	return types.TupleValueMust(kinds, values)
}

func dyn(v attr.Value) types.Dynamic { return types.DynamicValue(v) }

func str(s string) types.String { return types.StringValue(s) }

func num(s string) types.Number {
	f, _, err := big.ParseFloat(s, 10, 512, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return types.NumberValue(f)
}

func TestToTree(t *testing.T) {
	for name, c := range map[string]struct {
		in   attr.Value
		want any
	}{
		"attributes get the CRD's names": {
			in:   obj(map[string]attr.Value{"target_revision": str("main"), "repo_url": str("https://x")}),
			want: map[string]any{"targetRevision": "main", "repoURL": "https://x"},
		},
		"null attributes are left out, empty ones are not": {
			in:   obj(map[string]attr.Value{"path": types.StringNull(), "chart": str("")}),
			want: map[string]any{"chart": ""},
		},
		"an unknown attribute is Unknown": {
			in:   obj(map[string]attr.Value{"path": types.StringUnknown()}),
			want: map[string]any{"path": appset.Unknown},
		},
		"keys of maps are never renamed": {
			in: obj(map[string]attr.Value{"match_labels": types.MapValueMust(types.StringType,
				map[string]attr.Value{"env_label": str("a"), "team": types.StringUnknown()})}),
			want: map[string]any{"matchLabels": map[string]any{"env_label": "a", "team": appset.Unknown}},
		},
		"nothing in a dynamic value is renamed, and types are kept": {
			in: obj(map[string]attr.Value{"values_object": dyn(obj(map[string]attr.Value{
				"replica_count": num("2"), "ratio": num("0.1"), "on": types.BoolValue(false), "list": tup(str("x"), num("1")),
			}))}),
			want: map[string]any{"valuesObject": map[string]any{
				"replica_count": int64(2), "ratio": 0.1, "on": false, "list": []any{"x", int64(1)},
			}},
		},
		"nulls in user data are kept": {
			in:   dyn(tup(obj(map[string]attr.Value{"a": types.StringNull()}))),
			want: []any{map[string]any{"a": nil}},
		},
		"an unknown dynamic value is Unknown": {in: types.DynamicUnknown(), want: appset.Unknown},
		"an unknown leaf of a dynamic value is Unknown, the rest is known": {
			in:   dyn(tup(obj(map[string]attr.Value{"a": types.StringUnknown(), "b": str("b")}))),
			want: []any{map[string]any{"a": appset.Unknown, "b": "b"}},
		},
		"a null dynamic value is nothing": {in: types.DynamicNull(), want: nil},
		"the largest integer stays exact": {
			in: dyn(num("9223372036854775807")), want: int64(9223372036854775807),
		},
		"a larger number is the nearest float": {in: dyn(num("1e30")), want: 1e30},
		"max_update as text is a number where it reads as one": {
			in:   obj(map[string]attr.Value{"max_update": str("2")}),
			want: map[string]any{"maxUpdate": int64(2)},
		},
		"max_update as a percentage stays text": {
			in:   obj(map[string]attr.Value{"max_update": str("10%")}),
			want: map[string]any{"maxUpdate": "10%"},
		},
		"a user's key called count stays as it is": {
			in:   dyn(obj(map[string]attr.Value{"count": str("2")})),
			want: map[string]any{"count": "2"},
		},
		"integers and bools of the template are real ones": {
			in:   obj(map[string]attr.Value{"limit": types.NumberValue(big.NewFloat(3)), "self_heal": types.BoolValue(true)}),
			want: map[string]any{"limit": int64(3), "selfHeal": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toTree(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(c.want, got) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestAttributePath(t *testing.T) {
	spec := obj(map[string]attr.Value{
		"generators": dyn(tup(obj(map[string]attr.Value{
			"list": obj(map[string]attr.Value{"elements_yaml": types.StringNull(), "elements": tup(obj(map[string]attr.Value{"env_label": str("x")}))}),
		}))),
		"strategy": obj(map[string]attr.Value{
			"rolling_sync": obj(map[string]attr.Value{"steps": types.ListValueMust(
				types.ObjectType{AttrTypes: map[string]attr.Type{"max_update": types.StringType}},
				[]attr.Value{obj(map[string]attr.Value{"max_update": str("x")})},
			)}),
		}),
		"template": obj(map[string]attr.Value{
			"metadata": obj(map[string]attr.Value{
				"labels": types.MapValueMust(types.StringType, map[string]attr.Value{"app.kubernetes.io/name": str("x")}),
			}),
			"spec": obj(map[string]attr.Value{
				"source": types.ObjectNull(map[string]attr.Type{"repo_url": types.StringType}),
			}),
		}),
	})
	for name, c := range map[string]struct {
		in   appset.Path
		want string
	}{
		"the whole":                        {appset.Path{"spec"}, "spec"},
		"an issue without a path":          {nil, "spec"},
		"a step's maxUpdate":               {appset.Path{"spec", "strategy", "rollingSync", "steps", 0, "maxUpdate"}, "spec.strategy.rolling_sync.steps[0].max_update"},
		"a label":                          {appset.Path{"spec", "template", "metadata", "labels", "app.kubernetes.io/name"}, `spec.template.metadata.labels["app.kubernetes.io/name"]`},
		"a field that is not set":          {appset.Path{"spec", "template", "spec", "source", "repoURL"}, "spec.template.spec.source.repo_url"},
		"an index that does not exist":     {appset.Path{"spec", "strategy", "rollingSync", "steps", 7, "maxUpdate"}, "spec.strategy.rolling_sync.steps"},
		"an element of a generator":        {appset.Path{"spec", "generators", 0, "list", "elements", 0, "env_label"}, "spec.generators[0].list.elements[0].env_label"},
		"structure of a generator":         {appset.Path{"spec", "generators", 0, "list", "elementsYaml"}, "spec.generators[0].list.elements_yaml"},
		"what is missing in a generator":   {appset.Path{"spec", "generators", 0, "git"}, "spec.generators[0]"},
		"a field that the schema lacks":    {appset.Path{"spec", "template", "spec", "sourceHydrator"}, "spec.template.spec"},
		"a label that the template lacks":  {appset.Path{"spec", "template", "metadata", "labels", "b"}, "spec.template.metadata.labels"},
		"an attribute with another parent": {appset.Path{"spec", "template", 3}, "spec.template"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := attributePath(spec, c.in).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
