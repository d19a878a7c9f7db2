package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// grammar writes ApplicationSets, most of which render. Everything comes out of its source of
// random numbers, so that a seed is a set.
type grammar struct {
	*rand.Rand
	// goTemplate and strict (missingkey=error) are options of the set.
	goTemplate, strict bool
	// count numbers the generators, whose parameters must not collide by chance.
	count int
}

// param is a parameter that a template may use.
type param struct {
	// expr is what stands in the braces: .env, or env with goTemplate off.
	expr string
	// always is false when some parameter set may lack it.
	always bool
	// word: the value can be the value of a label and part of a name.
	word bool
}

// produced is a generator with what its parameter sets hold.
type produced struct {
	kind   string
	fields map[string]any
	params []param
	// id is a text that is different for every parameter set, and can be part of a name.
	id string
}

func (p produced) entry() map[string]any { return map[string]any{p.kind: p.fields} }

func (g *grammar) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *grammar, of ...T) T { return of[g.IntN(len(of))] }

// name is a parameter, as the engine at hand spells it.
func (g *grammar) name(path string) string {
	if g.goTemplate {
		return "." + path
	}
	return path
}

func (g *grammar) param(path string, always, word bool) param {
	return param{expr: g.name(path), always: always, word: word}
}

func tag(expr string) string { return "{{" + expr + "}}" }

// set writes a whole ApplicationSet.
func (g *grammar) set() map[string]any {
	g.goTemplate = g.chance(65)
	g.strict = g.chance(50)
	spec := map[string]any{}
	if g.goTemplate {
		spec["goTemplate"] = true
		if g.strict {
			spec["goTemplateOptions"] = []any{"missingkey=error"}
		}
	}
	var entries []any
	var shared []param
	var id string
	several := g.chance(20)
	for range 1 + map[bool]int{true: 1}[several] {
		p := g.generator(2, nil)
		entry := p.entry()
		if g.chance(20) {
			entry["selector"] = g.selector(p.params)
		}
		switch {
		case several: // every generator names its own Applications
			p.fields["template"] = g.generatorTemplate(fmt.Sprintf("s%d-%s", len(entries), p.id), p.params)
			id = "base"
		case g.chance(15):
			p.fields["template"] = g.generatorTemplate("", p.params)
			fallthrough
		default:
			id, shared = p.id, p.params
		}
		entries = append(entries, entry)
	}
	spec["generators"] = entries
	spec["template"] = g.template(id, shared)
	if g.chance(25) {
		spec["templatePatch"] = g.patch(shared)
	}
	if g.chance(15) {
		spec["syncPolicy"] = map[string]any{"preserveResourcesOnDeletion": g.chance(50)}
	}
	if g.chance(8) {
		g.spoil(spec)
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": "generated", "namespace": argoNamespace},
		"spec":     spec,
	}
}

// generator writes any generator; depth is how many levels of matrix and merge are left, outer are
// the parameters of the first generator when this is the second of a matrix.
func (g *grammar) generator(depth int, outer []param) produced {
	if depth > 0 && g.chance(45) {
		if g.chance(60) {
			return g.matrix(depth, outer)
		}
		return g.merge()
	}
	switch g.IntN(10) {
	case 0, 1, 2:
		return g.list(outer)
	case 3, 4:
		return g.clusters(outer)
	case 5:
		return g.directories(outer)
	case 6, 7:
		return g.files(outer)
	case 8:
		return g.plugin(outer)
	}
	return g.decisions(outer)
}

func (g *grammar) matrix(depth int, outer []param) produced {
	first := g.generator(depth-1, outer)
	var inner []param
	if g.chance(60) {
		inner = first.params
	}
	var second produced
	for try := 0; ; try++ {
		second = g.generator(depth-1, inner)
		// Two generators of a kind have parameters of one name, but for lists.
		if !sharesKinds(first, second) || try == 20 {
			break
		}
	}
	entries := []any{g.child(first), g.child(second)}
	return produced{
		kind:   "matrix",
		fields: map[string]any{"generators": entries},
		params: append(append([]param{}, first.params...), second.params...),
		id:     first.id + "-" + second.id,
	}
}

