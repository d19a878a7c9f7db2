package appset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// tagText is a text with {{tags}}, as read with goTemplate off: literals and
// tags take turns, starting with a literal.
type tagText []string

var hasTag = regexp.MustCompile(`{{.*}}`)

// parseTags splits a text as applicationset/utils, Argo CD 3.6.1, does: a text
// without a whole tag on one line is used as it is; otherwise every opening
// must have an end.
func parseTags(text string) (tagText, error) {
	if !hasTag.MatchString(text) {
		return tagText{text}, nil
	}
	var out tagText
	for {
		literal, rest, found := strings.Cut(text, "{{")
		out = append(out, literal)
		if !found {
			return out, nil
		}
		tag, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("the {{ before %s is never closed", quoteShort(rest))
		}
		out = append(out, strings.TrimSpace(tag))
		text = after
	}
}

// render replaces the tags; the result is Unknown when any parameter it needs
// is. Argo CD leaves a tag without a parameter in the text; here it is an error.
func (t tagText) render(params any) (any, error) {
	var b boundedBuilder
	var missing []string
	isUnknown := false
	for i, part := range t {
		var v any = part
		if i%2 == 1 {
			v = tagValue(params, part)
		}
		switch v := v.(type) {
		case unknown:
			isUnknown = true
		case string:
			if _, err := b.WriteString(v); err != nil {
				return nil, err
			}
		case nil:
			missing = append(missing, "{{"+part+"}} has no parameter")
		default:
			missing = append(missing, fmt.Sprintf("the parameter of {{%s}} is %s, and only strings can be used with goTemplate off", part, describe(v)))
		}
	}
	if len(missing) > 0 {
		return nil, errors.New(strings.Join(missing, "; "))
	}
	if isUnknown {
		return Unknown, nil
	}
	return b.String(), nil
}

// tagValue looks up a parameter; one inside an Unknown is Unknown. An empty tag has none, whatever
// the parameters are (Replace in applicationset/utils, Argo CD 3.6.1).
func tagValue(params any, name string) any {
	if name == "" {
		return nil
	}
	m, ok := params.(map[string]any)
	if !ok {
		return params
	}
	if v, found := m[name]; found {
		return v
	}
	if strings.HasPrefix(name, "values.") && IsUnknown(m["values"]) {
		return Unknown
	}
	return nil
}
