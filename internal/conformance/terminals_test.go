package conformance

import (
	"encoding/json"
	"fmt"
)

// list writes elements with an id of their own and some of a few keys.
func (g *grammar) list(outer []param) produced {
	g.count++
	n := g.count
	id := fmt.Sprintf("id%d", n)
	params := []param{g.param(id, true, true)}
	for _, key := range []string{"env", "region", "color"} {
		params = append(params, g.param(fmt.Sprintf("%s%d", key, n), key == "env", true))
	}
	elements := []any{}
	for i := range g.IntN(4) {
		element := map[string]any{id: fmt.Sprintf("e%d", i), fmt.Sprintf("env%d", n): pick(g, "dev", "prod")}
		for _, key := range []string{"region", "color"} {
			if g.chance(85) {
				element[fmt.Sprintf("%s%d", key, n)] = pick(g, "eu", "us", "red", "1", "")
			}
		}
		if len(outer) > 0 && g.chance(40) {
			element[fmt.Sprintf("from%d", n)] = g.use(outer, "of-%s")
		}
		if g.goTemplate {
			element[fmt.Sprintf("tree%d", n)] = g.tree(2)
			element[fmt.Sprintf("num%d", n)] = pick[any](g, 1.0, 1.5, 1000000.0, 12345678.0, 0.0, -7.0, true)
		} else if g.chance(30) {
			element["values"] = map[string]any{fmt.Sprintf("v%d", n): "plain"}
		}
		elements = append(elements, element)
	}
	if g.goTemplate {
		params = append(params, g.param(fmt.Sprintf("num%d", n), true, false), g.param(fmt.Sprintf("tree%d", n), true, false))
	}
	fields := map[string]any{"elements": elements}
	if len(outer) == 0 && g.chance(15) {
		text, _ := json.Marshal(elements) // strings, numbers, maps and lists only
		fields = map[string]any{"elements": []any{}, "elementsYaml": string(text)}
		params = params[:1]
	}
	return produced{kind: "list", fields: fields, params: params, id: tag(g.name(id))}
}

// tree is any value that JSON has.
func (g *grammar) tree(depth int) any {
	if depth == 0 || g.chance(30) {
		return pick[any](g, "text", "", 1.0, 2.5, true, false, "on", "1")
	}
	if g.chance(30) {
		out := []any{}
		for range g.IntN(3) {
			out = append(out, g.tree(depth-1))
		}
		return out
	}
	out := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		if g.chance(60) {
			out[key] = g.tree(depth - 1)
		}
	}
	return out
}

func (g *grammar) clusters(outer []param) produced {
	fields := map[string]any{}
	labels := false
	switch g.IntN(5) {
	case 0:
		fields["selector"] = map[string]any{"matchLabels": map[string]any{"env": pick(g, "dev", "prod")}}
		labels = true
	case 1:
		fields["selector"] = map[string]any{"matchExpressions": []any{map[string]any{
			"key": "region", "operator": pick(g, "In", "NotIn"), "values": []any{pick(g, "eu", "us")}}}}
		labels = true
	case 2:
		if text, ok := g.word(outer, "env"); ok {
			fields["selector"] = map[string]any{"matchLabels": map[string]any{"env": text}}
			labels = true
		}
	}
	label := "metadata.labels.env"
	params := []param{g.param("name", true, true), g.param("nameNormalized", true, true), g.param("server", true, false),
		g.param("project", true, true), g.param(label, labels, true)}
	if g.goTemplate && labels {
		params = append(params, param{expr: `index .metadata.labels "argocd.argoproj.io/secret-type"`, always: true, word: true})
	}
	if g.goTemplate && g.chance(8) {
		fields["flatList"] = true
		return produced{kind: "clusters", fields: fields, id: "flat",
			params: []param{{expr: "len .clusters", always: true, word: true}, {expr: "range .clusters}}{{.server}},{{end", always: true}}}
	}
	params = append(params, g.values(fields, params[:4], outer)...)
	return produced{kind: "clusters", fields: fields, params: params, id: tag(g.name("nameNormalized"))}
}

// values adds values to a generator, and gives their parameters.
func (g *grammar) values(fields map[string]any, own, outer []param) []param {
	if !g.chance(40) {
		return nil
	}
	g.count++
	key := fmt.Sprintf("v%d", g.count)
	text := g.use(own, "own-%s")
	if len(outer) > 0 && g.chance(40) {
		text = g.use(outer, "%s-out")
	}
	if g.chance(10) {
		text = "plain"
	}
	fields["values"] = map[string]any{key: text}
	return []param{g.param("values."+key, true, false)}
}

const repositoryURL = "https://git.example.com/apps.git"

// repository chooses between git and oci, and says where the parameters of a path are.
func (g *grammar) repository(fields map[string]any) (kind, path string) {
	kind = pick(g, "git", "git", "oci")
	if kind == "git" {
		fields["repoURL"], fields["revision"] = repositoryURL, pick(g, "HEAD", "main", "")
	} else {
		fields["repoURL"], fields["revision"] = artifactURL, pick(g, "main", "1.0.0", ">=1.0.0")
	}
	if g.chance(25) {
		g.count++
		prefix := fmt.Sprintf("git%d", g.count)
		fields["pathParamPrefix"] = prefix
		return kind, prefix + ".path"
	}
	return kind, "path"
}

