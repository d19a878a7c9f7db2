package appset_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

// memoryBound is what no input may take, in bytes.
const memoryBound = 512 << 20

// peakOf is the most that the heap holds while do runs, in bytes, garbage that has not been collected
// included. The garbage collector is told the bound, so more than that is more than can be let go.
func peakOf(t *testing.T, do func()) uint64 {
	t.Helper()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryBound * 7 / 8))
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	look := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := look()
		ticks := time.NewTicker(time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				most = max(most, look())
			case <-stop:
				peak <- max(most, look())
				return
			}
		}
	}()
	do()
	close(stop)
	return <-peak
}

// listOf is a list generator of n elements with one value under key.
func listOf(n int, key, value string) map[string]any {
	elements := make([]any, n)
	for i := range elements {
		elements[i] = map[string]any{key: fmt.Sprint(i), "v" + key: value}
	}
	return map[string]any{"list": map[string]any{"elements": elements}}
}

func matrixOf(generators ...any) map[string]any {
	return map[string]any{"matrix": map[string]any{"generators": generators}}
}

// bomb is YAML that stands for about 10^levels values.
func bomb(levels int) string {
	text := "a0: &a0 [" + strings.Repeat("x,", 9) + "x]\n"
	for i := 1; i < levels; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	return text
}

// What is hostile ends with an error, and within the bound on memory.
func TestHostileInputsStayWithinTheMemoryBound(t *testing.T) {
	big := strings.Repeat("x", 16<<10)
	named := func(name string) map[string]any { return map[string]any{"name": name} }
	render := func(inputs appset.Inputs, change func(spec map[string]any), generators ...any) func() appset.Issues {
		return func() appset.Issues {
			spec := specOf(t, true, `[]`)
			spec["generators"] = generators
			spec["template"].(map[string]any)["metadata"] = named("app-{{.a}}")
			if change != nil {
				change(spec)
			}
			set, issues := appset.Decode("s", "argocd", spec)
			if issues.HasErrors() {
				return issues
			}
			_, issues = set.Render(t.Context(), inputs, appset.Answers{})
			return issues
		}
	}
	labelled := func(text string) func(map[string]any) {
		return func(spec map[string]any) {
			source := spec["template"].(map[string]any)["spec"].(map[string]any)["source"].(map[string]any)
			source["helm"] = map[string]any{"values": text}
		}
	}
	manifest := func(text string) func() appset.Issues {
		return func() appset.Issues {
			_, issues := appset.DecodeManifest([]byte(text))
			return issues
		}
	}
	file := func(content string) appset.Inputs {
		return &appsettest.Fake{Trees: map[string]map[string]map[string]string{repository: {"main": {"a.yaml": content}}}}
	}
	files := map[string]any{"git": map[string]any{"repoURL": repository, "revision": "main", "files": []any{map[string]any{"path": "*.yaml"}}}}
	for name, hostile := range map[string]func() appset.Issues{
		"a matrix of too many":         render(nil, nil, matrixOf(listOf(1000, "a", ""), listOf(1000, "b", ""))),
		"a matrix of matrices":         render(nil, nil, matrixOf(matrixOf(listOf(300, "a", ""), listOf(300, "b", "")), listOf(300, "c", ""))),
		"a matrix of too much":         render(nil, nil, matrixOf(listOf(300, "a", big), listOf(300, "b", big))),
		"values that grow":             render(nil, nil, matrixOf(listOf(300, "a", big), map[string]any{"list": map[string]any{"elements": []any{map[string]any{"b": strings.Repeat("{{.va}}", 100)}}}})),
		"a template that is long":      render(nil, labelled(`{{repeat 1000000 "x"}}`), listOf(5000, "a", "")),
		"a template that is too long":  render(nil, labelled(`{{repeat 100000 (repeat 100 "x")}}`), listOf(1, "a", "")),
		"a template that loops":        render(nil, labelled(`{{range until 99999}}{{range until 99999}}xxxxxxxxxxxxxxxx{{end}}{{end}}`), listOf(1, "a", "")),
		"a template that makes much":   render(nil, labelled(`{{$x := "x"}}{{range until 60}}{{$x = cat $x $x}}{{end}}{{len $x}}`), listOf(20, "a", "")),
		"a template that calls itself": render(nil, labelled(`{{define "x"}}{{template "x" (list . .)}}{{end}}{{template "x" .}}`), listOf(1, "a", "")),
		"a patch that is long": render(nil, func(spec map[string]any) {
			spec["templatePatch"] = `{"spec": {"source": {"helm": {"values": {{repeat 1000000 "x" | toJson}}}}}}`
		}, listOf(1000, "a", "")),
		"a patch of many values": render(nil, func(spec map[string]any) {
			spec["templatePatch"] = `{"spec": {"source": {"helm": {"valuesObject": {"l{{.a}}": [{{range until 20000}}{},{{end}}{}]}}}}}`
		}, listOf(1000, "a", "")),
		"a template of many fields": render(nil, func(spec map[string]any) {
			many := map[string]any{}
			for i := range 20_000 {
				many[fmt.Sprint("k", i)] = map[string]any{"x": "y"}
			}
			source := spec["template"].(map[string]any)["spec"].(map[string]any)["source"].(map[string]any)
			source["helm"] = map[string]any{"valuesObject": many}
		}, listOf(5000, "a", "")),
		"a manifest that is a bomb":    manifest(bomb(9)),
		"a manifest that is deep":      manifest(strings.Repeat("[", 1<<20)),
		"a file that is a bomb":        render(file(bomb(9)), nil, files),
		"a file that is too long":      render(file("a: "+strings.Repeat("x", 11<<20)), nil, files),
		"a file of very many objects":  render(file("["+strings.Repeat("{},", 2<<20)+"{}]"), nil, files),
		"an answer of very many lists": render(answerOf(t, 400_000), nil, matrixOf(map[string]any{"plugin": map[string]any{"configMapRef": named("p")}}, listOf(1000, "b", big))),
	} {
		t.Run(name, func(t *testing.T) {
			var issues appset.Issues
			peak := peakOf(t, func() { issues = hostile() })
			if !issues.HasErrors() {
				t.Error("it is no error")
			}
			if text := issues.String(); len(text) > 1<<20 {
				t.Errorf("the errors have %d bytes", len(text))
			}
			if peak > memoryBound {
				t.Errorf("it took %d MiB, and may take %d: %.300s", peak>>20, memoryBound>>20, issues)
			}
			t.Logf("%d MiB: %.200s", peak>>20, issues)
		})
	}
}

// answerOf is a plugin that gives one set with a list of n lists.
func answerOf(t *testing.T, n int) appset.Inputs {
	t.Helper()
	var parameters []map[string]any
	if err := json.Unmarshal([]byte(`[{"a": "x", "l": [`+strings.Repeat("[],", n)+`[]]}]`), &parameters); err != nil {
		t.Fatal(err)
	}
	return &appsettest.Fake{Plugins: map[string][]map[string]any{"p": parameters}}
}
