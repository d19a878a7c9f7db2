package provider

import (
	"context"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// described is what the attributes of resources, data sources and the provider have in common.
type described interface {
	GetMarkdownDescription() string
	GetDescription() string
	IsOptional() bool
	IsRequired() bool
}

// everyAttribute calls visit with each attribute of the provider, its resources and its data
// sources, with those that are nested in others.
func everyAttribute(visit func(at string, a described, nested bool)) {
	ctx := context.Background()
	p := &argocdprogressive{}
	var walk func(at string, attributes reflect.Value)
	walk = func(at string, attributes reflect.Value) {
		for _, name := range attributes.MapKeys() {
			here := at + "." + name.String()
			a := attributes.MapIndex(name).Elem()
			inner := a.FieldByName("Attributes")
			if object := a.FieldByName("NestedObject"); object.IsValid() {
				inner = object.FieldByName("Attributes")
			}
			visit(here, a.Interface().(described), inner.IsValid())
			if inner.IsValid() {
				walk(here, inner)
			}
		}
	}
	walk("provider", reflect.ValueOf(providerSchema().Attributes))
	for _, build := range p.Resources(ctx) {
		var name resource.MetadataResponse
		var resp resource.SchemaResponse
		r := build()
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: typeName}, &name)
		r.Schema(ctx, resource.SchemaRequest{}, &resp)
		walk(name.TypeName, reflect.ValueOf(resp.Schema.Attributes))
	}
	for _, build := range p.DataSources(ctx) {
		var name datasource.MetadataResponse
		var resp datasource.SchemaResponse
		d := build()
		d.Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: typeName}, &name)
		d.Schema(ctx, datasource.SchemaRequest{}, &resp)
		walk("data."+name.TypeName, reflect.ValueOf(resp.Schema.Attributes))
	}
}

var (
	// defaultOf: "Required", or what an optional attribute is when it is left out.
	defaultOf = regexp.MustCompile(`Default: \S|Default, |Required\b|Exactly one of`)
	// example: a value in the words of a configuration, after "e.g." or as the default.
	example = regexp.MustCompile("(e\\.g\\. |Default: |default )[^.]*[`\"]")
)

func TestEveryAttributeSaysWhatItDoesAndItsDefaultWithAnExample(t *testing.T) {
	seen := 0
	everyAttribute(func(at string, a described, nested bool) {
		seen++
		text := a.GetMarkdownDescription() + a.GetDescription()
		if strings.HasSuffix(at, ".timeouts") && text == "" {
			return // terraform-plugin-framework-timeouts gives it none
		}
		if len(text) < 10 || !strings.HasSuffix(strings.TrimSpace(text), ".") {
			t.Errorf("%s: the description says not what it does: %q", at, text)
		}
		if !a.IsOptional() && !a.IsRequired() {
			return
		}
		if !defaultOf.MatchString(text) {
			t.Errorf("%s: the description tells no default: %s", at, text)
		}
		if !nested && !example.MatchString(text) {
			t.Errorf("%s: the description shows no value: %s", at, text)
		}
	})
	if seen < 400 {
		t.Errorf("only %d attributes were looked at", seen)
	}
}
