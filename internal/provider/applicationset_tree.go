package provider

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// crdExceptions are the fields of the CRD that do not follow the rule of crdName.
var crdExceptions = map[string]string{"repo_url": "repoURL"}

// intOrText are the attributes that hold a number or a text in the CRD. Terraform has no such
// type: they are text here, and what is written as a whole number is one in the tree.
var intOrText = map[string]bool{"max_update": true, "count": true}

// crdName translates an attribute name to the CRD's spelling: target_revision -> targetRevision.
func crdName(attribute string) string {
	if name, ok := crdExceptions[attribute]; ok {
		return name
	}
	parts := strings.Split(attribute, "_")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// toTree turns a value of the spec into the tree that appset reads. Attributes get the CRD's
// names and are left out where they are null; keys of maps, and everything inside of Dynamic
// values, are user data and stay as they are. Unknown values become appset.Unknown. Numbers
// stay exact: int64 where they are whole and fit, else float64.
func toTree(v attr.Value) (any, error) {
	return tree{schema: true}.of(v)
}

// tree is one walk; schema tells that object attributes are those of the schema.
type tree struct{ schema bool }

func (t tree) of(v attr.Value) (any, error) {
	switch {
	case v == nil || v.IsNull():
		return nil, nil
	case v.IsUnknown():
		return appset.Unknown, nil
	}
	switch v := v.(type) {
	case types.Dynamic:
		if v.IsUnderlyingValueUnknown() {
			return appset.Unknown, nil
		}
		return tree{schema: false}.of(v.UnderlyingValue())
	case types.Object:
		return t.object(v.Attributes())
	case types.Map:
		return tree{schema: false}.object(v.Elements())
	case types.List:
		return t.list(v.Elements())
	case types.Tuple:
		return t.list(v.Elements())
	case types.Set:
		return t.list(v.Elements())
	case types.String:
		return v.ValueString(), nil
	case types.Bool:
		return v.ValueBool(), nil
	case types.Number:
		return exactNumber(v.ValueBigFloat()), nil
	}
	return nil, fmt.Errorf("values of type %T cannot stand in an ApplicationSet", v)
}

// object keeps nulls of user data: {{.x}} of an element whose x is null is not a missing key.
func (t tree) object(elements map[string]attr.Value) (any, error) {
	out := make(map[string]any, len(elements))
	for name, e := range elements {
		sub, err := t.of(e)
		if err != nil {
			return nil, err
		}
		switch {
		case !t.schema:
			out[name] = sub
		case sub == nil:
		case intOrText[name]:
			out[crdName(name)] = wholeOrText(sub)
		default:
			out[crdName(name)] = sub
		}
	}
	return out, nil
}

func (t tree) list(elements []attr.Value) (any, error) {
	out := make([]any, len(elements))
	for i, e := range elements {
		sub, err := t.of(e)
		if err != nil {
			return nil, err
		}
		out[i] = sub
	}
	return out, nil
}

// exactNumber is an int64 for a whole number that fits, else the nearest float64.
func exactNumber(f *big.Float) any {
	if n, accuracy := f.Int64(); accuracy == big.Exact {
		return n
	}
	n, _ := f.Float64()
	return n
}

func wholeOrText(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return n
	}
	return v
}