func (g *grammar) directories(outer []param) produced {
	items := []any{}
	for _, pattern := range []string{"envs/*", "apps/*", "clusters/*", "deep/a", "?nvs/d*", "envs/[a-d]*"} {
		if g.chance(35) {
			items = append(items, map[string]any{"path": pattern})
		}
	}
	if text, ok := g.word(outer, "env"); ok && g.chance(50) {
		items = append(items, map[string]any{"path": "envs/" + text})
	}
	if len(items) == 0 {
		items = append(items, map[string]any{"path": "envs/*"})
	}
	if g.chance(30) {
		items = append(items, map[string]any{"path": pick(g, "envs/dev", "apps/web", "*/us", "none"), "exclude": true})
	}
	fields := map[string]any{"directories": items}
	kind, path := g.repository(fields)
	params := g.pathParams(path)
	params = append(params, g.values(fields, params, outer)...)
	return produced{kind: kind, fields: fields, params: params, id: tag(g.name(path + ".basenameNormalized"))}
}

func (g *grammar) pathParams(path string) []param {
	params := []param{g.param(path+".basename", true, false), g.param(path+".basenameNormalized", true, true)}
	if g.goTemplate {
		return append(params, g.param(path+".path", true, false), g.param(path+".segments", true, false),
			param{expr: "index ." + path + ".segments 0", always: true, word: true})
	}
	return append(params, g.param(path, true, false), g.param(path+"[0]", true, true), g.param(path+"[1]", false, false))
}

func (g *grammar) files(outer []param) produced {
	chosen := pick(g,
		repositoryFiles{[]string{"envs/*/values.yaml"}, []string{"envs/*/values.yaml"}, "name", []string{"replicas"}},
		repositoryFiles{[]string{"apps/*.json"}, []string{"apps/**/*.json"}, "app", []string{"team", "cluster.name", "cluster.address"}},
		repositoryFiles{[]string{"lists/array.yaml"}, []string{"lists/array.yaml"}, "app", []string{"weight"}},
		repositoryFiles{[]string{"lists"}, []string{"lists/*.{json,yaml}"}, "app", nil},
		repositoryFiles{[]string{"apps/guestbook/config.yaml", "apps/web/config.yaml"}, []string{"apps/{guestbook,web}/config.yaml"}, "app", []string{"team", "replicas", "large", "labels.env", "labels.tier"}},
		repositoryFiles{[]string{"clusters"}, []string{"clusters/**"}, "name", nil},
		repositoryFiles{[]string{"apps/*/config.yaml"}, []string{"apps/[!.]*/config.yaml"}, "app", []string{"team"}},
	)
	fields := map[string]any{}
	kind, path := g.repository(fields)
	patterns := chosen.patterns
	if kind == "oci" {
		patterns = chosen.globs
	}
	items := []any{}
	for _, pattern := range patterns {
		items = append(items, map[string]any{"path": pattern})
	}
	if text, ok := g.word(outer, "env"); ok && chosen.id == "name" && g.chance(50) {
		items = []any{map[string]any{"path": "envs/" + text + "/values.yaml"}}
		chosen.params = nil
	}
	if g.chance(25) {
		items = append(items, map[string]any{"path": pick(g, "envs/dev", "*/dev/*", "apps/web/*", "none"), "exclude": true})
	}
	fields["files"] = items
	params := append(g.pathParams(path), g.param(chosen.id, true, true), g.param(path+".filename", true, false), g.param(path+".filenameNormalized", true, true))
	for _, name := range chosen.params {
		params = append(params, g.param(name, true, false))
	}
	params = append(params, g.values(fields, params, outer)...)
	return produced{kind: kind, fields: fields, params: params, id: tag(g.name(chosen.id))}
}

// repositoryFiles are files of the world's repository as git finds them, as patterns of an artifact do, the
// key that tells them apart, and others that all of them have.
type repositoryFiles struct {
	patterns, globs []string
	id              string
	params          []string
}

func (g *grammar) plugin(outer []param) produced {
	fields := map[string]any{"configMapRef": map[string]any{"name": pick(g, "plugin", "plugin-short")}}
	params := []param{g.param("key", true, true), g.param("number", true, true), g.param("nested.deep.x", true, true), g.param("flag", true, true), g.param("large", true, false)}
	if g.chance(50) {
		input := map[string]any{"plain": g.tree(1)}
		if len(outer) > 0 {
			input["outer"] = g.use(outer, "%s")
		}
		fields["input"] = map[string]any{"parameters": input}
		if g.goTemplate {
			params = append(params, param{expr: "toJson .generator.input.parameters", always: true})
		}
	}
	params = append(params, g.values(fields, params[:1], outer)...)
	return produced{kind: "plugin", fields: fields, params: params, id: tag(g.name("key"))}
}

func (g *grammar) decisions(outer []param) produced {
	fields := map[string]any{"configMapRef": "placement"}
	if g.goTemplate && g.chance(50) {
		fields["labelSelector"] = map[string]any{"matchLabels": map[string]any{"color": "blue"}}
	} else {
		fields["name"] = "a-europe"
	}
	params := []param{g.param("name", true, true), g.param("server", true, false), g.param("clusterName", true, true), g.param("reason", true, true)}
	if len(outer) == 0 && g.chance(30) {
		fields["values"] = map[string]any{"plain": "text"}
		params = append(params, g.param("values.plain", true, true))
	}
	id := tag("name")
	if g.goTemplate {
		id = tag(".name | normalize")
	}
	return produced{kind: "clusterDecisionResource", fields: fields, params: params, id: id}
}
