package appset

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// APIVersion is that of Application and ApplicationSet.
const APIVersion = "argoproj.io/v1alpha1"

// SummaryInvalidManifest is the summary of what DecodeManifest finds.
const SummaryInvalidManifest = "Invalid manifest"

// DecodeManifest reads a whole ApplicationSet in YAML (1.1, as Kubernetes reads
// it) or JSON: exactly one document with apiVersion argoproj.io/v1alpha1 and
// kind ApplicationSet. Numbers are float64; a key given twice is an error. The
// tree is returned whole; its spec is for [Decode], its metadata for the caller.
func DecodeManifest(text []byte) (map[string]any, Issues) {
	var issues Issues
	document, count := onlyDocument(text)
	if count != 1 {
		issues.fail(nil, SummaryInvalidManifest, fmt.Sprintf("The manifest holds %d YAML documents; it must be exactly one ApplicationSet.", count))
		return nil, issues
	}
	var v any
	if err := boundYAML(document); err != nil {
		issues.fail(nil, SummaryInvalidManifest, fmt.Sprintf("The manifest is not valid YAML or JSON: %s.", err))
		return nil, issues
	}
	err := yaml.UnmarshalStrict(document, &v)
	if err != nil && bytes.Contains(document, []byte("<<")) && noKeyTwice(document) {
		// The strict reader takes a key that overrides a merged one ("<<: *base") for a second one.
		err = yaml.Unmarshal(document, &v)
	}
	if err != nil {
		issues.fail(nil, SummaryInvalidManifest, fmt.Sprintf("The manifest is not valid YAML or JSON: %s.", err))
		return nil, issues
	}
	tree, ok := v.(map[string]any)
	if !ok {
		issues.fail(nil, SummaryInvalidManifest, fmt.Sprintf("The manifest must be an object of kind ApplicationSet, but is %s.", describe(v)))
		return nil, issues
	}
	checkManifest(tree, &issues)
	return tree, issues.sorted()
}

// noKeyTwice tells that the text is YAML in which no mapping gives a key twice. What a merge brings
// in does not count: keys beside it override it.
func noKeyTwice(document []byte) bool {
	var root yamlnode.Node
	return yamlnode.Unmarshal(document, &root) == nil && keysOnce(&root)
}

func keysOnce(n *yamlnode.Node) bool {
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yamlnode.MappingNode && i%2 == 0 {
			if seen[child.Value] {
				return false
			}
			seen[child.Value] = true
		}
		if !keysOnce(child) {
			return false
		}
	}
	return true
}

func checkManifest(tree map[string]any, issues *Issues) {
	for _, want := range []struct{ key, value string }{{"apiVersion", APIVersion}, {"kind", "ApplicationSet"}} {
		if tree[want.key] != want.value {
			issues.fail(Path{want.key}, SummaryInvalidManifest, fmt.Sprintf("%s must be %s, but is %s.", want.key, want.value, describe(tree[want.key])))
		}
	}
	for _, key := range sortedKeys(tree) {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata", "spec":
			if _, ok := tree[key].(map[string]any); !ok {
				issues.fail(Path{key}, SummaryWrongType, fmt.Sprintf("%s must be an object, but is %s.", key, describe(tree[key])))
			}
		default:
			issues.fail(Path{key}, SummaryUnknownField, fmt.Sprintf("An ApplicationSet has no field %q.%s", key, didYouMean(key, []string{"metadata", "spec"})))
		}
	}
	if _, ok := tree["spec"]; !ok {
		issues.fail(Path{"spec"}, SummaryMissingField, "spec is missing.")
	}
	metadata, _ := tree["metadata"].(map[string]any)
	for _, key := range []string{"name", "namespace"} {
		if _, isText := metadata[key].(string); metadata[key] != nil && !isText {
			issues.fail(Path{"metadata", key}, SummaryWrongType, fmt.Sprintf("metadata.%s must be a string, but is %s. Write it in quotes.", key, describe(metadata[key])))
		}
	}
}

// documentMark separates YAML documents; nothing else can start a line so.
var documentMark = regexp.MustCompile(`(?m)^(---|\.\.\.)([ \t\r]|$)`)

var onlyComments = regexp.MustCompile(`^(\s|#.*|%.*)*$`)

// onlyDocument returns the one document of a stream that says anything, behind
// as many empty lines as precede it, and how many such documents there are.
func onlyDocument(text []byte) (document []byte, count int) {
	start := 0
	marks := append(documentMark.FindAllIndex(text, -1), []int{len(text), len(text)})
	for _, mark := range marks {
		part := text[start:mark[0]]
		if !onlyComments.Match(part) {
			lines := bytes.Count(text[:start], []byte("\n"))
			document = append([]byte(strings.Repeat("\n", lines)), part...)
			count++
		}
		start = mark[1]
	}
	return document, count
}
