package provider

import (
	"context"
	"reflect"
	"regexp"
	"slices"
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
func everyAttribute(visit func(at string, a described)) {
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
			visit(here, a.Interface().(described))
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

// What a description must have, each as one form that people and programs find.
var (
	// anyDefault is what an optional attribute is when it is left out.
	anyDefault  = regexp.MustCompile(`\bDefault: \S`)
	anyRequired = regexp.MustCompile(`\bRequired\b`)
	// anyExample is a value as it stands in a configuration.
	anyExample = regexp.MustCompile("\\be\\.g\\.\\s+(`[^`]+`|\"[^\"]+\")")
	// sentenceEnd is where a sentence ends and the next one begins.
	sentenceEnd = regexp.MustCompile(`\.\s+[A-Z]`)
	// afterEffect begins what is not about what the attribute does.
	afterEffect = regexp.MustCompile(`,? ?\be\.g\.|\bDefault: |\bRequired\b`)
)

// lacks tells what a description does not say: what the attribute does, in three words at least, its
// default or that it is required, and a value as an example.
func lacks(text string, optional, required bool) []string {
	var out []string
	effect := text
	if at := afterEffect.FindStringIndex(text); at != nil {
		effect = text[:at[0]]
	}
	if len(strings.Fields(effect)) < 3 || !strings.HasSuffix(text, ".") {
		out = append(out, "effect")
	}
	if optional && !anyDefault.MatchString(text) {
		out = append(out, "default")
	}
	if required && !anyRequired.MatchString(text) {
		out = append(out, "required")
	}
	if !anyExample.MatchString(exampled(text, optional || required)) {
		out = append(out, "example")
	}
	return out
}

// exampled is where the example of a description must be: what can be configured has it in the sentence with the
// default, or in the last one, for one in the middle is an example of something else.
func exampled(text string, configured bool) string {
	if !configured {
		return text
	}
	var kept []string
	for len(text) > 0 {
		sentence := text
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			sentence = text[:at[1]-1]
		}
		text = text[len(sentence):]
		if text == "" || anyDefault.MatchString(sentence) || anyRequired.MatchString(sentence) {
			kept = append(kept, sentence)
		}
	}
	return strings.Join(kept, "")
}

func TestWhatADescriptionLacksIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"Name of the chart. Default: none, e.g. `\"podinfo\"`.":     "",
		"Name of the chart, e.g. `\"podinfo\"`. Default: none.":     "example",
		"Default: none, e.g. `\"x\"`. What the chart is called.":    "effect",
		"What `now` gives, e.g. `now`, fails. Default: `false`.":    "example",
		"Name of the chart. Default: none. Mostly e.g. `\"x\"`.":    "",
		"Options of Go templates. Default: none.":                   "example",
		"What Suspended means. Default: `\"wait\"`.":                "example",
		"Name of the chart, e.g. a word. Default: none.":            "example",
		"Name of the chart, e.g. `\"podinfo\"`.":                    "default",
		"Exactly one of `a` and `b`, e.g. `\"podinfo\"`.":           "default",
		"Chart. Default: none, e.g. `\"podinfo\"`.":                 "effect",
		"Default: none, e.g. `\"podinfo\"`.":                        "effect",
		"Name of the chart. Default: none, e.g. `\"podinfo\"` here": "effect",
		"": "effect default example",
	} {
		if got := strings.Join(lacks(text, true, false), " "); got != want {
			t.Errorf("%q lacks %q, not %q", text, got, want)
		}
	}
	if got := lacks("Where the set stands, e.g. `\"complete\"`: `\"absent\"` is none. Null before.", false, false); len(got) > 0 {
		t.Errorf("one that is computed lacks %v", got)
	}
	if got := lacks("Name of the chart, e.g. `\"podinfo\"`.", false, true); !slices.Equal(got, []string{"required"}) {
		t.Errorf("one that is required lacks %v", got)
	}
}

func TestEveryAttributeSaysWhatItDoesAndItsDefaultWithAnExample(t *testing.T) {
	seen := 0
	everyAttribute(func(at string, a described) {
		seen++
		text := a.GetMarkdownDescription() + a.GetDescription()
		if missing := lacks(text, a.IsOptional(), a.IsRequired()); len(missing) > 0 {
			t.Errorf("%s: the description lacks %s: %s", at, strings.Join(missing, ", "), text)
		}
	})
	if seen < 400 {
		t.Errorf("only %d attributes were looked at", seen)
	}
}
