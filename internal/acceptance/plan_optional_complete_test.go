package acceptance

import (
	"context"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/gitrepo"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/provider"
)

// untried are the values of optional attributes that no group can have, each with the reason.
var untried = map[string]string{
	"manifest empty":                                    "it takes the place of spec",
	"manifest set":                                      "it takes the place of spec",
	"spec.strategy.rolling_sync.steps null":             "rolling_sync needs a type, and the type needs steps",
	"spec.strategy.rolling_sync.steps.max_update empty": "no amount, an error",
}

func TestTheTableOfOptionalAttributesIsComplete(t *testing.T) {
	attributes := optionalAttributes()
	tried := tries{attributes: attributes, seen: map[string]bool{}}
	for _, g := range groups {
		for _, p := range g.parts {
			tried.note("", p.root((&fixture{repo: &gitrepo.Repo{}}).newSet(nil), strings.NewReplacer()))
			for _, o := range p.optionals {
				if o.set != nil {
					tried.note(o.path, o.set)
				}
				if o.empty != nil {
					tried.note(o.path, o.empty)
				}
				if !slices.Contains(p.kept, o.path) {
					tried.note(o.path, nil)
				}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(attributes)) {
		for _, value := range []string{"null", "empty", "set"} {
			is, reason := tried.seen[path+" "+value], untried[path+" "+value]
			switch {
			case is && reason != "":
				t.Errorf("the %s value of %s is tried, but said not to be: %s", value, path, reason)
			case !is && reason == "" && (value != "empty" || hasEmpty(attributes[path])):
				t.Errorf("the %s value of %s is not in the table", value, path)
			}
		}
	}
}

// tries collects which values the table has of which attributes.
type tries struct {
	attributes map[string]schema.Attribute
	seen       map[string]bool // "PATH VALUE"
}

var index = regexp.MustCompile(`\.\d+(\.|$)`)

// note takes a value at a path, and what is in it.
func (t tries) note(path string, v any) {
	path = index.ReplaceAllString(strings.TrimPrefix(path, "."), "$1")
	if _, optional := t.attributes[path]; optional {
		t.seen[path+" "+valueKind(v)] = true
	}
	switch v := v.(type) {
	case obj:
		for k, e := range v {
			t.note(path+"."+k, e)
		}
	case list:
		for _, e := range v {
			if o, ok := e.(obj); ok {
				t.note(path, o)
			}
		}
	}
}

func valueKind(v any) string {
	if v == nil {
		return "null"
	}
	if r := reflect.ValueOf(v); r.IsZero() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
		return "empty"
	}
	return "set"
}

// hasEmpty tells that an attribute has an empty value: a number has none, and some texts must not be empty.
func hasEmpty(a schema.Attribute) bool {
	switch a := a.(type) {
	case schema.NumberAttribute:
		return false
	case schema.StringAttribute:
		for _, v := range a.Validators {
			var resp validator.StringResponse
			v.ValidateString(context.Background(), validator.StringRequest{ConfigValue: types.StringValue("")}, &resp)
			if resp.Diagnostics.HasError() {
				return false
			}
		}
	}
	return true
}

// optionalAttributes are all optional attributes by their paths, but for objects: these are tried with what is in them.
func optionalAttributes() map[string]schema.Attribute {
	var resp resource.SchemaResponse
	provider.NewApplicationSetResource().Schema(context.Background(), resource.SchemaRequest{}, &resp)
	found := map[string]schema.Attribute{}
	var walk func(at string, attributes map[string]schema.Attribute)
	walk = func(at string, attributes map[string]schema.Attribute) {
		for name, a := range attributes {
			path := strings.TrimPrefix(at+"."+name, ".")
			object, isObject := a.(schema.SingleNestedAttribute)
			if isObject {
				walk(path, object.Attributes)
			}
			if objects, ok := a.(schema.ListNestedAttribute); ok {
				walk(path, objects.NestedObject.Attributes)
			}
			if a.IsOptional() && !isObject {
				found[path] = a
			}
		}
	}
	walk("", resp.Schema.Attributes)
	return found
}
