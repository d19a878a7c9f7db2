package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// attributePath translates a path in the tree of a spec (it starts with "spec") back to the
// attribute the user wrote. It follows the value as far as the value goes: a field that is
// missing in free-form data ends at the place that lacks it.
func attributePath(spec attr.Value, p appset.Path) path.Path {
	at := path.Root("spec")
	if len(p) == 0 {
		return at
	}
	current, inSchema := spec, true
	for _, part := range p[1:] {
		if d, ok := current.(types.Dynamic); ok {
			current, inSchema = d.UnderlyingValue(), false
		}
		next, step := descend(current, part, inSchema)
		if step == nil {
			return at
		}
		at, current = step(at), next
	}
	return at
}

// descend finds what a part of a path means below v, and how Terraform writes that step.
func descend(v attr.Value, part any, inSchema bool) (attr.Value, func(path.Path) path.Path) {
	if v == nil || v.IsUnknown() {
		return nil, nil
	}
	switch v := v.(type) {
	case types.Object:
		return descendObject(v, part, inSchema)
	case types.Map:
		if key, ok := part.(string); ok {
			if e, exists := v.Elements()[key]; exists {
				return e, func(p path.Path) path.Path { return p.AtMapKey(key) }
			}
		}
	case types.List:
		if e, i := elementAt(v.Elements(), part); e != nil {
			return e, func(p path.Path) path.Path { return p.AtListIndex(i) }
		}
	case types.Tuple:
		if e, i := elementAt(v.Elements(), part); e != nil {
			return e, func(p path.Path) path.Path { return p.AtTupleIndex(i) }
		}
	}
	return nil, nil
}

// descendObject accepts the CRD's spelling for attributes of the schema, and for the structure
// of generators, where both spellings are allowed.
func descendObject(o types.Object, part any, inSchema bool) (attr.Value, func(path.Path) path.Path) {
	key, ok := part.(string)
	if !ok {
		return nil, nil
	}
	if e, exists := o.Attributes()[key]; exists && !inSchema {
		return e, func(p path.Path) path.Path { return p.AtName(key) }
	}
	for name := range o.AttributeTypes(context.Background()) {
		if crdName(name) == key {
			return o.Attributes()[name], func(p path.Path) path.Path { return p.AtName(name) }
		}
	}
	return nil, nil
}

func elementAt(elements []attr.Value, part any) (attr.Value, int) {
	i, ok := part.(int)
	if !ok || i < 0 || i >= len(elements) {
		return nil, 0
	}
	return elements[i], i
}
