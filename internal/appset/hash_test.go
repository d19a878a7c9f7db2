package appset

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func objectOf(spec map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "a"}, "spec": spec}
}

func TestHashIsTheSameForWhatArgoCDTakesForTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specTree().Draw(t, "spec")
		want := HashRendered(objectOf(spec))
		if len(want) != 8 {
			t.Fatalf("hash %q", want)
		}
		if got := HashRendered(objectOf(Normalize(spec))); got != want {
			t.Fatalf("normalised: %s, want %s", got, want)
		}
		if got := HashRendered(objectOf(throughJSON(t, spec).(map[string]any))); got != want {
			t.Fatalf("through JSON: %s, want %s", got, want)
		}
		if live := Normalize(throughJSON(t, spec).(map[string]any)); !reflect.DeepEqual(live, Normalize(spec)) {
			t.Fatalf("normalised %v, through JSON %v", Normalize(spec), live)
		}
		if got := HashRendered(objectOf(cloneTree(spec).(map[string]any))); got != want {
			t.Fatalf("copied: %s, want %s", got, want)
		}
	})
}

func TestNormalizeTwiceChangesNothingAndNeverChangesItsArgument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specTree().Draw(t, "spec")
		before := cloneTree(spec)
		once := Normalize(spec)
		if twice := Normalize(once); !reflect.DeepEqual(once, twice) {
			t.Fatalf("once %v, twice %v", once, twice)
		}
		if !reflect.DeepEqual(before, any(spec)) {
			t.Fatalf("the argument changed from %v to %v", before, spec)
		}
	})
}

