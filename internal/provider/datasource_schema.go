package provider

import (
	"fmt"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// forDataSource are attributes of a resource as those of a data source: the framework has types of
// its own for each, with the same fields.
func forDataSource(of map[string]resource.Attribute) map[string]datasource.Attribute {
	out := make(map[string]datasource.Attribute, len(of))
	for name, a := range of {
		out[name] = dataSourceAttribute(a)
	}
	return out
}

func dataSourceAttribute(a resource.Attribute) datasource.Attribute {
	switch a := a.(type) {
	case resource.StringAttribute:
		return datasource.StringAttribute{Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators}
	case resource.BoolAttribute:
		return datasource.BoolAttribute{Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators}
	case resource.NumberAttribute:
		return datasource.NumberAttribute{Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators}
	case resource.DynamicAttribute:
		return datasource.DynamicAttribute{Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators}
	case resource.ListAttribute:
		return datasource.ListAttribute{
			ElementType: a.ElementType, Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.MapAttribute:
		return datasource.MapAttribute{
			ElementType: a.ElementType, Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.SingleNestedAttribute:
		return datasource.SingleNestedAttribute{
			Attributes: forDataSource(a.Attributes), Required: a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	case resource.ListNestedAttribute:
		return datasource.ListNestedAttribute{
			NestedObject: datasource.NestedAttributeObject{Attributes: forDataSource(a.NestedObject.Attributes)},
			Required:     a.Required, Optional: a.Optional, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators,
		}
	}
	panic(fmt.Sprintf("no data source has an attribute like %T", a)) // the tests make every schema
}