func (g *grammar) child(p produced) map[string]any {
	entry := p.entry()
	if g.chance(10) {
		entry["selector"] = g.selector(p.params)
	}
	return entry
}

// sharesKinds reports whether both hold a generator with parameters of the same name.
func sharesKinds(a, b produced) bool {
	names := map[string]bool{}
	for _, p := range a.params {
		names[p.expr] = true
	}
	for _, p := range b.params {
		if names[p.expr] {
			return true
		}
	}
	return false
}

// merge writes settings for some of the sets of the first generator.
func (g *grammar) merge() produced {
	base := pick(g, g.list, g.clusters)(nil)
	key, values := "nameNormalized", []any{"dev-eu", "prod-eu", "in-cluster", "nowhere"}
	if base.kind == "list" {
		key, values = fmt.Sprintf("id%d", g.count), []any{"e0", "e1", "e2", "nowhere"}
		base.fields["elements"] = setEach(base.fields["elements"].([]any), key)
	}
	over := []any{}
	for _, v := range values {
		if g.chance(60) {
			element := map[string]any{key: v, "over": pick(g, "x", "y", "")}
			if g.chance(30) {
				element["values"] = map[string]any{"color": "gold", "more": "m"}
			}
			if g.goTemplate && g.chance(30) {
				element["nested"] = g.tree(2)
			}
			over = append(over, element)
		}
	}
	keys := []any{key}
	if g.chance(10) {
		keys = append(keys, "absent")
	}
	return produced{
		kind: "merge",
		fields: map[string]any{"mergeKeys": keys, "generators": []any{
			base.entry(), map[string]any{"list": map[string]any{"elements": over}},
		}},
		params: append(base.params, g.param("over", false, true)),
		id:     tag(g.name(key)),
	}
}

// setEach gives every element its own value of a key.
func setEach(elements []any, key string) []any {
	for i, e := range elements {
		e.(map[string]any)[key] = fmt.Sprintf("e%d", i)
	}
	return elements
}

// selector filters by a parameter.
func (g *grammar) selector(params []param) map[string]any {
	key := "absent"
	if len(params) > 0 {
		if p := params[g.IntN(len(params))]; !strings.ContainsAny(p.expr, " []") {
			key = strings.TrimPrefix(p.expr, ".")
		}
	}
	values := []any{"dev", "prod", "e0", "e1", "dev-eu", "red", "1"}
	g.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	switch g.IntN(5) {
	case 0:
		return map[string]any{"matchLabels": map[string]any{key: values[0]}}
	case 1:
		return map[string]any{}
	case 2:
		return map[string]any{"matchExpressions": []any{map[string]any{"key": key, "operator": pick(g, "Exists", "DoesNotExist")}}}
	}
	return map[string]any{"matchExpressions": []any{map[string]any{"key": key, "operator": pick(g, "In", "NotIn"), "values": values[:3]}}}
}

// spoil puts something into the set that may make one of the two fail.
func (g *grammar) spoil(spec map[string]any) {
	template := spec["template"].(map[string]any)
	metadata := template["metadata"].(map[string]any)
	annotations := map[string]any{}
	metadata["annotations"] = annotations
	switch g.IntN(8) {
	case 0:
		annotations["spoilt"] = tag(g.name("missing"))
	case 1:
		annotations["spoilt"] = "{{ and {{x"
	case 2:
		annotations["spoilt"] = "{{if}}"
	case 3:
		metadata["name"] = "constant"
	case 4:
		metadata["name"] = "Bad_Name-" + metadata["name"].(string)
	case 5:
		spec["generators"] = append(spec["generators"].([]any), map[string]any{"list": map[string]any{"elements": []any{map[string]any{}}}})
	case 6:
		template["spec"].(map[string]any)["destination"] = map[string]any{"namespace": "n"}
	case 7:
		annotations["spoilt"] = tag(g.name("missing") + ".deeper | default \"x\"")
	}
}
