package conformance

import (
	"fmt"
	"strings"
)

// use is a text that uses one of the parameters; nearly always one that every parameter set has.
func (g *grammar) use(params []param, format string) string {
	var usable []param
	for _, p := range params {
		if p.always || g.chance(4) {
			usable = append(usable, p)
		}
	}
	if len(usable) == 0 {
		return fmt.Sprintf(format, "constant")
	}
	return fmt.Sprintf(format, tag(g.piped(usable[g.IntN(len(usable))])))
}

// word is a text that renders to a value that can be a label, if a parameter has the name.
func (g *grammar) word(params []param, name string) (string, bool) {
	for _, p := range params {
		if p.always && p.word && strings.HasPrefix(strings.TrimPrefix(p.expr, "."), name) {
			return tag(p.expr), true
		}
	}
	return "", false
}

// anyWord is a text that renders to a value that can be a label.
func (g *grammar) anyWord(params []param) string {
	var words []param
	for _, p := range params {
		if p.word && p.always {
			words = append(words, p)
		}
	}
	if len(words) == 0 {
		return "word"
	}
	return tag(words[g.IntN(len(words))].expr)
}

// piped is the parameter alone, or with functions around it.
func (g *grammar) piped(p param) string {
	if !g.goTemplate {
		return fmt.Sprintf(pick(g, "%s", " %s ", "%s  "), p.expr)
	}
	if strings.Contains(p.expr, "}}") || g.chance(40) {
		return p.expr
	}
	return fmt.Sprintf(pick(g,
		" %s ", "- %s -", "%s | toString | upper", "%s | quote", "%s | default \"d\"", "%s | toString | trunc 5", "%s | toString | trunc -3",
		"%s | toString | replace \"-\" \"_\"", "%s | toString | sha256sum | trunc 8", "%s | toString | normalize", "%s | toString | slugify",
		"slugify 12 false (%s | toString)", "%s | toJson", "%s | toYaml", "%s | toYaml | nindent 2", "printf \"%%v|%%q\" (%[1]s) (%[1]s | toString)",
		"if %[1]s}}yes{{else}}no{{end", "with %[1]s}}<{{.}}>{{end", "%s | toString | b64enc", "ternary \"t\" \"f\" (empty (%s))",
		"kindOf (%s)", "html (%s)", "%s | toString | splitList \"-\" | join \"+\"", "list (%[1]s) \"x\" | toJson", "dict \"k\" (%s) | toJson",
		"tpl \"[{{.}}]\" (%s | toString)", "eq (%s | toString) \"e0\"", "contains \"e\" (%s | toString)", "$x := %s}}{{$x", "%s | toString | title | snakecase",
		"%s | toString | regexReplaceAll \"[aeiou]\" \"v\"", "add1 (len (%s | toString))", "%s | fromJson | toJson", "(%s | toJson | fromJson) | toYaml",
		"coalesce \"\" (%s) \"z\"", "cat (%s) \"c\"", "not (%s)", "substr 0 1 (printf \"%%vxx\" (%s))", "int (%s | toString | len)",
	), p.expr)
}

// template writes spec.template.
func (g *grammar) template(id string, params []param) map[string]any {
	metadata := map[string]any{"name": pick(g, "app-", "x", "a.b-") + id}
	g.metadata(metadata, params)
	spec := map[string]any{"project": pick(g, "default", "apps"), "destination": g.destination(params)}
	if g.chance(70) {
		spec["source"] = g.source(params)
	} else {
		sources := []any{}
		for range 1 + g.IntN(3) {
			sources = append(sources, g.source(params))
		}
		spec["sources"] = sources
	}
	g.rest(spec, params)
	return map[string]any{"metadata": metadata, "spec": spec}
}

func (g *grammar) metadata(metadata map[string]any, params []param) {
	if g.chance(60) {
		labels := map[string]any{"fixed": g.anyWord(params)}
		if g.chance(30) {
			labels["k-"+g.anyWord(params)] = "v"
		}
		metadata["labels"] = labels
	}
	if g.chance(60) {
		annotations := map[string]any{}
		for i := range 1 + g.IntN(3) {
			annotations[fmt.Sprintf("note-%d", i)] = g.use(params, pick(g, "%s", "a %s b", "%s\n"))
		}
		metadata["annotations"] = annotations
	}
	if g.chance(15) {
		metadata["finalizers"] = []any{pick(g, "resources-finalizer.argocd.argoproj.io", "example.com/f")}
	}
}

func (g *grammar) destination(params []param) map[string]any {
	out := map[string]any{"namespace": "ns"}
	if g.chance(70) {
		out["server"] = "https://kubernetes.default.svc"
	} else {
		out["name"] = g.anyWord(params)
	}
	return out
}

