package conformance

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// TestArgoCDTakesNothingOffWhatIsKept: with no field of a block that Argo CD may take off, with each of
// them at its zero value, with each there but empty, and with each at another value. Where Argo CD up to
// 3.5.0, or every one, leaves a block as it is, so do we.
func TestArgoCDTakesNothingOffWhatIsKept(t *testing.T) {
	inSpec := func(block string, content any) map[string]any {
		return map[string]any{"project": "default", "source": map[string]any{"repoURL": "r"}, block: content}
	}
	inSource := func(block string, content any) map[string]any {
		return map[string]any{"project": "default", "source": map[string]any{"repoURL": "r", block: content}}
	}
	inSources := func(block string, content any) map[string]any {
		return map[string]any{"project": "default", "sources": []any{map[string]any{"repoURL": "r", block: content}, map[string]any{"repoURL": "r"}}}
	}
	inDrySource := func(block string, content any) map[string]any {
		return map[string]any{"project": "default", "sourceHydrator": map[string]any{"drySource": map[string]any{"repoURL": "r", block: content}}}
	}
	untouched := []func(string, any) map[string]any{inSources, inDrySource}
	for block, of := range map[string]struct {
		kind reflect.Type
		in   func(string, any) map[string]any
	}{
		"syncPolicy": {reflect.TypeFor[v1alpha1.SyncPolicy](), inSpec},
		"helm":       {reflect.TypeFor[v1alpha1.ApplicationSourceHelm](), inSource},
		"kustomize":  {reflect.TypeFor[v1alpha1.ApplicationSourceKustomize](), inSource},
		"directory":  {reflect.TypeFor[v1alpha1.ApplicationSourceDirectory](), inSource},
		"plugin":     {reflect.TypeFor[v1alpha1.ApplicationSourcePlugin](), inSource},
	} {
		contents := map[string]any{"nothing": map[string]any{}}
		for i := range of.kind.NumField() {
			name, _, _ := strings.Cut(of.kind.Field(i).Tag.Get("json"), ",")
			contents[name+" is zero"] = map[string]any{name: asJSON(t, reflect.Zero(of.kind.Field(i).Type).Interface())}
			contents[name+" is empty"] = map[string]any{name: asJSON(t, empty(of.kind.Field(i).Type).Interface())}
			contents[name+" is set"] = map[string]any{name: asJSON(t, something(of.kind.Field(i).Type).Interface())}
		}
		for what, content := range contents {
			spec := of.in(block, content)
			kept := typed(t, appset.Kept(spec))
			if diff := cmp.Diff(asJSON(t, kept), asJSON(t, argo.NormalizeApplicationSpec(kept))); diff != "" {
				t.Errorf("%s: %s: Argo CD changes what we write from (-) to (+):\n%s", block, what, diff)
			}
			if diff := cmp.Diff(asJSON(t, argo.NormalizeApplicationSpec(typed(t, spec))), asJSON(t, kept)); diff != "" {
				t.Errorf("%s: %s: Argo CD would store (-), we write (+):\n%s", block, what, diff)
			}
			for _, in := range untouched {
				if diff := cmp.Diff(in(block, content), appset.Kept(in(block, content))); diff != "" {
					t.Errorf("%s: %s: of (-) we write (+):\n%s", block, what, diff)
				}
			}
		}
	}
}

// empty is a value of the type that is there and says nothing: {} or [] for what may be null.
func empty(kind reflect.Type) reflect.Value {
	v := reflect.New(kind).Elem()
	if kind == reflect.TypeFor[runtime.RawExtension]() {
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte("{}")}))
		return v
	}
	switch kind.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(kind.Elem()))
		v.Elem().Set(empty(kind.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(kind, 0, 0))
	case reflect.Map:
		v.Set(reflect.MakeMap(kind))
	}
	return v
}

// something is a value of the type that says something, in all of its fields.
func something(kind reflect.Type) reflect.Value {
	v := reflect.New(kind).Elem()
	if kind == reflect.TypeFor[runtime.RawExtension]() {
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"a":1}`)}))
		return v
	}
	switch kind.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(kind.Elem()))
		v.Elem().Set(something(kind.Elem()))
	case reflect.Struct:
		for i := range kind.NumField() {
			if kind.Field(i).IsExported() {
				v.Field(i).Set(something(kind.Field(i).Type))
			}
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, something(kind.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(kind))
		v.SetMapIndex(something(kind.Key()), something(kind.Elem()))
	case reflect.String:
		v.SetString("1")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(1)
		}
	}
	return v
}

func typed(t *testing.T, spec map[string]any) *v1alpha1.ApplicationSpec {
	t.Helper()
	out := &v1alpha1.ApplicationSpec{}
	data, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// asJSON is what v is in JSON.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	var out any
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
