package provider

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// ofTree is the opposite of toTree, for the property that nothing is lost on that way: the spec of an
// ApplicationSet, in the spelling of the CRD and as the API server returns it, as a value of the
// attribute spec. What is absent or null is null, what is empty stays empty, and free-form values keep
// their keys and types. An error tells the field for which the schema has no attribute, or whose
// value has another type there.
func ofTree(t attr.Type, tree any) (attr.Value, error) {
	return typed{}.of(appset.Path{"spec"}, t, tree)
}

// typed is one walk back; text tells that the attribute is one of intOrText.
type typed struct{ text bool }

func (w typed) of(at appset.Path, t attr.Type, v any) (attr.Value, error) {
	switch t := t.(type) {
	case basetypes.DynamicType:
		if v == nil {
			return types.DynamicNull(), nil
		}
		value, err := dynamicOf(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return value, nil
	case types.ObjectType:
		return w.object(at, t, v)
	case types.MapType:
		return w.mapping(at, t, v)
	case types.ListType:
		return w.list(at, t, v)
	}
	value, err := w.leaf(t, v)
	if err != nil {
		return nil, fmt.Errorf("%s %w", at, err)
	}
	return value, nil
}

func (w typed) object(at appset.Path, t types.ObjectType, v any) (attr.Value, error) {
	if v == nil {
		return types.ObjectNull(t.AttrTypes), nil
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be an object", at)
	}
	known, values := make(map[string]bool, len(t.AttrTypes)), make(map[string]attr.Value, len(t.AttrTypes))
	for name, inner := range t.AttrTypes {
		field := crdName(name)
		value, err := typed{text: intOrText[name]}.of(at.With(field), inner, tree[field])
		if err != nil {
			return nil, err
		}
		known[field], values[name] = true, value
	}
	for _, field := range sortedNames(tree) {
		if !known[field] && tree[field] != nil {
			return nil, fmt.Errorf("%s has no attribute in the schema", at.With(field))
		}
	}
	return types.ObjectValueMust(t.AttrTypes, values), nil
}

func (w typed) mapping(at appset.Path, t types.MapType, v any) (attr.Value, error) {
	if v == nil {
		return types.MapNull(t.ElemType), nil
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be an object", at)
	}
	values := make(map[string]attr.Value, len(tree))
	for key, e := range tree {
		value, err := w.of(at.With(key), t.ElemType, e)
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	return types.MapValueMust(t.ElemType, values), nil
}

func (w typed) list(at appset.Path, t types.ListType, v any) (attr.Value, error) {
	if v == nil {
		return types.ListNull(t.ElemType), nil
	}
	entries, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s must be a list", at)
	}
	values := make([]attr.Value, len(entries))
	for i, e := range entries {
		value, err := w.of(at.With(i), t.ElemType, e)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return types.ListValueMust(t.ElemType, values), nil
}

func (w typed) leaf(t attr.Type, v any) (attr.Value, error) {
	switch t.(type) {
	case basetypes.StringType:
		switch text := v.(type) {
		case nil:
			return types.StringNull(), nil
		case string:
			return types.StringValue(text), nil
		}
		if n, isNumber := numberOf(v); isNumber && w.text {
			return types.StringValue(n.Text('f', -1)), nil
		}
		return nil, errors.New("must be a string")
	case basetypes.BoolType:
		switch flag := v.(type) {
		case nil:
			return types.BoolNull(), nil
		case bool:
			return types.BoolValue(flag), nil
		}
		return nil, errors.New("must be a bool")
	case basetypes.NumberType:
		if v == nil {
			return types.NumberNull(), nil
		}
		if n, isNumber := numberOf(v); isNumber {
			return types.NumberValue(n), nil
		}
		return nil, errors.New("must be a number")
	}
	return nil, fmt.Errorf("has an attribute of type %s, for which there is no value", t)
}
