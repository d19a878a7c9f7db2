package appset

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatIsKeptIsTheSameToArgoCDAndNothingIsTakenOffTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specTree().Draw(t, "spec")
		before := cloneTree(spec)
		kept := Kept(spec)
		if got, want := Normalize(kept), Normalize(spec); !reflect.DeepEqual(got, want) {
			t.Fatalf("kept %v\nis %v\nof %v", kept, got, want)
		}
		if again := Kept(kept); !reflect.DeepEqual(again, kept) {
			t.Fatalf("once %v, twice %v", kept, again)
		}
		for block, says := range mayGo(kept) {
			if _, ok := mayGo(Normalize(spec))[block]; !ok {
				t.Fatalf("%s stays, and says nothing: %v", block, says)
			}
		}
		if !reflect.DeepEqual(before, any(spec)) {
			t.Fatalf("the argument changed from %v to %v", before, spec)
		}
	})
}

// mayGo is what a spec has of the blocks that Argo CD takes off when they say nothing.
func mayGo(spec map[string]any) map[string]any {
	found := map[string]any{}
	if v, ok := spec["syncPolicy"]; ok {
		found["syncPolicy"] = v
	}
	source, _ := spec["source"].(map[string]any)
	if sources, _ := spec["sources"].([]any); len(sources) > 0 {
		source = nil
	}
	for _, block := range []string{"kustomize", "helm", "directory"} {
		if v, ok := source[block]; ok {
			found[block] = v
		}
	}
	return found
}

func TestKeptTakesOffOnlyBlocksThatSayNothing(t *testing.T) {
	type dict = map[string]any
	for name, test := range map[string]struct{ spec, want dict }{
		"an empty sync policy goes": {dict{"project": "p", "syncPolicy": dict{}}, dict{"project": "p"}},
		"so does one of empty values": {
			dict{"syncPolicy": dict{"syncOptions": []any{}, "automated": nil}}, dict{},
		},
		"automated sync stays, even an empty one": {
			dict{"syncPolicy": dict{"automated": dict{}}}, dict{"syncPolicy": dict{"automated": dict{}}},
		},
		"a retry that says nothing stays with its policy": {
			dict{"syncPolicy": dict{"retry": dict{}}}, dict{"syncPolicy": dict{"retry": dict{}}},
		},
		"options of a source that say nothing go": {
			dict{"source": dict{"repoURL": "r", "path": "", "helm": dict{"releaseName": ""}, "kustomize": dict{}, "directory": dict{"recurse": false}}},
			dict{"source": dict{"repoURL": "r", "path": ""}},
		},
		"those of several sources stay: up to Argo CD 3.5.0 they say of which kind a source is": {
			dict{"syncPolicy": dict{}, "sources": []any{dict{"repoURL": "r", "directory": dict{}}, dict{"repoURL": "r", "helm": dict{"releaseName": ""}}}},
			dict{"sources": []any{dict{"repoURL": "r", "directory": dict{}}, dict{"repoURL": "r", "helm": dict{"releaseName": ""}}}},
		},
		"an empty list of sources is none": {
			dict{"source": dict{"repoURL": "r", "helm": dict{}}, "sources": []any{}},
			dict{"source": dict{"repoURL": "r"}, "sources": []any{}},
		},
		"Helm values stay, even empty ones": {
			dict{"source": dict{"repoURL": "r", "helm": dict{"valuesObject": dict{}}}},
			dict{"source": dict{"repoURL": "r", "helm": dict{"valuesObject": dict{}}}},
		},
		"a dry source stays as it is": {
			dict{"sourceHydrator": dict{"drySource": dict{"repoURL": "r", "directory": dict{}}}},
			dict{"sourceHydrator": dict{"drySource": dict{"repoURL": "r", "directory": dict{}}}},
		},
		"where there are several, Argo CD does not look at the one": {
			dict{"source": dict{"helm": dict{}}, "sources": []any{dict{"repoURL": "r"}}},
			dict{"source": dict{"helm": dict{}}, "sources": []any{dict{"repoURL": "r"}}},
		},
		"kustomize goes where it has only what Argo CD does not count": {
			dict{"source": dict{"repoURL": "r", "kustomize": dict{"forceCommonLabels": true}}}, dict{"source": dict{"repoURL": "r"}},
		},
		"fields that may be empty stay in a block that says something": {
			dict{"source": dict{"repoURL": "r", "directory": dict{"recurse": false, "exclude": "x", "jsonnet": dict{"extVars": []any{dict{"name": "a", "value": ""}}}}}},
			dict{"source": dict{"repoURL": "r", "directory": dict{"recurse": false, "exclude": "x", "jsonnet": dict{"extVars": []any{dict{"name": "a", "value": ""}}}}}},
		},
		"other blocks stay, empty as they are": {
			dict{"destination": dict{}, "info": []any{}, "source": dict{"plugin": dict{}}},
			dict{"destination": dict{}, "info": []any{}, "source": dict{"plugin": dict{}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Kept(test.spec); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