func TestHashIgnoresWhatIsNotDeployedAndSeesWhatIs(t *testing.T) {
	object := func(change func(o, metadata, spec map[string]any)) map[string]any {
		metadata := map[string]any{
			"name":        "a",
			"labels":      map[string]any{"env": "dev", "foreign": "x"},
			"annotations": map[string]any{"note": "n"},
		}
		spec := map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": "r", "path": "p", "helm": map[string]any{"valuesObject": map[string]any{"replicas": int64(2)}}},
			"destination": map[string]any{"server": "s"},
			"syncPolicy":  map[string]any{"automated": map[string]any{"enabled": false}},
		}
		o := map[string]any{"metadata": metadata, "spec": spec}
		if change != nil {
			change(o, metadata, spec)
		}
		return o
	}
	hash := func(o map[string]any) string { return Hash(o, []string{"env"}, []string{"note"}) }
	base := hash(object(nil))
	source := func(spec map[string]any) map[string]any { return spec["source"].(map[string]any) }

	same := map[string]func(o, m, s map[string]any){
		"status and operation": func(o, _, _ map[string]any) { o["status"], o["operation"] = "x", "y" },
		"finalizers, name and namespace": func(_, m, _ map[string]any) {
			m["finalizers"], m["name"], m["namespace"] = []any{"f"}, "b", "n"
		},
		"a foreign label":              func(_, m, _ map[string]any) { m["labels"].(map[string]any)["foreign"] = "y" },
		"no project":                   func(_, _, s map[string]any) { delete(s, "project") },
		"an empty target revision":     func(_, _, s map[string]any) { source(s)["targetRevision"] = "" },
		"an empty directory block":     func(_, _, s map[string]any) { source(s)["directory"] = map[string]any{"jsonnet": map[string]any{}} },
		"a null":                       func(_, _, s map[string]any) { s["info"] = nil },
		"prune false":                  func(_, _, s map[string]any) { automated(s)["prune"] = false },
		"a number as a float":          func(_, _, s map[string]any) { values(s)["replicas"] = float64(2) },
		"kustomize Argo CD would drop": func(_, _, s map[string]any) { source(s)["kustomize"] = map[string]any{"forceCommonLabels": true} },
	}
	for name, change := range same {
		if got := hash(object(change)); got != base {
			t.Errorf("%s changed the hash", name)
		}
	}
	different := map[string]func(o, m, s map[string]any){
		"a managed label":           func(_, m, _ map[string]any) { m["labels"].(map[string]any)["env"] = "qa" },
		"a managed label gone":      func(_, m, _ map[string]any) { delete(m["labels"].(map[string]any), "env") },
		"a managed annotation":      func(_, m, _ map[string]any) { m["annotations"].(map[string]any)["note"] = "" },
		"a Helm value":              func(_, _, s map[string]any) { values(s)["replicas"] = int64(3) },
		"a Helm value that is null": func(_, _, s map[string]any) { values(s)["x"] = nil },
		"enabled removed":           func(_, _, s map[string]any) { delete(automated(s), "enabled") },
		"automated removed":         func(_, _, s map[string]any) { delete(s, "syncPolicy") },
		"an empty retry":            func(_, _, s map[string]any) { s["syncPolicy"].(map[string]any)["retry"] = map[string]any{} },
		"a history limit of 0":      func(_, _, s map[string]any) { s["revisionHistoryLimit"] = int64(0) },
		"a plugin without options":  func(_, _, s map[string]any) { source(s)["plugin"] = map[string]any{} },
		"no options of Helm":        func(_, _, s map[string]any) { delete(source(s), "helm") },
		"empty Helm values": func(_, _, s map[string]any) {
			source(s)["helm"] = map[string]any{"valuesObject": map[string]any{}}
		},
		"the type of a Helm value": func(_, _, s map[string]any) { values(s)["replicas"] = "2" },
		"a label of kustomize with no value": func(_, _, s map[string]any) {
			source(s)["kustomize"] = map[string]any{"commonLabels": map[string]any{"a": ""}}
		},
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range different {
		got := hash(object(change))
		if other, twice := seen[got]; twice {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[got] = name
	}
	for name, pair := range map[string][2]func(s map[string]any){
		"a plugin parameter with and without a map": {
			func(s map[string]any) { pluginParameter(s, map[string]any{"name": "x", "map": map[string]any{}}) },
			func(s map[string]any) { pluginParameter(s, map[string]any{"name": "x"}) },
		},
		"a retry with and without a factor of 0": {
			func(s map[string]any) { retry(s, map[string]any{"backoff": map[string]any{"factor": int64(0)}}) },
			func(s map[string]any) { retry(s, map[string]any{"backoff": map[string]any{}}) },
		},
		"a patch with and without a target": {
			func(s map[string]any) { patch(s, map[string]any{"path": "x", "target": map[string]any{}}) },
			func(s map[string]any) { patch(s, map[string]any{"path": "x"}) },
		},
	} {
		one := object(func(_, _, s map[string]any) { pair[0](s) })
		two := object(func(_, _, s map[string]any) { pair[1](s) })
		if hash(one) == hash(two) {
			t.Errorf("%s have one hash", name)
		}
	}
}

func pluginParameter(spec, parameter map[string]any) {
	spec["source"].(map[string]any)["plugin"] = map[string]any{"parameters": []any{parameter}}
}

func patch(spec, patch map[string]any) {
	spec["source"].(map[string]any)["kustomize"] = map[string]any{"patches": []any{patch}}
}

func retry(spec, retry map[string]any) {
	spec["syncPolicy"].(map[string]any)["retry"] = retry
}

func automated(spec map[string]any) map[string]any {
	return spec["syncPolicy"].(map[string]any)["automated"].(map[string]any)
}

func values(spec map[string]any) map[string]any {
	return spec["source"].(map[string]any)["helm"].(map[string]any)["valuesObject"].(map[string]any)
}

func TestHashNeverChangesFromVersionToVersion(t *testing.T) {
	object := objectOf(map[string]any{
		"source":      map[string]any{"repoURL": "https://example.com/r.git", "path": "p", "targetRevision": "main"},
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "n"},
	})
	object["metadata"].(map[string]any)["labels"] = map[string]any{"env": "dev"}
	// A hash is stored in state and in operations: another one means that every
	// Application of every user is rolled out again.
	if got, want := HashRendered(object), "3b6730e2"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestHashOfAnUnknownIsEmpty(t *testing.T) {
	spec := map[string]any{"source": map[string]any{"path": Unknown}}
	if got := HashRendered(objectOf(spec)); got != "" {
		t.Errorf("unknown leaf: %q", got)
	}
	for _, object := range []map[string]any{
		{"spec": Unknown},
		{"spec": map[string]any{}, "metadata": map[string]any{"labels": Unknown}},
		{"spec": map[string]any{}, "metadata": map[string]any{"annotations": map[string]any{"a": Unknown}}},
	} {
		if got := HashRendered(object); got != "" {
			t.Errorf("%v: %q", object, got)
		}
	}
}

func TestASourceThatIsEmptyOnceArgoCDHasDroppedItsOptionsIsNoSource(t *testing.T) {
	spec := map[string]any{"source": map[string]any{"repoURL": "", "kustomize": map[string]any{"forceCommonLabels": true}}}
	if got, want := Normalize(spec), map[string]any{"project": "default"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
