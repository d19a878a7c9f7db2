package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// withSet adds the attributes that say which set a data source is about.
func withSet(attributes map[string]datasource.Attribute) map[string]datasource.Attribute {
	attributes["name"] = datasource.StringAttribute{
		Required:            true,
		MarkdownDescription: "Name of the set. Required, e.g. `\"guestbook\"`.",
		Validators:          []validator.String{stringvalidator.RegexMatches(objectName, objectNameRule)},
	}
	attributes["namespace"] = datasource.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Namespace of the Applications. Default: the provider's `namespace`, e.g. `\"argocd\"`.",
		Validators:          []validator.String{stringvalidator.RegexMatches(namespaceName, namespaceRule)},
	}
	return attributes
}

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
