package appset

import (
	"encoding/json"
	"fmt"
)

// pluginSource gives the parameter sets that a plugin returns.
type pluginSource struct {
	at     Path
	call   PluginCall
	input  map[string]any
	values map[string]any
}

func (*pluginSource) pure() bool { return false }

func (s *Set) buildPlugin(tree map[string]any, at Path, issues *Issues) source {
	ref, _ := tree["configMapRef"].(map[string]any)
	name, known := literal(orUnknown(tree["configMapRef"], ref["name"]), at.With("configMapRef", "name"), issues)
	if known && name == "" {
		issues.fail(at.With("configMapRef", "name"), SummaryMissingField, fmt.Sprintf("%s is empty.", at.With("configMapRef", "name")))
	}
	input, _ := tree["input"].(map[string]any)
	given := orUnknown(tree["input"], input["parameters"])
	parameters, ok := given.(map[string]any)
	if !ok && given != nil && !IsUnknown(given) {
		issues.fail(at.With("input", "parameters"), SummaryWrongType, fmt.Sprintf("%s must be an object, but is %s.", at.With("input", "parameters"), describe(given)))
	}
	if holdsTag(parameters) {
		issues.fail(at.With("input", "parameters"), SummaryLeftover, fmt.Sprintf(
			"%s still holds \"{{\": in generators, only the second one of a matrix is rendered, with the parameters of the first.", at.With("input", "parameters")))
	}
	values, valuesKnown := s.buildValues(tree["values"], at.With("values"), issues)
	if !known || !valuesKnown || ContainsUnknown(given) || s.Name == "" {
		return unknownSource{}
	}
	p := &pluginSource{at: at, call: PluginCall{ConfigMap: name, Set: s.Name}, values: values, input: map[string]any{}}
	if len(parameters) > 0 {
		p.call.Parameters, _ = asJSON(parameters).(map[string]any)
	}
	for key, v := range p.call.Parameters {
		raw, err := json.Marshal(v)
		if err != nil {
			issues.fail(at.With("input", "parameters", key), SummaryWrongType, fmt.Sprintf("%s cannot be sent: %s.", at.With("input", "parameters", key), err))
		}
		p.input[key] = inputParameter{raw}
	}
	return p
}

// params follows PluginGenerator.generateParams in applicationset/generators/plugin.go, Argo CD 3.6.1.
func (p *pluginSource) params(e *evaluation) ([]paramSet, bool) {
	a, ok := e.ask(p.at, question{Plugin: &p.call}, func() (answer, error) { return p.fetch(e) })
	if !ok {
		return nil, false
	}
	sets := make([]paramSet, len(a.Parameters))
	for i, object := range a.Parameters {
		params := objectParams(object, e.set.GoTemplate)
		params["generator"] = map[string]any{"input": map[string]any{"parameters": p.input}}
		sets[i] = paramSet{at: p.at.With(i)[1:], values: params}
		ok = e.appendValues(p.at.With("values"), p.values, params, sets[i].at) && ok
	}
	return sets, ok
}

func (p *pluginSource) fetch(e *evaluation) (answer, error) {
	parameters, err := e.inputs.Plugin(e.ctx, p.call)
	if err != nil {
		return answer{}, err
	}
	out := answer{Parameters: make([]map[string]any, len(parameters))}
	if len(parameters) > maxParamSets {
		return answer{}, fmt.Errorf("the plugin gives %d parameter sets; at most %d are possible", len(parameters), maxParamSets)
	}
	for i, object := range parameters {
		copied, problem := copyFree(any(object))
		if problem != nil {
			return answer{}, fmt.Errorf("the plugin gives %s in output.parameters[%d]%s, which JSON cannot hold", describe(problem.value), i, problem.at)
		}
		if out.Parameters[i], _ = asJSON(copied).(map[string]any); out.Parameters[i] == nil {
			out.Parameters[i] = map[string]any{}
		}
	}
	return out, nil
}

// inputParameter is a parameter of the plugin as templates see it. In Argo CD it is raw JSON, right
// for toJson and printed as a list of bytes; so a text in which it is printed is made one that is refused.
type inputParameter struct{ Raw []byte }

// MarshalJSON is the parameter as it was given.
func (p inputParameter) MarshalJSON() ([]byte, error) { return p.Raw, nil }

func (p inputParameter) String() string {
	return "{{generator.input.parameters cannot be printed, only given to toJson: " + string(p.Raw) + "}}"
}

// plainTree is a tree of parameters as plain JSON, whatever Go types are in it.
func plainTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = plainTree(e)
		}
		return out
	case map[string]string:
		return asTree(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainTree(e)
		}
		return out
	case []string:
		out := make([]any, len(v))
		for i, text := range v {
			out[i] = text
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainTree(e)
		}
		return out
	case inputParameter:
		var out any
		if json.Unmarshal(v.Raw, &out) != nil {
			return nil
		}
		return out
	}
	return v
}
