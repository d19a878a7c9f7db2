package provider

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func specType() attr.Type {
	return applicationSetSchema(context.Background()).Attributes["spec"].GetType()
}

// anyValue draws a value of the type: absent, empty or set, at each place on its own. Free-form
// values are what Terraform makes of an expression: objects, tuples and leaves, with nulls in them.
func anyValue(t *rapid.T, kind attr.Type, name string) attr.Value {
	ctx := context.Background()
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		null, err := kind.ValueFromTerraform(ctx, tftypes.NewValue(kind.TerraformType(ctx), nil))
		if err != nil {
			t.Fatal(err)
		}
		return null
	}
	few := rapid.IntRange(0, 2)
	switch kind := kind.(type) {
	case types.ObjectType:
		values := map[string]attr.Value{}
		for _, name := range sortedNames(kind.AttrTypes) {
			values[name] = anyValue(t, kind.AttrTypes[name], name)
		}
		return types.ObjectValueMust(kind.AttrTypes, values)
	case types.ListType:
		values := []attr.Value{}
		for range few.Draw(t, "length") {
			values = append(values, anyValue(t, kind.ElemType, ""))
		}
		return types.ListValueMust(kind.ElemType, values)
	case types.MapType:
		values := map[string]attr.Value{}
		for range few.Draw(t, "length") {
			values[anyText.Draw(t, "key")] = anyValue(t, kind.ElemType, "")
		}
		return types.MapValueMust(kind.ElemType, values)
	case basetypes.DynamicType:
		return types.DynamicValue(anyFree(t, rapid.IntRange(1, 5).Draw(t, "shape"), 3))
	case basetypes.BoolType:
		return types.BoolValue(rapid.Bool().Draw(t, "bool"))
	case basetypes.NumberType:
		return num(anyInteger.Draw(t, "number"))
	}
	if intOrText[name] {
		return str(rapid.OneOf(rapid.SampledFrom([]string{"007", "+5", "-0", "10%", "", "{{.n}}", "1e3"}), anyInteger).Draw(t, name))
	}
	return str(anyText.Draw(t, "text"))
}

var (
	anyText    = rapid.SampledFrom([]string{"", "a", "target_revision", "targetRevision", "1", "true", "{{.x}}", "ü\n\"", "null"})
	anyInteger = rapid.SampledFrom([]string{"0", "1", "-1", "42", "9007199254740993", "9223372036854775807", "-9223372036854775808"})
	anyNumber  = rapid.SampledFrom([]string{"0", "0.1", "-2.5", "1e-7", "3", "9223372036854775807", "1e+30"})
)

// anyFree draws a value of a shape: 0 is null, 4 and 5 hold further values, down to a depth.
func anyFree(t *rapid.T, shape, depth int) attr.Value {
	below := func() attr.Value {
		most := 5
		if depth == 1 {
			most = 3
		}
		return anyFree(t, rapid.IntRange(0, most).Draw(t, "shape"), depth-1)
	}
	switch shape {
	case 0:
		return types.DynamicNull()
	case 1:
		return str(anyText.Draw(t, "text"))
	case 2:
		return num(anyNumber.Draw(t, "number"))
	case 3:
		return types.BoolValue(rapid.Bool().Draw(t, "bool"))
	case 4:
		values := []attr.Value{}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			values = append(values, below())
		}
		return tup(values...)
	}
	values := map[string]attr.Value{}
	for range rapid.IntRange(0, 2).Draw(t, "length") {
		values[anyText.Draw(t, "key")] = below()
	}
	return obj(values)
}

func TestASpecSurvivesTheWayToTheAPIServerAndBack(t *testing.T) {
	kind := specType()
	rapid.Check(t, func(t *rapid.T) {
		spec := anyValue(t, kind, "spec")
		tree, err := toTree(spec)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		var read any
		if err := json.Unmarshal(wire, &read); err != nil {
			t.Fatal(err)
		}
		back, err := ofTree(kind, read)
		if err != nil {
			t.Fatalf("%v\n%s", err, wire)
		}
		if !spec.Equal(back) {
			t.Fatalf("%s\nwas %s\nis  %s", wire, spec, back)
		}
	})
}
