package provider

import (
	"context"
	"fmt"

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
