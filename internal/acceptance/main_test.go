package acceptance

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// parallelTests is how many tests run at once unless -parallel says otherwise: they wait for Argo
// CD most of the time, so more than there are processors.
const parallelTests = 3

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", fmt.Sprint(parallelTests)); err != nil {
			panic(err) // every test binary has the flag
		}
	}
	os.Exit(cptest.Main(m))
}
