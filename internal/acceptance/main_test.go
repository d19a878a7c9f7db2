package acceptance

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// parallelTests is how many tests run at once unless -parallel says otherwise: they wait for Argo
// CD most of the time, so more than there are processors.
const parallelTests = 5

// gcPercent is how far the heap, which is small, may grow before it is collected.
const gcPercent = 400

// notes are lines to print when all tests have run, also when all have passed; an empty one is none.
var notes []func() string

func TestMain(m *testing.M) {
	asTool()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", fmt.Sprint(parallelTests)); err != nil {
			panic(err) // every test binary has the flag
		}
	}
	debug.SetGCPercent(gcPercent)
	code := cptest.Main(m)
	for _, note := range notes {
		if text := note(); text != "" {
			fmt.Println("note: " + text)
		}
	}
	os.Exit(code)
}
