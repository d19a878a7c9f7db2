package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// crdSchema is the part of a CustomResourceDefinition's schema that decides what the API server
// refuses and what it drops.
type crdSchema struct {
	Type                 string                `json:"type"`
	Required             []string              `json:"required"`
	Properties           map[string]*crdSchema `json:"properties"`
	Items                *crdSchema            `json:"items"`
	AdditionalProperties *crdSchema            `json:"additionalProperties"`
	Enum                 []any                 `json:"enum"`
	IntOrString          bool                  `json:"x-kubernetes-int-or-string"`
	PreserveUnknown      bool                  `json:"x-kubernetes-preserve-unknown-fields"`
}

// applicationSetSchema is that of Argo CD 3.6.1, out of the module's own manifests.
var applicationSetSchema = sync.OnceValues(func() (*crdSchema, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	if err != nil {
		return nil, fmt.Errorf("finding Argo CD's manifests: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "manifests", "crds", "applicationset-crd.yaml"))
	if err != nil {
		return nil, err
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *crdSchema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
})

// admission is what the API server makes of an object.
type admission struct {
	// refused says why the object is not let in.
	refused []string
	// dropped are the fields that the schema does not know.
	dropped []string
}

// admit returns the object without what the API server drops.
func (s *crdSchema) admit(object map[string]any) (map[string]any, admission) {
	var a admission
	out, _ := s.visit("", object, &a).(map[string]any)
	sort.Strings(a.refused)
	sort.Strings(a.dropped)
	return out, a
}

func (s *crdSchema) visit(at string, v any, a *admission) any {
	if s.IntOrString {
		switch v.(type) {
		case string, float64:
		default:
			a.refuse(at, "must be an integer or a string")
		}
		return v
	}
	if problem := s.typeProblem(v); problem != "" {
		a.refuse(at, problem)
		return v
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		a.refuse(at, "is not one of the values allowed")
	}
	switch v := v.(type) {
	case map[string]any:
		return s.visitObject(at, v, a)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
			if s.Items != nil {
				out[i] = s.Items.visit(fmt.Sprintf("%s[%d]", at, i), e, a)
			}
		}
		return out
	}
	return v
}

func (s *crdSchema) visitObject(at string, m map[string]any, a *admission) any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		below := s.AdditionalProperties
		if property, ok := s.Properties[key]; ok {
			below = property
		}
		place := strings.TrimPrefix(at+"."+key, ".")
		switch {
		case v == nil && below != nil: // the API server drops it before it validates
		case below != nil:
			out[key] = below.visit(place, v, a)
		case s.PreserveUnknown || at == "" && (key == "apiVersion" || key == "kind") || at == "metadata":
			out[key] = v
		default:
			a.dropped = append(a.dropped, place)
		}
	}
	for _, key := range s.Required {
		if _, ok := out[key]; !ok {
			a.refuse(at+"."+key, "is required")
		}
	}
	return out
}

func (s *crdSchema) typeProblem(v any) string {
	ok := true
	switch s.Type {
	case "object":
		_, ok = v.(map[string]any)
	case "array":
		_, ok = v.([]any)
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "integer":
		n, isNumber := v.(float64)
		ok = isNumber && n == float64(int64(n))
	case "number":
		_, ok = v.(float64)
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("must be of type %s, but is %T", s.Type, v)
}

func (a *admission) refuse(at, problem string) {
	a.refused = append(a.refused, at+" "+problem)
}
