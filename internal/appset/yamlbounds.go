package appset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

const (
	// maxFileSize is how long one YAML or JSON text may be, in bytes.
	maxFileSize = 10 << 20
	// maxYAML is how much a text may say when every alias is replaced by what it stands for, and all
	// texts of one generator together: the bytes in it, and valueWeight for every value.
	maxYAML = 64 << 20
	// valueWeight is about what a value takes in memory beside its text, in bytes, as long as it is kept.
	valueWeight = 40
)

// readYAML reads YAML 1.1 or JSON as Kubernetes and Argo CD do, within bounds: a short text can stand
// for more than there is memory.
func readYAML(text []byte, out any) error {
	if err := boundYAML(text); err != nil {
		return err
	}
	return yaml.Unmarshal(text, out)
}

// boundYAML refuses a text that is too long, or says too much.
func boundYAML(text []byte) error {
	_, err := weighYAML(text)
	return err
}

// weighYAML is how much a text says: never less, without aliases, and maybe more than it does.
func weighYAML(text []byte) (int, error) {
	if len(text) > maxFileSize {
		return 0, fmt.Errorf("it is longer than %d MiB", maxFileSize>>20)
	}
	weight := len(text)
	for _, mark := range []string{",", "\n", "\r", "[", "{", "- ", ": ", "? "} {
		weight += valueWeight * bytes.Count(text, []byte(mark))
	}
	if weight > maxYAML {
		return 0, errors.New("it holds too many values")
	}
	if !bytes.ContainsRune(text, '&') || !bytes.ContainsRune(text, '*') || json.Valid(text) {
		return weight, nil // there is no alias in it
	}
	var root yamlnode.Node
	if err := yamlnode.Unmarshal(text, &root); err != nil {
		return 0, err
	}
	e := expansion{sizes: map[*yamlnode.Node]int{}}
	expanded, err := e.size(&root)
	return max(weight, expanded), err
}

// expansion computes how long a YAML tree is when aliases are expanded.
type expansion struct {
	// sizes of the nodes with an anchor; 0 while a node is being looked at.
	sizes map[*yamlnode.Node]int
}

func (e expansion) size(n *yamlnode.Node) (int, error) {
	if n.Kind == yamlnode.AliasNode {
		n = n.Alias
	}
	if size, seen := e.sizes[n]; seen {
		if size == 0 {
			return 0, errors.New("an anchor contains itself")
		}
		return size, nil
	}
	if n.Anchor != "" {
		e.sizes[n] = 0
	}
	total := valueWeight + len(n.Value)
	for _, child := range n.Content {
		size, err := e.size(child)
		if err != nil {
			return 0, err
		}
		if total += size; total > maxYAML {
			return 0, fmt.Errorf("its aliases make more than %d MiB of it", maxYAML>>20)
		}
	}
	if n.Anchor != "" {
		e.sizes[n] = total
	}
	return total, nil
}
