package appset

import (
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// readFiles reads files of these names, in this order.
func readFiles(names []string, read func(string) ([]byte, error)) ([]knownFile, error) {
	var out []knownFile
	weight, count := 0, 0
	for _, name := range names {
		text, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("the file %q: %w", name, err)
		}
		more, err := weighYAML(text)
		if err != nil {
			return nil, fmt.Errorf("the file %q cannot be read as parameters: %w", name, err)
		}
		if weight += more; weight > maxYAML {
			return nil, errors.New("the files that match hold too many values together")
		}
		objects, err := parseObjects(text)
		if err != nil {
			return nil, fmt.Errorf("the file %q cannot be read as parameters: %w", name, err)
		}
		if count += len(objects); count > maxParamSets {
			return nil, fmt.Errorf("the files that match hold more than %d objects", maxParamSets)
		}
		out = append(out, knownFile{Path: name, Objects: objects})
	}
	return out, nil
}

// parseObjects reads a file, that is not too large, as one object or as a list of them. An empty file, and null, are an
// object without keys (parseFileParams in applicationset/generators, Argo CD 3.6.1).
func parseObjects(text []byte) ([]map[string]any, error) {
	object := map[string]any{}
	err := yaml.Unmarshal(text, &object)
	if err == nil {
		if object == nil {
			object = map[string]any{}
		}
		return []map[string]any{object}, nil
	}
	objects := []map[string]any{}
	if again := yaml.Unmarshal(text, &objects); again != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(again, &wrong) {
			return nil, fmt.Errorf("it must hold an object or a list of objects, but there is a %s", wrong.Value)
		}
		return nil, fmt.Errorf("it must hold an object or a list of objects: %w", err)
	}
	for i, object := range objects {
		if object == nil {
			objects[i] = map[string]any{}
		}
	}
	return objects, nil
}
