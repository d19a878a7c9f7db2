package provider

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// dynamicOf is a tree as a value whose type Terraform sees as it is: objects, and tuples.
func dynamicOf(tree any) (types.Dynamic, error) {
	v, err := valueOf(tree)
	if err != nil {
		return types.DynamicNull(), err
	}
	return types.DynamicValue(v), nil
}

// valueOf is the opposite of toTree for what is known.
func valueOf(tree any) (attr.Value, error) {
	switch v := tree.(type) {
	case nil:
		return types.DynamicNull(), nil
	case string:
		return types.StringValue(v), nil
	case bool:
		return types.BoolValue(v), nil
	case int64, int, float64:
		if n, ok := numberOf(v); ok {
			return types.NumberValue(n), nil
		}
	case map[string]any:
		return objectOf(v)
	case []any:
		return tupleOf(v)
	}
	return nil, fmt.Errorf("a value of type %T has no form in Terraform", tree)
}

func objectOf(tree map[string]any) (attr.Value, error) {
	kinds, values := make(map[string]attr.Type, len(tree)), make(map[string]attr.Value, len(tree))
	for key, e := range tree {
		v, err := valueOf(e)
		if err != nil {
			return nil, err
		}
		kinds[key], values[key] = v.Type(context.Background()), v
	}
	return types.ObjectValueMust(kinds, values), nil
}

func tupleOf(tree []any) (attr.Value, error) {
	kinds, values := make([]attr.Type, len(tree)), make([]attr.Value, len(tree))
	for i, e := range tree {
		v, err := valueOf(e)
		if err != nil {
			return nil, err
		}
		kinds[i], values[i] = v.Type(context.Background()), v
	}
	return types.TupleValueMust(kinds, values), nil
}

// listOf is a list of elements as a value: a list where all are of one type, for its type is told once
// then, which makes thousands of Applications quick to hand to Terraform; else a tuple.
func listOf(elements []any) (types.Dynamic, error) {
	v, err := tupleOf(elements)
	tuple, ok := v.(types.Tuple)
	if err != nil || !ok {
		return types.DynamicNull(), err
	}
	values := tuple.Elements()
	if len(values) == 0 || holdsDynamic(values[0].Type(context.Background())) {
		return types.DynamicValue(tuple), nil
	}
	kind := values[0].Type(context.Background())
	for _, e := range values[1:] {
		if !kind.Equal(e.Type(context.Background())) {
			return types.DynamicValue(tuple), nil
		}
	}
	return types.DynamicValue(types.ListValueMust(kind, values)), nil
}

// holdsDynamic tells whether a type has a part that is of any type, which no list may have.
func holdsDynamic(kind attr.Type) bool {
	if kind.Equal(types.DynamicType) {
		return true
	}
	switch kind := kind.(type) {
	case types.ObjectType:
		for _, e := range kind.AttrTypes {
			if holdsDynamic(e) {
				return true
			}
		}
	case types.TupleType:
		return slices.ContainsFunc(kind.ElemTypes, holdsDynamic)
	}
	return false
}

// numberOf is a number of a tree as Terraform reads the same number in a configuration: by its
// decimal digits, so that 0.1 is not the float64 next to it.
func numberOf(v any) (*big.Float, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v), true
	case int:
		return new(big.Float).SetInt64(int64(v)), true
	case float64:
		const precision = 512 // that of Terraform's numbers
		n, _, err := big.ParseFloat(fmt.Sprint(v), 10, precision, big.ToNearestEven)
		return n, err == nil
	}
	return nil, false
}
