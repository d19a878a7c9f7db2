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
		if !reflect.DeepEqual(before, any(spec)) {
			t.Fatalf("the argument changed from %v to %v", before, spec)
		}
	})
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
		"those of several sources go one by one": {
			dict{"sources": []any{dict{"repoURL": "r", "helm": dict{}}, dict{"repoURL": "r", "helm": dict{"skipCrds": true}}}},
			dict{"sources": []any{dict{"repoURL": "r"}, dict{"repoURL": "r", "helm": dict{"skipCrds": true}}}},
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
