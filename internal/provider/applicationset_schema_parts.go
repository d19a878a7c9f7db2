package provider

import (
	"math"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// The shapes that the fields of an ApplicationSet have. Nothing below spec is computed: the
// configuration stands in state word for word.

type attributes = map[string]schema.Attribute

func text(description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func requiredText(description string) schema.Attribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description}
}

func flag(description string) schema.Attribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

func number(description string) schema.Attribute {
	return schema.NumberAttribute{
		Optional: true, MarkdownDescription: description,
		Validators: []validator.Number{wholeNumber{math.MinInt64, math.MaxInt64}},
	}
}

func texts(description string) schema.Attribute {
	return schema.ListAttribute{ElementType: types.StringType, Optional: true, MarkdownDescription: description}
}

func textMap(description string) schema.Attribute {
	return schema.MapAttribute{ElementType: types.StringType, Optional: true, MarkdownDescription: description}
}

func flagMap(description string) schema.Attribute {
	return schema.MapAttribute{ElementType: types.BoolType, Optional: true, MarkdownDescription: description}
}

func object(description string, nested attributes) schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: description, Attributes: nested}
}

func requiredObject(description string, nested attributes) schema.Attribute {
	return schema.SingleNestedAttribute{Required: true, MarkdownDescription: description, Attributes: nested}
}

func objects(description string, nested attributes) schema.Attribute {
	return schema.ListNestedAttribute{
		Optional:            true,
		MarkdownDescription: description,
		NestedObject:        schema.NestedAttributeObject{Attributes: nested},
	}
}