func (g *grammar) source(params []param) map[string]any {
	out := map[string]any{"repoURL": "https://git.example.com/" + g.anyWord(params) + ".git", "path": "p/" + g.use(params, "%s")}
	if g.chance(60) {
		out["targetRevision"] = pick(g, "HEAD", "v1", g.anyWord(params))
	}
	switch g.IntN(6) {
	case 0:
		out["helm"] = map[string]any{"releaseName": "r", "valueFiles": []any{"values.yaml", g.use(params, "%s.yaml")},
			"parameters": []any{map[string]any{"name": "p", "value": g.use(params, "%s"), "forceString": g.chance(50)}}}
	case 1:
		out["helm"] = map[string]any{"releaseName": "r", "valuesObject": map[string]any{
			"plain": g.tree(2), "text": g.use(params, "%s"), "k-" + g.anyWord(params): []any{g.use(params, "%s"), nil, 1.0}, "null": nil}}
	case 2:
		out["kustomize"] = map[string]any{"namePrefix": g.use(params, "%s-"), "images": []any{"i=" + g.use(params, "%s")},
			"commonLabels": map[string]any{"l": g.anyWord(params)}, "replicas": []any{map[string]any{"name": "d", "count": 2.0}}}
	case 3:
		out["directory"] = map[string]any{"recurse": g.chance(50), "include": g.use(params, "%s")}
	}
	return out
}

// rest adds what an Application may have besides.
func (g *grammar) rest(spec map[string]any, params []param) {
	if g.chance(40) {
		policy := map[string]any{}
		if g.chance(70) {
			policy["automated"] = map[string]any{"prune": g.chance(50), "selfHeal": g.chance(50)}
		}
		if g.chance(50) {
			policy["syncOptions"] = []any{"CreateNamespace=true", "X=" + g.use(params, "%s")}
		}
		if g.chance(30) {
			policy["retry"] = map[string]any{"limit": float64(g.IntN(3)), "backoff": map[string]any{"duration": "5s", "factor": 2.0}}
		}
		spec["syncPolicy"] = policy
	}
	if g.chance(20) {
		spec["ignoreDifferences"] = []any{map[string]any{"group": "apps", "kind": "Deployment", "name": g.use(params, "%s"), "jsonPointers": []any{"/spec/replicas"}}}
	}
	if g.chance(20) {
		spec["info"] = []any{map[string]any{"name": "i", "value": g.use(params, "%s")}}
	}
	if g.chance(15) {
		spec["revisionHistoryLimit"] = float64(g.IntN(4))
	}
}

// generatorTemplate overrides parts of spec.template.
func (g *grammar) generatorTemplate(name string, params []param) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{"project": pick(g, "", "apps"), "destination": map[string]any{}}
	if name != "" {
		metadata["name"] = name
	}
	g.metadata(metadata, params)
	if g.chance(30) {
		spec["source"] = map[string]any{"repoURL": "", "targetRevision": "own", "path": g.use(params, "own/%s")}
		delete(spec, "sources")
	}
	if g.chance(30) {
		g.rest(spec, params)
	}
	return map[string]any{"metadata": metadata, "spec": spec}
}

// patch writes a templatePatch.
func (g *grammar) patch(params []param) string {
	var lines []string
	add := func(text string) { lines = append(lines, text) }
	quoted := func() string { return "'" + g.anyWord(params) + "'" }
	if g.chance(60) {
		add("metadata:")
		add("  labels: {fixed: " + quoted() + ", added: x}")
		if g.chance(40) {
			add("  annotations: {note-0: null, patched: 'yes'}")
		}
		if g.chance(30) {
			add("  finalizers: [example.com/patched]")
		}
	}
	if g.chance(80) {
		add("spec:")
		add(pick(g,
			"  syncPolicy: {automated: {prune: true}, syncOptions: [Patched=true]}",
			"  syncPolicy: {automated: null}",
			"  source: {targetRevision: "+quoted()+"}",
			"  source: {helm: {valuesObject: {plain: {b: "+quoted()+"}, more: [1, x, null]}}}",
			"  source: {kustomize: {$patch: replace, nameSuffix: s}}",
			"  project: changed",
			"  info: [{name: p, value: "+quoted()+"}]",
			"  ignoreDifferences: []",
			"  revisionHistoryLimit: 0",
			"  destination: {namespace: patched}",
		))
	}
	if g.goTemplate && g.chance(30) {
		lines = append([]string{"{{- if true }}"}, append(lines, "{{- end }}")...)
	}
	return strings.Join(lines, "\n") + "\n"
}
