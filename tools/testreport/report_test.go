package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// run feeds events to a report and returns its counts and text.
func run(t *testing.T, lines ...string) (counts, string) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(strings.Join(lines, "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	return r.finish(), out.String()
}

func TestCounts(t *testing.T) {
	const runA, passA = `{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p","Test":"A","Elapsed":1}`
	const passP, failP = `{"Action":"pass","Package":"p"}`, `{"Action":"fail","Package":"p"}`
	for name, c := range map[string]struct {
		lines []string
		want  counts
	}{
		"nothing":                 {nil, counts{}},
		"one passes":              {[]string{runA, passA, passP}, counts{passed: 1}},
		"one is skipped":          {[]string{runA, `{"Action":"skip","Package":"p","Test":"A"}`, passP}, counts{skipped: 1}},
		"a package without tests": {[]string{`{"Action":"skip","Package":"p"}`}, counts{}},
		"subtests count, their parent does not": {[]string{runA,
			`{"Action":"run","Package":"p","Test":"A/1"}`, `{"Action":"run","Package":"p","Test":"A/2"}`,
			`{"Action":"pass","Package":"p","Test":"A/1"}`, `{"Action":"pass","Package":"p","Test":"A/2"}`, passA, passP},
			counts{passed: 2}},
		"a failed subtest counts once": {[]string{runA,
			`{"Action":"run","Package":"p","Test":"A/1"}`, `{"Action":"fail","Package":"p","Test":"A/1"}`,
			`{"Action":"fail","Package":"p","Test":"A"}`, failP}, counts{failed: 1}},
		"a parent that fails by itself counts": {[]string{runA,
			`{"Action":"run","Package":"p","Test":"A/1"}`, `{"Action":"pass","Package":"p","Test":"A/1"}`,
			`{"Action":"fail","Package":"p","Test":"A"}`, failP}, counts{passed: 1, failed: 1}},
		"a package that does not build fails":   {[]string{`{"Action":"build-output","ImportPath":"p","Output":"x.go:1: no"}`, failP}, counts{failed: 1}},
		"a test that never ends has failed":     {[]string{runA, failP}, counts{failed: 1}},
		"a package that never ends has failed":  {[]string{runA, passA}, counts{passed: 1, failed: 1}},
		"a TestMain that fails after its tests": {[]string{runA, passA, failP}, counts{passed: 1, failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, text := run(t, c.lines...)
			if got != c.want {
				t.Errorf("got %+v, want %+v\n%s", got, c.want, text)
			}
		})
	}
}

func TestTheLastLineIsTheCounts(t *testing.T) {
	_, text := run(t, `{"Action":"run","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p"}`)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if got := lines[len(lines)-1]; got != "1 passed, 0 failed, 0 skipped" {
		t.Errorf("got %q", got)
	}
}

func TestOnlyWhatFailedIsPrinted(t *testing.T) {
	_, text := run(t,
		`{"Action":"run","Package":"p","Test":"Good"}`, `{"Action":"output","Package":"p","Test":"Good","Output":"boring\n"}`, `{"Action":"pass","Package":"p","Test":"Good"}`,
		`{"Action":"run","Package":"p","Test":"Bad"}`, `{"Action":"output","Package":"p","Test":"Bad","Output":"the reason\n"}`, `{"Action":"fail","Package":"p","Test":"Bad"}`,
		`{"Action":"output","Package":"p","Output":"panic: of the package\n"}`, `{"Action":"fail","Package":"p"}`,
		`not an event`)
	for _, want := range []string{"the reason", "panic: of the package", "not an event", "FAIL p (2 tests"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "boring") {
		t.Errorf("output of a test that passed is printed:\n%s", text)
	}
}

func TestNotesOfAPackageAreAlwaysPrinted(t *testing.T) {
	const runA = `{"Action":"run","Package":"p","Test":"A"}`
	notes := []string{`{"Action":"output","Package":"p","Output":"PASS\n"}`, `{"Action":"output","Package":"p","Output":"note: 7 rollouts\n"}`}
	for verdict, printed := range map[string]string{"pass": "     7 rollouts\n", "fail": "     note: 7 rollouts\n"} {
		lines := append([]string{runA, `{"Action":"` + verdict + `","Package":"p","Test":"A"}`}, notes...)
		_, text := run(t, append(lines, `{"Action":"`+verdict+`","Package":"p"}`)...)
		if strings.Count(text, printed) != 1 || strings.Count(text, "7 rollouts") != 1 || verdict == "pass" && strings.Contains(text, "PASS") {
			t.Errorf("%s: printed is %q", verdict, text)
		}
	}
}

func TestAFailureIsExplainedAtOnceAndOnce(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	for _, line := range []string{
		`{"Action":"run","Package":"p","Test":"Bad"}`, `{"Action":"run","Package":"p","Test":"Bad/part"}`,
		`{"Action":"output","Package":"p","Test":"Bad/part","Output":"the reason\n"}`,
		`{"Action":"fail","Package":"p","Test":"Bad/part"}`, `{"Action":"fail","Package":"p","Test":"Bad"}`,
		`{"Action":"run","Package":"p","Test":"Long"}`,
	} {
		r.line([]byte(line))
	}
	if !strings.Contains(out.String(), "the reason") {
		t.Errorf("nothing is printed while the package still runs:\n%s", out.String())
	}
	r.finish()
	if n := strings.Count(out.String(), "the reason"); n != 1 {
		t.Errorf("printed %d times:\n%s", n, out.String())
	}
}

func TestASlowTestGetsALine(t *testing.T) {
	_, text := run(t, `{"Action":"run","Package":"p","Test":"Slow"}`, `{"Action":"pass","Package":"p","Test":"Slow","Elapsed":61.23}`, `{"Action":"pass","Package":"p"}`)
	if !strings.Contains(text, "pass Slow (1m1.2s)") {
		t.Errorf("got\n%s", text)
	}
}

func TestArguments(t *testing.T) {
	for line, want := range map[string]struct {
		modules []module
		rest    []string
	}{
		"-in . -in tools -p 1 ./...":         {[]module{{dir: "."}, {dir: "tools"}}, []string{"-p", "1", "./..."}},
		"./...":                              {[]module{{dir: "."}}, []string{"./..."}},
		"-in a -in b -env X=1 -env Y=2 ./b/": {[]module{{dir: "a"}, {dir: "b", env: []string{"X=1", "Y=2"}}}, []string{"./b/"}},
		"-env X=1 ./...":                     {[]module{{dir: "."}}, []string{"-env", "X=1", "./..."}},
	} {
		modules, rest := arguments(strings.Fields(line))
		if !reflect.DeepEqual(modules, want.modules) || !slices.Equal(rest, want.rest) {
			t.Errorf("%s: got %v, %v", line, modules, rest)
		}
	}
}

func TestTheEnvironmentOfAModuleReachesGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.21\n",
		"a_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n\tif os.Getenv(\"OF_THE_MODULE\") != \"x\" {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r := newReport(&out)
	if err := goTest(module{dir: dir, env: []string{"OF_THE_MODULE=x"}}, []string{"./..."}, r); err != nil || r.finish() != (counts{passed: 1}) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestGoTestThatCannotStartIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("no module file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := newReport(&out)
	if err := goTest(module{dir: dir}, []string{"./..."}, r); err == nil && r.finish().failed == 0 {
		t.Errorf("a broken go.mod passed:\n%s", out.String())
	}
}
